"""Each renderer by itself: what it shows is where it should be, and is called what it is called."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pybullet_data
import pytest
from bullet_scene import Scene
from render_scene import LENS, body, look, shot

from fleet_sim import MultiRobotSimulationCore, SimulationParams
from fleet_sim.base.arrays import AnyArray, Floats
from fleet_sim.base.errors import InvalidValueError, MissingDependencyError, StateError
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.sensing.sensors.render.renderer import Renderer, make_renderer
from fleet_sim.sensing.sensors.render.shot import Frame, Intrinsics, Lighting, Shot
from fleet_sim.world.shapes import BodyShape

MakeScene = Callable[..., Scene]
Make = Callable[..., Renderer]

both = pytest.mark.parametrize("name", ["opengl", "tiny"])
CUBE = body(ShapeKind.BOX, half_extents=(0.5, 0.5, 0.5))


def in_optical_frame(points: Floats, taken: Shot) -> Floats:
    back = quaternions.conjugate(taken.orientation[None])
    return quaternions.rotate(np.broadcast_to(back, (len(points), 4)), points - taken.position)


@both
def test_types_shapes_and_nothing(name: str, make_scene: MakeScene, make: Make) -> None:
    scene = make_scene()
    scene.spawn([3.0, 0.0, 0.0], CUBE)
    frame = make(scene, name).render(shot((0.0, 0.0, 0.0)))
    rgb, depth, ids, links = frame.rgb, frame.depth, frame.ids, frame.links
    assert rgb is not None and depth is not None and ids is not None and links is not None
    assert (rgb.shape, rgb.dtype) == ((240, 320, 3), np.uint8)
    assert (depth.shape, depth.dtype) == ((240, 320), np.float32)
    assert (ids.shape, ids.dtype) == ((240, 320), np.int32)
    assert (links.shape, links.dtype) == ((240, 320), np.int32)
    assert set(np.unique(ids).tolist()) == {-1, 0} and (links == -1).all()
    assert np.isposinf(depth[ids == -1]).all() and np.isfinite(depth[ids == 0]).all()
    assert rgb[ids == 0].mean(0).argmax() == 0
    assert all(array.flags.c_contiguous for array in (rgb, depth, ids, links))


@both
def test_only_what_was_asked_for_comes(name: str, make_scene: MakeScene, make: Make) -> None:
    scene = make_scene(floor=True)
    scene.spawn([3.0, 0.0, 0.5], CUBE)
    renderer = make(scene, name)
    whole = renderer.render(shot((0.0, 0.0, 1.0), 0.0, 0.3))
    for channel in ("rgb", "depth", "ids", "links"):
        frame = renderer.render(shot((0.0, 0.0, 1.0), 0.0, 0.3, channels=(channel,)))
        given = {key: value for key, value in vars(frame).items() if value is not None}
        assert list(given) == [channel]
        np.testing.assert_allclose(given[channel], getattr(whole, channel), rtol=1e-5)


@both
def test_what_is_beyond_far_is_not_there(name: str, make_scene: MakeScene, make: Make) -> None:
    scene = make_scene()
    scene.spawn([[3.0, 0.5, 0.0], [9.0, -0.5, 0.0]], CUBE)
    frame = make(scene, name).render(shot((0.0, 0.0, 0.0), far=5.0))
    assert frame.ids is not None and frame.depth is not None
    assert set(np.unique(frame.ids).tolist()) == {-1, 0}
    assert np.isposinf(frame.depth[frame.ids == -1]).all() and frame.depth[frame.ids == 0].max() < 5.0


@both
def test_the_floor_is_nobody_but_has_a_depth(name: str, make_scene: MakeScene, make: Make) -> None:
    scene = make_scene(floor=True)
    frame = make(scene, name).render(shot((0.2, 0.1, 2.0), 0.0, 0.5 * np.pi - 1e-3))
    assert frame.ids is not None and frame.depth is not None and frame.rgb is not None
    assert (frame.ids == -1).all()
    np.testing.assert_allclose(frame.depth[120, 160], 2.0, rtol=1e-3)
    assert len(np.unique(frame.rgb[..., 0])) > 1, "the floor has squares"


@both
def test_pictures_show_poses_as_they_are_now(name: str, make_scene: MakeScene, make: Make) -> None:
    scene = make_scene()
    row = scene.spawn([3.0, 0.0, 0.0], CUBE)
    renderer = make(scene, name)

    def middle() -> float:
        ids = renderer.render(shot((0.0, 0.0, 0.0))).ids
        assert ids is not None
        return float(np.argwhere(ids == 0)[:, 1].mean())

    before = middle()
    scene.put(row, [3.0, 0.5, 0.0])
    assert middle() < before - 20.0, "left of the camera is left in the picture"
    scene.world.release(row)
    later = scene.spawn([3.0, -0.5, 0.0], CUBE)
    ids = renderer.render(shot((0.0, 0.0, 0.0))).ids
    assert ids is not None and set(np.unique(ids).tolist()) == {-1, int(scene.world.object_id[later[0]])}


@both
def test_the_invisible_is_not_drawn(name: str, make_scene: MakeScene, make: Make) -> None:
    scene = make_scene()
    scene.spawn([3.0, 0.0, 0.0], BodyShape(None, CUBE.visual))
    frame = make(scene, name).render(shot((0.0, 0.0, 0.0)))
    assert frame.ids is not None and (frame.ids == -1).all()


@both
def test_a_world_far_from_its_origin_looks_the_same(name: str, make_scene: MakeScene, make: Make) -> None:
    pictures = []
    for origin in (0.0, 512.0):
        scene = make_scene()
        scene.spawn([origin + 3.0, origin, 0.0], CUBE)
        pictures.append(make(scene, name).render(shot((origin, origin, 0.3), 0.1, 0.1)).depth)
    near, far = pictures
    assert near is not None and far is not None
    same_mask = np.isfinite(near) & np.isfinite(far)
    assert (np.isfinite(near) != np.isfinite(far)).sum() < 20
    np.testing.assert_allclose(near[same_mask], far[same_mask], rtol=1e-3)


def test_round_shapes_are_round_at_any_size(make_scene: MakeScene, make: Make) -> None:
    """The silhouette of a ball is within half a pixel of the circle it is, near and far."""
    for distance in (0.8, 1.5, 4.0, 20.0):
        scene = make_scene()
        scene.spawn([distance, 0.0, 0.0], body(ShapeKind.SPHERE, radius=0.25))
        ids = make(scene, "opengl").render(shot((0.0, 0.0, 0.0))).ids
        assert ids is not None
        radius = LENS.fx * 0.25 / np.sqrt(distance**2 - 0.25**2)
        lines, columns = np.mgrid[:240, :320]
        distances = np.hypot(columns - LENS.cx, lines - LENS.cy)
        assert (ids[distances < radius - 0.75] == 0).all() and (ids[distances > radius + 0.75] == -1).all()


def test_shadows_lie_on_the_floor_away_from_the_sun(make_scene: MakeScene, make: Make) -> None:
    scene = make_scene(floor=True)
    scene.spawn([0.0, 0.0, 1.0], body(ShapeKind.BOX, half_extents=(0.2, 0.2, 0.2)))
    renderer = make(scene, "opengl", Lighting(sun=(1.0, 0.0, 1.0)))
    lit, dark = (
        renderer.render(shot((0.0, 0.0, 8.0), 0.0, 0.5 * np.pi - 1e-3, shadows=shadows)) for shadows in (False, True)
    )
    taken = shot((0.0, 0.0, 8.0), 0.0, 0.5 * np.pi - 1e-3)
    assert lit.rgb is not None and dark.rgb is not None and dark.depth is not None and lit.depth is not None
    darker = np.argwhere((lit.rgb.astype(int) - dark.rgb).sum(2) > 30)
    expected = LENS.project(in_optical_frame(np.array([[-1.0, 0.0, 0.0]]), taken))[0]
    assert darker.mean(0) == pytest.approx(expected[::-1], abs=1.5)
    np.testing.assert_allclose(dark.depth, lit.depth, rtol=1e-4)


def test_pictures_of_different_sizes_from_one_renderer(make_scene: MakeScene, make: Make) -> None:
    scene = make_scene()
    scene.spawn([3.0, 0.0, 0.0], CUBE)
    renderer = make(scene, "opengl")
    for width, height in ((64, 48), (33, 17), (1, 1), (640, 480), (64, 48)):
        frame = renderer.render(shot((0.0, 0.0, 0.0), lens=Intrinsics.from_fov(width, height, 1.0)))
        assert frame.rgb is not None and frame.rgb.shape == (height, width, 3)
        assert frame.depth is not None and frame.depth[height // 2, width // 2] == pytest.approx(2.5, rel=1e-4)


def test_two_renderers_do_not_disturb_each_other(make_scene: MakeScene, make: Make) -> None:
    scenes = [make_scene() for _ in range(2)]
    for scene, distance in zip(scenes, (2.0, 4.0), strict=True):
        scene.spawn([distance, 0.0, 0.0], CUBE)
    renderers = [make(scene, "opengl") for scene in scenes]
    for _ in range(3):
        depths = [renderer.render(shot((0.0, 0.0, 0.0))).depth for renderer in renderers]
        assert [depth[120, 160] for depth in depths if depth is not None] == pytest.approx([1.5, 3.5])
    renderers[0].close()
    depth = renderers[1].render(shot((0.0, 0.0, 0.0))).depth
    assert depth is not None and depth[120, 160] == pytest.approx(3.5)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"near": 0.0}, "near"),
        ({"near": 2.0, "far": 1.0}, "far"),
        ({"channels": ("rbg",)}, "Did you mean 'rgb'"),
        ({"channels": ()}, "got none"),
    ],
)
def test_impossible_shots_are_refused(settings: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidValueError, match=words):
        Shot.checked(LENS, *look((0.0, 0.0, 0.0)), **settings)  # type: ignore[arg-type]


def test_any_thread_may_take_pictures(make_scene: MakeScene, make: Make) -> None:
    scene = make_scene()
    scene.spawn([3.0, 0.0, 0.0], CUBE)
    renderer = make(scene, "opengl")
    depths = []

    def take() -> None:
        depth = renderer.render(shot((0.0, 0.0, 0.0))).depth
        assert depth is not None
        depths.append(float(depth[120, 160]))

    for _ in range(2):
        take()
        thread = Thread(target=take)
        thread.start()
        thread.join()
    assert depths == pytest.approx([2.5] * 4)


def test_pictures_one_after_the_other_share_a_context(monkeypatch: pytest.MonkeyPatch) -> None:
    moderngl = pytest.importorskip("moderngl")
    made: list[object] = []
    create = moderngl.create_context

    def counted(**options: Any) -> Any:
        made.append(options)
        return create(**options)

    monkeypatch.setattr(moderngl, "create_context", counted)
    with MultiRobotSimulationCore(SimulationParams(gui=False, monitor=False)) as sim:
        pictures = [sim.draw_picture(32, 24) for _ in range(5)]
    assert all(np.array_equal(picture, pictures[0]) for picture in pictures)
    # One at most, as there may be a free one. Each costs memory that is never freed.
    assert len(made) <= 1


# ---- Intrinsics: to pixels and back, and what they refuse ------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((0, 240, 1.0), "width.*got 0"),
        ((320, 10_000, 1.0), "height.*8192"),
        ((320, 240.0, 1.0), "height"),
        ((320, 240, 0.0), "horizontal_fov"),
        ((320, 240, 4.0), "horizontal_fov"),
        ((320, 240, float("nan")), "horizontal_fov"),
    ],
)
def test_impossible_intrinsics_are_refused(arguments: tuple[int, int, float], words: str) -> None:
    with pytest.raises(InvalidValueError, match=words):
        Intrinsics.from_fov(*arguments)


def test_a_focal_length_of_zero_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="fy"):
        Intrinsics(10, 10, 5.0, 0.0, 5.0, 5.0)


# ---- Which renderer draws, and what is said about it -----------------------------------------------------------------


WITHOUT = """
import logging, sys
{hide}
logging.basicConfig(level=logging.INFO, format="%(message)s")
from fleet_sim.engines.bullet.client import BulletClient
from fleet_sim.engines.bullet.mirror import BulletMirror
from fleet_sim.world.clock import Clock
from fleet_sim.world.world import World
from fleet_sim.sensing.sensors.render.renderer import make_renderer
from fleet_sim.base.errors import FleetSimError
mirror = BulletMirror(World(Clock(0.1)), BulletClient())
print(make_renderer(mirror, "auto").name)
try:
    make_renderer(mirror, "opengl")
except FleetSimError as error:
    print(type(error).__name__)
"""


@pytest.mark.usefixtures("opengl")
def test_auto_takes_opengl_and_says_so_in_one_line(
    make_scene: Callable[..., Scene], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="fleet_sim"):
        renderer = make_renderer(make_scene().mirror)
    assert renderer.name == "opengl"
    assert [record.message for record in caplog.records] == [f"cameras are drawn by OpenGL on EGL ({renderer.device})"]
    renderer.close()


@pytest.mark.parametrize(
    ("hide", "error", "advice"),
    [
        ("sys.modules['moderngl'] = None", "MissingDependencyError", "pip install 'fleet_sim[camera]'"),
        (
            "import ctypes\nclass Missing(ctypes.CDLL):\n    def __init__(self, name, *rest):\n"
            "        if 'EGL' in str(name): raise OSError(name)\n        super().__init__(name, *rest)\n"
            "ctypes.CDLL = Missing",
            "StateError",
            "apt install libegl1",
        ),
        (
            "import moderngl\ndef refuse(*args, **settings): raise Exception('no device')\n"
            "moderngl.create_context = refuse",
            "StateError",
            "no device",
        ),
    ],
    ids=["moderngl", "libEGL", "device"],
)
def test_auto_falls_back_and_says_why(hide: str, error: str, advice: str, request: pytest.FixtureRequest) -> None:
    pytest.importorskip("pybullet")
    if advice == "no device":
        # The library is looked for first.
        request.getfixturevalue("opengl")
    done = subprocess.run([sys.executable, "-c", WITHOUT.format(hide=hide)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-2:] == ["tiny", error]
    lines = [line for line in done.stderr.splitlines() if "drawn by" in line]
    assert len(lines) == 1 and advice in lines[0]


def test_where_nothing_can_draw_it_is_said_what_would(
    make_scene: Callable[..., Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **_settings: object) -> None:
        raise StateError("no device")

    monkeypatch.setattr("fleet_sim.sensing.sensors.render.renderer.GlRenderer", refuse)
    monkeypatch.setattr("fleet_sim.sensing.sensors.render.renderer.find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"nothing can draw.*no device.*fleet_sim\[bullet\]"):
        make_renderer(make_scene().mirror)


def test_an_unknown_renderer_is_refused(make_scene: Callable[..., Scene]) -> None:
    with pytest.raises(InvalidValueError, match="Did you mean 'opengl'"):
        make_renderer(make_scene().mirror, "opngl")


# ---- The two renderers agree: the same ids within a pixel, the same depth within one per cent ------------------------


DATA = Path(pybullet_data.getDataPath())
SHAPES: dict[str, BodyShape] = {
    "box": body(ShapeKind.BOX, half_extents=(0.25, 0.2, 0.15)),
    "sphere": body(ShapeKind.SPHERE, radius=0.12),
    "cylinder": body(ShapeKind.CYLINDER, radius=0.2, height=0.5),
    "capsule": body(ShapeKind.CAPSULE, radius=0.15, height=0.4),
    "obj": body(ShapeKind.MESH, mesh_path=str(DATA / "duck.obj"), mesh_scale=(0.4, 0.4, 0.4)),
    "textured obj": body(ShapeKind.MESH, mesh_path=str(DATA / "table" / "table.obj"), mesh_scale=(0.2, 0.2, 0.3)),
    "stl": body(ShapeKind.MESH, mesh_path=str(DATA / "l_finger.stl"), mesh_scale=(9.0, 9.0, 9.0)),
    "dae": body(ShapeKind.MESH, mesh_path=str(DATA / "duck.dae"), mesh_scale=(0.3, 0.3, 0.3)),
    "plane": body(ShapeKind.PLANE),
}


def unmatched(first: AnyArray, second: AnyArray) -> int:
    """How many pixels of `first` have a value that `second` has nowhere within a pixel."""
    height, width = first.shape
    padded = np.pad(second, 1, mode="edge")
    windows = [padded[down : down + height, right : right + width] for down in range(3) for right in range(3)]
    return int((~(np.array(windows) == first).any(0)).sum())


def check(ours: Frame, theirs: Frame) -> None:
    assert ours.ids is not None and theirs.ids is not None and ours.depth is not None and theirs.depth is not None
    assert ours.links is not None and theirs.links is not None
    seen = int((theirs.ids >= 0).sum())
    assert unmatched(ours.ids, theirs.ids) + unmatched(theirs.ids, ours.ids) <= 0.005 * seen
    assert unmatched(ours.links, theirs.links) <= 0.005 * seen
    same_mask = (ours.ids == theirs.ids) & np.isfinite(ours.depth) & np.isfinite(theirs.depth)
    assert same_mask.sum() > 0.9 * np.isfinite(theirs.depth).sum()
    errors = np.abs(ours.depth[same_mask] - theirs.depth[same_mask]) / theirs.depth[same_mask]
    # At the rim of what is round depth changes by more than that within a pixel.
    assert np.quantile(errors, 0.98) < 0.01


@both
def test_a_large_picture_is_drawn_in_bands(
    name: str, make_scene: MakeScene, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its bands are the parts of what is drawn at once: the same pixels but for rounding at edges."""
    scene = make_scene(floor=True)
    scene.spawn([[3.0, 0.5, 0.5], [4.0, -1.0, 0.5]], CUBE)
    renderer, taken = make(scene, name), shot((0.0, 0.0, 1.0), 0.0, 0.2)
    at_once = renderer.render(taken)
    heights: list[int] = []
    draw = type(renderer)._take if name == "opengl" else type(renderer)._draw  # type: ignore[attr-defined]

    def noting(self: Renderer, part: Shot) -> Frame:
        heights.append(part.intrinsics.height)
        return draw(self, part)  # type: ignore[no-any-return]

    monkeypatch.setattr(type(renderer), draw.__name__, noting)
    monkeypatch.setattr(f"{type(renderer).__module__}.MOST_AT_ONCE", 100 * taken.intrinsics.width + 7)
    banded = renderer.render(taken)
    assert heights == [100, 100, 40]
    for channel, values in vars(at_once).items():
        same_mask = np.isclose(getattr(banded, channel), values, rtol=1e-4)
        assert same_mask.shape == values.shape and same_mask.mean() > 0.995, channel


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_the_renderers_agree(shape: BodyShape, make_scene: Callable[..., Scene], make: Callable[..., Renderer]) -> None:
    scene, random = make_scene(floor=True), np.random.default_rng(3)
    if shape is SHAPES["plane"]:
        scene.spawn([0.0, 0.0, 0.1], shape)
    else:
        turns = random.normal(size=(12, 4))
        places = np.column_stack([random.uniform(-1.5, 3.0, (12, 2)), random.uniform(0.3, 1.5, 12)])
        scene.spawn(places, shape, orientation=turns / np.linalg.norm(turns, axis=1, keepdims=True))
    taken = shot((-4.0, 0.3, 1.4), 0.1, 0.2)
    check(make(scene, "opengl").render(taken), make(scene, "tiny").render(taken))


def test_the_renderers_agree_on_the_squares_of_the_floor(
    make_scene: Callable[..., Scene], make: Callable[..., Renderer]
) -> None:
    scene = make_scene(floor=True)
    taken = shot((0.3, 0.7, 3.0), 0.4, 0.9)
    ours, theirs = (make(scene, name).render(taken).rgb for name in ("opengl", "tiny"))
    assert ours is not None and theirs is not None
    assert np.corrcoef(ours[..., 0].ravel(), theirs[..., 0].ravel())[0, 1] > 0.95
    assert np.abs(ours.astype(int) - theirs).mean() < 8.0


CUBE_FILE = body(ShapeKind.MESH, mesh_path=str(DATA / "cube.obj"), mesh_scale=(0.4, 0.4, 0.4))


@pytest.mark.parametrize("shape", [SHAPES["box"], SHAPES["sphere"], CUBE_FILE], ids=["box", "sphere", "file"])
def test_a_camera_inside_a_body_sees_out(
    shape: BodyShape, make_scene: Callable[..., Scene], make: Callable[..., Renderer]
) -> None:
    scene = make_scene()
    scene.spawn([[0.0, 0.0, 0.0], [3.0, 0.0, 0.0]], shape)
    for name in ("opengl", "tiny"):
        ids = make(scene, name).render(shot((0.0, 0.0, 0.03))).ids
        assert ids is not None and set(np.unique(ids).tolist()) == {-1, 1}


def test_mirrored_meshes_are_seen_from_outside(make_scene: Callable[..., Scene], make: Callable[..., Renderer]) -> None:
    """A camera sees the near side of a mirrored mesh, lit as that of one that is not."""
    pictures = []
    for factor in (0.4, -0.4):
        scene = make_scene()
        scene.spawn(
            [0.0, 0.0, 0.0], body(ShapeKind.MESH, mesh_path=str(DATA / "cube.obj"), mesh_scale=(0.4, factor, 0.4))
        )
        pictures.append(make(scene, "opengl").render(shot((-2.0, 0.0, 0.6), 0.0, 0.3)))
    plain, mirrored = pictures
    np.testing.assert_allclose(plain.depth, mirrored.depth, rtol=1e-5)
    np.testing.assert_allclose(plain.rgb, mirrored.rgb, atol=1)

"""Each renderer by itself: what it shows is where it should be, and is called what it is called."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Any

import numpy as np
import pytest
from bullet_scene import Scene
from render_scene import LENS, body, look, shot

from fleet_sim import MultiRobotSimulationCore, SimulationParams
from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.sensing.sensors.render.renderer import Renderer
from fleet_sim.sensing.sensors.render.shot import Intrinsics, Lighting, Shot
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

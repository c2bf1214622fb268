"""The two renderers agree: the same ids within a pixel, the same depth within one per cent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pybullet_data
import pytest
from bullet_scene import Scene
from render_scene import body, shot

from fleet_sim.base.arrays import AnyArray
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.sensing.sensors.render.renderer import Renderer
from fleet_sim.sensing.sensors.render.shot import Frame
from fleet_sim.world.shapes import BodyShape

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

"""Terrain from heights: what stands, rolls and looks on it."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fleet_sim as fs
from fleet_sim.base.arrays import Floats

Sim = fs.MultiRobotSimulationCore
Maker = Callable[..., Sim]
BALL = fs.ShapeParams("sphere", radius=0.2)
BOX = fs.ShapeParams("box", half_extents=(0.3, 0.3, 0.1))


def hills(lines: int = 30, columns: int = 40) -> Floats:
    """Heights (lines, columns) of 8 m along x and 6 m along y."""
    x, y = np.meshgrid(np.linspace(-4, 4, columns), np.linspace(-3, 3, lines))
    return np.asarray(0.5 * np.sin(x) * np.cos(1.3 * y) + 0.1 * x)


def put_hills(sim: Sim, heights: Any = None, **settings: Any) -> Any:
    given = hills() if heights is None else heights
    ground = fs.ShapeParams("heightfield", heights=np.asarray(given).tolist(), field_size=(8.0, 6.0))
    settings = {"pickable": False, "name": "ground", **settings}
    return sim.spawn(fs.SimObjectSpawnParams(ground, ground, **settings))


def height_at(sim: Sim, x: float, y: float) -> float:
    """Return what a ray of PyBullet from above finds."""
    return float(sim.bullet.rayTest([x, y, 50.0], [x, y, -50.0])[0][3][2])


def test_the_ground_is_where_its_heights_say(make_sim: Maker) -> None:
    sim = make_sim(enable_floor=False)
    put_hills(sim)
    heights = hills()
    for line, column in ((0, 0), (3, 7), (14, 22), (28, 38)):
        x, y = -4 + 8 * column / 39, -3 + 6 * line / 29
        assert height_at(sim, x + 1e-4, y + 1e-4) == pytest.approx(heights[line, column], abs=2e-3)
        assert sim.queries.ray_cast((x, y, 9), (x, y, -9)).points[0, 2] == pytest.approx(
            heights[line, column], abs=1e-6
        )
    lower, upper = sim.get_aabbs()[0]
    np.testing.assert_allclose(lower, [-4, -3, heights.min()])
    np.testing.assert_allclose(upper, [4, 3, heights.max()])


def test_its_triangles_are_those_of_a_height_field_of_pybullet(make_sim: Maker) -> None:
    sim = make_sim(enable_floor=False)
    heights = np.random.default_rng(4).random((6, 9))
    put_hills(sim, heights)
    shape = sim.bullet.createCollisionShape(
        sim.bullet.GEOM_HEIGHTFIELD,
        meshScale=[1.0, 1.2, 1.0],
        heightfieldData=heights.ravel().tolist(),
        numHeightfieldRows=9,
        numHeightfieldColumns=6,
    )
    sim.bullet.createMultiBody(0, shape, basePosition=[20, 0, 0.5 * (heights.min() + heights.max())])
    for x, y in np.random.default_rng(1).uniform((-3.9, -2.9), (3.9, 2.9), (60, 2)):
        assert height_at(sim, x, y) == pytest.approx(height_at(sim, x + 20.0, y), abs=1e-4)


def test_robots_touch_the_ground_only_where_they_are_in_it(sim: Sim) -> None:
    ground = put_hills(sim)
    robot = sim.spawn(fs.AgentSpawnParams(BOX, BOX, fs.Pose.from_xyz(-1.5, 0, 0.2)))
    assert sim.check_collisions()[0] == []
    robot.set_pose(fs.Pose.from_xyz(1.5, 0, 0.6))
    assert sim.check_collisions()[0] == [(ground, robot)]


def test_balls_roll_into_the_valleys(make_sim: Maker) -> None:
    sim = make_sim(physics=True, enable_floor=False)
    bowl = np.array([[0.2 * (x * x + y * y) for x in np.linspace(-3, 3, 25)] for y in np.linspace(-3, 3, 25)])
    put_hills(sim, bowl)
    ball = sim.spawn(
        fs.SimObjectSpawnParams(BALL, BALL, fs.Pose.from_xyz(2, 1, 1.5), mass=1.0, linear_damping=0.8, friction=0.2)
    )
    for _ in range(150):
        sim.step_once()
    x, y, z = ball.get_pose().position
    assert math.hypot(x, y) < 0.4
    assert z == pytest.approx(height_at_bowl(x, y) + 0.2, abs=0.06)


def height_at_bowl(x: float, y: float) -> float:
    return 0.2 * ((0.75 * x) ** 2 + y * y)


def test_lidars_cameras_and_the_map_see_the_hills(make_sim: Maker) -> None:
    sim = make_sim(enable_floor=False)
    put_hills(sim)
    place = (-1.5, -0.5, 0.1)
    lidar = sim.add_sensor("lidar", pose=list(place), rays=120)
    angles = lidar.params.angles
    ends = np.array(place) + 10.0 * np.stack((np.cos(angles), np.sin(angles), np.zeros(120)), axis=1)
    found = sim.bullet.rayTestBatch(np.broadcast_to(place, ends.shape).tolist(), ends.tolist())
    expected = np.array([10.0 * hit[2] if hit[0] >= 0 else math.inf for hit in found])
    assert 10 < np.isfinite(expected).sum() < 110
    np.testing.assert_allclose(lidar.read().ranges, expected, atol=0.01)
    camera = sim.add_sensor("camera", pose=list(place), width=33, height=25, channels=["depth", "ids"])
    reading = camera.read()
    assert reading.ids[12, 16] == 0
    assert reading.depth[12, 16] == pytest.approx(expected[60], abs=0.01)
    grid = fs.occupancy_grid(sim.world, z=0.1)
    hits = np.array(place) + np.where(np.isfinite(expected), expected + 0.01, 0.0)[:, None] * (ends - place) / 10.0
    marked = grid.values_at(hits[np.isfinite(expected)]) > 0
    assert marked.mean() > 0.6


def test_a_picture_has_its_largest_y_on_top(make_sim: Maker, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    pixels = np.zeros((3, 4), np.uint8)
    pixels[0, 3] = 255
    pixels[2, 0] = 51
    image.fromarray(pixels).save(tmp_path / "hill.png")
    image.fromarray(pixels.astype(np.uint16) * 257).save(tmp_path / "fine.png")
    for name in ("hill.png", "fine.png"):
        sim = make_sim(enable_floor=False)
        shape = fs.ShapeParams("heightfield", height_image=str(tmp_path / name), height=2.0, field_size=(6.0, 4.0))
        sim.spawn(fs.SimObjectSpawnParams(shape, shape, pickable=False))
        found = sim.queries.ray_cast([(3, 2, 9), (-3, -2, 9), (-3, 2, 9)], [(3, 2, -9), (-3, -2, -9), (-3, 2, -9)])
        np.testing.assert_allclose(found.points[:, 2], [2.0, 0.4, 0.0], atol=1e-9)
    image.fromarray(np.zeros((3, 4, 3), np.uint8)).save(tmp_path / "colors.png")
    shape = fs.ShapeParams("heightfield", height_image=str(tmp_path / "colors.png"))
    with pytest.raises(fs.InvalidValueError, match="not a grayscale picture"):
        make_sim().spawn(fs.SimObjectSpawnParams(shape, shape, pickable=False))


def test_a_picture_that_changed_is_read_again(make_sim: Maker, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    sim, heights = make_sim(enable_floor=False), []
    for value in (0, 255):
        image.fromarray(np.full((3, 3), value, np.uint8)).save(tmp_path / "hill.png")
        shape = fs.ShapeParams("heightfield", height_image=str(tmp_path / "hill.png"), height=2.0)
        hill = sim.spawn(fs.SimObjectSpawnParams(shape, shape, pickable=False))
        found = sim.queries.ray_cast((0.0, 0.0, 9.0), (0.0, 0.0, -9.0))
        heights.append(float(found.points[0, 2]))
        sim.remove_object(hill)
    assert heights == [0.0, 2.0]


def test_a_shape_is_given_only_what_it_has() -> None:
    triangle: dict[str, Any] = {"vertices": [[0, 0, 0], [1, 0, 0], [0, 1, 0]], "indices": [[0, 1, 2]]}
    for kind in ("box", "heightfield", None):
        for given in (triangle, {"mesh_path": "hall.obj"}):
            with pytest.raises(fs.InvalidValueError, match="mesh_path, vertices and indices: for a mesh only"):
                fs.ShapeParams(kind, **given).to_geometry()
    with pytest.raises(fs.InvalidValueError, match="for a heightfield only, not for a shape without a shape_type"):
        fs.ShapeParams(heights=[[0, 1], [1, 0]]).to_geometry()
    with pytest.raises(fs.InvalidValueError, match="mesh_scale: for a mesh only, not for a heightfield"):
        fs.ShapeParams("heightfield", heights=[[0, 1], [1, 0]], mesh_scale=(2, 2, 2)).to_geometry()


def test_wrong_height_fields_are_refused(sim: Sim) -> None:
    def spawn(**settings: Any) -> None:
        shape = fs.ShapeParams(**{"shape_type": "heightfield", **settings})
        sim.spawn(fs.SimObjectSpawnParams(shape, shape, pickable=False))

    with pytest.raises(fs.InvalidValueError, match="either heights or height_image"):
        spawn()
    with pytest.raises(fs.InvalidValueError, match="either heights or height_image"):
        spawn(heights=[[0, 1], [1, 0]], height_image="hill.png")
    with pytest.raises(fs.InvalidValueError, match="there is no file"):
        spawn(height_image="nothing.png")
    with pytest.raises(fs.InvalidValueError, match="for a heightfield only, not for a box"):
        spawn(shape_type="box", heights=[[0, 1], [1, 0]])
    with pytest.raises(fs.ConfigError, match="at least 2 lines of 2 numbers"):
        spawn(heights=[[0, 1]])
    with pytest.raises(fs.ConfigError, match="lines of equally many numbers"):
        spawn(heights=[[0, 1], [2]])
    with pytest.raises(fs.ConfigError, match="numbers within"):
        spawn(heights=[[0, math.nan], [1, 2]])
    with pytest.raises(fs.InvalidValueError, match="mass: a concave mesh is a surface"):
        put_hills(sim, mass=1.0)

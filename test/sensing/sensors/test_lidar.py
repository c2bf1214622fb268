"""What lidars see, ray by ray; oracles/test_vision.py and test_scans.py have whole scenes."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hall import hall_file
from shapes_of_kinds import shape_of

import fleet_sim as fs
from fleet_sim.base.arrays import Floats
from fleet_sim.sensing.sensors.lidar import Lidar3dParams, LidarParams, RangeParams
from fleet_sim.sensing.sensors.occupancy import FREE, OCCUPIED, occupancy_grid

Sim = fs.MultiRobotSimulationCore


def thing(sim: Sim, kind: str, pose: fs.Pose, name: str | None = None, **shape: Any) -> fs.SimObject:
    """Spawn a shape of a kind that can be seen."""
    handle: fs.SimObject = sim.spawn(fs.SimObjectSpawnParams(None, shape_of(kind, **shape), pose, name=name))
    return handle


def at(x: float, y: float, z: float = 0.5) -> fs.Pose:
    """Return a pose, by default half a meter high."""
    return fs.Pose.from_xyz(x, y, z)


def ranges(sim: Sim, pose: Any = (0.0, 0.0, 0.5), **settings: Any) -> list[float]:
    """Return what a lidar in the world reads; by default four rays: ahead, left, behind, right."""
    settings = {"rays": 4, "angle_min": 0.0, "angle_max": 2.0 * math.pi, **settings}
    lidar = sim.add_sensor("lidar", pose=pose if isinstance(pose, fs.Pose) else list(pose), **settings)
    reading = lidar.read()
    lidar.remove()
    out: list[float] = reading.ranges.tolist()
    return out


def test_what_it_is_inside_of_is_not_seen(sim: Sim) -> None:
    thing(sim, "box", at(0.0, 0.0))
    thing(sim, "cylinder", at(0.0, 0.0), radius=0.7)
    thing(sim, "box", at(3.0, 0.0))
    assert ranges(sim) == pytest.approx([2.5, math.inf, math.inf, math.inf])


def test_labels_and_intensities(sim: Sim) -> None:
    box = thing(sim, "box", fs.Pose.from_yaw(3.0, 0.0, 0.5, math.pi / 6), name="box")
    ball = thing(sim, "sphere", at(0.1, 3.0), radius=0.2)
    thing(sim, "plane", fs.Pose.from_euler(-4.0, 0.0, 0.0, 0.0, math.pi / 2, math.pi / 4), name="wall")
    lidar = sim.add_sensor("lidar", pose=[0, 0, 0.5], rays=4, angle_min=0, angle_max=2 * math.pi)
    assert (lidar.read().labels, lidar.read().intensities) == (None, None)
    lidar = sim.add_sensor(lidar.params, name="more", labels=True, intensities=True)
    reading = lidar.read()
    wall = sim.get_object("wall").object_id
    assert reading.labels.tolist() == [box.object_id, ball.object_id, wall, wall]
    assert reading.intensities == pytest.approx([math.cos(math.pi / 6), math.sqrt(0.75), *[math.sqrt(0.5)] * 2])
    near = sim.add_sensor(lidar.params, name="near", range_max=3.5).read()
    assert near.labels.tolist() == [box.object_id, ball.object_id, -1, -1]
    assert near.intensities[2:].tolist() == [0.0, 0.0]


# ---- what cannot be --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"angle_min": 1.0, "angle_max": 0.0}, "angle_max: must be at least angle_min"),
        ({"angle_min": -math.pi, "angle_max": 4.0}, "angle_max: must be at least angle_min and at most a full turn"),
        ({"range_min": 10.0}, "range_min: must be below range_max"),
        ({"rays": 0}, "rays: must be"),
        ({"noise": -1.0}, "noise: must be"),
        ({"range_max": math.inf}, "range_max: must be"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(fs.ConfigError, match=message):
        LidarParams(**settings)


@pytest.mark.parametrize(
    "body",
    [
        fs.ShapeParams("sphere", radius=0.3),
        fs.ShapeParams("capsule", radius=0.2, height=0.3),
        fs.ShapeParams("box", half_extents=(0.3, 0.2, 0.2)),
    ],
    ids=["sphere", "capsule", "box"],
)
@pytest.mark.parametrize("mount", [[0.1, 0.05, 0.02], [-0.6, 0, 0]], ids=["inside", "behind"])
def test_a_tilted_lidar_looks_through_its_own_robot(sim: Sim, body: fs.ShapeParams, mount: list[float]) -> None:
    thing(sim, "box", at(1.0, 0.0), half_extents=(0.5, 2.0, 2.0))
    robot = sim.spawn(fs.AgentSpawnParams(body, body, at(0.0, 0.0)))
    lidar = sim.add_sensor(
        "lidar", robot, rays=1, angle_min=0, angle_max=0, pose={"position": mount, "rpy": [0, 0.2, 0]}
    )
    assert lidar.read().ranges == pytest.approx([(0.5 - mount[0]) / math.cos(0.2)], abs=1e-3)


# ---- Range finders and lidars with layers ----------------------------------------------------------------------------


BOT = fs.ShapeParams("box", half_extents=(0.3, 0.2, 0.1))


def thing_ranges(sim: Sim, kind: str, pose: fs.Pose, **shape: Any) -> None:
    sim.spawn(fs.SimObjectSpawnParams(None, fs.ShapeParams(kind, **shape), pose))  # type: ignore[arg-type]


# ---- layers ----------------------------------------------------------------------------------------------------------


def test_many_rays_are_cast_in_batches(sim: Sim) -> None:
    thing_ranges(sim, "sphere", fs.Pose.from_xyz(0.0, 0.0, 5.0), radius=4.0)
    for index in range(2):
        robot = sim.spawn(fs.AgentSpawnParams(BOT, BOT, fs.Pose.from_xyz(3.0 * index, 0.0, 10.0)))
        settings = {"layers": 100, "rays": 164, "elevation_min": -1.5, "elevation_max": -0.5}
        sim.add_sensor("lidar_3d", robot, pose=[0, 0, 0.5], **settings)
    for lidar, reading in zip(sim.sensors.all, sim.sensors.read(sim.sensors.all), strict=True):
        world = reading.points.reshape(-1, 3) + lidar.get_pose().position
        hit_mask = world[:, 2] > 1.0
        away = np.linalg.norm(world[hit_mask] - [0.0, 0.0, 5.0], axis=1)
        assert hit_mask.sum() > 1000
        assert away == pytest.approx(np.full(len(away), 4.0), abs=0.01)


def test_expensive_lidars_take_turns(sim: Sim) -> None:
    lidars = [sim.add_sensor("lidar_3d", name=f"l{index}", rate=2, layers=1, rays=4) for index in range(10)]
    for lidar in lidars:
        lidar.subscribe()
    for _ in range(5):
        sim.step_once()
        assert sum(len(readings) for readings in sim.sensors.fresh) == 2


@pytest.mark.parametrize(
    ("params", "settings", "message"),
    [
        (Lidar3dParams, {"elevation_min": 0.5, "elevation_max": 0.1}, "elevation_min: must be at most elevation_max"),
        (Lidar3dParams, {"range_min": 30.0}, "range_min: must be below range_max"),
        (Lidar3dParams, {"angle_min": 1.0, "angle_max": 0.0}, "angle_max: must be at least angle_min"),
        (RangeParams, {"range_max": 1.0, "range_min": 1.0}, "range_min: must be below range_max"),
        (RangeParams, {"field_of_view": 7.0}, "field_of_view: must be"),
        (RangeParams, {"shape": "ball"}, "shape: must be one of 'fan', 'cone'"),
    ],
)
def test_wrong_settings_ranges(params: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(fs.ConfigError, match=message):
        params(**settings)


# ---- Rays in all directions: they end at the nearest thing, as PyBullet's do -----------------------------------------


def test_rays_without_pybullet(sim: Sim, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pybullet", None)
    ball = fs.ShapeParams("sphere", radius=0.5)
    sim.spawn(fs.SimObjectSpawnParams(ball, ball, fs.Pose.from_xyz(3, 0, 1)))
    carrier = sim.spawn(fs.AgentSpawnParams(ball, ball, fs.Pose.from_xyz(0, 0, 1)))
    layers = sim.add_sensor("lidar_3d", carrier, rays=4, layers=3, elevation_min=-0.7, elevation_max=0.7, range_max=9.0)
    assert layers.read().ranges[:, 2] == pytest.approx([1.0 / math.sin(0.7), 2.5, math.inf])
    cone = sim.add_sensor("range", carrier, shape="cone", rays=1)
    assert cone.read().range == pytest.approx(2.5)
    tilted = sim.add_sensor("lidar", carrier, pose=fs.Pose.from_euler(0, 0, 0, 0, 0.5, 0), rays=4, labels=True)
    scan = tilted.read()
    assert scan.ranges[2] == pytest.approx(1.0 / math.sin(0.5))
    assert (scan.labels == -1).all()


# ---- Maps of what does not move: what a lidar sees, and nothing else -------------------------------------------------


BOT_OCCUPANCY = fs.ShapeParams("cylinder", radius=0.2, height=0.4)


def fixture(sim: Sim, kind: Any, pose: fs.Pose, **settings: Any) -> None:
    sim.spawn(fs.SimObjectSpawnParams(None, shape_of(kind, **settings), pose, collision_mode=fs.CollisionMode.STATIC))


def test_what_touches_the_rim_of_a_cell_is_not_in_it(sim: Sim) -> None:
    fixture(sim, "box", fs.Pose.from_yaw(1.0, 0.0, 0.0, 1.570796), half_extents=(2.0, 0.1, 0.5))
    grid = occupancy_grid(sim.world, resolution=0.05)
    assert (grid.cells == OCCUPIED).sum() == 4 * 80


def test_only_what_does_not_move_is_on_it(sim: Sim) -> None:
    shape = fs.ShapeParams("box", half_extents=(0.2, 0.2, 0.5))
    sim.spawn(fs.AgentSpawnParams(BOT_OCCUPANCY, BOT_OCCUPANCY, fs.Pose.from_xyz(2.0, 0.0, 0.2)))
    sim.spawn(fs.SimObjectSpawnParams(shape, shape, fs.Pose.from_xyz(4.0, 0.0, 0.2)))
    sim.spawn(fs.SimObjectSpawnParams(shape, shape, fs.Pose.from_xyz(6.0, 0.0, 0.2), pickable=False))
    sim.spawn(fs.SimObjectSpawnParams(shape, shape, fs.Pose.from_xyz(8.0, 0.0, 2.0), pickable=False))
    fixture(sim, "box", fs.Pose.from_xyz(0.0, 0.0, 0.2))
    grid = occupancy_grid(sim.world)
    places = np.array([[x, 0.0] for x in (0.0, 2.0, 4.0, 6.0)])
    assert grid.values_at(places).tolist() == [OCCUPIED, FREE, FREE, OCCUPIED]
    assert grid.values_at(np.array([[50.0, 0.0]])).tolist() == [-1]
    assert grid.origin == (-1.5, -1.5)


def test_an_empty_world_has_an_empty_map(sim: Sim) -> None:
    grid = occupancy_grid(sim.world, resolution=0.5)
    assert (grid.cells.shape, grid.origin, int(grid.cells.max())) == ((20, 20), (-5.0, -5.0), FREE)
    with pytest.raises(ValueError, match="read-only"):
        grid.cells[0, 0] = 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"resolution": 0.0}, "resolution in m"),
        ({"resolution": 1e-5}, "cells is too large"),
        ({"bounds": (1, 1, 0, 2)}, "bounds: expected"),
        ({"z": math.nan}, "z in m"),
        ({"margin": -1}, "margin in m"),
    ],
)
def test_wrong_settings_occupancy(sim: Sim, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(fs.InvalidValueError, match=message):
        occupancy_grid(sim.world, **settings)


def test_a_huge_hall_has_coarser_cells_where_that_is_wanted() -> None:
    sim = fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, monitor=False))
    box = fs.ShapeParams("box", half_extents=(0.5, 0.5, 0.5))
    for index, x in enumerate((0.0, 600.0)):
        pose = fs.Pose((x, x, 0.0))
        sim.spawn(fs.SimObjectSpawnParams(name=f"b{index}", collision_shape=box, initial_pose=pose, pickable=False))
    with pytest.raises(fs.InvalidValueError, match="too large"):
        occupancy_grid(sim.world)
    grid = occupancy_grid(sim.world, coarsen=True)
    assert grid.resolution == pytest.approx(0.15)
    assert grid.cells.size <= 26_000_000
    assert grid.values_at(np.array([[0.0, 0.0], [600.0, 600.0], [300.0, 300.0]])).tolist() == [100, 100, 0]


# ---- Concave meshes: robots, lidars, maps and cameras see the same walls, from inside and from outside ---------------


Maker = Callable[..., Sim]
BOT_SURFACES = fs.ShapeParams("cylinder", radius=0.2, height=0.3)


def put_hall(sim: Sim, folder: Path, pose: fs.Pose | None = None, cells: int = 1, **settings: Any) -> Any:
    """Put the hall into `sim`, its floor at z 0."""
    return fs.SimObject.from_mesh(
        hall_file(folder, cells), pose or fs.Pose.from_xyz(0, 0, 1), sim_core=sim, concave=True, name="hall", **settings
    )


def engine_ranges(sim: Sim, origin: Any, directions: Floats, reach: float) -> Floats:
    """Return how far rays from `origin` go by rayTest."""
    ends = np.array(origin) + reach * directions
    found = sim.bullet.rayTestBatch(np.broadcast_to(origin, ends.shape).tolist(), ends.tolist())
    return np.array([hit[2] * reach if hit[0] >= 0 else math.inf for hit in found])


def fan(rays: int, yaw: float = 0.0) -> Floats:
    angles = yaw - math.pi + 2.0 * math.pi / rays * np.arange(rays)
    return np.stack((np.cos(angles), np.sin(angles), np.zeros(rays)), axis=1)


# ---- robots ----------------------------------------------------------------------------------------------------------


def test_a_robot_in_the_middle_of_a_hall_touches_nothing_and_at_its_wall_the_wall(sim: Sim, tmp_path: Path) -> None:
    hall = put_hall(sim, tmp_path)
    robot = sim.spawn(fs.AgentSpawnParams(BOT_SURFACES, BOT_SURFACES, fs.Pose.from_xyz(0, 0, 0.5)))
    assert sim.check_collisions()[0] == []
    robot.set_pose(fs.Pose.from_xyz(4.77, 0, 0.5))
    assert sim.check_collisions()[0] == []
    robot.set_pose(fs.Pose.from_xyz(4.85, 0, 0.5))
    assert sim.check_collisions()[0] == [(hall, robot)]


def test_a_wall_of_a_hall_stops_a_robot(make_sim: Maker, tmp_path: Path) -> None:
    sim = make_sim(block_on_collision=True, enable_floor=False)
    put_hall(sim, tmp_path)
    robot = sim.spawn(
        fs.AgentSpawnParams(BOT_SURFACES, BOT_SURFACES, fs.Pose.from_xyz(0, 0, 0.5), motion_mode="omnidirectional")
    )
    robot.set_goal_pose(fs.Pose.from_xyz(8, 0, 0.5))
    for _ in range(60):
        sim.step_once()
    assert robot.get_pose().x == pytest.approx(4.8, abs=0.01)


def test_things_fall_on_the_floor_of_a_hall(make_sim: Maker, tmp_path: Path) -> None:
    sim = make_sim(physics=True, enable_floor=False)
    put_hall(sim, tmp_path, fs.Pose.from_xyz(0, 0, 3))
    ball = fs.ShapeParams("sphere", radius=0.3)
    thing = sim.spawn(fs.SimObjectSpawnParams(ball, ball, fs.Pose.from_xyz(1, 1, 3.0), mass=1.0))
    for _ in range(30):
        sim.step_once()
    assert thing.get_pose().z == pytest.approx(2.3, abs=0.02)


# ---- who may be concave ----------------------------------------------------------------------------------------------


def test_concave_bodies_never_move(sim: Sim, tmp_path: Path) -> None:
    shape = fs.ShapeParams("mesh", mesh_path=hall_file(tmp_path), concave=True)
    with pytest.raises(fs.InvalidValueError, match="mass: a concave mesh is a surface"):
        sim.spawn(fs.SimObjectSpawnParams(shape, shape, mass=1.0, pickable=False))
    with pytest.raises(fs.InvalidValueError, match=r"pickable: .*give pickable=False"):
        sim.spawn(fs.SimObjectSpawnParams(shape, shape))
    with pytest.raises(fs.InvalidValueError, match=r"collision_shape: .*a robot needs a convex one"):
        sim.spawn(fs.AgentSpawnParams(shape, shape))
    hall = sim.spawn(fs.SimObjectSpawnParams(shape, shape, pickable=False))
    with pytest.raises(fs.StateError, match="pickable: '#0' collides as a concave mesh"):
        hall.pickable = True
    with pytest.raises(fs.StateError, match="a mass: '#0' collides as a concave mesh"):
        hall.set_mass(2.0)
    robot = sim.spawn(fs.AgentSpawnParams(BOT_SURFACES, BOT_SURFACES))
    assert not robot.attach_object(hall)


def test_only_meshes_are_concave() -> None:
    with pytest.raises(fs.InvalidValueError, match="only a mesh can be concave, not a box"):
        fs.ShapeParams("box", concave=True)


URDF = """<robot name="hall"><link name="base"><inertial><mass value="5"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
<visual><geometry><mesh filename="{0}"/></geometry></visual>
<collision concave="yes"><geometry><mesh filename="{0}"/></geometry></collision></link></robot>"""


def test_a_description_with_concave_meshes_is_seen_from_inside(make_sim: Maker, tmp_path: Path) -> None:
    (tmp_path / "hall.urdf").write_text(URDF.format(hall_file(tmp_path)))
    sim = make_sim()
    params = fs.AgentSpawnParams(
        urdf_path=str(tmp_path / "hall.urdf"), initial_pose=fs.Pose.from_yaw(0, 0, 1, 0.3), use_fixed_base=True
    )
    sim.spawn(params)
    robot = sim.spawn(fs.AgentSpawnParams(BOT_SURFACES, BOT_SURFACES, fs.Pose.from_xyz(0, 0, 0.5)))
    assert sim.check_collisions()[0] == []
    lidar = sim.add_sensor("lidar", pose=[1.0, 0.5, 1.2], rays=60)
    np.testing.assert_allclose(lidar.read().ranges, engine_ranges(sim, (1.0, 0.5, 1.2), fan(60), 10.0), atol=0.01)
    robot.set_pose(fs.Pose.from_yaw(4.9 * math.cos(0.3), 4.9 * math.sin(0.3), 0.5, 0))
    assert len(sim.check_collisions()[0]) == 1


def test_physics_does_not_move_descriptions_with_concave_meshes(make_sim: Maker, tmp_path: Path) -> None:
    (tmp_path / "hall.urdf").write_text(URDF.format(hall_file(tmp_path)))
    sim = make_sim(physics=True)
    with pytest.raises(
        fs.InvalidValueError, match=r"link 'base' of 'hall' collides as a concave mesh: .*use_fixed_base"
    ):
        sim.spawn(fs.AgentSpawnParams(urdf_path=str(tmp_path / "hall.urdf"), mass=None))


def test_a_body_of_several_shapes_may_have_a_concave_one(sim: Sim, tmp_path: Path) -> None:
    walls = fs.ShapeParams("mesh", mesh_path=hall_file(tmp_path), concave=True)
    post = fs.ShapeParams("box", half_extents=(0.1, 0.1, 1.0), frame_pose=fs.Pose.from_xyz(2, 0, 0))
    with pytest.raises(fs.InvalidValueError, match="pickable: a concave mesh"):
        sim.spawn(fs.SimObjectSpawnParams([walls, post], [walls, post]))
    sim.spawn(fs.SimObjectSpawnParams([walls, post], [walls, post], fs.Pose.from_xyz(0, 0, 1), pickable=False))
    lidar = sim.add_sensor("lidar", pose=[0, 0, 0.5], rays=90)
    np.testing.assert_allclose(lidar.read().ranges, engine_ranges(sim, (0, 0, 0.5), fan(90), 10.0), atol=0.01)


# ---- what sees them --------------------------------------------------------------------------------------------------


def test_a_robot_with_a_bumper_knows_where_the_wall_touches_it(sim: Sim, tmp_path: Path) -> None:
    put_hall(sim, tmp_path)
    robot = sim.spawn(fs.AgentSpawnParams(BOT_SURFACES, BOT_SURFACES, fs.Pose.from_xyz(4.85, 0.5, 0.5)))
    bumper = sim.add_sensor("contact", robot)
    sim.step_once()
    reading = bumper.read()
    np.testing.assert_allclose(reading.points, [[0.15, 0, 0]], atol=1e-6)


def test_the_map_has_the_walls_and_not_what_is_between_them(sim: Sim, tmp_path: Path) -> None:
    put_hall(sim, tmp_path, cells=3)
    grid = fs.occupancy_grid(sim.world, z=0.5)
    occupied = np.array([[5.0, 0], [-5.0, 1], [2, 3.0], [1, -3.0]])
    near = [
        max(int(grid.values_at(point[None] + shift)[0]) for shift in np.array([[0, 0], [-0.01, -0.01]]))
        for point in occupied
    ]
    assert near == [100, 100, 100, 100]
    assert (grid.values_at(np.array([[0, 0], [4.5, 2.5], [-3, 0.7]])) == 0).all()
    # Nothing else: a frame one or two cells wide.
    assert (grid.cells > 0).sum() <= 2 * (2 * 202 + 2 * 122)


@pytest.mark.parametrize("renderer", ["auto", "tiny"])
@pytest.mark.parametrize("place", [(0.0, 0.0, 1.2), (-9.0, 1.0, 1.2)])
def test_cameras_see_walls_from_both_sides_as_far_as_rays_do(
    make_sim: Maker, tmp_path: Path, renderer: str, place: tuple[float, float, float]
) -> None:
    sim = make_sim(enable_floor=False)
    put_hall(sim, tmp_path, cells=2)
    for number in range(4):
        yaw = 0.5 * math.pi * number
        pose = fs.Pose.from_yaw(*place, yaw)
        camera = sim.add_sensor(
            "camera", pose=pose, name=str(number), renderer=renderer, width=32, height=24, channels=["depth", "ids"]
        )
        reading = camera.read()
        expected = engine_ranges(sim, place, np.array([[math.cos(yaw), math.sin(yaw), 0.0]]), 30.0)[0]
        # The middle of an even number of pixels is between them, so depths along the axis are as wide as the ray.
        assert reading.ids[12, 16] == (0 if math.isfinite(expected) else -1)
        assert reading.depth[12, 16] == pytest.approx(expected, abs=0.02)

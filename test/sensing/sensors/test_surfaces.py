"""Concave meshes: robots, lidars, maps and cameras see the same walls, from inside and from outside."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hall import HALF, hall_file

import fleet_sim as fs
from fleet_sim.base.arrays import Floats

Sim = fs.MultiRobotSimulationCore
Maker = Callable[..., Sim]
BOT = fs.ShapeParams("cylinder", radius=0.2, height=0.3)
SIZE = np.array(HALF)


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
    robot = sim.spawn(fs.AgentSpawnParams(BOT, BOT, fs.Pose.from_xyz(0, 0, 0.5)))
    assert sim.check_collisions()[0] == []
    robot.set_pose(fs.Pose.from_xyz(4.77, 0, 0.5))
    assert sim.check_collisions()[0] == []
    robot.set_pose(fs.Pose.from_xyz(4.85, 0, 0.5))
    assert sim.check_collisions()[0] == [(hall, robot)]


def test_a_wall_of_a_hall_stops_a_robot(make_sim: Maker, tmp_path: Path) -> None:
    sim = make_sim(block_on_collision=True, enable_floor=False)
    put_hall(sim, tmp_path)
    robot = sim.spawn(fs.AgentSpawnParams(BOT, BOT, fs.Pose.from_xyz(0, 0, 0.5), motion_mode="omnidirectional"))
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
    robot = sim.spawn(fs.AgentSpawnParams(BOT, BOT))
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
    robot = sim.spawn(fs.AgentSpawnParams(BOT, BOT, fs.Pose.from_xyz(0, 0, 0.5)))
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
    robot = sim.spawn(fs.AgentSpawnParams(BOT, BOT, fs.Pose.from_xyz(4.85, 0.5, 0.5)))
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

"""The links of a world's robots: many models at once, always those of the present joint values."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pybullet_data
import pytest
from arms import ARM_JOINTS, PANDA, READY
from jointed_robots import add_robots, set_joints

from fleet_sim import Agent, AgentSpawnParams, MultiRobotSimulationCore, Pose, ShapeParams, SimObjectSpawnParams
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.models import load_robot_model
from fleet_sim.models.kinematics.links import WorldLinks
from fleet_sim.models.kinematics.tree import tree_of
from fleet_sim.models.meshes.loading import mesh_extents
from fleet_sim.world.clock import Clock
from fleet_sim.world.shapes import RobotModel
from fleet_sim.world.world import World


def model_of(name: str) -> RobotModel:
    return load_robot_model(f"{pybullet_data.getDataPath()}/{name}.urdf")


@pytest.fixture
def world() -> World:
    world = World(Clock(0.1))
    world.links = WorldLinks(world)
    return world


def test_robots_of_several_models_are_asked_in_one_call(world: World) -> None:
    panda, r2d2 = model_of("franka_panda/panda"), model_of("r2d2")
    places = np.random.default_rng(1).uniform(-5.0, 5.0, (6, 3))
    rows = np.concatenate((add_robots(world, panda, places[:3]), add_robots(world, r2d2, places[3:])))
    crate = world.allocate([None])
    world.position[crate] = [[1.0, 2.0, 3.0]]
    mixed = np.array([rows[4], rows[0], crate[0], rows[1], rows[3], rows[0]])
    links = np.array([3, 7, -1, 11, -1, -1])
    positions, orientations = world.link_poses(mixed, links)
    for index, (row, link) in enumerate(zip(mixed, links, strict=True)):
        position, orientation = world.link_poses(np.array([row]), np.array([link]))
        assert np.array_equal(positions[index], position[0])
        assert np.array_equal(orientations[index], orientation[0])
    assert positions[2].tolist() == [1.0, 2.0, 3.0]
    assert np.array_equal(positions[4], places[3])


def test_links_follow_their_joints_at_once(world: World) -> None:
    arm = model_of("kuka_iiwa/model")
    rows = add_robots(world, arm, np.zeros((3, 3)))
    hand = np.full(3, arm.num_joints - 1)
    before, _ = world.link_poses(rows, hand)
    set_joints(world, rows[1:2], [[0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]])
    after, _ = world.link_poses(rows, hand)
    assert np.array_equal(before[[0, 2]], after[[0, 2]])
    assert np.abs(before[1] - after[1]).max() > 0.1


def test_a_row_used_again_by_another_robot_has_its_links(world: World) -> None:
    panda, kuka = model_of("franka_panda/panda"), model_of("kuka_iiwa/model")
    rows = add_robots(world, panda, np.zeros((2, 3)))
    set_joints(world, rows, np.full((2, 9), 0.5))
    world.link_poses(rows, np.array([5, 5]))
    world.release(rows[:1])
    again = add_robots(world, kuka, np.zeros((1, 3)))
    assert again[0] == rows[0]
    fresh = World(Clock(0.1))
    fresh.links = WorldLinks(fresh)
    expected = fresh.link_poses if len(add_robots(fresh, kuka, np.zeros((1, 3)))) else None
    assert expected is not None
    assert np.array_equal(world.link_poses(again, np.array([5]))[0], expected(np.array([0]), np.array([5]))[0])
    set_joints(world, rows[1:], np.full((1, 9), 0.25))
    world.link_poses(rows[1:], np.array([5]))


def test_a_link_the_robot_does_not_have_is_refused(world: World) -> None:
    rows = add_robots(world, model_of("kuka_iiwa/model"), np.zeros((1, 3)))
    with pytest.raises(InvalidValueError, match=r"no link 7; it has links -1 \(base\) to 6"):
        world.link_poses(rows, np.array([7]))
    crate = world.allocate(["crate"])
    with pytest.raises(InvalidValueError, match=r"'crate' has no link 0; it has only its base"):
        world.link_poses(crate, np.array([0]))


def test_a_simulation_knows_the_links_of_its_world() -> None:
    with MultiRobotSimulationCore() as sim:
        rows = add_robots(sim.world, model_of("kuka_iiwa/model"), np.zeros((1, 3)))
        positions, _ = sim.world.link_poses(rows, np.array([6]))
        assert positions[0] == pytest.approx([0.0, 0.0, 1.261], abs=1e-3)


# ---- Links are where PyBullet has them, for every robot description that PyBullet brings along -----------------------


DATA = Path(pybullet_data.getDataPath())


def test_links_in_a_cycle_are_refused() -> None:
    model = load_robot_model(DATA / "r2d2.urdf")
    parents = model.parents.copy()
    parents[0] = 1
    parents[1] = 0
    cyclic = RobotModel(**{**_fields(model), "parents": parents})
    with pytest.raises(InvalidValueError, match="not connected to the base"):
        tree_of(cyclic)


def _fields(model: RobotModel) -> dict[str, object]:
    names = model.__dataclass_fields__
    return {name: getattr(model, name) for name, field in names.items() if field.init}


# ---- The boxes around robots: as large as PyBullet's but for its margin, current whenever somebody looks -------------


BOX = ShapeParams("box", half_extents=(0.05, 0.05, 0.05))


PROGRAM = """
import sys
from fleet_sim import Agent, MultiRobotSimulationCore, Pose, ShapeParams, SimObjectSpawnParams, SimulationParams
sim = MultiRobotSimulationCore(SimulationParams(gui=False, timestep=0.1))
panda, mesh = sys.argv[1:]
arms = [Agent.from_urdf(panda, Pose((0.0, 3.0 * k, 0.0)), use_fixed_base=True, sim_core=sim) for k in range(3)]
shape = ShapeParams("mesh", mesh_path=mesh)
sim.spawn(SimObjectSpawnParams(shape, shape, Pose((9.0, 0.0, 0.0))))
for arm in arms:
    assert arm.move_end_effector(arm.get_pose().compose(Pose((0.4, 0.2, 0.4))).position)
for _ in range(20):
    sim.step_once()
assert arms[0].are_joints_at_targets()
assert "pybullet" not in sys.modules
"""


def test_arms_and_meshes_need_no_pybullet() -> None:
    mesh = DATA / "franka_panda" / "meshes" / "collision" / "hand.obj"
    subprocess.run([sys.executable, "-c", PROGRAM, PANDA, str(mesh)], check=True, timeout=60)


def test_an_arm_collides_where_it_is_now(sim: MultiRobotSimulationCore) -> None:
    arm = Agent.from_urdf(PANDA, use_fixed_base=True, sim_core=sim, joint_positions=READY, name="arm")
    hand = arm.get_link_pose("panda_hand")
    crate = sim.spawn(SimObjectSpawnParams(BOX, BOX, Pose((-hand.x, hand.y, hand.z)), name="crate"))
    pairs: list[str] = []
    sim.world.events.on("collision_started", lambda obj_a, obj_b, **_: pairs.append(f"{obj_a.name} {obj_b.name}"))
    sim.step_once()
    assert pairs == []
    arm.set_joint_target(ARM_JOINTS[0], 2.8)
    for _ in range(40):
        sim.step_once()
    assert pairs == ["arm crate"]
    assert crate.is_alive


def test_a_new_robot_in_the_row_of_an_old_one_has_its_own_box(sim: MultiRobotSimulationCore) -> None:
    first = Agent.from_urdf(PANDA, use_fixed_base=True, sim_core=sim, joint_positions=READY)
    first.set_joint_positions({ARM_JOINTS[0]: 2.0})
    sim.step_once()
    box = sim.world.half_extents[first.row].copy()
    row = first.row
    sim.remove_object(first)
    second = Agent.from_urdf(PANDA, use_fixed_base=True, sim_core=sim, joint_positions=READY)
    assert second.row == row
    second.set_joint_positions({ARM_JOINTS[0]: 2.0})
    sim.step_once()
    assert np.array_equal(sim.world.half_extents[row], box)


def test_a_robot_without_collision_geometry_touches_nothing(sim: MultiRobotSimulationCore, tmp_path: Path) -> None:
    file = tmp_path / "ghost.urdf"
    file.write_text('<robot name="ghost"><link name="base"/></robot>', encoding="utf-8")
    sim.spawn(AgentSpawnParams(urdf_path=str(file)))
    sim.spawn(SimObjectSpawnParams(BOX, BOX))
    sim.step_once()
    assert sim.get_active_collision_pairs() == []


# ---- mesh files ------------------------------------------------------------------------------------------------------

OBJ = "# thing\nv -1 -2 -3 0.5 0.5 0.5\n  v 4 5 6\nv 0 0 0\nvn 9 9 9\nf 1 2 3\n"


def test_a_mesh_that_changes_is_measured_again(tmp_path: Path) -> None:
    file = tmp_path / "a.obj"
    file.write_text(OBJ, encoding="utf-8")
    assert mesh_extents(str(file))[1][0] == 4.0
    file.write_text(OBJ.replace("4 5 6", "14 5 6"), encoding="utf-8")
    assert mesh_extents(str(file))[1][0] == 14.0


def test_an_object_from_a_mesh_has_the_box_of_its_file(sim: MultiRobotSimulationCore, tmp_path: Path) -> None:
    file = tmp_path / "thing.obj"
    file.write_text(OBJ, encoding="utf-8")
    turned = Pose.from_yaw(1.0, 0.0, 0.0, np.pi / 2)
    mesh = ShapeParams("mesh", mesh_path=str(file), mesh_scale=(0.1, 0.1, 0.2), frame_pose=turned)
    thing = sim.spawn(SimObjectSpawnParams(mesh, mesh))
    assert sim.world.half_extents[thing.row] == pytest.approx([0.25, 0.35, 0.9])
    sim.step_once()
    assert sim.world.aabb_lower[thing.row] == pytest.approx([0.5, -0.1, -0.6])
    assert sim.world.aabb_upper[thing.row] == pytest.approx([1.2, 0.4, 1.2])


def test_boxes_are_made_only_where_somebody_looks(make_sim) -> None:
    sim = make_sim(collision_check_frequency=0)
    arm = Agent.from_urdf(PANDA, use_fixed_base=True, sim_core=sim, joint_positions=READY)
    before = sim.world.half_extents[arm.row].copy()
    arm.set_joint_target(ARM_JOINTS[0], 2.0)
    for _ in range(15):
        sim.step_once()
    assert np.array_equal(sim.world.half_extents[arm.row], before)
    lower, upper = (np.array(corner) for corner in sim.get_aabbs()[arm.object_id])
    assert upper[0] < 0.3
    assert lower[0] < 0.0
    sim.set_collision_check_frequency(None)
    arm.set_joint_target(ARM_JOINTS[0], 0.0)
    for _ in range(15):
        sim.step_once()
    assert sim.world.aabb_upper[arm.row, 0] > 0.4

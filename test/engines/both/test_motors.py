"""Gains and limits of motors: as settings of a robot and of single joints, and at run time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import PANDA, READY
from mimic_robots import mimic_file, mimics
from small_world import MakeSim

import fleet_sim as fs
from fleet_sim import Agent, MultiRobotSimulationCore, Pose

Make = Callable[..., fs.MultiRobotSimulationCore]


@pytest.fixture
def file(tmp_path: Path) -> str:
    return mimic_file(tmp_path, ("a", "revolute", ""), ("b", "revolute", ""), ("c", "revolute", mimics("b")))


def spawn(sim: fs.MultiRobotSimulationCore, file: str, **settings: Any) -> fs.Agent:
    agent: fs.Agent = fs.Agent.from_urdf(file, sim_core=sim, use_fixed_base=True, **settings)
    return agent


def moved(sim: fs.MultiRobotSimulationCore, agent: fs.Agent, steps: int = 10) -> list[float]:
    """Return how far the joints `a` and `b` went to their targets."""
    agent.set_joints_targets({"a": 1.0, "b": 1.0})
    for _ in range(steps):
        sim.step_once()
    return [agent.get_joint_state(name)[0] for name in "ab"]


@pytest.mark.parametrize(
    ("motors", "joint_motors"),
    [
        ({"position_gain": 0.001}, {"a": {"position_gain": 0.2}}),
        ({"max_velocity": 0.2}, {"a": {"max_velocity": 1.0}}),
        ({"max_force": 0.001}, {"a": {"max_force": 100.0}}),
        (None, {"b": {"max_force": 0.001}}),
    ],
)
def test_settings_of_all_motors_and_of_one(make_sim: Make, file: str, motors: Any, joint_motors: Any) -> None:
    sim = make_sim(physics=True)
    a, b = moved(sim, spawn(sim, file, motors=motors, joint_motors=joint_motors))
    # The default is what `a` has: at its speed of 1 rad/s it is near its target after 1 s.
    assert a > 0.9
    assert b < 0.5


def test_the_velocity_gain_is_how_fast_a_velocity_is_reached(make_sim: Make, file: str) -> None:
    sim = make_sim(physics=True, timestep=0.01)
    agent = spawn(sim, file, motors={"velocity_gain": 0.01}, joint_motors={"a": {"velocity_gain": 1.0}})
    agent.set_joints_velocities({"a": 0.5, "b": 0.5})
    sim.step_once()
    a, b = (agent.get_joint_state(name)[1] for name in "ab")
    assert a == pytest.approx(0.5, abs=0.01) and 0.0 < b < 0.1


def test_motors_at_run_time(make_sim: Make, file: str) -> None:
    sim = make_sim(physics=True)
    agent = spawn(sim, file)
    agent.set_motors(max_velocity=0.3)
    assert moved(sim, agent) == pytest.approx([0.3, 0.3], abs=0.03)
    agent.stop_joints()
    for _ in range(3):
        sim.step_once()
    agent.set_motors("a", max_force=0.0)
    agent.set_motors(["b"], max_velocity=1.0)
    a, b = moved(sim, agent)
    assert a == pytest.approx(0.3, abs=0.05) and b > 0.9
    assert agent.get_motor("a") == fs.MotorParams(0.2, 1.0, 0.3, 0.0)


def test_a_force_limit_holds_for_velocities_and_forces(make_sim: Make, file: str) -> None:
    sim = make_sim(physics=True)
    agents = [
        spawn(sim, file, name=str(limit), pose=fs.Pose((0, 3 * limit, 0)), motors={"max_force": limit})
        for limit in (0.001, 1.0)
    ]
    for agent in agents:
        agent.set_joints_velocities({"a": 0.5}, max_force=400.0)
        agent.set_joints_forces({"b": 400.0})
    sim.step_once()
    weak, strong = ([abs(agent.get_joint_state(name)[1]) for name in "ab"] for agent in agents)
    assert max(weak) < 0.05 < min(strong)
    assert abs(agents[1].joint_efforts[1]) == pytest.approx(1.0, abs=0.01)


def test_limits_hold_for_commands_that_run_already(make_sim: Make, file: str) -> None:
    sim = make_sim(physics=True, timestep=0.01, gravity=(0.0, 0.0, 0.0))
    agent = spawn(sim, file)
    agent.set_joints_velocities({"a": 0.5})
    agent.set_joints_forces({"b": 0.5})
    sim.step_once()
    assert agent.get_joint_state("a")[1] == pytest.approx(0.5, abs=0.01)
    assert agent.joint_efforts[1] == pytest.approx(0.5)
    agent.set_motors("a", max_velocity=0.1)
    agent.set_motors("b", max_force=0.2)
    for _ in range(5):
        sim.step_once()
    assert agent.get_joint_state("a")[1] == pytest.approx(0.1, abs=0.01)
    assert agent.joint_efforts[1] == pytest.approx(0.2)


def test_motors_go_back_with_the_state_and_stay_with_a_new_engine(make_sim: Make, file: str) -> None:
    sim = make_sim(physics=True)
    agent = spawn(sim, file, motors={"max_velocity": 0.3})
    moment = sim.save_state()
    agent.set_motors(max_velocity=1.0)
    sim.rebuild_engine()
    assert min(moved(sim, agent)) > 0.9
    sim.restore_state(moment)
    assert moved(sim, agent) == pytest.approx([0.3, 0.3], abs=0.03)


def test_a_scenario_has_motors(file: str) -> None:
    entry = {"name": "r", "urdf_path": file, "use_fixed_base": True, "mass": None}
    motors = {"motors": {"max_velocity": 0.5}, "joint_motors": {"b": {"position_gain": 0.1}}}
    sim = fs.MultiRobotSimulationCore.from_dict(
        {"simulation": {"gui": False, "physics": True}, "robots": [{**entry, **motors}]}
    )
    agent = sim.get_object("r")
    assert agent.get_motor("b") == fs.MotorParams(0.1, 1.0, 0.5, None)
    assert agent.get_motor("a").position_gain == 0.2
    sim.close()


def test_where_they_cannot_act_they_are_refused(make_sim: Make, file: str) -> None:
    sim = make_sim(physics=True)
    with pytest.raises(fs.InvalidValueError, match="has no motors here"):
        spawn(sim, file, mass=0.0, motors={"max_force": 1.0})
    with pytest.raises(fs.InvalidValueError, match="'c' mimics 'b'"):
        spawn(sim, file, joint_motors={"c": {"max_force": 1.0}})
    with pytest.raises(fs.UnknownNameError, match="'d'"):
        spawn(sim, file, joint_motors={"d": {"max_force": 1.0}})
    with pytest.raises(fs.ConfigError, match="position_gain"):
        spawn(sim, file, joint_motors={"a": {"position_gain": 2.0}})
    box = fs.ShapeParams("box", half_extents=(0.1, 0.1, 0.1))
    with pytest.raises(fs.InvalidValueError, match="a shape has no joints"):
        sim.spawn(fs.AgentSpawnParams(box, box, motors={"max_force": 1.0}))
    kinematic, agent = spawn(sim, file, mass=0.0), spawn(sim, file)
    with pytest.raises(fs.StateError, match="have no motors"):
        kinematic.set_motors(max_force=1.0)
    with pytest.raises(fs.StateError, match="have no motors"):
        kinematic.get_motor("a")
    with pytest.raises(fs.InvalidValueError, match="mimic others"):
        agent.set_motors("c", max_force=1.0)
    with pytest.raises(fs.ConfigError, match="velocity_gain"):
        agent.set_motors(velocity_gain=-1.0)


def test_robots_whose_joints_are_apart_move_as_alone(make_sim: Make, file: str) -> None:
    def ends(*others: str) -> list[float]:
        sim = make_sim(physics=True)
        # What is removed leaves a gap between the joints of those that stay.
        names = ["first", *others, "last"]
        agents = {
            name: spawn(sim, file, name=name, pose=fs.Pose.from_xyz(5.0 * place, 0.0, 0.0))
            for place, name in enumerate(names)
        }
        for name in others:
            sim.remove_object(agents[name])
        first, last = agents["first"], agents["last"]
        first.set_joints_targets({"a": 0.4, "b": -0.3})
        last.set_joints_velocities({"a": 0.2, "b": -0.1})
        for _ in range(10):
            sim.step_once()
        return [agent.get_joint_state(name)[0] for agent in (first, last) for name in "abc"]

    alone = ends()
    assert alone[:2] == pytest.approx([0.4, -0.3], abs=0.02)
    assert alone[3:5] == pytest.approx([0.2, -0.1], abs=0.02)
    assert ends("gone", "gone_too") == pytest.approx(alone, abs=1e-6)


def test_what_rests_beside_moving_joints_can_be_put_elsewhere(make_sim: Make, file: str) -> None:
    sim = make_sim(physics=True)
    agent = spawn(sim, file)
    cube = fs.ShapeParams("box", half_extents=(0.1, 0.1, 0.1))
    crate = sim.spawn(fs.SimObjectSpawnParams(cube, cube, fs.Pose.from_xyz(5.0, 0.0, 0.1), mass=1.0))
    for _ in range(30):
        sim.step_once()
    # The joints begin to move when the crate has come to rest, and are still on their way when it is moved.
    agent.set_joints_targets({"a": 1.0})
    for _ in range(3):
        sim.step_once()
    crate.set_pose(fs.Pose.from_xyz(6.0, 1.0, 1.0))
    sim.step_once()
    assert 0.0 < agent.get_joint_state("a")[0] < 0.9
    pose = crate.get_pose()
    assert (pose.x, pose.y) == pytest.approx((6.0, 1.0), abs=1e-4) and 0.9 < pose.z < 1.0
    for _ in range(30):
        sim.step_once()
    assert crate.get_pose().z == pytest.approx(0.1, abs=0.005)
    agent.set_joint_positions({"a": 0.0})
    agent.stop_joints()
    sim.step_once()
    assert agent.get_joint_state("a")[0] == pytest.approx(0.0, abs=1e-3)


# ---- What joints and links tell besides positions: efforts of motors, velocities of links ----------------------------


def spawn_joint_readings(sim: MultiRobotSimulationCore, mass: float | None = None, fixed: bool = True) -> Agent:
    agent: Agent = Agent.from_urdf(
        PANDA, Pose.from_yaw(0.3, -0.2, 0.0, 0.7), mass, use_fixed_base=fixed, sim_core=sim, joint_positions=READY
    )
    return agent


def test_a_commanded_force_is_the_effort(make_sim: MakeSim) -> None:
    sim = make_sim(physics=True)
    arm = spawn_joint_readings(sim)
    arm.set_joints_forces({"panda_joint7": 0.25})
    sim.step_once()
    effort = dict(zip(arm.movable_joint_names, arm.joint_efforts.tolist(), strict=True))
    model = arm.robot_model
    assert model is not None
    friction = float(model.friction[model.joint_index("panda_joint7")])
    assert effort["panda_joint7"] == pytest.approx(0.25, abs=friction + 1e-9)


def test_efforts_of_a_robot_without_motors_are_not_known(make_sim: MakeSim) -> None:
    sim = make_sim()
    arm = spawn_joint_readings(sim, 0.0)
    arm.set_joint_target(0, 1.0)
    sim.step_once()
    assert len(arm.joint_efforts) == len(arm.movable_joint_names) and np.isnan(arm.joint_efforts).all()


@pytest.mark.parametrize("physics", [False, True])
def test_link_velocities_are_those_of_their_poses(make_sim: MakeSim, physics: bool) -> None:
    """A step of 1 ms: the velocity is how far the link went."""
    sim = make_sim(physics=physics, timestep=0.001)
    arm = spawn_joint_readings(sim, None if physics else 0.0)
    arm.set_joints_velocities({"panda_joint1": 1.0, "panda_joint4": -0.5, "panda_finger_joint1": 0.02})
    for _ in range(200 if physics else 2):
        sim.step_once()
    before = {link: arm.get_link_pose(link) for link in ("panda_hand", "panda_leftfinger", -1)}
    sim.step_once()
    for link, pose in before.items():
        linear, angular = arm.get_link_velocity(link)
        moved = (np.array(arm.get_link_pose(link).position) - pose.position) / 0.001
        assert linear == pytest.approx(moved, abs=2e-3)
        turned = arm.get_link_pose(link) * pose.inverse()
        spin = 2000.0 * np.array(turned.orientation[:3]) * np.sign(turned.orientation[3])
        assert angular == pytest.approx(spin, abs=2e-3)
    assert np.linalg.norm(arm.get_link_velocity("panda_hand")[0]) > 0.2


def test_link_velocities_include_the_base(make_sim: MakeSim) -> None:
    sim = make_sim(timestep=0.01)
    robot = Agent.from_urdf("mobile_manipulator", mass=0.0, sim_core=sim)
    robot.set_velocity(0.5, 0, 0, 0, 0, 0.4)
    for _ in range(200):
        sim.step_once()
    link = robot.link_names[-1]
    linear, angular = robot.get_link_velocity(link)
    arm = np.array(robot.get_link_pose(link).position) - robot.position
    assert angular == pytest.approx([0, 0, 0.4])
    assert linear == pytest.approx(robot.velocity + np.cross([0, 0, 0.4], arm))


# ---- links of one robot ----------------------------------------------------------------------------------------------


MakeSim_links_of_one_robot = Callable[..., MultiRobotSimulationCore]
READY_links_of_one_robot = {"panda_joint2": -0.4, "panda_joint4": -2.0, "panda_joint6": 1.6, "panda_joint7": 0.8}
FOLDED = {"panda_joint2": 1.7, "panda_joint4": -3.0}
"""The forearm in the base."""


def spawn_links_of_one_robot(sim: MultiRobotSimulationCore, **settings: object) -> Agent:
    agent: Agent = Agent.from_urdf(
        "panda",
        use_fixed_base=True,
        sim_core=sim,
        name="arm",
        mass=None,
        joint_positions=READY_links_of_one_robot,
        **settings,
    )
    return agent


@pytest.mark.parametrize("self_collision", [False, True])
def test_links_push_each_other(make_sim: MakeSim_links_of_one_robot, self_collision: bool) -> None:
    sim = make_sim(physics=True, timestep=0.02, enable_floor=False)
    arm = spawn_links_of_one_robot(sim, self_collision=self_collision)
    for _ in range(20):
        sim.step_once()
    # Nothing pushes where nothing folds: links that joints join overlap where they meet.
    assert max(abs(arm.get_joint_state(name)[0] - value) for name, value in READY_links_of_one_robot.items()) < 0.01
    arm.set_joints_targets(FOLDED)
    for _ in range(150):
        sim.step_once()
    left = sum(abs(arm.get_joint_state(name)[0] - value) for name, value in FOLDED.items())
    assert (left > 0.05) is self_collision
    if self_collision:
        assert sim.get_self_collisions(arm)

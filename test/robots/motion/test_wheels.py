"""Wheels of robots without motors turn with the way driven, and those of cars are steered."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import fleet_sim as fs
from fleet_sim.base.errors import ConfigError, InvalidValueError
from fleet_sim.models import load_robot_model, resolve_urdf
from fleet_sim.models.kinematics.links import find_places

RADIUS, TRACK = 0.09, 0.41
"""Of diff_base."""


def simulation(**settings: Any) -> fs.MultiRobotSimulationCore:
    return fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, timestep=0.05, target_rtf=0, **settings))


def robot(sim: fs.MultiRobotSimulationCore, model: str = "diff_base", name: str = "r", **more: Any) -> fs.Agent:
    pose = more.pop("pose", fs.Pose.from_xyz(0, 0, 0))
    agent = sim.spawn(fs.AgentSpawnParams(urdf_path=model, name=name, initial_pose=pose, mass=0.0, **more))
    assert isinstance(agent, fs.Agent)
    return agent


def steps(sim: fs.MultiRobotSimulationCore, count: int) -> None:
    for _ in range(count):
        sim.step_once()


def test_only_driving_turns_wheels() -> None:
    sim = simulation()
    agent, other = robot(sim), robot(sim, name="still", features={"wheels": {"turn": False}})
    agent.events.on("arrived", lambda *_: agent.set_pose(fs.Pose.from_xyz(20.0, 0.0, 0.0)))
    for one, y in ((agent, 0.0), (other, 3.0)):
        one.set_pose(fs.Pose.from_xyz(9.0, y, 0.0))
        one.set_goal_pose(fs.Pose.from_xyz(10.0, y, 0.0))
    steps(sim, 100)
    assert agent.get_pose().position[0] == 20.0
    np.testing.assert_allclose(agent.joint_positions, 1.0 / RADIUS, rtol=1e-9)
    np.testing.assert_array_equal(other.joint_positions, 0.0)


def test_a_commanded_wheel_does_as_commanded() -> None:
    sim = simulation()
    agent = robot(sim, max_linear_accel=1e6)
    agent.set_joint_velocity("left_wheel_joint", 2.0)
    agent.set_velocity(vx=0.9)
    steps(sim, 20)
    np.testing.assert_allclose(agent.joint_positions, (2.0, 9.75), rtol=1e-9)


def test_robots_without_wheels_have_nothing_of_it() -> None:
    sim = simulation()
    sim.spawn(fs.AgentSpawnParams(name="box"))
    robot(sim, "arm6", "arm", use_fixed_base=True)
    robot(sim, "diff_base", "screwed", use_fixed_base=True)
    assert "wheels" not in sim.features.used
    assert not sim.world.on_drive


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({}, "has no wheels"),
        ({"urdf_path": "arm6"}, "has no wheels"),
        ({"urdf_path": "diff_base", "mass": 0.0, "use_fixed_base": True}, "fixed base"),
        ({"urdf_path": "diff_base", "mass": None}, "motors"),
    ],
)
def test_wheels_that_cannot_turn_are_refused(entry: dict[str, Any], reason: str) -> None:
    sim = simulation(physics=True)
    with pytest.raises((InvalidValueError, ConfigError), match=reason):
        sim.spawn(fs.AgentSpawnParams(name="r", features={"wheels": {}}, **entry))
    assert len(sim.world) == 0


def test_meshes_tell_the_radius_and_steering_is_found() -> None:
    model = load_robot_model(resolve_urdf("racecar"))
    places = find_places(model)
    assert len(places.wheels) == 4 and len(places.steering) == 2
    np.testing.assert_allclose(places.radii, 0.05, atol=0.01)
    seen = find_places(replace(model, collisions=()))
    np.testing.assert_allclose(seen.radii, 0.05, atol=0.01)
    assert seen.wheels.tolist() == places.wheels.tolist()


def test_joints_of_a_robot_removed_on_arrival_are_left_alone() -> None:
    sim = simulation()
    agents = [robot(sim, name=f"r{index}", pose=fs.Pose.from_xyz(0, index, 0)) for index in range(3)]
    arm: list[fs.Agent] = []

    def swap(*_: Any) -> None:
        sim.remove_object(agents[0])
        arm.append(robot(sim, "diff_base", "new", pose=fs.Pose.from_xyz(0, 9, 0)))

    agents[0].events.on("arrived", swap)
    for index, agent in enumerate(agents):
        agent.set_goal_pose(fs.Pose.from_xyz(1.0 + index, index, 0.0))
    steps(sim, 100)
    np.testing.assert_array_equal(arm[0].joint_positions, 0.0)
    np.testing.assert_allclose(agents[2].joint_positions, 3.0 / RADIUS, rtol=1e-9)

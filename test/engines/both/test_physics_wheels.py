"""Robots that the engine moves, driven by the motors of their wheels."""

from __future__ import annotations

import numpy as np
import pytest
from small_world import MakeSim
from things import run

from fleet_sim import (
    Agent,
    AgentSpawnParams,
    InvalidValueError,
    MultiRobotSimulationCore,
    Pose,
    ShapeParams,
    SimObjectSpawnParams,
)


def spawn(sim: MultiRobotSimulationCore, name: str = "robot", pose: Pose | None = None, **settings: object) -> Agent:
    settings = {"max_linear_vel": 1.0, "max_linear_accel": 1.0, **settings}
    agent: Agent = Agent.from_urdf("diff_base", pose or Pose.from_xyz(0, 0, 0), sim_core=sim, name=name, **settings)  # type: ignore[arg-type]
    return agent


@pytest.fixture
def sim(make_sim: MakeSim) -> MultiRobotSimulationCore:
    return make_sim(physics=True, timestep=0.05)


def test_wheels_are_read_from_the_description(sim: MultiRobotSimulationCore) -> None:
    robot = spawn(sim)
    joints, span = sim.world.joints, sim.world.joints.of(sim.world.robots, robot.row)
    assert robot.motion_mode == "wheels"
    assert (1.0 / joints.wheel_rate[span]).tolist() == pytest.approx([0.09, 0.09])
    assert joints.wheel_offset[span].tolist() == pytest.approx([0.205, -0.205])
    other = spawn(sim, "other", Pose.from_xyz(3, 0, 0), wheel_radius=0.1, wheel_separation=0.5)
    span = joints.of(sim.world.robots, other.row)
    assert joints.wheel_offset[span].tolist() == [0.25, -0.25]
    assert spawn(sim, "light", Pose.from_xyz(6, 0, 0), mass=0.0).motion_mode == "differential"
    with pytest.raises(InvalidValueError, match="motors"):
        sim.spawn(AgentSpawnParams(urdf_path="diff_base", mass=0.0, motion_mode="wheels"))


def test_a_velocity_command_turns_the_wheels_as_it_should(sim: MultiRobotSimulationCore) -> None:
    robot = spawn(sim)
    run(sim, 10)
    robot.set_velocity(0.5, wz=0.8)
    run(sim, 30)
    assert np.hypot(*robot.velocity[:2]) == pytest.approx(0.5, rel=0.05)
    assert robot.angular_velocity == pytest.approx(0.8, rel=0.05)
    left, right = robot.joint_velocities
    assert left == pytest.approx((0.5 - 0.8 * 0.205) / 0.09, rel=0.02)
    assert right == pytest.approx((0.5 + 0.8 * 0.205) / 0.09, rel=0.02)
    robot.stop()
    run(sim, 10)
    assert np.abs(robot.velocity).max() < 0.01


def test_it_pushes_a_box_and_is_stopped_by_a_wall(sim: MultiRobotSimulationCore) -> None:
    robot = spawn(sim)
    cube = ShapeParams("box", half_extents=(0.15, 0.15, 0.15))
    box = sim.spawn(SimObjectSpawnParams(cube, cube, Pose.from_xyz(0.8, 0.0, 0.15), mass=2.0, friction=0.3))
    wall = ShapeParams("box", half_extents=(0.1, 2.0, 0.5))
    sim.spawn(SimObjectSpawnParams(wall, wall, Pose.from_xyz(3.0, 0.0, 0.5)))
    robot.set_velocity(0.8)
    run(sim, 50)
    assert 1.0 < box.position[0] < 2.75
    run(sim, 60)
    assert box.position[0] == pytest.approx(2.75, abs=0.02), "against the wall"
    # Its wheels slip, and shake it; it gets no further.
    stopped = robot.position[0]
    run(sim, 40)
    assert robot.position[0] == pytest.approx(stopped, abs=0.02)

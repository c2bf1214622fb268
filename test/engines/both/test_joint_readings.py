"""What joints and links tell besides positions: efforts of motors, velocities of links."""

from __future__ import annotations

import numpy as np
import pytest
from arms import PANDA, READY
from small_world import MakeSim

from fleet_sim import Agent, MultiRobotSimulationCore, Pose


def spawn(sim: MultiRobotSimulationCore, mass: float | None = None, fixed: bool = True) -> Agent:
    agent: Agent = Agent.from_urdf(
        PANDA, Pose.from_yaw(0.3, -0.2, 0.0, 0.7), mass, use_fixed_base=fixed, sim_core=sim, joint_positions=READY
    )
    return agent


def test_efforts_of_motors_at_rest_carry_the_arm(make_sim: MakeSim) -> None:
    sim = make_sim(physics=True)
    arm = spawn(sim)
    for _ in range(40):
        sim.step_once()
    count = len(arm.movable_joint_names)
    pytest.importorskip("pybullet", reason="pybullet is not installed, which works out what is needed")
    reference = make_sim(physics=True, engine="bullet")
    body, still = spawn(reference).body_id, [0.0] * count
    needed = reference.bullet.calculateInverseDynamics(body, arm.joint_positions.tolist(), still, still)
    # The shoulder carries the whole arm.
    assert abs(needed[1]) > 10.0
    assert arm.joint_efforts == pytest.approx(needed, abs=0.5)
    assert len(arm.joint_efforts) == count


def test_a_commanded_force_is_the_effort(make_sim: MakeSim) -> None:
    sim = make_sim(physics=True)
    arm = spawn(sim)
    arm.set_joints_forces({"panda_joint7": 0.25})
    sim.step_once()
    effort = dict(zip(arm.movable_joint_names, arm.joint_efforts.tolist(), strict=True))
    model = arm.robot_model
    assert model is not None
    friction = float(model.friction[model.joint_index("panda_joint7")])
    assert effort["panda_joint7"] == pytest.approx(0.25, abs=friction + 1e-9)


def test_efforts_of_a_robot_without_motors_are_not_known(make_sim: MakeSim) -> None:
    sim = make_sim()
    arm = spawn(sim, 0.0)
    arm.set_joint_target(0, 1.0)
    sim.step_once()
    assert len(arm.joint_efforts) == len(arm.movable_joint_names) and np.isnan(arm.joint_efforts).all()


@pytest.mark.parametrize("physics", [False, True])
def test_link_velocities_are_those_of_their_poses(make_sim: MakeSim, physics: bool) -> None:
    """A step of 1 ms: the velocity is how far the link went."""
    sim = make_sim(physics=physics, timestep=0.001)
    arm = spawn(sim, None if physics else 0.0)
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

"""Masses, inertias, torques and poses of robots against raw PyBullet that reads the same file; the Franka's grip."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from oracle_rows import holds
from small_bins import small_bin

import fleet_sim as fs
from fleet_sim.learning.manipulation import FrankaArm
from fleet_sim.learning.manipulation.config import REST

Make = Callable[..., fs.MultiRobotSimulationCore]
ROBOTS = ("arm6", "rail_arm", "mobile_manipulator", "diff_base", "panda", "kuka_iiwa")
PLACE, TURN = [0.3, -0.4, 0.2], [0.0, 0.0, math.sin(0.35), math.cos(0.35)]


@pytest.fixture
def raw() -> Any:
    """Return a raw PyBullet world: its module, and the number of its client."""
    pybullet = pytest.importorskip("pybullet")
    client = pybullet.connect(pybullet.DIRECT)
    pybullet.setGravity(0, 0, -9.81, physicsClientId=client)
    yield pybullet, {"physicsClientId": client}
    pybullet.disconnect(client)


@holds("api:Agent.mass", "api:Agent.get_link_pose", fault="engines/bullet/models.py: masses are scaled to 1 kg")
@pytest.mark.parametrize("name", ROBOTS)
def test_a_robot_is_what_its_file_says(make_sim: Make, raw: Any, name: str) -> None:
    """Every mass, inertia and link pose, at joints that are all different, and the torques that gravity asks for."""
    pybullet, world = raw
    sim = make_sim(physics=True, timestep=0.013)
    robot = fs.Agent.from_urdf(name, fs.Pose(PLACE, TURN), sim_core=sim, use_fixed_base=True, mimic_joints=False)
    model = robot.robot_model
    body = pybullet.loadURDF(model.path, PLACE, TURN, useFixedBase=True, **world)
    joints = model.movable.tolist()
    lower, upper = np.maximum(model.lower[joints], -1.0), np.minimum(model.upper[joints], 1.0)
    angles = lower + (upper - lower) * np.linspace(0.35, 0.75, len(joints))
    robot.set_joint_positions(angles.tolist())
    for joint, angle in zip(joints, angles.tolist(), strict=True):
        pybullet.resetJointState(body, joint, angle, **world)
    masses = 0.0
    for link in range(-1, model.num_joints):
        ours, theirs = sim.bullet.getDynamicsInfo(robot.body_id, link), pybullet.getDynamicsInfo(body, link, **world)
        masses += model.inertials[link + 1].mass
        # A fixed link without a mass has none here, and 1 kg in PyBullet.
        if model.inertials[link + 1].mass > 0.0:
            assert ours[0] == pytest.approx(theirs[0]), f"link {link}"
            assert ours[2] == pytest.approx(theirs[2]), f"link {link}"
            # PyBullet counts a fixed base as 0 kg.
            assert link == -1 or model.inertials[link + 1].mass == pytest.approx(theirs[0]), f"link {link}"
    assert robot.mass == pytest.approx(masses)
    for link in range(model.num_joints):
        state, pose = (
            pybullet.getLinkState(body, link, computeForwardKinematics=True, **world),
            robot.get_link_pose(link),
        )
        assert pose.position == pytest.approx(state[4], abs=1e-6)
        assert abs(float(np.dot(pose.orientation, state[5]))) == pytest.approx(1.0, abs=1e-6)
    zeros = [0.0] * len(joints)
    speeds = np.linspace(-0.3, 0.4, len(joints)).tolist()
    for given in ((angles.tolist(), zeros, zeros), (angles.tolist(), speeds, zeros[:-1] + [0.7])):
        ours = sim.bullet.calculateInverseDynamics(robot.body_id, *given)
        assert ours == pytest.approx(pybullet.calculateInverseDynamics(body, *given, **world), rel=1e-9, abs=1e-9)


@holds(
    "api:Agent.joint_efforts",
    "ros:sensor_msgs/JointState.effort",
    fault="engines/bullet/models.py: efforts have the other sign",
)
@pytest.mark.parametrize("engine", ["bullet", "mujoco"])
@pytest.mark.parametrize("name", ["arm6", "panda"])
def test_motors_hold_a_robot_with_the_torques_that_gravity_asks_for(
    make_sim: Make, raw: Any, name: str, engine: str
) -> None:
    pytest.importorskip("mujoco" if engine == "mujoco" else "pybullet")
    pybullet, world = raw
    sim = make_sim(physics=True, timestep=0.013, engine=engine, enable_floor=False)
    robot = fs.Agent.from_urdf(name, fs.Pose(PLACE, TURN), sim_core=sim, use_fixed_base=True, mimic_joints=False)
    model = robot.robot_model
    body = pybullet.loadURDF(
        model.path, PLACE, TURN, useFixedBase=True, flags=pybullet.URDF_USE_INERTIA_FROM_FILE, **world
    )
    # What PyBullet makes of links without a mass.
    for link in range(model.num_joints):
        if model.inertials[link + 1].mass == 0.0:
            pybullet.changeDynamics(body, link, mass=0.0, **world)
    joints = model.movable.tolist()
    lower, upper = np.maximum(model.lower[joints], -1.0), np.minimum(model.upper[joints], 1.0)
    robot.set_joint_positions((lower + (upper - lower) * np.linspace(0.35, 0.75, len(joints))).tolist())
    sim.run_simulation(2.0)
    zeros = [0.0] * len(joints)
    wanted = pybullet.calculateInverseDynamics(body, robot.joint_positions.tolist(), zeros, zeros, **world)
    assert max(map(abs, wanted)) > 2.0
    assert robot.joint_efforts == pytest.approx(wanted, rel=0.02, abs=0.05)


@holds("api:Agent.mass", fault="learning/manipulation/arm.py: the arm is spawned with mass=1.0")
def test_the_franka_weighs_what_its_file_says(make_sim: Make, raw: Any) -> None:
    pybullet, world = raw
    data = pytest.importorskip("pybullet_data")
    sim = make_sim(physics=True, timestep=0.013)
    arm = FrankaArm(PLACE, TURN, sim, REST)
    body = pybullet.loadURDF(f"{data.getDataPath()}/franka_panda/panda.urdf", PLACE, TURN, useFixedBase=True, **world)
    weights = [pybullet.getDynamicsInfo(body, link, **world)[0] for link in range(-1, 12)]
    ours = [sim.bullet.getDynamicsInfo(arm.arm_id, link)[0] for link in range(-1, 12)]
    # Of the links without a mass PyBullet makes 1 kg: the flange, and the point between the fingers.
    real = [link for link in range(12) if link not in (7, 11)]
    assert sum(weights[link + 1] for link in real) == pytest.approx(15.06, abs=0.01)
    assert [ours[link + 1] for link in real] == pytest.approx([weights[link + 1] for link in real])
    assert arm.agent.mass == pytest.approx(17.96, abs=0.01)


def grip(make_sim: Make, engine: str, aside: float | None = None) -> tuple[float, float, float]:
    """Return the forces in N of both fingers on a cube of 20 mm, and the reaction of an idle finger before.

    With `aside` the cube is so far in m from the middle of the fingers, which close as `close_gripper` does it; then
    the third value is how far aside it ends.
    """
    pytest.importorskip("pybullet" if engine == "bullet" else "mujoco")
    # A force that is large beside the weight of the cube takes an exact solver, as the scenes have it.
    sim = make_sim(physics=True, timestep=1 / 120, engine=engine, enable_floor=False, solver_iterations=1000)
    arm = FrankaArm([0, 0, 0], [0, 0, 0, 1], sim, REST, get_end_effector_force_sensor_readings=True)
    for _ in range(40):
        sim.step_once()
    idle = arm.get_end_effector_reaction_forces()[0]
    position, angles = arm.get_gripper_state()
    shape = fs.ShapeParams("box", half_extents=(0.01, 0.01, 0.01))
    pose = fs.Pose.from_euler(*(position + [0.0, aside or 0.0, 0.004]).tolist(), yaw=float(angles[2]))
    cube = sim.spawn(fs.SimObjectSpawnParams(shape, shape, pose, mass=0.02, friction=0.9))
    arm.close_gripper() if aside else arm.apply_action_to_gripper(0.0, 0.0)
    for _ in range(40):
        sim.step_once()
    forces = [0.0, 0.0]
    for contact in arm.agent.get_contacts():
        if contact.other is cube:
            forces[arm.end_effector_indices.index(contact.link)] += contact.normal_force
    return forces[0], forces[1], float(cube.position[1] - arm.get_gripper_state()[0][1]) if aside else idle


@holds(
    "api:FrankaArm.max_gripper_force",
    "api:FrankaArm.get_end_effector_reaction_forces",
    fault="learning/manipulation/arm.py: the arm is spawned with mass=1.0",
)
@pytest.mark.parametrize("engine", ["bullet", "mujoco"])
def test_the_gripper_holds_with_its_force_and_a_finger_weighs_100_grams(make_sim: Make, engine: str) -> None:
    first, second, idle = grip(make_sim, engine)
    assert first == pytest.approx(80.0, rel=0.05)
    assert second == pytest.approx(80.0, rel=0.05)
    # A finger hangs on its joint, whose axis is level: 0.1 kg.
    assert idle == pytest.approx(-0.1 * 9.81, rel=0.02)


@holds("api:FrankaArm.close_gripper", fault="learning/manipulation/arm.py: close_gripper ends before the second move")
@pytest.mark.parametrize("engine", ["bullet", "mujoco"])
@pytest.mark.parametrize("aside", [0.003, -0.005])
def test_what_is_gripped_off_centre_ends_in_the_middle(make_sim: Make, engine: str, aside: float) -> None:
    first, second, left = grip(make_sim, engine, aside)
    assert [first, second] == pytest.approx([80.0, 80.0], rel=0.05)
    assert abs(left) < 0.0013


@holds(
    "env:FleetSim/FrankaDelta-v0.observation.gripper_position",
    fault="learning/envs/franka.py: actions outside the action space are carried out",
)
@pytest.mark.parametrize("engine", ["bullet", "mujoco"])
def test_an_action_outside_the_space_moves_as_one_at_its_edge(engine: str) -> None:
    pytest.importorskip("gymnasium")
    pytest.importorskip("pybullet" if engine == "bullet" else "mujoco")
    from fleet_sim.learning.envs import Franka2Env

    moves = []
    for reach in (1.0, 5.0, 1e9):
        env = Franka2Env(small_bin(objects=(2, 2)), dv=0.013, engine=engine, downsample_height=8, downsample_width=8)
        before = env.reset(seed=1)[0]["gripper_position"]
        action = np.array([0.0, 0.4, 1.0, 0.0, 1.0]) * (1.0, 0.013, 0.013 * reach, 1.0, reach)
        moves.append(env.step(action)[0]["gripper_position"] - before)
        for wrong in ("x", [0.0] * 4, [math.nan] * 5, None):
            with pytest.raises(fs.InvalidValueError, match="action"):
                env.step(wrong)
        env.close()
    assert moves[0] == pytest.approx([0.0, 0.4 * 0.013, 0.013], abs=1e-3)
    assert moves[1] == pytest.approx(moves[0], abs=1e-6)
    assert moves[2] == pytest.approx(moves[0], abs=1e-6)

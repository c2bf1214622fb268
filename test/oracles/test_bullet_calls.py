"""Calls of `sim.bullet` on entities and the floor: what is refused, and what is saved."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from oracle_rows import holds

import fleet_sim as fs

pybullet = pytest.importorskip("pybullet")
Make = Callable[..., fs.MultiRobotSimulationCore]
BOX = fs.ShapeParams("box", half_extents=(0.1, 0.2, 0.3))
INTEGERS = (int, np.int64, np.int32, np.uint8, lambda number: np.array(number))


@holds(
    "api:MultiRobotSimulationCore.bullet",
    fault=(
        "engines/bullet/handle.py: numbers of bodies are looked at with isinstance(body, int), or by one of their names"
    ),
)
@pytest.mark.parametrize("integer", INTEGERS)
def test_a_kinematic_entity_is_not_written_by_a_number_of_any_type(make_sim: Make, integer: Callable[..., Any]) -> None:
    sim = make_sim(physics=True, timestep=0.05)
    box = sim.spawn(fs.SimObjectSpawnParams(BOX, BOX, fs.Pose.from_euler(3.0, 0.4, 0.1, yaw=0.7), mass=0.0))
    arm = fs.Agent.from_urdf("arm6", fs.Pose((0.3, 5.0, 0.2)), mass=0.0, sim_core=sim)
    bullet, body, joints = sim.bullet, integer(int(box.body_id)), integer(int(arm.body_id))
    at = pybullet.POSITION_CONTROL
    before = box.get_pose(), arm.get_pose(), arm.get_joint_state(1), bullet.getNumBodies()
    for write in (
        lambda: bullet.removeBody(body),
        lambda: bullet.removeBody(bodyUniqueId=body),
        lambda: bullet.resetBasePositionAndOrientation(body, [9, 9, 1], [0, 0, 0, 1]),
        lambda: bullet.resetBasePositionAndOrientation(posObj=[9, 9, 1], ornObj=[0, 0, 0, 1], bodyUniqueId=body),
        lambda: bullet.resetBaseVelocity(body, [1, 0, 0]),
        lambda: bullet.resetJointState(joints, 1, 0.5),
        lambda: bullet.resetJointStateMultiDof(joints, 1, [0.5]),
        lambda: bullet.resetJointStatesMultiDof(joints, [1], [[0.5]]),
        lambda: bullet.setJointMotorControl2(joints, 1, at, 0.5),
        lambda: bullet.setJointMotorControl2(bodyIndex=joints, jointIndex=1, controlMode=at, targetPosition=0.5),
        lambda: bullet.setJointMotorControlArray(bodyIndex=joints, jointIndices=[1], controlMode=at),
        lambda: bullet.setJointMotorControlMultiDof(joints, 1, at, targetPosition=[0.5]),
        lambda: bullet.setJointMotorControlMultiDofArray(joints, [1], at, targetPositions=[[0.5]]),
        lambda: bullet.applyExternalForce(body, -1, [9, 0, 0], [0, 0, 0], pybullet.WORLD_FRAME),
        lambda: bullet.applyExternalTorque(body, -1, [9, 0, 0], pybullet.WORLD_FRAME),
        lambda: bullet.changeDynamics(joints, 2, mass=3.0),
    ):
        with pytest.raises(fs.StateError):
            write()
    sim.step_once()
    assert (box.get_pose(), arm.get_pose(), arm.get_joint_state(1), bullet.getNumBodies()) == before


@holds(
    "api:MultiRobotSimulationCore.bullet",
    fault="engines/bullet/handle.py: the floor is written like a body of the user's own",
)
def test_the_floor_stays(make_sim: Make) -> None:
    sim = make_sim(physics=True, timestep=0.05)
    box = sim.spawn(fs.SimObjectSpawnParams(BOX, BOX, fs.Pose((0.2, 0.1, 0.3)), mass=1.5))
    floor = sim.engine.floor_id()
    for write in (
        lambda: sim.bullet.removeBody(np.int64(floor)),
        lambda: sim.bullet.resetBasePositionAndOrientation(floor, [0, 0, 0.5], [0, 0, 0, 1]),
        lambda: sim.bullet.resetBaseVelocity(floor, [0, 0, 0.5]),
        lambda: sim.bullet.setCollisionFilterPair(box.body_id, floor, -1, -1, 0),
        lambda: sim.bullet.setCollisionFilterGroupMask(floor, -1, 0, 0),
    ):
        with pytest.raises(fs.StateError, match="floor"):
            write()


@holds("api:MultiRobotSimulationCore.restore_state", fault="engines/bullet/engine.py: forces that wait are not saved")
def test_forces_that_wait_are_part_of_a_saved_state(make_sim: Make) -> None:
    sim = make_sim(physics=True, timestep=0.013, gravity=(0, 0, 0), enable_floor=False)
    box = sim.spawn(fs.SimObjectSpawnParams(BOX, BOX, fs.Pose((0, 0, 2)), mass=1.5))
    still = sim.save_state()
    box.apply_force([4.0, 0.0, 0.0])
    pushed = sim.save_state()
    for state, speed in ((pushed, 4.0 / 1.5 * 0.013), (still, 0.0), (pushed, 4.0 / 1.5 * 0.013)):
        sim.restore_state(state)
        sim.step_once()
        # But for PyBullet's damping.
        assert box.velocity[0] == pytest.approx(speed, rel=1e-2)
    sim.restore_state(pushed)
    sim.rebuild_engine()
    sim.step_once()
    assert box.velocity[0] == pytest.approx(4.0 / 1.5 * 0.013, rel=1e-2)


@holds(
    "api:SimObject.get_pose", fault="engines/bullet/mirror.py: a body written in phase 1 keeps its pose of the columns"
)
def test_what_is_written_inside_a_step_counts_in_it(make_sim: Make) -> None:
    sim = make_sim(physics=True, timestep=0.013, gravity=(0, 0, 0), enable_floor=False)
    box = sim.spawn(fs.SimObjectSpawnParams(BOX, BOX, fs.Pose((0, 0, 2)), mass=1.5))
    seen = []

    def write(sim: Any, dt: float) -> None:
        box.set_pose(fs.Pose((7.0, 7.0, 7.0)))
        sim.bullet.resetBasePositionAndOrientation(box.body_id, [0.3, -0.4, 1.7], [0, 0, 0, 1])
        sim.bullet.resetBaseVelocity(np.int64(box.body_id), [0.2, 0, 0], [0, 0, 0])
        seen.append((box.get_pose().position, sim.bullet.getBasePositionAndOrientation(box.body_id)[0]))

    sim.step_once()
    sim.register_callback(write)
    sim.step_once()
    for position in seen[0]:
        assert position == pytest.approx((0.3, -0.4, 1.7))
    assert box.get_pose().position == pytest.approx((0.3 + 0.2 * 0.013, -0.4, 1.7), abs=1e-5)


@holds("api:SimObject.get_pose", fault="engines/bullet/handle.py: numbers that are not finite reach the engine")
def test_numbers_that_are_not_finite_are_refused(make_sim: Make) -> None:
    sim = make_sim(physics=True, timestep=0.05)
    box = sim.spawn(fs.SimObjectSpawnParams(BOX, BOX, fs.Pose((0, 0, 2)), mass=1.5))
    arm, nan = fs.Agent.from_urdf("arm6", fs.Pose((0.3, 5.0, 0.2)), sim_core=sim, use_fixed_base=True), math.nan
    for write in (
        lambda: sim.bullet.resetBasePositionAndOrientation(box.body_id, [nan, 0, 0], [0, 0, 0, 1]),
        lambda: sim.bullet.resetBasePositionAndOrientation(box.body_id, [0, 0, 2], [0, 0, 0, 0]),
        lambda: sim.bullet.resetBasePositionAndOrientation(box.body_id, [1e300, 0, 0], [0, 0, 0, 1]),
        lambda: sim.bullet.resetBaseVelocity(box.body_id, np.array([0, math.inf, 0])),
        lambda: sim.bullet.applyExternalForce(box.body_id, -1, [0, 0, nan], [0, 0, 0], pybullet.LINK_FRAME),
        lambda: sim.bullet.applyExternalForce(box.body_id, -1, 9.0, [0, 0, 0], pybullet.LINK_FRAME),
        lambda: sim.bullet.applyExternalTorque(box.body_id, -1, [0, 9], pybullet.LINK_FRAME),
        lambda: sim.bullet.resetJointStatesMultiDof(arm.body_id, [1], [[nan]]),
        lambda: sim.bullet.setJointMotorControl2(arm.body_id, 1, pybullet.POSITION_CONTROL, nan),
    ):
        with pytest.raises(fs.InvalidValueError):
            write()
    assert box.get_pose().position == pytest.approx((0, 0, 2))


@holds(
    "api:MultiRobotSimulationCore.bullet",
    fault="engines/bullet/handle.py: a motor is left to the user before PyBullet has taken the call",
)
def test_motors_of_a_call_that_pybullet_refuses_go_on(make_sim: Make) -> None:
    sim = make_sim(physics=True, timestep=0.01)
    arm = fs.Agent.from_urdf("arm6", fs.Pose((0.3, 5.0, 0.2)), mass=None, sim_core=sim)
    arm.set_joint_target(1, 0.4)
    with pytest.raises(pybullet.error):
        sim.bullet.setJointMotorControl2(int(arm.body_id), 1, 12_345)
    for _ in range(400):
        sim.step_once()
    assert abs(arm.get_joint_state(1)[0] - 0.4) < 0.02

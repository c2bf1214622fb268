"""Calls of `sim.bullet` on entities, the floor and constraints: what is refused, what lasts, and what is saved."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fresh_python import words_of
from mimic_robots import mimic_file, mimics
from oracle_rows import holds

import fleet_sim as fs
from fleet_sim.world.state_files import read_archive, write_archive

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
        lambda: bullet.createConstraint(body, -1, -1, -1, at, [0, 0, 1], [0, 0, 0], [0, 0, 0]),
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
        lambda: sim.bullet.createConstraint(floor, -1, -1, -1, pybullet.JOINT_FIXED, [0, 0, 1], [0, 0, 0], [0, 0, 0]),
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
        lambda: sim.bullet.resetJointStatesMultiDof(arm.body_id, [1, 2], [[0.1], [0.2, 0.3]]),
        lambda: sim.bullet.setJointMotorControl2(arm.body_id, 1, pybullet.POSITION_CONTROL, nan),
        lambda: sim.bullet.setJointMotorControl2(arm.body_id, 1, pybullet.POSITION_CONTROL, 0.1, force=nan),
        lambda: sim.bullet.setJointMotorControlArray(arm.body_id, [1, 2], pybullet.POSITION_CONTROL, [0.1, [0.2]]),
        lambda: sim.bullet.setJointMotorControlArray(arm.body_id, [1, 2], pybullet.POSITION_CONTROL, [0.1]),
        lambda: sim.bullet.setJointMotorControlArray(arm.body_id, [[1], [2, 3]], pybullet.POSITION_CONTROL),
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


SUBSTEP, STEP = 1 / 240, 0.05
GO_ON = """
import sys, json, fleet_sim as fs
params = fs.SimulationParams(gui=False, target_rtf=0, physics=True, timestep={step}, enable_floor=False)
sim = fs.MultiRobotSimulationCore(params)
sim.load_state({file!r})
for _ in range({count}):
    sim.step_once()
print(*(float(angle) for angle in sim.agents[0].joint_positions))
"""


def command(call: Callable[..., Any], array: Callable[..., Any], degrees: Callable[..., Any], body: int) -> None:
    """Command four motors of an arm, each in another way."""
    call(body, 1, pybullet.POSITION_CONTROL, 0.6, force=90.0, maxVelocity=0.3, positionGain=0.07)
    call(body, 2, pybullet.VELOCITY_CONTROL, targetVelocity=-0.4, force=150.0)
    array(body, (3, 4), pybullet.POSITION_CONTROL, [0.2, -0.5], forces=[70.0, 80.0], velocityGains=[0.8, 0.9])
    degrees(body, 5, pybullet.POSITION_CONTROL, targetPosition=[0.7], force=[60.0])
    # The fastest speed of the first command stays.
    call(body, 1, pybullet.POSITION_CONTROL, -0.5, force=110.0)


@holds(
    "api:MultiRobotSimulationCore.save_state",
    "api:MultiRobotSimulationCore.load_state",
    fault="engines/bullet/engine.py: motors that the user commanded are in no state, or not in files",
)
@pytest.mark.parametrize("way", ["rebuild", "restore", "restore in a new engine", "file"])
def test_motors_that_the_user_commands_last(make_sim: Make, tmp_path: Path, way: str) -> None:
    sim = make_sim(physics=True, timestep=STEP, enable_floor=False)
    arm = fs.Agent.from_urdf("arm6", fs.Pose((0.3, 5.0, 0.2)), mass=None, sim_core=sim, use_fixed_base=True)
    raw = pybullet.connect(pybullet.DIRECT)
    try:
        client = {"physicsClientId": raw}
        pybullet.setGravity(0, 0, -9.81, **client)
        pybullet.setTimeStep(SUBSTEP, **client)
        twin = pybullet.loadURDF(arm.robot_model.path, [0.3, 5.0, 0.2], useFixedBase=True, **client)
        calls = ("setJointMotorControl2", "setJointMotorControlArray", "setJointMotorControlMultiDof")
        command(*(getattr(sim.bullet, name) for name in calls), int(arm.body_id))
        command(*(functools.partial(getattr(pybullet, name), **client) for name in calls), twin)
        moved = [joint for joint in range(arm.robot_model.num_joints) if arm.robot_model.joint_types[joint] != 4]
        assert {1, 2, 3, 4, 5} <= set(moved)
        for joint in set(moved) - {1, 2, 3, 4, 5}:
            for world, number, rest in ((sim.bullet, arm.body_id, {}), (pybullet, twin, client)):
                world.setJointMotorControl2(number, joint, pybullet.VELOCITY_CONTROL, force=0.0, **rest)
        for _ in range(4):
            sim.step_once()
        for _ in range(4 * round(STEP / SUBSTEP) + 12 * round(STEP / SUBSTEP)):
            pybullet.stepSimulation(**client)
        wanted = [pybullet.getJointState(twin, joint, **client)[0] for joint in moved]
        file = tmp_path / "state"
        state = sim.save_state(file) if way == "file" else sim.save_state()
        if way == "rebuild":
            sim.rebuild_engine()
        elif way.startswith("restore"):
            for joint in moved:
                sim.bullet.setJointMotorControl2(arm.body_id, joint, pybullet.VELOCITY_CONTROL, targetVelocity=2.0)
            sim.step_once()
            if way.endswith("engine"):
                sim.rebuild_engine()
            sim.restore_state(state)
        if way == "file":
            found = [float(word) for word in words_of(GO_ON.format(step=STEP, file=str(file), count=12))]
        else:
            for _ in range(12):
                sim.step_once()
            found = arm.joint_positions.tolist()
        assert found == pytest.approx(wanted, abs=1e-9)
        assert max(map(abs, wanted)) > 0.1
    finally:
        pybullet.disconnect(raw)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('["force", 150.0]', '["force", {"float": "nan"}]'),
        ('["targetVelocity", -0.4]', '["targetVelocity", {"float": "inf"}]'),
        ('["targetVelocity", -0.4]', '["targetVelocity", true]'),
        ('["targetVelocity", -0.4]', '["physicsClientId", 7]'),
        ('["controlMode", 0]', '["controlMode", 9]'),
        ('[1, {"dict": [["controlMode"', '[0, {"dict": [["controlMode"'),
        ('[1, {"dict": [["controlMode"', '[-3, {"dict": [["controlMode"'),
        ('[1, {"dict": [["controlMode"', '[99, {"dict": [["controlMode"'),
    ],
)
def test_motors_of_files_are_checked(make_sim: Make, tmp_path: Path, old: str, new: str) -> None:
    sim = make_sim(physics=True, timestep=STEP, enable_floor=False)
    arm = fs.Agent.from_urdf("arm6", mass=None, sim_core=sim, use_fixed_base=True)
    sim.bullet.setJointMotorControl2(
        int(arm.body_id), 2, np.int64(pybullet.VELOCITY_CONTROL), targetVelocity=-0.4, force=150.0
    )
    sim.save_state(file := tmp_path / "state")
    content, arrays = read_archive(file)
    text = json.dumps(content)
    assert text.count(old) == 1
    write_archive(file, json.loads(text.replace(old, new)), arrays)
    with pytest.raises(fs.StateFileError):
        sim.load_state(file)
    sim.run_simulation(1.0)
    assert arm.get_joint_state(2)[1] == pytest.approx(-0.4, abs=1e-3)


@holds("api:MultiRobotSimulationCore.bullet", fault="engines/bullet/handle.py: constraints are made whatever they hold")
def test_a_constraint_needs_something_that_moves(make_sim: Make) -> None:
    sim = make_sim(physics=True, timestep=0.05)
    fixed, other = (
        sim.spawn(fs.SimObjectSpawnParams(BOX, BOX, fs.Pose((x, 0, 2)), mass=0.0)).body_id for x in (1.0, 3.0)
    )
    falling = sim.spawn(fs.SimObjectSpawnParams(BOX, BOX, fs.Pose((1.0, 1.0, 2.0)), mass=1.5))
    wall = sim.bullet.createMultiBody(0.0, sim.bullet.createCollisionShape(pybullet.GEOM_SPHERE, radius=0.1))

    def constrain(one: Any, two: Any) -> Any:
        joint = pybullet.JOINT_POINT2POINT
        return sim.bullet.createConstraint(one, -1, two, -1, joint, [0, 0, 0], [0, 1, 0], [0, 0, 0])

    for one, two in ((fixed, -1), (fixed, other), (np.int64(other), fixed), (wall, fixed), (fixed, wall)):
        with pytest.raises(fs.StateError, match="hold nothing"):
            constrain(one, two)
    constrain(fixed, falling.body_id)
    sim.run_simulation(1.0)
    assert falling.get_pose().position == pytest.approx((1.0, 1.0, 2.0), abs=0.01)


@holds(
    "api:MultiRobotSimulationCore.bullet",
    fault="engines/bullet/handle.py: motors and gears of mimic joints are the user's",
)
def test_joints_that_follow_others_stay_with_them(make_sim: Make, tmp_path: Path) -> None:
    sim = make_sim(physics=True, timestep=0.01)
    path = mimic_file(tmp_path, ("a", "revolute", ""), ("b", "revolute", mimics("a", -0.5, 0.2)))
    agent = fs.Agent.from_urdf(path, sim_core=sim, use_fixed_base=True)
    body = agent.body_id
    (gear,) = [sim.bullet.getConstraintUniqueId(index) for index in range(sim.bullet.getNumConstraints())]
    for call in (
        lambda: sim.bullet.setJointMotorControl2(body, 1, pybullet.VELOCITY_CONTROL, targetVelocity=1.0),
        lambda: sim.bullet.setJointMotorControlArray(body, [0, 1], pybullet.VELOCITY_CONTROL),
        lambda: sim.bullet.changeConstraint(gear, gearRatio=3.0),
        lambda: sim.bullet.removeConstraint(np.int64(gear)),
        lambda: sim.bullet.removeConstraint(userConstraintUniqueId=gear),
    ):
        with pytest.raises(fs.StateError, match="mimic_joints: false"):
            call()
    own = sim.bullet.createConstraint(body, 0, body, 1, pybullet.JOINT_POINT2POINT, [0, 0, 1], [0, 0, 0], [0, 0, 0])
    sim.bullet.removeConstraint(own)
    agent.set_joint_target("a", 0.8)
    sim.run_simulation(3.0)
    assert agent.joint_positions == pytest.approx([0.8, -0.5 * 0.8 + 0.2], abs=0.02)


@holds(
    "api:MultiRobotSimulationCore.bullet",
    fault="engines/bullet/handle.py: the sensor of a joint is switched off for all",
)
def test_what_a_sensor_measures_is_not_switched_off(make_sim: Make) -> None:
    sim = make_sim(physics=True, timestep=0.01)
    arm = fs.Agent.from_urdf("arm6", mass=None, sim_core=sim, use_fixed_base=True)
    sensor = sim.add_sensor("force_torque", arm, link=arm.robot_model.link_names[2])
    sim.step_once()
    before = np.linalg.norm(sensor.read().force)
    with pytest.raises(fs.StateError, match="measures that joint"):
        sim.bullet.enableJointForceTorqueSensor(arm.body_id, 2, False)
    with pytest.raises(fs.StateError, match="measures that joint"):
        sim.bullet.enableJointForceTorqueSensor(arm.body_id, jointIndex=np.array(2), enableSensor=0)
    sim.step_once()
    assert np.linalg.norm(sensor.read().force) == pytest.approx(before, rel=0.2) and before > 1.0
    sim.bullet.enableJointForceTorqueSensor(arm.body_id, 3, True)
    sim.bullet.enableJointForceTorqueSensor(arm.body_id, 3, False)


@holds(
    "api:MultiRobotSimulationCore.rebuild_engine",
    fault="engines/bullet/handle.py: the engine's step and its ERP are PyBullet's alone",
)
def test_step_and_erp_last(make_sim: Make) -> None:
    sim = make_sim(physics=False)
    ball = {"shapeType": pybullet.GEOM_SPHERE, "radius": 0.1}

    def height_after_steps() -> float:
        body = sim.bullet.createMultiBody(1.0, sim.bullet.createCollisionShape(**ball), basePosition=[0, 0, 0.06])
        for _ in range(3):
            sim.bullet.stepSimulation()
        return float(sim.bullet.getBasePositionAndOrientation(body)[0][2])

    usual = height_after_steps()
    sim.rebuild_engine()
    sim.bullet.setTimeStep(0.013)
    sim.bullet.setDefaultContactERP(0.6)
    told = height_after_steps()
    sim.rebuild_engine()
    assert sim.bullet.getPhysicsEngineParameters()["fixedTimeStep"] == pytest.approx(0.013)
    assert height_after_steps() == pytest.approx(told) and abs(told - usual) > 1e-3
    sim.bullet.setTimeStep(timeStep=0.007)
    sim.bullet.setPhysicsEngineParameter(fixedTimeStep=0.011)
    sim.rebuild_engine()
    assert sim.bullet.getPhysicsEngineParameters()["fixedTimeStep"] == pytest.approx(0.011)
    with pytest.raises(fs.InvalidValueError):
        sim.bullet.setTimeStep(math.nan)

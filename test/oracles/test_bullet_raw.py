"""`sim.bullet` beside raw PyBullet: two worlds that are told the same stay the same, whatever is done in between.

A second PyBullet world, which fleet_sim knows nothing of, is told each operation in PyBullet's own words. After each
one the columns, fleet_sim's PyBullet world and the second world are compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from oracle_rows import holds

import fleet_sim as fs

pybullet = pytest.importorskip("pybullet")
Make = Callable[..., fs.MultiRobotSimulationCore]
BOX = fs.ShapeParams("box", half_extents=(0.1, 0.2, 0.3))
INTEGERS = (int, np.int64, np.int32, np.uint8, lambda number: np.array(number))
SUBSTEP = 1 / 240


def quaternion(rng: np.random.Generator) -> list[float]:
    turn = rng.normal(size=4)
    return (turn / np.linalg.norm(turn)).tolist()


class Pair:
    """A simulation with boxes that fly and an arm, and the same in a raw world; each operation is made in both."""

    def __init__(self, make_sim: Make, rng: np.random.Generator, timestep: float) -> None:
        self.rng, self.timestep = rng, timestep
        self.sim = make_sim(physics=True, timestep=timestep, enable_floor=False)
        self.raw = pybullet.connect(pybullet.DIRECT)
        pybullet.setGravity(0, 0, -9.81, physicsClientId=self.raw)
        pybullet.setPhysicsEngineParameter(
            contactERP=0.2, deterministicOverlappingPairs=1, numSolverIterations=50, physicsClientId=self.raw
        )
        self.count = math.ceil(timestep / SUBSTEP - 1e-9)
        pybullet.setTimeStep(timestep / self.count, physicsClientId=self.raw)
        self.boxes: dict[Any, int] = {}
        self.made = 0
        self.arm = fs.Agent.from_urdf(
            "arm6", fs.Pose.from_euler(0.3, -4.0, 0.2, yaw=0.7), sim_core=self.sim, use_fixed_base=True
        )
        path = self.arm.robot_model.path
        self.raw_arm = pybullet.loadURDF(
            path, [0.3, -4.0, 0.2], [0, 0, math.sin(0.35), math.cos(0.35)], useFixedBase=True, physicsClientId=self.raw
        )
        info = [
            pybullet.getJointInfo(self.raw_arm, joint, physicsClientId=self.raw)
            for joint in range(self.arm.robot_model.num_joints)
        ]
        self.joints = [joint[0] for joint in info if joint[2] != pybullet.JOINT_FIXED]
        # The motors by which fleet_sim holds joints are its own: all joints begin with commands that both know.
        for joint in self.joints:
            self.motor(joint)
        for _ in range(3):
            self.spawn()
        self.saved: list[Any] = []

    def body(self, entity: Any) -> Any:
        """Return the number of an entity's body, as an integer of any type."""
        return INTEGERS[self.rng.integers(len(INTEGERS))](int(entity.body_id))

    def box(self) -> Any:
        return list(self.boxes)[self.rng.integers(len(self.boxes))]

    # ---- operations --------------------------------------------------------------------------------------------------

    def spawn(self) -> None:
        self.made += 1
        # So far apart that they never touch.
        place, turn = [7.0 * self.made, 0.3, 30.0], quaternion(self.rng)
        entity = self.sim.spawn(fs.SimObjectSpawnParams(BOX, BOX, fs.Pose(place, turn), mass=1.5))
        shape = pybullet.createCollisionShape(pybullet.GEOM_BOX, halfExtents=[0.1, 0.2, 0.3], physicsClientId=self.raw)
        self.boxes[entity] = pybullet.createMultiBody(
            1.5, shape, basePosition=place, baseOrientation=turn, physicsClientId=self.raw
        )

    def remove(self) -> None:
        if len(self.boxes) > 1:
            entity = self.box()
            pybullet.removeBody(self.boxes.pop(entity), physicsClientId=self.raw)
            self.sim.remove_object(entity)
            self.saved.clear()

    def raw_pose(self) -> None:
        entity, turn = self.box(), quaternion(self.rng)
        place = [entity.get_pose().x, *self.rng.uniform(5, 30, 2).tolist()]
        self.sim.bullet.resetBasePositionAndOrientation(self.body(entity), place, turn)
        pybullet.resetBasePositionAndOrientation(self.boxes[entity], place, turn, physicsClientId=self.raw)

    def raw_velocity(self) -> None:
        entity, (linear, angular) = self.box(), self.rng.uniform(-2, 2, (2, 3)).tolist()
        self.sim.bullet.resetBaseVelocity(
            objectUniqueId=self.body(entity), linearVelocity=linear, angularVelocity=angular
        )
        pybullet.resetBaseVelocity(self.boxes[entity], linear, angular, physicsClientId=self.raw)

    def raw_force(self) -> None:
        entity, (force, place) = self.box(), self.rng.uniform(-9, 9, (2, 3)).tolist()
        self.sim.bullet.applyExternalForce(self.body(entity), -1, force, place, pybullet.LINK_FRAME)
        self.sim.bullet.applyExternalTorque(self.body(entity), -1, place, pybullet.LINK_FRAME)
        # Of fleet_sim it lasts until the end of the step, which is several of PyBullet's.
        self.step([(self.boxes[entity], force, place)])

    def set_pose(self) -> None:
        entity, turn = self.box(), quaternion(self.rng)
        place = [entity.get_pose().x, *self.rng.uniform(5, 30, 2).tolist()]
        twist = pybullet.getBaseVelocity(self.boxes[entity], physicsClientId=self.raw)
        entity.set_pose(fs.Pose(place, turn))
        pybullet.resetBasePositionAndOrientation(self.boxes[entity], place, turn, physicsClientId=self.raw)
        pybullet.resetBaseVelocity(self.boxes[entity], *twist, physicsClientId=self.raw)

    def raw_joints(self) -> None:
        joints = self.rng.permutation(self.joints)[:2]
        angles, rates = self.rng.uniform(-0.8, 0.8, 2), self.rng.uniform(-0.5, 0.5, 2)
        kind = self.rng.integers(3)
        bullet, body = self.sim.bullet, self.body(self.arm)
        for world, number, client in ((bullet, body, {}), (pybullet, self.raw_arm, {"physicsClientId": self.raw})):
            if kind == 2:
                world.resetJointStatesMultiDof(number, joints.tolist(), angles[:, None], rates[:, None], **client)
                continue
            for joint, angle, rate in zip(joints.tolist(), angles.tolist(), rates.tolist(), strict=True):
                if kind:
                    world.resetJointState(number, joint, angle, rate, **client)
                else:
                    world.resetJointStateMultiDof(number, joint, [angle], [rate], **client)

    def raw_motor(self) -> None:
        self.motor(int(self.rng.choice(self.joints)))

    def motor(self, joint: int) -> None:
        rng, bullet = self.rng, self.sim.bullet
        target, rate, force = rng.uniform(-0.7, 0.7), rng.uniform(-0.6, 0.6), rng.uniform(20, 90)
        kind, body = rng.integers(5), self.body(self.arm)
        for world, number, client in ((bullet, body, {}), (pybullet, self.raw_arm, {"physicsClientId": self.raw})):
            at_velocity, at_position = pybullet.VELOCITY_CONTROL, pybullet.POSITION_CONTROL
            if kind == 0:
                world.setJointMotorControl2(number, joint, at_velocity, targetVelocity=rate, force=force, **client)
            elif kind == 1:
                options = {"bodyIndex": number, "jointIndex": joint, "controlMode": at_position}
                world.setJointMotorControl2(**options, targetPosition=target, force=force, maxVelocity=0.4, **client)
            elif kind == 2:
                other = self.joints[(self.joints.index(joint) + 1) % len(self.joints)]
                world.setJointMotorControlArray(
                    number, (joint, other), at_position, [target, -target], forces=[force, 2 * force], **client
                )
            elif kind == 3:
                world.setJointMotorControlMultiDof(
                    number, joint, at_position, targetPosition=[target], force=[force], **client
                )
            else:
                world.setJointMotorControlMultiDofArray(
                    number, [joint], at_position, targetPositions=[[target]], forces=[[force]], **client
                )

    def step(self, pushes: Any = ()) -> None:
        self.sim.step_once()
        for _ in range(self.count):
            for body, force, place in pushes:
                frame = pybullet.LINK_FRAME
                pybullet.applyExternalForce(body, -1, force, place, frame, physicsClientId=self.raw)
                pybullet.applyExternalTorque(body, -1, place, frame, physicsClientId=self.raw)
            pybullet.stepSimulation(physicsClientId=self.raw)

    def look(self) -> None:
        self.box().set_color((0.2, 0.4, 0.6, 1.0))
        self.box().set_material(friction=0.3)

    def rebuild(self) -> None:
        self.sim.rebuild_engine()

    def there_and_back(self) -> None:
        """Save, go on with other commands, restore, and go on as the raw world does."""
        checkpoint = self.sim.save_state()
        for joint in self.joints:
            self.sim.bullet.setJointMotorControl2(
                self.arm.body_id, joint, pybullet.VELOCITY_CONTROL, targetVelocity=0.9, force=300.0
            )
        self.sim.bullet.resetBasePositionAndOrientation(self.box().body_id, [0, 0, 90], [0, 0, 0, 1])
        self.box().apply_force([30.0, 20.0, 10.0])
        for _ in range(int(self.rng.integers(3))):
            self.sim.step_once()
        self.sim.restore_state(checkpoint)

    # ---- comparison --------------------------------------------------------------------------------------------------

    def check(self) -> None:
        bullet, raw = self.sim.bullet, {"physicsClientId": self.raw}
        for entity, other in self.boxes.items():
            pose, twist = pybullet.getBasePositionAndOrientation(other, **raw), pybullet.getBaseVelocity(other, **raw)
            ours = entity.get_pose()
            same_pose((ours.position, ours.orientation), pose)
            same_pose(bullet.getBasePositionAndOrientation(entity.body_id), pose)
            assert entity.velocity == pytest.approx(twist[0], abs=1e-9)
            for one, two in zip(bullet.getBaseVelocity(entity.body_id), twist, strict=True):
                assert one == pytest.approx(two, abs=1e-9)
            above, below = np.array(pose[0]) + (0.01, 0.02, 1.0), np.array(pose[0]) - (0.01, 0.02, 1.0)
            seen = pybullet.rayTest(above, below, **raw)[0][3]
            # PyBullet rounds the edges of boxes.
            assert self.sim.queries.ray_cast(above, below).points[0] == pytest.approx(seen, abs=2e-3)
        for joint in self.joints:
            state = pybullet.getJointState(self.raw_arm, joint, **raw)
            ours = self.arm.get_joint_state(joint)
            assert (ours[0], ours[1]) == pytest.approx(state[:2], rel=1e-8, abs=1e-8)
            assert bullet.getJointState(self.arm.body_id, joint)[:2] == pytest.approx(state[:2], rel=1e-8, abs=1e-8)
        link = pybullet.getLinkState(self.raw_arm, self.joints[-1], computeForwardKinematics=True, **raw)[4:6]
        ours = self.arm.get_link_pose(self.joints[-1])
        same_pose((ours.position, ours.orientation), link, 1e-6)


def same_pose(one: Any, two: Any, within: float = 1e-9) -> None:
    assert one[0] == pytest.approx(two[0], abs=within)
    # A quaternion and its negative are one rotation.
    assert abs(float(np.dot(one[1], two[1]))) == pytest.approx(1.0, abs=within)


@pytest.fixture
def make_pair(make_sim: Make) -> Iterator[Callable[..., Pair]]:
    """Return a maker of pairs, whose raw worlds are closed at the end."""
    pairs: list[Pair] = []

    def make(*args: Any) -> Pair:
        pairs.append(Pair(make_sim, *args))
        return pairs[-1]

    yield make
    for pair in pairs:
        pybullet.disconnect(pair.raw)


OPERATIONS = ("raw_pose", "raw_velocity", "raw_force", "set_pose", "raw_joints", "raw_motor", "step", "look", "rebuild",
              "spawn", "remove", "there_and_back")  # fmt: skip


@holds(
    "api:SimObject.get_pose",
    "api:SimObject.velocity",
    "api:Agent.get_joint_state",
    "api:Agent.get_link_pose",
    "api:SpatialQueries.ray_cast",
    "api:MultiRobotSimulationCore.save_state",
    "api:MultiRobotSimulationCore.restore_state",
    "api:MultiRobotSimulationCore.rebuild_engine",
    fault="bullet/calls.py: a body that was written is not read back into the columns",
)
@pytest.mark.parametrize(("seed", "timestep"), [(1, 0.05), (2, 0.013), (3, 0.013), (4, 0.05)])
def test_two_worlds_that_are_told_the_same_are_the_same(
    make_pair: Callable[..., Pair], seed: int, timestep: float
) -> None:
    rng = np.random.default_rng(seed)
    pair = make_pair(rng, timestep)
    done = []
    for _ in range(40):
        done.append(OPERATIONS[rng.integers(len(OPERATIONS))])
        getattr(pair, done[-1])()
        try:
            pair.check()
        except AssertionError as error:
            raise AssertionError(f"after {done}: {error}") from error


# ---- what is refused -------------------------------------------------------------------------------------------------


@holds(
    "api:MultiRobotSimulationCore.bullet",
    fault="bullet/calls.py: numbers of bodies are looked at with isinstance(body, int), or by one of their names",
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
        lambda: bullet.createConstraint(body, -1, -1, -1, at, [0, 0, 1], [0, 0, 0], [0, 0, 0]),
    ):
        with pytest.raises(fs.StateError):
            write()
    sim.step_once()
    assert (box.get_pose(), arm.get_pose(), arm.get_joint_state(1), bullet.getNumBodies()) == before


@holds("api:SimObject.color", fault="bullet/calls.py: colors and dynamics are taken over for `int` only")
@pytest.mark.parametrize("integer", INTEGERS)
def test_what_is_set_for_a_number_of_any_type_lasts(make_sim: Make, integer: Callable[..., Any]) -> None:
    sim = make_sim(physics=True, timestep=0.05)
    box = sim.spawn(fs.SimObjectSpawnParams(BOX, BOX, fs.Pose((0, 0, 3)), mass=1.5))
    arm = fs.Agent.from_urdf("arm6", fs.Pose((0.3, 5.0, 0.2)), sim_core=sim, use_fixed_base=True)
    sim.bullet.changeDynamics(integer(int(box.body_id)), -1, lateralFriction=0.05)
    sim.bullet.changeDynamics(integer(int(arm.body_id)), integer(2), mass=3.3)
    sim.bullet.resetVisualShapeData(integer(int(box.body_id)), -1, rgbaColor=[0.1, 0.9, 0.3, 1])
    sim.bullet.enableJointForceTorqueSensor(integer(int(arm.body_id)), integer(3), True)
    sim.rebuild_engine()
    sim.step_once()
    assert sim.bullet.getDynamicsInfo(box.body_id, -1)[1] == pytest.approx(0.05)
    assert sim.bullet.getDynamicsInfo(arm.body_id, 2)[0] == pytest.approx(3.3)
    assert sim.bullet.getVisualShapeData(box.body_id)[0][7] == pytest.approx((0.1, 0.9, 0.3, 1))
    assert np.linalg.norm(sim.bullet.getJointState(arm.body_id, 3)[2]) > 0.1


@holds(
    "api:MultiRobotSimulationCore.bullet", fault="bullet/calls.py: the floor is written like a body of the user's own"
)
def test_the_floor_stays_and_what_is_set_of_it_lasts(make_sim: Make) -> None:
    sim = make_sim(physics=True, timestep=0.05)
    box = sim.spawn(fs.SimObjectSpawnParams(BOX, BOX, fs.Pose((0.2, 0.1, 0.3)), mass=1.5))
    floor = sim.engine.floor_id()
    for write in (
        lambda: sim.bullet.removeBody(np.int64(floor)),
        lambda: sim.bullet.resetBasePositionAndOrientation(floor, [0, 0, 0.5], [0, 0, 0, 1]),
        lambda: sim.bullet.resetBaseVelocity(floor, [0, 0, 0.5]),
        lambda: sim.bullet.setCollisionFilterPair(box.body_id, floor, -1, -1, 0),
        lambda: sim.bullet.setCollisionFilterGroupMask(floor, -1, 0, 0),
        lambda: sim.bullet.createConstraint(floor, -1, -1, -1, pybullet.JOINT_FIXED, [0, 0, 1], [0, 0, 0], [0, 0, 0]),
    ):
        with pytest.raises(fs.StateError, match="floor"):
            write()
    box.set_material(friction=0.6)
    checkpoint = sim.save_state()
    sim.bullet.changeDynamics(np.int32(floor), -1, lateralFriction=0.0)
    for rebuilt in (False, True):
        if rebuilt:
            sim.rebuild_engine()
        box.set_pose(fs.Pose((0.2, 0.1, 0.3)))
        sim.bullet.resetBaseVelocity(box.body_id, [0.5, 0, 0], [0, 0, 0])
        sim.run_simulation(1.0)
        # Without friction it slides on.
        assert box.velocity[0] == pytest.approx(0.5, rel=0.1)
    sim.restore_state(checkpoint)
    assert sim.bullet.getDynamicsInfo(sim.engine.floor_id(), -1)[1] == 1.0


@holds("api:MultiRobotSimulationCore.bullet", fault="bullet/calls.py: constraints are made whatever they hold")
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


@holds("api:MultiRobotSimulationCore.restore_state", fault="bullet/saved.py: forces that wait are not saved")
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


@holds("api:SimObject.get_pose", fault="bullet/mirror.py: a body written in phase 1 keeps its pose of the columns")
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


@holds("api:MultiRobotSimulationCore.restore_state", fault="bullet/saved.py: motors of own bodies are not restored")
def test_motors_of_own_bodies_are_restored(make_sim: Make) -> None:
    sim = make_sim(physics=True, timestep=0.05, enable_floor=False)
    arm = sim.bullet.loadURDF(str(fs.resolve_urdf("arm6")), useFixedBase=True)
    states = [sim.save_state()]
    for speed in (0.3, -0.2):
        sim.bullet.setJointMotorControl2(arm, 1, pybullet.VELOCITY_CONTROL, targetVelocity=speed, force=80.0)
        states.append(sim.save_state())
    for state, speed in zip(states[::-1], (-0.2, 0.3, 0.0), strict=True):
        sim.restore_state(state)
        sim.run_simulation(0.3)
        assert sim.bullet.getJointState(arm, 1)[1] == pytest.approx(speed, abs=1e-3)


@holds("api:SimObject.get_pose", fault="bullet/calls.py: numbers that are not finite reach the engine")
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
        lambda: sim.bullet.resetJointStatesMultiDof(arm.body_id, [1], [[nan]]),
        lambda: sim.bullet.setJointMotorControl2(arm.body_id, 1, pybullet.POSITION_CONTROL, nan),
    ):
        with pytest.raises(fs.InvalidValueError):
            write()
    assert box.get_pose().position == pytest.approx((0, 0, 2))

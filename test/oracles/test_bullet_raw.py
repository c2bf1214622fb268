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
        """Save, go on with other poses and motors, restore, and go on as the raw world does."""
        checkpoint = self.sim.save_state()
        self.sim.bullet.resetBasePositionAndOrientation(self.box().body_id, [0, 0, 90], [0, 0, 0, 1])
        self.box().apply_force([30.0, 20.0, 10.0])
        velocities = {"controlMode": pybullet.VELOCITY_CONTROL, "targetVelocity": 0.9, "force": 300.0}
        for joint in self.joints:
            self.sim.bullet.setJointMotorControl2(self.arm.body_id, joint, **velocities)
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
    fault="engines/bullet/models.py: motors that the user commanded are not commanded again in a new engine",
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

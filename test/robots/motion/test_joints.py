"""Joint motion: rates, exact arrival, velocities, limits, and independence of the company."""

from __future__ import annotations

import numpy as np

from fleet_sim.robots.motion.system import advance_joints
from fleet_sim.world import steering as joint_steering
from fleet_sim.world.clock import Clock
from fleet_sim.world.hashing import state_hash
from fleet_sim.world.shapes import FIXED, PRISMATIC, REVOLUTE, RobotModel
from fleet_sim.world.world import World

DT = 0.1


def model(*joints: tuple[int, float, float, float]) -> RobotModel:
    """A chain of joints, each (type, lower, upper, greatest speed)."""
    types, lower, upper, speeds = (np.array(values) for values in zip(*joints, strict=True))
    count = len(joints)
    return RobotModel(
        name="chain",
        path="",
        base_name="base",
        link_names=tuple(f"link_{index}" for index in range(count)),
        joint_names=tuple(f"joint_{index}" for index in range(count)),
        joint_types=types.astype(np.int64),
        parents=np.arange(-1, count - 1),
        joint_positions=np.zeros((count, 3)),
        joint_orientations=np.tile([0.0, 0.0, 0.0, 1.0], (count, 1)),
        axes=np.tile([0.0, 0.0, 1.0], (count, 1)),
        lower=lower.astype(float),
        upper=upper.astype(float),
        max_velocities=speeds.astype(float),
        max_forces=np.zeros(count),
        damping=np.zeros(count),
        friction=np.zeros(count),
    )


ARM = model((REVOLUTE, -2.0, 2.0, 1.0), (FIXED, 0, 0, 0), (PRISMATIC, 0.0, 0.3, 0.0), (REVOLUTE, 0.0, -1.0, 0.0))
"""A limited hinge, a fixed joint, a slide without a speed, and a hinge without limits or a speed."""


class Arms:
    """Some arms in a world of their own."""

    def __init__(self, count: int = 1, dt: float = DT) -> None:
        self.world = World(Clock(dt))
        self.world.models.append(ARM)
        self.rows = self.world.allocate([f"arm_{index}" for index in range(count)])
        self.slots = self.world.joints.assign(self.world.robots, self.rows, ARM)
        self.joints = self.world.joints

    def step(self, count: int = 1) -> np.ndarray:
        settled = np.empty(0, np.int64)
        for _ in range(count):
            settled = advance_joints(self.world, self.world.clock.dt)
        return settled


def test_a_joint_arrives_exactly_and_is_at_rest_then() -> None:
    arms = Arms()
    target = 1.0 / 3.0
    joint_steering.give_joint_targets(arms.world, arms.slots[0, :1], np.array([target]))
    assert [len(arms.step()) for _ in range(4)] == [0, 0, 0, 1]
    assert arms.joints.position[arms.slots[0, 0]] == target
    assert arms.joints.velocity[arms.slots[0, 0]] == 0.0
    assert not arms.joints.moving.any()
    arms.world.robots.joints_moved[:] = False
    assert len(arms.step()) == 0
    assert not arms.world.robots.joints_moved.any(), "who stands still is not touched"


def test_a_row_is_settled_when_its_last_joint_is_there() -> None:
    arms = Arms(2)
    joint_steering.give_joint_targets(arms.world, arms.slots[0, :2], np.array([0.1, 0.1]))
    joint_steering.give_joint_targets(arms.world, arms.slots[1, :1], np.array([0.2]))
    assert [arms.step().tolist() for _ in range(3)] == [[], [0, 1], []]


def test_a_joint_that_only_turns_does_not_keep_its_robot_from_settling() -> None:
    arms = Arms()
    joint_steering.give_joint_velocities(arms.world, arms.slots[0, 2:], np.array([1.0]))
    joint_steering.give_joint_targets(arms.world, arms.slots[0, :1], np.array([0.2]))
    assert [arms.step().tolist() for _ in range(2)] == [[], [0]]


def test_velocity_zero_and_hold_stop_at_once() -> None:
    arms = Arms()
    joint_steering.give_joint_velocities(arms.world, arms.slots[0], np.array([1.0, 0.2, 1.0]))
    arms.step(3)
    before = arms.joints.position[arms.slots[0]].copy()
    joint_steering.give_joint_velocities(arms.world, arms.slots[0, :2], np.zeros(2))
    joint_steering.hold_joints(arms.world, arms.slots[0, 2:])
    arms.step(3)
    assert (arms.joints.position[arms.slots[0]] == before).all()
    assert (arms.joints.velocity[arms.slots[0]] == 0.0).all()
    assert (arms.joints.target[arms.slots[0]] == before).all()


def test_joints_put_somewhere_stay_there() -> None:
    arms = Arms()
    joint_steering.give_joint_targets(arms.world, arms.slots[0], np.array([1.0, 0.2, 1.0]))
    before = state_hash(arms.world)
    joint_steering.put_joints(arms.world, arms.slots[0], np.array([0.5, 1.0, 7.0]))
    assert state_hash(arms.world) != before
    arms.step(3)
    assert arms.joints.position[arms.slots[0]].tolist() == [0.5, 0.3, 7.0]

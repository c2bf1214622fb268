"""The registry of laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from motion_fleet import DIFFERENTIAL, Fleet
from small_world import BOX

from fleet_sim import AgentSpawnParams, MotionMode, MoveTo, MultiRobotSimulationCore, Pose, SimulationParams
from fleet_sim.base.arrays import NO_ROWS, Rows
from fleet_sim.base.errors import DuplicateNameError, InvalidValueError, UnknownNameError
from fleet_sim.base.params import MovementDirection
from fleet_sim.base.spatial.quaternions import from_eulers, from_yaws, to_eulers, yaws
from fleet_sim.robots.motion.laws import motion_law, motion_law_index, names, register_motion_law
from fleet_sim.robots.motion.system import advance_joints
from fleet_sim.world import steering as joint_steering
from fleet_sim.world.checkpoint import state_hash
from fleet_sim.world.clock import Clock
from fleet_sim.world.shapes import FIXED, PRISMATIC, REVOLUTE, RobotModel
from fleet_sim.world.steering import give_velocities
from fleet_sim.world.world import World


class Jump:
    """Goes to the goal at once."""

    name = "jump"

    def step(self, world: World, rows: Rows, dt: float) -> Rows:
        motion = world.motion
        world.position[rows] = world.waypoints.position[motion.path_start[rows] + motion.path_length[rows] - 1]
        world.touch(rows)
        return rows


def test_a_law_of_ones_own() -> None:
    if Jump.name not in names():
        register_motion_law(Jump.name, Jump())
    fleet = Fleet(Jump.name, count=2)
    fleet.motion.law[0] = motion_law_index("omnidirectional")
    fleet.send([1.0, 0.0, 0.0], [1.0, 0.0, 0.0])
    assert fleet.step().tolist() == [1]
    assert fleet.world.position[1].tolist() == [1.0, 0.0, 0.0]
    assert fleet.motion.reached[1] and not fleet.motion.reached[0]
    with pytest.raises(DuplicateNameError):
        register_motion_law(Jump.name, Jump())


def test_errors() -> None:
    with pytest.raises(UnknownNameError, match="differential"):
        motion_law_index("diferential")
    with pytest.raises(InvalidValueError):
        motion_law(0)
    with pytest.raises(InvalidValueError):
        register_motion_law("nothing", object())  # type: ignore[arg-type]
    assert not len(NO_ROWS) and isinstance(NO_ROWS, np.ndarray)


# ---- The omnidirectional law -----------------------------------------------------------------------------------------


def test_an_axis_that_cannot_move_is_not_held_up_by_rounding() -> None:
    fleet = Fleet(linear_speed=np.array([[1.0, 1.0, 0.0]]))
    fleet.send([2.0, 1.0, 1e-14])
    fleet.finish()
    assert fleet.world.position[0].tolist() == [2.0, 1.0, 1e-14]


def test_only_rows_that_moved_are_touched() -> None:
    fleet = Fleet(count=3)
    fleet.world.moved[:] = False
    fleet.send([1.0, 0.0, 0.0])
    fleet.step()
    assert fleet.world.moved[fleet.rows].tolist() == [True, False, False]


@pytest.mark.parametrize("column", ["parent", "law"])
def test_attached_and_immobile_rows_stay(column: str) -> None:
    fleet = Fleet(count=2)
    fleet.send([1.0, 0.0, 0.0])
    if column == "parent":
        fleet.world.parent[0] = 1
    else:
        fleet.motion.law[0] = 0
    fleet.step(3)
    assert not fleet.world.position[0].any()


def test_without_any_limit_the_goal_is_reached_in_one_step() -> None:
    fleet = Fleet(linear_speed=np.inf, linear_accel=np.inf, angular_speed=np.inf, angular_accel=np.inf)
    fleet.send([10.0, 0.0, 0.0], yaws=1.0)
    assert fleet.finish() == 1


# ---- The differential law --------------------------------------------------------------------------------------------


FORWARD, BACKWARD, AUTO = (direction.code for direction in MovementDirection)


def test_climbs_in_a_straight_line_and_keeps_roll_and_pitch() -> None:
    fleet = Fleet(DIFFERENTIAL)
    fleet.world.orientation[0] = from_eulers(np.array([[0.1, -0.2, 0.0]]))[0]
    fleet.send([0.0, 4.0, 2.0], align_final=False)
    fleet.finish()
    roll, pitch, yaw = to_eulers(fleet.world.orientation[:1])[0]
    assert fleet.world.position[0].tolist() == [0.0, 4.0, 2.0]
    assert (roll, pitch) == pytest.approx((0.1, -0.2))
    assert yaw == pytest.approx(np.pi / 2)
    _x, y, z = np.array(fleet.record.positions)[:, 0].T
    assert np.abs(z - y / 2).max() < 1e-12


def test_a_goal_above_needs_no_heading() -> None:
    fleet = Fleet(DIFFERENTIAL)
    fleet.send([0.0, 0.0, 1.0], align_final=False)
    fleet.finish()
    assert fleet.world.orientation[0].tolist() == [0.0, 0.0, 0.0, 1.0]


@settings(max_examples=12, deadline=None)
@given(
    goals=st.lists(
        st.tuples(st.floats(-4, 4), st.floats(-4, 4), st.floats(-3, 3), st.integers(1, 15)), min_size=2, max_size=5
    ),
    direction=st.sampled_from([FORWARD, BACKWARD, AUTO]),
)
def test_new_goals_in_motion_respect_limits_and_never_slip(
    goals: list[tuple[float, float, float, int]], direction: int
) -> None:
    fleet = Fleet(DIFFERENTIAL)
    for x, y, yaw, steps in goals:
        fleet.send([x, y, 0.0], yaws=yaw, direction=direction)
        fleet.step(steps)
    fleet.finish()
    record = fleet.record
    assert fleet.world.position[0].tolist() == [goals[-1][0], goals[-1][1], 0.0]
    assert fleet.world.orientation[0].tolist() == from_yaws(np.array([goals[-1][2]]))[0].tolist()
    assert record.speeds().max() <= 2.0 * (1 + 1e-9)
    assert np.abs(np.diff(record.speeds(), axis=0)).max() <= 0.5 * (1 + 1e-8)
    assert record.spin_speeds().max() <= 3.0 * (1 + 1e-9)
    assert record.spin_changes().max() <= 1.0 * (1 + 1e-8)
    for velocity, orientation in zip(record.velocities, record.orientations, strict=True):
        yaw = yaws(orientation)[0]
        assert abs(velocity[0, 1] * np.cos(yaw) - velocity[0, 0] * np.sin(yaw)) < 1e-8


# ---- Velocity commands -----------------------------------------------------------------------------------------------


def command(fleet: Fleet, linear: list[float], angular: list[float]) -> None:
    give_velocities(fleet.world, fleet.rows, np.array([linear]), np.array([angular]))


def test_an_axis_that_cannot_move_does_not_stop_the_others() -> None:
    fleet = Fleet(linear_speed=np.array([[1.0, 0.0, 0.0]]))
    command(fleet, [0.8, 0.1, 0.0], [0.0, 0.0, 0.0])
    fleet.step(5)
    assert fleet.motion.body_linear[0].tolist() == [0.8, 0.0, 0.0]


def test_a_fresh_command_puts_the_timeout_off() -> None:
    fleet = Fleet()
    fleet.motion.command_timeout[0] = 0.3
    for _ in range(10):
        command(fleet, [1.0, 0.0, 0.0], [0.0, 0.0, 0.0])
        fleet.step(2)
    assert fleet.record.speeds()[-1, 0] == 1.0


def test_a_zero_command_ends_idle() -> None:
    fleet = Fleet()
    command(fleet, [1.0, 0.0, 0.0], [0.0, 0.0, 0.0])
    fleet.step(5)
    command(fleet, [0.0, 0.0, 0.0], [0.0, 0.0, 0.0])
    assert fleet.finish() == 2
    assert not fleet.motion.reached[0]


# ---- MoveTo(tolerance): a robot that drives ends that near to its goal, and so earlier -------------------------------


def test_a_robot_that_is_too_fast_to_stop_at_the_rim_stops_within() -> None:
    sim = MultiRobotSimulationCore(SimulationParams(gui=False, timestep=0.05))
    agent = sim.spawn(AgentSpawnParams(BOX, BOX, motion_mode=MotionMode.OMNIDIRECTIONAL, max_linear_accel=1.0))
    agent.set_goal_pose(Pose((10, 0, 0)))
    while agent.get_pose().x < 3.0:
        sim.step_once()
    stop = agent.get_pose().x + 0.5 * float(agent.velocity[0]) ** 2 + 0.1
    action = MoveTo(Pose((stop, 0, 0)), tolerance=1.0)
    agent.execute_action(action)
    while not action.is_complete():
        assert sim.step_count < 5000
        sim.step_once()
    assert abs(agent.get_pose().x - stop) <= 1.0


# ---- Joint motion: rates, exact arrival, velocities, limits, and independence of the company -------------------------


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

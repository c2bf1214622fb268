"""The joints of all robots in one flat table: the movable joints of a robot are contiguous."""

from __future__ import annotations

from typing import Any

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, AnyArray, Bools, Bytes, Floats, Ints, Rows
from fleet_sim.world.columns import ColumnTable, column
from fleet_sim.world.schema import NO_ROW
from fleet_sim.world.shapes import PRISMATIC, RobotModel

REVOLUTE_FALLBACK_VELOCITY = 2.0
"""Speed limit (rad/s) of revolute joints without one in their description."""
PRISMATIC_FALLBACK_VELOCITY = 0.5
"""Speed limit (m/s) of prismatic joints without one in their description."""
DEFAULT_TOLERANCE = 0.01
"""Default tolerance (rad or m) within which a joint has reached its target."""
DEFAULT_FORCE = 500.0
"""Default maximum force (N) or torque (N m) of a joint's motor."""

DEFAULT_GAIN = 0.2
"""Position gain of motors: fraction of the position error corrected per substep; the velocity is limited too."""

HOLD, TO_POSITION, AT_VELOCITY, AT_FORCE, ON_CURVE, RAW_MOTOR = range(6)
"""Control modes of a joint: hold its position, go to `target`, keep `command` as velocity, apply `command` as force
(motors only), follow a curve in time (without motors only), or as the engine's motor was told by the engine's own
functions."""


class RobotColumns(ColumnTable):
    """The model of each robot, and the place of its joints in the table of joints."""

    model: Ints = column(np.int64, default=-1, writer="spawning", doc="index in World.models, -1: none", hashed=False)
    joint_start: Ints = column(np.int64, writer="spawning", doc="first joint in World.joints", hashed=False)
    joint_count: Ints = column(np.int64, writer="spawning", doc="movable joints, 0: none")
    mimics: Bools = column(bool, writer="spawning", doc="mimic joints follow their leaders")
    motors: Bools = column(bool, writer="spawning", doc="joints are moved by the engine's motors, not by the columns")
    self_collision: Bools = column(bool, writer="spawning", doc="links that touch each other are reported")
    joints_moved: Bools = column(bool, writer="whoever writes joints", doc="in this step", hashed=False)
    joints_behind: Bools = column(bool, writer="whoever writes joints", doc="PyBullet has older ones", hashed=False)
    boxes_behind: Bools = column(bool, writer="whoever writes joints", doc="box is of older ones", hashed=False)


class JointColumns(ColumnTable):
    """One row per movable joint of any robot; angles in rad, lengths in m."""

    robot: Ints = column(np.int64, default=NO_ROW, writer="spawning", doc="row it belongs to", hashed=False)
    position: Floats = column(float, unit="rad or m", writer="joint motion, physics")
    velocity: Floats = column(float, unit="rad/s or m/s", writer="joint motion, physics", doc="true velocity")
    effort: Floats = column(float, unit="N m or N", writer="physics", doc="of its motor, 0 without one")
    control: Bytes = column(np.uint8, writer="joint commands", doc="HOLD, TO_POSITION, AT_VELOCITY, ...")
    target: Floats = column(float, unit="rad or m", writer="joint commands", doc="goes or went there")
    command: Floats = column(float, unit="rad/s, m/s, N m or N", writer="joint commands")
    max_velocity: Floats = column(float, unit="rad/s or m/s", writer="spawning", doc="never 0")
    max_force: Floats = column(float, default=DEFAULT_FORCE, unit="N m or N", writer="joint commands")
    position_gain: Floats = column(float, default=DEFAULT_GAIN, writer="user", doc="of motors that go to a position")
    velocity_gain: Floats = column(float, default=1.0, writer="user", doc="of motors")
    force_limit: Floats = column(float, default=np.inf, unit="N m or N", writer="user", doc="of motors, in any mode")
    lower: Floats = column(float, default=-np.inf, unit="rad or m", writer="spawning")
    upper: Floats = column(float, default=np.inf, unit="rad or m", writer="spawning")
    tolerance: Floats = column(float, default=DEFAULT_TOLERANCE, unit="rad or m", writer="user")
    # A cubic in u: curve_0 + curve_1 u + curve_2 u^2 + curve_3 u^3.
    curve_begin: Floats = column(float, unit="s", writer="joint commands", doc="simulation time at u = 0")
    curve_span: Floats = column(float, default=1.0, unit="s", writer="joint commands", doc="from u = 0 to u = 1")
    curve_0: Floats = column(float, unit="rad or m", writer="joint commands", doc="of 1")
    curve_1: Floats = column(float, unit="rad or m", writer="joint commands", doc="of u")
    curve_2: Floats = column(float, unit="rad or m", writer="joint commands", doc="of u^2")
    curve_3: Floats = column(float, unit="rad or m", writer="joint commands", doc="of u^3")
    leader: Ints = column(np.int64, default=NO_ROW, writer="spawning", doc="slot it follows, -1: none", hashed=False)
    multiplier: Floats = column(float, writer="spawning", doc="of the leader's position")
    offset: Floats = column(float, unit="rad or m", writer="spawning", doc="added to that")
    wheel_rate: Floats = column(float, unit="rad/m", writer="spawning", doc="turned per m rolled ahead, 0: no wheel")
    wheel_offset: Floats = column(float, unit="m", frame="body", writer="spawning", doc="of a wheel, to the left")
    moving: Bools = column(bool, writer="joint commands, joint motion", doc="to be advanced by joint motion")
    motor_behind: Bools = column(
        bool, writer="joint commands", doc="the engine's motor has an older command", hashed=False
    )


class JointPool(JointColumns):
    """The joints of a world. Those of a robot are `of(robots, row)`, in the order of its model's movable joints.

    Slots of removed robots are reused by robots with the same number of joints. Growing replaces the arrays.
    """

    def __init__(self) -> None:
        super().__init__()
        self.used = 0
        self.given_tolerances: dict[int, Any] = {}
        """The tolerances given to robots by the user, by row, unchanged."""
        self.ik_params: dict[int, Any] = {}
        """Inverse kinematics parameters of robots with their own ones, by row."""
        self.followers: Ints = NO_ROWS
        """The slots of all joints that follow another one."""
        # By number of joints: the joints of a robot are contiguous, and runs of one length leave no gaps behind.
        self._free: dict[int, list[int]] = {}

    def assign(self, robots: RobotColumns, rows: Rows, model: RobotModel) -> Ints:
        """Give each of `rows` (N,) the joints of `model`; returns their slots (N, M).

        Joints start at 0, or at the limit nearest to it.
        """
        count = len(model.movable)
        starts = self._take(count, len(rows))
        slots: Ints = starts[:, None] + np.arange(count)
        robots.joint_start[rows] = starts
        robots.joint_count[rows] = count
        if count == 0:
            return slots
        flat = slots.reshape(-1)
        prismatic_mask = model.joint_types[model.movable] == PRISMATIC
        fallback = np.where(prismatic_mask, PRISMATIC_FALLBACK_VELOCITY, REVOLUTE_FALLBACK_VELOCITY)
        given = model.max_velocities[model.movable]
        limited_mask = model.limited_mask[model.movable]
        self.robot[slots] = rows[:, None]
        # Many files give 0 where they mean no limit; the time to arrive is a distance divided by it.
        self.max_velocity[slots] = np.where(given > 0.0, given, fallback)
        # Joints without limits may go anywhere: infinite ones need no case of their own.
        self.lower[slots] = np.where(limited_mask, model.lower[model.movable], -np.inf)
        self.upper[slots] = np.where(limited_mask, model.upper[model.movable], np.inf)
        # Not always 0, which some joints cannot reach.
        self.position[flat] = np.clip(0.0, self.lower[flat], self.upper[flat])
        self.target[flat] = self.position[flat]
        return slots

    def find_followers(self) -> None:
        """Find the followers again, after some were added or removed."""
        self.followers = np.flatnonzero(self.leader[: self.used] != NO_ROW)

    def release(self, robots: RobotColumns, rows: Rows) -> None:
        """Free the joints of `rows`."""
        jointed = rows[robots.joint_count[rows] > 0]
        if len(jointed):
            # Joint motion searches all slots for `moving`, free ones included.
            self.clear_rows(self.slots(robots, jointed))
        # Kept by length, for robots with as many joints.
        counts = robots.joint_count[jointed]
        for count in np.unique(counts).tolist():
            self._free.setdefault(count, []).extend(robots.joint_start[jointed[counts == count]].tolist())
        robots.joint_count[rows] = 0
        if len(self.followers):
            self.find_followers()
        for values in (self.given_tolerances, self.ik_params):
            if values:
                for row in rows.tolist():
                    values.pop(row, None)

    def of(self, robots: RobotColumns, row: int) -> slice:
        """Return the slice of the joints of `row`."""
        start = int(robots.joint_start[row])
        return slice(start, start + int(robots.joint_count[row]))

    def slots(self, robots: RobotColumns, rows: Rows) -> Ints:
        """Return the slots of all joints of `rows`, robot after robot."""
        counts = robots.joint_count[rows]
        total = int(counts.sum())
        if not total:
            return NO_ROWS
        ends = np.cumsum(counts)
        # A plain count, shifted for each robot by its start minus the joints listed before it: no loop over robots.
        slots: Ints = np.arange(total) + np.repeat(robots.joint_start[rows] - (ends - counts), counts)
        return slots

    def save(self) -> dict[str, Any]:
        """Return copies of the joints in use, for a checkpoint."""
        arrays: dict[str, AnyArray] = {name: array[: self.used].copy() for name, _, array in self.columns()}
        return {
            "arrays": arrays,
            "free": {count: list(starts) for count, starts in self._free.items()},
            "given_tolerances": dict(self.given_tolerances),
            "ik_params": dict(self.ik_params),
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Restore what `save` returned."""
        self.used = len(saved["arrays"]["robot"])
        self.restore_arrays(saved["arrays"])
        self._free = {count: list(starts) for count, starts in saved["free"].items()}
        self.find_followers()
        self.given_tolerances = dict(saved["given_tolerances"])
        self.ik_params = dict(saved["ik_params"])

    def _take(self, count: int, number: int) -> Ints:
        """Return the first slots of `number` runs of `count` slots each."""
        free = self._free.get(count, [])
        # Robots without joints have no slots to take.
        again = min(number, len(free)) if count else 0
        # Of the same length, so that a reused run fits exactly.
        starts = [free.pop() for _ in range(again)]
        fresh = number - again
        first = self.used
        self.used += fresh * count
        if self.used > self.capacity:
            # Twice as much, so that it seldom has to grow.
            self.grow(max(2 * self.capacity, self.used))
        return np.array([*starts, *(first + count * index for index in range(fresh))], np.int64)

"""The joints and the waypoints of all robots, each in one flat pool in which those of a robot are contiguous."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, AnyArray, Bools, Bytes, Floats, Ints, Rows, ranges
from fleet_sim.world.columns import ColumnTable, column, compact_copy
from fleet_sim.world.schema import NO_ROW, MotionColumns
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


_ARRAYS = ("position", "orientation", "speed_limit", "pass_speed", "braking")


class EntityPaths(NamedTuple):
    """Paths of entities, one after the other: `lengths` (N,) counts the waypoints of each, 0 without a path.

    `nexts` (N,) are the numbers of the waypoints that they come to next; `positions` (P, 3) in m and `orientations`
    (P, 4) are of the waypoints of all, in the frame of the world.
    """

    lengths: Ints
    nexts: Ints
    positions: Floats
    orientations: Floats


PathSource: TypeAlias = Callable[[Rows], EntityPaths]
"""Returns the paths of `rows` (N,) that it drives robots along, without waypoints for others; read only."""


class WaypointPool:
    """Waypoints of every robot's path: a robot's own are `path_start[row] : path_start[row] + path_length[row]`.

    Paths are appended; the space of dropped paths is reclaimed when it exceeds the space in use.
    """

    def __init__(self) -> None:
        self.position: Floats = np.empty((256, 3))
        self.orientation: Floats = np.empty((256, 4))
        self.speed_limit: Floats = np.full(256, np.inf)
        """Limit (m/s) on the line that ends at the waypoint, besides the robot's own."""
        self.limited = False
        """Whether there was ever a path with a limit: without one, the laws do not look at them."""
        self.pass_speed: Floats = np.zeros(256)
        """Speed (m/s) at which the waypoint is passed; 0 where the robot stops. Written by the motion laws."""
        self.braking: Floats = np.ones(256)
        """Fraction of the acceleration limit used to slow down for the waypoint. Written by the motion laws."""
        self.used = 0
        self.live = 0
        self.sources: list[PathSource] = []
        """Who else drives robots along paths; a robot has one path at most."""

    def assign(
        self,
        motion: MotionColumns,
        rows: Rows,
        lengths: Ints,
        position: Floats,
        orientation: Floats,
        speed_limit: Floats | None = None,
    ) -> None:
        """Assign new paths of `lengths` waypoints to `rows`, with their points concatenated in the arrays.

        `speed_limit` (M,) in m/s holds on the line to each waypoint; None: no limits.
        """
        # First: the dropped paths then need no room and are not copied along.
        self.discard(motion, rows)
        total = len(position)
        self._reserve(motion, total)
        span = slice(self.used, self.used + total)
        self.position[span] = position
        self.orientation[span] = orientation
        self.speed_limit[span] = np.inf if speed_limit is None else speed_limit
        self.limited = self.limited or bool(speed_limit is not None and np.isfinite(speed_limit).any())
        self.pass_speed[span] = 0.0
        self.braking[span] = 1.0
        motion.path_start[rows] = self.used + np.cumsum(lengths) - lengths
        motion.path_length[rows] = lengths
        motion.waypoint[rows] = 0
        self.used += total
        self.live += total

    def discard(self, motion: MotionColumns, rows: Rows | AnyArray) -> None:
        """Drop the paths of `rows`."""
        # Where nobody has a path, there is nothing to count.
        if self.live:
            self.live -= int(motion.path_length[rows].sum())
            motion.path_length[rows] = 0
        motion.waypoint[rows] = 0

    def paths(self, motion: MotionColumns, rows: Rows) -> EntityPaths:
        """Return the paths of `rows` (N,), whoever drives them; the arrays are copies, or read-only."""
        own = self._own_paths(motion, rows)
        for source in self.sources:
            own = _joined(own, source(rows))
        return own

    def _own_paths(self, motion: MotionColumns, rows: Rows) -> EntityPaths:
        lengths = motion.path_length[rows]
        if not self.live:
            return EntityPaths(lengths, motion.waypoint[rows], self.position[:0], self.orientation[:0])
        driving = np.flatnonzero(lengths)
        places = ranges(motion.path_start[rows[driving]], lengths[driving])
        return EntityPaths(lengths, motion.waypoint[rows], self.position[places], self.orientation[places])

    def of(self, motion: MotionColumns, row: int) -> slice:
        """Return the slice of the path of `row` in the pool."""
        start = int(motion.path_start[row])
        return slice(start, start + int(motion.path_length[row]))

    def save(self) -> dict[str, AnyArray]:
        """Return copies of the points in use, for a checkpoint."""
        return {name: compact_copy(getattr(self, name)[: self.used]) for name in _ARRAYS} | {
            "live": np.array(self.live)
        }

    def restore(self, saved: dict[str, AnyArray]) -> None:
        """Restore what `save` returned."""
        self.used = len(saved["position"])
        self.live = int(saved["live"])
        for name in _ARRAYS:
            old = getattr(self, name)
            new = np.zeros((max(len(old), self.used), *old.shape[1:]))
            new[: self.used] = saved[name]
            setattr(self, name, new)
        self.limited = self.limited or bool(np.isfinite(self.speed_limit[: self.used]).any())

    def _reserve(self, motion: MotionColumns, total: int) -> None:
        """Make room for `total` more waypoints: paths move to the front, and the arrays grow if need be."""
        capacity = len(self.position)
        if self.used + total <= capacity:
            return
        # Half must be free after compacting, or the next few paths would compact again.
        if self.live + total > capacity // 2:
            # Doubled, so that adding a waypoint costs a constant time on average.
            capacity = max(2 * capacity, 2 * (self.live + total))
        # One copy to the front of new arrays both grows and reclaims.
        rows = np.flatnonzero(motion.path_length)
        lengths = motion.path_length[rows]
        kept = ranges(motion.path_start[rows], lengths)
        for name in _ARRAYS:
            old = getattr(self, name)
            new = np.zeros((capacity, *old.shape[1:]))
            new[: self.live] = old[kept]
            setattr(self, name, new)
        motion.path_start[rows] = np.cumsum(lengths) - lengths
        self.used = self.live


def _joined(paths: EntityPaths, others: EntityPaths) -> EntityPaths:
    """Return `paths`, but those of `others` where these have waypoints."""
    if not others.lengths.any():
        return paths
    if not paths.lengths.any():
        return others
    chosen_mask = others.lengths > 0
    lengths = np.where(chosen_mask, others.lengths, paths.lengths)
    from_mask, kept_mask = np.repeat(chosen_mask, lengths), np.repeat(~chosen_mask, paths.lengths)
    positions, orientations = np.empty((len(from_mask), 3)), np.empty((len(from_mask), 4))
    positions[from_mask], orientations[from_mask] = others.positions, others.orientations
    positions[~from_mask], orientations[~from_mask] = paths.positions[kept_mask], paths.orientations[kept_mask]
    return EntityPaths(lengths, np.where(chosen_mask, others.nexts, paths.nexts), positions, orientations)


# Keeps freed memory for the next step.


_KEPT = 30 << 20


@cache
def keep_freed_memory() -> None:
    """Make the C allocator keep tens of megabytes of freed memory instead of returning them each time.

    A step makes and frees the same temporary arrays again and again. glibc returns freed memory above a
    threshold that follows the largest block ever mapped and freed, at first a few hundred kilobytes; getting
    it back page by page costs more than the arithmetic on it (measured: half of the time of a collision check
    of 10,000 robots). Freeing one large block that was never touched raises the threshold. Elsewhere this
    does nothing.
    """
    block = np.empty(_KEPT, np.uint8)
    del block

"""Drive commands of robots, with planar goals, timeouts and blocking; for many robots at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fleet_sim.base.arrays import AnyArray, Bools, Floats, Ints, Rows
from fleet_sim.base.errors import FleetSimError, InvalidValueError
from fleet_sim.base.limits import LARGEST_SPEED, beyond, check_extent, check_speeds, inside_mask
from fleet_sim.base.params import MotionMode, MovementDirection
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.world import steering
from fleet_sim.world.columns import FeatureColumns
from fleet_sim.world.commands import NamedRows
from fleet_sim.world.schema import KIND_AGENT, NO_ROW
from fleet_sim.world.steering import POSE, hold_joints
from fleet_sim.world.world import World

LEAST_DEPTH = 1e-3
"""A goal less deep than this (m) in a static body is not taken to be inside of it: robots stop as much before one."""
AT_REST = 0.01
"""A robot below this speed (m/s) stands; bodies with physics are never quite at rest."""


def start_paths(
    world: World,
    rows: Rows,
    lengths: Ints,
    positions: Floats,
    orientations: Floats,
    *,
    direction: MovementDirection | None = None,
    align_final: bool = True,
    tolerance: float = 0.0,
    speed_limits: Floats | None = None,
    blocked_timeout: float | None = None,
) -> None:
    """Command the robots in `rows` to follow paths of `lengths` waypoints each.

    `positions` (M, 3) and `orientations` (M, 4) are the concatenated waypoints of all robots. The robots start at their
    present poses. `speed_limits` (M,) in m/s hold on the lines that end at the waypoints. Those that stand before
    static bodies for `blocked_timeout` s give up; None: that of the world, 0: never. Earlier commands are dropped;
    their actions are not changed. Raises InvalidValueError for waypoints outside of the world.
    """
    check_extent(positions, world.extent, "goal")
    if world.motion.planar[rows].any():
        positions, orientations = _flattened(world, rows, lengths, positions, orientations)
    steering.give_paths(
        world,
        rows,
        lengths,
        positions,
        orientations,
        align_final=align_final,
        direction=None if direction is None else direction.code,
        tolerance=tolerance,
        speed_limits=speed_limits,
    )
    world.motion.blocked_by[rows] = NO_ROW
    wait_when_blocked(world, rows, blocked_timeout)


def wait_when_blocked(world: World, rows: Rows, timeout: float | None) -> None:
    """Let `rows` give up when they have stood before static bodies for `timeout` s from now on; see `start_paths`."""
    seconds = world.blocked_timeout if timeout is None else timeout
    world.motion.blocked_since[rows] = np.inf
    world.motion.blocked_timeout[rows] = seconds if seconds > 0.0 else np.inf


def is_blocked_too_long(world: World, row: int) -> bool:
    """Return whether the robot in `row` has stood before a static body for as long as it waits for one."""
    motion = world.motion
    # The tolerance is for rounding.
    return bool(world.clock.time - motion.blocked_since[row] >= motion.blocked_timeout[row] - 1e-9)


def blocked_text(world: World, row: int) -> str:
    """Return what has blocked the robot in `row` for too long."""
    blocker = world.label(int(world.motion.blocked_by[row]))
    return f"blocked by {blocker!r} for {world.motion.blocked_timeout[row]:g} s"


def goals_inside(
    world: World,
    rows: Rows,
    lengths: Ints,
    positions: Floats,
    orientations: Floats,
    *,
    align_final: bool = True,
    tolerance: float = 0.0,
) -> dict[int, tuple[int, int]]:
    """Return which of `rows` stop at obstacles and are sent into a static body, by more than `tolerance` m at the end.

    Waypoints are those of `start_paths`. By row: the number of the first waypoint inside of one, and the row of that.
    """
    if not world.block_on_collision[rows].any():
        return {}
    owners, ends = np.repeat(rows, lengths), np.cumsum(lengths) - 1
    if world.motion.planar[rows].any():
        positions, orientations = _flattened(world, rows, lengths, positions, orientations)
    last_mask = np.zeros(len(owners), bool)
    last_mask[ends] = True
    slack = np.where(last_mask, max(tolerance, LEAST_DEPTH), LEAST_DEPTH)
    stopping = np.flatnonzero(world.block_on_collision[owners])
    found = world.bodies_at(
        owners[stopping],
        positions[stopping],
        orientations[stopping],
        last_mask[stopping] if align_final else np.zeros(len(stopping), bool),
        slack[stopping],
    )
    numbers = np.arange(len(owners)) - np.repeat(ends + 1 - lengths, lengths)
    inside: dict[int, tuple[int, int]] = {}
    for place, body in zip(stopping[found != NO_ROW].tolist(), found[found != NO_ROW].tolist(), strict=True):
        inside.setdefault(int(owners[place]), (int(numbers[place]), body))
    return inside


def inside_text(world: World, waypoint: int, body: int, count: int = 1) -> str:
    """Return that a robot cannot get to the `waypoint` of a path of `count`, which is inside of a body."""
    what = "the goal" if count == 1 else f"waypoint {waypoint}"
    return f"at {what} the robot would be inside of {world.label(body)!r}, before which it stops (block_on_collision)"


def _flattened(
    world: World, rows: Rows, lengths: Ints, positions: Floats, orientations: Floats
) -> tuple[Floats, Floats]:
    """Return the waypoints with those of planar robots at the height and the tilt that these have now."""
    owners = np.repeat(rows, lengths)
    flat_mask = world.motion.planar[owners]
    # Copies: the arrays may be those of a command, which is logged and replayed as it was given.
    positions, orientations = positions.copy(), orientations.copy()
    positions[flat_mask, 2] = world.position[owners[flat_mask], 2]
    # Only the yaw of the goal counts: a robot that stands tilted keeps its tilt.
    orientations[flat_mask] = _turned_to(world.orientation[owners[flat_mask]], orientations[flat_mask])
    return positions, orientations


def _turned_to(current: Floats, goals: Floats) -> Floats:
    """Return `current` rotated about z to the headings of `goals`; roll and pitch are kept."""
    turn = quaternions.wrapped(quaternions.yaws(goals) - quaternions.yaws(current))
    return quaternions.multiply(quaternions.from_yaws(turn), current)


def start_velocities(world: World, rows: Rows, linear: Floats, angular: Floats, timeout: float | None = None) -> None:
    """Drive the robots in `rows` with body twists: `linear` (N, 3), `angular` (N, 3).

    `timeout` in s: None uses each robot's own; 0 keeps the command until the next one. Raises InvalidValueError for
    velocities beyond all bounds, and for those out of the plane where an engine holds the robot on its ground.
    """
    check_speeds(linear, "linear velocity in m/s")
    check_speeds(angular, "angular velocity in rad/s")
    for row in rows[out_of_plane(world, rows, linear, angular)].tolist():
        raise InvalidValueError(out_of_plane_text(world, row))
    steering.give_velocities(world, rows, linear, angular, timeout)
    world.motion.blocked_by[rows] = NO_ROW


def out_of_plane(world: World, rows: Rows, linear: Floats, angular: Floats) -> Bools:
    """Return which of `rows`, omnidirectional ones that an engine moves, get a twist that makes them rise or tilt."""
    lifted_mask: Bools = (linear[..., 2] != 0.0) | (angular[..., :2] != 0.0).any(axis=-1)
    if not np.count_nonzero(lifted_mask):
        return lifted_mask
    law = world.laws.index(MotionMode.OMNIDIRECTIONAL.value)
    return lifted_mask & world.dynamic[rows] & (world.motion.law[rows] == law)


def out_of_plane_text(world: World, row: int) -> str:
    """Return why the robot in `row` takes no such twist."""
    return (
        f"{world.label(row)!r} is moved by the physics engine, which keeps its height and tilt: it drives by vx, "
        "vy and wz, and vz, wx and wy must be 0; give it a mass of 0 to move it in space"
    )


def stop(world: World, rows: Rows, *, stay: bool = False, told: bool = True) -> None:
    """Stop the robots in `rows` at once; goals and commands are dropped.

    `stay` tells features that drive robots themselves to leave them where they are until they are sent on; with `told`
    False they are told nothing.
    """
    steering.halt(world, rows)
    for rule in world.drive_rules if told else ():
        rule.stopped(rows, stay=stay)
    # Wheels with motors would go on turning at their last velocity.
    wheels = world.joints.slots(world.robots, rows)
    wheels = wheels[world.joints.wheel_rate[wheels] != 0.0]
    if len(wheels):
        hold_joints(world, wheels)
    world.motion.reached[rows] = False
    world.motion.blocked_by[rows] = NO_ROW
    world.motion.blocked_since[rows] = np.inf


def stands(world: World, row: int) -> bool:
    """Return whether the robot in `row` does not drive."""
    return trig.hypot_of(*world.velocity[row, :2].tolist()) < AT_REST


def limits_ahead(world: World, row: int) -> tuple[float, float]:
    """Return how fast the robot in `row` drives ahead at most, in m/s, and how fast it gets faster, in m/s^2."""
    motion = world.motion
    return (
        float(min(motion.linear_limit[row], motion.linear_limits[row, 0])),
        float(min(motion.linear_accel[row], motion.linear_accels[row, 0])),
    )


def limits_of_turns(world: World, row: int) -> tuple[float, float]:
    """Return how fast the robot in `row` turns at most, in rad/s, and how fast it gets faster, in rad/s^2."""
    motion = world.motion
    return (
        float(min(motion.angular_limit[row], motion.angular_limits[row, 2])),
        float(min(motion.angular_accel[row], motion.angular_accels[row, 2])),
    )


def is_steered(world: World, row: int) -> bool:
    """Return whether the robot in `row` is steered like a car: it does not turn on the spot."""
    return world.laws.names()[int(world.motion.law[row])] == MotionMode.ACKERMANN.value


def change_law(world: World, row: int, law: int) -> None:
    """Give the robot in `row` a motion law, and the feature that the law needs.

    Raises InvalidValueError, with the robot as it was, where the feature refuses it.
    """
    before = int(world.motion.law[row])
    world.motion.law[row] = law
    # Mecanum wheels turn by the law: who caches them compares the version.
    world.version += 1
    needed = world.laws.feature(law)
    if needed is None:
        return
    world.features.use(needed)
    table = world.tables[needed]
    try:
        if isinstance(table, FeatureColumns) and not table.present[row]:
            world.features.give(needed, np.array([row]))
    except FleetSimError:
        world.motion.law[row] = before
        raise


def moving_mask(world: World, rows: Rows) -> AnyArray:
    """Return which of `rows` have a goal they have not reached, or a velocity."""
    velocity, turn = world.velocity[rows], world.angular_velocity[rows]
    moving: AnyArray = (world.motion.control[rows] == POSE) | (velocity != 0.0).any(axis=1) | (turn != 0.0).any(axis=1)
    return moving


# Recipients of a command: the named entities that accept it, and the reasons for rejecting others.


class Recipients:
    """The entities named by a command: `rows` and `indices` (into the command's arrays) of the accepted ones.

    Names are converted to rows here, once, and all checks use columns: only rejected entities cost time one by one. If
    a name is given several times, the first entry counts and the others are rejected: the name is then among the
    accepted `names` and, as "duplicate target", among the `rejected`.
    """

    rows: Rows
    indices: Ints

    def __init__(self, world: World, names: Sequence[str], unknown: str = "unknown robot") -> None:
        """Reject names of nothing with the reason `unknown`; raises InvalidValueError if `names` are not strings."""
        self._world = world
        self._given = names
        self._reasons: dict[int, str] = {}
        known = names.rows_in(world) if isinstance(names, NamedRows) else None
        rows = world.index.rows_named(names) if known is None else known
        self.rows, self.indices = rows, np.arange(len(rows))
        # Before duplicates are looked for: as rows all unknown names are the same.
        if known is None:
            self.reject(rows == NO_ROW, unknown)
        self._reject_duplicates()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the accepted entities, in the given order."""
        if len(self.indices) == len(self._given):
            return tuple(self._given)
        return tuple([self._given[index] for index in self.indices.tolist()])

    @property
    def rejected(self) -> dict[str, str]:
        """The reasons for rejecting the others, by name, in the given order."""
        rejected: dict[str, str] = {}
        for index in sorted(self._reasons):
            # The first reason counts, where a name was given several times.
            rejected.setdefault(self._given[index], self._reasons[index])
        return rejected

    def reject(self, bad_mask: AnyArray, reason: str | Callable[[int], str]) -> None:
        """Reject those in `bad_mask`, aligned with `rows`; `reason` is a text, or called with each one's row."""
        if not bad_mask.any():
            return
        for index, row in zip(self.indices[bad_mask].tolist(), self.rows[bad_mask].tolist(), strict=True):
            self._reasons[index] = reason if isinstance(reason, str) else reason(row)
        self.rows, self.indices = self.rows[~bad_mask], self.indices[~bad_mask]

    def reject_for(self, reasons: Mapping[int, str]) -> None:
        """Reject, by row, those that have a reason other than ""."""
        bad = [row for row, reason in reasons.items() if reason]
        if bad:
            self.reject(np.isin(self.rows, bad), reasons.__getitem__)

    def _reject_duplicates(self) -> None:
        rows = self.rows
        order = np.arange(len(rows))
        # Never filled: only the entries of given rows are read. Faster than sorting the rows.
        first = np.empty(self._world.capacity, np.int64)
        # Written in reverse order, so that for repeated rows the first entry is written last and wins.
        first[rows[::-1]] = order[::-1]
        self.reject(first[rows] != order, "duplicate target")

    # ---- checks ------------------------------------------------------------------------------------------------------

    def reject_others_than_robots(self) -> None:
        """Reject entities that are not robots."""
        self.reject(self._world.kind[self.rows] != KIND_AGENT, "not a robot")

    def reject_immovable(self, *, by_route: bool = False) -> None:
        """Reject entities that cannot drive: objects, robots with a fixed base, and carried ones.

        Those in the traffic can `by_route`.
        """
        self.reject_others_than_robots()
        self.reject(self._world.motion.law[self.rows] == 0, "it has a fixed base and cannot move")
        self.reject_carried()
        own: object = self._world.routes.conveyance if by_route else None
        for rule in self._world.drive_rules:
            if rule is not own:
                self.reject(rule.refuses(self.rows), rule.reason_of)

    def reject_carried(self) -> None:
        """Reject entities that are carried, as they follow their carrier."""
        world = self._world
        self.reject(
            world.parent[self.rows] != NO_ROW, lambda row: f"it is carried by {world.label(int(world.parent[row]))!r}"
        )

    def reject_jointless(self) -> None:
        """Reject entities without joints."""
        self.reject(self._world.robots.joint_count[self.rows] == 0, "it has no joints that move")

    def keep(self, good_mask: Bools, reason: str) -> None:
        """Reject those outside `good_mask`, aligned with `rows`."""
        self.reject(~good_mask, reason)

    # ---- values ------------------------------------------------------------------------------------------------------

    def poses(self, positions: Any, orientations: Any) -> tuple[Floats, Floats]:
        """Return the poses of the accepted ones, (K, 3) and unit (K, 4), out of those given for all names.

        Rejects poses that are not finite, are outside the world's extent or have a zero quaternion. Raises
        InvalidValueError for arrays of another shape.
        """
        count = len(self._given)
        points = shaped(positions, (count, 3), "positions")[self.indices]
        turns = shaped(orientations, (count, 4), "orientations")[self.indices]
        good_mask: Bools = np.logical_and(np.isfinite(points).all(axis=1), np.isfinite(turns).all(axis=1))
        # Zeros have no direction, so they cannot be normalised; NaN is already left out here.
        good_mask[good_mask] = np.abs(turns[good_mask]).max(axis=1, initial=0.0) > 1e-6
        self.keep(good_mask, "pose is not finite, or its quaternion is zero")
        points, turns = points[good_mask], turns[good_mask]
        inside = inside_mask(points, self._world.extent)
        self.keep(inside, beyond(self._world.extent))
        return points[inside], quaternions.normalized(turns[inside])

    def free_poses(self, positions: Floats, orientations: Floats) -> tuple[Floats, Floats]:
        """Reject those that stop at obstacles and are sent into a static body; return the poses of the others."""
        ones = np.ones(len(self.rows), np.int64)
        inside = goals_inside(self._world, self.rows, ones, positions, orientations)
        if not inside:
            return positions, orientations
        free_mask = ~np.isin(self.rows, list(inside))
        self.reject_for({row: inside_text(self._world, *where) for row, where in inside.items()})
        return positions[free_mask], orientations[free_mask]


def shaped(values: Any, shape: tuple[int, int], what: str) -> Floats:
    """Return `values` as floats of `shape`, finite or not; raises InvalidValueError."""
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidValueError(f"{what}: expected numbers of shape {shape}, got {values!r}") from error
    if array.shape != shape:
        raise InvalidValueError(f"{what}: expected shape {shape}, got {array.shape}")
    return array


def keep_sane(world: World, to: Recipients, linear: Floats, angular: Floats) -> tuple[Floats, Floats]:
    """Reject those of `to` whose velocity is none that they can have; return the velocities (K, 3) of the others."""
    linear, angular = _keep_finite(to, linear, angular)
    lifted_mask = out_of_plane(world, to.rows, linear, angular)
    if not np.count_nonzero(lifted_mask):
        return linear, angular
    to.reject(lifted_mask, lambda row: out_of_plane_text(world, row))
    return linear[~lifted_mask], angular[~lifted_mask]


def _keep_finite(to: Recipients, linear: Floats, angular: Floats) -> tuple[Floats, Floats]:
    """Reject those of `to` whose velocity is not a number or too large; return the velocities (K, 3) of the others."""
    # The usual case. Looking at rows of three numbers takes several times as long as looking at all of them.
    # Of a number that is none, comparisons are false.
    if np.abs(linear).max(initial=0.0) <= LARGEST_SPEED and np.abs(angular).max(initial=0.0) <= LARGEST_SPEED:
        return linear, angular
    good_mask: Bools = np.logical_and(np.isfinite(linear).all(axis=1), np.isfinite(angular).all(axis=1))
    # `keep` drops the others from the recipients, so the arrays must be cut by the same mask.
    to.keep(good_mask, "velocity is not finite")
    linear, angular = linear[good_mask], angular[good_mask]
    bounded_mask: Bools = inside_mask(linear, LARGEST_SPEED) & inside_mask(angular, LARGEST_SPEED)
    to.keep(bounded_mask, f"velocity is beyond {LARGEST_SPEED:g} m/s or rad/s")
    return linear[bounded_mask], angular[bounded_mask]

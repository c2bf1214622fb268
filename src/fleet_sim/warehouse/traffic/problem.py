"""Problem: who is where and going where, as planners are asked."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fleet_sim.base.arrays import Bools, Bytes, Ints, as_float
from fleet_sim.base.errors import InvalidValueError, PlanError
from fleet_sim.base.kernels import compiled, inlined
from fleet_sim.warehouse.traffic.network import Links, Network

MOST_SHOWN = 5
"""Robots that an error names."""
LONGEST_WINDOW = 100_000
OPEN, BARRED, BLOCKED = 0, 1, 2
"""Nodes that all robots may enter, those that wide robots enter only as their goals, and those that nobody enters."""
EVERYWHERE = -1
"""In place of the only barred node that a wide robot enters: barred nodes are none of a narrow one's business."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Robots on nodes `starts` (R,) that are to go to nodes `goals` (R,) of `network`.

    `blocked` (N,) nodes must not be entered; a robot that stands on one may stay or leave. `window` is the number of
    steps asked for, 0 for a plan to the end. A planner stops searching after `time_limit` s. `ids` (R,) tell planners
    with a memory which robot is which in the next problem; without them row i is robot i.

    Robots that are `wide` (R,), such as those that carry a shelf, must not enter `barred` (N,) nodes, other than their
    goals: something stands there that others pass under. Those that are `first` (R,) should go before all others.

    Raises InvalidValueError for values of the wrong shape or range, PlanError for robots that start off the network or
    where another one is.
    """

    network: Network
    starts: Ints
    goals: Ints
    blocked: Bools = field(default_factory=lambda: np.empty(0, bool))
    window: int = 0
    time_limit: float = 10.0
    seed: int = 0
    ids: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    barred: Bools = field(default_factory=lambda: np.empty(0, bool))
    wide: Bools = field(default_factory=lambda: np.empty(0, bool))
    first: Bools = field(default_factory=lambda: np.empty(0, bool))
    most_work: float = math.inf
    """Nodes that a search which may go on for long looks at before it is given up, however fast the machine is."""

    def __post_init__(self) -> None:
        count = len(self.network)
        starts = _ints(self.starts, "starts", None)
        goals = _ints(self.goals, "goals", len(starts))
        # Empty stands for nothing blocked, the usual case.
        blocked = _bools(self.blocked, "blocked", "node", count)
        barred = _bools(self.barred, "barred", "node", count)
        wide = _bools(self.wide, "wide", "robot", len(starts))
        first = _bools(self.first, "first", "robot", len(starts))
        # Without ids, robots are told by their number; planners break ties by them.
        ids = _ints(self.ids, "ids", len(starts)) if len(self.ids) else np.arange(len(starts))
        # Ascending ones, as usual, need no sorting.
        if (ids[1:] <= ids[:-1]).any() and len(np.unique(ids)) < len(ids):
            raise InvalidValueError("ids: two robots have the same")
        for name, value, low, high in (("window", self.window, 0, LONGEST_WINDOW), ("seed", self.seed, 0, 2**63 - 1)):
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or not low <= value <= high:
                raise InvalidValueError(f"{name}: expected a whole number from {low} to {high}, got {value!r}")
        as_float(self.time_limit, "time_limit in s", low=1e-6, high=1e9)
        arrays = {"starts": starts, "goals": goals, "blocked": blocked, "ids": ids, "barred": barred, "wide": wide}
        arrays["first"] = first
        for name, array in arrays.items():
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        self._check_places()

    def __len__(self) -> int:
        return len(self.starts)

    def _check_places(self) -> None:
        """Raise PlanError for starts or goals off the network, and for two robots that start at one node."""
        count = len(self.network)
        for what, nodes in (("start", self.starts), ("goal", self.goals)):
            if len(nodes) and not 0 <= nodes.min() <= nodes.max() < count:
                off = np.flatnonzero((nodes < 0) | (nodes >= count))
                raise PlanError(f"the {what} of {shown(off)} is on a wall, or off the network of {count} nodes")
        # Starts only: two robots may well want to go to the same goal, one after the other.
        if np.bincount(self.starts).max(initial=0) > 1:
            order = np.argsort(self.starts, kind="stable")
            twice = np.flatnonzero(np.diff(self.starts[order]) == 0)
            one, two = order[twice[0]], order[twice[0] + 1]
            raise PlanError(f"robots {one} and {two} start at the same node {self.starts[one]}")

    @property
    def has_bars(self) -> bool:
        """Whether there are nodes that some robots may enter and others may not."""
        return bool(self.wide.any() and self.barred.any())

    @property
    def bars(self) -> Bytes:
        """Who may enter each node (N,): OPEN, BARRED or BLOCKED."""
        return np.where(self.blocked, BLOCKED, np.where(self.barred, BARRED, OPEN)).astype(np.uint8)

    @property
    def passes(self) -> Ints:
        """The barred node that each robot (R,) may enter: its goal if it is wide, else EVERYWHERE."""
        return np.where(self.wide, self.goals, EVERYWHERE)

    def unreachable(self) -> Bools:
        """Return which robots (R,) have no way to their goals, as far as blocked and barred nodes leave one."""
        with self.network.lock:
            # Planners rely on it: after this call the tables know what is blocked.
            self.network.tables.block(self.blocked, self.barred)
            return self._lost_mask.copy()

    @cached_property
    def _lost_mask(self) -> Bools:
        """Return which robots (N,) no way leads to their goals, with the blocked nodes, and bars for wide robots."""
        # Asked for by the traffic, and again by planners.
        tables = self.network.tables
        if self.has_bars:
            return np.asarray(tables.steps[tables.rows_of(self.goals, self.wide), self.starts] < 0)
        network = self.network
        # Who may go where seldom changes from one problem to the next.
        lost_mask, asked_mask = np.zeros(len(self), bool), ~network.joined(self.starts, self.goals, self.blocked)
        while asked_mask.any():
            # One goal answers for all others that it can be reached from, or that lead to it: no table for each.
            hub = int(self.goals[np.argmax(asked_mask)])
            leading_mask, reached_mask = network.joined_by(hub, self.blocked)
            to_hub_mask = asked_mask & (self.goals == hub)
            lost_mask |= to_hub_mask & ~leading_mask[self.starts]
            asked_mask &= ~to_hub_mask
            asked_mask &= ~(leading_mask[self.starts] & reached_mask[self.goals])
        return lost_mask

    def require_ways(self) -> None:
        """Raise PlanError naming the robots that have no way to their goals."""
        cut_off = np.flatnonzero(self.unreachable())
        if len(cut_off):
            first = cut_off[0]
            raise PlanError(
                f"no way leads to the goal of {shown(cut_off)};"
                f" robot {first} is at node {self.starts[first]} and wants to node {self.goals[first]}"
            )


def shown(robots: Ints) -> str:
    """Return "robot 3" or "robots 3, 5, 8 and 12 more" for errors."""
    names = ", ".join(str(robot) for robot in robots[:MOST_SHOWN].tolist())
    more = f" and {len(robots) - MOST_SHOWN} more" if len(robots) > MOST_SHOWN else ""
    return f"robot{'s' if len(robots) > 1 else ''} {names}{more}"


def _bools(value: Bools, what: str, each: str, count: int) -> Bools:
    array = np.array(value, bool) if len(value) else np.zeros(count, bool)
    if array.shape != (count,):
        raise InvalidValueError(f"{what}: expected one per {each} ({count}), got shape {array.shape}")
    return array


def _ints(value: object, what: str, count: int | None) -> Ints:
    array = np.asarray(value)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InvalidValueError(f"{what}: expected a row of whole numbers, got {array.dtype} of shape {array.shape}")
    if count is not None and len(array) != count:
        raise InvalidValueError(f"{what}: expected one per robot ({count}), got {len(array)}")
    return np.array(array, np.int64)


# What robots hold beside their nodes, as kernels read it.


class Holds(NamedTuple):
    """What moves of a network claim, `ids[begins[move] : begins[move + 1]]`, and robots hold at its nodes beside these,
    `stands[firsts[node] : firsts[node + 1]]`; nothing where `ids` or `stands` are empty."""

    begins: Ints
    ids: Ints
    firsts: Ints
    stands: Ints


def holds_of(network: Network) -> Holds:
    """Return what robots hold in `network`."""
    claims, stands = network.claims, network.stands
    return Holds(claims.begins, claims.ids, stands.begins, stands.ids)


@inlined
def mark(holds: Holds, node: int, robot: int, marks: Links | Ints) -> None:
    """Write a robot to a node, and to all that it holds there."""
    marks[node] = robot
    if len(holds.stands):
        for at in range(holds.firsts[node], holds.firsts[node + 1]):
            marks[holds.stands[at]] = robot


# Rotations: robots that move round in a circle at once, each to the place that the next one leaves.


def rotations(paths: Ints) -> list[tuple[int, Ints]]:
    """Return (step, robots) for each circle in `paths` (R, T + 1), by step; the robots in the order they follow.

    The first follows the second, and so on; the last follows the first. Swaps are no rotations, but refused as plans.
    On a network with claims there are none, as `check_paths` refuses circles there.
    """
    nodes = int(paths.max(initial=-1)) + 1
    marks = np.empty(len(paths), np.int64)
    found: list[tuple[int, Ints]] = []
    standing = np.full(nodes, -1)
    for step in range(1, paths.shape[1]):
        find_circles(paths, step, standing, marks)
        for number in range(1, int(marks.max(initial=0)) + 1):
            members = np.flatnonzero(marks == number)
            found.append((step, _in_order(paths, step, members)))
    return found


def _in_order(paths: Ints, step: int, members: Ints) -> Ints:
    at = {int(paths[robot, step - 1]): int(robot) for robot in members}
    order = [int(members[0])]
    # Each one moves to where the next one stands, so following them visits all.
    while len(order) < len(members):
        order.append(at[int(paths[order[-1], step])])
    return np.array(order)


@compiled
def find_circles(paths: Ints, step: int, standing: Ints, marks: Ints) -> int:
    """Write to `marks` (R,) the number of the circle that each robot moves round in at `step`, 0 for none.

    `standing` (N,) is -1 before and after. Returns how many circles there are.
    """
    robots = len(paths)
    for robot in range(robots):
        standing[paths[robot, step - 1]] = robot
        marks[robot] = -1
    circles = 0
    for first in range(robots):
        robot = first
        # Marked with the walk's own number until it ends.
        while robot >= 0 and marks[robot] == -1:
            # Negative, so that walks of this pass can be told from circles that are known.
            marks[robot] = -2 - first
            end = paths[robot, step]
            robot = -1 if end == paths[robot, step - 1] else standing[end]
        # The walk came back to itself: what it met there is a circle; who only leads into it is not.
        if robot >= 0 and marks[robot] == -2 - first:
            circles += 1
            while marks[robot] != circles:
                marks[robot] = circles
                robot = standing[paths[robot, step]]
        # Once more over the walk: what is not in the circle gets 0.
        robot = first
        while robot >= 0 and marks[robot] == -2 - first:
            marks[robot] = 0
            end = paths[robot, step]
            robot = -1 if end == paths[robot, step - 1] else standing[end]
    for robot in range(robots):
        standing[paths[robot, step - 1]] = -1
    return circles


@compiled
def _do_two_swap(now: Ints, then: Ints, standing: Links | Ints) -> bool:
    """Return whether two robots take each other's nodes."""
    for robot in range(len(now)):
        other = standing[then[robot]]
        if other >= 0 and other != robot and then[other] == now[robot]:
            return True
    return False


@compiled
def are_in_order(
    links: Links,
    holds: Holds,
    now: Ints,
    then: Ints,
    standing: Links | Ints,
    holding: Links | Ints,
    allow_rotations: bool,
) -> bool:
    """Return whether the robots can move one after the other, each to what those before it have left.

    Robots go as soon as nobody stands on what they need; who is left over stands in a circle.
    """
    robots = len(now)
    if allow_rotations:
        return not _do_two_swap(now, then, standing)
    # How many nodes each robot waits for; who needs a robot's node is who holds it.
    needs = np.zeros(robots, np.int64)
    ready = np.empty(robots, np.int64)
    count = 0
    for robot in range(robots):
        if then[robot] != now[robot]:
            needs[robot] = _count_needs(links, holds, now, then, standing, robot)
        if needs[robot] == 0:
            ready[count] = robot
            count += 1
    done = 0
    while done < count:
        robot = ready[done]
        done += 1
        if then[robot] == now[robot]:
            continue
        for number in range(_count_held(holds, now[robot])):
            follower = holding[_held(holds, now[robot], number)]
            if follower >= 0 and follower != robot:
                needs[follower] -= 1
                if needs[follower] == 0:
                    ready[count] = follower
                    count += 1
    return count == robots


@compiled
def _count_held(holds: Holds, node: int) -> int:
    """Return how many nodes a robot holds at `node`, with that."""
    return 1 + holds.firsts[node + 1] - holds.firsts[node] if len(holds.stands) else 1


@compiled
def _held(holds: Holds, node: int, number: int) -> int:
    """Return one of the nodes that a robot holds at `node`, by its number."""
    return holds.stands[holds.firsts[node] + number - 1] if number else node


@compiled
def _count_needs(links: Links, holds: Holds, now: Ints, then: Ints, standing: Links | Ints, robot: int) -> int:
    """Return on how many nodes that `robot` needs another one stands."""
    found, begins, ids = 0, holds.begins, holds.ids
    for number in range(_count_held(holds, then[robot])):
        other = standing[_held(holds, then[robot], number)]
        if other >= 0 and other != robot:
            found += 1
    if len(ids):
        for column in range(links.shape[1]):
            if links[now[robot], column] == then[robot]:
                move = now[robot] * links.shape[1] + column
                for at in range(begins[move], begins[move + 1]):
                    if ids[at] < len(links) and standing[ids[at]] >= 0:
                        found += 1
                break
    return found


# Checks of plans: no robot moves along a path that has not passed them.


SOUND, NO_MOVE, SHUT, SAME_NODE, SWAP, TOO_NEAR, CIRCLE, NO_ROOM = range(8)


def check_paths(problem: Problem, paths: object) -> Ints:
    """Return `paths` as Ints (R, T + 1) if robots may drive them; column t has the nodes at step t.

    Raises PlanError that names the robot, the step and the reason: a wrong shape or start, a move that the network does
    not have or onto a blocked node, two robots at one node, swapping, or too near to each other, or a plan that is
    shorter than the window or, without one, ends away from the goals.
    """
    # A planner of users' own may return anything.
    array = np.asarray(paths)
    if array.ndim != 2 or array.dtype.kind not in "iu" or len(array) != len(problem) or array.shape[1] < 2:
        raise PlanError(
            f"paths: expected whole numbers of shape ({len(problem)} robots, at least 2 steps),"
            f" got {array.dtype} of shape {array.shape}"
        )
    checked = np.ascontiguousarray(array, np.int64)
    network = problem.network
    outside = np.argwhere((checked < 0) | (checked >= len(network)))
    if len(outside):
        robot, step = outside[0].tolist()
        raise PlanError(
            f"robot {robot} is at node {array[robot, step]} at step {step}, which the network does not have"
        )
    # Compared at step 0: a path for another robot is most often seen here.
    astray = np.flatnonzero(checked[:, 0] != problem.starts)
    if len(astray):
        robot = int(astray[0])
        raise PlanError(f"robot {robot} starts at node {problem.starts[robot]}, its path at node {checked[robot, 0]}")
    held = np.full((2, network.claims.resources(len(network))), -1, np.int64)
    fault = find_fault(checked, network.links, problem.bars, problem.passes, holds_of(network), held[0], held[1])
    if fault[0] != SOUND:
        raise PlanError(_told(checked, *fault))
    _check_length(problem, checked)
    return checked


def _told(paths: Ints, kind: int, robot: int, other: int, step: int) -> str:
    """Return a sentence for people about the fault of `kind` in a plan, with robots and nodes by number."""
    begin, end = paths[robot, step - 1], paths[robot, step]
    move = f"robot {robot} moves from node {begin} to node {end} at step {step}"
    return {
        NO_MOVE: f"{move}, which are not neighbours in that direction",
        SHUT: f"{move}, which is blocked",
        NO_ROOM: f"{move}, which is barred to wide robots",
        SAME_NODE: f"robots {other} and {robot} are both at node {end} at step {step}",
        SWAP: f"robots {other} and {robot} need each other's place: {move}",
        CIRCLE: f"at step {step} robots wait for each other in a circle, as each needs room that the next one leaves",
        TOO_NEAR: f"{move}, too near to robot {other}",
    }[kind]


def _check_length(problem: Problem, paths: Ints) -> None:
    """Raise PlanError if a robot is not at its goal at the end, and the plan has fewer steps than its window.

    Without a window all robots must be at their goals.
    """
    last = paths.shape[1] - 1
    away = np.flatnonzero(paths[:, -1] != problem.goals)
    if not len(away):
        return
    robot = int(away[0])
    # Without a window, a plan leads to the end.
    if problem.window == 0:
        # With one, a part of the way will do, if it is as long as was asked for.
        raise PlanError(f"robot {robot} is at node {paths[robot, -1]} at the end and not at its goal")
    if last < problem.window:
        raise PlanError(f"the plan has {last} steps, {problem.window} are asked for, and robot {robot} is on its way")


@compiled
def find_fault(
    paths: Ints, links: Links, bars: Bytes, passes: Ints, holds: Holds, before: Ints, after: Ints
) -> tuple[int, int, int, int]:
    """Return (kind, robot, other robot, step) of the first fault, or SOUND; `before`, `after` are scratch of -1.

    `before` has who stands where, `after` who holds what in the step.
    """
    begins, ids = holds.begins, holds.ids
    if not len(ids) and not len(holds.stands):
        # Ten times as fast: to hand arrays to a function per robot takes longer than its work.
        return _find_fault_on_grid(paths, links, bars, passes, before, after)
    robots, length = paths.shape
    for step in range(1, length):
        for robot in range(robots):
            mark(holds, paths[robot, step - 1], robot, before)
        for robot in range(robots):
            begin, end = paths[robot, step - 1], paths[robot, step]
            move = _move_number(links, begin, end)
            if move < 0 and begin != end:
                return NO_MOVE, robot, -1, step
            if begin != end and bars[end] == BLOCKED:
                return SHUT, robot, -1, step
            if begin != end and bars[end] == BARRED and passes[robot] != EVERYWHERE and passes[robot] != end:
                return NO_ROOM, robot, -1, step
            for number in range(_count_held(holds, end)):
                other = after[_held(holds, end, number)]
                if other >= 0:
                    return (SAME_NODE if paths[other, step] == end else TOO_NEAR), robot, other, step
            mark(holds, end, robot, after)
            if move >= 0 and len(ids):
                for at in range(begins[move], begins[move + 1]):
                    if after[ids[at]] >= 0 and after[ids[at]] != robot:
                        return TOO_NEAR, robot, after[ids[at]], step
                    after[ids[at]] = robot
        for robot in range(robots):
            other = _swaps_with(paths, links, begins, ids, before, after, robot, step)
            if other >= 0:
                return SWAP, robot, other, step
        # Unlike on a grid there is no room to move round at once.
        if not are_in_order(links, holds, paths[:, step - 1].copy(), paths[:, step].copy(), before, after, False):
            return CIRCLE, 0, -1, step
        for robot in range(robots):
            mark(holds, paths[robot, step - 1], -1, before)
            _release(paths, links, holds, after, robot, step)
    return SOUND, -1, -1, -1


@compiled
def _find_fault_on_grid(
    paths: Ints, links: Links, bars: Bytes, passes: Ints, before: Ints, after: Ints
) -> tuple[int, int, int, int]:
    """Do what `find_fault` does where moves claim nothing but nodes. Scratch holds numbers that grow with the step."""
    robots, length = paths.shape
    for robot in range(robots):
        before[paths[robot, 0]] = robot
    for step in range(1, length):
        base = step * robots
        for robot in range(robots):
            begin, end = paths[robot, step - 1], paths[robot, step]
            if begin != end:
                joined = False
                for column in range(links.shape[1]):
                    joined = joined or links[begin, column] == end
                if not joined:
                    return NO_MOVE, robot, -1, step
                if bars[end] == BLOCKED:
                    return SHUT, robot, -1, step
                if bars[end] == BARRED and passes[robot] != EVERYWHERE and passes[robot] != end:
                    return NO_ROOM, robot, -1, step
            if after[end] >= base:
                return SAME_NODE, robot, after[end] - base, step
            after[end] = base + robot
        for robot in range(robots):
            begin, end = paths[robot, step - 1], paths[robot, step]
            other = before[end] - (base - robots)
            if begin != end and other >= 0 and after[begin] == base + other:
                return SWAP, robot, other, step
        before, after = after, before
    return SOUND, -1, -1, -1


@compiled
def _move_number(links: Links, begin: int, end: int) -> int:
    """Return the number of the move, -1 where there is none."""
    for column in range(links.shape[1]):
        if links[begin, column] == end:
            return begin * links.shape[1] + column
    return -1


@compiled
def _swaps_with(
    paths: Ints, links: Links, begins: Ints, ids: Ints, before: Ints, after: Ints, robot: int, step: int
) -> int:
    """Return a robot that stands on what `robot` needs and needs what `robot` stands on, -1 for none."""
    begin, end = paths[robot, step - 1], paths[robot, step]
    if begin == end:
        return -1
    # On a grid: the two exchange places.
    other = before[end]
    if other >= 0 and after[begin] == other:
        return other
    if len(ids):
        move = _move_number(links, begin, end)
        for at in range(begins[move], begins[move + 1]):
            # Resources beyond the nodes are crossings, on which nobody stands.
            if ids[at] < len(links):
                other = before[ids[at]]
                if other >= 0 and other != robot and after[begin] == other:
                    return other
    return -1


@compiled
def _release(paths: Ints, links: Links, holds: Holds, after: Ints, robot: int, step: int) -> None:
    begin, end, begins, ids = paths[robot, step - 1], paths[robot, step], holds.begins, holds.ids
    mark(holds, end, -1, after)
    if len(ids) and begin != end:
        move = _move_number(links, begin, end)
        for at in range(begins[move], begins[move + 1]):
            after[ids[at]] = -1


# What paths cost, in steps.


def steps_to_rest(paths: Ints) -> Ints:
    """Return for each of `paths` (R, T + 1) after how many steps its robot (R,) is where it stays to the end."""
    moved = np.diff(paths, axis=1) != 0
    steps = moved.shape[1] - np.argmax(moved[:, ::-1], axis=1)
    return np.asarray(np.where(moved.any(axis=1), steps, 0), np.int64)


def sum_of_costs(paths: Ints) -> int:
    """Return the sum over all robots of the steps until each is where it stays: the usual cost of a plan."""
    return int(steps_to_rest(paths).sum())

"""Problem: who is where and going where, as planners are asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from fleet_sim.arrays import Bools, Bytes, Ints, as_float
from fleet_sim.errors import InvalidValueError, PlanError
from fleet_sim.traffic.network import Network

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
    goals: something stands there that others pass under.

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

    def __post_init__(self) -> None:
        count = len(self.network)
        starts = _ints(self.starts, "starts", None)
        goals = _ints(self.goals, "goals", len(starts))
        # Empty stands for nothing blocked, the usual case.
        blocked = _bools(self.blocked, "blocked", "node", count)
        barred = _bools(self.barred, "barred", "node", count)
        wide = _bools(self.wide, "wide", "robot", len(starts))
        # Without ids, robots are told by their number; planners break ties by them.
        ids = _ints(self.ids, "ids", len(starts)) if len(self.ids) else np.arange(len(starts))
        if len(np.unique(ids)) < len(ids):
            raise InvalidValueError("ids: two robots have the same")
        for name, value, low, high in (("window", self.window, 0, LONGEST_WINDOW), ("seed", self.seed, 0, 2**63 - 1)):
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or not low <= value <= high:
                raise InvalidValueError(f"{name}: expected a whole number from {low} to {high}, got {value!r}")
        as_float(self.time_limit, "time_limit in s", low=1e-6, high=1e9)
        arrays = {"starts": starts, "goals": goals, "blocked": blocked, "ids": ids, "barred": barred, "wide": wide}
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
            off = np.flatnonzero((nodes < 0) | (nodes >= count))
            if len(off):
                raise PlanError(f"the {what} of {shown(off)} is on a wall, or off the network of {count} nodes")
        order = np.argsort(self.starts, kind="stable")
        twice = np.flatnonzero(np.diff(self.starts[order]) == 0)
        # Starts only: two robots may well want to go to the same goal, one after the other.
        if len(twice):
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

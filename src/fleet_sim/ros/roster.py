"""The roster of the fleet: a frozen snapshot that is replaced when robots are spawned or removed."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fleet_sim.base.arrays import Bools, Rows
from fleet_sim.base.errors import UnknownNameError
from fleet_sim.world.schema import KIND_AGENT
from fleet_sim.world.world import World


@dataclass(frozen=True)
class Roster:
    """The robots, in order of spawning. May be read from any thread."""

    version: int
    rows: Rows
    names: tuple[str, ...]
    known: frozenset[str]

    def rows_of(self, names: list[str]) -> Rows:
        """Return the rows of the robots called `names`."""
        index = dict(zip(self.names, self.rows.tolist(), strict=True))
        return np.array([index[name] for name in names], np.int64)

    def where(self, mask: Bools) -> Roster:
        """Return the part of the roster in `mask`, aligned with `rows`."""
        names = tuple(name for name, has in zip(self.names, mask.tolist(), strict=True) if has)
        return Roster(self.version, self.rows[mask], names, frozenset(names))


def take_roster(world: World) -> Roster:
    """Return the current robots of `world`."""
    rows = world.rows[world.kind[world.rows] == KIND_AGENT]
    names = tuple(world.label(row) for row in rows.tolist())
    return Roster(world.version, rows, names, frozenset(names))


def with_joints(roster: Roster, world: World) -> Roster:
    """Return the part of `roster` that has joints."""
    return roster.where(world.robots.joint_count[roster.rows] > 0)


def has_joints(world: World, robot: str) -> bool:
    """Return whether there is a robot of that name, with joints. May be asked from any thread."""
    try:
        return bool(world.robots.joint_count[world.index.row_named(robot)])
    except UnknownNameError:
        return False


# Limits the rate of repeated log lines.


PERIOD = 2.0
"""The same line is not logged again within this time, in s."""

MOST_LINES = 256

MOST_PER_PERIOD = 20
"""Different lines within PERIOD; what sends nonsense can make each one different."""

LONGEST_LINE = 4000
"""In characters: lines quote what was sent."""


class Throttle:
    """Logs each line at most once per PERIOD, and at most MOST_PER_PERIOD; then their number. For any thread.

    It keeps what goes wrong in every step from filling the log.
    """

    def __init__(self, log: Callable[[str], object]) -> None:
        self.count = 0
        """Number of lines, logged or not."""
        self._log = log
        self._begin = -PERIOD
        self._in_period = 0
        self._held = 0
        self._logged: OrderedDict[str, float] = OrderedDict()

    def tell(self, line: str) -> None:
        """Log `line`, cut to LONGEST_LINE, unless it or too many others were logged within PERIOD."""
        self.count += 1
        line = line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}..."
        now = time.monotonic()
        if now - self._begin >= PERIOD:
            held, self._held, self._begin, self._in_period = self._held, 0, now, 0
            if held:
                self._log(f"{held} more lines like these were not logged")
        if now - self._logged.get(line, -PERIOD) < PERIOD:
            return
        if self._in_period >= MOST_PER_PERIOD:
            self._held += 1
            return
        self._in_period += 1
        self._logged[line] = now
        # So that the line logged longest ago is the first to be forgotten.
        self._logged.move_to_end(line)
        while len(self._logged) > MOST_LINES:
            self._logged.popitem(last=False)
        self._log(line)

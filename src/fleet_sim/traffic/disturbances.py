"""Disturbances: delays, slow robots, breakdowns and closed places, by chance or by schedule."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import NO_ROWS, Bools, Floats, Ints, Rows
from fleet_sim.core.random import purpose_key, uniforms
from fleet_sim.core.world import World
from fleet_sim.saved_classes import saved
from fleet_sim.sites.site import Site
from fleet_sim.traffic.columns import BROKEN, DELAYED, TrafficColumns
from fleet_sim.traffic.disturbance_settings import DisturbanceSettings
from fleet_sim.traffic.network import Network
from fleet_sim.traffic.places import nodes_of

DELAY, LENGTH, SLOW, BREAKDOWN = range(4)
"""Sequences of random numbers, one for each question."""


@saved
class Counts(NamedTuple):
    """How often what happened."""

    delays: int = 0
    breakdowns: int = 0
    repairs: int = 0
    removals: int = 0


class Disturbances:
    """Disturbs the robots of a traffic. What happens to a robot depends on the seed, its id and the time only."""

    def __init__(
        self,
        world: World,
        table: TrafficColumns,
        site: Site,
        network: Network,
        settings: DisturbanceSettings,
        seed: int,
    ) -> None:
        """Raises FleetSimError for places that there are not."""
        self.counts = Counts()
        self._world = world
        self._table = table
        self._settings = settings
        self._key = purpose_key(seed, "traffic disturbances")
        # Found once: names of stations do not change while it runs.
        self._closures = [(nodes_of(network, site, entry.places), entry) for entry in settings.closures]
        self._closed: Bools = np.zeros(len(network), np.bool_)

    def enter(self, rows: Rows) -> None:
        """Choose which of `rows` are slow."""
        slow = self._settings.slow
        if slow is not None:
            slow_mask = self._drawn(rows, 0, SLOW) < slow.share
            self._table.pace[rows] = np.where(slow_mask, slow.pace, 1.0)

    def closed(self) -> tuple[Bools, bool]:
        """Return the nodes (N,) that are closed now, and whether they were others at the last look."""
        if not self._closures:
            return self._closed, False
        time = self._world.clock.time
        now: Bools = np.zeros(len(self._closed), np.bool_)
        for nodes, entry in self._closures:
            # `|=`, as two closures may name the same node.
            now[nodes] |= entry.begin <= time and (entry.end is None or time < entry.end)
        changed = not np.array_equal(now, self._closed)
        self._closed = now
        return now, changed

    def step(self, rows: Rows) -> tuple[Rows, bool]:
        """Begin and end what happens to `rows` now; return those to remove, and whether some broke or were repaired."""
        clock = self._world.clock
        gone, repaired = self._end(rows, clock.tick)
        # Once in each second of simulated time, whatever the length of a step.
        second = int(clock.time)
        if clock.tick and int(clock.seconds(clock.tick - 1)) == second:
            return gone, repaired
        self._delay(rows, second)
        return gone, self._break(rows, second) or repaired

    def _end(self, rows: Rows, tick: int) -> tuple[Rows, bool]:
        """End delays and breakdowns whose time has come; return who is to be removed, and whether one was repaired."""
        table = self._table
        held = table.held[rows]
        # Most steps have nobody to look at.
        if not np.count_nonzero(held & (DELAYED | BROKEN)):
            return NO_ROWS, False
        over = rows[(held & DELAYED != 0) & (table.until[rows] <= tick)]
        table.held[over] &= ~np.uint8(DELAYED)
        fixed = rows[(held & BROKEN != 0) & (table.fixed[rows] <= tick)]
        breakdowns = self._settings.breakdowns
        if not len(fixed) or breakdowns is None:
            return NO_ROWS, False
        if breakdowns.then == "remove":
            # Their count is noted before they are gone.
            self.counts = self.counts._replace(removals=self.counts.removals + len(fixed))
            return fixed, False
        table.held[fixed] &= ~np.uint8(BROKEN)
        self.counts = self.counts._replace(repairs=self.counts.repairs + len(fixed))
        return NO_ROWS, True

    def _delay(self, rows: Rows, second: int) -> None:
        """Hold up robots drawn from `rows` for as long as drawn, as set; each counts once until it drives again.

        `second` is the one of simulated time that is drawn for.
        """
        delays, table, clock = self._settings.delays, self._table, self._world.clock
        if delays is None:
            return
        # Who stands already is not hit again: delays do not add up.
        hit = rows[(self._drawn(rows, second, DELAY) < delays.probability) & (table.held[rows] & DELAYED == 0)]
        lengths = delays.shortest + (delays.longest - delays.shortest) * self._drawn(hit, second, LENGTH)
        table.until[hit] = [clock.tick + clock.ticks(length) for length in lengths.tolist()]
        table.held[hit] |= np.uint8(DELAYED)
        self.counts = self.counts._replace(delays=self.counts.delays + len(hit))

    def _break(self, rows: Rows, second: int) -> bool:
        """Break down robots drawn from `rows`, and return whether there was one; they are fixed after the set time."""
        breakdowns, table, clock = self._settings.breakdowns, self._table, self._world.clock
        if breakdowns is None:
            return False
        hit = rows[(self._drawn(rows, second, BREAKDOWN) < breakdowns.probability) & (table.held[rows] & BROKEN == 0)]
        table.fixed[hit] = clock.tick + clock.ticks(breakdowns.after)
        table.held[hit] |= np.uint8(BROKEN)
        self.counts = self.counts._replace(breakdowns=self.counts.breakdowns + len(hit))
        return len(hit) > 0

    def _drawn(self, rows: Rows, second: int, question: int) -> Floats:
        # A function of who and when: robots that come or go change nothing for the others.
        """Return a number (N,) in [0, 1) for each of `rows`."""
        ids: Ints = self._world.object_id[rows]
        return uniforms(self._key, ids, second, question)

"""Disturbances: delays, slow robots, breakdowns and closed places, by chance or by schedule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, Bools, Floats, Ints, Rows
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.registry import saved
from fleet_sim.base.settings import Checked, setting, time_setting
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.warehouse.sites.site import Zone, ZoneKind
from fleet_sim.warehouse.traffic.columns import BROKEN, DELAYED, TrafficColumns
from fleet_sim.warehouse.traffic.network import Area, Chart, Network, Place, nodes_of
from fleet_sim.world.clock import normals, purpose_key, uniforms
from fleet_sim.world.conditions import conditions_of
from fleet_sim.world.world import World

# The key `disturbances` of the section `traffic`.


PROBABILITY = "Of a robot, in each simulated second."


@dataclass
class DelaySettings(Checked):
    """Robots that stand for a while."""

    probability: float = setting(
        0.01, low=0.0, high=1.0, doc="Of a robot, in each simulated second, or in each `tick`."
    )
    shortest: float = time_setting(1.0, doc="A delay lasts at least so long.")
    longest: float = time_setting(5.0, doc="And at most so long.")
    tick: float | None = time_setting(
        None, above=0.0, doc="Robots are drawn so often, and delays last a whole number of it; null: 1 s, any length."
    )
    events: Literal["each", "poisson"] = setting(
        "each", doc="Each robot is drawn by itself, or as many robots as a Poisson number says, of the same mean."
    )
    durations: Literal["uniform", "gaussian"] = setting("uniform", doc="How long delays are, from shortest to longest.")
    mean: float = setting(
        0.5, low=0.0, high=1.0, doc="Of gaussian ones, as a share of the way from shortest to longest."
    )
    deviation: float = setting(0.25, low=0.0, high=100.0, doc="Their standard deviation, as such a share.")
    seed: int | None = setting(None, low=0, high=2**62, doc="Of the delays; null: that of the traffic.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.longest < self.shortest:
            raise InvalidValueError(f"longest: expected at least shortest, {self.shortest:g} s, got {self.longest:g}")


@dataclass
class SlowSettings(Checked):
    """Robots that drive slower than they could."""

    share: float = setting(0.1, low=0.0, high=1.0, doc="Of all robots.")
    pace: float = setting(0.5, above=0.0, high=1.0, doc="Of their largest speed.")


@dataclass
class BreakdownSettings(Checked):
    """Robots that break down where they are; others drive around them."""

    probability: float = setting(0.0001, low=0.0, high=1.0, doc=PROBABILITY)
    after: float = time_setting(60.0, doc="Time until they are repaired or removed.")
    then: Literal["repair", "remove"] = setting("repair", doc="What happens then: they drive on, or are taken away.")


def _read_places(value: object) -> list[Place | Area]:
    # At least one: a closure of nothing is a mistake.
    if not isinstance(value, list) or not value:
        raise InvalidValueError(f"expected a list of stations, zones, nodes, points or areas, got {value!r}")
    # Points and areas as tuples, which are told from names and numbers by their type.
    return [tuple(place) if isinstance(place, list) else place for place in value]


_POINT = {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}
_PLACE = {**_POINT, "maxItems": 3}
_AREA = {"type": "array", "items": _POINT, "minItems": 3}
_KINDS = [{"type": "string"}, {"type": "integer"}, _PLACE, _AREA]
_PLACES = {"type": "array", "minItems": 1, "items": {"anyOf": _KINDS}}


@dataclass
class ClosureSettings(Checked):
    """Places that are closed for a time."""

    places: list[Any] = setting(
        reader=_read_places,
        schema=_PLACES,
        doc="Stations, zones, nodes, points [x, y] in m, in a building [x, y, z], areas of points.",
    )
    begin: float = time_setting(0.0, doc="Simulation time from which.")
    end: float | None = time_setting(None, doc="Until which; null: for ever.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.end is not None and self.end <= self.begin:
            raise InvalidValueError(f"end: expected more than begin, {self.begin:g} s, got {self.end:g}")


@dataclass
class DisturbanceSettings(Checked):
    """What disturbs the traffic; all by chance follows from the seed."""

    delays: DelaySettings | None = setting(None, doc="Robots that stand for a while.")
    slow: SlowSettings | None = setting(None, doc="Robots that drive slower than they could.")
    breakdowns: BreakdownSettings | None = setting(None, doc="Robots that break down.")
    closures: list[ClosureSettings] = setting(factory=list, doc="Places that are closed for a time.")


DELAY, LENGTH, SLOW, BREAKDOWN, COUNT = range(5)
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
        chart: Chart,
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
        delays = settings.delays
        given = None if delays is None else delays.seed
        self._delay_key = self._key if given is None else purpose_key(given, "traffic disturbances")
        self._delay_ticks: int | None = None
        """Ticks between two draws of delays, where they do not come each second."""
        if delays is not None and delays.tick is not None:
            self._delay_ticks = world.clock.ticks(delays.tick)
            for name in ("tick", "shortest", "longest"):
                value, unit = getattr(delays, name), world.clock.dt if name == "tick" else delays.tick
                if abs(value - round(value / unit) * unit) > 1e-6 * unit or value < unit - 1e-9:
                    raise InvalidValueError(
                        f"disturbances: delays: {name}: expected a multiple of {unit:g} s, got {value:g} s"
                    )
        # Found once: names of stations do not change while it runs.
        self._closures = [(nodes_of(network, chart, entry.places), entry) for entry in settings.closures]
        self._closed: Bools = np.zeros(len(network), np.bool_)
        # Areas of the world are closed on all storeys.
        self._positions = chart.in_world(network.positions)
        self._areas: tuple[str, ...] = ()
        """The ids of the closed areas of routes that `_in_areas` (N,) are the nodes of."""
        self._in_areas: Bools = np.zeros(len(network), np.bool_)
        self._seen = -1
        """The version of the conditions of robots that paces are of."""

    @property
    def are_there(self) -> bool:
        """Whether anything may happen to robots or places at some time."""
        settings, areas = self._settings, self._world.routes.closed
        given = settings.delays or settings.breakdowns or self._closures or areas or self._areas
        return bool(given) or conditions_of(self._world) is not None

    def enter(self, rows: Rows) -> None:
        """Choose which of `rows` are slow; slower still are those that something else slows down."""
        slow, conditions = self._settings.slow, conditions_of(self._world)
        if slow is not None:
            slow_mask = self._drawn(rows, 0, SLOW) < slow.share
            self._table.pace[rows] = np.where(slow_mask, slow.pace, 1.0)
        if conditions is not None:
            self._table.pace[rows] = conditions.pace[rows] * (1.0 if slow is None else self._table.pace[rows])

    def closed(self) -> tuple[Bools, bool]:
        """Return the nodes (N,) that are closed now, and whether they were others at the last look."""
        areas = self._world.routes.closed
        if not (self._closures or areas or self._areas):
            return self._closed, False
        if tuple(areas) != self._areas:
            self._areas = tuple(areas)
            self._in_areas = np.zeros(len(self._closed), np.bool_)
            for corners in areas.values():
                self._in_areas |= Zone("area", ZoneKind.NO_GO, corners).contains(self._positions)
        time, now = self._world.clock.time, self._in_areas.copy()
        for nodes, entry in self._closures:
            # `|=`, as two closures may name the same node.
            now[nodes] |= entry.begin <= time and (entry.end is None or time < entry.end)
        changed = not np.array_equal(now, self._closed)
        self._closed = now
        return now, changed

    def step(self, rows: Rows) -> tuple[Rows, bool]:
        """Begin and end what happens to `rows` now; return those to remove, and whether some broke or were repaired."""
        clock, conditions = self._world.clock, conditions_of(self._world)
        if conditions is not None and conditions.version != self._seen:
            self._seen = conditions.version
            self.enter(rows)
        gone, repaired = self._end(rows, clock.tick)
        # Once in each second of simulated time, whatever the length of a step.
        second = int(clock.time)
        new = not clock.tick or int(clock.seconds(clock.tick - 1)) != second
        delays = self._settings.delays
        if delays is not None:
            each = self._delay_ticks
            if (new if each is None else clock.tick % each == 0) and len(rows):
                self._delay(delays, rows, second if each is None else clock.tick // each)
        return gone, (new and self._break(rows, second)) or repaired

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

    def _delay(self, delays: DelaySettings, rows: Rows, draw: int) -> None:
        """Hold up robots drawn from `rows` for as long as drawn, as set; each counts once until it drives again.

        `draw` counts how often robots are drawn.
        """
        table, clock = self._table, self._world.clock
        chances = self._drawn(rows, draw, DELAY)
        # Who stands already is not hit again: delays do not add up.
        free_mask = table.held[rows] & DELAYED == 0
        if delays.events == "poisson":
            mean = delays.probability * len(rows)
            # Events that come with exponential gaps, of mean 1, in so much time; more than ever come are drawn.
            numbers = np.arange(int(mean + 12.0 * np.sqrt(mean + 1.0)) + 20)
            gaps = -trig.log(1.0 - uniforms(self._delay_key, numbers, draw, COUNT))
            count = int(np.count_nonzero(np.cumsum(gaps) <= mean))
            free = np.flatnonzero(free_mask)
            hit = rows[np.sort(free[np.argsort(chances[free], kind="stable")[:count]])]
        else:
            hit = rows[(chances < delays.probability) & free_mask]
        shares = self._drawn(hit, draw, LENGTH)
        if delays.durations == "gaussian":
            ids: Ints = self._world.object_id[hit]
            shares = delays.mean + delays.deviation * normals(self._delay_key, ids, 2 * draw, LENGTH)
        each = self._delay_ticks
        if each is None:
            lengths = delays.shortest + (delays.longest - delays.shortest) * np.clip(shares, 0.0, 1.0)
            ticks = np.array([clock.ticks(length) for length in lengths.tolist()], np.int64)
        else:
            least, most = clock.ticks(delays.shortest) // each, clock.ticks(delays.longest) // each
            # Whole numbers, the least and the most as probable as the others; gaussian ones to the nearest.
            whole = (
                np.rint(least + (most - least) * shares)
                if delays.durations == "gaussian"
                else np.floor(least + (most - least + 1) * shares)
            )
            ticks = np.clip(whole, least, most).astype(np.int64) * each
        table.until[hit] = clock.tick + ticks
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
        """Return a number (N,) in [0, 1) for each of `rows`."""
        # A function of who and when: robots that come or go change nothing for the others.
        ids: Ints = self._world.object_id[rows]
        key = self._delay_key if question in (DELAY, LENGTH) else self._key
        return uniforms(key, ids, second, question)

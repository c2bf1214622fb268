"""Forklifts: driven by people from station to station, whatever the fleet is told; robots keep off and let them pass.

The key `forklift` of a robot's entry, which `setup.cfg` declares. A forklift takes part in the traffic of the site: its
next nodes are granted to it as to robots, so that nobody is on them, and it comes first where the planner has a choice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints, Rows
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.settings import Checked, setting, time_setting
from fleet_sim.warehouse.traffic.columns import TrafficColumns
from fleet_sim.world.clock import uniforms
from fleet_sim.world.columns import FeatureColumns, column
from fleet_sim.world.features import Feature, FeatureHost
from fleet_sim.world.pipeline import Phase, System
from fleet_sim.world.world import FeatureRows

SEPARATOR = "|"


@dataclass
class ForkliftSettings(Checked):
    """A forklift, and its trips."""

    visits: tuple[str, ...] = setting(doc="Stations, or kinds of stations, that it drives to.")
    tour: Literal["random", "order"] = setting(
        "random", doc="Whether it chooses them at random, or goes in this order."
    )
    stays: tuple[float, float] = setting((10.0, 30.0), low=0.0, high=1e5, unit="s", doc="Spent there, between these.")
    patience: float = time_setting(60.0, above=0.0, doc="After which it goes elsewhere, if it gets nowhere.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.visits or any(not name or SEPARATOR in name for name in self.visits):
            raise InvalidValueError(f"visits: expected names of stations, got {list(self.visits)}")
        if self.stays[1] < self.stays[0]:
            raise InvalidValueError(f"stays: expected the shorter time first, got {list(self.stays)}")


class ForkliftColumns(FeatureColumns):
    """The trips of each forklift."""

    route: Any = column(object, default="", writer="spawning", doc="the places that it visits", hashed=False)
    ordered: Bools = column(bool, writer="spawning", doc="it visits them in their order")
    shortest: Floats = column(float, unit="s", writer="spawning", doc="of its stays")
    longest: Floats = column(float, unit="s", writer="spawning")
    patience: Floats = column(float, unit="s", writer="spawning")
    trips: Ints = column(np.int64, writer="Forklifts", doc="begun so far")
    until: Ints = column(np.int64, default=-1, unit="tick", writer="Forklifts", doc="end of its stay; -1: it drives")
    stands: Ints = column(np.int64, unit="tick", writer="Forklifts", doc="how long it has stood on its way")


CHOICE, STAY = range(2)
"""Sequences of random numbers, one for each question."""


class Forklifts(FeatureRows[ForkliftColumns]):
    """Sends forklifts from place to place."""

    def step(self, dt: float) -> None:
        """Begin and end stays and trips."""
        world, table, rule = self.world, self.table, self.world.routes.conveyance
        if rule is None:
            return
        tick, seconds = world.clock.tick, world.clock.seconds
        for row in self.rows.tolist():
            if not rule.drives(row):
                continue
            if table.trips[row] == 0 or 0 <= table.until[row] <= tick:
                self._send(row)
            elif table.until[row] < 0 and rule.has_brought(row):
                span = table.longest[row] - table.shortest[row]
                stay = float(table.shortest[row] + span * self._drawn(row, STAY))
                table.until[row] = tick + world.clock.ticks(stay)
            elif table.until[row] < 0:
                table.stands[row] = 0 if world.velocity[row].any() else table.stands[row] + 1
                if seconds(int(table.stands[row])) > table.patience[row]:
                    self._send(row)

    def _send(self, row: int) -> None:
        """Send a forklift on its next trip."""
        world, table, rule = self.world, self.table, self.world.routes.conveyance
        assert rule is not None
        points = self.points(row)
        number = int(table.trips[row]) if table.ordered[row] else int(self._drawn(row, CHOICE) * len(points))
        traffic = world.tables.get("traffic")
        if isinstance(traffic, TrafficColumns):
            # Those that are come before all others.
            traffic.wide[row] = True
        rule.send_to(row, np.append(points[number % len(points)], world.position[row, 2]), None, 1.0)
        table.trips[row] += 1
        table.until[row], table.stands[row] = -1, 0

    def points(self, row: int) -> Floats:
        """Return the places (K, 2) that a forklift visits; raises InvalidValueError for unknown ones."""
        source = self.world.places.get("site")
        if source is None:
            raise InvalidValueError("a forklift drives between stations of a site; add a section 'site'")
        names = str(self.table.route[row]).split(SEPARATOR)
        return np.concatenate([source.places(name, None, seed=0, clearance=0.0)[0][:, :2] for name in names])

    def _drawn(self, row: int, question: int) -> float:
        ids = self.world.object_id[row : row + 1]
        return float(uniforms(self.world.random.key("forklifts"), ids, self.table.trips[row : row + 1], question)[0])


class ForkliftFeature(Feature[ForkliftSettings, ForkliftColumns]):
    """Forklifts: `forklift:` in the entry of a robot that takes part in the traffic."""

    doc = "Makes it a forklift that drives from station to station, and before which robots wait."
    settings = ForkliftSettings
    table = ForkliftColumns

    def values(self, settings: ForkliftSettings) -> Mapping[str, Any]:
        """Return the columns of a forklift with `settings`."""
        return {
            "route": SEPARATOR.join(settings.visits),
            "ordered": settings.tour == "order",
            "shortest": settings.stays[0],
            "longest": settings.stays[1],
            "patience": settings.patience,
        }

    def start(self, host: FeatureHost, table: ForkliftColumns) -> Forklifts:
        """Send forklifts on their ways before robots are planned for."""
        forklifts = Forklifts(host.world, table)
        host.pipeline.add(System("forklifts", Phase.UPDATE, forklifts.step), before="actions")
        return forklifts

    def enter(self, part: Forklifts, table: ForkliftColumns, rows: Rows) -> None:
        """Refuse those with unknown stations."""
        for row in rows.tolist():
            part.points(row)

    def details(self, table: ForkliftColumns, row: int) -> Sequence[tuple[str, str]]:
        """Say what it does."""
        return [("forklift", f"trip {int(table.trips[row])}" + (", stays" if table.until[row] >= 0 else ""))]


FEATURE = ForkliftFeature()

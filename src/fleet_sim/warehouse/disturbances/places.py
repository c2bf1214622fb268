"""Disturbances of places: areas that are closed, doors and lifts that stick, stations that do not serve as usual."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

import numpy as np

from fleet_sim.base.arrays import Floats, Rows
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.params import ActionCause
from fleet_sim.base.settings import setting
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.warehouse.disturbances.kind import Aim, DisturbanceKind, Disturbed
from fleet_sim.warehouse.sites.site import Zone, ZoneKind

if TYPE_CHECKING:
    from fleet_sim.warehouse.orders.orders import Orders

# Areas that are closed: nothing is planned through them.


Kind = TypeVar("Kind", bound=DisturbanceKind)
SPACING = 0.1
"""Between the places on a path that are looked at, in m."""
WAY_CLOSED = "its way is closed"


def _others(at: Disturbed, kind: type[Kind]) -> list[tuple[Disturbed, Kind]]:
    """Return what else of a kind disturbs the same target, with its settings."""
    part: Any = at.sim.features.use("disturbances")
    found: list[tuple[Disturbed, Kind]] = part.active_of(kind)
    return [
        (other, own) for other, own in found if other.event is not at.event and other.event.target == at.event.target
    ]


def _turn_back(sim: MultiRobotSimulationCore, corners: Floats) -> None:
    """End the actions of robots on routes through an area: who sends them finds them another way."""
    world, area = sim.world, Zone("area", ZoneKind.NO_GO, corners)
    rows = world.rows[world.motion.path_length[world.rows] > 0]
    paths = world.waypoints.paths(world.motion, rows)
    ends = np.cumsum(paths.lengths)
    for index, row in enumerate(rows.tolist()):
        if world.routes.conveys(row) or not len(world.actions.busy(np.array([row]))):
            continue
        first = int(ends[index] - paths.lengths[index] + paths.nexts[index])
        points = np.concatenate((world.position[row][None], paths.positions[first : ends[index]]))[:, :2]
        if area.contains(_along(points)).any():
            world.actions.cancel_base(row, WAY_CLOSED, ActionCause.CLOSED)


def _along(points: Floats) -> Floats:
    """Return places (K, 2) on the way through `points`, `SPACING` apart."""
    legs = [
        begin + (end - begin) * np.linspace(0.0, 1.0, 2 + int(np.abs(end - begin).sum() / SPACING))[:, None]
        for begin, end in pairwise(points)
    ]
    return np.concatenate(legs) if legs else points


@dataclass
class ClosedArea(DisturbanceKind):
    """An area is closed: the traffic and new routes keep out of it; who is in it may leave."""

    aim: ClassVar[Aim] = Aim.AREA

    def corners(self, at: Disturbed) -> Floats:
        """Return the corners (N, 2) of what is closed."""
        return np.array(at.corners)

    def begin(self, at: Disturbed) -> None:
        """Turn back who is on a route through it."""
        _turn_back(at.sim, self.corners(at))

    def hold(self, at: Disturbed) -> None:
        """Close it."""
        at.sim.world.routes.closed[at.event.id] = self.corners(at)

    def withdraw(self, at: Disturbed) -> None:
        """Open it."""
        at.sim.world.routes.closed.pop(at.event.id, None)


@dataclass
class StationBlocked(ClosedArea):
    """Somebody, or something, stands at a station: no robot comes there."""

    aim: ClassVar[Aim] = Aim.STATIONS

    size: float = setting(1.0, above=0.0, high=100.0, unit="m", doc="Side of the square around it that is blocked.")

    def corners(self, at: Disturbed) -> Floats:
        """Return those of a square around the station."""
        site = at.sim.extensions.find_manager("site")
        if site is None:
            raise InvalidValueError("there is no section 'site'")
        station, half = site.station(at.event.target), 0.5 * self.size
        corners = ((-half, -half), (half, -half), (half, half), (-half, half))
        return np.array([(station.x + x, station.y + y) for x, y in corners])


# Stations that do not serve.


def _orders(sim: MultiRobotSimulationCore) -> Orders:
    orders: Any = sim.extensions.find_manager("orders")
    if orders is None:
        raise InvalidValueError("nobody serves at the stations: there is no section 'orders'")
    found: Orders = orders
    return found


@dataclass
class StationClosed(DisturbanceKind):
    """A station is closed, as with `close_station`: orders to it wait, who is there already is served."""

    aim: ClassVar[Aim] = Aim.STATIONS

    def check(self, sim: MultiRobotSimulationCore) -> None:
        """Require orders."""
        _orders(sim)

    def begin(self, at: Disturbed) -> None:
        """Close it, unless it is closed."""
        orders = _orders(at.sim)
        ours = any(other.memory.get("closed") for other, _ in _others(at, StationClosed))
        at.memory["closed"] = ours or orders.places.number(at.event.target) not in orders.places.closed
        if at.memory["closed"]:
            orders.close_station(at.event.target)

    def end(self, at: Disturbed) -> None:
        """Open it, if this closed it and no other does."""
        if at.memory.get("closed") and not _others(at, StationClosed):
            _orders(at.sim).open_station(at.event.target)


@dataclass
class StationSlow(DisturbanceKind):
    """Work at a station takes longer; services that have begun end as they would have."""

    aim: ClassVar[Aim] = Aim.STATIONS

    factor: float = setting(2.0, above=0.0, high=1e6, doc="By which service times there are longer.")

    def check(self, sim: MultiRobotSimulationCore) -> None:
        """Require orders."""
        _orders(sim)

    def begin(self, at: Disturbed) -> None:
        """Make them longer."""
        self._set(at, self.factor)

    def end(self, at: Disturbed) -> None:
        """Let them be as they were, or as others make them that last."""
        self._set(at)

    def _set(self, at: Disturbed, *own: float) -> None:
        places = _orders(at.sim).places
        factors = [*own, *(kind.factor for _, kind in _others(at, StationSlow))]
        places.slowness[places.number(at.event.target)] = max(factors, default=1.0)


# Doors and lifts that stick.


def _stick(sim: MultiRobotSimulationCore) -> None:
    """Let those doors and lifts stick that something disturbs now, a lift with its doors; and let all others move."""
    world, part = sim.world, cast(Any, sim.features.use("disturbances"))

    def rows(kind: type[DisturbanceKind]) -> Rows:
        names = [at.event.target for at, _ in part.active_of(kind)]
        return np.array([world.index.row_named(name) for name in names if world.index.has_name(name)], np.int64)

    lifts = rows(LiftStuck)
    if "lift" in world.tables:
        cast(Any, sim.features.table("lift")).stuck[:] = np.isin(np.arange(world.capacity), lifts)
    if "door" in world.tables:
        doors: Any = sim.features.table("door")
        doors.stuck[:] = np.isin(np.arange(world.capacity), rows(DoorStuck)) | np.isin(doors.lift, lifts)


@dataclass
class DoorStuck(DisturbanceKind):
    """A door stays as it is, whatever it is told."""

    aim: ClassVar[Aim] = Aim.DOORS

    def begin(self, at: Disturbed) -> None:
        """Let it stick."""
        _stick(at.sim)

    def end(self, at: Disturbed) -> None:
        """Let it move, unless it sticks for another reason, too."""
        _stick(at.sim)


@dataclass
class LiftStuck(DisturbanceKind):
    """A lift stays where it is, with its doors as they are."""

    aim: ClassVar[Aim] = Aim.LIFTS

    def begin(self, at: Disturbed) -> None:
        """Let it stick."""
        _stick(at.sim)

    def end(self, at: Disturbed) -> None:
        """Let it move, unless it sticks for another reason, too."""
        _stick(at.sim)

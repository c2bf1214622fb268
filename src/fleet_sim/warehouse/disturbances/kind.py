"""Kinds of disturbances: settings with an effect, or with code that begins and ends it; of robots and of places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeVar, cast

import numpy as np

from fleet_sim.base.arrays import Floats, Rows
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.params import ActionCause, Mode
from fleet_sim.base.registry import saved
from fleet_sim.base.settings import Checked, setting
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.warehouse.sites.site import Zone, ZoneKind
from fleet_sim.world.conditions import CONDITIONS, ConditionColumns, EmergencyStop, OperatingMode, RobotError
from fleet_sim.world.world import energy_columns_with

if TYPE_CHECKING:
    from fleet_sim.warehouse.orders.orders import Orders


class Aim(Mode):
    """What a kind of disturbance is aimed at: each of these by name, or an area as a whole."""

    ROBOTS = "robots"
    STATIONS = "stations"
    DOORS = "doors"
    LIFTS = "lifts"
    AREA = "area"


class Effect(NamedTuple):
    """What holds for a robot while it is disturbed. Of several disturbances the worst of each counts."""

    halts: str = ""
    """Why it may not drive, as in "it has broken down"; empty: it may."""
    cause: ActionCause = ActionCause.DISTURBED
    """With which its actions end, where it may not drive."""
    pace: float = 1.0
    """How fast it drives at most, as a share of its speed limits."""
    faults: Sequence[str] = ()
    """Names of FAULTS (`world/features.py`)."""
    mode: OperatingMode = OperatingMode.AUTOMATIC
    emergency_stop: EmergencyStop = EmergencyStop.NONE
    silent: bool = False
    """Whether it sends nothing, and nothing reaches it."""
    charge_error: float = 0.0
    """By how much the charge that it tells is wrong, 0.5: it tells half of its capacity too much."""
    uncharged: bool = False
    """Whether its battery takes no charge."""
    failure: float = 0.0
    """Probability that an action of it fails."""
    errors: Sequence[RobotError] = ()
    """What it tells its fleet manager."""


NO_EFFECT = Effect()


@saved
@dataclass
class Event:
    """One disturbance of one target, from tick `begin` to tick `end`, which is -1 where none is known.

    `target` is a name; of a robot `robot` is the object id, of others -1. `count` says how many of its entry came
    before it for this target: with the key of the entry, it is what random numbers are drawn by. `memory` holds plain
    values that the kind wants to find again when it ends it.
    """

    id: str
    entry: int
    target: str
    robot: int
    count: int
    begin: int
    end: int
    memory: dict[str, Any] = field(default_factory=dict)


class Disturbed(NamedTuple):
    """What a kind is given with an event: the simulation, the rows of the robot (none of another target), the key."""

    sim: MultiRobotSimulationCore
    event: Event
    row: int
    """Of the robot; -1 for another target."""
    corners: Sequence[Sequence[float]]
    """Of the area of its entry; empty without one."""
    key: int
    """For `uniforms` and `normals` of `world/clock.py`: with the robot's object id and `event.count`."""

    @property
    def memory(self) -> dict[str, Any]:
        """What the kind has kept of the event."""
        return self.event.memory


@dataclass
class DisturbanceKind(Checked):
    """Base of all kinds: a dataclass whose fields, made with `setting`, are the keys of its entries.

    A kind that only changes robots overrides `effect`; one that does something overrides `begin` and `end`. What they
    change outside the columns they put back: `end` is called for each event that began, also before a robot is
    removed. One with `steps` gets all its active events in each step.
    """

    aim: ClassVar[Aim] = Aim.ROBOTS
    steps: ClassVar[bool] = False
    follows_area: ClassVar[bool] = False
    """Whether robots that come into the area of an entry with times are disturbed, until they leave it or it ends."""

    def check(self, sim: MultiRobotSimulationCore) -> None:
        """Raise InvalidValueError for what `sim` lacks, before the run."""

    def effect(self, event: Event) -> Effect:
        """Return what holds for the robot while it lasts."""
        return NO_EFFECT

    def begin(self, at: Disturbed) -> None:
        """Called when it begins for a target, before its effect is written."""

    def end(self, at: Disturbed) -> None:
        """Called when it has ended for a target; its effect is gone already."""

    def hold(self, at: Disturbed) -> None:
        """Change what no saved state holds: after `begin`, and for what is active in a state that is restored."""

    def withdraw(self, at: Disturbed) -> None:
        """Undo `hold`: called before `end`, and for what is active when another state is restored."""

    def step(self, all_of_it: Sequence[Disturbed], dt: float) -> None:
        """Called before robots move, in each step in which events of the entry are active, if it `steps`."""


# Disturbances of robots: what each of them does to a robot, and what that tells its fleet manager.


def _error(kind: str, level: str, description: str, event: Event) -> RobotError:
    return RobotError(kind, level, description, (("disturbance", event.id),))


def _columns(at: Disturbed) -> ConditionColumns:
    table = at.sim.features.table(CONDITIONS)
    assert isinstance(table, ConditionColumns)
    return table


@dataclass
class Breakdown(DisturbanceKind):
    """Robots break down where they are, until they are repaired."""

    level: Literal["warning", "fatal"] = setting("fatal", doc="Of the error that they tell.")
    description: str = setting("it has broken down", doc="The text of that error.")

    def effect(self, event: Event) -> Effect:
        """A robot that stands, and says why."""
        error = _error("breakdown", self.level, self.description, event)
        return Effect(self.description, ActionCause.BREAKDOWN, faults=("breakdown",), errors=(error,))


@dataclass
class Slow(DisturbanceKind):
    """Robots drive slower than they could, and do not know it."""

    pace: float = setting(0.5, above=0.0, high=1.0, doc="Of their speed limits.")

    def effect(self, event: Event) -> Effect:
        """A lower speed, of which nothing is told."""
        return Effect(pace=self.pace)


@dataclass
class EmergencyStopped(DisturbanceKind):
    """An emergency stop holds robots: somebody pressed the button, or something is in their protective field."""

    release: Literal["autoack", "manual", "remote"] = setting("manual", doc="How it is released: eStop of VDA 5050.")
    field_violation: bool = setting(False, doc="Whether something is in the protective field.")

    def effect(self, event: Event) -> Effect:
        """A robot that stands, and says so in its safety state."""
        faults = ("emergency_stop", "field_violation") if self.field_violation else ("emergency_stop",)
        error = _error("emergency_stop", "urgent", "an emergency stop holds it", event)
        return Effect(
            error.description,
            ActionCause.EMERGENCY_STOP,
            faults=faults,
            emergency_stop=EmergencyStop(self.release),
            errors=(error,),
        )


@dataclass
class Manual(DisturbanceKind):
    """Somebody takes robots out of the hands of their fleet manager: they lose their orders and take no goals."""

    mode: Literal["semiautomatic", "manual", "service", "teachin"] = setting(
        "manual", doc="What they tell. In semiautomatic they keep their orders, and drive at `pace`."
    )
    pace: float = setting(0.5, above=0.0, high=1.0, doc="In semiautomatic, of their speed limits.")

    def effect(self, event: Event) -> Effect:
        """A robot in this mode."""
        mode = OperatingMode(self.mode)
        if mode is OperatingMode.SEMIAUTOMATIC:
            return Effect(mode=mode, pace=self.pace)
        return Effect("it is driven by hand and takes no goals", ActionCause.MANUAL_MODE, mode=mode)


@dataclass
class ActionFailure(DisturbanceKind):
    """What robots do at a stop fails: Pick and Drop, the stops of orders, actions of VDA 5050."""

    probability: float = setting(1.0, above=0.0, high=1.0, doc="That an action fails.")
    next: int | None = setting(None, low=1, high=10**6, doc="So many fail, and then it is over; null: without end.")

    steps = True

    def effect(self, event: Event) -> Effect:
        """Actions that may fail."""
        return Effect(failure=self.probability)

    def begin(self, at: Disturbed) -> None:
        """Say how many may fail."""
        at.memory["until"] = -1 if self.next is None else int(_columns(at).failures[at.row]) + self.next
        self._allow(at, [at.memory["until"]])

    def end(self, at: Disturbed) -> None:
        """Let only those fail that others say."""
        if at.row >= 0:
            self._allow(at, [])

    def _allow(self, at: Disturbed, ends: list[int]) -> None:
        """Let actions fail until all have had theirs that disturb the robot, and those that end with `ends`."""
        active = at.sim.features.use(CONDITIONS).active_of(ActionFailure)
        ends = ends + [one.memory["until"] for one, _ in active if one.row == at.row and one.event is not at.event]
        if ends:
            _columns(at).failures_until[at.row] = -1 if -1 in ends else max(ends)

    def step(self, all_of_it: Sequence[Disturbed], dt: float) -> None:
        """End it where the last one has failed."""
        for at in all_of_it:
            if at.row >= 0 and 0 <= at.memory["until"] <= _columns(at).failures[at.row]:
                at.sim.features.use(CONDITIONS).finish(at.event)


@dataclass
class BatteryFault(DisturbanceKind):
    """A battery is empty at once, tells a wrong charge, or takes none."""

    level: float | None = setting(None, low=0.0, high=1.0, doc="How full it is from then on, 0: empty; null: as it is.")
    charge_error: float = setting(0.0, low=-1.0, high=1.0, doc="By which the charge that is told is wrong.")
    charges: bool = setting(True, doc="Whether it can be charged.")

    def effect(self, event: Event) -> Effect:
        """A wrong charge, and a battery that takes none."""
        errors = () if self.charges else (_error("battery_fault", "warning", "its battery takes no charge", event),)
        return Effect(charge_error=self.charge_error, uncharged=not self.charges, errors=errors)

    def begin(self, at: Disturbed) -> None:
        """Set the energy of the battery, if the robot has one."""
        battery = energy_columns_with(at.sim.world, at.row)
        if battery is not None and self.level is not None:
            battery.energy[at.row] = self.level * battery.full_energy[at.row]


@dataclass
class Silent(DisturbanceKind):
    """Robots send nothing, and nothing reaches them; what is to become of them is up to their fleet manager."""

    drives_on: bool = setting(True, doc="Whether they go on with what they were told; otherwise they stand.")

    def effect(self, event: Event) -> Effect:
        """A robot that is not heard of."""
        return Effect("" if self.drives_on else "it has lost its fleet manager", silent=True)


@dataclass
class Reboot(DisturbanceKind):
    """Robots are switched off and on again: they stand, silent, lose their orders, and count their messages anew."""

    def effect(self, event: Event) -> Effect:
        """A robot that is off."""
        return Effect("it is switched off", silent=True)

    def begin(self, at: Disturbed) -> None:
        """Forget what it had to do."""
        world = at.sim.world
        _columns(at).boots[at.row] += 1
        for row in world.actions.busy(np.array([at.row])).tolist():
            world.actions.cancel(row, "it was switched off", ActionCause.DISTURBED)


# Disturbances of places: areas that are closed, doors and lifts that stick, stations that do not serve as usual.

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
class _Stuck(DisturbanceKind):
    """What moves in a building stays as it is."""

    def begin(self, at: Disturbed) -> None:
        """Let it stick."""
        _stick(at.sim)

    def end(self, at: Disturbed) -> None:
        """Let it move, unless it sticks for another reason, too."""
        _stick(at.sim)


@dataclass
class DoorStuck(_Stuck):
    """A door stays as it is, whatever it is told."""

    aim: ClassVar[Aim] = Aim.DOORS


@dataclass
class LiftStuck(_Stuck):
    """A lift stays where it is, with its doors as they are."""

    aim: ClassVar[Aim] = Aim.LIFTS

"""Vehicle: one robot as a master control sees it, and all that it remembers.

`VehicleState` is all that has to be saved. What a vehicle does about its order is in `pilot.py`, how it drives in
`driving.py`, and what it tells in `reports.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, cast

import numpy as np

from fleet_sim.base.errors import FleetSimError, InvalidValueError, brief
from fleet_sim.base.params import Mode
from fleet_sim.base.registry import saved
from fleet_sim.base.settings import Checked, setting
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.robots.agent import Agent
from fleet_sim.robots.attachments import footprint_radius
from fleet_sim.robots.sim_object import SimObject
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.warehouse.sites.site import Site, StationKind
from fleet_sim.warehouse.traffic.traffic import Traffic
from fleet_sim.warehouse.vda5050 import order
from fleet_sim.warehouse.vda5050.messages import VERSIONS, WireVersion
from fleet_sim.world.conditions import CONDITIONS, OperatingMode, conditions_of
from fleet_sim.world.ports import PoseQuality
from fleet_sim.world.world import EnergyColumns, World, energy_columns_with

# VehicleContext: what vehicles need of the simulation around them: building, traffic, batteries.


class VehicleContext:
    """Looks up what a scenario may have or not have, at the time it is asked."""

    def __init__(self, sim: MultiRobotSimulationCore) -> None:
        self._sim = sim
        self.world: World = sim.world

    @property
    def site(self) -> Site | None:
        """The building; None where there is none."""
        site: Site | None = self._sim.extensions.find_manager("site")
        return site

    def traffic_of(self, row: int) -> Traffic | None:
        """Return the traffic that drives the robot; None for one that drives by itself."""
        if not self.world.routes.conveys(row):
            return None
        traffic: Traffic = self._sim.get_manager("traffic")
        return traffic

    def station(self, name: str) -> tuple[float, float] | None:
        """Return the place of a station; None where there is none of that name."""
        site = self.site
        try:
            station = None if site is None else site.station(name)
        except FleetSimError:
            return None
        return None if station is None else (station.x, station.y)

    def is_at_charger(self, place: tuple[float, float], reach: float) -> bool:
        """Return whether a charger is within `reach` m. Where a site has none, robots charge wherever they are."""
        site = self.site
        chargers = () if site is None else site.stations_of(StationKind.CHARGE)
        near = (
            station for station in chargers if (station.x - place[0]) ** 2 + (station.y - place[1]) ** 2 <= reach**2
        )
        return not chargers or any(True for _ in near)

    def battery(self, row: int) -> EnergyColumns | None:
        """Return the columns of batteries; None for a robot without one."""
        return energy_columns_with(self.world, row)

    def disturbances_of(self, vehicle: Vehicle) -> list[order.VehicleFault]:
        """Return the faults that a vehicle has by what disturbs it."""
        if CONDITIONS not in self._sim.features.used:
            return []
        about = {} if vehicle.is_idle else {"orderId": vehicle.state.order_id}
        return [
            order.VehicleFault(f"{error.kind}:{error.level}", error.description, {**dict(error.references), **about})
            for error in self._sim.features.use(CONDITIONS).errors_of(vehicle.row)
        ]

    def hindrance(self, row: int) -> str:
        """Return why a robot may not drive now; "" where it may."""
        world = self.world
        if world.parent[row] >= 0:
            return "it is carried by another robot"
        rows, conveyance = np.array([row]), cast(object, world.routes.conveyance)
        for rule in world.drive_rules:
            # The traffic refuses all who drive past it; vehicles in it are sent by it.
            if rule is not conveyance and rule.refuses(rows)[0]:
                return rule.reason_of(row)
        return ""


# The settings under `vda5050:`, in a scenario and in the entry of a robot.


PATTERN = re.compile(r"[A-Za-z0-9_.:-]{1,100}")
LARGEST_INTEGER = 2**53
"""Larger integers are not exact in all readers of JSON; as texts they are."""


def read_level(value: object) -> str:
    """Return a text that may stand in a topic; raises InvalidValueError."""
    if isinstance(value, float) and abs(value) <= LARGEST_INTEGER and value.is_integer():
        # To JSON 3.0 is 3.
        value = int(value)
    beyond = isinstance(value, int) and abs(value) > LARGEST_INTEGER
    if isinstance(value, (str, int)) and not isinstance(value, bool) and not beyond and PATTERN.fullmatch(str(value)):
        return str(value)
    raise InvalidValueError(f"must be made of A-Z a-z 0-9 _ - . :, up to 100 of them, got {brief(value)}")


def read_serials(value: object) -> dict[str, str]:
    """Return serial numbers by robot; raises InvalidValueError."""
    if not isinstance(value, dict):
        raise InvalidValueError(f"must be a mapping of robots to serial numbers, got {brief(value)}")
    serials = {str(name): read_level(serial) for name, serial in value.items()}
    if len(set(serials.values())) < len(serials):
        raise InvalidValueError("must be different for each robot")
    return serials


class StandardVersion(Mode):
    """A version of the standard."""

    SECOND = "2.0"
    SECOND_ONE = "2.1"
    THIRD = "3.0"


def read_version(value: object) -> StandardVersion:
    """Return the version in a file, where 2.0 is a number."""
    return value if isinstance(value, StandardVersion) else StandardVersion(str(value))


_VERSION_SCHEMA = {"enum": ["2.0", "2.1", "3.0", 2.0, 2.1, 3.0]}
_LEVEL_SCHEMA = {
    "type": ["string", "integer"],
    # In Python a dollar alone also stands before a last line break.
    "pattern": f"^{PATTERN.pattern}$(?!\\n)",
    "minimum": -LARGEST_INTEGER,
    "maximum": LARGEST_INTEGER,
}


class PositionPolicy(Mode):
    """What the action initPosition does: place the robot there, or only confirm that it stands there."""

    PLACE = "place"
    CONFIRM = "confirm"


@dataclass
class MapSettings(Checked):
    """A map that vehicles have, or can be told to download."""

    id: str = setting("map", reader=read_level, schema=_LEVEL_SCHEMA, doc="Its mapId.")
    version: str = setting("1", reader=read_level, schema=_LEVEL_SCHEMA, doc="Its mapVersion.")
    status: Literal["enabled", "disabled", "on_server"] = setting(
        "enabled",
        doc="What it is at first: enabled, disabled, or on_server, from where the action downloadMap gets it.",
    )


Names = list[str]
Maps = list[MapSettings]


@dataclass
class VehicleFleetSettings(Checked):
    """Robots of one maker that speak one version."""

    robots: Names | str = setting(
        "all", doc="all that can drive, or a list of names; * stands for any characters, as in forklift_*."
    )
    version: StandardVersion | str | float = setting(
        StandardVersion.SECOND_ONE, reader=read_version, schema=_VERSION_SCHEMA, doc="2.0, 2.1 or 3.0."
    )
    interface_name: str = setting("uagv", reader=read_level, schema=_LEVEL_SCHEMA, doc="First level of its topics.")
    manufacturer: str = setting("fleet_sim", reader=read_level, schema=_LEVEL_SCHEMA, doc="Third level of its topics.")
    serial_numbers: dict[str, str] = setting(
        factory=dict,
        reader=read_serials,
        schema={"type": "object", "additionalProperties": _LEVEL_SCHEMA},
        doc="Serial numbers by robot; that of others is the robot's name.",
    )
    state_interval: float = setting(
        30.0, low=0.01, high=30.0, unit="s", doc="Longest time between two states; more are sent on changes."
    )
    visualization_rate: float = setting(
        0.0, low=0.0, high=1000.0, unit="Hz", doc="Of the topic visualization, per simulated second; 0: never."
    )
    maps: Maps = setting(
        factory=lambda: [MapSettings()], doc="Maps. The first enabled one is where the vehicles are at first."
    )
    node_tolerance: float = setting(
        0.3, low=0.0, high=100.0, unit="m", doc="From the first node of an order that allows no deviation."
    )
    heading_tolerance: float = setting(
        0.02, low=0.0, high=3.15, unit="rad", doc="From the theta of a node that allows no deviation."
    )
    init_position: PositionPolicy = setting(
        PositionPolicy.PLACE, doc="initPosition puts the robot there (place), or only confirms where it is (confirm)."
    )
    pick_time: float = setting(3.0, low=0.0, high=1e5, unit="s", doc="How long pick takes.")
    drop_time: float = setting(3.0, low=0.0, high=1e5, unit="s", doc="How long drop takes.")
    reach: float = setting(1.0, low=0.0, high=100.0, unit="m", doc="How far from the robot pick finds a load.")
    actions: dict[str, Any] = setting(
        factory=dict, doc="Further actions by actionType: package.module:Class, of a VehicleAction."
    )


Fleets = list[VehicleFleetSettings]


@dataclass
class Vda5050Settings(Checked):
    """Which robots are driven by a master control, as fleets. A robot is of the first fleet that names it."""

    fleets: Fleets = setting(factory=lambda: [VehicleFleetSettings()], doc="Robots of one maker and version each.")


@dataclass
class Vda5050RobotSettings(Checked):
    """What holds for one robot: the key `vda5050` of its entry."""

    enabled: bool = setting(True, doc="Whether a master control drives it.")


WAITING, INITIALIZING, RUNNING, PAUSED = "WAITING", "INITIALIZING", "RUNNING", "PAUSED"
RETRIABLE, FINISHED, FAILED = "RETRIABLE", "FINISHED", "FAILED"
ENDED = (FINISHED, FAILED)
NOWHERE = (-1, 0)
"""In place of the edge (sequence) on which a leg was given up, and of how many of its points are passed."""


@saved
@dataclass
class ActionEntry:
    """An action that a vehicle was given, and what became of it. `sequence` is of its node or edge, -1: an instant one.

    `left` is the time (s) that it still takes, `stage` what it is at; both belong to the class that does it.
    """

    action: order.OrderAction
    sequence: int = -1
    status: str = WAITING
    result: str = ""
    left: float = 0.0
    stage: str = ""

    def spend(self, dt: float) -> bool:
        """Let `dt` s of the time that it takes pass; return whether none is left."""
        self.left -= dt
        # Sums of time steps are off by rounding.
        return self.left <= 1e-9


@saved
@dataclass
class VehicleLeg:
    """A drive without a stop: `points` (x, y, speed) and after which of them each node, by sequence, is passed.

    `phases` are what is still to be done: turns on the spot to a heading, and the drive with the heading at its end.

    Marks and points are indices into `points`; speeds are limits in m/s.
    """

    points: list[tuple[float, float, float]]
    marks: list[tuple[int, int]]
    phases: list[tuple[str, float | None]]
    reverse: bool | None = None
    begin: int = 0
    """First point of the edge that it is on."""
    rest: tuple[int, int] = NOWHERE
    """Edge (sequence) on which it ends before a zone, and which of its points comes next."""
    node: int = -1
    """Node of the traffic that the robot was sent to."""


@saved
@dataclass
class VehicleMap:
    """A map on the vehicle."""

    map_id: str
    version: str
    enabled: bool


@saved
@dataclass
class VehicleState:
    """All that a vehicle remembers of its orders; plain values, so that it can be saved."""

    map_id: str = ""
    maps: list[VehicleMap] = field(default_factory=list)
    order_id: str = ""
    update_id: int = 0
    zone_set: str = ""
    nodes: list[order.OrderNode] = field(default_factory=list)
    edges: list[order.OrderEdge] = field(default_factory=list)
    actions: list[ActionEntry] = field(default_factory=list)
    instants: list[ActionEntry] = field(default_factory=list)
    queue: list[ActionEntry] = field(default_factory=list)
    """Actions whose node or edge was reached, and that have not ended; in the order in which they begin."""
    last_node: str = ""
    last_sequence: int = 0
    last_place: tuple[float, float] | None = None
    since_node: float = 0.0
    """How far in m it has driven since its last node, as far as it was measured."""
    decision: order.OrderNode | None = None
    """Last released node: an update continues there."""
    latest: str = ""
    """Digest of the latest order or update, to tell a repeated one; "" before the first."""
    entered: int = -1
    """Sequence of the edge whose actions were begun."""
    leg: VehicleLeg | None = None
    resume: tuple[int, int] = NOWHERE
    """Edge (sequence) on which a leg was given up, and which of its points comes next."""
    extended: bool = False
    """Whether an update came while it drives a leg that could be longer now."""
    braking: bool = False
    paused: bool = False
    cancelling: list[ActionEntry] = field(default_factory=list)
    cancelled: bool = False
    stuck: str = ""
    """Why the order cannot be driven on, until it is cancelled."""
    faults: list[order.VehicleFault] = field(default_factory=list)
    zone_sets: list[order.VehicleZoneSet] = field(default_factory=list)
    requests: list[order.ZoneRequest] = field(default_factory=list)
    request_count: int = 0
    told: tuple[int, ...] = ()
    """The conditions (mode, stop, faults, boots) that its latest state tells."""
    load_types: dict[int, str] = field(default_factory=dict)
    """What pick was told of the objects that are carried, by object id."""


class VehicleIdentity(NamedTuple):
    """What a vehicle is called: its robot, and the levels of its topics up to the last one."""

    name: str
    version: str
    prefix: str
    manufacturer: str
    serial: str


class OrderControl(Protocol):
    """What instant actions do to the order of a vehicle."""

    def pause(self) -> None:
        """Stop, and pause what can be paused."""

    def resume(self) -> None:
        """Go on after a pause."""

    def cancel(self, entry: ActionEntry) -> None:
        """Cancel the order; `entry` ends when the vehicle stands and nothing of it runs any more."""

    def trigger(self) -> int:
        """End the actions that wait for a trigger; return how many there were."""

    def retry(self, action_id: str, *, skip: bool) -> bool:
        """Try a failed action again, or skip it; return whether there is one that can be retried."""


class Vehicle:
    """A robot with its serial number and version, and the state of its order.

    `changed` is set where a state has to be sent; `awake` where there is something to do in each step.
    """

    def __init__(self, agent: Agent, settings: VehicleFleetSettings, serial: str) -> None:
        self.agent, self.settings, self.serial = agent, settings, serial
        self.version: WireVersion = VERSIONS[str(settings.version)]
        self.identity = VehicleIdentity(
            agent.name or "",
            str(settings.version),
            f"{settings.interface_name}/{self.version.topic}/{settings.manufacturer}/{serial}",
            settings.manufacturer,
            serial,
        )
        self.row = agent.row
        self.world: World = agent.world
        self.state = self.fresh_state()
        self._measured = self.place
        self.changed = self.awake = True
        self.wants_factsheet = self.asked_for_base = False
        self.control: OrderControl
        """Set by its pilot."""

    def fresh_state(self) -> VehicleState:
        """Return the state of a vehicle that was just switched on."""
        kept = [VehicleMap(item.id, item.version, item.status == "enabled") for item in self.settings.maps]
        # A map on the server is on the vehicle only after its download.
        kept = [item for item, given in zip(kept, self.settings.maps, strict=True) if given.status != "on_server"]
        enabled = [item.map_id for item in kept if item.enabled]
        return VehicleState(map_id=enabled[0] if enabled else "", maps=kept)

    def steps_of(self, seconds: float) -> int:
        """Return how many steps pass between two messages that are `seconds` apart, at least one."""
        return max(1, round(seconds / self.world.clock.dt))

    # ---- where it is -------------------------------------------------------------------------------------------------

    @property
    def place(self) -> tuple[float, float]:
        """Position (x, y) in m."""
        x, y, _ = self.world.position[self.row].tolist()
        return x, y

    @property
    def heading(self) -> float:
        """Yaw in rad."""
        return float(quaternions.yaw_of(self.world.orientation, self.row))

    @property
    def believed(self) -> tuple[float, float, float]:
        """Position (x, y) in m and yaw in rad that it tells: what it believes."""
        (position,), orientations = self.world.believed_poses(np.array([self.row]))
        return float(position[0]), float(position[1]), float(quaternions.yaw_of(orientations, 0))

    @property
    def pose_quality(self) -> PoseQuality | None:
        """What it knows of how wrong that is; None where robots are never wrong."""
        errors = self.world.pose_errors
        return None if errors is None else errors.quality(self.row)

    @property
    def velocity(self) -> tuple[float, float, float]:
        """Velocity (vx, vy) in m/s in its own frame, and turning speed in rad/s."""
        vx, vy, _ = self.world.velocity[self.row].tolist()
        sin, cos = trig.sin_cos_of(self.heading)
        # From the axes of the world to its own.
        return vx * cos + vy * sin, vy * cos - vx * sin, float(self.world.angular_velocity[self.row, 2])

    @property
    def moves(self) -> bool:
        """Whether it drives or turns."""
        vx, vy, spin = self.velocity
        # Squared: below 1 mm/s it counts as standing.
        return vx * vx + vy * vy > 1e-6 or abs(spin) > 1e-3

    @property
    def top(self) -> float:
        """Height (m) above the ground, with all that it carries."""
        boxes = [box_of(self.world, row) for row in (self.row, *(load.row for load in self.loads))]
        return max(middle[2] + 0.5 * size[2] for middle, size in boxes)

    @property
    def size(self) -> tuple[float, float, float]:
        """Length, width and height (m) of its body along its own axes, without loads."""
        return box_of(self.world, self.row)[1]

    @property
    def loads(self) -> list[SimObject]:
        """All that it carries: its own loads, what stands on these, and so on."""
        found: list[SimObject] = []
        bearers: list[SimObject] = [self.agent]
        while bearers:
            bearers = [load for bearer in bearers for load in bearer.get_attached_objects()]
            found += bearers
        return found

    @property
    def since_node(self) -> float:
        """How far (m) it has driven since it passed its last node; 0 before the first one."""
        x, y = self.place
        more = trig.hypot_of(x - self._measured[0], y - self._measured[1])
        return self.state.since_node + more if self.state.last_node else 0.0

    def measure(self) -> None:
        """Add what it drove since this was called last; called in each step in which it moves."""
        self.state.since_node, self._measured = self.since_node, self.place

    def pass_node(self, node_id: str, sequence: int, ahead: float = 0.0) -> None:
        """Make a node the last one that it has passed; it is `ahead` m behind it by now."""
        state = self.state
        state.last_node, state.last_sequence, state.since_node = node_id, sequence, ahead
        self._measured = self.place

    # ---- its order ---------------------------------------------------------------------------------------------------

    @property
    def is_idle(self) -> bool:
        """Whether it has nothing left to do of its order, and does not wait for more of it."""
        state = self.state
        return not (state.nodes or state.edges or any(entry.status not in ENDED for entry in state.actions))

    @property
    def silent(self) -> bool:
        """Whether it sends nothing, and nothing reaches it."""
        conditions = conditions_of(self.world)
        return conditions is not None and bool(conditions.silent[self.row])

    @property
    def takes_orders(self) -> bool:
        """Whether its master control commands it, and no person."""
        conditions = conditions_of(self.world)
        return conditions is None or int(conditions.operating_mode[self.row]) <= OperatingMode.SEMIAUTOMATIC.code

    def zones_here(self) -> list[order.VehicleZone]:
        """Return the enabled zones that it touches."""
        radius = footprint_radius(self.world, self.row)
        place, zones = np.array([self.place]), order.enabled_zones(self.state.zone_sets, self.state.map_id)
        return [zone for zone in zones if zone.touches(place, radius)[0]]

    def wake(self) -> None:
        """Let it look at its order in the next step, and send a state."""
        self.changed = self.awake = True

    def report(self, fault: order.VehicleFault) -> None:
        """Report a fault in its states."""
        # Reporting a known fault again changes no state.
        if fault not in self.state.faults:
            self.changed = True
        order.report(self.state.faults, fault)

    def take_back(self, kind: str) -> None:
        """Report faults of a kind no longer."""
        if order.take_back(self.state.faults, kind):
            self.changed = True


def box_of(world: World, row: int) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Return the middle (x, y, z) of the box of a body in the world, and its size (m) along the axes of the body."""
    # The shape may sit beside the origin of its body, and be turned in it.
    turned = quaternions.rotate(np.tile(world.shape_orientation[row], (3, 1)), np.diag(world.half_extents[row]))
    length, width, height = (2.0 * np.abs(turned).sum(axis=0)).tolist()
    offset = quaternions.rotate(world.orientation[row][None], world.shape_position[row][None])[0]
    x, y, z = (world.position[row] + offset).tolist()
    return (x, y, z), (length, width, height)

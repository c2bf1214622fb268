"""Vehicle: one robot as a master control sees it, and all that it remembers.

`VehicleState` is all that has to be saved. What a vehicle does about its order is in `pilot.py`, how it drives in
`driving.py`, and what it tells in `reports.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from fleet_sim.core.world import World
from fleet_sim.entities.agent import Agent
from fleet_sim.entities.footprint import footprint_radius
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.saved_classes import saved
from fleet_sim.spatial import quaternions
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.vda5050.faults import VehicleFault, report, take_back
from fleet_sim.vda5050.order import OrderAction, OrderEdge, OrderNode
from fleet_sim.vda5050.settings import VehicleFleetSettings
from fleet_sim.vda5050.wire.versions import VERSIONS, WireVersion
from fleet_sim.vda5050.zones import VehicleZone, VehicleZoneSet, ZoneRequest, enabled_zones

WAITING, INITIALIZING, RUNNING, PAUSED = "WAITING", "INITIALIZING", "RUNNING", "PAUSED"
RETRIABLE, FINISHED, FAILED = "RETRIABLE", "FINISHED", "FAILED"
ENDED = (FINISHED, FAILED)


@saved
@dataclass
class ActionEntry:
    """An action that a vehicle was given, and what became of it. `sequence` is of its node or edge, -1: an instant one.

    `left` is the time (s) that it still takes, `stage` what it is at; both belong to the class that does it.
    """

    action: OrderAction
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
    rest: tuple[int, int] = (-1, 0)
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
    nodes: list[OrderNode] = field(default_factory=list)
    edges: list[OrderEdge] = field(default_factory=list)
    actions: list[ActionEntry] = field(default_factory=list)
    instants: list[ActionEntry] = field(default_factory=list)
    queue: list[ActionEntry] = field(default_factory=list)
    """Actions whose node or edge was reached, and that have not ended; in the order in which they begin."""
    last_node: str = ""
    last_sequence: int = 0
    last_place: tuple[float, float] | None = None
    since_node: float = 0.0
    """How far in m it has driven since its last node, as far as it was measured."""
    decision: OrderNode | None = None
    """Last released node: an update continues there."""
    latest: str = ""
    """Digest of the latest order or update, to tell a repeated one; "" before the first."""
    entered: int = -1
    """Sequence of the edge whose actions were begun."""
    leg: VehicleLeg | None = None
    resume: tuple[int, int] = (-1, 0)
    """Edge (sequence) on which a leg was given up, and which of its points comes next."""
    extended: bool = False
    """Whether an update came while it drives a leg that could be longer now."""
    braking: bool = False
    paused: bool = False
    cancelling: list[ActionEntry] = field(default_factory=list)
    cancelled: bool = False
    stuck: str = ""
    """Why the order cannot be driven on, until it is cancelled."""
    faults: list[VehicleFault] = field(default_factory=list)
    zone_sets: list[VehicleZoneSet] = field(default_factory=list)
    requests: list[ZoneRequest] = field(default_factory=list)
    request_count: int = 0
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

    def zones_here(self) -> list[VehicleZone]:
        """Return the enabled zones that it touches."""
        radius = footprint_radius(self.world, self.row)
        place, zones = np.array([self.place]), enabled_zones(self.state.zone_sets, self.state.map_id)
        return [zone for zone in zones if zone.touches(place, radius)[0]]

    def wake(self) -> None:
        """Let it look at its order in the next step, and send a state."""
        self.changed = self.awake = True

    def report(self, fault: VehicleFault) -> None:
        """Report a fault in its states."""
        # Reporting a known fault again changes no state.
        if fault not in self.state.faults:
            self.changed = True
        report(self.state.faults, fault)

    def take_back(self, kind: str) -> None:
        """Report faults of a kind no longer."""
        if take_back(self.state.faults, kind):
            self.changed = True


def box_of(world: World, row: int) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Return the middle (x, y, z) of the box of a body in the world, and its size (m) along the axes of the body."""
    # The shape may sit beside the origin of its body, and be turned in it.
    turned = quaternions.rotate(np.tile(world.shape_orientation[row], (3, 1)), np.diag(world.half_extents[row]))
    length, width, height = (2.0 * np.abs(turned).sum(axis=0)).tolist()
    offset = quaternions.rotate(world.orientation[row][None], world.shape_position[row][None])[0]
    x, y, z = (world.position[row] + offset).tolist()
    return (x, y, z), (length, width, height)

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
        world = self.world
        rows = [self.row, *(load.row for load in self.agent.get_attached_objects())]
        return max(float(world.position[row, 2] + _extent(world, row)[2]) for row in rows)

    @property
    def size(self) -> tuple[float, float, float]:
        """Length, width and height (m) of its body, without loads."""
        x, y, z = _extent(self.world, self.row)
        return 2.0 * x, 2.0 * y, 2.0 * z

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


def _extent(world: World, row: int) -> list[float]:
    """Return how far (3,) in m the shape of a body is from its middle, along its own axes."""
    half: list[float] = np.abs(world.half_extents[row]).tolist()
    return half


def load_size(world: World, row: int) -> tuple[float, float, float]:
    """Return length, width and height (m) of a body along its own axes."""
    x, y, z = _extent(world, row)
    return 2.0 * x, 2.0 * y, 2.0 * z

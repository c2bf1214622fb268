"""Bus: the broker of a lab, in simulated time, with what goes wrong between vehicles and their manager.

Messages take one step. Those of one vehicle in one direction keep their order, as on a connection, unless a fault says
otherwise. Nothing here reads a clock or a random number: one schedule gives one run.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from fleet_sim.base.errors import unknown_name
from fleet_sim.warehouse.vda5050.messages import VERSIONS
from fleet_sim.warehouse.vda5050.reports import VehicleBody
from fleet_sim.warehouse.vda5050.session import Connected, LateBody, MessageHeads, Received
from fleet_sim.warehouse.vda5050.vehicle import VehicleIdentity

EPOCH = 1_767_225_600.0
"""Wall time of the beginning of a run, 2026-01-01T00:00:00Z: timestamps of vehicles count from it."""
KEEP_ALIVE = 22.5
"""Time in s after which a broker gives up a vehicle that is silent: one and a half times 15 s."""
TO, FROM = "to", "from"
TWICE_AFTER = 0.3
GARBAGE = b"\xff\xfe\x00 no message {"
MANAGER = "manager"


@dataclass(eq=False)
class Message:
    """A message on the bus: `came` is when it arrived, `fate` what was done to it."""

    number: int
    at: float
    sender: str
    vehicle: str
    topic: str
    """Its last level."""
    text: str
    came: list[float] = field(default_factory=list)
    fate: str = ""


@dataclass(eq=False)
class Line:
    """The connection of a vehicle: how many reasons there are for it to be down, and whether its will was sent."""

    identity: VehicleIdentity
    heads: MessageHeads
    down: int = 0
    told: bool = True
    first_state: str = ""
    first_order: str = ""


@dataclass(eq=False)
class MessageFault:
    """What is done to the next `left` messages."""

    kind: str
    left: int
    by: float
    until: float


class Bus:
    """Carries messages between the vehicles, which a BusLink joins, and the manager.

    `on_told`, `on_sent` and `on_came` see every message: as a vehicle wrote it, as the manager published it, and as it
    arrived. `to_manager(topic, payload)` hands over what the manager has subscribed to.
    """

    def __init__(self, step: float) -> None:
        self.now = 0.0
        self.messages: list[Message] = []
        self.manager_down = 1
        """How many reasons there are for the manager to be without a connection; at first, that it is not there."""
        self.to_manager: Callable[[str, bytes, bool], object] = lambda topic, payload, retain: None
        self.on_connection: Callable[[bool], object] = lambda online: None
        self.on_told: Callable[[Message], object] = lambda message: None
        self.on_sent: Callable[[Message], object] = lambda message: None
        self.on_came: Callable[[Message], object] = lambda message: None
        self.lines: dict[str, Line] = {}
        self.link: BusLink | None = None
        self._latency = step
        self._retained: dict[str, bytes] = {}
        self._queue: list[tuple[float, int, Callable[[], object]]] = []
        self._numbers = count()
        self._last: dict[tuple[str, str], float] = {}
        self._faults: dict[tuple[str, str], list[MessageFault]] = {}

    def at(self, due: float, act: Callable[[], object]) -> None:
        """Call `act()` at a time."""
        heapq.heappush(self._queue, (due, next(self._numbers), act))

    def deliver(self, now: float) -> None:
        """Carry what is due by `now`."""
        self.now = now
        # Half a step: times are sums of steps.
        while self._queue and self._queue[0][0] <= now + 0.5 * self._latency:
            heapq.heappop(self._queue)[2]()

    # ---- faults ------------------------------------------------------------------------------------------------------

    def disturb(self, kind: str, vehicle: str, way: str, number: int, by: float, until: float) -> None:
        """Do something to the next messages of a vehicle that are sent until then."""
        self._faults.setdefault((vehicle, way), []).append(MessageFault(kind, number, by, until))

    def cut(self, vehicle: str, lasts: float, told: float) -> None:
        """Break the connection of a vehicle for a time; the broker sends its last will after `told` s."""
        self._break(vehicle)
        self.at(self.now + told, lambda: self._give_up(vehicle))
        self.at(self.now + lasts, lambda: self._mend(vehicle))

    def silence(self, vehicle: str, silent: bool) -> None:
        """Let a vehicle fall silent: the broker gives it up after its keep-alive time."""
        if silent:
            self._break(vehicle)
            self.at(self.now + KEEP_ALIVE, lambda: self._give_up(vehicle))
        else:
            self._mend(vehicle)

    def restart_vehicle(self, vehicle: str) -> None:
        """Break the connection and make it anew; messages are counted anew."""
        self._break(vehicle)
        self._give_up(vehicle)
        self.lines[vehicle].heads.restart()
        self._mend(vehicle)

    def cut_manager(self, lasts: float) -> None:
        """Break the connection of the manager for a time."""
        self.manager_leaves()
        self.at(self.now + lasts, self.manager_joins)

    def restart_broker(self, lasts: float, keeps: bool) -> None:
        """Break all connections for a time; nobody's will is sent."""
        for vehicle in self.lines:
            self._break(vehicle)
            self.lines[vehicle].told = True
            self.at(self.now + lasts, lambda vehicle=vehicle: self._mend(vehicle))  # type: ignore[misc]
        self.manager_leaves()
        if not keeps:
            self._retained.clear()
        self.at(self.now + lasts, self.manager_joins)

    def retain_junk(self, kind: str, vehicle: str, way: str) -> None:
        """Publish something old or meaningless as a retained message, as a stranger may."""
        line = self.lines[vehicle]
        topic = "state" if kind == "old_state" or (kind == "garbage" and way == FROM) else "order"
        payload = {"old_state": line.first_state, "old_order": line.first_order}.get(kind, "").encode() or GARBAGE
        self._retained[f"{line.identity.prefix}/{topic}"] = payload
        message = self._record("stranger", vehicle, topic, payload.decode(errors="replace"))
        message.fate = "retained"
        arrive = self._reach_manager if topic == "state" else self._reach_vehicle
        self.at(self.now + self._latency, lambda: arrive(message, payload, retained=topic == "order"))

    # ---- the vehicles ------------------------------------------------------------------------------------------------

    def join(self, identity: VehicleIdentity) -> None:
        """Connect a vehicle that is new."""
        self.lines[identity.name] = Line(identity, MessageHeads(identity), down=1)
        self._mend(identity.name)

    def vehicle_writes(self, vehicle: str, topic: str, text: str) -> Message:
        """Note what a vehicle has written, whatever becomes of it."""
        line, message = self.lines[vehicle], self._record(vehicle, vehicle, topic, text)
        if topic == "state":
            line.first_state = line.first_state or text
            self.on_told(message)
        return message

    def vehicle_sends(self, vehicle: str, message: Message) -> bool:
        """Publish what a vehicle has written; return whether its connection took it."""
        line, topic, text = self.lines[vehicle], message.topic, message.text
        if line.down:
            message.fate = "no connection"
            return False
        if topic in ("connection", "factsheet"):
            self._retained[f"{line.identity.prefix}/{topic}"] = text.encode()
        self._transmit(vehicle, FROM, message, lambda: self._reach_manager(message, text.encode()))
        return True

    def _break(self, vehicle: str) -> None:
        line = self.lines[vehicle]
        line.told = line.told and line.down > 0
        line.down += 1

    def _mend(self, vehicle: str) -> None:
        line = self.lines[vehicle]
        line.down -= 1
        if line.down:
            return
        # The broker closes the old connection of a client that comes again.
        self._give_up(vehicle)
        online = line.heads.connection("ONLINE", EPOCH + self.now)
        self.vehicle_sends(vehicle, self.vehicle_writes(vehicle, "connection", online))
        for topic in ("order", "instantActions"):
            payload = self._retained.get(f"{line.identity.prefix}/{topic}")
            if payload is not None:
                self._reach_vehicle(self._record("broker", vehicle, topic, ""), payload, retained=True)
        if self.link is not None:
            self.link.connected(line.identity)

    def _give_up(self, vehicle: str) -> None:
        """Send the last will of a vehicle, once for each time that its connection breaks."""
        line = self.lines[vehicle]
        if line.told:
            return
        line.told = True
        will = line.heads.connection("CONNECTIONBROKEN", EPOCH + self.now)
        self._retained[f"{line.identity.prefix}/connection"] = will.encode()
        message = self._record("broker", vehicle, "connection", will)
        self.at(self.now + self._latency, lambda: self._reach_manager(message, will.encode()))

    def _reach_vehicle(self, message: Message, payload: bytes, *, retained: bool = False) -> None:
        line = self.lines[message.vehicle]
        if line.down or self.link is None:
            message.fate = "no connection"
            return
        message.came.append(self.now)
        if message.sender == MANAGER:
            self.on_came(message)
        self.link.received(line.identity, message.topic, payload, retained)

    # ---- the manager -------------------------------------------------------------------------------------------------

    def manager_joins(self) -> None:
        """Take away one reason for which the manager is without a connection; then it gets what is retained."""
        self.manager_down -= 1
        if self.manager_down:
            return
        self.on_connection(True)
        for topic, payload in sorted(self._retained.items()):
            if topic.rsplit("/", 1)[1] in ("connection", "factsheet", "state"):
                self.to_manager(topic, payload, True)

    def manager_leaves(self) -> None:
        """Add a reason for which the manager is without a connection."""
        self.manager_down += 1
        if self.manager_down == 1:
            self.on_connection(False)

    def manager_sends(self, topic: str, payload: bytes | str, retain: bool = False) -> bool:
        """Publish what the manager has written; return whether its connection took it."""
        prefix, _, last = topic.rpartition("/")
        vehicle = next((name for name, line in self.lines.items() if line.identity.prefix == prefix), "")
        raw = payload.encode() if isinstance(payload, str) else bytes(payload)
        message = self._record(MANAGER, vehicle, last if vehicle else topic, raw.decode(errors="replace"))
        self.on_sent(message)
        if self.manager_down:
            message.fate = "no connection"
            return False
        if not vehicle:
            message.fate = "nobody listens"
            return True
        if retain:
            self._retained[topic] = raw
        line = self.lines[vehicle]
        if last == "order":
            line.first_order = line.first_order or message.text
        self._transmit(vehicle, TO, message, lambda: self._reach_vehicle(message, raw))
        return True

    def manager_did(self, vehicle: str, kind: str, text: str) -> None:
        """Note what a manager has commanded on another way than by messages of this bus."""
        message = self._record(MANAGER, vehicle, kind, text)
        message.came.append(self.now)
        self.on_sent(message)

    def _reach_manager(self, message: Message, payload: bytes, *, retained: bool = False) -> None:
        if self.manager_down:
            message.fate = "no connection"
            return
        message.came.append(self.now)
        self.on_came(message)
        prefix = self.lines[message.vehicle].identity.prefix
        self.to_manager(f"{prefix}/{message.topic}", payload, message.topic in ("connection", "factsheet"))

    # ---- how messages are carried ------------------------------------------------------------------------------------

    def _record(self, sender: str, vehicle: str, topic: str, text: str) -> Message:
        message = Message(len(self.messages), self.now, sender, vehicle, topic, text)
        self.messages.append(message)
        return message

    def _transmit(self, vehicle: str, way: str, message: Message, arrive: Callable[[], object]) -> None:
        """Carry a message as the first fault that waits for one says."""
        channel, due = (vehicle, way), self.now + self._latency
        fault = self._fault(channel) if message.topic in ("state", "order", "instantActions") else None
        if fault is not None:
            message.fate = fault.kind
        if fault is not None and fault.kind == "lost":
            return
        if fault is not None and fault.kind == "overtaken":
            self.at(due + fault.by, arrive)
            return
        if fault is not None and fault.kind == "late":
            due += fault.by
        # In order: what is late keeps those behind it waiting.
        due = max(due, self._last.get(channel, 0.0))
        self._last[channel] = due
        self.at(due, arrive)
        if fault is not None and fault.kind == "twice":
            self.at(due + TWICE_AFTER, arrive)

    def _fault(self, channel: tuple[str, str]) -> MessageFault | None:
        faults = self._faults.get(channel, [])
        while faults and faults[0].until < self.now:
            faults.pop(0)
        if not faults:
            return None
        fault = faults[0]
        fault.left -= 1
        if fault.left <= 0:
            faults.pop(0)
        return fault


class BusLink:
    """The link of a VehicleSession to a Bus: see VehicleLink."""

    def __init__(self, bus: Bus, received: Received, connected: Connected) -> None:
        self.bus, self.received, self.connected = bus, received, connected
        self.lost: Counter[str] = Counter()
        self.address = "the bus of a lab"
        self._silent: frozenset[str] = frozenset()
        self._late: dict[int, Message] = {}
        self._kept: list[LateBody] = []
        bus.link = self

    @property
    def online(self) -> int:
        """How many vehicles are connected."""
        return sum(not line.down for line in self.bus.lines.values())

    def now(self) -> float:
        """Return the wall time of its messages, in s since 1970."""
        return EPOCH + self.bus.now

    def wait_online(self, count: int, timeout: float) -> bool:
        """Return whether `count` vehicles are online: nothing here takes time."""
        return self.online >= count

    def send(self, bodies: Sequence[VehicleBody | LateBody]) -> None:
        """Send messages; a LateBody is only written down at first."""
        for item in bodies:
            body = item.body if isinstance(item, LateBody) else item
            name = body.identity.name
            message = self._late.get(id(item))
            if message is None:
                text = self.bus.lines[name].heads.compose(body.topic, body.text, self.now())
                message = self.bus.vehicle_writes(name, body.topic, text)
                if isinstance(item, LateBody):
                    # It comes again when the radio brings it. Kept with its item, whose id is not used again so.
                    self._late[id(item)], item.payload = message, text
                    self._kept.append(item)
                    continue
            if not self.bus.vehicle_sends(name, message):
                self.lost[f"{body.topic}: not connected, or behind"] += 1

    def keep(self, identities: list[VehicleIdentity]) -> None:
        """Connect these vehicles; those of a lab stay to its end."""
        for identity in identities:
            if identity.name not in self.bus.lines:
                self.bus.join(identity)

    def silence(self, prefixes: frozenset[str]) -> None:
        """Let these vehicles, and only these, be silent from now on."""
        for name, line in self.bus.lines.items():
            prefix = line.identity.prefix
            if (prefix in prefixes) != (prefix in self._silent):
                self.bus.silence(name, prefix in prefixes)
        self._silent = prefixes

    def restart(self, prefix: str) -> None:
        """Break the connection of a vehicle, and make it anew."""
        for name, line in self.bus.lines.items():
            if line.identity.prefix == prefix:
                self.bus.restart_vehicle(name)
                return
        raise unknown_name("vehicle", prefix, [line.identity.prefix for line in self.bus.lines.values()])

    def close(self) -> None:
        """Nothing stays open."""


def about(identity: VehicleIdentity, start: str) -> dict[str, Any]:
    """Return a vehicle as managers are given it."""
    return {
        "serial": identity.serial,
        "manufacturer": identity.manufacturer,
        "version": VERSIONS[identity.version].number,
        "prefix": identity.prefix,
        "start": start,
    }

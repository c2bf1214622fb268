"""VehicleSession: the vehicles of a simulation and their master control, over any link.

`connection.py` has the link to an MQTT broker; the crash lab has one in this process.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any, Protocol

import numpy as np

from fleet_sim.base.errors import StateError
from fleet_sim.base.limits import LONGEST_TEXT
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.warehouse.vda5050.desk import VehicleDesk
from fleet_sim.warehouse.vda5050.messages import VERSIONS
from fleet_sim.warehouse.vda5050.order import VehicleMessage
from fleet_sim.warehouse.vda5050.reports import VehicleBody, VehicleOutbox
from fleet_sim.warehouse.vda5050.vehicle import VehicleIdentity
from fleet_sim.world.commands import CommandAck
from fleet_sim.world.conditions import conditions_of
from fleet_sim.world.pipeline import Phase, System


def timestamp(now: float) -> str:
    """Return a wall time, in s since 1970, as the standard writes it."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03d}Z"


class MessageHeads:
    """Writes the headers of the messages of one vehicle, which are counted by topic."""

    def __init__(self, identity: VehicleIdentity) -> None:
        self.version = VERSIONS[identity.version]
        self._numbers: Counter[str] = Counter()
        self._tail = json.dumps(
            {"version": self.version.number, "manufacturer": identity.manufacturer, "serialNumber": identity.serial},
            separators=(",", ":"),
        )[1:-1]

    def restart(self) -> None:
        """Count anew, as a vehicle does that was switched on."""
        self._numbers.clear()

    def compose(self, topic: str, body: str, now: float) -> str:
        """Return a message with its header: numbers count what is sent, whether or not it comes."""
        number = self._numbers[topic]
        self._numbers[topic] = (number + 1) % 2**32
        head = f'{{"headerId":{number},"timestamp":"{timestamp(now)}",{self._tail},'
        if topic == "visualization" and self.version.is_third:
            head += f'"referenceStateHeaderId":{max(self._numbers["state"] - 1, 0)},'
        return head + body

    def connection(self, state: str, now: float) -> str:
        """Return the message of the topic connection with this state."""
        written = self.version.connection.fields["connectionState"].kind.write(state)
        return self.compose("connection", f'"connectionState":"{written}"}}', now)


@dataclass(eq=False)
class LateBody:
    """A message that a radio carries: it gets its header when it is sent, and is published when it comes."""

    body: VehicleBody
    payload: str | None = None


class VehicleLink(Protocol):
    """Carries the messages of vehicles. It hands over those for them, and says who is connected: see MakeLink."""

    lost: Counter[str]
    address: Any
    """Where to, for people."""

    @property
    def online(self) -> int:
        """How many vehicles are connected."""

    def now(self) -> float:
        """Return the wall time of its messages, in s since 1970."""

    def wait_online(self, count: int, timeout: float) -> bool:
        """Wait until `count` vehicles are online; return whether they are."""

    def send(self, bodies: Sequence[VehicleBody | LateBody]) -> None:
        """Send messages, as soon as their vehicles are online; those of others are dropped.

        A LateBody is only written down at first; it is published each time that it is sent after that.
        """

    def keep(self, identities: list[VehicleIdentity]) -> None:
        """Connect these vehicles, and disconnect all others."""

    def silence(self, prefixes: frozenset[str]) -> None:
        """Send nothing for these vehicles, and only for these, from now on."""

    def restart(self, prefix: str) -> None:
        """Break the connection of a vehicle, and make it anew: it was switched off and on."""

    def close(self) -> None:
        """Say that all vehicles go, and disconnect them."""


Received = Callable[[VehicleIdentity, str, bytes, bool], object]
Connected = Callable[[VehicleIdentity], object]
MakeLink = Callable[[Received, Connected], VehicleLink]
"""Makes a link of what it calls: `received(identity, topic, payload, retained)` and `connected(identity)`."""


MOST_PENDING = 50
"""Messages to one vehicle that are not carried out yet; more are dropped."""
SYSTEM = "vda5050_outbox"


class VehicleSession:
    """The connection of a simulation with a master control, until `close` or the end of the simulation.

    `refused` counts what was not let in: messages of topics that the vehicle has not subscribed to; retained ones,
    which are of another time; too long ones; those that are no text; more than a vehicle can carry out.
    """

    def __init__(self, sim: MultiRobotSimulationCore, make_link: MakeLink) -> None:
        """Raises StateError where no vehicles were offered, or where there is a connection already."""
        self.refused: Counter[str] = Counter()
        self._sim = sim
        self._desk: VehicleDesk = sim.get_manager("vda5050")
        if any(system.name == SYSTEM for system in sim.pipeline.systems):
            raise StateError("this simulation is connected to a broker already")
        self._pending: Counter[str] = Counter()
        self._lock = Lock()
        self._told: list[VehicleIdentity] = []
        self._conditions = -1
        self._boots: dict[str, int] = {}
        """How often vehicles were switched on again, of those that connected since."""
        self.link = make_link(self._receive, self._connected)
        self._silent: frozenset[str] = frozenset()
        self._outbox = VehicleOutbox(self._desk, sim.world, self._send)
        sim.pipeline.add(System(SYSTEM, Phase.OBSERVE, self._publish))
        sim.events.on("closed", self.close)
        self._desk.link_figures = self._link_figures
        self._tell_roster()

    def close(self) -> None:
        """Say that all vehicles go, and disconnect; may be called again."""
        if any(system.name == SYSTEM for system in self._sim.pipeline.systems):
            self._sim.pipeline.remove(SYSTEM)
            self._sim.events.off("closed", self.close)
            self._desk.link_figures = dict
            self.link.close()

    def __enter__(self) -> VehicleSession:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def figures(self) -> dict[str, Any]:
        """Return what came in and went out: see VehicleDesk.figures; with what was not let in, and not sent."""
        return {**self._desk.figures(), **self._link_figures()}

    def _link_figures(self) -> dict[str, Any]:
        return {"online": self.link.online, "not_let_in": dict(self.refused), "not_sent": dict(self.link.lost)}

    # ---- in the step -------------------------------------------------------------------------------------------------

    def _publish(self, dt: float) -> None:
        self._tell_roster()
        self._tell_silence()
        self._tell_restarts()
        self._outbox.publish(dt)

    def _send(self, bodies: list[VehicleBody]) -> None:
        """Send messages; those of vehicles whose radio is disturbed when it brings them."""
        world = self._sim.world
        if world.radio is not None:
            rows = np.array([world.index.row_named(body.identity.name) for body in bodies])
            apart = world.radio.disturbed(rows).tolist()
            for body, row, late in zip(bodies, rows.tolist(), apart, strict=True):
                if late:
                    # Twice: now for its header, and when it comes.
                    item = [LateBody(body)]
                    self.link.send(item)
                    world.radio.send(row, "mqtt", partial(self.link.send, item))
            bodies = [body for body, late in zip(bodies, apart, strict=True) if not late]
        self.link.send(bodies)

    def _tell_silence(self) -> None:
        conditions = conditions_of(self._sim.world)
        if conditions is None or not (self._silent or conditions.silent.any()):
            return
        vehicles = self._desk.vehicles
        silent = frozenset(one.identity.prefix for one in vehicles if conditions.silent[one.row])
        if silent != self._silent:
            self.link.silence(silent)
            for vehicle in vehicles:
                # Its master control may have missed something.
                vehicle.changed |= vehicle.identity.prefix in self._silent - silent
            self._silent = silent

    def _tell_restarts(self) -> None:
        conditions = conditions_of(self._sim.world)
        if conditions is None or conditions.version == self._conditions:
            return
        self._conditions = conditions.version
        for vehicle in self._desk.vehicles:
            prefix, boots = vehicle.identity.prefix, int(conditions.boots[vehicle.row])
            if boots != self._boots.get(prefix, 0) and not vehicle.silent:
                self._boots[prefix] = boots
                self.link.restart(prefix)

    def _tell_roster(self) -> None:
        identities = [vehicle.identity for vehicle in self._desk.vehicles]
        if identities != self._told:
            self._told = identities
            self.link.keep(identities)

    # ---- in the thread of the link -----------------------------------------------------------------------------------

    def _connected(self, identity: VehicleIdentity) -> None:
        # What was sent before may have been lost: factsheet and state are told anew.
        for pilot in list(self._desk.pilots.values()):
            if pilot.vehicle.identity == identity:
                pilot.vehicle.wants_factsheet = pilot.vehicle.changed = True

    def _receive(self, identity: VehicleIdentity, topic: str, payload: bytes, retained: bool) -> None:
        """Put a message into the inbox of the simulation, or count why it is refused; called by the link's thread."""
        reason, text = self._check(identity, topic, payload, retained)
        if reason:
            self.refused[reason] += 1
            return
        command = VehicleMessage(
            name=identity.name, topic=topic, text=text, received=self.link.now(), source=f"vda5050 {topic}"
        )
        with self._lock:
            self._pending[identity.prefix] += 1
        future = self._sim.inbox.put(command.from_outside())
        future.add_done_callback(partial(self._carried_out, identity.prefix))

    def _check(self, identity: VehicleIdentity, topic: str, payload: bytes, retained: bool) -> tuple[str, str]:
        """Return why a message is not let in, or "" and its text."""
        if topic not in VERSIONS[identity.version].incoming:
            # Names of others are not counted one by one: a broker may make up as many as it likes.
            return "of another topic", ""
        if retained:
            # The standard keeps no orders: this one is of an earlier run, and would move robots now.
            return "retained", ""
        if len(payload) > LONGEST_TEXT:
            return "too long", ""
        if self._pending[identity.prefix] >= MOST_PENDING:
            return "too many at once", ""
        try:
            return "", payload.decode("utf-8")
        except UnicodeDecodeError:
            return "not UTF-8", ""

    def _carried_out(self, prefix: str, future: Future[CommandAck]) -> None:
        # In the thread of the simulation: a count that is lost would shut the vehicle out for ever.
        with self._lock:
            self._pending[prefix] -= 1

"""VehicleSession: connects the vehicles of a simulation to a broker, and lets in what comes from there."""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import Future
from functools import partial
from threading import Lock
from typing import Any

from fleet_sim.core.acknowledgement import CommandAck
from fleet_sim.core.pipeline import Phase, System
from fleet_sim.errors import StateError
from fleet_sim.gate.data import LONGEST_TEXT
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.vda5050.commands import VehicleMessage
from fleet_sim.vda5050.desk import VehicleDesk
from fleet_sim.vda5050.link.address import BrokerAddress
from fleet_sim.vda5050.link.mqtt_link import MqttLink
from fleet_sim.vda5050.outbox import VehicleOutbox
from fleet_sim.vda5050.vehicle import VehicleIdentity
from fleet_sim.vda5050.wire.versions import VERSIONS

MOST_PENDING = 50
"""Messages to one vehicle that are not carried out yet; more are dropped."""
SYSTEM = "vda5050_outbox"


class VehicleSession:
    """The connection of a simulation with a master control, until `close` or the end of the simulation.

    `refused` counts what was not let in: messages of topics that the vehicle has not subscribed to; retained ones,
    which are of another time; too long ones; those that are no text; more than a vehicle can carry out.
    """

    def __init__(self, sim: MultiRobotSimulationCore, address: BrokerAddress) -> None:
        """Raises StateError where no vehicles were offered, and MissingDependencyError without paho-mqtt."""
        self.refused: Counter[str] = Counter()
        self._sim = sim
        self._desk: VehicleDesk = sim.get_manager("vda5050")
        if any(system.name == SYSTEM for system in sim.pipeline.systems):
            raise StateError("this simulation is connected to a broker already")
        self._pending: Counter[str] = Counter()
        self._lock = Lock()
        self._told: list[VehicleIdentity] = []
        self.link = MqttLink(address, self._receive, self._connected)
        self._outbox = VehicleOutbox(self._desk, sim.world, self.link.send)
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
        self._outbox.publish(dt)

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
            name=identity.name, topic=topic, text=text, received=time.time(), source=f"vda5050 {topic}"
        )
        with self._lock:
            self._pending[identity.prefix] += 1
        future = self._sim.inbox.put(command)
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


def connect_vehicles(sim: MultiRobotSimulationCore, url: str, *, ca: str | None = None) -> VehicleSession:
    """Connect the vehicles of `sim` to the broker at `url`, mqtt:// or mqtts://[user[:password]@]host[:port].

    `ca` is a file of certificates that sign the broker's. There need not be a broker yet. Raises ConfigError for a
    wrong URL, UnknownNameError where no vehicles were offered (a section `vda5050`, or `offer_vehicles`).
    """
    return VehicleSession(sim, BrokerAddress.parse(url, ca))

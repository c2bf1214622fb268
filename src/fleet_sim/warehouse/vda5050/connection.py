"""Vehicles and the MQTT broker: the connection of each, in a thread of its own, with last will and reconnects."""

from __future__ import annotations

import contextlib
import logging
import selectors
import socket
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from fleet_sim.base.errors import of_extra
from fleet_sim.base.files import to_read
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.warehouse.vda5050.address import BrokerAddress
from fleet_sim.warehouse.vda5050.reports import VehicleBody
from fleet_sim.warehouse.vda5050.session import LateBody, MessageHeads, VehicleSession
from fleet_sim.warehouse.vda5050.vehicle import VehicleIdentity

with of_extra("paho.mqtt", "vda5050", "a connection to an MQTT broker"):
    from paho.mqtt import client as mqtt
    from paho.mqtt.enums import CallbackAPIVersion

KEEP_ALIVE = 15
"""Between signs of life, in s: what the standard recommends."""
CONNECT_TIMEOUT = 3.0
LEFT_AFTER = 0.5
"""Where a link closes while it waits for a broker that does not answer, it is left to end by itself after so many s."""

Received = Callable[["VehicleConnection", str, bytes, bool], object]


class VehicleConnection:
    """One client of the broker. All methods are for the thread of the link."""

    def __init__(
        self,
        identity: VehicleIdentity,
        address: BrokerAddress,
        received: Received,
        changed: Callable[[VehicleConnection], object],
    ) -> None:
        self.identity, self.address = identity, address
        self.heads = MessageHeads(identity)
        self.is_online = False
        self.wants_connection = True
        self.refusal = ""
        """Why the broker did not take the latest connection."""
        self.latest: tuple[float, str] = (0.0, "")
        """When the latest state was sent, on a clock that nobody sets, and its body."""
        self._changed = changed
        self.client = client = mqtt.Client(
            CallbackAPIVersion.VERSION2, client_id=identity.prefix.replace("/", "-"), reconnect_on_failure=False
        )
        client.connect_timeout = CONNECT_TIMEOUT
        if address.user is not None:
            client.username_pw_set(address.user, address.password)
        if address.tls:
            client.tls_set(ca_certs=address.ca and str(to_read(address.ca)))
        client.connect_async(address.host, address.port, KEEP_ALIVE)
        client.on_connect = self._on_connect
        client.on_disconnect = self._on_disconnect
        self._received = received
        client.on_message = self._on_message

    def connect(self) -> None:
        """Begin to connect; raises OSError where there is no broker. The last will is set anew each time."""
        will = self.heads.connection("CONNECTIONBROKEN", time.time())
        self.client.will_set(f"{self.identity.prefix}/connection", will, qos=1, retain=True)
        self.client.reconnect()

    def restart(self) -> None:
        """Break the connection, for one that counts its messages anew; the broker sends the last will."""
        self.heads.restart()
        # What is sent before the new connection is there would be counted, and lost.
        self.is_online, self.latest = False, (0.0, "")
        sock = self.client.socket()
        if isinstance(sock, socket.socket):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Say that the vehicle goes, and disconnect."""
        self.wants_connection = False
        if self.is_online:
            self.publish("connection", self.heads.connection("OFFLINE", time.time()))
        if self.client.socket() is not None:
            # Also where the broker has not answered yet: it closes the socket.
            self.client.disconnect()

    def send(self, topic: str, body: str, now: float) -> bool:
        """Publish a message; return whether the connection took it."""
        if not self.is_online or (topic == "visualization" and self.client.want_write()):
            # A connection that is behind gets no more of what is only looked at.
            return False
        if topic == "state":
            self.latest = time.monotonic(), body
        return self.publish(topic, self.heads.compose(topic, body, now))

    def publish(self, topic: str, payload: str) -> bool:
        """Publish a message that was composed; return whether the connection took it."""
        if not self.is_online:
            return False
        lasting = topic in ("connection", "factsheet")
        info = self.client.publish(
            f"{self.identity.prefix}/{topic}", payload, qos=int(topic == "connection"), retain=lasting
        )
        return info.rc == mqtt.MQTT_ERR_SUCCESS

    # ---- callbacks of the client -------------------------------------------------------------------------------------

    def _on_message(self, client: mqtt.Client, data: Any, message: mqtt.MQTTMessage) -> None:
        try:
            topic = message.topic
        except UnicodeDecodeError:
            # No topic that was subscribed to; the broker alone can send it.
            topic = ""
        self._received(self, topic.removeprefix(f"{self.identity.prefix}/"), bytes(message.payload), message.retain)

    def _on_connect(self, client: mqtt.Client, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        if reason.is_failure:
            self.refusal = str(reason)
            return
        self.is_online, self.refusal = True, ""
        client.subscribe([(f"{self.identity.prefix}/{topic}", 0) for topic in self.heads.version.incoming])
        self.publish("connection", self.heads.connection("ONLINE", time.time()))
        self._changed(self)

    def _on_disconnect(self, client: mqtt.Client, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        # Also after a refused connection.
        self.is_online = False
        self._changed(self)


# MqttLink: the thread that holds the connections of all vehicles, with real reconnects.


logger = logging.getLogger(__name__)

LONGEST_SILENCE = 29.0
"""Between two states in wall time, in s: also while the simulation is paused."""
FIRST_RETRY, LAST_RETRY = 0.5, 15.0
"""Between two looks for a broker that is gone, in s."""
AT_ONCE = 50
"""Connections that are begun in one round, so that the others are not kept waiting."""
MOST_WAITING = 100_000
"""Messages to be sent; of more, the oldest are dropped."""


class MqttLink:
    """Sends messages of vehicles, and hands over those for them: `received(identity, topic, payload, retained)`.

    `connected(identity)` is called when a vehicle is online. Both are called in the thread of the link. `lost` counts
    messages that were dropped, by reason.
    """

    def __init__(
        self,
        address: BrokerAddress,
        received: Callable[[VehicleIdentity, str, bytes, bool], object],
        connected: Callable[[VehicleIdentity], object],
    ) -> None:
        self.address = address
        self.lost: Counter[str] = Counter()
        self._received, self._connected = received, connected
        self._connections: dict[str, VehicleConnection] = {}
        self._waiting: deque[VehicleBody | LateBody | list[VehicleIdentity] | frozenset[str] | str] = deque()
        self._silent: frozenset[str] = frozenset()
        self._selector = selectors.DefaultSelector()
        self._registered: dict[int, tuple[Any, VehicleConnection, int]] = {}
        self._wake_reader, self._wake_writer = socket.socketpair()
        self._wake_reader.setblocking(False)
        self._wake_writer.setblocking(False)
        self._selector.register(self._wake_reader, selectors.EVENT_READ, None)
        self._retry_at, self._retry_after = 0.0, FIRST_RETRY
        self._told, self._care_at = False, 0.0
        self._closing = threading.Event()
        self._is_connecting = False
        """While the thread may wait for an answer to TCP or TLS, which nothing but its timeout ends."""
        self._online = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="vda5050", daemon=True)
        self._thread.start()

    # ---- from any thread ---------------------------------------------------------------------------------------------

    def now(self) -> float:
        """Return the wall time of its messages, in s since 1970."""
        return time.time()

    def send(self, bodies: Sequence[VehicleBody | LateBody]) -> None:
        """Send messages, as soon as their vehicles are online; those of others are dropped.

        A LateBody is only written down at first; it is published each time that it is sent after that.
        """
        if len(self._waiting) + len(bodies) > MOST_WAITING:
            self.lost["too many at once"] += len(bodies)
            return
        self._waiting.extend(bodies)
        self._wake()

    def keep(self, identities: list[VehicleIdentity]) -> None:
        """Connect these vehicles, and disconnect all others."""
        self._waiting.append(list(identities))
        self._wake()

    def silence(self, prefixes: frozenset[str]) -> None:
        """Send nothing for these vehicles, and only for these, from now on: no signs of life, no attempt to connect.

        Their broker gives them up in its own time. Those that come back are connected at once.
        """
        self._waiting.append(prefixes)
        self._wake()

    def restart(self, prefix: str) -> None:
        """Break the connection of a vehicle, and make it anew: it was switched off and on."""
        self._waiting.append(prefix)
        self._wake()

    def wait_online(self, count: int, timeout: float) -> bool:
        """Wait until `count` vehicles are online; return whether they are."""
        with self._online:
            return self._online.wait_for(lambda: self.online >= count, timeout)

    @property
    def online(self) -> int:
        """How many vehicles are connected."""
        return sum(connection.is_online for connection in list(self._connections.values()))

    def close(self) -> None:
        """Say that all vehicles go, disconnect them, and end the thread, unless it waits for a broker just now."""
        self._closing.set()
        self._wake()
        self._thread.join(timeout=LEFT_AFTER)
        if not self._is_connecting:
            self._thread.join(timeout=10.0)

    def _wake(self) -> None:
        # A full pipe wakes the thread as well.
        with contextlib.suppress(OSError):
            self._wake_writer.send(b"x")

    # ---- the thread --------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        """Serve all connections in one thread until the link is closed, then say goodbye for every vehicle."""
        while not self._closing.is_set():
            self._connect_some(time.monotonic())
            for key, events in self._selector.select(self._pause()):
                if key.data is None:
                    with contextlib.suppress(OSError):
                        self._wake_reader.recv(65536)
                else:
                    self._serve(key.data, events)
            self._send_waiting()
            self._look_after()
        self._say_goodbye()

    def _pause(self) -> float:
        """Return how long the thread may sleep, in s."""
        if all(one.is_online or prefix in self._silent for prefix, one in self._connections.items()):
            return 1.0
        return min(max(self._retry_at - time.monotonic(), 0.01), 1.0)

    def _connect_some(self, now: float) -> None:
        """Connect vehicles that are not; where there is no broker, look for it with one of them from time to time."""
        if now < self._retry_at:
            return
        offline = [
            one
            for prefix, one in self._connections.items()
            if one.wants_connection and one.client.socket() is None and prefix not in self._silent
        ]
        for connection in offline[:AT_ONCE]:
            self._is_connecting = True
            try:
                if self._closing.is_set():
                    return
                connection.connect()
            except OSError as error:
                self._back_off(str(error) or type(error).__name__)
                return
            finally:
                self._is_connecting = False
            self._register(connection)

    def _back_off(self, reason: str) -> None:
        """Wait longer before the next attempt to connect, up to LAST_RETRY s; the reason is logged once."""
        if time.monotonic() < self._retry_at:
            # All connections break when a broker goes: that is one reason to wait.
            return
        if not self._told:
            logger.warning("VDA 5050: no connection to %s (%s); trying again", self.address, reason)
            self._told = True
        self._retry_at = time.monotonic() + self._retry_after
        self._retry_after = min(2.0 * self._retry_after, LAST_RETRY)

    def _serve(self, connection: VehicleConnection, events: int) -> None:
        """Read and write what a connection is ready for; one that fails is closed, and the others go on."""
        client = connection.client
        try:
            if events & selectors.EVENT_READ:
                client.loop_read()
                # What TLS has read already is not seen by the selector.
                while (sock := client.socket()) is not None and getattr(sock, "pending", int)() > 0:
                    client.loop_read()
            if events & selectors.EVENT_WRITE and client.socket() is not None:
                client.loop_write()
        except Exception:
            # What a broker sends must not end the thread, and with it the connections of all other vehicles.
            self._fail(connection)
        self._register(connection)

    def _fail(self, connection: VehicleConnection) -> None:
        """Break a connection on which something raised; it is made anew as one that the broker closed."""
        if not self.lost["broken by a fault"]:
            logger.exception("VDA 5050: %s: the connection is broken and made anew", connection.identity.prefix)
        self.lost["broken by a fault"] += 1
        sock = connection.client.socket()
        if isinstance(sock, socket.socket):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def _register(self, connection: VehicleConnection) -> None:
        """Watch the socket of a connection for what it waits for; forget the one it had."""
        sock, key = connection.client.socket(), id(connection)
        known = self._registered.get(key)
        writes = connection.client.want_write() and connection.identity.prefix not in self._silent
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if writes else 0)
        if known is not None and known[0] is sock and known[2] == events:
            return
        if known is not None and known[0] is sock:
            self._selector.modify(sock, events, connection)
        else:
            if known is not None:
                with contextlib.suppress(KeyError, ValueError):
                    self._selector.unregister(known[0])
                del self._registered[key]
            if sock is None:
                return
            self._selector.register(sock, events, connection)
        self._registered[key] = sock, connection, events

    def _send_waiting(self) -> None:
        """Hand the waiting messages to their connections, oldest first; those without one are counted in `lost`."""
        now = time.time()
        for _ in range(len(self._waiting)):
            item = self._waiting.popleft()
            if isinstance(item, list):
                self._keep_only(item)
                continue
            if isinstance(item, frozenset):
                self._set_silent(item)
                continue
            if isinstance(item, str):
                if item in self._connections:
                    self._connections[item].restart()
                continue
            body = item.body if isinstance(item, LateBody) else item
            connection = self._connections.get(body.identity.prefix)
            if connection is None:
                sent = False
            elif isinstance(item, VehicleBody):
                sent = body.identity.prefix not in self._silent and connection.send(body.topic, body.text, now)
            elif item.payload is None:
                item.payload, sent = connection.heads.compose(body.topic, body.text, now), True
            else:
                sent = connection.publish(body.topic, item.payload)
            if not sent:
                self.lost[f"{body.topic}: not connected, or behind"] += 1
            if connection is not None:
                # Sending may have closed the socket, whose number the next one of another vehicle may have.
                self._register(connection)

    def _keep_only(self, identities: list[VehicleIdentity]) -> None:
        """Close the connections of vehicles that are not in `identities`, and make those that are missing."""
        wanted = {identity.prefix: identity for identity in identities}
        for prefix in [prefix for prefix in self._connections if prefix not in wanted]:
            connection = self._connections.pop(prefix)
            connection.close()
            self._drain(connection)
        for prefix, identity in wanted.items():
            if prefix not in self._connections:
                self._connections[prefix] = VehicleConnection(identity, self.address, self._on_message, self._on_change)

    def _set_silent(self, prefixes: frozenset[str]) -> None:
        back = self._silent - prefixes
        self._silent = prefixes
        for prefix in back & self._connections.keys():
            connection = self._connections[prefix]
            if connection.client.socket() is None:
                # Nothing is wrong with the broker.
                self._retry_at = 0.0
            else:
                connection.client.loop_misc()
            self._register(connection)

    def _look_after(self) -> None:
        """Keep connections alive, and repeat states of vehicles that were silent for long; once a second."""
        now = time.monotonic()
        if now < self._care_at:
            return
        self._care_at = now + 1.0
        for connection in self._connections.values():
            if connection.client.socket() is not None and connection.identity.prefix not in self._silent:
                connection.client.loop_misc()
                sent, body = connection.latest
                if connection.is_online and body and now - sent > LONGEST_SILENCE:
                    connection.send("state", body, time.time())
            self._register(connection)

    def _say_goodbye(self) -> None:
        for connection in self._connections.values():
            connection.close()
        for connection in self._connections.values():
            self._drain(connection)
        self._selector.close()
        self._wake_reader.close()
        self._wake_writer.close()

    def _drain(self, connection: VehicleConnection) -> None:
        """Send what a closed connection still has to send."""
        end = time.monotonic() + 2.0
        while connection.client.want_write() and connection.client.socket() is not None and time.monotonic() < end:
            connection.client.loop_write()
        self._register(connection)

    # ---- callbacks of connections ------------------------------------------------------------------------------------

    def _on_message(self, connection: VehicleConnection, topic: str, payload: bytes, retained: bool) -> None:
        self._received(connection.identity, topic, payload, retained)

    def _on_change(self, connection: VehicleConnection) -> None:
        if connection.is_online:
            self._retry_after, self._told = FIRST_RETRY, False
            self._connected(connection.identity)
        elif connection.wants_connection and connection.identity.prefix not in self._silent:
            self._back_off(connection.refusal or "the broker closed the connection")
        with self._online:
            self._online.notify_all()


def connect_vehicles(sim: MultiRobotSimulationCore, url: str, *, ca: str | None = None) -> VehicleSession:
    """Connect the vehicles of `sim` to the broker at `url`, mqtt:// or mqtts://[user[:password]@]host[:port].

    `ca` is a file of certificates that sign the broker's. There need not be a broker yet. Raises ConfigError for a
    wrong URL, UnknownNameError where no vehicles were offered (a section `vda5050`, or `offer_vehicles`).
    """
    return VehicleSession(sim, partial(MqttLink, BrokerAddress.parse(url, ca)))

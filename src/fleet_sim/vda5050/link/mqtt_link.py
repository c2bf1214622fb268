"""MqttLink: the thread that holds the connections of all vehicles, with real reconnects."""

from __future__ import annotations

import contextlib
import logging
import selectors
import socket
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

from fleet_sim.vda5050.link.address import BrokerAddress
from fleet_sim.vda5050.link.vehicle_connection import VehicleConnection
from fleet_sim.vda5050.outbox import VehicleBody
from fleet_sim.vda5050.vehicle import VehicleIdentity

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
        self._waiting: deque[VehicleBody | list[VehicleIdentity]] = deque()
        self._selector = selectors.DefaultSelector()
        self._registered: dict[int, tuple[Any, VehicleConnection, int]] = {}
        self._wake_reader, self._wake_writer = socket.socketpair()
        self._wake_reader.setblocking(False)
        self._wake_writer.setblocking(False)
        self._selector.register(self._wake_reader, selectors.EVENT_READ, None)
        self._retry_at, self._retry_after = 0.0, FIRST_RETRY
        self._told, self._care_at = False, 0.0
        self._closing = threading.Event()
        self._online = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="vda5050", daemon=True)
        self._thread.start()

    # ---- from any thread ---------------------------------------------------------------------------------------------

    def send(self, bodies: list[VehicleBody]) -> None:
        """Send messages, as soon as their vehicles are online; those of others are dropped."""
        if len(self._waiting) + len(bodies) > MOST_WAITING:
            self.lost["too many at once"] += len(bodies)
            return
        self._waiting.extend(bodies)
        self._wake()

    def keep(self, identities: list[VehicleIdentity]) -> None:
        """Connect these vehicles, and disconnect all others."""
        self._waiting.append(list(identities))
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
        """Say that all vehicles go, disconnect them, and end the thread."""
        self._closing.set()
        self._wake()
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
        if all(connection.is_online for connection in self._connections.values()):
            return 1.0
        return min(max(self._retry_at - time.monotonic(), 0.01), 1.0)

    def _connect_some(self, now: float) -> None:
        """Connect vehicles that are not; where there is no broker, look for it with one of them from time to time."""
        if now < self._retry_at:
            return
        offline = [one for one in self._connections.values() if one.wants_connection and one.client.socket() is None]
        for connection in offline[:AT_ONCE]:
            try:
                connection.connect()
            except OSError as error:
                self._back_off(str(error) or type(error).__name__)
                return
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
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if connection.client.want_write() else 0)
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
            connection = self._connections.get(item.identity.prefix)
            if connection is None or not connection.send(item.topic, item.text, now):
                self.lost[f"{item.topic}: not connected, or behind"] += 1
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

    def _look_after(self) -> None:
        """Keep connections alive, and repeat states of vehicles that were silent for long; once a second."""
        now = time.monotonic()
        if now < self._care_at:
            return
        self._care_at = now + 1.0
        for connection in self._connections.values():
            if connection.client.socket() is not None:
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
        elif connection.wants_connection:
            self._back_off(connection.refusal or "the broker closed the connection")
        with self._online:
            self._online.notify_all()

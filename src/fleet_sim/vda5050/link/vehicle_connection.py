"""VehicleConnection: the connection of one vehicle to the broker, with its last will and numbered messages."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from fleet_sim.errors import missing_extra
from fleet_sim.vda5050.link.address import BrokerAddress
from fleet_sim.vda5050.vehicle import VehicleIdentity
from fleet_sim.vda5050.wire.versions import VERSIONS

try:
    from paho.mqtt import client as mqtt
    from paho.mqtt.enums import CallbackAPIVersion
except ImportError as error:
    raise missing_extra("paho.mqtt", "vda5050", "a connection to an MQTT broker") from error

KEEP_ALIVE = 15
"""Between signs of life, in s: what the standard recommends."""
CONNECT_TIMEOUT = 3.0

Received = Callable[["VehicleConnection", str, bytes, bool], object]


def timestamp(now: float) -> str:
    """Return a wall time, in s since 1970, as the standard writes it."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03d}Z"


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
        self.version = VERSIONS[identity.version]
        self.is_online = False
        self.wants_connection = True
        self.refusal = ""
        """Why the broker did not take the latest connection."""
        self.latest: tuple[float, str] = (0.0, "")
        """When the latest state was sent, on a clock that nobody sets, and its body."""
        self._numbers: Counter[str] = Counter()
        self._tail = json.dumps(
            {
                "version": self.version.number,
                "manufacturer": identity.manufacturer,
                "serialNumber": identity.serial,
            },
            separators=(",", ":"),
        )[1:-1]
        self._changed = changed
        self.client = client = mqtt.Client(
            CallbackAPIVersion.VERSION2, client_id=identity.prefix.replace("/", "-"), reconnect_on_failure=False
        )
        client.connect_timeout = CONNECT_TIMEOUT
        if address.user is not None:
            client.username_pw_set(address.user, address.password)
        if address.tls:
            client.tls_set(ca_certs=address.ca)
        client.connect_async(address.host, address.port, KEEP_ALIVE)
        client.on_connect = self._on_connect
        client.on_disconnect = self._on_disconnect
        self._received = received
        client.on_message = self._on_message

    def connect(self) -> None:
        """Begin to connect; raises OSError where there is no broker. The last will is set anew each time."""
        will = self._compose("connection", self._connection("CONNECTIONBROKEN"), time.time())
        self.client.will_set(f"{self.identity.prefix}/connection", will, qos=1, retain=True)
        self.client.reconnect()

    def close(self) -> None:
        """Say that the vehicle goes, and disconnect."""
        self.wants_connection = False
        if self.is_online:
            self.send("connection", self._connection("OFFLINE"), time.time())
        if self.client.socket() is not None:
            # Also where the broker has not answered yet: it closes the socket.
            self.client.disconnect()

    def send(self, topic: str, body: str, now: float) -> bool:
        """Publish a message; return whether the connection took it."""
        if not self.is_online or (topic == "visualization" and self.client.want_write()):
            # A connection that is behind gets no more of what is only looked at.
            return False
        lasting = topic in ("connection", "factsheet")
        payload = self._compose(topic, body, now)
        if topic == "state":
            self.latest = time.monotonic(), body
        info = self.client.publish(
            f"{self.identity.prefix}/{topic}", payload, qos=int(topic == "connection"), retain=lasting
        )
        return info.rc == mqtt.MQTT_ERR_SUCCESS

    def _compose(self, topic: str, body: str, now: float) -> str:
        number = self._numbers[topic]
        self._numbers[topic] = (number + 1) % 2**32
        head = f'{{"headerId":{number},"timestamp":"{timestamp(now)}",{self._tail},'
        if topic == "visualization" and self.version.is_third:
            head += f'"referenceStateHeaderId":{max(self._numbers["state"] - 1, 0)},'
        return head + body

    def _connection(self, state: str) -> str:
        written = self.version.connection.fields["connectionState"].kind.write(state)
        return f'"connectionState":"{written}"}}'

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
        client.subscribe([(f"{self.identity.prefix}/{topic}", 0) for topic in self.version.incoming])
        self.send("connection", self._connection("ONLINE"), time.time())
        self._changed(self)

    def _on_disconnect(self, client: mqtt.Client, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        # Also after a refused connection.
        self.is_online = False
        self._changed(self)

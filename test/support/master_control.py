"""A master control for tests: sends orders and instant actions, and waits for what vehicles tell."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

from paho.mqtt import client as mqtt
from standard_schemas import check_message

from fleet_sim.warehouse.vda5050.messages import VERSIONS, WireVersion

TIMEOUT = 60.0


class MasterControl:
    """Listens to all vehicles of an interface. Every message is checked against the tables of its version."""

    def __init__(self, port: int, version: str = "2.1", interface: str = "uagv", maker: str = "fleet_sim") -> None:
        self.version: WireVersion = VERSIONS[version]
        self.messages: list[tuple[str, str, dict[str, Any]]] = []
        self._forgotten: list[tuple[str, str, dict[str, Any]]] = []
        self._prefix, self._maker = f"{interface}/{self.version.topic}/{maker}", maker
        self._changed, self._subscribed = threading.Condition(), threading.Event()
        self.client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
        self.client.on_message = self._note
        self.client.on_connect = lambda client, *_: client.subscribe(f"{self._prefix}/#")
        self.client.on_subscribe = lambda *_: self._subscribed.set()
        self.client.connect("127.0.0.1", port)
        self.client.loop_start()
        assert self._subscribed.wait(TIMEOUT)

    def __enter__(self) -> MasterControl:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.client.disconnect()
        self.client.loop_stop()
        if kind is None:
            for _serial, topic, message in [*self._forgotten, *self.messages]:
                check_message(self.version.number, topic, message)

    def _note(self, client: mqtt.Client, data: object, message: mqtt.MQTTMessage) -> None:
        _, _, _, serial, topic = message.topic.split("/")
        if topic in self.version.incoming:
            return
        with self._changed:
            self.messages.append((serial, topic, json.loads(message.payload)))
            self._changed.notify_all()

    # ---- sending -----------------------------------------------------------------------------------------------------

    def header(self, serial: str) -> dict[str, Any]:
        """The header of a message to a vehicle."""
        return header(self.version.number, self._maker, serial)

    def publish(self, serial: str, topic: str, payload: bytes | str, *, retain: bool = False) -> None:
        """Send any bytes to a topic of a vehicle."""
        self.client.publish(f"{self._prefix}/{serial}/{topic}", payload, qos=1, retain=retain).wait_for_publish(TIMEOUT)

    def order(self, serial: str, order: dict[str, Any]) -> None:
        """Send an order."""
        self.publish(serial, "order", json.dumps(self.header(serial) | order))

    def instant(self, serial: str, kind: str, action_id: str, **parameters: Any) -> None:
        """Send an instant action."""
        action = {
            "actionType": kind,
            "actionId": action_id,
            "blockingType": "NONE",
            "actionParameters": [{"key": key, "value": value} for key, value in parameters.items()],
        }
        self.publish(serial, "instantActions", json.dumps(self.header(serial) | {"actions": [action]}))

    # ---- waiting -----------------------------------------------------------------------------------------------------

    def wait(self, serial: str, topic: str, wanted: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        """Wait for a message of a vehicle that is wanted, also one that came before; return it."""
        seen = 0

        def found() -> dict[str, Any] | None:
            nonlocal seen
            fresh, seen = self.messages[seen:], len(self.messages)
            for whose, what, message in fresh:
                if (whose, what) == (serial, topic) and wanted(message):
                    return message
            return None

        with self._changed:
            result: list[dict[str, Any]] = []
            good = self._changed.wait_for(lambda: bool((one := found()) and not result.append(one)), TIMEOUT)
            assert good, f"no such {topic} of {serial}; the last was {self.last(serial, topic)}"
            return result[0]

    def state(self, serial: str, wanted: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        """Wait for a state that is wanted."""
        return self.wait(serial, "state", wanted)

    def forget(self) -> None:
        """Forget what came so far."""
        with self._changed:
            self._forgotten += self.messages
            self.messages.clear()

    def last(self, serial: str, topic: str) -> dict[str, Any] | None:
        """The latest message of a topic of a vehicle."""
        found = [message for whose, what, message in self.messages if (whose, what) == (serial, topic)]
        return found[-1] if found else None

    def check_all(self) -> int:
        """Check all messages so far against the tables; return how many there were."""
        shapes = {"state": self.version.state, "visualization": self.version.visualization}
        shapes |= {"connection": self.version.connection, "factsheet": self.version.factsheet}
        for _, topic, message in self.messages:
            shapes[topic].read(message)
        return len(self.messages)


def header(version: str, maker: str, serial: str) -> dict[str, Any]:
    """The header of a message to a vehicle, or from it."""
    return {
        "headerId": 1,
        "timestamp": "2026-01-01T00:00:00.00Z",
        "version": version,
        "manufacturer": maker,
        "serialNumber": serial,
    }


def node(index: int, x: float, y: float, *, released: bool = True, name: str = "", **other: Any) -> dict[str, Any]:
    """A node of an order; `actions` and fields of its position among `other`."""
    actions, map_id = other.pop("actions", []), other.pop("mapId", "map")
    return {
        "nodeId": name or f"n{index}",
        "sequenceId": 2 * index,
        "released": released,
        "nodePosition": {"x": x, "y": y, "mapId": map_id, **other},
        "actions": actions,
    }


def edge(index: int, *, released: bool = True, **other: Any) -> dict[str, Any]:
    """The edge after the node `index`."""
    return {"edgeId": f"e{index}", "sequenceId": 2 * index + 1, "released": released, "actions": [], **other}


def line(
    order_id: str, points: list[tuple[float, float]], *, update: int = 0, first: int = 0, base: int = 0, **other: Any
) -> dict[str, Any]:
    """An order along points, numbered from `first` on; the first `base` of them are released (0: all)."""
    count = len(points)
    released = base or count
    nodes = [node(first + i, x, y, released=i < released) for i, (x, y) in enumerate(points)]
    edges = []
    for i in range(count - 1):
        ends = {"startNodeId": f"n{first + i}", "endNodeId": f"n{first + i + 1}"}
        edges.append(edge(first + i, released=i + 1 < released, **ends))
    return {"orderId": order_id, "orderUpdateId": update, "nodes": nodes, "edges": edges, **other}


def action(kind: str, action_id: str, blocking: str = "HARD", **parameters: Any) -> dict[str, Any]:
    """An action of a node or an edge."""
    return {
        "actionType": kind,
        "actionId": action_id,
        "blockingType": blocking,
        "actionParameters": [{"key": key, "value": value} for key, value in parameters.items()],
    }


def status(message: dict[str, Any], action_id: str) -> str | None:
    """The status of an action in a state; None where it is not in it."""
    entries = [*message["actionStates"], *message.get("instantActionStates", [])]
    return next((entry["actionStatus"] for entry in entries if entry["actionId"] == action_id), None)


def errors(message: dict[str, Any]) -> list[str]:
    """The types of the errors in a state."""
    return [entry["errorType"] for entry in message["errors"]]

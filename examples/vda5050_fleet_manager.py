#!/usr/bin/env python3
"""A small master control by VDA 5050: sends each carrier to its load and back.

Run `fleet-sim run sites/vda5050.yaml --vda5050` first. Options: the broker's host and port.
"""

from __future__ import annotations

import argparse
import json
import threading
from typing import Any

from paho.mqtt import client as mqtt
from paho.mqtt.enums import CallbackAPIVersion

PREFIX, MAKER, VERSION = "uagv/v2/carriers", "carriers", "2.1.0"


def tour(serial: str, y: float) -> dict[str, Any]:
    """An order: to the load, pick it, back, drop it."""
    points = [(0.0, y), (10.0, y), (0.0, y)]
    kinds = [None, "pick", "drop"]
    nodes = [
        {
            "nodeId": f"{serial}-{index}",
            "sequenceId": 2 * index,
            "released": True,
            "nodePosition": {"x": x, "y": y, "mapId": "map"},
            "actions": []
            if kind is None
            else [{"actionType": kind, "actionId": f"{kind}-{serial}", "blockingType": "HARD"}],
        }
        for index, ((x, y), kind) in enumerate(zip(points, kinds, strict=True))
    ]
    edges = [
        {
            "edgeId": f"{serial}-edge-{index}",
            "sequenceId": 2 * index + 1,
            "released": True,
            "startNodeId": f"{serial}-{index}",
            "endNodeId": f"{serial}-{index + 1}",
            "maxSpeed": 1.2,
            "actions": [],
        }
        for index in range(2)
    ]
    return {"orderId": f"tour-{serial}", "orderUpdateId": 0, "nodes": nodes, "edges": edges}


class FleetManager:
    """Sends a tour to every carrier that comes online, and waits until all are back."""

    def __init__(self, carriers: int) -> None:
        self.waiting = {f"carrier_{index}" for index in range(carriers)}
        self.sent: set[str] = set()
        self.done = threading.Event()

    def on_message(self, client: mqtt.Client, data: object, message: mqtt.MQTTMessage) -> None:
        """Look at a message of a vehicle."""
        _, _, _, serial, topic = message.topic.split("/")
        content = json.loads(message.payload)
        if topic == "state" and serial in self.waiting:
            if serial not in self.sent:
                self.send(client, serial)
            elif content["orderId"] == f"tour-{serial}":
                self.look(serial, content)

    def send(self, client: mqtt.Client, serial: str) -> None:
        """Send a vehicle its order."""
        self.sent.add(serial)
        header = {"headerId": 0, "timestamp": "2026-01-01T00:00:00.00Z", "version": VERSION}
        order = header | {"manufacturer": MAKER, "serialNumber": serial} | tour(serial, 3.0 * int(serial[-1]))
        client.publish(f"{PREFIX}/{serial}/order", json.dumps(order))
        print(f"{serial}: sent")

    def look(self, serial: str, state: dict[str, Any]) -> None:
        """See whether a vehicle has done its order."""
        for error in state["errors"]:
            print(f"{serial}: {error['errorType']}: {error.get('errorDescription', '')}")
        statuses = {entry["actionStatus"] for entry in state["actionStates"]}
        if not state["nodeStates"] and statuses <= {"FINISHED", "FAILED"}:
            print(f"{serial}: done, its actions are {', '.join(sorted(statuses))}")
            self.waiting.discard(serial)
            if not self.waiting:
                self.done.set()


def main() -> None:
    """Drive the fleet of config/sites/vda5050.yaml."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="localhost")
    parser.add_argument("--port", type=int, default=1883)
    parser.add_argument("--carriers", type=int, default=6)
    args = parser.parse_args()
    manager = FleetManager(args.carriers)
    client = mqtt.Client(CallbackAPIVersion.VERSION2)
    client.on_message = manager.on_message
    client.on_connect = lambda client, *_: client.subscribe([(f"{PREFIX}/+/state", 0)])
    client.connect(args.host, args.port)
    client.loop_start()
    try:
        manager.done.wait()
    except KeyboardInterrupt:
        print("stopped by Ctrl-C")
    client.disconnect()
    client.loop_stop()


if __name__ == "__main__":
    main()

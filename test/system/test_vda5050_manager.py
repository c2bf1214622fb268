"""The VDA 5050 manager of the examples, as a program at a real broker: killed in the middle, it loses nothing."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from example import EXAMPLES
from mqtt_broker import TestBroker
from paho.mqtt import client as mqtt
from paho.mqtt.enums import CallbackAPIVersion
from vehicle_fleet import vehicle_fleet

pytestmark = pytest.mark.slow
RING = ["a", "b", "c", "d", "e", "f"]
PLACES = {name: [3.0 * (i if i < 3 else 5 - i), 3.0 * (i // 3)] for i, name in enumerate(RING)}
ORDERS = [("sa", "se"), ("sd", "sb"), ("se", "sd"), ("sb", "sa")]


def ring() -> dict[str, Any]:
    """A one-way ring of six nodes with a spur at each: stations and, at c and f, the homes of two vehicles."""
    nodes = PLACES | {f"s{name}": [x, -3.0 if y == 0.0 else 6.0] for name, (x, y) in PLACES.items()}
    edges = [[one, RING[(i + 1) % 6]] for i, one in enumerate(RING)]
    edges += [pair for name in RING for pair in ([name, f"s{name}"], [f"s{name}", name])]
    return {"map": "map", "nodes": nodes, "edges": edges, "stations": ["sa", "sb", "sd", "se"]}


def scenario(site: dict[str, Any]) -> dict[str, Any]:
    """Two vehicles at home, and a load for each order."""
    drive = {"type": "omni", "max_linear_vel": 1.5, "max_linear_accel": 1.0, "navigation_2d": True}
    shape = {"shape_type": "cylinder", "radius": 0.4, "height": 0.3}
    robots = [
        {"name": f"v{i}", "pose": [*site["nodes"][home], 0.15], "shape": shape, "controller": drive}
        for i, home in enumerate(("sc", "sf"))
    ]
    box = {"shape_type": "box", "half_extents": [0.1, 0.1, 0.1]}
    loads = [
        {"name": f"load{i}", "pose": [*site["nodes"][begin], 1.0], "shape": box, "collision_mode": "disabled"}
        for i, (begin, _) in enumerate(ORDERS)
    ]
    fleet = {"robots": "all", "version": 2.1, "manufacturer": "lab", "state_interval": 5}
    return {
        "simulation": {"timestep": 0.05, "monitor": False},
        "robots": robots,
        "objects": loads,
        "vda5050": {"fleets": [fleet]},
    }


@contextmanager
def manager(folder: Path, broker: TestBroker) -> Iterator[None]:
    """Run the manager with what it remembers, until it is killed."""
    program = [sys.executable, str(EXAMPLES / "managers" / "vda5050_manager.py"), str(folder / "site.json")]
    process = subprocess.Popen([*program, "--port", str(broker.port), "--storage", str(folder / "storage.json")])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def test_all_orders_end_although_the_manager_is_killed_while_loads_are_on_vehicles(tmp_path: Path) -> None:
    site = ring()
    about = {"manufacturer": "lab", "version": "2.1.0"}
    vehicles = [
        {"serial": f"v{i}", "prefix": f"uagv/v2/lab/v{i}", "start": home, **about}
        for i, home in enumerate(("sc", "sf"))
    ]
    (tmp_path / "site.json").write_text(json.dumps({"site": site, "vehicles": vehicles}))
    (tmp_path / "scenario.yaml").write_text(yaml.safe_dump(scenario(site)))
    ended: list[tuple[str, str]] = []
    listens, loaded, all_ended = threading.Event(), threading.Event(), threading.Event()

    def on_message(client: mqtt.Client, data: object, message: mqtt.MQTTMessage) -> None:
        content = json.loads(message.payload)
        if message.topic == "lab/reports":
            ended.append((content["id"], content["status"]))
            if len({order for order, _ in ended}) == len(ORDERS):
                all_ended.set()
        elif message.topic.endswith("instantActions"):
            # It asks for states when it has subscribed to all.
            listens.set()
        elif content["loads"]:
            loaded.set()

    broker = TestBroker()
    client = mqtt.Client(CallbackAPIVersion.VERSION2)
    client.on_message = on_message
    client.connect("127.0.0.1", broker.port)
    client.subscribe([("lab/reports", 1), ("uagv/v2/lab/+/state", 0), ("uagv/v2/lab/+/instantActions", 0)])
    client.loop_start()
    try:
        with vehicle_fleet(broker, str(tmp_path / "scenario.yaml"), 8):
            with manager(tmp_path, broker):
                assert listens.wait(60.0)
                for i, (begin, end) in enumerate(ORDERS):
                    order = {"do": "order", "id": f"o{i}", "load": f"load{i}", "from": begin, "to": end}
                    client.publish("lab/orders", json.dumps(order), qos=1)
                assert loaded.wait(120.0)
            with manager(tmp_path, broker):
                assert all_ended.wait(240.0), ended
    finally:
        client.disconnect()
        client.loop_stop()
        broker.stop()
    assert set(ended) == {(f"o{i}", "finished") for i in range(len(ORDERS))}

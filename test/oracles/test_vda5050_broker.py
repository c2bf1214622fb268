"""Headers of VDA 5050 messages, and who gets them, through a broker and a client of another package."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import pytest
from oracle_rows import holds

pytest.importorskip("paho.mqtt")

from master_control import line
from mqtt_broker import TestBroker
from paho.mqtt import client as mqtt
from vehicle_bench import VehicleBench, scenario

from fleet_sim.warehouse.vda5050.connection import connect_vehicles


class Listener:
    """Notes all messages of its subscription, with the wall time of each."""

    def __init__(self, port: int, topics: str) -> None:
        self.found: list[tuple[str, str, dict[str, Any], float]] = []
        self.client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
        self.client.on_message = self._note
        self.client.on_connect = lambda client, *_: client.subscribe(topics)
        subscribed = threading.Event()
        self.client.on_subscribe = lambda *_: subscribed.set()
        self.client.connect("127.0.0.1", port)
        self.client.loop_start()
        assert subscribed.wait(20.0)

    def _note(self, client: Any, data: Any, message: Any) -> None:
        *_, serial, topic = message.topic.split("/")
        if message.payload:
            self.found.append((serial, topic, json.loads(message.payload), time.time()))

    def close(self) -> None:
        """Listen no more."""
        self.client.disconnect()
        self.client.loop_stop()


def wait(step: Callable[[], object], wanted: Callable[[], object]) -> None:
    """Step until something is so; at most half a minute, for slow machines."""
    end = time.monotonic() + 30.0
    while not wanted():
        assert time.monotonic() < end
        step()
        time.sleep(0.002)


@pytest.mark.slow
@holds(
    "vda5050:connection.headerId",
    "vda5050:state.headerId",
    "vda5050:visualization.headerId",
    "vda5050:visualization.referenceStateHeaderId",
    fault="warehouse/vda5050/connection.py: the reference is the next state, not the latest one",
)
def test_headers_count_and_everybody_gets_what_he_asked_for() -> None:
    given = scenario("2.1", robots=2, simulation={"timestep": 0.05})
    given["vda5050"]["fleets"] = [
        {"robots": ["a"], "version": 2.1, "manufacturer": "first"},
        {"robots": ["b"], "version": 3.0, "manufacturer": "second", "visualization_rate": 10.0},
    ]
    bench, broker = VehicleBench(given), TestBroker()
    listeners = [Listener(broker.port, topics) for topics in ("uagv/v2/first/#", "uagv/v3/second/#")]
    session = connect_vehicles(bench.sim, f"mqtt://127.0.0.1:{broker.port}")
    try:
        wait(bench.sim.step_once, lambda: all(any(topic == "state" for _, topic, *_ in one.found) for one in listeners))
        # One that comes later gets what is retained, of its subscription only.
        listeners.append(Listener(broker.port, "uagv/v2/first/#"))
        bench.order(line("o", [(0.0, 5.0), (1.7, 5.9)]), "b")
        b, late = listeners[1:]
        wait(bench.sim.step_once, lambda: late.found and any(one[2].get("lastNodeId") == "n1" for one in b.found))
    finally:
        session.close()
        for listener in listeners:
            listener.close()
        broker.stop()
    assert [{serial for serial, *_ in one.found} for one in listeners] == [{"a"}, {"b"}, {"a"}]
    for listener in listeners[:2]:
        numbers: dict[str, list[int]] = {}
        for _, topic, message, now in listener.found:
            numbers.setdefault(topic, []).append(message["headerId"])
            stamp = datetime.strptime(message["timestamp"], "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc)
            assert 0.0 <= now - stamp.timestamp() + 0.01 < 30.0
            if topic == "visualization":
                assert message["referenceStateHeaderId"] == numbers["state"][-1]
        assert {"connection", "state", "factsheet"} <= numbers.keys()
        for topic, found in numbers.items():
            assert found == list(range(found[0], found[0] + len(found))), topic
    assert len([topic for _, topic, *_ in listeners[1].found if topic == "visualization"]) > 5

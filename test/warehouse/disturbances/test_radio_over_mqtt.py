"""The radio of vehicles at a real broker: outages end in the last will, and what comes late comes as it was sent."""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("paho.mqtt", reason="needs the extra vda5050")

from master_control import MasterControl, line
from mqtt_broker import MOSQUITTO, TestBroker
from vehicle_bench import VehicleBench, scenario

from fleet_sim.warehouse.vda5050 import VehicleSession, connect_vehicles
from fleet_sim.warehouse.vda5050 import connection as mqtt_link

LIMIT = 60.0
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")


@contextlib.contextmanager
def fleet(*disturbances: dict[str, Any]) -> Iterator[tuple[VehicleBench, VehicleSession, MasterControl]]:
    """Two vehicles at a broker, and their master control."""
    broker = TestBroker()
    bench = VehicleBench(scenario(robots=2, disturbances=[{"kind": "radio", **entry} for entry in disturbances]))
    try:
        with (
            connect_vehicles(bench.sim, f"mqtt://127.0.0.1:{broker.port}") as session,
            MasterControl(broker.port) as master,
        ):
            assert session.link.wait_online(2, LIMIT)
            yield bench, session, master
    finally:
        broker.stop()
        bench.sim.close()
        gc.collect()


def connections(master: MasterControl, serial: str) -> list[str]:
    """What was told of the connection of a vehicle, in order."""
    told = [message for whose, topic, message in master.messages if (whose, topic) == (serial, "connection")]
    return [message["connectionState"] for message in told]


def step_until(bench: VehicleBench, condition: Any) -> float:
    """Make steps of real length until `condition()`; return the seconds that it took."""
    begin = time.monotonic()
    while not condition():
        assert time.monotonic() < begin + LIMIT
        bench.sim.step_once()
        time.sleep(0.02)
    return time.monotonic() - begin


def wait(bench: VehicleBench, seconds: float) -> None:
    """Make steps for so long."""
    end = time.monotonic() + seconds
    step_until(bench, lambda: time.monotonic() > end)


@pytest.mark.skipif(MOSQUITTO is None, reason="the broker of the package does not watch the keep-alive")
def test_an_outage_ends_in_the_last_will_and_the_vehicle_comes_back_with_a_state(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mqtt_link, "KEEP_ALIVE", 1)
    with fleet() as (bench, session, master):
        step_until(bench, lambda: connections(master, "a") == connections(master, "b") == ["ONLINE"])
        disturbances = bench.sim.features.use("disturbances")
        name = disturbances.begin("radio", robots=["a"], outage=True)
        # By the keep-alive of the protocol: the broker gives up after one and a half times that.
        took = step_until(bench, lambda: connections(master, "a")[-1] == "CONNECTIONBROKEN")
        assert took > 1.0
        assert session.link.online == 1 and connections(master, "b") == ["ONLINE"]
        states = sum(serial == "a" and topic == "state" for serial, topic, _ in master.messages)
        master.order("a", line("lost", [(0.0, 0.0), (1.0, 0.0)]))
        wait(bench, 1.0)
        assert sum(serial == "a" and topic == "state" for serial, topic, _ in master.messages) == states
        disturbances.end(name)
        took = step_until(
            bench,
            lambda: (
                connections(master, "a")[-1] == "ONLINE"
                and sum(serial == "a" and topic == "state" for serial, topic, _ in master.messages) > states
            ),
        )
        # A second, and what a busy machine takes.
        assert took < 5.0
        assert bench.state("a")["orderId"] == ""
        master.order("a", line("next", [(0.0, 0.0), (1.0, 0.0)]))
        step_until(bench, lambda: bench.state("a")["orderId"] == "next")


def test_a_short_outage_that_no_broker_notices_ends_with_a_state() -> None:
    with fleet() as (bench, session, master):
        step_until(bench, lambda: connections(master, "a") == ["ONLINE"])
        disturbances = bench.sim.features.use("disturbances")
        disturbances.begin("radio", robots=["a"], outage=True, lasts=1.0)
        bench.sim.step_once()
        count = sum(serial == "a" and topic == "state" for serial, topic, _ in master.messages)
        # To its end, and far less than the time between two states of a vehicle that has nothing to tell.
        for _ in range(15):
            bench.sim.step_once()
        end = time.monotonic() + LIMIT
        while sum(one[:2] == ("a", "state") for one in master.messages) <= count:
            assert time.monotonic() < end
            time.sleep(0.02)
        assert connections(master, "a") == ["ONLINE"] and session.link.online == 2


def test_states_that_come_late_twice_or_not_keep_the_numbers_with_which_they_were_sent() -> None:
    trouble = {"robots": ["a"], "direction": "from_robot", "latency": 0.5, "loss": 0.3, "duplicates": 0.3, "at": 1.0}
    with fleet(trouble) as (bench, _, master):
        step_until(bench, lambda: connections(master, "a") == ["ONLINE"])
        for _ in range(150):
            bench.vehicle.changed = True
            bench.sim.step_once()
        wait(bench, 1.0)
        numbers = [m["headerId"] for serial, topic, m in master.messages if (serial, topic) == ("a", "state")]
        before, after = numbers[:8], numbers[9:]
        assert before == list(range(before[0], before[0] + 8))
        assert after == sorted(after), "in order, as nothing overtakes"
        missing = set(range(after[0], after[-1] + 1)) - set(after)
        twice = len(after) - len(set(after))
        sent = after[-1] - after[0] + 1
        for hits, share, total in ((len(missing), 0.3, sent), (twice, 0.3, len(set(after)))):
            assert abs(hits - share * total) < 4.0 * (total * share * (1.0 - share)) ** 0.5
        times = [m["timestamp"] for serial, topic, m in master.messages if (serial, topic) == ("a", "state")]
        assert times == sorted(times)

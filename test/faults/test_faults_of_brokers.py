"""A broker and a fleet of VDA 5050 that are killed in the middle of an order: the other side notices, and goes on."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from master_control import MasterControl, line
from mqtt_broker import TestBroker
from vehicle_fleet import vehicle_fleet

pytestmark = pytest.mark.slow


@pytest.fixture
def broker() -> Iterator[TestBroker]:
    broker = TestBroker()
    yield broker
    broker.stop()


def fleet(broker: TestBroker) -> AbstractContextManager[subprocess.Popen[str]]:
    """A fleet of eight vehicles that runs until it is killed."""
    return vehicle_fleet(broker, "sites/vda5050.yaml", 8)


def start_to_drive(master: MasterControl, name: str) -> None:
    master.wait(name, "connection", lambda message: message["connectionState"] == "ONLINE")
    master.order(name, line("o", [(0.0, 6.0), (12.0, 6.0)]))
    master.state(name, lambda state: state["driving"])


def test_a_broker_that_is_killed_and_returns_finds_the_vehicles_again(broker: TestBroker) -> None:
    with fleet(broker), MasterControl(broker.port, maker="carriers") as master:
        start_to_drive(master, "carrier_2")
        broker.stop()
        broker.start()
        with MasterControl(broker.port, maker="carriers") as again:
            # It drove on meanwhile: the order is the vehicle's.
            again.wait("carrier_2", "connection", lambda message: message["connectionState"] == "ONLINE")
            again.state("carrier_2", lambda state: state["lastNodeId"] == "n1")
            again.order("carrier_2", line("o", [(12.0, 6.0), (13.0, 6.0)], update=1, first=1))
            again.state("carrier_2", lambda state: state["lastNodeId"] == "n2")


def test_a_broker_that_is_killed_again_and_again_costs_no_thread_and_no_file(broker: TestBroker) -> None:
    with fleet(broker) as process:

        def held() -> tuple[int, int]:
            folder = Path(f"/proc/{process.pid}")
            return len(list((folder / "task").iterdir())), len(list((folder / "fd").iterdir()))

        counts = []
        for _ in range(6):
            with MasterControl(broker.port, maker="carriers") as master:
                for name in ("carrier_0", "carrier_2"):
                    master.wait(name, "connection", lambda message: message["connectionState"] == "ONLINE")
                    master.state(name, lambda state: True)
            counts.append(held())
            broker.stop()
            broker.start()
        # The first connection loads what later ones find.
        assert max(counts[2:]) <= counts[1], counts


def test_a_fleet_that_is_killed_is_missed_and_the_next_one_is_served(broker: TestBroker) -> None:
    with MasterControl(broker.port, maker="carriers") as master:
        with fleet(broker) as process:
            start_to_drive(master, "carrier_2")
            process.kill()
            master.wait("carrier_2", "connection", lambda message: message["connectionState"] == "CONNECTIONBROKEN")
        master.forget()
        with fleet(broker):
            start_to_drive(master, "carrier_2")
            master.state("carrier_2", lambda state: state["lastNodeId"] == "n1")

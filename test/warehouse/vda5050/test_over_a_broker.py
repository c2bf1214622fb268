"""Real processes: `fleet-sim run --vda5050`, a broker, and a master control that drives the fleet."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from master_control import MasterControl, action, errors, line, status
from mqtt_broker import TestBroker

pytestmark = pytest.mark.slow
EXAMPLE = Path(__file__).parents[3] / "examples" / "vda5050_fleet_manager.py"


def run_fleet(broker: TestBroker, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "fleet_sim.apps.cli.main", "run", "sites/vda5050.yaml", "--headless"]
    command += ["--vda5050", f"mqtt://127.0.0.1:{broker.port}", "--rtf", "8", "--duration", "0", *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@pytest.fixture(scope="module")
def broker() -> Iterator[TestBroker]:
    broker = TestBroker()
    yield broker
    broker.stop()


@pytest.fixture(scope="module")
def fleet(broker: TestBroker) -> Iterator[subprocess.Popen[str]]:
    # Of an earlier time: neither may do anything when the vehicles come.
    with MasterControl(broker.port, maker="carriers") as before:
        stale = before.header("carrier_5") | line("stale", [(0.0, 15.0), (9.0, 15.0)])
        before.publish("carrier_5", "order", json.dumps(stale), retain=True)
        before.publish("carrier_4", "instantActions", b"\xff\xfe garbage", retain=True)
    process = run_fleet(broker)
    yield process
    process.kill()
    # Reads what is left and closes the pipe.
    process.communicate()


@pytest.fixture
def master(broker: TestBroker, fleet: subprocess.Popen[str]) -> Iterator[MasterControl]:
    with MasterControl(broker.port, maker="carriers") as master:
        master.wait("carrier_5", "connection", lambda message: message["connectionState"] == "ONLINE")
        yield master


def test_two_vehicles_are_driven_paused_updated_and_cancelled(master: MasterControl) -> None:
    for index, name in enumerate(("carrier_0", "carrier_1")):
        y = 3.0 * index
        order = line("tour", [(0.0, y), (5.0, y), (8.0, y)], base=2)
        order["nodes"][1]["actions"] = [action("wait", "w", "SOFT", duration=1.0)]
        master.order(name, order)
    master.state("carrier_0", lambda state: state["driving"])
    master.instant("carrier_0", "startPause", "p")
    paused = master.state("carrier_0", lambda state: status(state, "p") == "FINISHED")
    assert paused["paused"]
    assert not paused["driving"]
    master.state("carrier_1", lambda state: state["lastNodeId"] == "n1" and status(state, "w") == "FINISHED")
    master.instant("carrier_0", "stopPause", "q")
    master.state("carrier_0", lambda state: state["lastNodeId"] == "n1")
    for index, name in enumerate(("carrier_0", "carrier_1")):
        master.order(name, line("tour", [(5.0, 3.0 * index), (30.0, 3.0 * index)], update=1, first=1))
    # What comes at once is carried out in its order.
    master.instant("carrier_1", "cancelOrder", "c")
    gone = master.state("carrier_1", lambda state: status(state, "c") == "FINISHED")
    assert gone["nodeStates"] == []
    master.state("carrier_0", lambda state: state["lastNodeId"] == "n2" and not state["nodeStates"])
    master.wait("carrier_0", "visualization", lambda message: message["agvPosition"]["x"] > 6.0)
    sheet = master.wait("carrier_0", "factsheet", lambda message: True)
    assert "pick" in [entry["actionType"] for entry in sheet["protocolFeatures"]["agvActions"]]
    assert master.check_all() > 20
    numbers = [
        message["headerId"] for whose, what, message in master.messages if (whose, what) == ("carrier_0", "state")
    ]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_the_third_version_has_topics_of_its_own(broker: TestBroker, master: MasterControl) -> None:
    with MasterControl(broker.port, "3.0", "vda5050", "shuttles") as third:
        third.order("shuttle_0", line("o", [(0.0, 18.0), (3.0, 18.0)]))
        third.state("shuttle_0", lambda state: state["lastNodeId"] == "n1")
        third.instant("shuttle_0", "stateRequest", "r")
        state = third.state("shuttle_0", lambda state: status(state, "r") == "FINISHED")
        assert state["instantActionStates"]
        assert third.check_all() > 5


def test_messages_of_an_earlier_time_and_garbage_move_nothing(master: MasterControl) -> None:
    for payload in (b"", b"\xff", b"[]", b"{", b"null", b"9" * 200_000, b"[" * 50_000, b'{"headerId": NaN}'):
        master.publish("carrier_5", "order", payload)
        master.publish("carrier_5", "instantActions", payload)
    for changed in ({"version": "1.1.0"}, {"serialNumber": "carrier_4"}, {"manufacturer": "nobody"}):
        order = master.header("carrier_5") | line("o", [(0.0, 15.0), (9.0, 15.0)]) | changed
        master.publish("carrier_5", "order", json.dumps(order))
    master.instant("carrier_5", "stateRequest", "after")
    state = master.state("carrier_5", lambda state: status(state, "after") == "FINISHED")
    assert (state["orderId"], state["agvPosition"]["x"], state["driving"]) == ("", 0.0, False)
    assert set(errors(state)) == {"validationError"}


def test_thousands_of_instant_actions_do_not_stop_the_others(master: MasterControl) -> None:
    many = [action("nonsense", f"x{index}", "NONE") for index in range(100)]
    text = json.dumps(master.header("carrier_4") | {"actions": many})
    for _ in range(50):
        master.client.publish("uagv/v2/carriers/carrier_4/instantActions", text)
    master.order("carrier_3", line("o", [(0.0, 9.0), (2.0, 9.0)]))
    master.state("carrier_3", lambda state: state["lastNodeId"] == "n1")
    master.instant("carrier_4", "stateRequest", "end")
    state = master.state("carrier_4", lambda state: status(state, "end") == "FINISHED")
    assert len(state["actionStates"]) <= 200
    assert len(state["errors"]) <= 30


def test_a_fleet_that_is_driven_by_the_example_says_goodbye(
    broker: TestBroker, fleet: subprocess.Popen[str], master: MasterControl
) -> None:
    # The next one has its names.
    fleet.kill()
    master.wait("carrier_0", "connection", lambda message: message["connectionState"] == "CONNECTIONBROKEN")
    master.forget()
    process = run_fleet(broker, "--duration", "80")
    # The example drives it meanwhile.
    example = [sys.executable, str(EXAMPLE), "--port", str(broker.port)]
    told = subprocess.run(example, capture_output=True, text=True, check=False, timeout=60)
    assert told.returncode == 0, told.stderr
    assert told.stdout.count("done, its actions are FINISHED") == 6, told.stdout
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    assert "VDA 5050: 8 vehicles" in output
    master.wait("carrier_0", "connection", lambda message: message["connectionState"] == "OFFLINE")

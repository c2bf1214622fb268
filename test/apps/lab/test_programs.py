"""Managers that are programs, over MQTT and over ROS: killed, started again, and seen where they have a fault."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import Any

import pytest
from example import EXAMPLES

from fleet_sim.apps.lab.run import Case, Outcome
from fleet_sim.apps.lab.settings import read_lab
from fleet_sim.apps.lab.shrink import check_parts, run_case
from fleet_sim.base.errors import ConfigError
from fleet_sim.base.parallel import memory_of, memory_of_group

ORDER = {"id": "o0", "at": 1.0, "from": "p0", "to": "p4", "cancel": None}
KILLS = [
    {"at": 4.0, "do": "kill", "on": "manager", "lasts": 2.0, "after": 0},
    {"at": 12.0, "do": "kill", "on": "manager", "lasts": 1.0, "after": 1},
]


def run(manager: dict[str, Any], events: list[dict[str, Any]], count: int = 1) -> Outcome:
    """Run an order with a program of the examples, ten times as fast as its clock."""
    rules = {"end_within": 120.0, "patience": 40.0}
    site = {"grid": {"rows": 3, "columns": 4}}
    lab = read_lab({"site": site, "vehicles": {"count": count}, "manager": {"factor": 10, **manager}, "rules": rules})
    check_parts(lab)
    return run_case(lab, Case(1, [f"v{index}" for index in range(count)], [ORDER], events))


def over_ros(name: str) -> dict[str, Any]:
    """Return a manager over ROS of the examples."""
    file = "ros_transports.py" if name == "Manager" else f"ros_mutants.py {name}"
    return {"ros": f"python {EXAMPLES}/managers/{file} {{site}} {{storage}}"}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("mosquitto", path=f"{os.environ['PATH']}:/usr/sbin") is None, reason="needs mosquitto")
def test_a_program_over_mqtt_is_killed_at_its_message_and_started_again() -> None:
    command = f"python {EXAMPLES}/managers/vda5050_manager.py {{site}} --port {{port}} --storage {{storage}}/kept.json"
    outcome = run({"command": command}, KILLS)
    assert outcome.failure is None and outcome.ended == {"finished": 1}
    assert [note.what for note in outcome.notes if note.what in ("start", "kill")] == ["start", "kill"] * 2 + ["start"]


@pytest.mark.slow
def test_a_manager_over_ros_brings_its_load_whatever_is_killed_and_lost() -> None:
    radio = {"at": 20.0, "do": "radio", "on": "v0", "lasts": 8.0, "loss": 1.0, "latency": 0.5, "duplicates": 0.3}
    outcome = run(over_ros("Manager"), [*KILLS, radio])
    assert outcome.failure is None and outcome.ended == {"finished": 1}
    assert [note.what for note in outcome.notes if note.what in ("start", "kill")] == ["start", "kill"] * 2 + ["start"]
    assert {message.topic for message in outcome.messages if message.sender == "manager"} == {
        "Navigate",
        "ExecuteAction",
    }


@pytest.mark.slow
def test_a_manager_over_ros_that_forgets_is_seen() -> None:
    outcome = run(over_ros("Forgetful"), KILLS[:1])
    assert outcome.failure is not None and outcome.failure.oracle in ("end", "progress")


def test_what_cannot_be_over_ros_is_refused() -> None:
    manager = {"ros": "python manager.py {site}"}
    for given, told in (
        ({"disturbances": {"lost": {}}}, "disturbances.lost"),
        ({"vehicles": {"battery": {"capacity_wh": 50}}}, "vehicles.battery"),
        ({"manager": {**manager, "command": "python"}}, "manager"),
    ):
        with pytest.raises(ConfigError, match=told):
            read_lab({"site": {"grid": {}}, "manager": manager, **given})
    lab = read_lab({"site": {"grid": {}}, "manager": {"ros": "python manager.py {port}"}})
    with pytest.raises(ConfigError, match="site"):
        check_parts(lab)


def test_a_world_over_ros_that_cannot_be_made_leaves_nothing_behind() -> None:
    rclpy = pytest.importorskip("rclpy")
    from fleet_sim.apps.lab.ros import RosWorld

    before = dict(os.environ)
    with pytest.raises(ConfigError, match="robots"):
        RosWorld({"robots": "none"})
    assert dict(os.environ) == before and not rclpy.ok()


@pytest.mark.skipif(memory_of() is None, reason="needs /proc")
def test_the_memory_of_a_program_has_that_of_its_children() -> None:
    script = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'print(0, flush=True); input()'])"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        alone, together = memory_of(process.pid), memory_of_group(process.pid)
        process.communicate(b"\n")
    assert alone is not None and together > alone + 1.0

"""The VDA 5050 manager of the examples in the lab, and those with a fault: what breaks the others leaves it alone."""

from __future__ import annotations

from typing import Any

import pytest
from example import EXAMPLES

from fleet_sim.apps.lab.oracles import oracles_of
from fleet_sim.apps.lab.run import Case, LabRun, Outcome
from fleet_sim.apps.lab.settings import read_lab

ORDER = {"id": "o0", "at": 1.0, "from": "p0", "to": "p4", "cancel": None}
SCHEDULES: dict[str, tuple[dict[str, Any], str]] = {
    "JunkCrashes": ({"at": 3.0, "do": "garbage", "on": "v0", "way": "from"}, "manager"),
    "HeadersRestart": ({"at": 5.0, "do": "cut_manager", "on": "manager", "lasts": 1.0}, "protocol"),
    "ForgetsWho": ({"at": 4.0, "do": "kill", "on": "manager", "lasts": 1.0, "after": 0}, "progress"),
    "OfflineReassigned": ({"at": 4.0, "do": "cut", "on": "v0", "lasts": 8.0, "told": 0.5}, "load"),
    "ReassignedUncancelled": ({"at": 4.0, "do": "breakdown", "on": "v0", "lasts": 30.0}, "load"),
    "FailedIsFinished": ({"at": 24.0, "do": "action_failure", "on": "v0", "next": 1, "lasts": 60.0}, "report"),
    "RestartedAfterReboot": ({"at": 24.0, "do": "reboot", "on": "v0", "lasts": 2.0}, "load"),
}


def run(name: str, events: list[dict[str, Any]], version: float = 2.1) -> Outcome:
    """Run an order with a manager of the examples."""
    file = "vda5050_manager.py" if name == "Manager" else "mutants.py"
    lab = read_lab(
        {
            "site": {"grid": {"rows": 3, "columns": 4}},
            "vehicles": {"count": 2, "version": version},
            "manager": {"python": f"{EXAMPLES / 'managers' / file}:{name}"},
        }
    )
    return LabRun(lab, Case(1, ["v0", "v1"], [ORDER], events), oracles_of(lab)).run()


@pytest.mark.parametrize("name", list(SCHEDULES))
def test_a_fault_of_an_example_is_seen(name: str) -> None:
    event, oracle = SCHEDULES[name]
    outcome = run(name, [event])
    assert outcome.failure is not None
    assert outcome.failure.oracle == oracle, outcome.failure


@pytest.mark.parametrize("version", [2.0, 2.1, 3.0])
def test_the_example_without_a_fault_survives_all_of_them(version: float) -> None:
    outcome = run("Manager", sorted((event for event, _ in SCHEDULES.values()), key=lambda event: event["at"]), version)
    assert outcome.failure is None
    assert outcome.ended == {"finished": 1}

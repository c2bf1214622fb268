"""The other process of tests of saved states: goes on from files and prints what it did, as JSON.

Arguments: a JSON list of [scenario, file, steps]; the hall of `state_hall.py`, or a scenario that is shipped.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from state_hall import HALLS, SteadyPlugin, observed

from fleet_sim import MultiRobotSimulationCore
from fleet_sim.apps.verification import trace as table
from fleet_sim.apps.verification.trace import quiet
from fleet_sim.base.settings import load_mapping


def scenario(name: str) -> dict[str, Any]:
    """A hall by its name, or a shipped scenario."""
    return HALLS[name] if name in HALLS else quiet(load_mapping(table.shipped()[name]))


def opened(name: str) -> MultiRobotSimulationCore:
    """A simulation of a scenario."""
    source = "" if name in HALLS else str(table.shipped()[name])
    return MultiRobotSimulationCore.from_dict(scenario(name), source=source)


def went_on(name: str, file: str, steps: int) -> list[Any]:
    """Go on from a file, and return what is observed after each step."""
    with opened(name) as sim:
        if name == "code":
            sim.register_plugin(SteadyPlugin)
        sim.load_state(file)
        return observed(sim, steps)


if __name__ == "__main__":
    print(json.dumps([went_on(*job) for job in json.loads(sys.argv[1])]))

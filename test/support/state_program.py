"""The other process of tests of saved states: goes on from files and prints what it did, as JSON.

Arguments: a JSON list of [scenario or "", file, first step, steps]. "" is the hall of `state_hall.py`.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any

from state_hall import SteadyPlugin

from fleet_sim import MultiRobotSimulationCore
from fleet_sim.settings import load_mapping
from fleet_sim.verification import table
from fleet_sim.verification.trace import quiet, trace


def went_on(name: str, file: str, first: int, steps: int) -> Any:
    """Go on from a file in a simulation of the scenario `name`, and return its trace; "" is the hall."""
    if not name:
        return hall_went_on(file, steps)
    source = table.shipped()[name]
    with MultiRobotSimulationCore.from_dict(quiet(load_mapping(source)), source=str(source)) as sim:
        sim.load_state(file)
        return asdict(trace(sim, steps, first))


def hall_went_on(file: str, steps: int) -> Any:
    """Go on from a file of the hall, and return its hashes and what the plugin counted."""
    with MultiRobotSimulationCore.from_dict({"simulation": {"gui": False, "timestep": 0.1}}) as sim:
        plugin = sim.register_plugin(SteadyPlugin)
        sim.load_state(file)
        hashes = []
        for _ in range(steps):
            sim.step_once()
            hashes.append(sim.state_hash())
        entities = {obj.name: type(obj).__name__ for obj in sim.sim_objects}
        return {"hashes": hashes, "counted": plugin.counted, "entities": entities}


if __name__ == "__main__":
    print(json.dumps([went_on(*job) for job in json.loads(sys.argv[1])]))

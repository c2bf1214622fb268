"""The other process of tests of saved states: goes on from files and prints what it did, as JSON.

Arguments: a JSON list of [scenario, file, steps]; the hall of `state_hall.py`, or a scenario that is shipped.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from state_hall import HALLS, SteadyPlugin, observed

from fleet_sim import MultiRobotSimulationCore
from fleet_sim.apps import verification as table
from fleet_sim.apps.verification import quiet
from fleet_sim.base.settings import load_mapping

FLOOR = "sites/goods_to_person.yaml"
HALL = "sites/warehouse.yaml"
PEOPLE = {"groups": [{"name": "picker", "count": 4, "visits": ["workstation"], "stays": [1, 5]}]}
DISTURBED = [
    {"kind": "breakdown", "per_hour": 200, "lasts": {"exponential": 4}},
    {"kind": "localization", "per_hour": 200, "lasts": 3, "noise": 0.02},
    {"kind": "radio", "latency": 0.2, "loss": 0.1},
    {"kind": "station_closed", "at": 2, "lasts": 3, "stations": ["workstation_3"]},
]
TROUBLE = {"delays": {"probability": 0.05}, "breakdowns": {"probability": 0.01}}


def opened(name: str) -> MultiRobotSimulationCore:
    """A simulation of a hall by its name, of a shipped scenario, of pods and a traffic in trouble ("floor"), or of a
    warehouse with people, a forklift and disturbances ("shift").
    """
    if name in HALLS:
        return MultiRobotSimulationCore.from_dict(HALLS[name])
    file = str(table.shipped()[{"floor": FLOOR, "shift": HALL}.get(name, name)])
    scenario = quiet(load_mapping(file))
    if name == "floor":
        scenario["traffic"] |= {"disturbances": TROUBLE}
        (robot,) = scenario["robots"]
        low = {
            "name": "low",
            "at": {"site": "free", "count": 5, "seed": 9},
            "battery": {**robot["battery"], "level": 0.2},
        }
        scenario["robots"].append({**robot, **low})
    if name == "shift":
        (robot,) = scenario["robots"]
        robot |= {"at": {"site": "free", "count": 20, "seed": 2}, "safety": {}}
        truck = {"name": "truck", "at": {"site": "free", "count": 1, "seed": 9}, "shape": robot["shape"]}
        scenario["robots"].append({**truck, "forklift": {"visits": ["workstation"], "stays": [1, 2]}})
        scenario["orders"]["robot"] = None
        scenario |= {"people": PEOPLE, "disturbances": DISTURBED}
    return MultiRobotSimulationCore.from_dict(scenario, source=file)


def went_on(name: str, file: str, steps: int) -> list[Any]:
    """Go on from a file, and return what is observed after each step."""
    with opened(name) as sim:
        if name == "code":
            sim.register_plugin(SteadyPlugin)
        sim.load_state(file)
        return observed(sim, steps)


if __name__ == "__main__":
    print(json.dumps([went_on(*job) for job in json.loads(sys.argv[1])]))

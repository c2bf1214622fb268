"""A node that runs the building of two floors, with the topics of Open-RMF."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml
from node_program import Client, running

BUILDING = Path(__file__).parents[2] / "config" / "sites" / "maps" / "two_floors.building.yaml"
RATES = {"robot_state": 4.0, "door_states": 2.0, "lift_states": 2.0, "workcell_states": 1.0}


@contextmanager
def running_rmf(folder: Path, **rates: float) -> Iterator[Client]:
    """Run the node, ten times as fast as real time; give a client of it."""
    scenario = {
        "simulation": {"target_rtf": 10.0, "monitor": False},
        "building": {"map": str(BUILDING), "wall_height": 2.0, "door_time": 2.0},
        "ros": {"rmf": {"enabled": True, **RATES, **rates}},
    }
    (folder / "rmf.yaml").write_text(yaml.safe_dump(scenario))
    with running(folder / "node.log", "-p", f"config:={folder / 'rmf.yaml'}") as (_, client):
        yield client

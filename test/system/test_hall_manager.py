"""The example manager brings all loads in a hall where everything goes wrong that disturbs robots."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from crowds import robot
from hosted_node import hosted_node
from networks import HALL, site_of
from rclpy.executors import SingleThreadedExecutor

from fleet_sim.warehouse.sites import write_site

EXAMPLE = Path(__file__).parents[2] / "examples" / "managers" / "hall_manager.py"
JOBS = 8


def manager_class() -> Any:
    spec = importlib.util.spec_from_file_location("hall_manager", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Its dataclasses look their module up.
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "hall_manager", module)
        spec.loader.exec_module(module)
    return module.HallManager


TROUBLE: list[dict[str, Any]] = [
    {"kind": "localization", "noise": 0.01, "drift_per_metre": 0.01, "most": 0.05},
    {"kind": "radio", "latency": {"uniform": [0.0, 0.3]}, "loss": 0.05, "duplicates": 0.05, "reordering": 0.05},
    {"kind": "breakdown", "robots": "amr_0", "at": 4.0, "lasts": 15.0},
    {"kind": "manual", "robots": "amr_2", "at": 6.0, "lasts": 10.0},
    {"kind": "emergency_stop", "robots": "amr_1", "at": 8.0, "lasts": 8.0},
    {"kind": "localization", "lost": True, "robots": "amr_1", "at": 22.0, "lasts": 8.0},
    {"kind": "reboot", "robots": "amr_2", "at": 24.0, "lasts": 5.0},
    {"kind": "radio", "outage": True, "robots": "amr_0", "at": 26.0, "lasts": 20.0},
]


@pytest.mark.slow
def test_all_loads_are_brought_whatever_goes_wrong(tmp_path: Path) -> None:
    site = site_of(HALL)
    write_site(site, tmp_path / "hall.yaml")
    starts = [(0.5, 5.5), (4.5, 5.5), (9.5, 5.5)]
    scenario = {
        "simulation": {"gui": False, "monitor": False, "timestep": 0.1, "seed": 4},
        "site": "hall.yaml",
        "robots": [robot(f"amr_{number}", place) for number, place in enumerate(starts)],
        "traffic": {"period": 0.5},
        "ros": {"per_robot": "none", "rates": {"fleet_states": 5.0, "feedback": 2.0}},
        "disturbances": TROUBLE,
    }
    path = tmp_path / "scenario.yaml"
    path.write_text(yaml.safe_dump(scenario))
    with hosted_node("-p", f"config:={path}", "-p", "target_rtf:=0.0") as node:
        manager = manager_class()([(0.5, 0.5), (2.5, 0.5)], [(9.5, 0.5), (7.5, 0.5)], JOBS, 5.0)
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        executor.add_node(manager)
        sim = node.simulation
        while not manager.ended.done() and sim.clock.time < 600.0:
            sim.step_once()
            # Goals and answers need some turns; a manager is not faster than a few steps.
            for _ in range(3):
                executor.spin_once(timeout_sec=0.0005)
        assert manager.done == JOBS
        # It had something to survive.
        assert sim.clock.time > 46.0 and manager.taken_away > 2
        costs = sim.features.use("disturbances").figures()
        assert all(costs[entry["kind"]]["events"] for entry in TROUBLE)
        executor.shutdown()
        manager.destroy_node()

"""A small depot with stations and fast robots, and how long to wait for what happens in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import yaml

import fleet_sim as fs
from fleet_sim.warehouse.orders import Orders, Request
from fleet_sim.warehouse.orders.allocation import Assignment, NearestFirst

MAP = """
site: depot
cell: 1.0
rows: |
  ..............
  ..@@@@..@@@@..
  ..............
  ..@@@@..@@@@..
  ..............
  .@@@..........
  .@.@..........
  .@@@..........
stations:
  - {name: shelf_a, kind: pick, at: [3.5, 5.5]}
  - {name: shelf_b, kind: pick, at: [9.5, 5.5]}
  - {name: shelf_c, kind: pick, at: [9.5, 3.5]}
  - {name: dock, kind: drop, at: [13.5, 0.5]}
  - {name: gate, kind: drop, at: [0.5, 7.5]}
  - {name: desk, kind: workstation, at: [7.5, 0.5]}
  - {name: plug, kind: charge, at: [0.5, 3.5]}
  - {name: bay, kind: park, at: [13.5, 3.5]}
  - {name: cell, kind: park, at: [2.5, 1.5]}
"""
"""`cell` is walled in."""

ROBOT: dict[str, Any] = {
    "name": "amr",
    "motion_mode": "omnidirectional",
    "max_linear_vel": 2.0,
    "shape": {"shape_type": "box", "half_extents": [0.3, 0.2, 0.15]},
}


def depot(
    folder: Path,
    section: dict[str, Any] | None = None,
    at: list[list[float]] | None = None,
    timestep: float = 0.1,
    **robot: Any,
) -> fs.MultiRobotSimulationCore:
    """Return a depot with a robot at each of `at` (x, y), and the section `orders` of its scenario."""
    (folder / "depot.yaml").write_text(MAP)
    places = [[5.5, 3.5]] if at is None else at
    robots = [{**ROBOT, "name": f"amr_{i}", "pose": [*place, 0.15], **robot} for i, place in enumerate(places)]
    content = {
        "simulation": {"gui": False, "timestep": timestep, "target_rtf": 0, "collision_check_frequency": 0},
        "site": "depot.yaml",
        "robots": robots,
        "orders": section or {},
    }
    path = folder / "scenario.yaml"
    path.write_text(yaml.safe_dump(content))
    return fs.MultiRobotSimulationCore.from_yaml(path)


def orders_of(sim: fs.MultiRobotSimulationCore) -> Orders:
    """The Orders of `sim`."""
    orders: Orders = sim.get_manager("orders")
    return orders


def run_until(sim: fs.MultiRobotSimulationCore, reached: Callable[[], bool], most: float = 300.0) -> None:
    """Step until `reached()`, at most for `most` s of simulation time."""
    end = sim.clock.time + most
    while not reached():
        assert sim.clock.time < end, "it does not happen"
        sim.step_once()


class WatchedAllocator(NearestFirst):
    """Assigns as `nearest` does, and shows each request to `look` before."""

    look: ClassVar[Callable[[Request], object]]

    def allocate(self, request: Request) -> list[Assignment]:
        type(self).look(request)
        return super().allocate(request)

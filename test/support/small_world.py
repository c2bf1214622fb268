"""A small world without pace and window, to look at what a setting changes."""

from __future__ import annotations

from typing import Any

from fleet_sim import MultiRobotSimulationCore, ShapeParams, SimulationParams

BOX = ShapeParams("box", half_extents=(0.2, 0.2, 0.1))
FLAT = {"gui": False, "target_rtf": 0, "timestep": 0.05, "monitor": False}


def build(settings: dict[str, Any]) -> MultiRobotSimulationCore:
    return MultiRobotSimulationCore(SimulationParams(**{**FLAT, **settings}))


def run(sim: MultiRobotSimulationCore, steps: int = 20) -> MultiRobotSimulationCore:
    for _ in range(steps):
        sim.step_once()
    return sim


def pose(entity: Any) -> Any:
    return entity.get_pose().as_position_orientation()

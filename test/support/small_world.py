"""A small world without pace and window, to look at what a setting changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fleet_sim import Action, Agent, AgentSpawnParams, MultiRobotSimulationCore, Pose, ShapeParams, SimulationParams

BOX = ShapeParams("box", half_extents=(0.2, 0.2, 0.1))
MakeSim = Callable[..., MultiRobotSimulationCore]
"""The fixture `make_sim`."""
Finish = Callable[..., Action]
"""The fixture `finish` of tests of actions."""
FLAT = {"gui": False, "target_rtf": 0, "timestep": 0.05, "monitor": False}


def build(settings: dict[str, Any]) -> MultiRobotSimulationCore:
    return MultiRobotSimulationCore(SimulationParams(**{**FLAT, **settings}))


def run(sim: MultiRobotSimulationCore, steps: int = 20) -> MultiRobotSimulationCore:
    for _ in range(steps):
        sim.step_once()
    return sim


def complete(sim: MultiRobotSimulationCore, action: Action, most: int) -> None:
    """Step until `action` is completed, at most up to step `most`."""
    while not action.is_complete():
        assert sim.step_count < most
        sim.step_once()
    assert action.status == "completed"


def pose(entity: Any) -> Any:
    return entity.get_pose().as_position_orientation()


def robot(sim: MultiRobotSimulationCore, name: str | None, x: float = 0.0, **params: Any) -> Agent:
    """Spawn a box that drives in any direction, `x` m from the origin."""
    params = {"motion_mode": "omnidirectional", "visual_shape": BOX, "collision_shape": BOX, **params}
    agent: Agent = sim.spawn(AgentSpawnParams(name=name, initial_pose=Pose.from_xyz(x, 0, 0), **params))
    return agent

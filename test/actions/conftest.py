"""A simulation with a robot and a crate, for the tests of actions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fleet_sim import (
    Action,
    Agent,
    AgentSpawnParams,
    MultiRobotSimulationCore,
    Pose,
    ShapeParams,
    SimObject,
    SimObjectSpawnParams,
    SimulationParams,
)

BOX = ShapeParams("box", half_extents=(0.2, 0.2, 0.1))


@pytest.fixture
def make_sim() -> Iterator[Callable[..., MultiRobotSimulationCore]]:
    """Make simulations without a window that are closed at the end of the test."""
    made: list[MultiRobotSimulationCore] = []

    def make(**settings: Any) -> MultiRobotSimulationCore:
        params = {"gui": False, "timestep": 0.1, "target_rtf": 0, "monitor": False, **settings}
        made.append(MultiRobotSimulationCore(SimulationParams(**params)))
        return made[-1]

    yield make
    for sim in made:
        sim.close()


@pytest.fixture
def sim(make_sim: Callable[..., MultiRobotSimulationCore]) -> MultiRobotSimulationCore:
    """An empty simulation with steps of 0.1 s."""
    return make_sim()


@pytest.fixture
def robot(sim: MultiRobotSimulationCore) -> Agent:
    """An omnidirectional robot at the origin."""
    agent: Agent = sim.spawn(AgentSpawnParams(BOX, BOX, name="robot", motion_mode="omnidirectional"))
    return agent


@pytest.fixture
def crate(sim: MultiRobotSimulationCore) -> SimObject:
    """A crate 3 m in front of the origin."""
    obj: SimObject = sim.spawn(SimObjectSpawnParams(BOX, BOX, Pose.from_xyz(3.0, 0.0, 0.0), name="crate"))
    return obj


@pytest.fixture
def finish(sim: MultiRobotSimulationCore) -> Callable[[Action], Action]:
    """Step until an action has ended; fails when that takes too long."""

    def run(action: Action, most: int = 400) -> Action:
        for _ in range(most):
            if action.is_complete():
                return action
            sim.step_once()
        raise AssertionError(f"{action!r} did not end in {most} steps")

    return run

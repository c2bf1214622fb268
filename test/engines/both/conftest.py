"""Each test here runs with each engine; one that is not installed is named in the reason for skipping."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import pytest

from fleet_sim import MultiRobotSimulationCore, SimulationParams

MODULES = {"bullet": "pybullet", "mujoco": "mujoco"}


@pytest.fixture(params=MODULES)
def engine(request: pytest.FixtureRequest) -> str:
    """The name of the engine."""
    name = str(request.param)
    if find_spec(MODULES[name]) is None:
        pytest.skip(f"{MODULES[name]} is not installed")
    return name


@pytest.fixture
def make_sim(engine: str) -> Iterator[Callable[..., MultiRobotSimulationCore]]:
    """Return a maker of simulations with physics on one engine, as fast as possible; closed at the end."""
    sims: list[MultiRobotSimulationCore] = []

    def make(**settings: Any) -> MultiRobotSimulationCore:
        params = {"gui": False, "target_rtf": 0, "timestep": 0.1, "engine": engine, **settings}
        sims.append(MultiRobotSimulationCore(SimulationParams(**params)))
        return sims[-1]

    yield make
    for sim in sims:
        sim.close()

"""What all tests share."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
import references
import system_packages
import without_dds
from hypothesis import HealthCheck, settings

from fleet_sim import (
    Agent,
    AgentSpawnParams,
    MultiRobotSimulationCore,
    Pose,
    ShapeParams,
    SimObject,
    SimObjectSpawnParams,
    SimulationParams,
)
from fleet_sim.base.kernels import compile_at_first_call

# How fast examples run depends on the machine, which no test may. The same examples in every run, so that only a change
# of the sources can fail it; HYPOTHESIS_PROFILE=explore tries others.
common = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("fleet_sim", derandomize=True, **common)
settings.register_profile("explore", **common)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fleet_sim"))

# A shell that starts tests in the background lets them ignore Ctrl-C, and they would hand that down to what they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests see compiled code where a simulation would use it, and not when another process has compiled it.
compile_at_first_call()

sys.meta_path[:0] = [references.SkippingFinder(), without_dds.SkippingRosFinder()]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Skip system tests where there is no DDS: many of them ask for it in programs that they start."""
    if without_dds.MISSING and "system" in item.path.parts:
        item.add_marker(pytest.mark.skip(without_dds.REASON))
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Skip a test that asks for what is optional and not installed; those of the engines must not."""
    if "engines" in item.path.parts:
        return (yield)
    return (yield from references.skip_what_needs_what_is_missing())


@pytest.hookimpl(wrapper=True, specname="pytest_runtest_call")
def skip_call_that_needs_dds(item: pytest.Item) -> Generator[None, object, object]:
    """Skip a test that asks for DDS where there is none."""
    return (yield from without_dds.skip_what_needs_dds())


@pytest.hookimpl(wrapper=True, specname="pytest_runtest_setup")
def skip_setup_that_needs_dds(item: pytest.Item) -> Generator[None, object, object]:
    """As for the tests themselves: their fixtures may ask for DDS."""
    return (yield from without_dds.skip_what_needs_dds())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    """As for the tests themselves: their fixtures may ask for it."""
    return (yield from references.skip_what_needs_what_is_missing())


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module:
    """Skip a whole module that imports what is optional and not installed."""
    module: pytest.Module = references.TestModule.from_parent(parent, path=module_path)
    return module


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one line which packages of the system would turn on the tests that were skipped."""
    reports = terminalreporter.getreports("skipped")
    line = system_packages.summary([str(report.longrepr) for report in reports])
    if line:
        terminalreporter.write_line(line, yellow=True)


BOX = ShapeParams("box", half_extents=(0.2, 0.2, 0.1))


@pytest.fixture(scope="session")
def opengl() -> None:
    """Skip where OpenGL cannot draw."""
    system_packages.need_opengl()


@pytest.fixture(scope="session")
def pictures() -> None:
    """Skip where nothing can draw."""
    system_packages.need_pictures()


@pytest.fixture
def make_sim() -> Iterator[Callable[..., MultiRobotSimulationCore]]:
    """Return a maker of simulations without a window, as fast as possible, with steps of 0.1 s; closed at the end."""
    sims: list[MultiRobotSimulationCore] = []

    def make(**settings: Any) -> MultiRobotSimulationCore:
        params = {"gui": False, "target_rtf": 0, "timestep": 0.1, **settings}
        sims.append(MultiRobotSimulationCore(SimulationParams(**params)))
        return sims[-1]

    yield make
    for sim in sims:
        sim.close()


@pytest.fixture
def sim(make_sim: Callable[..., MultiRobotSimulationCore]) -> MultiRobotSimulationCore:
    """Return an empty simulation."""
    return make_sim()


@pytest.fixture
def robot(sim: MultiRobotSimulationCore) -> Agent:
    """Return an omnidirectional robot at the origin."""
    agent: Agent = sim.spawn(AgentSpawnParams(BOX, BOX, name="robot", motion_mode="omnidirectional"))
    return agent


@pytest.fixture
def crate(sim: MultiRobotSimulationCore) -> SimObject:
    """Return a crate 1 m in front of the origin."""
    obj: SimObject = sim.spawn(SimObjectSpawnParams(BOX, BOX, Pose.from_xyz(1.0, 0.0, 0.0), name="crate"))
    return obj

"""What the tests of actions share."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fleet_sim import Action, MultiRobotSimulationCore, Pose, ShapeParams, SimObject, SimObjectSpawnParams

BOX = ShapeParams("box", half_extents=(0.2, 0.2, 0.1))


@pytest.fixture
def crate(sim: MultiRobotSimulationCore) -> SimObject:
    """Return a crate 3 m in front of the origin."""
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

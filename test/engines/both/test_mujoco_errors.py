"""Errors of MuJoCo in a step: for want of memory the step is made again, others are told."""

from __future__ import annotations

from typing import Any

import pytest

from fleet_sim import (
    AgentSpawnParams,
    MultiRobotSimulationCore,
    Pose,
    ShapeParams,
    SimulationParams,
    StateError,
)

BALL = ShapeParams("sphere", radius=0.1)
DROPPED = AgentSpawnParams(
    name="ball", collision_shape=BALL, visual_shape=BALL, initial_pose=Pose((0.0, 0.0, 1.0)), mass=1.0
)


@pytest.mark.parametrize(
    ("text", "again"), [("mj_stackAlloc: out of memory, stack overflow", True), ("mj_kinematics: no such tree", False)]
)
def test_only_a_lack_of_memory_is_made_good(monkeypatch: pytest.MonkeyPatch, text: str, again: bool) -> None:
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    step, calls = mujoco.mj_step2, []

    def failing_once(*args: Any) -> None:
        calls.append(1)
        if len(calls) == 1:
            raise mujoco.FatalError(text)
        step(*args)

    with MultiRobotSimulationCore(SimulationParams(gui=False, physics=True, engine="mujoco")) as sim:
        ball = sim.spawn(DROPPED)
        monkeypatch.setattr(mujoco, "mj_step2", failing_once)
        if again:
            sim.run_simulation(0.1)
            assert len(calls) > 1 and ball.get_pose().z < 1.0
        else:
            with pytest.raises(StateError, match="no such tree"):
                sim.step_once()

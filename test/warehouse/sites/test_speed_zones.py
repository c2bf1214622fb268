"""Zones with a speed limit: every robot that drives keeps it, however it is driven."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fleet_sim import AgentSpawnParams, MultiRobotSimulationCore, Pose

SLOW, FAST = 0.5, 2.0
SITE = """
site: hall
cell: 1.0
origin: [0.0, 0.0, 0.0]
rows: |
  ........................
  ........................
  ........................
  ........................
zones:
- {name: yard, kind: speed_limit, corners: [[9, -1], [13, -1], [13, 5], [9, 5]], speed: 0.5}
"""


@pytest.fixture
def hall(tmp_path: Path) -> Any:
    def make(mode: str, lanes: dict[str, float]) -> MultiRobotSimulationCore:
        (tmp_path / "hall.yaml").write_text(SITE)
        robots = [
            {"name": name, "pose": [1.0, y, 0.0], "motion_mode": mode, "max_linear_vel": FAST, "max_linear_accel": 2.0}
            for name, y in lanes.items()
        ]
        scenario = {
            "simulation": {"gui": False, "timestep": 0.05, "target_rtf": 0},
            "site": {"map": str(tmp_path / "hall.yaml")},
            "robots": robots,
        }
        return MultiRobotSimulationCore.from_dict(scenario)

    return make


@pytest.mark.parametrize("mode", ["differential", "omnidirectional", "ackermann"])
def test_limits_hold_for_goals_and_commands_and_leave_no_trace(hall: Any, mode: str) -> None:
    sim = hall(mode, {"goal": 0.5, "command": 2.0})
    goal, command = sim.get_object("goal"), sim.get_object("command")
    goal.set_goal_pose(Pose((20.0, 0.5, 0.0)))
    command.set_velocity(vx=FAST)
    rows = [goal.row, command.row]
    own = sim.world.motion.linear_limit[rows].copy()
    places, speeds = [], []
    for _ in range(400):
        sim.step_once()
        places.append(sim.world.position[rows, 0])
        speeds.append(np.hypot(*sim.world.velocity[rows, :2].T))
        if not sim.world.motion.control[goal.row] and sim.world.position[command.row, 0] > 18.0:
            break
    at, fast = np.array(places), np.array(speeds)
    inside = (at > 9.0) & (at < 13.0)
    assert fast[inside].max() == pytest.approx(SLOW) and inside.any(axis=0).all()
    # It brakes no earlier than it has to, and speeds up again behind.
    assert (fast.max(axis=0) == FAST).all() and (fast[(at > 7.0) & (at < 7.5)] > 1.7).all()
    assert fast[(at > 16.0) & (at < 17.0)].min() > 1.9
    assert goal.is_goal_reached() and goal.get_pose().position[0] == 20.0
    assert (sim.world.motion.linear_limit[rows] == own).all()


def test_a_cleared_site_limits_nobody(hall: Any) -> None:
    sim = hall("differential", {"robot": 0.5})
    sim.clear()
    robot = sim.spawn(AgentSpawnParams(name="robot", initial_pose=Pose((10.0, 0.5, 0.0)), max_linear_vel=FAST))
    robot.set_velocity(vx=FAST)
    for _ in range(20):
        sim.step_once()
    assert robot.get_pose().x < 13.0 and sim.world.velocity[robot.row, 0] == FAST

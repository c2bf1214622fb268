"""Joints without a single position, spherical and planar ones, are held fixed, which is said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mimic_robots import mimic_file

import fleet_sim as fs

Make = Callable[..., fs.MultiRobotSimulationCore]


def run(sim: fs.MultiRobotSimulationCore, steps: int) -> None:
    for _ in range(steps):
        sim.step_once()


def spawn(sim: fs.MultiRobotSimulationCore, file: str, **settings: Any) -> fs.Agent:
    agent: fs.Agent = fs.Agent.from_urdf(file, sim_core=sim, use_fixed_base=True, **{"mass": 0.0, **settings})
    return agent


@pytest.mark.parametrize("physics", [False, True])
def test_spherical_joints_are_held_with_a_warning(
    make_sim: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture, physics: bool
) -> None:
    file = mimic_file(
        tmp_path, ("ball", "spherical", ""), ("flat", "planar", ""), ("turn", "revolute", ""), name="doll"
    )
    sim = make_sim(physics=physics)
    agent = spawn(sim, file, mass=None if physics else 0.0)
    assert caplog.text.count("held fixed: ball, flat") == 1
    spawn(sim, file, name="second", pose=fs.Pose((0, 5, 0)))
    assert caplog.text.count("held fixed") == 1, "once for all of its kind"
    assert agent.movable_joint_names == ("turn",)
    with pytest.raises(fs.InvalidValueError, match="'ball' of 'doll' is spherical or planar, which is held fixed"):
        agent.set_joint_target("ball", 0.5)
    agent.set_joint_target("turn", 0.5)
    run(sim, 10)
    assert agent.get_joint_state("turn")[0] == pytest.approx(0.5, abs=0.01)
    assert agent.get_joint_state("ball") == (0.0, 0.0)
    position = sim.bullet.getLinkState(agent.body_id, 0)[4]
    assert agent.get_link_pose("ball_link").position == pytest.approx(position, abs=1e-3)

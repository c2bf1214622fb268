"""Odometry: the truth where it has no errors, and a drift as large as said where it has."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fleet_sim as fs

Sim = fs.MultiRobotSimulationCore
MakeSim = Callable[..., Sim]


def robots(sim: Sim, count: int, **settings: Any) -> list[fs.Agent]:
    return sim.spawn_all(
        [
            fs.AgentSpawnParams(
                initial_pose=fs.Pose.from_yaw(3.0 * index, 1.0, 0.0, 0.4 * index),
                motion_mode="omnidirectional",
                sensors=[{"type": "odometry", **settings}],
            )
            for index in range(count)
        ]
    )


def test_wrong_wheels(sim: Sim) -> None:
    agent = robots(sim, 1, linear_scale=1.1, angular_scale=0.9)[0]
    odometry = agent.sensor("odometry")
    odometry.subscribe()
    agent.set_velocity(1.0)
    for _ in range(10):
        sim.step_once()
    assert odometry.latest.position == pytest.approx([1.1 * agent.get_pose().x, 0, 0])
    agent.stop()
    agent.set_velocity(wz=1.0)
    for _ in range(10):
        sim.step_once()
    assert 2.0 * math.asin(odometry.latest.orientation[2]) == pytest.approx(0.9 * agent.get_pose().yaw)


@pytest.mark.parametrize("rate", [None, 2])
def test_the_drift_is_as_large_as_said_at_any_rate(make_sim: MakeSim, rate: float | None) -> None:
    sim = make_sim(seed=4)
    fleet = robots(sim, 400, rate=rate, linear_noise=0.1, heading_noise=0.02)
    for agent in fleet:
        agent.sensor("odometry").subscribe()
        agent.set_velocity(1.0)
    for _ in range(40):
        sim.step_once()
    way = math.dist(fleet[0].get_pose().position, (0.0, 1.0, 0.0))
    positions = np.array([agent.sensor("odometry").latest.position for agent in fleet])
    headings = np.array([2.0 * math.asin(agent.sensor("odometry").latest.orientation[2]) for agent in fleet])
    assert positions[:, 0].std() == pytest.approx(0.1 * math.sqrt(way), rel=0.1)
    assert headings.std() == pytest.approx(0.02 * math.sqrt(way), rel=0.1)
    assert positions[:, 0].mean() == pytest.approx(way, abs=0.05)
    assert abs(headings.mean()) < 0.01


def test_turning_drifts(make_sim: MakeSim) -> None:
    sim = make_sim(seed=4)
    fleet = robots(sim, 300, angular_noise=0.05)
    for agent in fleet:
        agent.sensor("odometry").subscribe()
        agent.set_velocity(wz=0.5)
    for _ in range(40):
        sim.step_once()
    turned = fleet[0].get_pose().yaw
    headings = np.array([2.0 * math.asin(agent.sensor("odometry").latest.orientation[2]) for agent in fleet])
    assert headings.std() == pytest.approx(0.05 * math.sqrt(turned), rel=0.12)
    assert np.abs([agent.sensor("odometry").latest.position for agent in fleet]).max() < 1e-9


def test_a_standing_robot_does_not_drift(sim: Sim) -> None:
    odometry = robots(sim, 1, linear_noise=0.5, angular_noise=0.5, heading_noise=0.5)[0].sensor("odometry")
    odometry.subscribe()
    for _ in range(10):
        sim.step_once()
    assert odometry.latest.position.tolist() == [0, 0, 0]
    assert odometry.latest.orientation.tolist() == [0, 0, 0, 1]

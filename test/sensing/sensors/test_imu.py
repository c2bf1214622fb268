"""What IMUs feel: rotation, acceleration and gravity, in their own frame."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fleet_sim as fs
from fleet_sim.sensing.sensors.imu import ImuParams

Sim = fs.MultiRobotSimulationCore
MakeSim = Callable[..., Sim]
G = 9.81


def robot(sim: Sim, pose: fs.Pose | None = None, **settings: Any) -> fs.Agent:
    start = pose or fs.Pose.from_xyz(0, 0, 0)
    agent: fs.Agent = sim.spawn(
        fs.AgentSpawnParams(initial_pose=start, motion_mode="omnidirectional", max_linear_accel=2.0, **settings)
    )
    return agent


def test_asking_twice_gives_the_same(sim: Sim) -> None:
    agent = robot(sim)
    imu = sim.add_sensor("imu", agent, accel_noise=0.1, accel_bias_walk=0.3, gyro_noise=0.1, orientation_noise=0.1)
    imu.subscribe()
    agent.set_velocity(1.0)
    for _ in range(3):
        sim.step_once()
        first, second = imu.latest, imu.read()
        for name in ("orientation", "angular_velocity", "linear_acceleration"):
            assert getattr(first, name).tolist() == getattr(second, name).tolist()


def test_a_consumer_that_comes_late_hears_nothing_of_the_past(sim: Sim) -> None:
    agent = robot(sim)
    imu = sim.add_sensor("imu", agent)
    agent.set_velocity(1.0)
    for _ in range(10):
        sim.step_once()
    imu.subscribe()
    sim.step_once()
    assert imu.latest.linear_acceleration.tolist() == [0, 0, G]


def test_noise_is_as_dense_as_said_at_every_rate(make_sim: MakeSim) -> None:
    for rate in (None, 2):
        sim = make_sim(seed=1)
        settings = {"rate": rate, "accel_noise": 0.2, "gyro_noise": 0.01, "orientation_noise": 0.001}
        imus = [sim.add_sensor("imu", name=f"imu{index}", **settings) for index in range(500)]
        readings: list[Any] = []
        for imu in imus:
            imu.on_reading(lambda sensor, reading, readings=readings: readings.append(reading))
        for _ in range(10):
            sim.step_once()
        deviation = 1.0 / math.sqrt(0.1 if rate is None else 1.0 / rate)
        felt = np.array([reading.linear_acceleration for reading in readings]) - [0, 0, G]
        turned = np.array([reading.angular_velocity for reading in readings])
        assert felt.std() == pytest.approx(0.2 * deviation, rel=0.06)
        assert turned.std() == pytest.approx(0.01 * deviation, rel=0.06)
        assert 2 * np.array([reading.orientation[:3] for reading in readings]).std() == pytest.approx(0.001, rel=0.06)
        assert abs(np.corrcoef(felt.T)[0, 1]) < 0.1


def test_biases_walk(make_sim: MakeSim) -> None:
    sim = make_sim(seed=2)
    imus = [sim.add_sensor("imu", name=f"imu{i}", accel_bias_walk=0.3, gyro_bias_walk=0.1, rate=5) for i in range(400)]
    for imu in imus:
        imu.subscribe()
    spread = []
    for _ in range(2):
        for _ in range(20):
            sim.step_once()
        felt = np.array([imu.latest.linear_acceleration for imu in imus]) - [0, 0, G]
        turned = np.array([imu.latest.angular_velocity for imu in imus])
        spread.append((felt.std(), turned.std()))
    assert spread[0] == pytest.approx((0.3 * math.sqrt(2), 0.1 * math.sqrt(2)), rel=0.08)
    assert spread[1] == pytest.approx((0.3 * math.sqrt(4), 0.1 * math.sqrt(4)), rel=0.08)


def test_wrong_settings() -> None:
    with pytest.raises(fs.ConfigError, match="accel_noise: must be a number at least 0"):
        ImuParams(accel_noise=-0.1)


# ---- Odometry: the truth where it has no errors, and a drift as large as said where it has ---------------------------


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

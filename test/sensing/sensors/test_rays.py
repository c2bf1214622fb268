"""Rays in all directions: they end at the nearest thing, as PyBullet's do."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import fleet_sim as fs

Sim = fs.MultiRobotSimulationCore


def test_rays_without_pybullet(sim: Sim, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pybullet", None)
    ball = fs.ShapeParams("sphere", radius=0.5)
    sim.spawn(fs.SimObjectSpawnParams(ball, ball, fs.Pose.from_xyz(3, 0, 1)))
    carrier = sim.spawn(fs.AgentSpawnParams(ball, ball, fs.Pose.from_xyz(0, 0, 1)))
    layers = sim.add_sensor("lidar_3d", carrier, rays=4, layers=3, elevation_min=-0.7, elevation_max=0.7, range_max=9.0)
    assert layers.read().ranges[:, 2] == pytest.approx([1.0 / math.sin(0.7), 2.5, math.inf])
    cone = sim.add_sensor("range", carrier, shape="cone", rays=1)
    assert cone.read().range == pytest.approx(2.5)
    tilted = sim.add_sensor("lidar", carrier, pose=fs.Pose.from_euler(0, 0, 0, 0, 0.5, 0), rays=4, labels=True)
    scan = tilted.read()
    assert scan.ranges[2] == pytest.approx(1.0 / math.sin(0.5))
    assert (scan.labels == -1).all()

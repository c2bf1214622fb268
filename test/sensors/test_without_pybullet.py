"""Sensors that PyBullet computes are refused where it is not installed, when they are added and not in some step."""

from __future__ import annotations

from typing import Any

import pytest
from small_world import build

from fleet_sim import MissingDependencyError


@pytest.mark.parametrize(
    "spec",
    [{"type": "lidar_3d"}, {"type": "range", "shape": "cone"}, {"type": "camera", "renderer": "tiny"}],
    ids=lambda spec: spec["type"],
)
def test_a_sensor_that_needs_pybullet_is_refused(spec: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fleet_sim.sensors.kind.find_spec", lambda name: None)
    with build({}) as sim:
        with pytest.raises(MissingDependencyError, match="needs the Python module 'pybullet'"):
            sim.add_sensor(spec)
        assert not sim.sensors
        sim.add_sensor({"type": "range"})

"""What PyBullet computes is refused where it is not installed, when it is added and not in some step."""

from __future__ import annotations

import pytest
from small_world import build

from fleet_sim import MissingDependencyError


def test_a_camera_that_pybullet_draws_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fleet_sim.sensing.sensors.sensor.find_spec", lambda name: None)
    with build({}) as sim:
        with pytest.raises(MissingDependencyError, match="needs the Python module 'pybullet'"):
            sim.add_sensor({"type": "camera", "renderer": "tiny"})
        assert not sim.sensors
        for spec in ({"type": "lidar_3d"}, {"type": "range", "shape": "cone"}):
            sim.add_sensor(spec)

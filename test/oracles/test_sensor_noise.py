"""Rates of sensors, and the spread of their noise, against the settings: counts, means and deviations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import solids_apart as apart
from oracle_rows import holds

import fleet_sim as fs

CARRIER = fs.Pose.from_euler(0.4, -0.3, 0.5, 0.0, 0.0, 0.7)
LEVEL = fs.Pose.from_euler(0.21, 0.14, 0.33, 0.0, 0.0, 1.1)
TILTED = fs.Pose.from_euler(0.23, -0.11, 0.37, 0.3, 0.25, -0.6)


@pytest.mark.parametrize(("dt", "rate"), [(0.05, 7.0), (0.013, 31.0), (0.05, None)])
@holds("api:Sensor.on_reading", fault="sensing/sensors/system.py: the period of a sensor is rounded up to whole steps")
def test_readings_in_a_time_are_as_many_as_the_rate_says(dt: float, rate: float | None) -> None:
    sim, robot, _, _ = apart.scene("never", dt, CARRIER)
    kinds: dict[str, Callable[..., Any]] = {"scan": fs.LidarParams, "sonar": fs.RangeParams, "imu": fs.ImuParams}
    times: dict[str, list[float]] = {name: [] for name in kinds}
    begin = sim.sim_time
    for name, kind in kinds.items():
        sensor = sim.add_sensor(kind(rate=rate, name=name, pose=LEVEL), robot)
        sensor.on_reading(lambda _, reading, name=name: times[name].append(reading.time))
    steps = round(3.0 / dt)
    for _ in range(steps):
        sim.step_once()
    for told in times.values():
        wanted = steps if rate is None else (sim.sim_time - begin) * rate
        assert abs(len(told) - wanted) <= 1.0
        assert rate is None or np.abs(np.diff(told) - 1.0 / rate).max() < dt + 1e-9


@holds(
    "api:LidarReading.ranges", "api:RangeReading.range", "api:CameraReading.depth", "ros:sensor_msgs/LaserScan.ranges",
    fault="sensing/sensors/lidar.py: the relative noise is that of one metre at any distance",
)  # fmt: skip
def test_noise_is_as_wide_as_set_around_the_truth() -> None:
    sim, robot, _, _ = apart.scene("never", 0.05, CARRIER)
    settings: dict[str, Any] = {"pose": TILTED, "rays": 360, "range_max": 4.0}
    true = sim.add_sensor(fs.LidarParams(name="true", **settings), robot).read().ranges
    noisy = sim.add_sensor(fs.LidarParams(name="noisy", noise=0.013, relative_noise=0.021, **settings), robot)
    found = []
    for _ in range(60):
        sim.step_once()
        found.append(noisy.read().ranges)
    hit = np.isfinite(true)
    off = np.array(found)[:, hit] - true[hit]
    wide = np.hypot(0.013, 0.021 * true[hit])
    assert np.std(off / wide) == pytest.approx(1.0, abs=0.03)
    assert abs(np.mean(off / wide)) < 0.03
    for low, high in ((0.0, 1.5), (1.5, 4.0)):
        part = (true[hit] >= low) & (true[hit] < high)
        assert part.sum() < 10 or np.std((off / wide)[:, part]) == pytest.approx(1.0, abs=0.06)
    assert np.isinf(np.array(found)[:, ~hit]).all()


@holds(
    "api:CameraReading.depth", "api:CameraReading.rgb", "api:RangeReading.range", "api:Lidar3dReading.ranges",
    fault="sensing/sensors/sensor.py: the noise of colors is a fraction of each color",
)  # fmt: skip
def test_noise_of_cameras_sonars_and_clouds_is_as_wide_as_set(pictures: None) -> None:
    sim, robot, _, _ = apart.scene("never", 0.05, CARRIER)
    shot: dict[str, Any] = {"pose": TILTED, "width": 64, "height": 48, "far": 3.0, "channels": ("rgb", "depth")}
    layers: dict[str, Any] = {"pose": TILTED, "rays": 60, "layers": 5, "range_max": 4.0}
    beam: dict[str, Any] = {"pose": TILTED, "field_of_view": 0.8, "range_max": 9.0}
    pairs = {
        kind: [sim.add_sensor(kind(name=f"{kind.__name__}{index}", **given), robot) for index, given in enumerate(both)]
        for kind, both in {
            fs.CameraSensorParams: (shot, {**shot, "rgb_noise": 0.04, "depth_noise": 0.017}),
            fs.Lidar3dParams: (layers, {**layers, "noise": 0.023}),
            fs.RangeParams: (beam, {**beam, "noise": 0.031}),
        }.items()
    }
    off: dict[str, list[np.ndarray]] = {"rgb": [], "depth": [], "ranges": [], "range": []}
    for _ in range(60):
        sim.step_once()
        for index, (true, noisy) in enumerate(pairs.values()):
            # Pictures take longest, and each has thousands of pixels.
            if index or len(off["rgb"]) < 5:
                one, other = true.read(), noisy.read()
                for name in off:
                    if hasattr(one, name):
                        first, second = np.atleast_1d(getattr(one, name)), np.atleast_1d(getattr(other, name))
                        seen = np.isfinite(first) & np.isfinite(second)
                        if name == "rgb":
                            # Colors end at black and at white.
                            assert np.abs(second.astype(float) - first).max() < 6.5 * 0.04 * 255.0
                            assert first.max() > 235
                            seen &= (first > 40) & (first < 215)
                        off[name].append(second[seen].astype(float) - first[seen])
    for name, wide in {"rgb": 0.04 * 255.0, "depth": 0.017, "ranges": 0.023, "range": 0.031}.items():
        told = np.concatenate(off[name])
        assert np.std(told) == pytest.approx(wide, rel=4.0 / math.sqrt(len(told)) + 0.01), name
        assert abs(np.mean(told)) < 4.0 * wide / math.sqrt(len(told)) + 0.002 * wide + 0.01 * (name == "rgb"), name
    # Depths that are seen end at the near and the far plane, however wide the noise.
    wild = sim.add_sensor(fs.CameraSensorParams(name="wild", near=0.4, depth_noise=2.0, **shot), robot)
    depth = wild.read().depth
    ends = depth[np.isfinite(depth)]
    assert (ends.min(), ends.max()) == pytest.approx((0.4, 3.0)) and np.isinf(depth).any()

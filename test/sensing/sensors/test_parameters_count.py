"""No parameter of a sensor is accepted and then ignored: each one, changed, changes what it reads, or its name.

A parameter that is added needs a line here: another value, and what else has to be set for it to count.
"""

from __future__ import annotations

import functools
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest
import system_packages
from small_world import BOX, build

from fleet_sim import AgentSpawnParams, Pose, ShapeParams, SimObjectSpawnParams
from fleet_sim.base.settings.fields import fields_of
from fleet_sim.sensing.sensors.registry import SENSORS

TURNED = {"position": [0.3, 0.1, 0.4], "yaw": 0.4}
WALL = ShapeParams("box", half_extents=(0.2, 3.0, 1.0), rgba_color=(1, 0, 0, 1))


def contents(value: Any) -> Any:
    """Return what a reading holds, as something that can be compared."""
    if isinstance(value, np.ndarray):
        return value.shape, value.tobytes()
    if is_dataclass(value):
        return {field.name: contents(getattr(value, field.name)) for field in fields(value)}
    return repr(value)


@functools.cache
def plain_readings(kind: str) -> Any:
    """Return what a sensor of a kind reads with the parameters that all cases begin from."""
    return readings({"type": kind, **BASE.get(kind, {})})


def readings(spec: dict[str, Any]) -> Any:
    """Return what a sensor reads on an arm that drives and moves towards a wall, and touches a box."""
    # Closed at once: a renderer holds 70 MB until then.
    with build({"physics": spec["type"] == "force_torque"}) as sim:
        for place, shape in ((Pose((2.5, 0, 1)), WALL), (Pose((0.0, 2.0, 0.3)), BOX), (Pose((0.05, 0.05, 0.1)), BOX)):
            if not sim.params.physics:
                sim.spawn(SimObjectSpawnParams(shape, shape, place))
        mass = {"mass": None, "use_fixed_base": True} if sim.params.physics else {}
        arm = AgentSpawnParams(urdf_path="arm6", motion_mode="omnidirectional", sensors=[spec], **mass)
        robot = sim.spawn(arm)
        (sensor,) = robot.sensors
        if not sim.params.physics:
            robot.set_velocity(0.5, 0.2, wz=0.5)
        robot.set_joints_targets_by_name({"joint_1": 1.0, "joint_2": 0.7})
        seen: list[Any] = []
        sensor.on_reading(lambda sensor, reading: seen.append(contents(reading)))
        for _ in range(8):
            sim.step_once()
        assert seen
        return sensor.name, seen


COMMON = {"name": "other", "rate": 4.0, "link": "forearm_link", "pose": TURNED}
OWN: dict[str, dict[str, Any]] = {
    "camera": {
        **{"width": 20, "height": 10, "horizontal_fov": 0.6, "intrinsics": [30.0, 30.0, 7.0, 3.0], "near": 1.5},
        **{"far": 1.0, "channels": ["depth"], "frame": "optical", "shadows": True, "rgb_noise": 0.1},
        **{"depth_noise": 0.1, "renderer": "tiny", "rate": 20.0},
    },
    "contact": {"angle_min": 0.5, "angle_max": 0.5},
    "force_torque": {"force_noise": 0.1, "torque_noise": 0.1},
    "imu": {
        **{"orientation_noise": 0.1, "gyro_noise": 0.1, "gyro_bias_walk": 0.1, "accel_noise": 0.1},
        "accel_bias_walk": 0.1,
    },
    "lidar": {
        **{"rays": 40, "angle_min": -1.0, "angle_max": 1.0, "range_min": 2.0, "range_max": 2.0, "noise": 0.1},
        **{"relative_noise": 0.1, "intensities": True, "labels": True},
    },
    "lidar_3d": {
        **{"rays": 40, "layers": 8, "angle_min": -1.0, "angle_max": 1.0, "elevation_min": -0.1, "range_min": 2.0},
        **{"elevation_max": 0.1, "range_max": 2.0, "noise": 0.1, "relative_noise": 0.1},
    },
    "odometry": {
        **{"linear_scale": 1.1, "angular_scale": 1.1, "linear_noise": 0.1, "angular_noise": 0.1},
        "heading_noise": 0.1,
    },
    "range": {
        **{"field_of_view": 1.5, "shape": "cone", "rays": 4, "range_min": 2.2, "range_max": 1.0, "noise": 0.1},
        "relative_noise": 0.1,
    },
}
BASE: dict[str, dict[str, Any]] = {
    "camera": {"width": 16, "height": 12, "pose": {"position": [0.6, 0, 1.0], "rpy": [0, 0.5, 0]}},
    "range": {"pose": {"position": [0.6, 0, 1.0], "yaw": 0.1}},
    "lidar": {"pose": {"position": [0.6, 0, 1.0]}},
    "lidar_3d": {"pose": {"position": [0.6, 0, 1.0]}},
    "force_torque": {"link": "wrist_1_link"},
}
ELSEWHERE = {("range", "radiation"): "a word in messages of ROS 2 alone: system/test_sensors.py"}
"""Parameters that no reading shows, and what does."""

CASES = [(kind, name, value) for kind, own in OWN.items() for name, value in {**COMMON, **own}.items()]


@pytest.mark.parametrize(("kind", "name", "value"), CASES)
def test_a_parameter_of_a_sensor_counts(kind: str, name: str, value: Any) -> None:
    if kind == "camera":
        # PyBullet's renderer, which draws where there is no OpenGL, knows no shadows, and is the other one to compare.
        (system_packages.need_opengl if name in ("shadows", "renderer") else system_packages.need_pictures)()
    assert readings({"type": kind, **BASE.get(kind, {}), name: value}) != plain_readings(kind)


@pytest.mark.parametrize("kind", sorted(OWN))
def test_every_parameter_of_a_sensor_is_looked_at(kind: str) -> None:
    assert set(fields_of(SENSORS.get(kind).params_class)) == {
        *COMMON,
        *OWN[kind],
        *(name for of, name in ELSEWHERE if of == kind),
    }


def test_every_sensor_is_looked_at() -> None:
    assert {name for name in SENSORS.names() if SENSORS.get(name).__module__.startswith("fleet_sim.")} == set(OWN)

"""Sensors as topics: read while somebody listens, in their frames, in simulation time, and a map that agrees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from nav_msgs.msg import OccupancyGrid
from node_program import LATCHED, Client, Running, SharedNode, shared_node
from rclpy.qos import QoSProfile, qos_profile_sensor_data

SCENARIO = """
simulation: {timestep: 0.05, seed: 1}
robots:
  - name: bot
    pose: [1.0, 2.0, 0.15, 1.5707963]
    shape: {shape_type: cylinder, radius: 0.2, height: 0.3}
    sensors:
      - {type: lidar, rate: 10, pose: [0.1, 0.0, 0.1], rays: 4, range_max: 9.0, intensities: true}
      - {type: imu, rate: 20, pose: [0.0, 0.0, 0.1], accel_noise: 0.02}
      - {type: range, radiation: infrared, pose: [0.2, 0.0, 0.0], field_of_view: 0.2}
      - {type: contact}
      - {type: odometry, linear_scale: 1.5}
      - {type: lidar_3d, rate: 5, layers: 3, rays: 8, pose: [0.0, 0.0, 0.3]}
sensors:
  - {type: lidar, name: gate, pose: [0.0, 0.0, 0.25], rays: 360, range_max: 9.0}
objects:
  - {name: box, pose: [1.0, 4.5, 0.5], shape: {shape_type: box, half_extents: [0.5, 0.5, 0.5]}, collision_mode: static}
  - {name: pole, pose: [-2.0, 0.5, 0.5], shape: {shape_type: cylinder, radius: 0.3}, collision_mode: static}
  - {name: crate, pose: [1.35, 2.0, 0.15], shape: {shape_type: box, half_extents: [0.2, 0.2, 0.15]}}
"""


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedNode]:
    with shared_node(tmp_path_factory.mktemp("node"), "-p", "target_rtf:=5.0", scenario=SCENARIO) as node:
        yield node


def first(client: Client, kind: Any, topic: str, profile: QoSProfile = qos_profile_sensor_data) -> Any:
    """Return the first message that arrives on a topic."""
    messages = client.listen(kind, topic, profile)
    return client.until(lambda: messages and messages[0], topic)


def test_late_joiners_get_the_map_too(fleet: Running) -> None:
    client = fleet[1]
    first(client, OccupancyGrid, "/map", LATCHED)
    other = Client("late")
    try:
        first(other, OccupancyGrid, "/map", LATCHED)
    finally:
        other.close()

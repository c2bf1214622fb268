"""Sensors as topics: read while somebody listens, in their frames, in simulation time, and a map that agrees."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from geometry_msgs.msg import Twist
from nav_msgs.msg import OccupancyGrid, Odometry
from node_program import LATCHED, Client, Running, SharedNode, shared_node
from rclpy.qos import QoSProfile, qos_profile_sensor_data
from sensor_msgs.msg import LaserScan

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


@pytest.fixture
def hall(node: SharedNode) -> Iterator[Running]:
    with node.visited() as both:
        yield both


def first(client: Client, kind: Any, topic: str, profile: QoSProfile = qos_profile_sensor_data) -> Any:
    """Return the first message that arrives on a topic."""
    messages = client.listen(kind, topic, profile)
    return client.until(lambda: messages and messages[0], topic)


def seconds(message: Any) -> float:
    return float(message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec)


def test_a_scan(hall: Running) -> None:
    _, client = hall
    scans = client.listen(LaserScan, "/bot/scan", qos_profile_sensor_data)
    client.until(lambda: len(scans) > 3, "scans")
    scan = scans[0]
    assert scan.header.frame_id == "bot/scan"
    assert (scan.angle_min, scan.angle_increment) == pytest.approx((-math.pi, math.pi / 2))
    assert scan.angle_max == pytest.approx(math.pi / 2)
    assert (scan.range_max, scan.scan_time) == pytest.approx((9.0, 0.1))
    # Behind, right, ahead, left; the robot looks along y.
    assert list(scan.ranges) == pytest.approx([math.inf, 0.15, 4.0 - 2.1, math.inf])
    assert list(scan.intensities) == pytest.approx([0.0, 1.0, 1.0, 0.0])
    times = np.array([seconds(scan) for scan in scans])
    assert np.diff(times) == pytest.approx(np.full(len(times) - 1, 0.1))


def test_odometry_that_drifts(hall: Running) -> None:
    client = hall[1]
    beliefs = client.listen(Odometry, "/bot/odometry", qos_profile_sensor_data)
    truths = client.listen(Odometry, "/bot/odom")
    commands = client.publisher(Twist, "/bot/cmd_vel")
    client.until(lambda: beliefs and truths, "odometry")
    assert (beliefs[0].header.frame_id, beliefs[0].child_frame_id) == ("bot/odom", "bot/odometry")
    start = beliefs[0].pose.pose.position
    assert (start.x, start.y, start.z) == pytest.approx((1.0, 2.0, 0.15))
    command = Twist()
    command.linear.x = 0.5
    commands.publish(command)
    client.until(lambda: truths[-1].pose.pose.position.y > 2.1 and truths[-1].twist.twist.linear.x == 0.0, "a rest")
    # The robot looks along y, and believes to have come half as far again.
    expected = 2.0 + 1.5 * (truths[-1].pose.pose.position.y - 2.0)
    client.until(lambda: abs(beliefs[-1].pose.pose.position.y - expected) < 1e-6, "the end of the drift")
    assert max(belief.twist.twist.linear.x for belief in beliefs) > 0.5


def test_the_map_is_what_lidars_see(hall: Running) -> None:
    client = hall[1]
    grid = first(client, OccupancyGrid, "/map", LATCHED)
    scan = first(client, LaserScan, "/gate")
    assert (grid.header.frame_id, scan.header.frame_id) == ("map", "gate")
    cells = np.array(grid.data, np.int8).reshape(grid.info.height, grid.info.width)
    angles = scan.angle_min + scan.angle_increment * np.arange(360)
    ranges = np.array(scan.ranges)
    # The robot and the crate are seen, but are not on the map: they are all that is right of the axis and near.
    fixed_mask = np.isfinite(ranges) & ~((np.abs(angles - 1.05) < 0.25) & (ranges < 3.0))
    assert fixed_mask.sum() > 20
    hits = np.stack((np.cos(angles), np.sin(angles)), axis=1)[fixed_mask] * (ranges[fixed_mask] + 1e-3)[:, None]
    origin = (grid.info.origin.position.x, grid.info.origin.position.y)
    columns, lines = np.floor((hits - origin) / grid.info.resolution).astype(int).T
    assert (cells[lines, columns] == 100).all()
    assert 0.02 < (cells == 100).mean() < 0.3


def test_late_joiners_get_the_map_too(hall: Running) -> None:
    client = hall[1]
    first(client, OccupancyGrid, "/map", LATCHED)
    other = Client("late")
    try:
        first(other, OccupancyGrid, "/map", LATCHED)
    finally:
        other.close()

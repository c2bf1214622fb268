"""Cameras as topics: rendered while somebody listens, in optical frames, with intrinsics that match the pictures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from node_program import Client, Running, SharedNode, shared_node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import Image

pytest.importorskip("pybullet")

SCENARIO = """
simulation: {timestep: 0.05, seed: 1}
robots:
  - name: bot
    pose: [1.0, 2.0, 0.15, 1.5707963]
    shape: {shape_type: box, half_extents: [0.2, 0.2, 0.1]}
    sensors:
      - {type: camera, rate: 10, pose: [0.25, 0.0, 0.35], width: 64, height: 48, horizontal_fov: 1.2}
sensors:
  - {type: camera, name: eye, pose: [0.0, 0.0, 1.0], width: 33, height: 21, channels: [depth]}
objects:
  - name: box
    pose: [1.0, 4.5, 0.5]
    shape: {shape_type: box, half_extents: [0.5, 0.5, 0.5], rgba_color: [1.0, 0.1, 0.1, 1.0]}
    collision_mode: static
"""


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedNode]:
    with shared_node(tmp_path_factory.mktemp("node"), "-p", "target_rtf:=2.0", scenario=SCENARIO) as node:
        yield node


def listen(client: Client, kind: Any, topic: str) -> list[Any]:
    return client.listen(kind, topic, qos_profile_sensor_data)


def test_a_camera_without_colors_has_no_pictures(fleet: Running) -> None:
    client = fleet[1]
    depths = listen(client, Image, "/eye/depth/image_raw")
    depth = client.until(lambda: depths and depths[0], "depth")
    assert (depth.header.frame_id, depth.height, depth.width) == ("eye_optical_frame", 21, 33)

    def topics() -> set[str]:
        return {name for name, _ in client.node.get_topic_names_and_types() if name.startswith("/eye/")}

    client.until(lambda: "/eye/points" in topics(), "all topics of the camera")
    assert topics() == {"/eye/camera_info", "/eye/depth/image_raw", "/eye/points"}

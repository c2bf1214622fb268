"""Cameras as topics: rendered while somebody listens, in optical frames, with intrinsics that match the pictures."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from node_program import Client, Running, SharedNode, shared_node, static_frames
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import CameraInfo, Image, PointCloud2

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


@pytest.fixture
def hall(node: SharedNode) -> Iterator[Running]:
    with node.visited() as both:
        yield both


def stamp(message: Any) -> tuple[int, int]:
    return message.header.stamp.sec, message.header.stamp.nanosec


def listen(client: Client, kind: Any, topic: str) -> list[Any]:
    return client.listen(kind, topic, qos_profile_sensor_data)


def test_pictures_depth_points_and_intrinsics_belong_together(hall: Running) -> None:
    client = hall[1]
    kinds = {"image_raw": Image, "depth/image_raw": Image, "camera_info": CameraInfo, "points": PointCloud2}
    heard = {topic: listen(client, kind, f"/bot/camera/{topic}") for topic, kind in kinds.items()}

    def common() -> Any:
        stamps = [{stamp(message) for message in messages} for messages in heard.values()]
        return set.intersection(*stamps)

    when = min(client.until(common, "pictures with equal stamps"))
    image, depth, info, cloud = (
        next(message for message in messages if stamp(message) == when) for messages in heard.values()
    )
    assert {message.header.frame_id for message in (image, depth, info, cloud)} == {"bot/camera_optical_frame"}
    assert (image.encoding, image.height, image.width, image.step) == ("rgb8", 48, 64, 192)
    colors = np.frombuffer(bytes(image.data), np.uint8).reshape(48, 64, 3)
    assert colors[24, 32, 0] > 2 * colors[24, 32, 1], "the box is red"
    assert (depth.encoding, depth.step, depth.is_bigendian) == ("32FC1", 256, 0)
    metres = np.frombuffer(bytes(depth.data), "<f4").reshape(48, 64)
    # From 2.25 to the side of the box at 4.0.
    assert metres[24, 32] == pytest.approx(1.75, rel=1e-3) and math.isinf(metres[0, 0])
    focal = 32.0 / math.tan(0.6)
    assert list(info.k) == pytest.approx([focal, 0.0, 31.5, 0.0, focal, 23.5, 0.0, 0.0, 1.0])
    assert list(info.p) == pytest.approx([focal, 0.0, 31.5, 0.0, 0.0, focal, 23.5, 0.0, 0.0, 0.0, 1.0, 0.0])
    assert (info.height, info.width, info.distortion_model, list(info.d)) == (48, 64, "plumb_bob", [0.0] * 5)
    points = np.frombuffer(bytes(cloud.data), "<f4").reshape(48, 64, 4)
    assert points[24, 32, :3] == pytest.approx([0.5 / focal * 1.75, 0.5 / focal * 1.75, 1.75], rel=1e-3)
    packed = points[24, 32, 3:].view(np.uint8)
    assert packed[2::-1].tolist() == colors[24, 32].tolist()
    assert [field.name for field in cloud.fields] == ["x", "y", "z", "rgb"]


def test_a_camera_without_colors_has_no_pictures(hall: Running) -> None:
    client = hall[1]
    depths = listen(client, Image, "/eye/depth/image_raw")
    depth = client.until(lambda: depths and depths[0], "depth")
    assert (depth.header.frame_id, depth.height, depth.width) == ("eye_optical_frame", 21, 33)

    def topics() -> set[str]:
        return {name for name, _ in client.node.get_topic_names_and_types() if name.startswith("/eye/")}

    client.until(lambda: "/eye/points" in topics(), "all topics of the camera")
    assert topics() == {"/eye/camera_info", "/eye/depth/image_raw", "/eye/points"}


def test_optical_frames_look_along_their_cameras(hall: Running) -> None:
    client = hall[1]
    known = static_frames(client, "bot/camera", "bot/camera_optical_frame", "eye_optical_frame")
    optical, body = known["bot/camera_optical_frame"], known["bot/camera"]
    assert (optical.header.frame_id, body.header.frame_id) == ("bot/camera", "bot/base_link")
    turn = optical.transform.rotation
    assert [turn.x, turn.y, turn.z, turn.w] == [-0.5, 0.5, -0.5, 0.5]
    assert body.transform.translation.z == pytest.approx(0.35)

# ruff: noqa: E402  recordings need packages, without which there is nothing to test
"""Readings of sensors in recordings, as the readers of others find them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fleet_sim as fs

pytest.importorskip("mcap")
pytest.importorskip("rosbags")
Image = pytest.importorskip("PIL.Image")

from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from rosbags.rosbag2 import Reader

from fleet_sim.apps.record.recording import Recording

SENSORS = [
    {"type": "lidar", "rays": 36, "range_max": 5.0, "rate": 10.0, "pose": [0.2, 0.0, 0.1]},
    {"type": "imu", "gyro_noise": 0.01},
    {"type": "odometry", "linear_noise": 0.01},
    {"type": "camera", "name": "eye", "width": 32, "height": 24, "rate": 5.0, "intrinsics": [21.0, 19.0, 15.0, 11.0]},
    {"type": "range", "name": "sonar"},
]
SCENARIO = {
    "simulation": {"gui": False, "timestep": 0.05, "target_rtf": 0, "seed": 5},
    "robots": [
        {
            "name": "cart",
            "pose": [0, 0, 0.3],
            "motion_mode": "omnidirectional",
            "shape": {"shape_type": "box", "half_extents": [0.3, 0.2, 0.1]},
            "sensors": SENSORS,
        }
    ],
    "objects": [{"name": "crate", "pose": [3, 0, 0.3], "shape": {"shape_type": "box", "half_extents": [0.5] * 3}}],
}


def messages_in(path: Path) -> dict[str, list[Any]]:
    """Return the messages by topic, as the reader of MCAP decodes them."""
    found: dict[str, list[Any]] = {}
    with path.open("rb") as stream:
        reader = make_reader(stream, decoder_factories=[DecoderFactory()])
        for schema, channel, _, message in reader.iter_decoded_messages():
            assert schema is not None and (schema.encoding, channel.message_encoding) == ("ros2msg", "cdr")
            found.setdefault(channel.topic, []).append(message)
        assert reader.get_header().profile == "ros2"
    return found


def test_readings_are_messages_that_others_read(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    with fs.MultiRobotSimulationCore.from_dict(SCENARIO) as sim:
        cart = sim.get_object("cart")
        cart.set_velocity(vx=0.3)
        scan, imu, odometry, eye, sonar = sim.sensors.of(cart.row)
        with sim.record(path, sensors=("lidar", "imu", "odometry", "camera")):
            sim.run_simulation(1.0)
            assert all(sensor.has_consumer for sensor in (scan, imu, odometry, eye))
            assert not sonar.has_consumer
            last = eye.latest
        assert not any(sensor.has_consumer for sensor in (scan, imu, odometry, eye))
    found = messages_in(path)
    assert (found["/cart/scan"][-1].header.frame_id, len(found["/cart/scan"])) == ("cart/scan", 10)
    picture = found["/cart/eye/image_raw/compressed"][-1]
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(bytes(picture.data)))), last.rgb)
    info = found["/cart/eye/camera_info"][-1]
    assert (info.width, info.height, list(info.d), list(info.r)) == (32, 24, [0.0] * 5, np.eye(3).ravel().tolist())
    assert list(info.k) == [21.0, 0.0, 15.0, 0.0, 19.0, 11.0, 0.0, 0.0, 1.0]
    assert list(info.p) == [21.0, 0.0, 15.0, 0.0, 0.0, 19.0, 11.0, 0.0, 0.0, 0.0, 1.0, 0.0]
    placed = {item.child_frame_id: item for message in found["/tf_static"] for item in message.transforms}
    assert placed["cart/scan"].header.frame_id == "cart/base_link"
    assert placed["cart/scan"].transform.translation.x == 0.2
    assert placed["cart/eye_optical_frame"].header.frame_id == "cart/eye"
    with Reader(path) as bag:
        kinds = {connection.topic: connection.msgtype for connection in bag.connections}
        assert kinds["/cart/eye/image_raw/compressed"] == "sensor_msgs/msg/CompressedImage"
        assert kinds["/cart/imu"] == "sensor_msgs/msg/Imu"
    # What is for others does not disturb our own reader.
    with Recording(path) as recording:
        assert recording.snapshot_at(1.0).positions[0, 0] > 0.2


def test_sensors_that_come_later_are_recorded_and_kinds_that_cannot_be_are_refused(tmp_path: Path) -> None:
    with fs.MultiRobotSimulationCore.from_dict(SCENARIO) as sim:
        with pytest.raises(
            fs.InvalidValueError, match="'range' cannot be recorded; known: camera, imu, lidar, odometry"
        ):
            sim.record(tmp_path / "run.mcap", sensors=("range",))
        with sim.record(tmp_path / "run.mcap", sensors=("all",)):
            sim.run_simulation(0.2)
            box = fs.ShapeParams("box", half_extents=(0.3, 0.2, 0.1))
            sim.spawn(fs.AgentSpawnParams(box, box, fs.Pose((0, 5, 0.3)), name="late", sensors=[{"type": "imu"}]))
            sim.run_simulation(0.2)
    with Recording(tmp_path / "run.mcap") as recording:
        topics = recording.index.topics
        assert {"/cart/scan", "/cart/imu", "/late/imu"} <= set(topics)
        assert len(topics["/late/imu"].places) in (3, 4) and "/cart/sonar" not in topics


def test_sensors_of_objects_have_their_frames(tmp_path: Path) -> None:
    box = {"shape_type": "box", "half_extents": [0.2] * 3}
    crate = {"name": "crate", "pose": [3, 0, 0.3], "shape": box}
    scenario = {"simulation": SCENARIO["simulation"], "objects": [crate]}
    with fs.MultiRobotSimulationCore.from_dict(scenario) as sim:
        sim.add_sensor("imu", "crate")
        sim.add_sensor("odometry", "crate")
        with sim.record(tmp_path / "run.mcap", sensors=("all",)):
            sim.run_simulation(0.2)
    found = messages_in(tmp_path / "run.mcap")
    static = [(t.header.frame_id, t.child_frame_id) for message in found["/tf_static"] for t in message.transforms]
    assert sorted(static) == [
        ("crate", "crate/base_link"),
        ("crate/base_link", "crate/imu"),
        ("crate/base_link", "crate/odometry"),
        ("map", "crate/odom"),
    ]
    assert found["/crate/odometry"][-1].header.frame_id == "crate/odom"
    assert {t.child_frame_id for message in found["/tf"] for t in message.transforms} == {"crate"}

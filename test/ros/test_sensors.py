"""Readings as messages: what is written into the bytes is what is read from them, and nothing is read for nobody."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hosted_node import hosted_node, until
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import Image

import fleet_sim as fs
from fleet_sim.ros.sensors import image_message
from fleet_sim.sensing.sensors.sensor import CameraSensorParams

rclpy = pytest.importorskip("rclpy")

from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.node import Node  # noqa: E402
from rclpy.qos import qos_profile_sensor_data  # noqa: E402
from sensor_msgs.msg import LaserScan  # noqa: E402

from fleet_sim.ros.node import FleetSimNode  # noqa: E402
from fleet_sim.ros.tf import frame_transform  # noqa: E402
from fleet_sim.sensing.sensors.sensor import frame_links  # noqa: E402
from fleet_sim.world.commands import Frames  # noqa: E402

SCENARIO = """
robots:
  - {name: a, pose: [0, 0, 0], sensors: [{type: lidar, rays: 8}, {type: imu}]}
  - {name: b, pose: [2, 0, 0], sensors: [{type: lidar, rays: 8}]}
"""


# ---- in the node -----------------------------------------------------------------------------------------------------


@pytest.fixture
def node(tmp_path: Path) -> Iterator[FleetSimNode]:
    scenario = tmp_path / "two.yaml"
    scenario.write_text(SCENARIO)
    with hosted_node("-p", f"config:={scenario}", "-p", "target_rtf:=0.0") as made:
        yield made


def test_nothing_is_read_without_a_subscriber(node: FleetSimNode) -> None:
    sim = node.simulation
    sensors = {sensor.label: sensor for sensor in sim.sensors.all}
    for _ in range(10):
        sim.step_once()
    assert [sensor.latest for sensor in sensors.values()] == [None] * 3
    context = rclpy.Context()
    rclpy.init(context=context)
    listener = Node("listener", context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(listener)
    scans: list[LaserScan] = []
    subscription = listener.create_subscription(LaserScan, "/a/scan", scans.append, qos_profile_sensor_data)
    try:
        until(lambda: scans, sim.step_once, lambda: executor.spin_once(timeout_sec=0.01))
        assert list(scans[0].ranges)[4] == pytest.approx(np.inf)
        assert sensors["a/scan"].has_consumer
        assert not sensors["b/scan"].has_consumer
        assert [sensors[name].latest for name in ("b/scan", "a/imu")] == [None, None]
        listener.destroy_subscription(subscription)
        until(lambda: not sensors["a/scan"].has_consumer, sim.step_once)
    finally:
        executor.shutdown()
        listener.destroy_node()
        rclpy.shutdown(context=context)


def test_topics_come_and_go_with_sensors(node: FleetSimNode) -> None:
    sim = node.simulation

    def topics() -> set[str]:
        return {name for name, _ in node.get_topic_names_and_types()}

    sim.step_once()
    assert {"/a/scan", "/b/scan", "/a/imu", "/map"} <= topics()
    sim.get_sensor("a/scan").remove()
    sim.remove_object(sim.get_object("b"))
    sim.add_sensor("range", "a", name="front")
    sim.add_sensor("range", "a", name="not a name")
    sim.step_once()
    until(lambda: {"/a/front", "/a/imu"} <= topics() and not {"/a/scan", "/b/scan"} & topics())


# ---- frames ----------------------------------------------------------------------------------------------------------


def test_frames_of_sensors_hang_from_what_carries_them(make_sim: Any) -> None:
    sim = make_sim()
    arm = sim.spawn(fs.AgentSpawnParams(urdf_path=fs.resolve_urdf("arm6"), use_fixed_base=True, name="arm"))
    link = sim.world.model_of(arm.row).link_names[3]
    frames = Frames("map", "/left")
    mounted = [
        sim.add_sensor("imu", arm, name="base_imu"),
        sim.add_sensor("imu", arm, name="link_imu", link=link, pose=[0.0, 0.1, 0.2]),
        sim.add_sensor("imu", name="ground", pose=[1.0, 2.0, 3.0]),
    ]
    transforms = [frame_transform(link) for sensor in mounted for link in frame_links(frames, sensor)]
    assert [(transform.header.frame_id, transform.child_frame_id) for transform in transforms] == [
        ("left/arm/base_link", "left/arm/base_imu"),
        (f"left/arm/{link}", "left/arm/link_imu"),
        ("map", "left/ground"),
    ]
    place = transforms[1].transform.translation
    assert (place.x, place.y, place.z) == (0.0, 0.1, 0.2)


def test_a_picture_that_nobody_asks_for_takes_no_memory() -> None:
    params = CameraSensorParams(width=3000, height=2000)
    size = 3 * params.width * params.height
    tracemalloc.start()
    try:
        message = image_message(params, "frame", "rgb8", 3)
        assert tracemalloc.get_traced_memory()[1] < size / 100
        tracemalloc.reset_peak()
        picture = np.arange(size, dtype=np.uint8)
        data = message.fill(5, data=picture)
        # A list of its bytes would take eight times as much for each copy.
        assert tracemalloc.get_traced_memory()[1] < 12 * size
    finally:
        tracemalloc.stop()
    read = deserialize_message(data, Image)
    assert (read.width, read.height, read.header.stamp.nanosec) == (3000, 2000, 5)
    assert np.array_equal(np.asarray(read.data, np.uint8), picture)

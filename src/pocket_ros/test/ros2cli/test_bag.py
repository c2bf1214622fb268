"""`ros2 bag`: record in MCAP, look at it, play it."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import rclpy
from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy, QoSProfile
from rosbags.highlevel import AnyReader
from rosbags.rosbag2 import Reader
from std_msgs.msg import String
from written_bags import write_strings


def record(ros2_process: Any, folder: Path, *words: str, options: tuple[str, ...] = ()) -> None:
    """Record until ten messages more than a first one have passed by."""
    process = ros2_process("bag", "record", "-o", folder, *words, *options)
    missing = set(words) or {"/fleet/point"}
    while missing:
        line = process.stderr.readline()
        assert line, "the recorder ended before it had subscribed"
        missing -= {topic for topic in missing if f"Subscribed to topic '{topic}'" in line}
    heard = ros2_process("topic", "echo", "--csv", "--field", "point.x", "/fleet/point")
    for _ in range(10):
        assert heard.stdout.readline() == "1.5\n"
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=30)
    assert process.returncode == 0, errors
    assert "Traceback" not in errors and f"Recording stopped: {folder}" in output


def test_record_info_and_play(robot: Any, ros2: Any, ros2_process: Any, tmp_path: Path) -> None:
    folder = tmp_path / "bag"
    record(ros2_process, folder, "/fleet/point", "/fleet/description")
    with AnyReader([folder]) as reader:
        found = {c.topic: reader.deserialize(data, c.msgtype) for c, _, data in reader.messages()}
        count = reader.topics["/fleet/point"].msgcount
        times = [time for _, time, _ in reader.messages()]
    assert count >= 5 and found["/fleet/point"].point.x == 1.5
    assert found["/fleet/description"].data == "a robot"

    info = ros2("bag", "info", folder).stdout
    assert "\nFiles:             bag.mcap\nBag size:          " in info
    assert "\nStorage id:        mcap\n" in info
    seconds, nanoseconds = divmod(max(times) - min(times), 10**9)
    assert f"\nDuration:          {seconds}.{nanoseconds:09d}s\n" in info
    assert f"Topic: /fleet/point | Type: geometry_msgs/msg/PointStamped | Count: {count} | " in info
    assert ros2("bag", "info", "-t", folder).stdout == "/fleet/description\n/fleet/point\n"

    echo = ros2_process("topic", "echo", "--once", "/replayed", "geometry_msgs/msg/PointStamped")
    player = ros2_process(
        "bag", "play", folder, "--loop", "--topics", "/fleet/point", "-m", "/fleet/point:=/replayed"
    )
    output, _ = echo.communicate(timeout=30)
    assert "frame_id: map" in output and "x: 1.5" in output
    player.send_signal(signal.SIGINT)
    _, errors = player.communicate(timeout=30)
    assert player.returncode == 0 and "Traceback" not in errors


def test_topics_are_recorded_by_type_and_compressed(robot: Any, ros2_process: Any, tmp_path: Path) -> None:
    folder = tmp_path / "bag"
    types = ("--topic-types", "geometry_msgs/msg/PointStamped", "std_msgs/msg/String")
    packing = (
        "--compression-mode",
        "file",
        "--compression-format",
        "zstd",
        "--custom-data",
        "place=here=now",
    )
    record(ros2_process, folder, options=(*types, "--exclude-topic-types", "std_msgs/msg/String", *packing))
    assert [path.name for path in folder.glob("bag*")] == ["bag.mcap.zstd"]
    with Reader(folder) as reader:
        assert [connection.topic for connection in reader.connections] == ["/fleet/point"]
        assert (reader.compression_mode, reader.message_count > 0) == ("file", True)
        assert reader.storage.metadata.custom == {"place": "here=now"}


def test_wrong_options_of_a_recording_are_told(tmp_path: Path, ros2: Any) -> None:
    for words, reason in (
        (("--custom-data", "place"), "--custom-data takes KEY=VALUE, not 'place'"),
        (("--compression-mode", "file"), "Cannot specify compression mode without a compression format"),
    ):
        done = ros2("bag", "record", "-a", "-o", tmp_path / "bag", *words)
        assert done.returncode == 1 and reason in done.stderr
    assert not (tmp_path / "bag").exists()


def test_a_part_of_a_recording_is_played(ros2_process: Any, tmp_path: Path) -> None:
    numbers = [
        (topic, 10 * (1000 + number), str(number)) for number in range(5) for topic in ("/part", "/other")
    ]
    write_strings(tmp_path / "bag", numbers)
    heard: list[str] = []
    with rclpy.init(args=[]):
        node = rclpy.create_node("listens_to_a_part")
        for topic in ("part", "other"):
            node.create_subscription(String, topic, lambda m, t=topic: heard.append(f"{t} {m.data}"), 100)
        ros2_process(
            "bag",
            "play",
            tmp_path / "bag",
            "--loop",
            "--playback-duration",
            "0.02",
            "-x",
            "^/oth",
            "-r",
            "0.5",
        )
        while heard.count("part 2") < 3:
            rclpy.spin_once(node)
    assert set(heard) == {"part 0", "part 1", "part 2"}


def test_existing_folder_is_not_overwritten(tmp_path: Path, ros2: Any) -> None:
    done = ros2("bag", "record", "-a", "-o", tmp_path)
    assert done.returncode == 1 and f"Output folder '{tmp_path}' already exists" in done.stderr


def test_clock_is_published(robot: Any, ros2_process: Any, tmp_path: Path) -> None:
    folder = tmp_path / "bag"
    record(ros2_process, folder, "/fleet/point")
    echo = ros2_process("topic", "echo", "--once", "/clock", "rosgraph_msgs/msg/Clock")
    ros2_process("bag", "play", folder, "--loop", "--clock", "100", "--topics", "/fleet/point", "-r", "0.5")
    output, _ = echo.communicate(timeout=30)
    assert output.startswith("clock:\n  sec: ")


def test_without_rosbags_the_extra_is_named() -> None:
    code = """
import sys
sys.modules["rosbags"] = None
from pocket_ros.ros2cli.main import main
sys.exit(main(["bag", "info", "x"]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "pip install 'pocket_ros[bag]'" in done.stderr


def test_only_bag_imports_rosbags() -> None:
    code = """
import sys, importlib
from pocket_ros.ros2cli.main import COMMANDS
for name in sorted(set(COMMANDS) - {"bag", "wtf"}):
    importlib.import_module(f"pocket_ros.ros2cli.command.{name}")
import rclpy, launch, launch_ros, launch_testing, tf2_ros, rosidl_runtime_py, sensor_msgs_py.point_cloud2
print("rosbags" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_what_has_arrived_at_the_end_is_recorded(ros2_process: Any, tmp_path: Path) -> None:
    folder = tmp_path / "bag"
    with rclpy.init():
        node = rclpy.create_node("burst")
        # Kept for the recorder, which may know of the publisher a moment later than that of the recorder.
        kept = QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        publisher = node.create_publisher(String, "burst", kept)
        packing = ("--compression-mode", "message", "--compression-format", "zstd")
        process = ros2_process("bag", "record", "-o", folder, "/burst", *packing)
        while not publisher.get_subscription_count():
            rclpy.spin_once(node, timeout_sec=0.05)
        for _ in range(900):
            publisher.publish(String(data=os.urandom(20_000).hex()))
        assert publisher.wait_for_all_acked(Duration(seconds=30))
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    with Reader(folder) as reader:
        assert [connection.msgcount for connection in reader.connections] == [900]

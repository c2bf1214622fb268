"""`ros2 bag`: services in recordings, a paused player, the clock of messages, QoS overrides."""

import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import rclpy
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from rosbags.rosbag2 import Reader, StoragePlugin, Writer
from rosgraph_msgs.msg import Clock
from std_msgs.msg import String
from written_bags import write_strings

from pocket_ros.interfaces.classes import service_class

EVENTS = "/fleet/add/_service_event"
EVENT = service_class("example_interfaces/srv/AddTwoInts").Event


@pytest.fixture
def node() -> Iterator[Node]:
    with rclpy.init(args=[]):
        yield rclpy.create_node("looks_at_bags")


def call(node: Node, kind: str, name: str, **fields: Any) -> Any:
    """Call a service once it is there."""
    offered = service_class(kind)
    client = node.create_client(offered, name)
    assert client.wait_for_service(30)
    future = client.call_async(offered.Request(**fields))
    rclpy.spin_until_future_complete(node, future)
    node.destroy_client(client)
    return future.result()


@pytest.fixture
def strings(tmp_path: Path) -> Path:
    """A recording with two messages of one topic and one of another."""
    messages = [(topic, number * 10**3, str(number)) for number, topic in enumerate(("/a", "/b", "/a"), 1)]
    return write_strings(tmp_path / "strings", messages)


@pytest.fixture
def calls(robot: Any, ros2_process: Any, node: Node, tmp_path: Path) -> tuple[Path, int]:
    """A recording of five calls of a service, and the number of events in it."""
    folder = tmp_path / "bag"
    recorder = ros2_process("bag", "record", "-o", folder, "--services", "/fleet/add")
    while f"Subscribed to topic '{EVENTS}'" not in (line := recorder.stderr.readline()):
        assert line, "the recorder ended before it had subscribed"
    heard: list[Any] = []
    events = node.create_subscription(EVENT, EVENTS, heard.append, 10)
    while not events.get_publisher_count():
        rclpy.spin_once(node, timeout_sec=0.1)
    for number in range(5):
        assert call(node, "example_interfaces/srv/AddTwoInts", "/fleet/add", a=number, b=1).sum == number + 1
    while len(heard) < 10:
        rclpy.spin_once(node)
    # The first event may be missing, where the recorder knew of its publisher a moment later than this node.
    recorder.send_signal(signal.SIGINT)
    _, errors = recorder.communicate(timeout=30)
    assert recorder.returncode == 0, errors
    with Reader(folder) as reader:
        (connection,) = reader.connections
    assert connection.topic == EVENTS and 4 <= connection.msgcount <= 10
    return folder, connection.msgcount


def test_calls_of_a_service_are_recorded_and_counted(
    calls: tuple[Path, int], ros2: Any, ros2_process: Any, node: Node
) -> None:
    folder, recorded = calls
    start = "Service information: Service: /fleet/add | Type: example_interfaces/srv/AddTwoInts | "
    plain = ros2("bag", "info", folder).stdout
    assert "Service:           1\n" in plain and f"{start}Event Count: {recorded} | " in plain
    verbose = ros2("bag", "info", "-v", folder).stdout
    counts = re.search(re.escape(start) + r"Request Count: (\d+) \| Response Count: (\d+) \| ", verbose)
    assert counts is not None and sum(map(int, counts.groups())) == recorded
    assert ros2("bag", "info", "-t", folder).stdout.strip() == ""
    both = ros2("bag", "info", "-t", "-v", folder).stdout
    assert "The '-t' parameter will be ignored" in both and f"Request Count: {counts[1]}" in both

    replayed: list[Any] = []
    node.create_subscription(EVENT, "/replayed", replayed.append, 10)
    player = ros2_process(
        "bag", "play", folder, "--services", "/fleet/add", "-m", f"{EVENTS}:=/replayed", "-l"
    )
    while len(replayed) < 4:
        rclpy.spin_once(node)
    player.send_signal(signal.SIGINT)
    assert player.wait(30) == 0


def test_what_is_no_event_of_a_service_is_one_error(ros2: Any, tmp_path: Path) -> None:
    folder, kind = tmp_path / "broken", "example_interfaces/srv/AddTwoInts_Event"
    with Writer(folder, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        writer.write(writer.add_connection(EVENTS, kind, msgdef="int8 x", rihs01="RIHS01_0"), 1, b"\0\1\0\0x")
    assert "Event Count: 1" in ros2("bag", "info", folder).stdout
    done = ros2("bag", "info", "-v", folder)
    assert done.returncode == 1
    assert f"a message of '{EVENTS}' is no event of a service" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_paused_player_waits_for_its_service(ros2_process: Any, node: Node, strings: Path) -> None:
    heard: list[str] = []
    subscription = node.create_subscription(String, "/a", lambda message: heard.append(message.data), 10)
    player = ros2_process("bag", "play", strings, "--start-paused", "--rate", "100", "--topics", "/a")
    while not subscription.get_publisher_count():
        rclpy.spin_once(node, timeout_sec=0.1)
    assert call(node, "rosbag2_interfaces/srv/IsPaused", "/rosbag2_player/is_paused").paused
    assert heard == []
    call(node, "rosbag2_interfaces/srv/TogglePaused", "/rosbag2_player/toggle_paused")
    while len(heard) < 2:
        rclpy.spin_once(node)
    assert heard == ["1", "3"] and player.wait(30) == 0


def test_the_clock_of_messages_and_overridden_profiles(
    ros2_process: Any, node: Node, strings: Path, tmp_path: Path
) -> None:
    profiles = tmp_path / "profiles.yaml"
    profiles.write_text("/a: {depth: 5, durability: transient_local, history: keep_last}\n")
    heard: list[str] = []
    kept = QoSProfile(depth=5, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    node.create_subscription(String, "/a", lambda message: heard.append(message.data), kept)
    clock = node.create_subscription(Clock, "/clock", lambda m: heard.append(f"clock {m.clock.sec}"), 10)
    overrides = ("--qos-profile-overrides-path", profiles, "--wait-for-all-acked", "20000")
    player = ros2_process("bag", "play", strings, "-p", "-r", "100", "--clock-topics", "/b", *overrides)
    while not clock.get_publisher_count():
        rclpy.spin_once(node, timeout_sec=0.1)
    call(node, "rosbag2_interfaces/srv/Resume", "/rosbag2_player/resume")
    while len(heard) < 3:
        rclpy.spin_once(node)
    assert sorted(heard) == ["1", "3", "clock 2"]
    _, errors = player.communicate(timeout=30)
    assert player.returncode == 0 and "was not acknowledged" not in errors


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("/a: {reliability: best}", "'/a': reliability is 'best'; it can be"),
        ("/a: {depht: 1}", "'/a': Unexpected key `depht` for QoS profile."),
        ("/a: {depth: -1}", "'/a': depth is -1; it must be a whole number from 0 on"),
        ("/a: {deadline: {sec: 1}}", "'/a': deadline must have both sec and nsec"),
        ("[1]", "must have the settings of each topic by the topic's name"),
    ],
)
def test_wrong_profiles_are_told(ros2: Any, strings: Path, tmp_path: Path, content: str, reason: str) -> None:
    profiles = tmp_path / "profiles.yaml"
    profiles.write_text(content)
    for words in (("play", strings), ("record", "-a", "-o", tmp_path / "new")):
        done = ros2("bag", *words, "--qos-profile-overrides-path", profiles)
        assert done.returncode == 1 and reason in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "new").exists()

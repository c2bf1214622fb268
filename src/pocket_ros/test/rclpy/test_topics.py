"""Publishing and subscribing, within a process and between processes."""

import os
import re
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import rclpy
from geometry_msgs.msg import Twist, Vector3
from rclpy.exceptions import InvalidHandle, RCLError
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.serialization import deserialize_message, serialize_message
from rclpy.task import Future
from rclpy.wait_for_message import wait_for_message
from std_msgs.msg import String

Start = Callable[..., Any]


def collect(node: Node, count: int, **options: Any) -> list[Any]:
    """What arrives on `chatter` until there are `count`."""
    received: list[Any] = []
    done: Future[bool] = Future()

    def callback(message: Any) -> None:
        received.append(message)
        if len(received) == count:
            done.set_result(True)

    node.create_subscription(String, "chatter", callback, 10, **options)
    rclpy.spin_until_future_complete(node, done, timeout_sec=10)
    return received


def test_a_talker_in_another_process_is_heard_in_order(ros: None, start: Start) -> None:
    start("talker").wait_for("ready")
    numbers = [int(m.data.split()[1]) for m in collect(Node("here"), 5)]
    assert numbers == list(range(numbers[0], numbers[0] + 5))


def test_a_listener_in_another_process_hears_objects_and_bytes(ros: None, start: Start) -> None:
    listener = start("listener")
    listener.wait_for("ready")
    node = Node("here")
    publisher = node.create_publisher(String, "chatter", QoSProfile(depth=10))
    while publisher.get_subscription_count() == 0:
        rclpy.spin_once(node, timeout_sec=0.01)
    publisher.publish(String(data="an object"))
    publisher.publish(serialize_message(String(data="some bytes")))
    assert listener.wait_for("heard") == "heard an object"
    assert listener.wait_for("heard") == "heard some bytes"


def test_raw_subscriptions_get_cdr(ros: None, start: Start) -> None:
    start("talker").wait_for("ready")
    (data,) = collect(Node("here"), 1, raw=True)
    assert isinstance(data, bytes)
    assert deserialize_message(data, String).data.startswith("hello")


def test_killing_one_process_leaves_the_others_working(ros: None, start: Start) -> None:
    start("talker").wait_for("ready")
    victim = start("talker")
    victim.wait_for("ready")
    node = Node("here")
    assert collect(node, 3)
    victim.signal(signal.SIGKILL)
    victim.wait()
    assert len(collect(node, 5)) == 5


def test_late_subscriptions_get_latched_messages(ros: None) -> None:
    node = Node("here")
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    publisher = node.create_publisher(String, "description", latched)
    publisher.publish(String(data="old"))
    publisher.publish(String(data="new"))
    found, message = wait_for_message(String, node, "description", qos_profile=latched, time_to_wait=5)
    assert found
    assert message.data == "new"


def test_messages_can_be_polled(ros: None) -> None:
    node = Node("here")
    publisher = node.create_publisher(Twist, "cmd_vel", 10)
    subscription = node.create_subscription(Twist, "cmd_vel", lambda _: None, 10)
    assert subscription.handle.take_message(Twist, False) is None
    message = Twist()
    message.linear.x = 1.5
    publisher.publish(message)
    publisher.publish(message)
    taken, info = subscription.handle.take_message(Twist, False)
    assert taken == message
    assert 0 < info["source_timestamp"] <= info["received_timestamp"]
    assert subscription.handle.take_message(Twist, True)[0] == serialize_message(message)
    assert subscription.handle.take_message(Twist, False) is None


def test_many_are_polled_and_published_at_once(ros: None) -> None:
    node = Node("here")
    names = [f"robot_{index}" for index in range(1500)]
    publishers = [node.create_publisher(Twist, f"{name}/cmd_vel", 10) for name in names]
    subscriptions = [node.create_subscription(Twist, f"{name}/cmd_vel", lambda _: None, 10) for name in names]
    first, *others = [subscription.handle for subscription in subscriptions]
    poll_set = first.poll_set(others)
    assert poll_set.ready() == []
    for index in (1400, 3):
        publishers[index].publish(Twist())
    assert poll_set.ready() == [3, 1400]
    assert subscriptions[3].handle.take_message(Twist, True) is not None
    assert poll_set.ready() == [1400]
    assert subscriptions[1400].handle.take_message(Twist, True) is not None
    assert poll_set.ready() == []
    pieces = [serialize_message(Twist(linear=Vector3(x=float(index)))) for index in range(len(names))]
    publishers[0].publish_each(publishers[1:], pieces)
    arrived = poll_set.ready()
    assert arrived == list(range(1500))
    assert all(subscriptions[index].handle.take_message(Twist, True)[0] == pieces[index] for index in arrived)
    with pytest.raises(ValueError, match="1499 pieces for 1500 publishers"):
        publishers[0].publish_each(publishers[1:], pieces[1:])
    # One that is not a multiple of four is filled up, as `publish` does.
    publishers[0].publish_each(publishers[1:2], [pieces[0] + b"\x00", pieces[1]])
    assert poll_set.ready() == [0, 1]
    node.destroy_publisher(publishers[1])
    with pytest.raises(InvalidHandle):
        publishers[0].publish_each(publishers[1:2], pieces[:2])
    poll_set.close()
    assert poll_set.ready() == []


PUBLISHES_AT_ONCE = """
import sys, time, rclpy
from rclpy.serialization import serialize_message
from std_msgs.msg import String
rclpy.init()
node = rclpy.create_node("many")
first, *others = [node.create_publisher(String, f"many/t{index}", 10) for index in range(100)]
while not all(one.get_subscription_count() for one in (first, *others)):
    time.sleep(0.01)
data = bytearray(b"".join(serialize_message(String(data=f"{index:03}" + 592 * "x")) for index in range(100)))
pieces = [memoryview(data)[begin : begin + 604] for begin in range(0, 60400, 604)]
for letter in b"abcd":
    for piece in pieces:
        piece[11] = letter
    first.publish_each(others, pieces)
sys.stdin.readline()
rclpy.shutdown()
"""


SHUT_DOWN_AT_ONCE = """
import signal, rclpy
from rclpy.serialization import serialize_message
from std_msgs.msg import String
rclpy.init(signal_handler_options=rclpy.signals.SignalHandlerOptions.NO)
node = rclpy.create_node("many")
first, *others = [node.create_publisher(String, f"many/t{index}", 10) for index in range(300)]
pieces = [serialize_message(String(data="xyz"))] * 300
first.publish_each(others, pieces)
signal.signal(signal.SIGALRM, lambda *_: rclpy.shutdown())
signal.setitimer(signal.ITIMER_REAL, 0.02)
try:
    while True:
        first.publish_each(others, pieces)
except Exception as error:
    print(type(error).__name__)
"""


def test_a_handler_may_shut_down_what_is_published_at_once() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SHUT_DOWN_AT_ONCE], capture_output=True, text=True, timeout=60
    )
    assert done.stdout in ("InvalidHandle\n", "RCLError\n"), done.stderr


def test_what_is_published_at_once_shares_packets(ros: None, tmp_path: Path) -> None:
    """By the trace of Cyclone DDS. It sends a first sample alone, and those that ask for an answer."""
    node, got = Node("here"), defaultdict(list)
    for index in range(100):
        topic = f"many/t{index}"
        node.create_subscription(String, topic, lambda message, at=index: got[at].append(message.data), 10)
    trace = tmp_path / "trace"
    uri = f"<Tracing><Category>traffic</Category><OutputFile>{trace}</OutputFile></Tracing>"
    uri += "<Internal><HeartbeatInterval>3s</HeartbeatInterval></Internal>"
    environment = {**os.environ, "CYCLONEDDS_URI": f"<CycloneDDS><Domain>{uri}</Domain></CycloneDDS>"}
    command = [sys.executable, "-c", PUBLISHES_AT_ONCE]
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment) as process:
        while sum(map(len, got.values())) < 400:
            rclpy.spin_once(node)
        process.communicate(b"\n", 60)
    assert got == {index: [f"{index:03}{letter}{591 * 'x'}" for letter in "abcd"] for index in range(100)}
    sizes = [int(size) for size in re.findall(r"traffic-xmit \(\d+\) (\d+)", trace.read_text())]
    assert sum(size for size in sizes if size > 10_000) > 2.5 * 60_400


def test_callbacks_may_take_the_info(ros: None) -> None:
    node = Node("here")
    received: list[Any] = []
    node.create_subscription(String, "topic", lambda message, info: received.append((message, info)), 10)
    node.create_publisher(String, "topic", 10).publish(String(data="x"))
    while not received:
        rclpy.spin_once(node, timeout_sec=1)
    assert received[0][0].data == "x"
    assert "source_timestamp" in received[0][1]


def test_history_keeps_the_last(ros: None) -> None:
    node = Node("here")
    publisher = node.create_publisher(String, "topic", 10)
    subscription = node.create_subscription(String, "topic", lambda _: None, 2)
    for i in range(5):
        publisher.publish(String(data=str(i)))
    taken = [subscription.handle.take_message(String, False)[0].data for _ in range(2)]
    assert taken == ["3", "4"]
    assert subscription.handle.take_message(String, False) is None


def test_misuse_is_an_error(ros: None) -> None:
    node = Node("here")
    publisher = node.create_publisher(String, "topic", 10)
    with pytest.raises(TypeError, match="Expected"):
        publisher.publish(Twist())
    with pytest.raises(TypeError, match="QoSProfile or int"):
        node.create_publisher(String, "topic", "10")
    with pytest.raises(RuntimeError, match="one argument"):
        node.create_subscription(String, "topic", lambda: None, 10)
    with pytest.raises(RuntimeError, match="callable"):
        node.create_subscription(String, "topic", None, 10)
    assert node.destroy_publisher(publisher)
    assert not node.destroy_publisher(publisher)
    with pytest.raises((InvalidHandle, RCLError)):
        publisher.publish(String())


def test_bytes_that_are_no_cdr_are_refused_in_words(ros: None) -> None:
    publisher = Node("here").create_publisher(String, "topic", 1)
    with pytest.raises(RCLError, match="'/topic': the bytes are no CDR"):
        publisher.publish(b"abc")


NO_STRING = b"\x00\x01\x00\x00\xff\xff\xff\x00"


def test_bytes_that_are_no_message_end_in_an_error_not_in_nonsense(ros: None) -> None:
    node = Node("here")
    subscription = node.create_subscription(String, "topic", lambda _: None, 10)
    node.create_publisher(String, "topic", 10).publish(NO_STRING)
    with pytest.raises(RCLError, match="'/topic'"):
        subscription.handle.take_message(String, False)


def test_what_a_faulty_peer_sends_does_not_stop_the_spin(
    ros: None, capfd: pytest.CaptureFixture[str]
) -> None:
    node = Node("here")
    received: list[str] = []
    node.create_subscription(String, "topic", lambda m: received.append(m.data), 10)
    publisher = node.create_publisher(String, "topic", 10)
    publisher.publish(NO_STRING)
    publisher.publish(String(data="good"))
    while not received:
        rclpy.spin_once(node, timeout_sec=1)
    assert received == ["good"]
    assert "not what it should be" in capfd.readouterr().err

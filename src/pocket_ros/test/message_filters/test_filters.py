"""Messages of several topics, by their stamps."""

import threading
from typing import Any

import pytest
import rclpy
from geometry_msgs.msg import PointStamped, PoseStamped
from message_filters import ApproximateTimeSynchronizer, Cache, SimpleFilter, Subscriber, TimeSynchronizer
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.time import Time
from std_msgs.msg import String


def at(seconds: float, frame: str = "") -> PointStamped:
    message = PointStamped()
    message.header.stamp = Time(nanoseconds=round(seconds * 1e9)).to_msg()
    message.header.frame_id = frame
    return message


def frames(sets: list[tuple[PointStamped, ...]]) -> list[str]:
    return ["".join(message.header.frame_id for message in messages) for messages in sets]


def test_callbacks_have_the_output_and_what_they_asked_for() -> None:
    source, heard = SimpleFilter(), []
    assert [source.registerCallback(lambda *all_: heard.append(all_), "x") for _ in range(2)] == [0, 1]
    source.signalMessage(1, 2)
    assert heard == [(1, 2, "x")] * 2
    with pytest.raises(TypeError, match="callable"):
        source.registerCallback("no function")  # type: ignore[arg-type]


def test_equal_stamps_come_together() -> None:
    left, right = SimpleFilter(), SimpleFilter()
    together: list[Any] = []
    TimeSynchronizer([left, right], 2).registerCallback(lambda *all_: together.append(all_))
    for second in (1, 2, 3):
        left.signalMessage(at(second, f"l{second}"))
    right.signalMessage(at(3, "r3"))
    right.signalMessage(at(1, "r1"))  # its counterpart had to go
    right.signalMessage(at(2, "r2"))
    assert frames(together) == ["l3r3", "l2r2"]


def test_near_stamps_come_together_nearest_first() -> None:
    sources = [SimpleFilter() for _ in range(3)]
    together: list[Any] = []
    ApproximateTimeSynchronizer(sources, 5, 0.1).registerCallback(lambda *all_: together.append(all_))
    a, b, c = sources
    a.signalMessage(at(1.00, "a0"))
    a.signalMessage(at(1.04, "a4"))
    b.signalMessage(at(1.05, "b5"))
    assert together == []
    c.signalMessage(at(1.05, "c5"))
    c.signalMessage(at(1.20, "c20"))  # nothing of b is left
    b.signalMessage(at(1.10, "b10"))  # a0 is 0.1 s away, which is too far, and c20 as well
    assert frames(together) == ["a4b5c5"]
    b.signalMessage(at(1.15, "b15"))
    a.signalMessage(at(1.16, "a16"))
    assert frames(together) == ["a4b5c5", "a16b15c20"]


def test_messages_without_header_need_to_be_allowed() -> None:
    for allowed in (False, True):
        sources, together = [SimpleFilter(), SimpleFilter()], []
        synchronizer = ApproximateTimeSynchronizer(sources, 5, 60.0, allow_headerless=allowed)
        synchronizer.registerCallback(lambda *all_: together.append(all_))  # noqa: B023
        for source in sources:
            source.signalMessage(String(data="no header"))
        assert len(together) == int(allowed)


def test_a_cache_keeps_the_newest_in_order() -> None:
    source = SimpleFilter()
    cache, heard = Cache(source, 3), []
    assert cache.getLast() is cache.getOldestTime() is cache.getLastestTime() is None
    cache.registerCallback(heard.append)
    messages = {second: at(second) for second in (1, 2, 4, 3)}
    for message in messages.values():
        source.signalMessage(message)
    assert len(heard) == 4 and cache.getLast() is messages[4]
    time = {second: Time.from_msg(messages[second].header.stamp) for second in messages}
    assert (cache.getOldestTime(), cache.getLatestTime()) == (time[2], time[4])
    assert cache.getInterval(time[2], time[3]) == [messages[2], messages[3]]
    assert cache.getElemAfterTime(time[1]) is messages[2]
    assert cache.getElemBeforeTime(time[3]) is messages[3]
    assert cache.getElemBeforeTime(time[1]) is None
    with pytest.raises(AssertionError):
        cache.getInterval(time[3], time[2])


def test_topics_are_brought_together(ros: None) -> None:
    node = Node("bringing_together")
    points = Subscriber(node, PointStamped, "points")
    poses = Subscriber(node, PoseStamped, "poses", qos_profile=5)
    assert poses.getTopic() == "poses" and poses.topic_name == "/poses"
    done, found = threading.Event(), []

    def together(point: PointStamped, pose: PoseStamped) -> None:
        found.append((point, pose))
        done.set()

    TimeSynchronizer([points, poses], 10).registerCallback(together)
    to_points = node.create_publisher(PointStamped, "points", 10)
    to_poses = node.create_publisher(PoseStamped, "poses", 10)
    pose = PoseStamped()
    pose.header.stamp.sec = 7
    to_poses.publish(pose)
    to_points.publish(at(6))
    to_points.publish(at(7, "wanted"))
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    while not done.is_set() and rclpy.ok():
        executor.spin_once(timeout_sec=5.0)
    assert [(point.header.frame_id, pose.header.stamp.sec) for point, pose in found] == [("wanted", 7)]


def test_what_is_not_covered_says_so() -> None:
    import message_filters

    with pytest.raises(NotImplementedError, match="Chain"):
        message_filters.Chain  # noqa: B018
    for size in (0, -1):
        with pytest.raises(ValueError, match="at least 1"):
            TimeSynchronizer([SimpleFilter()], size)
        with pytest.raises(ValueError, match="at least 1"):
            Cache(SimpleFilter(), size)

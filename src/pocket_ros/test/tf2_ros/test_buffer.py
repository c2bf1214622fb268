"""The tree of frames over time."""

import math

import pytest
from geometry_msgs.msg import PointStamped, PoseStamped, TransformStamped, Twist, Vector3Stamped
from rclpy.duration import Duration
from rclpy.time import Time
from tf2_ros import (
    Buffer,
    ConnectivityException,
    ExtrapolationException,
    InvalidArgumentException,
    LookupException,
    TypeException,
)


def transform(parent: str, child: str, seconds: float, x: float = 0.0, yaw: float = 0.0) -> TransformStamped:
    message = TransformStamped(child_frame_id=child)
    message.header.frame_id = parent
    message.header.stamp = Time(seconds=seconds).to_msg()
    message.transform.translation.x = x
    message.transform.rotation.z = math.sin(yaw / 2)
    message.transform.rotation.w = math.cos(yaw / 2)
    return message


@pytest.fixture
def buffer() -> Buffer:
    """map -> base (moving and turning) -> lidar (fixed); odom -> map (fixed)."""
    buffer = Buffer()
    for seconds, x, yaw in ((1.0, 1.0, 0.0), (2.0, 2.0, math.pi / 2), (3.0, 3.0, math.pi)):
        buffer.set_transform(transform("map", "base", seconds, x, yaw), "test")
    buffer.set_transform_static(transform("base", "lidar", 0.0, 0.5), "test")
    buffer.set_transform_static(transform("odom", "map", 0.0, 10.0), "test")
    return buffer


def position(buffer: Buffer, target: str, source: str, seconds: float) -> tuple[float, float]:
    found = buffer.lookup_transform(target, source, Time(seconds=seconds)).transform.translation
    return (round(found.x, 9), round(found.y, 9))


def test_chains_are_composed_in_both_directions(buffer: Buffer) -> None:
    assert position(buffer, "map", "base", 2.0) == (2.0, 0.0)
    assert position(buffer, "odom", "lidar", 2.0) == (12.0, 0.5)
    assert position(buffer, "lidar", "odom", 2.0) == (-0.5, 12.0)
    found = buffer.lookup_transform("odom", "lidar", Time(seconds=2))
    assert (found.header.frame_id, found.child_frame_id, found.header.stamp.sec) == ("odom", "lidar", 2)


def test_times_between_are_interpolated_and_zero_is_the_latest(buffer: Buffer) -> None:
    found = buffer.lookup_transform("map", "base", Time(seconds=1.5)).transform
    assert found.translation.x == pytest.approx(1.5)
    assert 2 * math.atan2(found.rotation.z, found.rotation.w) == pytest.approx(math.pi / 4)
    assert buffer.lookup_transform("map", "base", Time()).header.stamp.sec == 3
    assert buffer.get_latest_common_time("odom", "lidar").nanoseconds == 3 * 10**9


def test_what_cannot_be_had_says_why(buffer: Buffer) -> None:
    with pytest.raises(
        ExtrapolationException, match=r"into the future.*4.000000.*from frame .base. to frame .map."
    ):
        buffer.lookup_transform("map", "base", Time(seconds=4))
    with pytest.raises(ExtrapolationException, match="into the past"):
        buffer.lookup_transform("map", "base", Time(seconds=0.5))
    with pytest.raises(LookupException, match='"nowhere" passed to lookupTransform argument target_frame'):
        buffer.lookup_transform("nowhere", "base", Time())
    buffer.set_transform(transform("island", "tree", 1.0), "test")
    with pytest.raises(ConnectivityException, match="not part of the same tree"):
        buffer.lookup_transform("map", "tree", Time())
    can, reason = buffer.can_transform("map", "base", Time(seconds=4), return_debug_tuple=True)
    assert not can
    assert "future" in reason


def test_what_is_no_transform_is_left_out_and_logged(
    buffer: Buffer, capfd: pytest.CaptureFixture[str]
) -> None:
    zero = transform("map", "bad", 1.0)
    zero.transform.rotation.w = 0.0
    for bad in (
        zero,
        transform("map", "bad", 1.0, math.nan),
        transform("map", "map", 1.0),
        transform("", "bad", 1.0),
    ):
        buffer.set_transform(bad, "test")
        assert "Ignoring transform from 'test'" in capfd.readouterr().err
    with pytest.raises(LookupException):
        buffer.lookup_transform("map", "bad", Time())


def test_rotations_are_normalised(buffer: Buffer) -> None:
    long = transform("map", "long", 1.0)
    long.transform.rotation.w = 2.0
    buffer.set_transform(long, "test")
    assert buffer.lookup_transform("map", "long", Time()).transform.rotation.w == 1.0


def test_a_transform_with_a_known_stamp_replaces_the_older(buffer: Buffer) -> None:
    for seconds in (2.0, 3.0):
        buffer.set_transform(transform("map", "base", seconds, 7.0), "test")
        assert position(buffer, "map", "base", seconds) == (7.0, 0.0)


def test_frame_names_and_times_of_another_type_are_errors(buffer: Buffer) -> None:
    with pytest.raises(TypeError, match="target_frame must be str"):
        buffer.lookup_transform(None, "base", Time())
    with pytest.raises(TypeError, match="sec and nanosec"):
        buffer.lookup_transform("map", "base", 5)
    with pytest.raises(InvalidArgumentException, match="cannot be empty"):
        buffer.lookup_transform("map", "", Time())


def test_old_samples_are_forgotten_and_late_ones_sorted_in() -> None:
    buffer = Buffer(cache_time=Duration(seconds=2))
    for seconds in (1.0, 3.0, 2.0, 4.0):
        buffer.set_transform(transform("map", "base", seconds, seconds), "test")
    assert position(buffer, "map", "base", 2.5) == (2.5, 0.0)
    buffer.set_transform(transform("map", "base", 5.0), "test")
    with pytest.raises(ExtrapolationException):
        buffer.lookup_transform("map", "base", Time(seconds=1))
    buffer.set_transform(transform("map", "other", 1.0), "test")
    with pytest.raises(ExtrapolationException, match=r"at time 2.000000, but only time 1.000000 is in"):
        buffer.lookup_transform("map", "other", Time(seconds=2))


def test_between_two_times_by_way_of_a_fixed_frame(buffer: Buffer) -> None:
    found = buffer.lookup_transform_full("base", Time(seconds=1), "base", Time(seconds=2), "map")
    assert found.transform.translation.x == pytest.approx(1.0)


def test_stamped_objects_are_transformed(buffer: Buffer) -> None:
    point, vector, pose = PointStamped(), Vector3Stamped(), PoseStamped()
    for message in (point, vector, pose):
        message.header.frame_id = "base"
        message.header.stamp.sec = 2
    point.point.x = vector.vector.x = pose.pose.position.x = 1.0
    moved = buffer.transform(point, "map")
    assert (moved.header.frame_id, moved.point.x, moved.point.y) == (
        "map",
        pytest.approx(2.0),
        pytest.approx(1.0),
    )
    assert buffer.transform(vector, "map").vector.y == pytest.approx(1.0)
    turned = buffer.transform(pose, "map").pose
    assert (turned.position.y, turned.orientation.z) == (
        pytest.approx(1.0),
        pytest.approx(math.sin(math.pi / 4)),
    )
    with pytest.raises(TypeException):
        buffer.transform(Twist(), "map")


def test_waiting_is_over_when_the_transform_comes(buffer: Buffer) -> None:
    future = buffer.wait_for_transform_async("map", "base", Time(seconds=3.5))
    assert not future.done()
    buffer.set_transform(transform("map", "base", 4.0), "test")
    assert future.result() == buffer.lookup_transform("map", "base", Time(seconds=3.5))
    full = buffer.wait_for_transform_full_async("base", Time(seconds=1), "base", Time(seconds=5), "map")
    assert not full.done()
    buffer.set_transform(transform("map", "base", 5.0), "test")
    assert full.result().child_frame_id == "base"


def test_frames_are_listed(buffer: Buffer) -> None:
    assert buffer.all_frames_as_string() == (
        "Frame base exists with parent map.\n"
        "Frame map exists with parent odom.\n"
        "Frame lidar exists with parent base.\n"
    )
    assert "lidar: \n  parent: 'base'" in buffer.all_frames_as_yaml()
    assert buffer.all_frames_as_yaml().startswith(
        "base: \n"
        "  parent: 'map'\n"
        "  broadcaster: 'test'\n"
        "  rate: 1.500\n"
        "  most_recent_transform: 3.000000\n"
        "  oldest_transform: 1.000000\n"
        "  buffer_length: 2.000\n"
    )
    assert Buffer().all_frames_as_yaml() == "[]"
    buffer.clear()
    assert not buffer.can_transform("map", "base", Time())
    assert buffer.can_transform("base", "lidar", Time())

"""The buffer without a node, and what a node's clock does to a buffer."""

import pytest
import tf2_py
from geometry_msgs.msg import TransformStamped
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.time import Time
from tf2_ros import Buffer, BufferCore, LookupException


def transform(parent: str, child: str, seconds: float, x: float = 2.0) -> TransformStamped:
    message = TransformStamped(child_frame_id=child)
    message.header.frame_id = parent
    message.header.stamp = Time(seconds=seconds).to_msg()
    message.transform.translation.x = x
    return message


class CoreOfAProgram(tf2_py.BufferCore):
    """Asks for frames by the names that tf2 has for it."""

    def knows(self, frame: str) -> bool:
        return self._frameExists(frame)

    def frames(self) -> list[str]:
        return self._getFrameStrings()


def test_a_core_of_ones_own() -> None:
    core = CoreOfAProgram(Duration(seconds=5))
    assert core.set_transform(transform("map", "base", 1.0), "me") is None
    core.set_transform(transform("map", "base", 3.0, 4.0), "me")
    assert core.can_transform_core(target_frame="map", source_frame="base", time=Time(seconds=2)) == (1, "")
    possible, reason = core.can_transform_core("map", "base", Time(seconds=3.5))
    assert not possible and "extrapolation into the future" in reason
    found = core.lookup_transform_core("map", "base", Time(seconds=2))
    assert found.transform.translation.x == pytest.approx(3.0)
    assert core.get_latest_common_time("map", "base") == Time(seconds=3)
    for seconds in (9.0, 9.5):  # 5 s are kept, before a new one comes
        core.set_transform(transform("map", "base", seconds), "me")
    assert not core.can_transform_core("map", "base", Time(seconds=2))[0]
    core.set_transform_static(transform("odom", "map", 0.0, 10.0), "me")
    times = {"target_time": Time(seconds=9), "source_time": Time(seconds=9)}
    full = core.lookup_transform_full_core(
        target_frame="odom", source_frame="base", fixed_frame="map", **times
    )
    assert full.transform.translation.x == pytest.approx(12.0)
    assert core.can_transform_full_core("odom", Time(), "base", Time(), "map") == (True, "")
    assert core.frames() == ["base", "map", "odom"] and core.knows("odom") and not core.knows("tool")
    assert "base" in core.all_frames_as_string() and "broadcaster: 'me'" in core.all_frames_as_yaml()
    core.clear()
    assert core.can_transform_core("odom", "map", Time())[0]
    assert not core.can_transform_core("map", "base", Time())[0]
    with pytest.raises(LookupException):
        core.lookup_transform_core("map", "nowhere", Time())
    with pytest.raises(NotImplementedError, match="lookupVelocityCore"):
        core.lookupVelocityCore("map", "base", Time(), Duration(seconds=1))
    with pytest.raises(TypeError, match="nanosec"):
        core.lookup_transform_core("map", "base", 1.0)


def test_a_buffer_is_a_core() -> None:
    buffer = Buffer()
    assert isinstance(buffer, BufferCore) and BufferCore is tf2_py.BufferCore
    coming = buffer.wait_for_transform_async("map", "base", Time())
    buffer.set_transform(transform("map", "base", 1.0), "me")
    assert coming.result() == buffer.lookup_transform_core("map", "base", Time())


def test_a_jump_back_in_time_clears_the_buffer(ros: None) -> None:
    node = Node("jumping", parameter_overrides=[Parameter("use_sim_time", value=True)])
    clock = node.get_clock()
    clock.set_ros_time_override(Time(seconds=100, clock_type=clock.clock_type))
    buffer = Buffer(node=node)
    buffer.set_transform(transform("map", "base", 100.0), "before")
    buffer.set_transform_static(transform("base", "lidar", 0.0), "before")
    clock.set_ros_time_override(Time(seconds=99.5, clock_type=clock.clock_type))
    assert buffer.can_transform("map", "base", Time())
    clock.set_ros_time_override(Time(seconds=5, clock_type=clock.clock_type))
    assert not buffer.can_transform("map", "base", Time())
    assert buffer.can_transform("base", "lidar", Time())
    buffer.set_transform(transform("map", "base", 5.0), "after")  # it would be too old beside what was there
    assert buffer.lookup_transform("map", "lidar", Time()).header.stamp.sec == 5

"""Times, durations, clocks, timers, rates, simulated time."""

import threading
from typing import Any

import pytest
import rclpy
from builtin_interfaces.msg import Time as TimeMessage
from rclpy.clock import Clock, ClockChange, ClockType, JumpThreshold, ROSClock
from rclpy.duration import Duration
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.time import Time
from rclpy.time_source import TimeSource
from rosgraph_msgs.msg import Clock as ClockMessage


def test_arithmetic() -> None:
    time = Time(seconds=2, nanoseconds=5)
    assert (time + Duration(seconds=1)).nanoseconds == 3_000_000_005
    assert time - Time(seconds=1) == Duration(seconds=1, nanoseconds=5)
    assert time.seconds_nanoseconds() == (2, 5)
    assert time.to_msg() == TimeMessage(sec=2, nanosec=5)
    assert Time.from_msg(TimeMessage(sec=1)).nanoseconds == 10**9
    assert Duration(seconds=-1).to_msg().sec == -1
    assert Duration(nanoseconds=1) < Duration(seconds=1)
    with pytest.raises(TypeError, match="different clock types"):
        _ = time < Time(clock_type=ClockType.STEADY_TIME)
    with pytest.raises(ValueError, match="negative"):
        Time(seconds=-1)
    with pytest.raises(OverflowError):
        Duration(seconds=10**10)


def test_timers_are_called_and_can_be_cancelled_and_reset(ros: None) -> None:
    node = Node("here")
    calls: list[int] = []
    timer = node.create_timer(0.001, lambda: calls.append(1))
    while len(calls) < 3:
        rclpy.spin_once(node, timeout_sec=1)
    timer.cancel()
    assert timer.is_canceled()
    assert timer.time_until_next_call() is None
    rclpy.spin_once(node, timeout_sec=0.01)
    assert len(calls) == 3
    timer.reset()
    rclpy.spin_once(node, timeout_sec=1)
    assert len(calls) == 4
    assert node.destroy_timer(timer)


def test_a_shorter_period_is_heeded_at_once(ros: None) -> None:
    node = Node("here")
    calls: list[int] = []
    timer = node.create_timer(1000.0, lambda: calls.append(1), clock=Clock(clock_type=ClockType.STEADY_TIME))
    rclpy.spin_once(node, timeout_sec=0)
    timer.timer_period_ns = 1_000_000
    timer.reset()
    rclpy.spin_once(node, timeout_sec=10)
    assert calls == [1]


def test_rates_sleep_while_another_thread_spins(ros: None) -> None:
    node, executor = Node("here"), SingleThreadedExecutor()
    executor.add_node(node)
    done: rclpy.Future[bool] = rclpy.Future()
    spinning = threading.Thread(target=executor.spin_until_future_complete, args=(done,))
    spinning.start()
    rate = node.create_rate(1000.0)
    for _ in range(3):
        rate.sleep()
    done.set_result(True)
    spinning.join()
    assert node.destroy_rate(rate)
    with pytest.raises(RuntimeError):
        rate.sleep()


def simulated_clock() -> tuple[ROSClock, TimeSource]:
    """A clock, and what switches it to simulated time and back."""
    clock, source = ROSClock(), TimeSource(node=Node("here"))
    source.attach_clock(clock)
    return clock, source


def test_jumps_of_a_ros_clock(ros: None) -> None:
    clock, source = simulated_clock()
    jumps: list[Any] = []
    threshold = JumpThreshold(min_forward=Duration(seconds=1), min_backward=Duration(seconds=-1))
    with clock.create_jump_callback(threshold, post_callback=jumps.append):
        clock.set_ros_time_override(Time(seconds=5, clock_type=ClockType.ROS_TIME))
        source.ros_time_is_active = True
        clock.set_ros_time_override(Time(seconds=5.5, clock_type=ClockType.ROS_TIME))
        clock.set_ros_time_override(Time(seconds=9, clock_type=ClockType.ROS_TIME))
        clock.set_ros_time_override(Time(seconds=1, clock_type=ClockType.ROS_TIME))
    assert [j.clock_change for j in jumps] == [
        ClockChange.ROS_TIME_ACTIVATED,
        ClockChange.ROS_TIME_NO_CHANGE,
        ClockChange.ROS_TIME_NO_CHANGE,
    ]
    assert [j.delta.nanoseconds for j in jumps[1:]] == [3_500_000_000, -8_000_000_000]
    assert clock.now() == Time(seconds=1, clock_type=ClockType.ROS_TIME)


def test_simulated_time_drives_clock_and_timers(ros: None) -> None:
    node = Node("here", parameter_overrides=[Parameter("use_sim_time", value=True)])
    publisher = node.create_publisher(ClockMessage, "/clock", 10)
    calls: list[int] = []
    node.create_timer(1.0, lambda: calls.append(node.get_clock().now().nanoseconds))

    def advance(seconds: float) -> None:
        publisher.publish(ClockMessage(clock=Time(seconds=seconds).to_msg()))
        while node.get_clock().now().nanoseconds != int(seconds * 1e9):
            rclpy.spin_once(node, timeout_sec=1)
        rclpy.spin_once(node, timeout_sec=0)

    for seconds in (10.0, 10.4, 11.5, 11.6, 12.1):
        advance(seconds)
    assert calls == [11_500_000_000, 12_100_000_000] or calls[-2:] == [11_500_000_000, 12_100_000_000]
    node.set_parameters([Parameter("use_sim_time", value=False)])
    assert node.get_clock().now().nanoseconds > 10**18


def test_sleeping_until_a_simulated_time(ros: None) -> None:
    clock, source = simulated_clock()
    source.ros_time_is_active = True
    slept: list[bool] = []
    until = Time(seconds=2, clock_type=ClockType.ROS_TIME)
    thread = threading.Thread(target=lambda: slept.append(clock.sleep_until(until)))
    thread.start()
    clock.set_ros_time_override(Time(seconds=1, clock_type=ClockType.ROS_TIME))
    assert thread.is_alive()
    clock.set_ros_time_override(Time(seconds=2, clock_type=ClockType.ROS_TIME))
    thread.join(10)
    assert slept == [True]


def test_shutdown_ends_a_sleep(ros: None) -> None:
    slept: list[bool] = []
    thread = threading.Thread(target=lambda: slept.append(Clock().sleep_for(Duration(seconds=1000))))
    thread.start()
    rclpy.shutdown()
    thread.join(10)
    assert slept == [False]


def test_kinds_of_clock_print_by_name() -> None:
    assert str(ClockType.ROS_TIME) == f"{ClockType.ROS_TIME}" == "ClockType.ROS_TIME"


def test_a_clock_of_ros_time_is_made_by_its_type() -> None:
    clock = Clock(clock_type=ClockType.ROS_TIME)
    assert isinstance(clock, ROSClock) and not clock.ros_time_is_active
    assert clock.now().clock_type == ClockType.ROS_TIME
    TimeSource().attach_clock(clock)


def test_the_time_of_a_ros_clock_is_set_by_a_time_of_any_kind() -> None:
    clock, source = ROSClock(), TimeSource()
    source.attach_clock(clock)
    source.ros_time_is_active = True
    clock.set_ros_time_override(Time(seconds=1))
    assert clock.now().nanoseconds == 10**9
    with pytest.raises(TypeError):
        clock.set_ros_time_override(1.0)  # type: ignore[arg-type]


def test_a_time_source_takes_and_leaves_a_node(ros: None) -> None:
    source, node = TimeSource(), Node("timed")
    node.set_parameters([Parameter("use_sim_time", value=True)])
    source.attach_node(node)
    assert source.ros_time_is_active
    source.detach_node()
    node.set_parameters([Parameter("use_sim_time", value=False)])
    assert source.ros_time_is_active
    with pytest.raises(RuntimeError):
        source.detach_node()

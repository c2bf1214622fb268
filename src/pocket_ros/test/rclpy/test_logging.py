"""Log messages on the console and on `/rosout`."""

import re
from typing import Any

import pytest
import rclpy
from rcl_interfaces.msg import Log
from rclpy.clock import ROSClock
from rclpy.logging import LoggingSeverity, get_logger, get_logger_effective_level, set_logger_level
from rclpy.node import Node
from rclpy.qos import QoSPresetProfiles, QoSProfile
from rclpy.time import Time
from rclpy.time_source import TimeSource


def test_the_console_has_the_format_of_ros(capfd: pytest.CaptureFixture[str]) -> None:
    get_logger("robot.arm").warning("careful")
    assert re.fullmatch(r"\[WARN\] \[\d+\.\d{9}\] \[robot\.arm\]: careful\n", capfd.readouterr().err)


def test_the_format_can_be_chosen(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("RCUTILS_CONSOLE_OUTPUT_FORMAT", "{name}|{message}|{function_name}")
    monkeypatch.setenv("RCUTILS_LOGGING_USE_STDOUT", "1")
    get_logger("a").error("b")
    assert capfd.readouterr().out == "a|b|test_the_format_can_be_chosen\n"


def test_levels_are_inherited(capfd: pytest.CaptureFixture[str]) -> None:
    set_logger_level("parent", LoggingSeverity.ERROR)
    child = get_logger("parent").get_child("child")
    assert not child.info("no")
    assert get_logger_effective_level("parent.child") == LoggingSeverity.ERROR
    child.set_level(LoggingSeverity.DEBUG)
    assert child.debug("yes")
    assert "yes" in capfd.readouterr().err


def test_filters_count_per_place(capfd: pytest.CaptureFixture[str]) -> None:
    logger = get_logger("filters")
    assert [logger.info("a", once=True) for _ in range(3)] == [True, False, False]
    assert [logger.info("b", skip_first=True) for _ in range(3)] == [False, True, True]
    assert [logger.info("c", throttle_duration_sec=1000.0) for _ in range(3)] == [True, False, False]
    with pytest.raises(TypeError, match="sometimes"):
        logger.info("d", sometimes=True)


def test_the_console_can_be_switched_off(capfd: pytest.CaptureFixture[str]) -> None:
    rclpy.init(args=["--ros-args", "--disable-stdout-logs"])
    get_logger("silent").error("unheard")
    rclpy.shutdown()
    rclpy.init(args=[])
    get_logger("loud").error("heard")
    rclpy.shutdown()
    output = capfd.readouterr().err
    assert "unheard" not in output
    assert "heard" in output


def test_messages_are_on_rosout(ros: None) -> None:
    listener, node = Node("listener"), Node("speaker", namespace="/ns")
    heard: list[Log] = []
    profile = QoSProfile(depth=100, durability=QoSPresetProfiles.ACTION_STATUS_DEFAULT.value.durability)
    listener.create_subscription(Log, "/rosout", heard.append, profile)
    node.get_logger().get_child("part").error("on rosout")
    while not any(m.msg == "on rosout" for m in heard):
        rclpy.spin_once(listener, timeout_sec=1)
    message = next(m for m in heard if m.msg == "on rosout")
    assert (message.name, message.level) == ("ns.speaker.part", 40)
    assert message.function == "test_messages_are_on_rosout"


def test_filters_combine_in_the_order_of_ros() -> None:
    logger = get_logger("combined")
    assert [logger.info("a", once=True, skip_first=True) for _ in range(5)] == [False, True, *[False] * 3]
    clock = ROSClock()
    source = TimeSource()
    source.attach_clock(clock)
    source.ros_time_is_active = True
    written = []
    for tick in range(5):
        clock.set_ros_time_override(Time(seconds=10 + 0.4 * tick))
        written.append(
            logger.info("b", skip_first=True, throttle_duration_sec=1.0, throttle_time_source_type=clock)
        )
    assert written == [False, False, False, True, False]


def test_throttling_counts_from_the_start_of_simulated_time() -> None:
    clock, source = ROSClock(), TimeSource()
    source.attach_clock(clock)
    source.ros_time_is_active = True
    logger, written = get_logger("simulated"), []
    for seconds in (0, 1, 2, 3, 4, 1):
        clock.set_ros_time_override(Time(seconds=seconds))
        written.append(logger.info("t", throttle_duration_sec=2, throttle_time_source_type=clock))
    assert written == [False, False, True, False, True, True], "set back to 1 s, it starts anew"


def test_filters_that_are_off_are_none() -> None:
    logger = get_logger("off")

    def log(**options: Any) -> bool:
        return logger.info("message", **options)

    for options in ({}, {"once": False}, {"skip_first": None}, {"throttle_duration_sec": 0}, {"name": None}):
        assert log(**options)
    with pytest.raises(ValueError, match="filters cannot be changed"):
        log(once=True)
    with pytest.raises(TypeError, match=r"required parameter .* not specified"):
        logger.info("message", throttle_time_source_type=ROSClock())
    with pytest.raises(ValueError, match="not a clock"):
        logger.info("message", throttle_duration_sec=1, throttle_time_source_type="STEADY")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"severity": LoggingSeverity.ERROR}, "severity"),
        ({"name": "other"}, "name"),
        ({"once": True}, "filters"),
        ({"throttle_duration_sec": 2.0}, "parameters"),
    ],
)
def test_a_call_keeps_what_it_was_first_made_with(change: dict[str, Any], what: str) -> None:
    first = {"severity": LoggingSeverity.INFO, "throttle_duration_sec": 1.0}
    logger = get_logger("kept")
    with pytest.raises(ValueError, match=what):
        for options in (first, first | change):
            logger.log("message", **options)

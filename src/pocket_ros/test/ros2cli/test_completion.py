"""Tab completion, as a shell asks for it; and values that are no YAML or do not fit."""

import os
import subprocess
import sys
from typing import Any

import pytest

from .conftest import RUN, Robot, Run

IFS = "\013"


def complete(line: str) -> list[str]:
    """What a shell is told at the end of a line; argcomplete writes to the descriptor 8."""
    read, write = os.pipe()
    environment = os.environ | {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": IFS,
        "_ARGCOMPLETE_SUPPRESS_SPACE": "1",
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
    }
    command = f'exec 8>&{write}; exec "$0" -c "$1"'
    with subprocess.Popen(
        ["bash", "-c", command, sys.executable, RUN], env=environment, pass_fds=[write]
    ) as process:
        os.close(write)
        with os.fdopen(read) as answers:
            found = answers.read()
        assert process.wait(60) == 0
    return [word.strip() for word in found.split(IFS) if word]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ros2 to", ["topic"]),
        ("ros2 topic ec", ["echo"]),
        ("ros2 topic echo --qos-pro", ["--qos-profile"]),
        ("ros2 pkg prefix std_m", ["std_msgs"]),
        ("ros2 run tf2_ros static", ["static_transform_publisher"]),
        ("ros2 topic pub /x std_msgs/msg/UInt8M", ["std_msgs/msg/UInt8MultiArray"]),
    ],
)
def test_words_are_completed(line: str, expected: list[str]) -> None:
    assert complete(line) == expected


def test_names_of_the_graph_are_completed(robot: Robot) -> None:
    assert "/fleet/robot" in complete("ros2 node info /fl")
    assert "/rosout" in complete("ros2 topic info /roso")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["topic", "pub", "/x", "std_msgs/msg/Int32", "'open"], "the values are not in YAML format"),
        (
            ["topic", "pub", "/x", "std_msgs/msg/Int32", "{data: [1]}"],
            "the field 'data' takes int32, not [1]",
        ),
        (
            ["topic", "pub", "/x", "sensor_msgs/msg/LaserScan", "{ranges: [a]}"],
            "'ranges' takes sequence<float>",
        ),
        (["service", "call", "/x", "std_srvs/srv/SetBool", "{data: ["], "the values are not in YAML format"),
        (["action", "send_goal", "/x", "example_interfaces/action/Fibonacci", "{order: x}"], "'order' takes"),
    ],
)
def test_values_that_do_not_fit_are_named(ros2: Run, words: list[Any], text: str) -> None:
    done = ros2(*words)
    assert done.returncode == 1
    assert text in done.stderr and "Traceback" not in done.stderr

"""`ros2 node`, `topic`, `service`, `action`, `param` and `interface` against a node in another process."""

import re
import signal
from pathlib import Path
from typing import Any

import pytest
import yaml

POINT = "geometry_msgs/msg/PointStamped"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("node list", "/fleet/robot\n"),
        ("node list -c", "1\n"),
        ("topic type /fleet/point", f"{POINT}\n"),
        (f"topic find {POINT}", "/fleet/point\n"),
        ("topic info /fleet/point", f"Type: {POINT}\nPublisher count: 1\nSubscription count: 0\n"),
        ("service type /fleet/add", "example_interfaces/srv/AddTwoInts\n"),
        ("service find example_interfaces/srv/AddTwoInts", "/fleet/add\n"),
        (
            "service info /fleet/add",
            "Type: example_interfaces/srv/AddTwoInts\nClients count: 0\nServices count: 1\n",
        ),
        ("action list", "/fleet/count\n"),
        ("action list -t", "/fleet/count [example_interfaces/action/Fibonacci]\n"),
        ("action type /fleet/count", "example_interfaces/action/Fibonacci\n"),
        (
            "action info -t /fleet/count",
            "Action: /fleet/count\nAction clients: 0\nAction servers: 1\n"
            "    /fleet/robot [example_interfaces/action/Fibonacci]\n",
        ),
        ("param get /fleet/robot rate", "Double value is: 2.5\n"),
        ("param get /fleet/robot names", "String values are: ['a', 'b']\n"),
        ("param get fleet/robot arm.ready --hide-type", "True\n"),
        ("param describe /fleet/robot rate", "Parameter name: rate\n  Type: double\n  Constraints:\n"),
        ("topic echo --once --field point.x /fleet/point", "1.5\n---\n"),
        ("topic echo --once --csv --field point /fleet/point", "1.5,0.0,0.0\n"),
        ("topic echo --once /fleet/description", "data: a robot\n---\n"),
        (f"topic echo --once --filter m.point.x>9 --timeout 0.2 /fleet/point {POINT}", ""),
        (
            "interface show geometry_msgs/msg/PointStamped --no-comments",
            "std_msgs/Header header\n\tbuiltin_interfaces/Time stamp\n\t\tint32 sec\n\t\tuint32 nanosec\n"
            "\tstring frame_id\nPoint point\n\tfloat64 x\n\tfloat64 y\n\tfloat64 z\n",
        ),
        ("interface package std_srvs", "std_srvs/srv/Empty\nstd_srvs/srv/SetBool\nstd_srvs/srv/Trigger\n"),
        ("daemon status", "The daemon is not running\n"),
        ("daemon start", "No daemon was started: the commands of pocket_ros need none\n"),
    ],
)
def test_output(words: str, expected: str, robot: Any, ros2: Any) -> None:
    done = ros2(*words.split())
    assert done.stdout == expected, done.stderr
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("node info /nobody", "Unable to find node '/nobody'"),
        ("node info /_hidden", "Unable to find node '/_hidden'"),
        ("topic info /nothing", "Unknown topic '/nothing'"),
        ("topic echo /nothing", "Could not determine the type for the passed topic"),
        ("topic echo --once --field nothing /fleet/point", "Invalid field 'nothing'"),
        ("topic pub /x std_msgs/msg/Nothing", "no definition of 'std_msgs/msg/Nothing'"),
        ("topic pub /x std_srvs", "The passed type is invalid: 'std_srvs'"),
        ("topic pub /x std_msgs/msg/String nothing", "The passed value needs to be a dictionary"),
        ("service call /fleet/add example_interfaces/srv/AddTwoInts {c:1}", "Failed to populate field"),
        ("param get /nobody rate --timeout 0.1", "Node not found"),
        ("param get /fleet/robot nothing", "Parameter not set"),
        ("param load /fleet/robot /no/such/file.yaml", "No such file"),
        ("bag burst x", "'ros2 bag burst' is not covered by pocket_ros"),
        ("interface show no_pkg/msg/Name", "Unknown package 'no_pkg'"),
        ("interface show std_msgs/msg/Strin", "Could not find the interface 'std_msgs/msg/Strin.idl'"),
        ("interface show std_msgs/msg/Strin", "did you mean 'std_msgs/msg/String'"),
        ("run no_such_package node", "Package 'no_such_package' not found"),
        ("bag info /no/such/bag", "Could not open '/no/such/bag'"),
        ("bag record", "Need to specify at least one option"),
    ],
)
def test_errors_say_what_is_wrong(words: str, message: str, robot: Any, ros2: Any) -> None:
    done = ros2(*(word.replace(":", ": ", 1) if ":" in word else word for word in words.split()))
    assert message in done.stdout + done.stderr
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


def test_lists(robot: Any, ros2: Any) -> None:
    topics = ros2("topic", "list", "-t").stdout.splitlines()
    assert f"/fleet/point [{POINT}]" in topics
    assert "/rosout [rcl_interfaces/msg/Log]" in topics
    assert not any("_action" in topic for topic in topics)
    hidden = ros2("topic", "list", "--include-hidden-topics").stdout.splitlines()
    assert "/fleet/count/_action/feedback" in hidden
    verbose = ros2("topic", "list", "-v").stdout
    assert "Published topics:\n" in verbose and f" * /fleet/point [{POINT}] 1 publisher\n" in verbose
    assert (
        "Subscribed topics:\n" in verbose and " * /fleet/say [std_msgs/msg/String] 1 subscriber\n" in verbose
    )
    services = ros2("service", "list", "-t").stdout
    assert "/fleet/add [example_interfaces/srv/AddTwoInts]\n" in services
    assert "/fleet/robot/get_parameters [rcl_interfaces/srv/GetParameters]\n" in services
    interfaces = ros2("interface", "list", "-s").stdout
    assert interfaces.startswith("Services:\n") and "    std_srvs/srv/SetBool\n" in interfaces


def test_node_info(robot: Any, ros2: Any) -> None:
    sections: dict[str, list[str]] = {}
    lines = ros2("node", "info", "/fleet/robot").stdout.splitlines()
    assert lines[0] == "/fleet/robot"
    for line in lines[1:]:
        if line.startswith("  ") and not line.startswith("    "):
            sections[line.strip()] = current = []
        elif line:
            current.append(line.strip())
    assert sections["Subscribers:"] == ["/fleet/say: std_msgs/msg/String"]
    assert f"/fleet/point: {POINT}" in sections["Publishers:"]
    assert "/fleet/add: example_interfaces/srv/AddTwoInts" in sections["Service Servers:"]
    assert sections["Service Clients:"] == []
    assert sections["Action Servers:"] == ["/fleet/count: example_interfaces/action/Fibonacci"]


def test_verbose_topic_info(robot: Any, ros2: Any) -> None:
    output = ros2("topic", "info", "-v", "/fleet/description").stdout
    assert "Node name: robot\nNode namespace: /fleet\nTopic type: std_msgs/msg/String\n" in output
    assert "Endpoint type: PUBLISHER\n" in output and "Durability: TRANSIENT_LOCAL\n" in output


def test_a_service_is_echoed_while_it_is_called(robot: Any, ros2_process: Any) -> None:
    echo = ros2_process("service", "echo", "/fleet/add")
    ros2_process(
        "service", "call", "-r", 20, "/fleet/add", "example_interfaces/srv/AddTwoInts", "{a: 40, b: 2}"
    )
    lines = []
    while lines.count("---") < 2:
        lines.append(echo.stdout.readline().rstrip("\n"))
        assert echo.poll() is None
    first, second = "\n".join(lines).split("\n---")[:2]
    both = [yaml.safe_load(text) for text in (first, second)]
    received, sent = sorted(both, key=lambda event: str(event["info"]["event_type"]))
    assert [event["info"]["event_type"] for event in (received, sent)] == [
        "REQUEST_RECEIVED",
        "RESPONSE_SENT",
    ]
    assert received["request"] == [{"a": 40, "b": 2}] and received["response"] == []
    assert sent["response"] == [{"sum": 42}] and list(sent) == ["info", "request", "response"]


def test_hidden_topics_have_no_type_unless_asked_for(robot: Any, ros2: Any) -> None:
    hidden = "/fleet/count/_action/feedback"
    assert (ros2("topic", "type", hidden).stdout, ros2("topic", "type", hidden).returncode) == ("", 1)
    shown = ros2("topic", "--include-hidden-topics", "type", hidden)
    assert shown.stdout == "example_interfaces/action/Fibonacci_FeedbackMessage\n"


def test_a_field_that_is_not_there_is_named(robot: Any, ros2: Any) -> None:
    done = ros2("topic", "echo", "--field", "point.q", "/fleet/point")
    assert "Invalid field 'point.q': 'Point' object has no attribute 'q'" in done.stdout + done.stderr


def test_long_arrays_are_cut(robot: Any, ros2: Any) -> None:
    short = ros2("topic", "echo", "--once", "--field", "data", "/fleet/numbers").stdout.splitlines()
    assert short[0] == "- 0" and short[127:] == ["- 127", "- '...'", "---"]
    full = ros2("topic", "echo", "--once", "-f", "--field", "data", "/fleet/numbers").stdout.splitlines()
    assert full[-2:] == ["- 199", "---"]
    none = ros2("topic", "echo", "--once", "--no-arr", "/fleet/numbers").stdout
    assert "data: '<sequence type: int32, length: 200>'" in none


def test_publish_and_hear(robot: Any, ros2: Any) -> None:
    done = ros2("topic", "pub", "--once", "/fleet/say", "std_msgs/msg/String", "data: hello there")
    assert (
        "publisher: beginning loop\npublishing #1: std_msgs.msg.String(data='hello there')\n" in done.stdout
    )
    assert robot.wait_for("heard") == "heard hello there"


def test_rates(robot: Any, ros2_process: Any) -> None:
    for verb, start in (("hz", "average rate: "), ("bw", "")):
        process = ros2_process("topic", verb, "/fleet/point")
        line = ""
        while not (line.startswith(start) and ("rate" in line or "/s from" in line)):
            line = process.stdout.readline()
            assert line, process.stderr.read()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
        assert "Traceback" not in errors and process.returncode == signal.SIGINT  # as in ROS, not 130
    process = ros2_process("topic", "hz", "/fleet/point", "/fleet/numbers")
    lines = [process.stdout.readline().split() for _ in range(4)]
    assert lines[2] == ["topic", "rate", "min_delta", "max_delta", "std_dev", "window"]


def test_delay(robot: Any, ros2: Any, ros2_process: Any) -> None:
    process = ros2_process("topic", "delay", "/fleet/point", "-w", "5")
    line = ""
    while not line.startswith("average delay: "):
        line = process.stdout.readline()
        assert line, process.stderr.read()
    assert 0.0 <= float(line.split()[-1]) < 1.0
    assert re.fullmatch(
        r"\tmin: \d\.\d{3}s max: \d\.\d{3}s std dev: \d\.\d{5}s window: 5\n", process.stdout.readline()
    )
    process.send_signal(signal.SIGINT)
    assert "Traceback" not in process.communicate(timeout=30)[1]
    done = ros2("topic", "delay", "/fleet/numbers")
    assert done.returncode != 0
    assert "without a header" in done.stderr + done.stdout


def test_service_call(robot: Any, ros2: Any) -> None:
    done = ros2("service", "call", "/fleet/add", "example_interfaces/srv/AddTwoInts", "{a: 2, b: 3}")
    assert "requester: making request: example_interfaces.srv.AddTwoInts_Request(a=2, b=3)\n" in done.stdout
    assert "response:\nexample_interfaces.srv.AddTwoInts_Response(sum=5)\n" in done.stdout
    assert done.returncode == 0


def test_goals(robot: Any, ros2: Any) -> None:
    kind = "example_interfaces/action/Fibonacci"
    done = ros2("action", "send_goal", "--feedback", "/fleet/count", kind, "{order: 2}")
    assert "Sending goal:\n     order: 2\n" in done.stdout
    assert "Goal accepted with ID: " in done.stdout
    assert "Feedback:\n    sequence:\n- 0\n- 1\n- 2\n" in done.stdout
    assert "Result:\n    sequence:\n- 0\n- 1\n- 2\n" in done.stdout
    assert done.stdout.endswith("Goal finished with status: SUCCEEDED\n")
    assert "Goal was rejected.\n" in ros2("action", "send_goal", "/fleet/count", kind, "{order: -1}").stdout


def test_interrupt_cancels_the_goal(robot: Any, ros2_process: Any) -> None:
    goal = ("/fleet/count", "example_interfaces/action/Fibonacci", "{order: 1000}")
    process = ros2_process("action", "send_goal", "-f", *goal)
    while "Feedback" not in (line := process.stdout.readline()):
        assert line
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=30)
    assert "Canceling goal...\n" in output and output.endswith("Goal canceled.\n"), errors
    assert "Traceback" not in errors
    assert robot.wait_for("cancelled") == "cancelled"


def test_parameters(robot: Any, ros2: Any, tmp_path: Path) -> None:
    listed = ros2("param", "list", "/fleet/robot").stdout.splitlines()
    assert listed[:3] == ["  arm.ready", "  names", "  rate"]
    typed = ros2("param", "list", "--param-type").stdout.splitlines()
    assert typed[0] == "/fleet/robot:" and "  rate (type: double)" in typed
    refused = ros2("param", "set", "/fleet/robot", "rate", "fast")
    assert refused.stderr.startswith("Setting parameter failed")
    assert ros2("param", "set", "/fleet/robot", "rate", "3.5").stdout == "Set parameter successful\n"
    dumped = ros2("param", "dump", "/fleet/robot").stdout
    values = yaml.safe_load(dumped)["/fleet/robot"]["ros__parameters"]
    assert values["rate"] == 3.5 and values["arm"] == {"ready": True} and values["names"] == ["a", "b"]
    file = tmp_path / "robot.yaml"
    file.write_text("/fleet/robot:\n  ros__parameters:\n    rate: 2.5\n    arm: {ready: true}\n")
    loaded = ros2("param", "load", "/fleet/robot", file)
    assert ros2("param", "load", "/fleet/robot", file, "--no-use-wildcard").returncode == 0
    file.write_text(file.read_text().replace("/fleet/robot", "/**"))
    refused = ros2("param", "load", "/fleet/robot", file, "--no-use-wildcard")
    assert refused.stderr.startswith("Param file does not contain selected parameters"), refused.stderr
    assert loaded.stdout == "Set parameter rate successful\nSet parameter arm.ready successful\n"
    assert ros2("param", "get", "/fleet/robot", "rate").stdout == "Double value is: 2.5\n"

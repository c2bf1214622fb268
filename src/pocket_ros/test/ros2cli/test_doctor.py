"""`ros2 doctor`: what it finds of a graph, and what other packages add."""

import contextlib
import os
import re
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from ros2multicast.api import send
from std_msgs.msg import String

from pocket_ros.dds.domain import own_address

CHECKS = """
from ros2doctor.api import DoctorCheck, DoctorReport, Report, Result


class Battery(DoctorCheck):
    def category(self):
        return "battery"

    def check(self):
        result = Result()
        result.add_error()
        return result


class Broken(DoctorCheck):
    def category(self):
        return "broken"

    def check(self):
        raise ValueError("no sensor")


class BatteryReport(DoctorReport):
    def category(self):
        return "battery"

    def report(self):
        report = Report("BATTERY")
        report.add_to_report("charge", 7)
        return report
"""


def test_endpoints_that_cannot_match_fail_a_check(ros2: Any) -> None:
    best_effort = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
    with rclpy.init():
        node = rclpy.create_node("pair")
        node.create_publisher(String, "lossy", best_effort)
        node.create_subscription(String, "lossy", print, 10)
        node.create_publisher(String, "unheard", 10)
        done = ros2("doctor")
        assert "1/3 check(s) failed" in done.stdout and "Failed modules: middleware" in done.stdout
        assert "ERROR: QoS compatibility error found on topic '/lossy'" in done.stderr
        assert "Publisher without subscriber detected on /unheard." in done.stderr
        strict = ros2("doctor", "--include-warnings", "--report-failed").stdout
        assert "Failed modules: middleware" in strict and "topic" in strict
        report = ros2("doctor", "--report").stdout
        node.destroy_node()
    for title in ("NETWORK CONFIGURATION", "PLATFORM INFORMATION", "ROS 2 INFORMATION", "RMW MIDDLEWARE"):
        assert f"\n   {title}\n" in report
    assert "rmw_cyclonedds_cpp" in report and ": 127.0.0.1\n" in report
    lines = [line.split(":", 1)[1].strip() for line in report.splitlines() if ":" in line]
    place = lines.index("/unheard")
    assert lines[place + 1 : place + 3] == ["1", "0"]
    assert "/lossy [std_msgs/msg/String]" in lines


def test_without_nodes_all_checks_pass(ros2: Any) -> None:
    """In a domain of its own, for its nodes would be looked at."""
    domain = str(int(os.environ.get("ROS_DOMAIN_ID") or 0) + 1)
    environment = {**os.environ, "ROS_DOMAIN_ID": domain}
    assert ros2("wtf", env=environment).stdout == "\nAll 3 checks passed\n\n"


def test_checks_of_other_packages_are_made(tmp_path: Path, ros2: Any) -> None:
    metadata = tmp_path / "tools-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: tools\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[ros2doctor.checks]\nBattery = tools:Battery\nBroken = tools:Broken\n"
        "[ros2doctor.report]\nBattery = tools:BatteryReport\n"
    )
    (tmp_path / "tools.py").write_text(CHECKS)
    done = ros2("doctor", "-rf", env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert "Failed modules: battery" in done.stdout
    assert done.stdout.endswith("\n   BATTERY\ncharge  : 7\n")
    assert "Failed to run Broken: no sensor" in done.stderr


def spin_until_shutdown(node: Node) -> None:
    """Spin, as long as its context is there."""
    with contextlib.suppress(ExternalShutdownException):
        rclpy.spin(node)


def test_hello_counts_what_other_machines_say(ros2_process: Any) -> None:
    try:
        send(b"hello, it's me far", ttl=1)
    except OSError as error:
        pytest.skip(f"no multicast on this machine: {error}")
    with rclpy.init():
        node = rclpy.create_node("far")
        publisher = node.create_publisher(String, "/near", 10)
        process = ros2_process("doctor", "hello", "-t", "/near", "-ep", "0.05", "-pp", "0.5", "--ttl", "1")
        node.create_timer(0.05, lambda: publisher.publish(String(data="hello, it's me distant")))
        node.create_timer(0.05, lambda: send(b"hello, it's me far", ttl=1))
        spinning = threading.Thread(target=spin_until_shutdown, args=(node,))
        spinning.start()
        lines: list[str] = []
        found = dict.fromkeys(("distant", "far"), 0)
        while not all(found.values()):
            lines.append(process.stdout.readline())
            assert lines[-1], process.stderr.read()
            words = lines[-1].split()
            if len(words) == 2 and words[0] in found:
                found[words[0]] = int(words[1])
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
        rclpy.shutdown()
        spinning.join()
    assert lines[0] == "MULTIMACHINE COMMUNICATION SUMMARY\n"
    assert lines[1].startswith("Topic: /near, Published Msg Count: ")


def test_hello_once_sends_once(ros2: Any) -> None:
    done = ros2("doctor", "hello", "--once")
    if re.search("Network is unreachable|No such device", done.stderr):
        pytest.skip("no multicast on this machine")
    assert done.returncode == 0, done.stderr
    assert "Topic: /canyouhearme, Published Msg Count: 1\n" in done.stdout
    assert "Multicast Group/Port: 225.0.0.1/49150, Sent Msg Count: 1\n" in done.stdout


@pytest.mark.skipif(not own_address(), reason="this machine has the loopback interface only")
def test_a_network_that_nodes_do_not_reach_is_told_about(ros2: Any) -> None:
    environment = {key: value for key, value in os.environ.items() if "DISCOVERY_RANGE" not in key}
    told = "Nodes reach this machine only; ROS_AUTOMATIC_DISCOVERY_RANGE=SUBNET reaches others."
    assert told in ros2("doctor", env=environment).stderr
    assert told not in ros2("doctor", env={**environment, "ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"}).stderr

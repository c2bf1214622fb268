"""The programs of the package."""

import signal
import subprocess
import sys

import pytest


def run(module: str, *arguments: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-u", "-m", f"pocket_ros.tf2_ros.{module}", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("rotation", [("--yaw", "1.5707963"), ("--qz", "0.70710678", "--qw", "0.70710678")])
def test_a_published_transform_is_echoed(rotation: tuple[str, ...]) -> None:
    publisher = run(
        "static_transform_publisher", "--frame-id", "map", "--child-frame-id", "cam", "--x", "1.5", *rotation
    )
    echo = run("tf2_echo", "map", "cam", "50")
    try:
        assert echo.stdout is not None
        lines = iter(echo.stdout)
        assert (
            next(line for line in lines if "Translation" in line) == "- Translation: [1.500, 0.000, 0.000]\n"
        )
        next(lines)
        assert next(lines) == "- Rotation: in RPY (radian) [0.000, 0.000, 1.571]\n"
        for process in (echo, publisher):
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0
    finally:
        for process in (echo, publisher):
            process.kill()
            process.communicate()

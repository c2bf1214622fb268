"""The programs of the package."""

import os
import signal
import subprocess
import sysconfig

import pytest


def run(program: str, *arguments: str) -> "subprocess.Popen[str]":
    ros2 = os.path.join(sysconfig.get_path("scripts"), "ros2")
    command = [ros2, "run", "tf2_ros", program, *arguments]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment)


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

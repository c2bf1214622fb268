"""Ctrl-C: a launch in a process of its own, interrupted by a signal."""

import signal
import subprocess
import sys

import pytest

CHILD = """
import time
try:
    print('up')
    while True: time.sleep(0.1)
except KeyboardInterrupt:
    print('down')
"""
LAUNCH = f"""
import sys

import pytest
from launch import LaunchDescription, LaunchService
from launch.actions import ExecuteProcess
service = LaunchService()
service.include_launch_description(LaunchDescription([
    ExecuteProcess(cmd=[sys.executable, '-u', '-c', {CHILD!r}], name=name, output='screen') for name in 'ab'
]))
sys.exit(service.run())
"""


def start() -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", LAUNCH], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    up = 0
    while up < 2:
        line = process.stdout.readline()
        assert line, "the launch ended before its processes were up"
        up += "up" in line
    return process


def test_interrupt_ends_the_launch_cleanly() -> None:
    process = start()
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "user interrupted with ctrl-c (SIGINT)" in output
    assert output.count("down") == 2 and output.count("process has finished cleanly") == 2
    assert errors == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_termination_ends_the_children_too(number: signal.Signals) -> None:
    process = start()
    process.send_signal(number)
    output, errors = process.communicate(timeout=30)
    assert process.returncode == 0 and errors == ""
    assert output.count("process has finished cleanly") == 2

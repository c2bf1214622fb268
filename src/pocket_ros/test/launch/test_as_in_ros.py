"""Small things that programs written for ROS see."""

import os
import re
import sys
from pathlib import Path

import pytest
from launch import LaunchContext, LaunchDescription, LaunchService
from launch.actions import ExecuteProcess, LogInfo
from launch.event_handlers import OnIncludeLaunchDescription, OnShutdown
from launch.events import Shutdown
from launch.logging import launch_config
from launch_ros.actions import SetROSLogDir


def test_a_relative_log_folder_is_below_the_current_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(
        "ROS_LOG_DIR", "somewhere"
    )  # put back afterwards: a launch's environment is the process's
    context = LaunchContext()
    for given, expected in ((str(tmp_path), tmp_path), ("a", tmp_path / "a"), ("b", tmp_path / "a" / "b")):
        SetROSLogDir(given).execute(context)
        assert context.environment["ROS_LOG_DIR"] == str(expected)
    del context.environment["ROS_LOG_DIR"]
    SetROSLogDir("c").execute(context)
    assert os.path.isabs(context.environment["ROS_LOG_DIR"])


def test_handlers_answer_what_they_were_given() -> None:
    action = LogInfo(msg="over")
    for given in (action, [action]):
        handler = OnShutdown(on_shutdown=given)
        assert handler.handle(Shutdown(), LaunchContext()) is given
        assert handler.describe()[1] == [action]
    assert OnIncludeLaunchDescription(handle_once=True).handle_once


def test_a_log_of_its_own_has_no_time_stamps() -> None:
    command = [sys.executable, "-c", "print('as it came')"]
    service = LaunchService()
    process = ExecuteProcess(cmd=command, output="own_log", name="own")
    service.include_launch_description(LaunchDescription([process]))
    assert service.run() == 0
    (log,) = Path(launch_config.log_dir).glob("own*-stdout.log")
    # Processes are counted over the whole run of tests.
    assert re.fullmatch(r"\[own-\d+\] as it came\n", log.read_text())

"""Arguments of launch descriptions, and included files."""

from pathlib import Path

import pytest
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription, LogInfo
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution, ThisLaunchFileDir
from launching import run


def test_arguments_and_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    declare = DeclareLaunchArgument("speed", default_value="1", description="how fast")
    assert run(declare, LogInfo(msg=["speed is ", LaunchConfiguration("speed")])) == 0
    assert run(declare, LogInfo(msg=["speed is ", LaunchConfiguration("speed")]), speed="2") == 0
    output = capsys.readouterr().out
    assert output == "[INFO] [launch.user]: speed is 1\n[INFO] [launch.user]: speed is 2\n"


def test_missing_and_forbidden_arguments_end_the_launch(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(DeclareLaunchArgument("robot")) == 1
    assert "Required launch argument 'robot'" in capsys.readouterr().out
    assert run(DeclareLaunchArgument("kind", choices=["a", "b"]), kind="c") == 1
    assert "Valid options are: ['a', 'b']" in capsys.readouterr().out


def test_included_file_gets_its_arguments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inner = tmp_path / "inner.launch.py"
    inner.write_text("""
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, LogInfo
from launch.substitutions import LaunchConfiguration, ThisLaunchFileDir
from launching import run
def generate_launch_description():
    return LaunchDescription([
        DeclareLaunchArgument('name', description='whose'),
        LogInfo(msg=[LaunchConfiguration('name'), ' in ', ThisLaunchFileDir()]),
    ])
""")
    path = PathJoinSubstitution([str(tmp_path), "inner.launch.py"])
    include = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(path), launch_arguments={"name": "x"}.items()
    )
    assert run(include) == 0
    assert f"x in {tmp_path}" in capsys.readouterr().out
    assert run(IncludeLaunchDescription(PythonLaunchDescriptionSource(path))) == 1
    assert "missing required argument 'name' (description: 'whose')" in capsys.readouterr().out


def test_this_launch_file_needs_a_file() -> None:
    assert run(LogInfo(msg=ThisLaunchFileDir())) == 1

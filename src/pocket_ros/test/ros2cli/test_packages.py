"""`ros2 pkg`, `run` and `launch` with a package in a prefix, and stepping aside for a real `ros2cli`."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pocket_ros.executables import get_executable_path

LAUNCH = """
import sys
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess, LogInfo
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

def generate_launch_description():
    return LaunchDescription([
        DeclareLaunchArgument('who', default_value='world', description='Whom to greet'),
        LogInfo(msg=['hello ', LaunchConfiguration('who')]),
        Node(package='demo_pkg', executable='spinner', name='spinner', output='screen'),
    ])
"""
SPINNER = """#!{python}
import sys
import rclpy
from rclpy.executors import ExternalShutdownException
rclpy.init()
node = rclpy.create_node('unnamed')
try:
    print('spinning', node.get_name(), flush=True)
    rclpy.spin(node)
except (KeyboardInterrupt, ExternalShutdownException):
    pass
print('end', flush=True)
"""


@pytest.fixture(autouse=True)
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "prefix"
    for path in ("share/ament_index/resource_index/packages", "share/demo_pkg/launch", "lib/demo_pkg"):
        (folder / path).mkdir(parents=True)
    (folder / "share/ament_index/resource_index/packages/demo_pkg").touch()
    (folder / "share/demo_pkg/launch/demo.launch.py").write_text(LAUNCH)
    (folder / "share/demo_pkg/package.xml").write_text("<package><name>demo_pkg</name></package>")
    for name, text in (
        ("spinner", SPINNER),
        ("echo_args", "#!{python}\nimport sys; print(sys.argv[1:]); sys.exit(7)\n"),
    ):
        program = folder / "lib/demo_pkg" / name
        program.write_text(text.format(python=sys.executable))
        program.chmod(0o755)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(folder))
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path / "log"))
    return folder


def test_packages(prefix: Path, ros2: Any) -> None:
    assert "demo_pkg" in ros2("pkg", "list").stdout.splitlines()
    assert ros2("pkg", "prefix", "demo_pkg").stdout == f"{prefix}\n"
    assert ros2("pkg", "prefix", "--share", "demo_pkg").stdout == f"{prefix}/share/demo_pkg\n"
    assert ros2("pkg", "executables", "demo_pkg").stdout == "demo_pkg echo_args\ndemo_pkg spinner\n"
    assert "<name>demo_pkg</name>" in ros2("pkg", "xml", "demo_pkg").stdout
    assert ros2("pkg", "xml", "demo_pkg", "-t", "name").stdout == "demo_pkg\n"
    assert "has no tag 'nam'" in ros2("pkg", "xml", "demo_pkg", "-t", "nam").stderr
    missing = ros2("pkg", "prefix", "no_pkg")
    assert missing.stderr == "Package not found\n" and missing.returncode == 1


def test_run_passes_arguments_and_the_exit_code(ros2: Any) -> None:
    done = ros2("run", "demo_pkg", "echo_args", "-x", "--ros-args", "-r", "a:=b")
    assert done.stdout == "['-x', '--ros-args', '-r', 'a:=b']\n"
    assert done.returncode == 7
    assert "No executable found" in ros2("run", "demo_pkg", "nothing").stderr
    assert ros2("run", "--prefix", "env", "demo_pkg", "echo_args").stdout == "[]\n"


def test_interrupt_ends_a_launch_of_nodes(ros2_process: Any) -> None:
    process = ros2_process("launch", "demo_pkg", "demo.launch.py", "who:=you")
    seen = []
    while not seen or "spinning" not in seen[-1]:
        seen.append(process.stdout.readline())
        assert seen[-1], process.stderr.read()
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=30)
    assert process.returncode == 0
    assert seen[0].startswith("[INFO] [launch]: All log files can be found below ")
    assert "[INFO] [launch.user]: hello you\n" in seen
    assert any(line.startswith("[spinner-1] spinning spinner") for line in seen)
    assert "[spinner-1] end\n" in output
    assert "[INFO] [spinner-1]: process has finished cleanly" in output
    assert errors == ""


def test_launch_arguments_are_shown(prefix: Path, ros2: Any) -> None:
    shown = ros2("launch", "demo_pkg", "demo.launch.py", "--show-args").stdout
    assert shown == (
        "Arguments (pass arguments as '<name>:=<value>'):\n\n"
        "    'who':\n        Whom to greet\n        (default: 'world')\n"
    )
    by_path = ros2("launch", prefix / "share/demo_pkg/launch/demo.launch.py", "-p").stdout
    assert "DeclareLaunchArgument('who'" in by_path and "Node(package='demo_pkg'" in by_path


def test_launch_names_what_is_wrong(ros2: Any) -> None:
    missing = ros2("launch", "demo_pkg", "nothing.launch.py")
    assert "file 'nothing.launch.py' was not found in the share directory" in missing.stderr
    assert missing.returncode == 1
    assert "malformed launch argument 'who=x'" in ros2("launch", "demo_pkg", "demo.launch.py", "who=x").stderr


def test_real_command_is_run_where_there_is_one(tmp_path: Path, ros2: Any) -> None:
    real = tmp_path / "site" / "ros2cli"
    real.mkdir(parents=True)
    (real / "__init__.py").write_text("")
    (real / "cli.py").write_text(
        "import sys\ndef main(*, script_name='ros2', argv=None):\n"
        "    print('real', sys.argv[1:])\n    return 5\n"
    )
    done = ros2("topic", "list", env={**os.environ, "PYTHONPATH": str(real.parent)})
    assert done.stdout == "real ['topic', 'list']\n" and done.returncode == 5


def test_help_lists_the_commands(ros2: Any) -> None:
    done = ros2()
    assert done.returncode == 0
    for name in ("run", "launch", "topic", "node", "service", "action", "param", "interface", "pkg", "bag"):
        assert f"\n  {name} " in done.stdout
    assert "invalid choice: 'nothing'" in ros2("nothing").stderr


def test_packages_of_pocket_ros_are_in_the_index(ros2: Any) -> None:
    listed = ros2("pkg", "list").stdout.splitlines()
    assert {"rclpy", "launch_ros", "std_msgs", "tf2_ros"} <= set(listed)
    assert Path(ros2("pkg", "prefix", "std_msgs").stdout.strip(), "msg", "String.msg").is_file()
    assert "'std_msgs' has no package.xml" in ros2("pkg", "xml", "std_msgs").stderr
    assert "tf2_ros tf2_echo" in ros2("pkg", "executables", "tf2_ros").stdout.splitlines()


def test_a_program_that_another_package_has_too_is_the_packages_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both install `talker`, so `bin/talker` is that of the second."""
    site, scripts = tmp_path / "site", tmp_path / "bin"
    scripts.mkdir()
    for name in ("first", "second"):
        metadata = site / f"{name}_pkg-1.0.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}_pkg\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text(f"[console_scripts]\ntalker = {name}_pkg:main\n")
        text = f"import sys\n\ndef main():\n    print('{name}', *sys.argv[1:])\n    return 3\n"
        (site / f"{name}_pkg.py").write_text(text)
        index = tmp_path / "prefix/share/ament_index/resource_index/packages"
        (index / f"{name}_pkg").touch()
    script = scripts / "talker"
    script.write_text(f"#!{sys.executable}\nimport sys\nfrom second_pkg import main\nsys.exit(main())\n")
    script.chmod(0o755)
    monkeypatch.setenv("PYTHONPATH", str(site))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    code = f"""
import sys, sysconfig
sysconfig.get_path = lambda name: {str(scripts)!r}
from pocket_ros.ros2cli.main import main
sys.exit(main(sys.argv[1:]))
"""
    for name in ("first", "second", "first"):
        command = [sys.executable, "-c", code, "run", f"{name}_pkg", "talker", "hello"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert (done.stdout, done.returncode) == (f"{name} hello\n", 3), done.stderr


def test_a_program_of_pocket_ros_is_not_that_of_another_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another package has put its own `tf2_echo` into `bin`."""
    script = tmp_path / "tf2_echo"
    script.write_text(f"#!{sys.executable}\nimport sys\nfrom other_pkg import main\nsys.exit(main())\n")
    script.chmod(0o755)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    path = get_executable_path(package_name="tf2_ros", executable_name="tf2_echo")
    assert path is not None
    done = subprocess.run([path, "--help"], capture_output=True, text=True)
    assert done.stdout.startswith("usage: tf2_echo"), done.stderr

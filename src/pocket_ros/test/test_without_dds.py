"""Without cyclonedds, which has no wheel for the newest Python, what needs it says so in one sentence."""

from __future__ import annotations

import subprocess
import sys

HIDDEN = """
import sys
from importlib import util

found = util.find_spec
util.find_spec = lambda name, package=None: None if name == "cyclonedds" else found(name, package)
sys.modules["cyclonedds"] = None
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", HIDDEN + code], capture_output=True, text=True, timeout=60)


def test_importing_rclpy_names_what_is_missing() -> None:
    done = run("import rclpy")
    assert done.returncode == 1
    assert "ModuleNotFoundError: pocket_ros talks over the package cyclonedds" in done.stderr


def test_the_command_prints_one_line() -> None:
    done = run("from pocket_ros.ros2cli.main import main; sys.exit(main(['topic', 'list']))")
    assert done.returncode == 1
    assert done.stderr.startswith("pocket_ros talks over") and len(done.stderr.splitlines()) == 1


def test_messages_need_no_dds() -> None:
    assert run("from std_msgs.msg import String; print(String(data='x').data)").stdout == "x\n"

"""The conformance script on a made-up checkout: one launch package with tests of every outcome."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).parents[2] / "conformance" / "run.py"

TESTS = """
import pytest
from launch import LaunchDescription
from ament_index_python import get_package_prefix, get_package_share_path

def test_passes():
    assert LaunchDescription.__module__ == "pocket_ros.launch.description"
    assert (get_package_share_path("launch") / "msg" / "Count.msg").read_text() == "int32 count"

def test_program():
    import subprocess
    program = get_package_prefix("launch") + "/lib/launch/greet"
    assert subprocess.run([program], capture_output=True, text=True).stdout == "hello\\n"

def test_fails():
    assert 1 == 2

@pytest.mark.skip(reason="not today")
def test_is_skipped():
    pass
"""
LAUNCH_TEST = """
import sys, unittest
from launch import LaunchDescription
from launch.actions import ExecuteProcess
from launch_testing.actions import ReadyToTest

def generate_test_description():
    stay = [sys.executable, "-c", "import time\\nwhile True: time.sleep(0.1)"]
    return LaunchDescription([ExecuteProcess(cmd=stay), ReadyToTest()])

class TestIt(unittest.TestCase):
    def test_one(self):
        pass

    def test_two(self):
        raise AssertionError("two")
"""
SOURCE = """
from typing import TypeVar
T = TypeVar("T")
CONSTANT = 1

class LaunchDescription:
    def describe(self): ...
    def _hidden(self): ...
    def fly(self): ...

class Rocket:
    pass
"""
FILES = {
    "package.xml": "<package><name>launch</name></package>",
    "setup.py": "from setuptools import setup\n"
    "setup(entry_points={'console_scripts': ['greet = greeting.main:main']})\n",
    "greeting/__init__.py": "",
    "greeting/main.py": "def main():\n    print('hello')\n",
    "msg/Count.msg": "int32 count",
    "launch/__init__.py": "raise AssertionError('upstream must not be imported')",
    "launch/launch_description.py": SOURCE,
    "test/test_outcomes.py": TESTS,
    "test/test_flake8.py": "def test_flake8():\n    raise AssertionError('a linter')\n",
    "test/test_import.py": "from launch import Rocket\n",
    "test/some_launch_test.py": LAUNCH_TEST,
    "test/test_endless.py": "import time\ntime.sleep(1000)\n",
}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one repository, as upstream's are laid out."""
    root = tmp_path_factory.mktemp("upstream")
    for name, text in FILES.items():
        path = root / "launch" / "launch" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.slow
def test_every_outcome_is_counted(checkout: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    command = [sys.executable, str(RUN), "--all", str(checkout), "--json", str(report), "--seconds", "40"]
    before = sorted(checkout.rglob("*"))
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "| launch | 4 | 3 | 2 | 1 | 2 |" in done.stdout
    assert sorted(checkout.rglob("*")) == before  # checkouts are only read
    content = json.loads(report.read_text())
    files = {Path(file["file"]).name: file for file in content["suites"]["launch"]}
    assert set(files) == {"test_outcomes.py", "test_import.py", "some_launch_test.py", "test_endless.py"}
    assert "assert 1 == 2" in files["test_outcomes.py"]["failures"]["test_fails"]
    assert "Rocket" in files["test_import.py"]["not_collectable"]
    assert (files["some_launch_test.py"]["passed"], files["some_launch_test.py"]["failed"]) == (1, 1)
    assert "40 s" in files["test_endless.py"]["not_collectable"]
    names = content["names"]["launch"]
    module = "launch.launch_description"
    assert names["public"] == 5  # CONSTANT, the two classes and two methods of one
    assert names["missing"] == [f"{module}:CONSTANT", f"{module}:LaunchDescription.fly", f"{module}:Rocket"]


def test_a_run_without_checkouts_is_refused(tmp_path: Path) -> None:
    for arguments in ([], ["--rclpy", str(tmp_path / "nowhere")]):
        done = subprocess.run([sys.executable, str(RUN), *arguments], capture_output=True, text=True)
        assert done.returncode == 1
        assert "checkout" in done.stderr

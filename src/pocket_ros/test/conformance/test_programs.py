"""The script that starts example programs, on a made-up checkout with one of them."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parents[2] / "conformance" / "programs.py"
SETUP = """
from setuptools import setup

package_name = "examples_rclpy_guard_conditions"
setup(
    name=package_name,
    entry_points={
        "console_scripts": ["trigger_guard_condition = " + package_name + ".trigger:main"],
    },
)
"""


@pytest.mark.parametrize(("said", "works"), [("guard callback called shutdown", True), ("nothing", False)])
def test_a_program_works_when_it_says_what_upstreams_does(said: str, works: bool, tmp_path: Path) -> None:
    package = tmp_path / "examples" / "guard"
    module = package / "examples_rclpy_guard_conditions"
    module.mkdir(parents=True)
    (package / "setup.py").write_text(SETUP)
    (package / "package.xml").write_text(
        "<package><name>examples_rclpy_guard_conditions</name><version>1.0.0</version></package>"
    )
    (module / "__init__.py").touch()
    (module / "trigger.py").write_text(
        f"def main():\n    print('timer callback triggered guard condition')\n    print({said!r})\n"
    )
    command = [sys.executable, str(PROGRAMS), "--all", str(tmp_path), "--only", "guard", "--seconds", "10"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == (0 if works else 1), done.stdout + done.stderr
    assert f"{int(works)} of 1 programs do what upstream's do" in done.stdout
    assert ("did not say: guard callback called shutdown" in done.stdout) != works

"""The import finder, each case in an interpreter of its own with stand-in packages on its path."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


def run_python(code: str, folder: Path, *path: Path, **variables: str) -> str:
    """Run a program in `folder`, which is on its path as for `python -c`; its output."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path)), **variables}
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def stand_in(root: Path, name: str) -> Path:
    """A package called `name` with one submodule, as a real ROS 2 has it on its path."""
    package = root / name
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("ORIGIN = 'real'\n")
    (package / "extra.py").write_text("ORIGIN = 'real extra'\n")
    return root


@pytest.mark.parametrize(
    "name", ["launch", "ament_index_python", "launch_ros", "launch_testing", "ros2cli", "rclpy", "tf2_ros"]
)
def test_public_name_is_the_same_module(name: str, tmp_path: Path) -> None:
    code = f"import {name}, pocket_ros.{name} as inside; print({name} is inside)"
    assert run_python(code, tmp_path) == "True"
    code = f"import pocket_ros.{name} as inside, {name}; print({name} is inside)"
    assert run_python(code, tmp_path) == "True"


def test_interface_packages_are_the_same_modules(tmp_path: Path) -> None:
    code = """
import pocket_ros.interfaces.packages.std_msgs.msg as inside
import std_msgs.msg, geometry_msgs.msg
from std_msgs.msg import Header, String
from std_msgs.msg._string import String as same
print(std_msgs.msg is inside, same is String, type(geometry_msgs.msg.PoseStamped().header) is Header)
"""
    assert run_python(code, tmp_path) == "True True True"


def test_interface_package_of_a_source_checkout(tmp_path: Path) -> None:
    package = tmp_path / "src" / "demo_msgs"
    (package / "msg").mkdir(parents=True)
    (tmp_path / "package.xml").write_text("<package><name>demo</name></package>")
    (package / "package.xml").write_text("<package><name>demo_msgs</name></package>")
    (package / "msg" / "Speed.msg").write_text("std_msgs/Header header\nfloat64 value 1.5\n")
    code = "from demo_msgs.msg import Speed; print(Speed(), Speed.__module__)"
    output = run_python(code, tmp_path)
    assert "value=1.5" in output and "demo_msgs" in output


def test_interface_package_in_a_folder_on_the_path(tmp_path: Path) -> None:
    package = tmp_path / "src" / "demo_msgs"
    (package / "msg").mkdir(parents=True)
    (tmp_path / "package.xml").write_text("<package><name>demo</name></package>")
    (package / "package.xml").write_text("<package><name>demo_msgs</name></package>")
    (package / "msg" / "Speed.msg").write_text("float64 value 1.5\n")
    code = "from demo_msgs.msg import Speed; print(Speed().value)"
    assert run_python(code, tmp_path, tmp_path / "src") == "1.5"


def test_submodules_are_the_same_modules(tmp_path: Path) -> None:
    code = """
import ament_index_python.packages, pocket_ros.ament_index_python.packages as inside
from ament_index_python.resources import get_resource
print(ament_index_python.packages is inside, get_resource is ament_index_python.get_resource)
"""
    assert run_python(code, tmp_path) == "True True"


def test_missing_submodule_is_named_as_it_was_asked_for(tmp_path: Path) -> None:
    code = """
try:
    import ament_index_python.nothing
except ModuleNotFoundError as error:
    print(error)
"""
    assert run_python(code, tmp_path) == "No module named 'ament_index_python.nothing'"


@pytest.mark.parametrize("order", [("pocket_ros.launch", "launch"), ("launch", "pocket_ros.launch")])
def test_real_package_wins_in_both_orders(order: tuple[str, str], tmp_path: Path) -> None:
    real = stand_in(tmp_path / "site", "launch")
    code = f"""
import {order[0]}, {order[1]}, launch.extra, pocket_ros.launch
print(launch.ORIGIN, launch.extra.ORIGIN, hasattr(pocket_ros.launch, 'ORIGIN'))
"""
    assert run_python(code, tmp_path, real) == "real real extra False"


def test_real_interface_package_wins(tmp_path: Path) -> None:
    real = stand_in(tmp_path / "site", "std_msgs")
    assert run_python("import std_msgs; print(std_msgs.ORIGIN)", tmp_path, real) == "real"


def test_finder_registered_later_still_wins(tmp_path: Path) -> None:
    code = """
import sys, types
from importlib.machinery import ModuleSpec
class Late:
    def find_spec(self, name, path=None, target=None):
        return ModuleSpec(name, self) if name == 'launch' else None
    def create_module(self, spec):
        return types.ModuleType('launch')
    def exec_module(self, module):
        module.ORIGIN = 'late'
sys.meta_path.append(Late())
import launch
print(launch.ORIGIN)
"""
    assert run_python(code, tmp_path) == "late"


def test_folder_without_init_does_not_hide_the_library(tmp_path: Path) -> None:
    (tmp_path / "launch").mkdir()
    (tmp_path / "launch" / "talker.launch.py").write_text("")
    assert run_python("import launch; print(launch.__name__)", tmp_path) == "pocket_ros.launch"


def test_finder_is_last(tmp_path: Path) -> None:
    code = "import sys; print(type(sys.meta_path[-1]).__module__)"
    assert run_python(code, tmp_path) == "pocket_ros._finder"


def test_unknown_module_is_an_ordinary_import_error(tmp_path: Path) -> None:
    code = """
try:
    import no_such_thing_msgs
except ModuleNotFoundError as error:
    print(error)
"""
    assert run_python(code, tmp_path) == "No module named 'no_such_thing_msgs'"


def test_interpreter_start_imports_nothing_else(tmp_path: Path) -> None:
    code = "import sys; print(*sorted(m for m in sys.modules if m.startswith('pocket_ros')))"
    assert run_python(code, tmp_path) == "pocket_ros pocket_ros._finder"
    # Without the files of other distributions, which run at the start as well.
    root = Path(__file__).parents[1]
    line = (root / "pocket_ros.pth").read_text(encoding="utf-8").strip()
    listing = f"import sys; sys.path.append({str(root)!r}); {line}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-S", "-c", listing], capture_output=True, text=True, check=True)
    started = set(done.stdout.split())
    assert "pocket_ros._finder" in started
    assert not started & {"typing", "re", "json", "numpy", "cyclonedds", "importlib.metadata"}


@pytest.mark.parametrize("value", ["1", "true"])
def test_switched_off_nothing_is_taken(value: str, tmp_path: Path) -> None:
    code = """
import importlib.util, sys
print([importlib.util.find_spec(n) for n in ("rclpy", "launch", "std_msgs", "fleet_msgs")])
print([type(f).__module__ for f in sys.meta_path if type(f).__module__.startswith("pocket_ros")])
import pocket_ros
"""
    output = run_python(code, tmp_path, POCKET_ROS_DISABLE=value)
    assert output.splitlines() == ["[None, None, None, None]", "[]"]


@pytest.mark.parametrize("value", ["", "0"])
def test_the_switch_is_off_by_these(value: str, tmp_path: Path) -> None:
    assert (
        run_python("import rclpy; print(rclpy.__name__)", tmp_path, POCKET_ROS_DISABLE=value)
        == "pocket_ros.rclpy"
    )


def test_switched_off_a_bare_folder_is_what_it_is_without_pocket_ros(tmp_path: Path) -> None:
    (tmp_path / "launch").mkdir()
    assert run_python("import launch; print(launch.__file__)", tmp_path, POCKET_ROS_DISABLE="1") == "None"


def test_switched_off_ros2_says_so(tmp_path: Path) -> None:
    code = "from pocket_ros.ros2cli.main import main; print(main(['topic', 'list']))"
    assert "POCKET_ROS_DISABLE" in run_python(code, tmp_path, POCKET_ROS_DISABLE="1")

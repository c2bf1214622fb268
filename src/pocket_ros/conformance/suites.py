"""Which folders of upstream's repositories hold tests, and which modules they are tests of."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

REPOSITORIES = (
    "rclpy",
    "launch",
    "launch_ros",
    "geometry2",
    "common_interfaces",
    "rosidl_runtime_py",
    "message_filters",
    "examples",
    "demos",
    "rcl_interfaces",
    "test_interface_files",
    "rosidl",
)
"""Names of the repositories below github.com/ros2; the last three have only what tests look up."""

LINTERS = ("copyright", "flake8", "pep257", "mypy", "xmllint")


class Suite(NamedTuple):
    """The tests of one package: a folder in a repository, below which they are."""

    repository: str
    folder: str
    tests: str = "test"
    emptied: tuple[str, ...] = ()
    """Files that load compiled modules from a build folder: empty in the copy."""

    @property
    def name(self) -> str:
        return Path(self.folder).name if self.folder != "." else self.repository


SUITES = (
    Suite("rclpy", "rclpy", emptied=("__init__.py",)),
    Suite("launch", "launch"),
    Suite("launch", "launch_xml"),
    Suite("launch", "launch_yaml"),
    Suite("launch", "launch_testing"),
    Suite("launch", "test_launch_testing"),
    Suite("launch_ros", "test_launch_ros"),
    Suite("launch_ros", "launch_testing_ros"),
    Suite("geometry2", "tf2_ros_py"),
    Suite("geometry2", "tf2_py"),
    Suite("geometry2", "tf2_geometry_msgs"),
    Suite("geometry2", "tf2_sensor_msgs"),
    Suite("geometry2", "test_tf2"),
    Suite("common_interfaces", "sensor_msgs_py"),
    Suite("rosidl_runtime_py", "."),
    Suite("message_filters", "."),
    Suite("examples", "launch_testing/launch_testing_examples", "launch_testing_examples"),
)

MODULES = {
    "rclpy": ("rclpy", "rclpy/rclpy"),
    "launch": ("launch", "launch/launch"),
    "launch_xml": ("launch", "launch_xml/launch_xml"),
    "launch_yaml": ("launch", "launch_yaml/launch_yaml"),
    "launch_testing": ("launch", "launch_testing/launch_testing"),
    "launch_ros": ("launch_ros", "launch_ros/launch_ros"),
    "launch_testing_ros": ("launch_ros", "launch_testing_ros/launch_testing_ros"),
    "tf2_ros": ("geometry2", "tf2_ros_py/tf2_ros"),
    "tf2_geometry_msgs": ("geometry2", "tf2_geometry_msgs/src/tf2_geometry_msgs"),
    "tf2_sensor_msgs": ("geometry2", "tf2_sensor_msgs/tf2_sensor_msgs"),
    "sensor_msgs_py": ("common_interfaces", "sensor_msgs_py/sensor_msgs_py"),
    "rosidl_runtime_py": ("rosidl_runtime_py", "rosidl_runtime_py"),
    "message_filters": ("message_filters", "src/message_filters"),
}
"""Public packages: the repository and the folder of their sources."""


def test_files(checkout: Path, suite: Suite) -> list[Path]:
    """The files with tests of a suite, without those that run linters."""
    found = (checkout / suite.folder / suite.tests).rglob("*.py")
    return sorted(path for path in found if _has_tests(path) and not _is_linter(path))


def _has_tests(path: Path) -> bool:
    if "fixtures" in path.parts or path.name == "conftest.py":
        return False
    return path.stem.startswith("test_") or path.stem.endswith("_test") or path.name == "directed.py"


def _is_linter(path: Path) -> bool:
    return any(path.stem == f"test_{linter}" for linter in LINTERS)

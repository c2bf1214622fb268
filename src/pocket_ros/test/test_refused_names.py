"""Names of upstream that are not covered say so, in whatever way they are asked for."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest
import rclpy
from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor
from rclpy.exceptions import InvalidParameterValueException
from rclpy.node import Node

from pocket_ros.places import refused_modules, refused_names

PACKAGES = """
    launch launch_ros launch_testing launch_testing_ros message_filters rclpy rosidl_parser tf2_ros"""
MODULES = [module for package in PACKAGES.split() for module in refused_modules(package)]
NAMES = [(module, name) for module in MODULES for name in refused_names(module)]


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_a_refused_name_is_named(module: str, name: str) -> None:
    with pytest.raises(NotImplementedError, match=rf"^{module}\.{name} is not covered.*a full ROS 2 has it"):
        exec(f"from {module} import {name}", {})


def test_each_package_is_tried() -> None:
    assert len(NAMES) > 40
    assert {module.partition(".")[0] for module, _ in NAMES} == set(PACKAGES.split())


@pytest.mark.parametrize(
    "line",
    [
        "from launch_testing import legacy",
        "from launch_ros.actions import LoadComposableNodes",
        "from launch_ros.descriptions import ComposableNode",
        "import rclpy.clock; rclpy.clock.ClockHandle.get_now",
        "import rclpy.duration; rclpy.duration.Duration(seconds=1).get_c_duration()",
    ],
)
def test_a_new_process_is_told_by_name(line: str) -> None:
    done = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True)
    assert done.returncode == 1
    assert "NotImplementedError: " in done.stderr and "is not covered by pocket_ros" in done.stderr


def test_a_name_that_upstream_has_not_either_cannot_be_imported() -> None:
    for module in ("rclpy.clock", "launch.actions"):
        with pytest.raises(ImportError):
            exec(f"from {module} import no_such_name", {})
    for module in ("rclpy.no_such_module", "launch_pytest", "ros2topic.api"):
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(module)


def test_functions_that_moved_to_numpy_are_numpy_s() -> None:
    import numpy as np
    from sensor_msgs_py.numpy_compat import structured_to_unstructured, unstructured_to_structured

    points = unstructured_to_structured(np.eye(2), names=["x", "y"])
    assert points["x"].tolist() == [1.0, 0.0]
    assert structured_to_unstructured(points).tolist() == np.eye(2).tolist()


def test_a_context_can_be_asked_and_shut_down_by_its_handle() -> None:
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=7)
    assert context.handle.ok() and context.handle.get_domain_id() == 7
    context.handle.shutdown()
    assert not context.ok()


def test_a_node_says_how_near_a_limit_counts_as_the_limit() -> None:
    class Coarse(Node):
        PARAM_REL_TOL = 0.1

    limits = [FloatingPointRange(from_value=1.0, to_value=2.0)]
    with rclpy.init():
        fine, coarse = Node("fine"), Coarse("coarse")
        assert Node.PARAM_REL_TOL == 1e-6
        coarse.declare_parameter("speed", 2.1, ParameterDescriptor(floating_point_range=limits))
        with pytest.raises(InvalidParameterValueException):
            fine.declare_parameter("speed", 2.1, ParameterDescriptor(floating_point_range=limits))


def test_a_module_does_not_take_the_place_of_the_function_of_its_name() -> None:
    lines = """
import importlib, pkgutil, sys
for package in sys.argv[1:]:
    there = importlib.import_module(package)
    before = {name: getattr(there, name) for name in there.__all__} if hasattr(there, "__all__") else {}
    for info in pkgutil.iter_modules(there.__path__):
        importlib.import_module(f"{package}.{info.name}")
    for name, value in before.items():
        assert getattr(there, name) is value, f"{package}.{name}"
import launch_testing
from launch_testing.parametrize import parametrize
assert launch_testing.parametrize is parametrize
"""
    packages = [
        *PACKAGES.split(),
        "launch.actions",
        "launch_ros.utilities",
        "launch_testing.tools",
        "rclpy.action",
    ]
    done = subprocess.run([sys.executable, "-c", lines, *packages], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

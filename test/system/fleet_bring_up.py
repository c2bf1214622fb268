"""Bring-up by the launch file: `launch_test test/system/fleet_bring_up.py`."""

from __future__ import annotations

import time
import unittest
from pathlib import Path

import launch_testing
import launch_testing.actions
import launch_testing.asserts
import rclpy
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from fleet_sim_msgs.msg import FleetState

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0


def generate_test_description():
    """Launch three robots."""
    source = PythonLaunchDescriptionSource(str(ROOT / "launch" / "fleet.launch.py"))
    fleet = IncludeLaunchDescription(source, launch_arguments={"robots": "3"}.items())
    return LaunchDescription([fleet, launch_testing.actions.ReadyToTest()])


class TestBringUp(unittest.TestCase):
    """While the launch runs."""

    def test_the_fleet_is_there(self) -> None:
        context = rclpy.Context()
        rclpy.init(context=context)
        node = Node("bring_up", context=context)
        states: list[FleetState] = []
        node.create_subscription(FleetState, "/fleet/states", states.append, 10)
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)
        deadline = time.monotonic() + PATIENCE
        while not states and time.monotonic() < deadline:
            executor.spin_once(timeout_sec=0.1)
        executor.shutdown()
        node.destroy_node()
        rclpy.shutdown(context=context)
        assert [robot.name for robot in states[-1].robots] == ["robot_0", "robot_1", "robot_2"]

    def test_it_says_what_to_try(self, proc_output: object) -> None:
        proc_output.assertWaitFor("3 robots", timeout=PATIENCE)  # type: ignore[attr-defined]


@launch_testing.post_shutdown_test()
class TestEnd(unittest.TestCase):
    """After the launch was shut down."""

    def test_every_process_ended_well(self, proc_info: object) -> None:
        launch_testing.asserts.assertExitCodes(proc_info)

"""The node in the process of the test, which can look into its simulation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import rclpy

from fleet_sim.ros.node import FleetSimNode


@contextmanager
def hosted_node(*arguments: str) -> Iterator[FleetSimNode]:
    """Make a node with ROS arguments, and destroy it at the end."""
    rclpy.init(args=["--ros-args", *arguments])
    made = FleetSimNode()
    try:
        yield made
    finally:
        made.destroy_node()
        # A test may have ended ROS by itself.
        rclpy.try_shutdown()

"""The node in the process of the test, which can look into its simulation."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import rclpy

from fleet_sim.ros.node import FleetSimNode

PATIENCE = 120.0
"""In s: on a busy machine, nothing comes at once."""


def until(condition: Callable[[], object], *work: Callable[[], object]) -> None:
    """Repeat what makes something come until `condition()`; raises TimeoutError."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("nothing came")
        for one in work:
            one()


@contextmanager
def hosted_node(*arguments: str) -> Iterator[FleetSimNode]:
    """Make a node with ROS arguments, and destroy it at the end."""
    given = ["--ros-args", *arguments]
    rclpy.init(args=given)
    made = FleetSimNode(given)
    try:
        yield made
    finally:
        made.destroy_node()
        # A test may have ended ROS by itself.
        rclpy.try_shutdown()

"""A node steps as the library does: with it a run has the hashes of the table, too."""

from __future__ import annotations

import pytest
import rclpy

from fleet_sim.apps import verification as table
from fleet_sim.apps.verification import trace
from fleet_sim.ros.node import FleetSimNode


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sensors.yaml", "mobile_manipulator.yaml"])
def test_a_run_with_a_node_is_that_of_the_table(name: str) -> None:
    rclpy.init(args=["--ros-args", "-p", f"config:={table.shipped()[name]}"])
    try:
        node = FleetSimNode()
        try:
            found = trace(node.simulation)
        finally:
            node.destroy_node()
    finally:
        rclpy.shutdown()
    assert table.difference(table.load()[name], found) is None

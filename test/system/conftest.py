"""System tests run where rclpy is, in a ROS domain of their own on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest
import without_dds
from ros_domain import use_own_domain

if TYPE_CHECKING:
    from node_program import Running, SharedNode

# Where only DDS is missing, they are collected, and skipped with that reason.
if not without_dds.MISSING and find_spec("rclpy") is None:
    collect_ignore_glob = ["test_*.py"]

use_own_domain()


@pytest.fixture
def fleet(node: SharedNode) -> Iterator[Running]:
    """Return the node that the tests of a file share, as it began, and a client."""
    with node.visited() as both:
        yield both

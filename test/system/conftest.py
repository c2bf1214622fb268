"""System tests run where rclpy is, in a ROS domain of their own on this machine."""

from __future__ import annotations

from importlib.util import find_spec

import without_dds
from ros_domain import use_own_domain

# Where only DDS is missing, they are collected, and skipped with that reason.
if not without_dds.MISSING and find_spec("rclpy") is None:
    collect_ignore_glob = ["test_*.py"]

use_own_domain()

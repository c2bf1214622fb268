"""Faults are made in processes of their own, in a ROS domain of their own on this machine."""

from __future__ import annotations

from importlib.util import find_spec

from ros_domain import use_own_domain

if find_spec("rclpy") is None:
    collect_ignore = ["test_faults_of_nodes.py", "test_faults_of_network.py"]

use_own_domain()

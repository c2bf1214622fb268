"""System tests run where rclpy is, in a ROS domain of their own on this machine."""

from __future__ import annotations

import pytest
from ros_domain import use_own_domain

pytest.importorskip("rclpy")
use_own_domain()

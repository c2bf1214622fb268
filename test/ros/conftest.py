"""These tests run where rclpy is, in a ROS domain of their own on this machine."""

from __future__ import annotations

from ros_domain import use_own_domain

use_own_domain()

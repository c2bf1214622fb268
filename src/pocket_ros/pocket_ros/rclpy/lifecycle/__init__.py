"""Managed nodes, which are not covered."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise NotImplementedError(f"rclpy.lifecycle.{name} is not covered; a full ROS 2 has it")

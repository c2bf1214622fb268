"""The public place of what rclpy's C extension raises; the rest of the extension is not covered."""

from __future__ import annotations

from typing import Any

from .exceptions import InvalidHandle, RCLError

__all__ = ["InvalidHandle", "RCLError"]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise NotImplementedError(f"rclpy._rclpy_pybind11.{name} is not covered; a full ROS 2 has it")

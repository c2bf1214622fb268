"""The public place of what rclpy's C extension raises, and of what waitables wait on.

The rest of the extension is not covered.
"""

from __future__ import annotations

from typing import Any

from .exceptions import InvalidHandle, InvalidROSArgsError, RCLError, UnknownROSArgsError

# The name that the extension gives it.
RCLInvalidROSArgsError = InvalidROSArgsError

__all__ = ["InvalidHandle", "RCLError", "RCLInvalidROSArgsError", "UnknownROSArgsError"]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if name in ("Client", "GuardCondition", "Service", "Subscription", "Timer"):
        from . import raw_entities  # which few programs need

        return getattr(raw_entities, name)
    if name == "rmw_qos_profile_t":
        from .qos import CQoSProfile

        return CQoSProfile
    raise NotImplementedError(f"rclpy._rclpy_pybind11.{name} is not covered; a full ROS 2 has it")

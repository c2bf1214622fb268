"""Events of managed nodes, which are not covered."""

from __future__ import annotations


def __getattr__(name: str) -> object:
    if name.startswith("__"):
        raise AttributeError(name)
    raise NotImplementedError(
        f"launch_ros.events.matchers.{name} is not covered by pocket_ros; a full ROS 2 has it"
    )

"""Actions of launch tests."""

from typing import Any

from ...launch.action import Action
from .ready import ReadyToTest

__all__ = ["GTest", "PyTest", "ReadyToTest"]


class _NotCovered(Action):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            f"launch_testing.actions.{type(self).__name__} is not covered by pocket_ros; a full ROS 2 has it"
        )


class GTest(_NotCovered):
    """Not covered: use launch.actions.ExecuteProcess."""


class PyTest(_NotCovered):
    """Not covered: use launch.actions.ExecuteProcess."""

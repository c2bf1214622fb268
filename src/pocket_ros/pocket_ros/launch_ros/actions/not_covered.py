"""Actions that need a full ROS 2: each raises NotImplementedError saying so."""

from typing import Any

from ...launch.action import Action


class _NotCovered(Action):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            f"launch_ros.actions.{type(self).__name__} is not covered by pocket_ros; a full ROS 2 has it"
        )


class ComposableNodeContainer(_NotCovered):
    """Not covered: composable nodes are C++ libraries."""


class LoadComposableNodes(_NotCovered):
    """Not covered: composable nodes are C++ libraries."""


class LifecycleNode(_NotCovered):
    """Not covered."""


class LifecycleTransition(_NotCovered):
    """Not covered."""


class ROSTimer(_NotCovered):
    """Not covered: use launch.actions.TimerAction, which counts wall-clock seconds."""


class RosTimer(_NotCovered):
    """Not covered: use launch.actions.TimerAction, which counts wall-clock seconds."""

"""Parameters, and nodes that are loaded into another process."""

from typing import Any

from ...module_places import offer_modules
from ..parameter_descriptions import Parameter, ParameterFile, ParameterValue

__all__ = ["ComposableNode", "Parameter", "ParameterFile", "ParameterValue"]


class ComposableNode:
    """Not covered: composable nodes are C++ libraries. Raises NotImplementedError."""

    def __init__(self, **kwargs: Any) -> None:
        raise NotImplementedError(
            "launch_ros.descriptions.ComposableNode is not covered by pocket_ros; a full ROS 2 has it"
        )


offer_modules(__name__, {"composable_node": {"ComposableNode": ComposableNode}})

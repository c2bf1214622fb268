"""Actions about nodes, names and parameters."""

from .node import Node
from .not_covered import (
    ComposableNodeContainer,
    LifecycleNode,
    LifecycleTransition,
    LoadComposableNodes,
    ROSTimer,
    RosTimer,
)
from .push_ros_namespace import PushROSNamespace, PushRosNamespace
from .set_parameter import SetParameter, SetParametersFromFile, SetUseSimTime
from .set_remap import SetRemap
from .set_ros_log_dir import SetROSLogDir

__all__ = [
    "ComposableNodeContainer",
    "LifecycleNode",
    "LifecycleTransition",
    "LoadComposableNodes",
    "Node",
    "PushROSNamespace",
    "PushRosNamespace",
    "ROSTimer",
    "RosTimer",
    "SetParameter",
    "SetParametersFromFile",
    "SetROSLogDir",
    "SetRemap",
    "SetUseSimTime",
]

"""Actions about nodes, names and parameters."""

from ...places import not_covered, offer_class_modules
from .lifecycle import LifecycleNode, LifecycleTransition
from .node import Node
from .settings import (
    PushROSNamespace,
    PushRosNamespace,
    ROSTimer,
    RosTimer,
    SetParameter,
    SetParametersFromFile,
    SetRemap,
    SetROSLogDir,
    SetUseSimTime,
)

__all__ = [
    "LifecycleNode",
    "LifecycleTransition",
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

offer_class_modules(__name__)
__getattr__ = not_covered("launch_ros.actions")

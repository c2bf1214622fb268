"""Actions about nodes, names and parameters."""

from ...places import offer_class_modules
from .lifecycle import LifecycleNode, LifecycleTransition
from .node import ComposableNodeContainer, LoadComposableNodes, Node
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

offer_class_modules(__name__)

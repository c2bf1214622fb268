"""Actions about nodes, names and parameters."""

from ...module_places import offer_class_modules
from .composable_node_container import ComposableNodeContainer
from .lifecycle_node import LifecycleNode
from .lifecycle_transition import LifecycleTransition
from .load_composable_nodes import LoadComposableNodes
from .node import Node
from .push_ros_namespace import PushROSNamespace, PushRosNamespace
from .ros_timer import ROSTimer, RosTimer
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

offer_class_modules(__name__)

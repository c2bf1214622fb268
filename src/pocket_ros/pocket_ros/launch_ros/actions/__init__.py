"""Actions about nodes, names and parameters."""

from ...module_places import offer_class_modules
from .lifecycle_node import LifecycleNode
from .lifecycle_transition import LifecycleTransition
from .node import Node
from .not_covered import ComposableNodeContainer, LoadComposableNodes, get_composable_node_load_request
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

offer_class_modules(__name__, load_composable_nodes=[LoadComposableNodes, get_composable_node_load_request])

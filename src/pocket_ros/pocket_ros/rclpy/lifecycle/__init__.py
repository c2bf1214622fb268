"""Managed nodes: their states, their publishers and what else follows their transitions."""

from .managed_entity import ManagedEntity, SimpleManagedEntity
from .node import LifecycleNode, LifecycleNodeMixin
from .publisher import LifecyclePublisher
from .state_machine import LifecycleState, TransitionCallbackReturn

# Names that programs use as well; not in __all__, where they would be taken for those of a plain node.
LifecycleMixin = LifecycleNodeMixin
Node = LifecycleNode
NodeMixin = LifecycleNodeMixin
Publisher = LifecyclePublisher
State = LifecycleState

__all__ = [
    "LifecycleNode",
    "LifecycleNodeMixin",
    "LifecyclePublisher",
    "LifecycleState",
    "ManagedEntity",
    "SimpleManagedEntity",
    "TransitionCallbackReturn",
]

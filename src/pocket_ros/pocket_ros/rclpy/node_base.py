"""A node without what it does of itself: its name, its entities, its parameters and the graph."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from . import names
from .clock import ROSClock
from .exceptions import InvalidHandle
from .impl.rcutils_logger import RcutilsLogger
from .logging import get_logger
from .node_endpoints import profile_of
from .node_entities import NodeEntities
from .node_graph import NodeGraph
from .node_parameters import NodeParameters
from .publisher import Publisher
from .qos import QoSProfile
from .subscription import Subscription

if TYPE_CHECKING:
    from .qos_overriding_options import QoSOverridingOptions


class NodeBase(NodeEntities, NodeParameters, NodeGraph):
    """The part of Node that its own services and its clock are built on."""

    _ros_destroyed: bool

    def _ros_set_names(self, node_name: str, namespace: str) -> None:
        names.validate_node_name(node_name)
        if not namespace.startswith("/"):
            namespace = f"/{namespace}"
        names.validate_namespace(namespace)
        self._ros_namespace = self._ros_arguments.namespace(node_name, namespace)
        self._ros_name = self._ros_arguments.node_name(node_name)
        names.validate_node_name(self._ros_name)
        names.validate_namespace(self._ros_namespace)
        self._logger = get_logger(self.get_fully_qualified_name().lstrip("/").replace("/", "."))

    def get_name(self) -> str:
        """The name, without namespace. Raises InvalidHandle after destruction."""
        self._ros_check()
        return self._ros_name

    def get_namespace(self) -> str:
        """The namespace. Raises InvalidHandle after destruction."""
        self._ros_check()
        return self._ros_namespace

    def get_fully_qualified_name(self) -> str:
        """Namespace and name. Raises InvalidHandle after destruction."""
        self._ros_check()
        return f"{self._ros_namespace.rstrip('/')}/{self._ros_name}"

    def get_clock(self) -> ROSClock:
        """The node's clock: system time, or simulation time while `use_sim_time` is set."""
        return self._clock

    def get_logger(self) -> RcutilsLogger:
        """The node's logger."""
        return self._logger

    def _ros_overridden(
        self,
        kind: type[Publisher] | type[Subscription],
        topic: str,
        profile: QoSProfile | int,
        options: QoSOverridingOptions | None,
    ) -> QoSProfile | int:
        if options is None:
            return profile
        from .qos_overriding_options import declare_qos_parameters

        # What the program passed may be a preset that other topics use.
        own = copy.copy(profile_of(profile))
        declare_qos_parameters(kind, self, self._ros_endpoint_name(topic, "rostopic"), own, options)
        return own

    def _ros_check(self) -> None:
        if self._ros_destroyed:
            raise InvalidHandle("cannot use Node because destruction was requested")

"""Names of a node's endpoints, and making the endpoints themselves."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..interfaces.hashing import type_hash
from . import names
from .callback_groups import CallbackGroup
from .client import Client
from .endpoint import ServiceParts
from .event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from .exceptions import NameValidationException, RCLError
from .graph_node import GraphNode
from .impl.rcutils_logger import RcutilsLogger
from .publisher import Publisher
from .qos import HistoryPolicy, QoSProfile
from .service import Service
from .service_header import endpoint_id, user_data
from .subscription import Subscription
from .type_support import check_is_valid_msg_type, check_is_valid_srv_type, dds_type_name

if TYPE_CHECKING:
    from ..dds.endpoints import Reader, Writer
    from .arguments import RosArguments
    from .context import Context
    from .graph import Graph
    from .qos_overriding_options import QoSOverridingOptions


_REPLIES_KEPT = 1000
"""Answers to all clients of a service that a client keeps at least, until it has looked for its own."""

UserData = Callable[[str], bytes]
"""What an endpoint announces beside its QoS, by the name of its type."""


class NodeEndpoints:
    """Makes endpoints that are announced as this node's; what owns and runs them is decided elsewhere."""

    _context: Context
    _ros_arguments: RosArguments
    _ros_graph_node: GraphNode
    _default_callback_group: CallbackGroup

    def get_name(self) -> str:
        raise NotImplementedError("Node defines get_name()")

    def get_namespace(self) -> str:
        raise NotImplementedError("Node defines get_namespace()")

    def get_fully_qualified_name(self) -> str:
        raise NotImplementedError("Node defines get_fully_qualified_name()")

    def get_logger(self) -> RcutilsLogger:
        raise NotImplementedError("Node defines get_logger()")

    def _ros_overridden(
        self,
        kind: type[Publisher] | type[Subscription],
        topic: str,
        profile: QoSProfile | int,
        options: QoSOverridingOptions | None,
    ) -> QoSProfile | int:
        raise NotImplementedError("Node defines how parameters override the QoS of a topic")

    @property
    def context(self) -> Context:
        """The context of the node."""
        return self._context

    @property
    def _ros_graph(self) -> Graph:
        return self._context.graph

    def resolve_topic_name(self, topic: str, *, only_expand: bool = False) -> str:
        """The full name of a topic after remapping. Raises RCLError for names that are none."""
        return self._ros_resolve_valid(topic, "rostopic", only_expand)

    def resolve_service_name(self, service: str, *, only_expand: bool = False) -> str:
        """The full name of a service after remapping. Raises RCLError for names that are none."""
        return self._ros_resolve_valid(service, "rosservice", only_expand)

    def _ros_resolve_valid(self, name: str, kind: str, only_expand: bool) -> str:
        try:
            full_name = self._ros_resolve(name, kind, only_expand)
            names.validate_full_topic_name(full_name)
        except (NameValidationException, ValueError) as error:
            raise RCLError(f"failed to resolve name: {error}") from None
        return full_name

    def _ros_endpoint_name(self, name: str, kind: str) -> str:
        """The full name for an endpoint to make: what is wrong with a name is raised by its own class."""
        is_service = kind == "rosservice"
        names.validate_topic_name(name, is_service=is_service)
        full_name = self._ros_resolve(name, kind)
        names.validate_full_topic_name(full_name, is_service=is_service)
        return full_name

    def _ros_create_publisher(
        self,
        msg_type: type[Any],
        topic: str,
        qos_profile: QoSProfile | int,
        callback_group: CallbackGroup | None = None,
        event_callbacks: PublisherEventCallbacks | None = None,
        publisher_class: type[Publisher] = Publisher,
    ) -> Publisher:
        check_is_valid_msg_type(msg_type)
        profile, full_name = profile_of(qos_profile), self._ros_endpoint_name(topic, "rostopic")
        group = callback_group or self._default_callback_group
        writer = self._ros_writer(
            _dds_topic("rt", full_name, profile), msg_type._type_name_, profile, _topic_data
        )
        publisher = publisher_class(self, writer, msg_type, full_name, profile, group)
        events = event_callbacks or PublisherEventCallbacks()
        publisher.event_handlers = events.create_event_handlers(group, writer, topic, publisher.logger_name)
        return publisher

    def _ros_create_subscription(
        self,
        msg_type: type[Any],
        topic: str,
        callback: Callable[..., Any],
        qos_profile: QoSProfile | int,
        callback_group: CallbackGroup | None = None,
        event_callbacks: SubscriptionEventCallbacks | None = None,
        raw: bool = False,
    ) -> Subscription:
        check_is_valid_msg_type(msg_type)
        profile, full_name = profile_of(qos_profile), self._ros_endpoint_name(topic, "rostopic")
        group = callback_group or self._default_callback_group
        reader = self._ros_reader(
            _dds_topic("rt", full_name, profile), msg_type._type_name_, profile, _topic_data
        )
        subscription = Subscription(
            self,
            reader,
            msg_type,
            full_name,
            callback,
            group,
            profile,
            raw,
        )
        events = event_callbacks or SubscriptionEventCallbacks()
        subscription.event_handlers = events.create_event_handlers(
            group, reader, topic, subscription.logger_name
        )
        return subscription

    def _ros_create_client(
        self, srv_type: type[Any], name: str, profile: QoSProfile, group: CallbackGroup | None
    ) -> Client:
        check_is_valid_srv_type(srv_type)
        full_name, profile = self._ros_endpoint_name(name, "rosservice"), profile_of(profile)
        identity = self._ros_new_endpoint_id()
        data = _service_data("clientid", identity)
        reader = self._ros_reader(*_replies(full_name, srv_type), _of_replies(profile), data)
        writer = self._ros_writer(*_requests(full_name, srv_type), profile, data)
        group = group or self._default_callback_group
        return Client(ServiceParts(self, writer, reader, srv_type, full_name, group, profile), identity)

    def _ros_create_service(
        self,
        srv_type: type[Any],
        name: str,
        callback: Callable[[Any, Any], Any],
        profile: QoSProfile,
        group: CallbackGroup | None,
        service_class: type[Service] = Service,
    ) -> Service:
        check_is_valid_srv_type(srv_type)
        full_name, profile = self._ros_endpoint_name(name, "rosservice"), profile_of(profile)
        data = _service_data("serviceid", self._ros_new_endpoint_id())
        writer = self._ros_writer(*_replies(full_name, srv_type), profile, data)
        reader = self._ros_reader(*_requests(full_name, srv_type), profile, data)
        group = group or self._default_callback_group
        parts = ServiceParts(self, writer, reader, srv_type, full_name, group, profile)
        return service_class(parts, callback)

    def _ros_new_endpoint_id(self) -> bytes:
        return endpoint_id(self._context.participant.guid, self._ros_graph.next_service_number())

    def _ros_writer(self, topic: str, type_name: str, profile: QoSProfile, data: UserData) -> Writer:
        from ..dds.library import DDSError
        from .qos_mapping import to_dds

        try:
            writer = self._context.participant.create_writer(
                topic, dds_type_name(type_name), to_dds(profile), data(type_name)
            )
        except DDSError as error:
            raise RCLError(str(error)) from error
        self._ros_graph_node.writers.add(writer.guid)
        self._ros_graph.changed()
        return writer

    def _ros_reader(self, topic: str, type_name: str, profile: QoSProfile, data: UserData) -> Reader:
        from ..dds.library import DDSError
        from .qos_mapping import needs_peers, to_dds

        peers = [w.qos for w in self._ros_graph.writers() if w.topic == topic] if needs_peers(profile) else []
        try:
            reader = self._context.participant.create_reader(
                topic, dds_type_name(type_name), to_dds(profile, peers), data(type_name)
            )
        except DDSError as error:
            raise RCLError(str(error)) from error
        self._ros_graph_node.readers.add(reader.guid)
        self._ros_graph.changed()
        return reader

    def _ros_forget_writer(self, writer: Writer) -> None:
        self._ros_graph_node.writers.discard(writer.guid)
        self._ros_graph_changed()

    def _ros_forget_reader(self, reader: Reader) -> None:
        self._ros_graph_node.readers.discard(reader.guid)
        self._ros_graph_changed()

    def _ros_graph_changed(self) -> None:
        if self._context.ok():
            self._ros_graph.changed()

    def _ros_resolve(self, name: str, kind: str, only_expand: bool = False) -> str:
        def expand(text: str) -> str:
            return names.expand_topic_name(text, self.get_name(), self.get_namespace())

        full_name = expand(name)
        return (
            full_name if only_expand else self._ros_arguments.remap(full_name, self.get_name(), expand, kind)
        )


def _topic_data(type_name: str) -> bytes:
    return f"typehash={type_hash(type_name)};".encode()


def _service_data(role: str, identity: bytes) -> UserData:
    """The user data of both ends of one client or service, by the type an end carries."""
    return lambda type_name: user_data(type_hash(type_name), role, identity)


def _replies(full_name: str, srv_type: type[Any]) -> tuple[str, str]:
    """DDS topic and type of the responses of a service."""
    return f"rr{full_name}Reply", srv_type.Response._type_name_


def _of_replies(profile: QoSProfile) -> QoSProfile:
    """The profile of a client's reader, to which the answers to all clients of the service come.

    With a depth of ten, the default, those of others pushed out its own before it looked.
    """
    if profile.history is not HistoryPolicy.KEEP_LAST or profile.depth >= _REPLIES_KEPT:
        return profile
    wider = copy.copy(profile)
    wider.depth = _REPLIES_KEPT
    return wider


def _requests(full_name: str, srv_type: type[Any]) -> tuple[str, str]:
    """DDS topic and type of the requests of a service."""
    return f"rq{full_name}Request", srv_type.Request._type_name_


def _dds_topic(prefix: str, full_name: str, profile: QoSProfile) -> str:
    return full_name if profile.avoid_ros_namespace_conventions else prefix + full_name


def profile_of(qos_or_depth: QoSProfile | int) -> QoSProfile:
    """What an endpoint is made with. Raises ValueError for a negative depth, TypeError for anything else."""
    if isinstance(qos_or_depth, QoSProfile):
        return qos_or_depth
    if isinstance(qos_or_depth, int):
        if qos_or_depth < 0:
            raise ValueError("history depth must be greater than or equal to zero")
        return QoSProfile(depth=qos_or_depth)
    raise TypeError(f"Expected QoSProfile or int, got {type(qos_or_depth)}")

"""The publishers, subscriptions, services, clients, timers and guards of a node."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

from ..interfaces.catalog import type_hash
from . import names
from .clock import Clock, ROSClock
from .endpoint import ServiceParts
from .entity import CallbackGroup, Entity, MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from .event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from .exceptions import InvalidHandle, NameValidationException, RCLError
from .graph import GraphNode
from .logging import RcutilsLogger, get_logger
from .node_graph import NodeGraph
from .node_parameters import NodeParameters
from .publisher import Publisher
from .qos import HistoryPolicy, QoSProfile, qos_profile_services_default
from .service import Client, Service, endpoint_id, user_data
from .subscription import Subscription
from .time import S_TO_NS
from .timer import Rate, Timer
from .type_support import check_is_valid_msg_type, check_is_valid_srv_type, dds_type_name
from .waitable import GuardCondition, WaitableEntity

if TYPE_CHECKING:
    from ..dds.endpoints import Reader, Writer
    from .arguments import RosArguments
    from .context import Context
    from .executors import Executor
    from .graph import Graph
    from .qos_overriding_options import QoSOverridingOptions


# Names of a node's endpoints, and making the endpoints themselves.


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
        subscription = Subscription(self, reader, msg_type, full_name, callback, group, profile, raw)
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
        from .qos import to_dds

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
        from .qos import needs_peers, to_dds

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


# The executor that runs a node.


class NodeExecution(NodeEndpoints):
    """Tells the executor of a node what to wait on; a part of Node."""

    def _ros_init_execution(self) -> None:
        self._ros_executor_ref: Callable[[], Executor | None] = lambda: None
        self._ros_is_run = False

    def _ros_entities(self) -> Iterator[Entity]:
        raise NotImplementedError("Node defines what an executor waits on")

    @property
    def executor(self) -> Executor | None:
        """The executor that runs this node's callbacks, or between two `spin_once` ran them last."""
        return self._ros_executor_ref()

    @executor.setter
    def executor(self, new_executor: Executor | None) -> None:
        current = self._ros_running_executor()
        if current is not None and current is new_executor:
            return
        if current is not None:
            current.remove_node(self)
        if new_executor is None:
            self._ros_executor_ref = lambda: None
        else:
            self._ros_executor_ref = weakref.ref(new_executor)
            self._ros_is_run = True
            new_executor.add_node(self)

    def _ros_added(self, *entities: Entity) -> None:
        executor = self._ros_running_executor()
        if executor is not None and entities:
            for entity in entities:
                entity.node = self
                executor.attach(entity)
            executor.wake()

    def _ros_removed(self, *entities: Entity) -> None:
        executor = self._ros_running_executor()
        if executor is not None:
            for entity in entities:
                executor.detach(entity)

    def _ros_leave_executor(self, executor: Executor) -> None:
        if self.executor is executor:
            self._ros_is_run = False

    def _ros_running_executor(self) -> Executor | None:
        return self.executor if self._ros_is_run else None


class NodeEntities(NodeExecution):
    """Creating and destroying what a node consists of; a part of Node."""

    _clock: ROSClock

    def _ros_init_entities(self) -> None:
        self._ros_init_execution()
        self._publishers: list[Publisher] = []
        self._subscriptions: list[Subscription] = []
        self._clients: list[Client] = []
        self._services: list[Service] = []
        self._timers: list[Timer] = []
        self._guards: list[GuardCondition] = []
        self._ros_waitables: list[tuple[Any, list[Entity]]] = []
        self._default_callback_group: CallbackGroup = MutuallyExclusiveCallbackGroup()
        self._rate_group = ReentrantCallbackGroup()

    @property
    def publishers(self) -> Iterator[Publisher]:
        yield from self._publishers

    @property
    def subscriptions(self) -> Iterator[Subscription]:
        yield from self._subscriptions

    @property
    def clients(self) -> Iterator[Client]:
        yield from self._clients

    @property
    def services(self) -> Iterator[Service]:
        yield from self._services

    @property
    def timers(self) -> Iterator[Timer]:
        yield from self._timers

    @property
    def guards(self) -> Iterator[GuardCondition]:
        yield from self._guards

    @property
    def waitables(self) -> Iterator[Any]:
        yield from (waitable for waitable, _ in self._ros_waitables)

    @property
    def default_callback_group(self) -> CallbackGroup:
        """The group of entities that name none: one callback at a time."""
        return self._default_callback_group

    def create_publisher(
        self,
        msg_type: type[Any],
        topic: str,
        qos_profile: QoSProfile | int,
        *,
        callback_group: CallbackGroup | None = None,
        event_callbacks: PublisherEventCallbacks | None = None,
        qos_overriding_options: QoSOverridingOptions | None = None,
        publisher_class: type[Publisher] = Publisher,
    ) -> Publisher:
        """A publisher.

        Raises InvalidTopicNameException, RCLError for policies the middleware refuses, and what
        `declare_qos_parameters` raises for overrides.
        """
        profile = self._ros_overridden(Publisher, topic, qos_profile, qos_overriding_options)
        publisher = self._ros_create_publisher(
            msg_type, topic, profile, callback_group, event_callbacks, publisher_class
        )
        self._publishers.append(publisher)
        self._ros_added(*publisher.event_handlers)
        return publisher

    def create_subscription(
        self,
        msg_type: type[Any],
        topic: str,
        callback: Callable[..., Any],
        qos_profile: QoSProfile | int,
        *,
        callback_group: CallbackGroup | None = None,
        event_callbacks: SubscriptionEventCallbacks | None = None,
        qos_overriding_options: QoSOverridingOptions | None = None,
        raw: bool = False,
    ) -> Subscription:
        """A subscription.

        The callback takes the message (its CDR where `raw`), and the info if it takes two arguments.

        Raises InvalidTopicNameException, RCLError for policies the middleware refuses, and what
        `declare_qos_parameters` raises for overrides.
        """
        profile = self._ros_overridden(Subscription, topic, qos_profile, qos_overriding_options)
        subscription = self._ros_create_subscription(
            msg_type, topic, callback, profile, callback_group, event_callbacks, raw
        )
        self._subscriptions.append(subscription)
        self._ros_added(subscription, *subscription.event_handlers)
        return subscription

    def create_client(
        self,
        srv_type: type[Any],
        srv_name: str,
        *,
        qos_profile: QoSProfile = qos_profile_services_default,
        callback_group: CallbackGroup | None = None,
    ) -> Client:
        """A client of a service. Raises InvalidServiceNameException."""
        client = self._ros_create_client(srv_type, srv_name, qos_profile, callback_group)
        self._clients.append(client)
        self._ros_added(client)
        return client

    def create_service(
        self,
        srv_type: type[Any],
        srv_name: str,
        callback: Callable[[Any, Any], Any],
        *,
        qos_profile: QoSProfile = qos_profile_services_default,
        callback_group: CallbackGroup | None = None,
    ) -> Service:
        """A service. Raises InvalidServiceNameException."""
        service = self._ros_create_service(srv_type, srv_name, callback, qos_profile, callback_group)
        self._services.append(service)
        self._ros_added(service)
        return service

    def create_timer(
        self,
        timer_period_sec: float,
        callback: Callable[..., Any],
        callback_group: CallbackGroup | None = None,
        clock: Clock | None = None,
        autostart: bool = True,
    ) -> Timer:
        """A timer, on the node's clock where none is given. Raises RCLError for a negative period."""
        period = int(float(timer_period_sec) * S_TO_NS)
        group = callback_group or self._default_callback_group
        timer = Timer(
            callback, group, period, clock or self._clock, context=self._context, autostart=autostart
        )
        self._timers.append(timer)
        self._ros_added(timer)
        return timer

    def create_guard_condition(
        self, callback: Callable[[], Any], callback_group: CallbackGroup | None = None
    ) -> GuardCondition:
        """A guard condition."""
        group = callback_group or self._default_callback_group
        guard = GuardCondition(callback, group, context=self._context)
        self._guards.append(guard)
        self._ros_added(guard)
        return guard

    def create_rate(self, frequency: float, clock: Clock | None = None) -> Rate:
        """A rate in Hz. Raises ValueError where that is not positive."""
        if frequency <= 0:
            raise ValueError("frequency must be > 0")
        timer = self.create_timer(1.0 / frequency, lambda: None, self._rate_group, clock)
        return Rate(timer, context=self._context)

    def add_waitable(self, waitable: Any) -> None:
        """Have an executor wait on a Waitable. Raises TypeError for what is none."""
        own: list[Entity]
        if hasattr(waitable, "_ros_entities"):  # an action's client or server
            own = list(waitable._ros_entities())
        elif hasattr(waitable, "add_to_wait_set"):
            own = [WaitableEntity(waitable)]
        else:
            raise TypeError(f"add_waitable() takes a rclpy.waitable.Waitable, not {waitable!r}")
        self._ros_waitables.append((waitable, own))
        self._ros_added(*own)

    def remove_waitable(self, waitable: Any) -> None:
        """No longer wait on it."""
        for entry in [entry for entry in self._ros_waitables if entry[0] is waitable]:
            self._ros_removed(*entry[1])
            self._ros_waitables.remove(entry)

    def destroy_publisher(self, publisher: Publisher) -> bool:
        """End a publisher; False where it is not this node's."""
        return self._ros_destroy(self._publishers, publisher, publisher.event_handlers)

    def destroy_subscription(self, subscription: Subscription) -> bool:
        """End a subscription; False where it is not this node's."""
        return self._ros_destroy(
            self._subscriptions, subscription, [subscription, *subscription.event_handlers]
        )

    def destroy_client(self, client: Client) -> bool:
        """End a client; False where it is not this node's."""
        return self._ros_destroy(self._clients, client, [client])

    def destroy_service(self, service: Service) -> bool:
        """End a service; False where it is not this node's."""
        return self._ros_destroy(self._services, service, [service])

    def destroy_timer(self, timer: Timer) -> bool:
        """End a timer; False where it is not this node's."""
        return self._ros_destroy(self._timers, timer, [timer])

    def destroy_guard_condition(self, guard: GuardCondition) -> bool:
        """End a guard condition; False where it is not this node's."""
        return self._ros_destroy(self._guards, guard, [guard])

    def destroy_rate(self, rate: Rate) -> bool:
        """End a rate; False where it is not this node's."""
        destroyed = self.destroy_timer(rate._timer)
        rate.destroy()
        return destroyed

    def _ros_entities(self) -> Iterator[Entity]:
        """Everything an executor waits on."""
        yield from chain(self._subscriptions, self._clients, self._services, self._timers, self._guards)
        for publisher in self._publishers:
            yield from publisher.event_handlers
        for subscription in self._subscriptions:
            yield from subscription.event_handlers
        for _, entities in self._ros_waitables:
            yield from entities

    def _ros_destroy(self, owned: list[Any], item: Any, entities: list[Entity]) -> bool:
        if item not in owned:
            return False
        owned.remove(item)
        self._ros_removed(*entities)
        item.destroy()
        return True


# A node without what it does of itself: its name, its entities, its parameters and the graph.


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

"""The publishers, subscriptions, services, clients, timers and guards of a node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

from .callback_groups import CallbackGroup, MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from .client import Client
from .clock import Clock, ROSClock
from .constants import S_TO_NS
from .entity import Entity
from .event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from .guard_condition import GuardCondition
from .node_execution import NodeExecution
from .publisher import Publisher
from .qos import QoSProfile, qos_profile_services_default
from .service import Service
from .subscription import Subscription
from .timer import Rate, Timer
from .waitable import WaitableEntity

if TYPE_CHECKING:
    from .qos_overriding_options import QoSOverridingOptions


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

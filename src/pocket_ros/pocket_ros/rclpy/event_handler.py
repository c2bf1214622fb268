"""Events of publishers and subscriptions: incompatible QoS, deadlines, liveliness, losses, matches."""

from __future__ import annotations

import ctypes as ct
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar

from ..places import not_covered
from .entity import CallbackGroup, Entity
from .exceptions import RCLError
from .logging import get_logger
from .qos import QoSPolicyKind, qos_policy_name_from_kind

__all__ = [
    "EventHandlers",
    "IncompatibleTypeInfo",
    "PublisherEventCallbacks",
    "QoSLivelinessChangedInfo",
    "QoSLivelinessLostInfo",
    "QoSMessageLostInfo",
    "QoSOfferedDeadlineMissedInfo",
    "QoSOfferedIncompatibleQoSInfo",
    "QoSPublisherEventType",
    "QoSPublisherMatchedInfo",
    "QoSRequestedDeadlineMissedInfo",
    "QoSRequestedIncompatibleQoSInfo",
    "QoSSubscriptionEventType",
    "QoSSubscriptionMatchedInfo",
    "SubscriptionEventCallbacks",
    "UnsupportedEventTypeError",
]


class UnsupportedEventTypeError(RCLError):
    """Raised for an event the middleware does not report."""


class QoSPublisherEventType(IntEnum):
    """What can happen to a publisher."""

    RCL_PUBLISHER_OFFERED_DEADLINE_MISSED = 0
    RCL_PUBLISHER_LIVELINESS_LOST = 1
    RCL_PUBLISHER_OFFERED_INCOMPATIBLE_QOS = 2
    RCL_PUBLISHER_INCOMPATIBLE_TYPE = 3
    RCL_PUBLISHER_MATCHED = 4


class QoSSubscriptionEventType(IntEnum):
    """What can happen to a subscription."""

    RCL_SUBSCRIPTION_REQUESTED_DEADLINE_MISSED = 0
    RCL_SUBSCRIPTION_LIVELINESS_CHANGED = 1
    RCL_SUBSCRIPTION_REQUESTED_INCOMPATIBLE_QOS = 2
    RCL_SUBSCRIPTION_MESSAGE_LOST = 3
    RCL_SUBSCRIPTION_INCOMPATIBLE_TYPE = 4
    RCL_SUBSCRIPTION_MATCHED = 5


@dataclass
class QoSRequestedDeadlineMissedInfo:
    """Messages that came too late."""

    total_count: int
    total_count_change: int


@dataclass
class QoSLivelinessLostInfo:
    """Times this publisher was not alive in time."""

    total_count: int
    total_count_change: int


@dataclass
class QoSMessageLostInfo:
    """Messages that never came."""

    total_count: int
    total_count_change: int


@dataclass
class QoSLivelinessChangedInfo:
    """Publishers that are alive and that are not."""

    alive_count: int
    not_alive_count: int
    alive_count_change: int
    not_alive_count_change: int


@dataclass
class QoSRequestedIncompatibleQoSInfo:
    """Endpoints that do not match, and the policy that keeps the last one from it."""

    total_count: int
    total_count_change: int
    last_policy_kind: QoSPolicyKind


@dataclass
class QoSSubscriptionMatchedInfo:
    """Endpoints that match."""

    total_count: int
    total_count_change: int
    current_count: int
    current_count_change: int


@dataclass
class IncompatibleTypeInfo:
    """Endpoints of the same name with another type."""

    total_count: int
    total_count_change: int


QoSOfferedDeadlineMissedInfo = QoSRequestedDeadlineMissedInfo
QoSOfferedIncompatibleQoSInfo = QoSRequestedIncompatibleQoSInfo
QoSPublisherMatchedInfo = QoSSubscriptionMatchedInfo

_OFFERED_DEADLINE, _REQUESTED_DEADLINE = 1 << 1, 1 << 2
_OFFERED_QOS, _REQUESTED_QOS = 1 << 3, 1 << 4
_SAMPLE_LOST = 1 << 5
_LIVELINESS_LOST, _LIVELINESS_CHANGED = 1 << 9, 1 << 10
_PUBLICATION_MATCHED, _SUBSCRIPTION_MATCHED = 1 << 11, 1 << 12
_PUBLISHER, _SUBSCRIPTION = QoSPublisherEventType, QoSSubscriptionEventType

# Event: DDS status bit, the library's function, how many leading 32-bit fields matter, the info class.
_STATUSES: dict[IntEnum, tuple[int, str, int, type[Any]]] = {
    _PUBLISHER.RCL_PUBLISHER_OFFERED_DEADLINE_MISSED: (
        _OFFERED_DEADLINE,
        "dds_get_offered_deadline_missed_status",
        2,
        QoSOfferedDeadlineMissedInfo,
    ),
    _PUBLISHER.RCL_PUBLISHER_LIVELINESS_LOST: (
        _LIVELINESS_LOST,
        "dds_get_liveliness_lost_status",
        2,
        QoSLivelinessLostInfo,
    ),
    _PUBLISHER.RCL_PUBLISHER_OFFERED_INCOMPATIBLE_QOS: (
        _OFFERED_QOS,
        "dds_get_offered_incompatible_qos_status",
        3,
        QoSOfferedIncompatibleQoSInfo,
    ),
    _PUBLISHER.RCL_PUBLISHER_MATCHED: (
        _PUBLICATION_MATCHED,
        "dds_get_publication_matched_status",
        4,
        QoSPublisherMatchedInfo,
    ),
}
_SUBSCRIPTION_STATUSES: dict[IntEnum, tuple[int, str, int, type[Any]]] = {
    _SUBSCRIPTION.RCL_SUBSCRIPTION_REQUESTED_DEADLINE_MISSED: (
        _REQUESTED_DEADLINE,
        "dds_get_requested_deadline_missed_status",
        2,
        QoSRequestedDeadlineMissedInfo,
    ),
    _SUBSCRIPTION.RCL_SUBSCRIPTION_LIVELINESS_CHANGED: (
        _LIVELINESS_CHANGED,
        "dds_get_liveliness_changed_status",
        4,
        QoSLivelinessChangedInfo,
    ),
    _SUBSCRIPTION.RCL_SUBSCRIPTION_REQUESTED_INCOMPATIBLE_QOS: (
        _REQUESTED_QOS,
        "dds_get_requested_incompatible_qos_status",
        3,
        QoSRequestedIncompatibleQoSInfo,
    ),
    _SUBSCRIPTION.RCL_SUBSCRIPTION_MESSAGE_LOST: (
        _SAMPLE_LOST,
        "dds_get_sample_lost_status",
        2,
        QoSMessageLostInfo,
    ),
    _SUBSCRIPTION.RCL_SUBSCRIPTION_MATCHED: (
        _SUBSCRIPTION_MATCHED,
        "dds_get_subscription_matched_status",
        4,
        QoSSubscriptionMatchedInfo,
    ),
}


class EventHandlers(Entity):
    """All handled events of one publisher or subscription."""

    def __init__(
        self,
        endpoint: Any,
        callback_group: CallbackGroup | None,
        callbacks: dict[IntEnum, Callable[[Any], None]],
    ) -> None:
        super().__init__(callback_group)
        self._endpoint = endpoint
        self._callbacks = callbacks
        mask = 0
        for event in callbacks:
            mask |= _status(event)[0]
        endpoint.set_status_mask(mask)

    def conditions(self) -> list[int]:
        return [self._endpoint.handle]

    def take(self) -> Any | None:
        work = []
        for event, callback in self._callbacks.items():
            info = _read_status(self._endpoint.handle, event)
            if info is not None:
                work.append((callback, info))
        return work or None

    def run(self, work: Any) -> Any:
        for callback, info in work:
            callback(info)

    def destroy(self) -> None:
        """End; the endpoint itself goes with its publisher or subscription."""
        self._destroyed = True


def _status(event: IntEnum) -> tuple[int, str, int, type[Any]]:
    table = _STATUSES if isinstance(event, QoSPublisherEventType) else _SUBSCRIPTION_STATUSES
    if event not in table:
        raise UnsupportedEventTypeError(f"{event.name} is not reported by this middleware")
    return table[event]


def _read_status(handle: int, event: IntEnum) -> Any | None:
    """The info of an event, or None where nothing changed."""
    from ..dds.library import lib
    from .qos import POLICY_KINDS

    _, function, count, info_class = _status(event)
    fields = (ct.c_int32 * 8)()
    if getattr(lib, function)(handle, fields) < 0:
        return None
    values = list(fields[:count])
    if info_class is QoSLivelinessChangedInfo:
        return info_class(*values) if values[2] or values[3] else None
    if info_class is QoSSubscriptionMatchedInfo:
        return info_class(*values) if values[1] or values[3] else None
    if values[1] == 0:
        return None
    if info_class is QoSRequestedIncompatibleQoSInfo:
        values[2] = POLICY_KINDS.get(values[2], QoSPolicyKind.INVALID)
    return info_class(*values)


class _EventCallbacks:
    """What publishers and subscriptions have in common: callbacks by event, one of them with a default."""

    _incompatible_type_event: ClassVar[IntEnum]
    _warning: ClassVar[str]

    def __init__(
        self,
        deadline: Callable[[Any], None] | None,
        incompatible_qos: Callable[[Any], None] | None,
        liveliness: Callable[[Any], None] | None,
        incompatible_type: Callable[[IncompatibleTypeInfo], None] | None,
        matched: Callable[[Any], None] | None,
        use_default_callbacks: bool,
    ) -> None:
        self.deadline = deadline
        self.incompatible_qos = incompatible_qos
        self.liveliness = liveliness
        self.incompatible_type = incompatible_type
        self.matched = matched
        self.use_default_callbacks = use_default_callbacks

    def _table(
        self, incompatible_qos: Callable[[Any], None] | None
    ) -> dict[IntEnum, Callable[[Any], None] | None]:
        raise NotImplementedError(f"{type(self).__name__} defines which events there are")

    def create_event_handlers(
        self, callback_group: CallbackGroup | None, endpoint: Any, topic_name: str, logger: str
    ) -> list[Any]:
        """The entities that deliver the events."""
        if self.incompatible_type is not None:
            _status(self._incompatible_type_event)  # raises: the middleware does not report it

        def warn(info: QoSRequestedIncompatibleQoSInfo) -> None:
            policy = qos_policy_name_from_kind(info.last_policy_kind)
            get_logger(logger).warn(
                f"{self._warning.format(topic=topic_name)} Last incompatible policy: {policy}"
            )

        default = warn if self.use_default_callbacks else None
        table = self._table(self.incompatible_qos or default)
        callbacks = {event: callback for event, callback in table.items() if callback is not None}
        return [EventHandlers(endpoint, callback_group, callbacks)] if callbacks else []


class SubscriptionEventCallbacks(_EventCallbacks):
    """Callbacks for the events of a subscription; by default incompatible QoS is logged."""

    _incompatible_type_event = _SUBSCRIPTION.RCL_SUBSCRIPTION_INCOMPATIBLE_TYPE
    _warning = (
        "New publisher discovered on topic '{topic}', offering incompatible QoS. "
        "No messages will be received from it."
    )

    def __init__(
        self,
        *,
        deadline: Callable[[QoSRequestedDeadlineMissedInfo], None] | None = None,
        incompatible_qos: Callable[[QoSRequestedIncompatibleQoSInfo], None] | None = None,
        liveliness: Callable[[QoSLivelinessChangedInfo], None] | None = None,
        message_lost: Callable[[QoSMessageLostInfo], None] | None = None,
        incompatible_type: Callable[[IncompatibleTypeInfo], None] | None = None,
        matched: Callable[[QoSSubscriptionMatchedInfo], None] | None = None,
        use_default_callbacks: bool = True,
    ) -> None:
        super().__init__(
            deadline, incompatible_qos, liveliness, incompatible_type, matched, use_default_callbacks
        )
        self.message_lost = message_lost

    def _table(
        self, incompatible_qos: Callable[[Any], None] | None
    ) -> dict[IntEnum, Callable[[Any], None] | None]:
        return {
            _SUBSCRIPTION.RCL_SUBSCRIPTION_REQUESTED_DEADLINE_MISSED: self.deadline,
            _SUBSCRIPTION.RCL_SUBSCRIPTION_REQUESTED_INCOMPATIBLE_QOS: incompatible_qos,
            _SUBSCRIPTION.RCL_SUBSCRIPTION_LIVELINESS_CHANGED: self.liveliness,
            _SUBSCRIPTION.RCL_SUBSCRIPTION_MESSAGE_LOST: self.message_lost,
            _SUBSCRIPTION.RCL_SUBSCRIPTION_MATCHED: self.matched,
        }


class PublisherEventCallbacks(_EventCallbacks):
    """Callbacks for the events of a publisher; by default incompatible QoS is logged."""

    _incompatible_type_event = _PUBLISHER.RCL_PUBLISHER_INCOMPATIBLE_TYPE
    _warning = (
        "New subscription discovered on topic '{topic}', requesting incompatible QoS. "
        "No messages will be sent to it."
    )

    def __init__(
        self,
        *,
        deadline: Callable[[QoSOfferedDeadlineMissedInfo], None] | None = None,
        liveliness: Callable[[QoSLivelinessLostInfo], None] | None = None,
        incompatible_qos: Callable[[QoSRequestedIncompatibleQoSInfo], None] | None = None,
        incompatible_type: Callable[[IncompatibleTypeInfo], None] | None = None,
        matched: Callable[[QoSPublisherMatchedInfo], None] | None = None,
        use_default_callbacks: bool = True,
    ) -> None:
        super().__init__(
            deadline, incompatible_qos, liveliness, incompatible_type, matched, use_default_callbacks
        )

    def _table(
        self, incompatible_qos: Callable[[Any], None] | None
    ) -> dict[IntEnum, Callable[[Any], None] | None]:
        return {
            _PUBLISHER.RCL_PUBLISHER_OFFERED_DEADLINE_MISSED: self.deadline,
            _PUBLISHER.RCL_PUBLISHER_LIVELINESS_LOST: self.liveliness,
            _PUBLISHER.RCL_PUBLISHER_OFFERED_INCOMPATIBLE_QOS: incompatible_qos,
            _PUBLISHER.RCL_PUBLISHER_MATCHED: self.matched,
        }


__getattr__ = not_covered("rclpy.event_handler")

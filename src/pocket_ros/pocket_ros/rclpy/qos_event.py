"""The former place of `rclpy.event_handler`."""

from .event_handler import (
    IncompatibleTypeInfo,
    PublisherEventCallbacks,
    QoSLivelinessChangedInfo,
    QoSLivelinessLostInfo,
    QoSMessageLostInfo,
    QoSOfferedDeadlineMissedInfo,
    QoSOfferedIncompatibleQoSInfo,
    QoSPublisherEventType,
    QoSPublisherMatchedInfo,
    QoSRequestedDeadlineMissedInfo,
    QoSRequestedIncompatibleQoSInfo,
    QoSSubscriptionEventType,
    QoSSubscriptionMatchedInfo,
    SubscriptionEventCallbacks,
    UnsupportedEventTypeError,
)

__all__ = [
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

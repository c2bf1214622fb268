"""The former place of `rclpy.event_handler`."""

from .event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks, UnsupportedEventTypeError

__all__ = ["PublisherEventCallbacks", "SubscriptionEventCallbacks", "UnsupportedEventTypeError"]

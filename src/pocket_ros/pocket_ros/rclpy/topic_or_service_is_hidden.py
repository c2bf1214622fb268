"""The public place of `topic_or_service_is_hidden`."""

from .names import HIDDEN_TOPIC_PREFIX, topic_or_service_is_hidden

__all__ = ["HIDDEN_TOPIC_PREFIX", "topic_or_service_is_hidden"]

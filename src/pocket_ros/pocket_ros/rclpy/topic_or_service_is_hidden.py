"""The public place of `topic_or_service_is_hidden`."""

from .names import topic_or_service_is_hidden

__all__ = ["topic_or_service_is_hidden"]

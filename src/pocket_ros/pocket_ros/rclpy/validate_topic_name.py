"""The public place of `validate_topic_name`."""

from .names import validate_topic_name

__all__ = ["validate_topic_name"]

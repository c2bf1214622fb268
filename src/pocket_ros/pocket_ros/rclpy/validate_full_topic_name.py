"""The public place of `validate_full_topic_name`."""

from .names import validate_full_topic_name

__all__ = ["validate_full_topic_name"]

"""The public place of `expand_topic_name`."""

from .names import expand_topic_name

__all__ = ["expand_topic_name"]

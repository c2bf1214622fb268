"""Help for launch tests of nodes."""

from .wait_for_topics import WaitForTopics

__all__ = ["WaitForTopics"]

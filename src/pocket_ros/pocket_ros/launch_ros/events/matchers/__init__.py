"""Which nodes an event is for."""

from .matches_node_name import Named, matches_node_name

__all__ = ["Named", "matches_node_name"]

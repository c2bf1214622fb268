"""Events of nodes."""

from . import lifecycle, matchers
from .matchers import matches_node_name

__all__ = ["lifecycle", "matchers", "matches_node_name"]

"""Events of nodes."""

import sys

from . import lifecycle, matchers
from .matchers import matches_node_name

__all__ = ["lifecycle", "matchers", "matches_node_name"]

# A module of the function's name, which others import from; as an attribute the name is the function.
sys.modules[f"{matchers.__name__}.matches_node_name"] = matchers

"""How often a name was given to a node in a launch."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...launch.launch_context import LaunchContext

_GLOBAL = "unique_ros_node_names"


def add_node_name(context: LaunchContext, node_name: str) -> None:
    """Count a node of this name."""
    counts = context.get_locals_as_dict().get(_GLOBAL)
    if counts is None:
        counts = Counter[str]()
        context.extend_globals({_GLOBAL: counts})
    counts[node_name] += 1


def get_node_name_count(context: LaunchContext, node_name: str) -> int:
    """How many nodes of this name were counted."""
    counts: Counter[str] = context.get_locals_as_dict().get(_GLOBAL, Counter())
    return counts[node_name]

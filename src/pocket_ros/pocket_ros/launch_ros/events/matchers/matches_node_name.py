"""Which nodes an event is for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Named(Protocol):
    """An action that knows the full name of its node."""

    @property
    def node_name(self) -> str: ...


def matches_node_name(node_name: str) -> Callable[[Named], bool]:
    """Matches actions whose node has this full name; without a slash in front it is below the root."""
    full = node_name if node_name.startswith("/") else f"/{node_name}"
    return lambda action: action.node_name == full

"""What exists only during an episode."""

from __future__ import annotations

from typing import TypeVar

from fleet_sim.errors import InvalidValueError

Part = TypeVar("Part")


def begun(part: Part | None) -> Part:
    """Return what `reset` has made; raises InvalidValueError before the first reset."""
    if part is None:
        raise InvalidValueError("this needs a running episode; call reset() first")
    return part

"""Who a command is for: the entities it names that may take it, and why the others may not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.core.world import World
from fleet_sim.errors import InvalidValueError


class Recipients:
    """The entities a command names: `rows` and `indices` (into the command's arrays) of those that may take it.

    Of a name given several times the first entry counts; the others are refused: the name is then among the
    accepted `names` and, as "duplicate target", among the `rejected`.
    """

    def __init__(self, world: World, names: Sequence[str], refuse: Callable[[int], str]) -> None:
        """`refuse(row)` returns why the entity in that row cannot take the command, or ""."""
        self.rejected: dict[str, str] = {}
        seen: set[str] = set()
        accepted: list[tuple[int, int, str]] = []
        for index, name in enumerate(names):
            if name in seen:
                self.rejected.setdefault(name, "duplicate target")
                continue
            seen.add(name)
            if not world.has_name(name):
                self.rejected[name] = "unknown robot"
                continue
            row = world.row_named(name)
            reason = refuse(row)
            if reason:
                self.rejected[name] = reason
            else:
                accepted.append((row, index, name))
        self.rows = np.array([entry[0] for entry in accepted], np.int64)
        self.indices = np.array([entry[1] for entry in accepted], np.int64)
        self.names = tuple(entry[2] for entry in accepted)

    def keep(self, good_mask: Any, reason: str) -> None:
        """Refuse those outside `good_mask`, aligned with `rows`."""
        if good_mask.all():
            return
        self.rejected.update({name: reason for name, good in zip(self.names, good_mask, strict=True) if not good})
        self.restrict(good_mask)

    def restrict(self, good_mask: Any) -> None:
        """Leave out those outside `good_mask`, which were refused already."""
        self.names = tuple(name for name, good in zip(self.names, good_mask, strict=True) if good)
        self.rows, self.indices = self.rows[good_mask], self.indices[good_mask]


def shaped(values: Any, shape: tuple[int, int], what: str) -> Floats:
    """Return `values` as floats of `shape`, finite or not; raises InvalidValueError."""
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidValueError(f"{what}: expected numbers of shape {shape}, got {values!r}") from error
    if array.shape != shape:
        raise InvalidValueError(f"{what}: expected shape {shape}, got {array.shape}")
    return array

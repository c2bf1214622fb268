"""Names of entities that also know in which rows the entities are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fleet_sim.arrays import Rows
from fleet_sim.core.world import World


class NamedRows(tuple[str, ...]):
    """Names, for the `names` of a command, that were looked up already: a fleet of 1,000 is then found at once.

    In every other respect this is the plain tuple of names: it equals it, and is pickled and copied as one. The rows
    count only as long as nobody was spawned, removed or renamed in that world; afterwards the names do.
    """

    _world: World
    _version: int
    _rows: Rows

    def __new__(cls, world: World, names: Iterable[str], rows: Rows, version: int | None = None) -> NamedRows:
        """`rows` (N,) are those of the entities called `names` in `world`, when it had `version`; None: now."""
        made = super().__new__(cls, names)
        made._world, made._rows = world, rows
        made._version = world.version if version is None else version
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (list(self),)

    def rows_in(self, world: World) -> Rows | None:
        """Return the rows, or None where they are no longer, or not in `world`, those of the names."""
        # A row may be taken by another entity at any spawn, so one number tells for all of them at once.
        return self._rows if self._world is world and self._version == world.version else None

"""How entities are named: by object id, by body id, or by name with the row looked up."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fleet_sim.arrays import Rows
from fleet_sim.core.world import World


class ObjectId(int):
    """An entity's id in its simulation: an int in all respects, distinguished only where body ids are accepted too."""


class BodyId(int):
    """The id of a PyBullet body: an int in all respects; `object_id` is that of its entity."""

    object_id: int

    def __new__(cls, number: int, object_id: int = -1) -> BodyId:
        """Create the id `number` of the body of the entity `object_id`."""
        made = super().__new__(cls, number)
        made.object_id = object_id
        return made


class NamedRows(tuple[str, ...]):
    """Names, for the `names` of a command, with the rows already looked up, which is faster for a large fleet.

    In all other respects it is the plain tuple of names: it compares equal to it, and is pickled and copied as one. The
    rows are used only until an entity is spawned, removed or renamed in that world; after that the names are looked up.
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
        """Return the rows if they are still valid in `world`, else None."""
        # Any spawn may reuse a row, so a single version number is compared for all of them.
        return self._rows if self._world is world and self._version == world.version else None

"""Index of living entities: their rows by name and by object id."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat

import numpy as np

from fleet_sim.arrays import Ints, Rows
from fleet_sim.core.schema import NO_ROW, BodyColumns
from fleet_sim.errors import DuplicateNameError, InvalidValueError, brief, unknown_name

_FLEET = 1000
"""Number of entities spawned at once from which on it pays to find names anew when one is looked for."""
_HASHABLE = frozenset((str, type(None)))
"""The types of names that are no mistake."""


class EntityIndex:
    """Names of living entities, each unique in its world, and their object ids, which are never used again.

    Ids are in the column `object_id` of `body`. An entity has the row of its id until something was removed before it
    was spawned; only the others are looked up.
    """

    def __init__(self, body: BodyColumns) -> None:
        self.names: list[str | None] = [None] * body.capacity
        """Names by row; None for an entity without a name and for a free row."""
        self._body = body
        # Made when a name is looked for: a fleet that is not asked for by name takes no memory for it.
        self._known_names: dict[str, int] | None = None
        self._row_of_other_id: dict[int, int] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    # ---- queries -----------------------------------------------------------------------------------------------------

    def row_named(self, name: str) -> int:
        """Return the row of the entity called `name`; raises UnknownNameError with the closest names."""
        row = self._row_of_name.get(name)
        if row is None:
            raise unknown_name("object or agent", name, self._row_of_name)
        return row

    def rows_named(self, names: Sequence[str]) -> Rows:
        """Return the rows (N,) of the entities called `names`, NO_ROW for each that is unknown."""
        # The loop over names stays in C: fleets of thousands are addressed by name in a step.
        return np.fromiter(map(self._row_of_name.get, names, repeat(NO_ROW)), np.int64, len(names))

    def has_name(self, name: str) -> bool:
        """Return whether an entity is called `name`."""
        return name in self._row_of_name

    def row_of(self, object_id: int) -> int:
        """Return the row of `object_id`; raises UnknownNameError."""
        # Not by int(), which would take 1.5, "1" and True for an entity.
        if isinstance(object_id, bool) or not isinstance(object_id, (int, np.integer)):
            raise InvalidValueError(f"expected a name or an object id, got {brief(object_id)}")
        row = self._row_with(int(object_id))
        if row == NO_ROW:
            raise unknown_name("object id", object_id, ())
        return row

    def rows_of(self, object_ids: Iterable[int] | Ints) -> Rows:
        """Return the rows of `object_ids`; raises UnknownNameError for the first unknown one."""
        given = object_ids if isinstance(object_ids, np.ndarray) else list(object_ids)
        ids = np.asarray(given)
        if ids.ndim == 1 and ids.dtype.kind == "i":
            rows: Rows = np.clip(ids, 0, self._body.capacity - 1).astype(np.int64)
            others = np.flatnonzero((self._body.object_id[rows] != ids) | ~self._body.alive[rows])
        else:
            # Among them is what is no id: it is found, and named, one by one.
            rows, others = np.zeros(len(given), np.int64), np.arange(len(given))
        for index in others.tolist():
            wanted = given[index]
            rows[index] = self._row_with(int(wanted)) if isinstance(wanted, (int, np.integer)) else NO_ROW
            if rows[index] == NO_ROW:
                raise unknown_name("object id", wanted, ())
        return rows

    def check_new(self, names: Iterable[str | None]) -> None:
        """Raise DuplicateNameError if a name is taken or given twice, InvalidValueError for what is not a name."""
        names = list(names)
        known = {*names} if all(map(_HASHABLE.__contains__, map(type, names))) else {""}
        known.discard(None)
        # At once where all is well: the loop finds out what is wrong.
        if (
            len(known) == len(names) - names.count(None)
            and "" not in known
            and (not self._count or self._row_of_name.keys().isdisjoint(known))
        ):
            return
        seen: set[str] = set()
        for name in names:
            if name is None:
                continue
            if not isinstance(name, str) or not name:
                raise InvalidValueError(f"a name is a text that is not empty, or None, got {brief(name)}")
            if name in self._row_of_name or name in seen:
                raise DuplicateNameError(
                    f"the name {name!r} is already taken; names of objects and agents are unique in a simulation"
                )
            seen.add(name)

    # ---- for the world: callers that change the entities must also increase `world.version` --------------------------

    def grow(self, capacity: int) -> None:
        """Enlarge the index to `capacity` rows."""
        self.names.extend([None] * (capacity - len(self.names)))

    def add(self, rows: Rows, names: Sequence[str | None]) -> None:
        """Add new entities, which have their ids in the column, and whose names must have passed `check_new`."""
        self._count += len(rows)
        self._note_other_ids(rows)
        # At least as many as were there, so finding them all again takes no longer than adding these.
        if len(rows) >= max(_FLEET, self._count - len(rows)):
            self._known_names = None
        for row, name in zip(rows.tolist(), names, strict=True):
            if name is not None:
                self.names[row] = name
                if self._known_names is not None:
                    self._known_names[name] = row

    def discard(self, rows: Rows) -> None:
        """Remove the entities in `rows`, each given once."""
        self._count -= len(rows)
        if self._row_of_other_id:
            for object_id in self._body.object_id[rows].tolist():
                self._row_of_other_id.pop(object_id, None)
        for row in rows.tolist():
            name = self.names[row]
            if name is not None:
                self.names[row] = None
                if self._known_names is not None:
                    del self._known_names[name]

    def rename(self, row: int, name: str | None) -> None:
        """Rename the entity in `row`; raises DuplicateNameError."""
        self.check_new([name])
        self._write(row, name)

    def restore(self, names: Sequence[str | None]) -> None:
        """Replace the content by the living entities; `names` are those of the first rows, others have none."""
        self.names[:] = [*names, *[None] * (len(self.names) - len(names))]
        rows = np.flatnonzero(self._body.alive)
        self._count = len(rows)
        self._row_of_other_id.clear()
        self._note_other_ids(rows)
        self._known_names = None

    @property
    def _row_of_name(self) -> dict[str, int]:
        known = self._known_names
        if known is None:
            known = self._known_names = {name: row for row, name in enumerate(self.names) if name is not None}
        return known

    def _row_with(self, object_id: int) -> int:
        """Return the row of the entity with `object_id`, NO_ROW if there is none."""
        scalars = self._body.scalars
        if (
            0 <= object_id < self._body.capacity
            and scalars.object_id[object_id] == object_id
            and scalars.alive[object_id]
        ):
            return object_id
        return self._row_of_other_id.get(object_id, NO_ROW)

    def _note_other_ids(self, rows: Rows) -> None:
        ids = self._body.object_id[rows]
        others = np.flatnonzero(ids != rows)
        if len(others):
            self._row_of_other_id.update(zip(ids[others].tolist(), rows[others].tolist(), strict=True))

    def _write(self, row: int, name: str | None) -> None:
        old = self.names[row]
        if old is not None:
            del self._row_of_name[old]
        self.names[row] = name
        if name is not None:
            self._row_of_name[name] = row

"""Index of living entities: their rows by name and by object id."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat

import numpy as np

from fleet_sim.arrays import Ints, Rows
from fleet_sim.core.schema import NO_ROW
from fleet_sim.errors import DuplicateNameError, InvalidValueError, brief, unknown_name


class EntityIndex:
    """Names of living entities, each unique in its world, and their object ids, which are never used again."""

    def __init__(self, capacity: int) -> None:
        self.names: list[str | None] = [None] * capacity
        """Names by row; None for an entity without a name and for a free row."""
        self._row_of_name: dict[str, int] = {}
        self._row_of_id: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._row_of_id)

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
        row = self._row_of_id.get(int(object_id))
        if row is None:
            raise unknown_name("object id", object_id, ())
        return row

    def rows_of(self, object_ids: Iterable[int] | Ints) -> Rows:
        """Return the rows of `object_ids`; raises UnknownNameError for the first unknown one."""
        ids = object_ids.tolist() if isinstance(object_ids, np.ndarray) else list(object_ids)
        try:
            return np.array([self._row_of_id[object_id] for object_id in ids], np.int64)
        except KeyError as error:
            raise unknown_name("object id", error.args[0], ()) from None

    def check_new(self, names: Iterable[str | None]) -> None:
        """Raise DuplicateNameError if a name is taken or given twice, InvalidValueError for what is no name."""
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

    def rows_of_ids(self, ids: Sequence[int]) -> list[int]:
        """Return the rows of the entities with `ids`, which must live."""
        return list(map(self._row_of_id.__getitem__, ids))

    # ---- for the world: callers that change the entities must also increase `world.version` --------------------------

    def grow(self, capacity: int) -> None:
        """Enlarge the index to `capacity` rows."""
        self.names.extend([None] * (capacity - len(self.names)))

    def add(self, rows: Sequence[int], ids: Sequence[int], names: Sequence[str | None]) -> None:
        """Add new entities, whose names must have passed `check_new`."""
        self._row_of_id.update(zip(ids, rows, strict=True))
        for row, name in zip(rows, names, strict=True):
            self._write(row, name)

    def discard(self, row: int, object_id: int) -> None:
        """Remove an entity."""
        self._write(row, None)
        del self._row_of_id[object_id]

    def rename(self, row: int, name: str | None) -> None:
        """Rename the entity in `row`; raises DuplicateNameError."""
        self.check_new([name])
        self._write(row, name)

    def restore(self, names: Sequence[str | None], row_of_id: Mapping[int, int]) -> None:
        """Replace the content by the entities of `row_of_id`; `names` are those of the first rows, others have none."""
        self.names[:] = [*names, *[None] * (len(self.names) - len(names))]
        self._row_of_id = dict(row_of_id)
        self._row_of_name = {name: row for row in row_of_id.values() if (name := self.names[row]) is not None}

    def _write(self, row: int, name: str | None) -> None:
        old = self.names[row]
        if old is not None:
            del self._row_of_name[old]
        self.names[row] = name
        if name is not None:
            self._row_of_name[name] = row

"""HandleTable: the objects through which users reach entities, by row, made when somebody asks for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from fleet_sim.arrays import AnyArray, Rows

MOST_CLASSES = 255


class HandleTable:
    """`handles[row]` is the handle of the entity in `row`, always the same object; None for a free row.

    A row has either a handle or the class of one that nobody asked for yet: a fleet that is commanded by name or by
    row has no handles at all. A handle is made once by `cls.bind(world, row)`.
    """

    def __init__(self, world: Any, capacity: int) -> None:
        self._world = world
        self._made: list[Any] = [None] * capacity
        # 0: there is no entity, or its handle was made.
        self._unmade = np.zeros(capacity, np.uint8)
        self._classes: list[type[Any]] = []
        # Of removed entities. A checkpoint that was taken before such a handle was made does not hold it, and restores
        # the entity; who has the handle shall find that it is the entity's own.
        self._removed: WeakValueDictionary[tuple[int, int], Any] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._made)

    def __getitem__(self, row: int) -> Any:
        handle = self._made[row]
        if handle is None and self._unmade[row]:
            handle = self._make(row)
        return handle

    def __setitem__(self, row: int, handle: Any) -> None:
        self._made[row] = handle
        self._unmade[row] = 0

    def of(self, rows: Rows) -> list[Any]:
        """Return the handles of `rows` (N,), in order."""
        # One, as programs spawn them, is made by the look-up below.
        if not self._removed and len(rows) > 1:
            self._make_many(rows[self._unmade[rows] != 0])
        return list(map(self.__getitem__, rows.tolist()))

    def prepare(self, rows: Rows, cls: type[Any]) -> None:
        """Let `rows`, which have no handles, get one of `cls` each when it is asked for."""
        if cls not in self._classes and len(self._classes) == MOST_CLASSES:
            for row, handle in zip(rows.tolist(), map(cls.bind, repeat(self._world), rows.tolist()), strict=True):
                self._made[row] = handle
            return
        self._unmade[rows] = self._number(cls)

    def made(self, rows: Rows) -> Iterable[tuple[int, Any]]:
        """Yield (row, handle) of those of `rows` whose handle was asked for."""
        for row in rows.tolist():
            handle = self._made[row]
            if handle is not None:
                yield row, handle

    def forget(self, rows: Rows) -> None:
        """Let go of the handles of `rows`, whose entities are removed and still have their generations."""
        made, generations = self._made, self._world.generation
        for row in rows.tolist():
            handle = made[row]
            if handle is not None:
                self._removed[row, int(generations[row])] = handle
                made[row] = None
        self._unmade[rows] = 0

    def grow(self, capacity: int) -> None:
        """Enlarge the table to `capacity` rows."""
        added = capacity - len(self._made)
        self._made.extend([None] * added)
        self._unmade = np.concatenate((self._unmade, np.zeros(added, np.uint8)))

    # ---- checkpoints -------------------------------------------------------------------------------------------------

    def save(self) -> dict[str, Any]:
        """Return which rows have a handle, and the handles that were made, for a checkpoint."""
        return {
            "made": list(self._made),
            "unmade": self._unmade.copy(),
            "classes": list(self._classes),
        }

    def restore(self, saved: Mapping[str, Any], kept: Rows) -> None:
        """Restore what `save` returned, after generations were; entities in `kept` lived all the time.

        A handle that was made since then stays the handle of its entity.
        """
        before, made = self._made, saved["made"]
        self._made = [*made, *[None] * (len(before) - len(made))]
        unmade: AnyArray = saved["unmade"]
        numbers = np.array([0, *map(self._number, saved["classes"])], np.uint8)
        self._unmade[: len(unmade)] = numbers[unmade]
        self._unmade[len(unmade) :] = 0
        for row in kept.tolist():
            if before[row] is not None and self._unmade[row]:
                self[row] = before[row]

    # ---- making ------------------------------------------------------------------------------------------------------

    def _number(self, cls: type[Any]) -> int:
        if cls not in self._classes:
            self._classes.append(cls)
        return self._classes.index(cls) + 1

    def _make(self, row: int) -> Any:
        cls = self._classes[self._unmade[row] - 1]
        handle = self._removed.pop((row, int(self._world.generation[row])), None)
        if type(handle) is not cls:
            handle = cls.bind(self._world, row)
        self[row] = handle
        return handle

    def _make_many(self, rows: Rows) -> None:
        numbers: AnyArray = self._unmade[rows]
        for number in np.unique(numbers).tolist():
            chosen = rows[numbers == number]
            handles: Sequence[Any] = self._classes[number - 1].bind_many(self._world, chosen)
            for row, handle in zip(chosen.tolist(), handles, strict=True):
                self._made[row] = handle
            self._unmade[chosen] = 0

"""Living entities: their rows by name and by id, free rows, the handles of rows, and named places."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any, Protocol
from weakref import WeakValueDictionary

import numpy as np

from fleet_sim.base.arrays import AnyArray, Floats, Ints, Rows
from fleet_sim.base.errors import DuplicateNameError, InvalidValueError, StaleHandleError, brief, unknown_name
from fleet_sim.base.request_budget import check_name, is_from_outside
from fleet_sim.world.schema import NO_ROW, BodyColumns

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
        if is_from_outside():
            for name in names:
                check_name(name)
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


# FreeRows: the rows of a world that no entity lives in, in the order in which new ones take them.


_LEAST = 64


class FreeRows:
    """A stack of rows with the lowest on top.

    Living rows so stay together at the front, where slices of columns are cheap.
    """

    def __init__(self, capacity: int) -> None:
        self._stack: Ints = np.arange(capacity - 1, -1, -1)
        self._size = capacity
        self.resting: list[Rows] = []
        self._fresh = 0

    def __len__(self) -> int:
        return self._size

    def grow(self, old: int, capacity: int) -> None:
        """Add the rows from `old` up to `capacity`."""
        # To the bottom of the stack: free rows below the old capacity are taken first.
        self._put(np.concatenate((np.arange(capacity - 1, old - 1, -1), self._stack[: self._size])))

    def take(self, count: int) -> Rows:
        """Take the next `count` rows (N,); there must be as many."""
        self._size -= count
        # Copied: the place they leave is written when rows come back.
        taken = self._stack[self._size : self._size + count][::-1].copy()
        # A full world needs no room for free rows. Not sooner: taking one by one costs a constant time on average.
        if 4 * self._size + _LEAST < len(self._stack):
            self._stack = self._stack[: self._size].copy()
        return taken

    def used_before(self, rows: Rows) -> Rows:
        """Return which of `rows`, just taken, were an entity's before; all columns of the others hold the defaults."""
        again = rows[rows < self._fresh]
        self._fresh = max(self._fresh, int(rows.max(initial=-1)) + 1)
        return again

    def give_back(self, rows: Rows, *, rest: bool) -> None:
        """Add freed rows; with `rest` they are not taken before `end_step`."""
        if rest:
            self.resting.append(rows[::-1])
        else:
            self._push(rows[::-1])

    def end_step(self) -> None:
        """Make rows that rest available."""
        if self.resting:
            self._push(np.concatenate(self.resting))
            self.resting.clear()

    def save(self) -> Rows:
        """Return the free rows, for a checkpoint between two steps."""
        return self._stack[: self._size].copy()

    def restore(self, saved: Rows, old: int, capacity: int) -> None:
        """Go back to what `save` returned at a capacity of `old`; rows added by growth since then come last."""
        # In the saved order, so that the same spawns take the same rows again.
        self._put(np.concatenate((np.arange(capacity - 1, old - 1, -1), saved)))
        self.resting.clear()
        # Their columns were just overwritten by those of the checkpoint, which may be of another process.
        self._fresh = max(self._fresh, old)

    def _put(self, stack: Ints) -> None:
        self._stack, self._size = stack, len(stack)

    def _push(self, rows: Rows) -> None:
        needed = self._size + len(rows)
        if needed > len(self._stack):
            # Doubled, so that giving back one by one costs a constant time on average.
            self._stack = np.concatenate((self._stack[: self._size], np.zeros(needed, np.int64)))
        self._stack[self._size : needed] = rows
        self._size = needed


# HandleTable: the objects through which users reach entities, by row, made when somebody asks for them.


MOST_CLASSES = 255


# Handle: what refers to one entity, and knows when it is gone.


class Handle:
    """Refers to one entity of a world by its row; all state is in the world's columns.

    After its entity was removed, using a handle raises StaleHandleError. Handles of the same entity are equal.
    """

    # Without a dict of its own a handle cannot keep an attribute that nothing reads.
    __slots__ = ("__weakref__", "_generation", "_row", "_world", "last_label")

    _world: Any
    _row: int
    _generation: int
    last_label: str
    """What the entity was called when it was removed; there is none before."""

    @classmethod
    def bind(cls, world: Any, row: int) -> Any:
        """Return a new handle for the living entity in `row`; use the spawning functions instead."""
        handle = cls.__new__(cls)
        handle._refer(world, row)
        return handle

    @classmethod
    def bind_many(cls, world: Any, rows: Rows) -> list[Any]:
        """Return new handles for the living entities in `rows`, see `bind`."""
        if getattr(cls.bind, "__func__", None) is not _BIND:
            return [cls.bind(world, row) for row in rows.tolist()]
        # The loops stay in C: ten thousand handles are asked for at once.
        handles: list[Any] = list(map(cls.__new__, repeat(cls, len(rows))))
        values = (repeat(world), rows.tolist(), world.generation[rows].tolist())
        for name, column in zip(("_world", "_row", "_generation"), values, strict=True):
            deque(map(setattr, handles, repeat(name), column), maxlen=0)
        return handles

    def _refer(self, world: Any, row: int) -> None:
        self._world, self._row = world, row
        # Rows are reused: the generation tells the entity from a later one in the same row.
        self._generation = int(world.generation[row])

    @property
    def world(self) -> Any:
        """The world this entity lives in."""
        return self._world

    @property
    def row(self) -> int:
        """The entity's row in the world's columns; raises StaleHandleError once it is removed."""
        world, row = self._world, self._row
        if world.generation[row] != self._generation or not world.alive[row]:
            label = getattr(self, "last_label", "of this handle")
            raise StaleHandleError(f"{type(self).__name__} {label} was removed; this handle can no longer be used")
        return row

    @property
    def place(self) -> tuple[int, int]:
        """Unique key, row and generation; never reused after removal."""
        return self._row, self._generation

    @property
    def name(self) -> str | None:
        """The entity's name, unique in its simulation, or None."""
        name: str | None = self._world.index.names[self.row]
        return name

    @property
    def is_alive(self) -> bool:
        """Whether the entity still exists."""
        return self._world.is_live(self._row, self._generation)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle it together with its world, by its row: what a handle refers to is there."""
        return handle_of, (type(self), self._world, self._row, self._generation, getattr(self, "last_label", None))

    def _copy_of(self, column: Floats) -> Floats:
        value: Floats = column[self.row].copy()
        return value

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Handle)
            and self._world is other._world
            and self._row == other._row
            and self._generation == other._generation
        )

    def __hash__(self) -> int:
        # By the generation too: a handle of an earlier entity in this row is another key.
        return hash((id(self._world), self._row, self._generation))

    def __repr__(self) -> str:
        label = self._world.label(self._row) if self.is_alive else f"{getattr(self, 'last_label', '')} (removed)"
        return f"<{type(self).__name__} {label}>"


_BIND = vars(Handle)["bind"].__func__


def handle_of(cls: type[Handle], world: Any, row: int, generation: int, label: str | None) -> Handle:
    """Return the handle of the entity that had `row` in `generation`, called `label` where it was removed."""
    handle = cls.__new__(cls)
    handle._world, handle._row, handle._generation = world, row, generation
    if label is not None:
        handle.last_label = label
    return handle


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
        return {"made": list(self._made), "unmade": self._unmade.copy(), "classes": list(self._classes)}

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


# Places by name: where robots and objects may be put, as parts above the core know them.


class PlaceSource(Protocol):
    """Knows places, such as the free cells and the stations of a site."""

    def places(self, what: str, count: int | None, *, seed: int, clearance: float) -> tuple[Floats, Floats]:
        """Return positions (N, 2) in m and headings (N,) in rad of the places called `what`, `count` of them or all.

        Random choices follow from `seed`. `clearance` in m is kept to walls. Raises FleetSimError.
        """

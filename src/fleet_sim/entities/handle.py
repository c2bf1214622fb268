"""Handle: what refers to one entity, and knows when it is gone."""

from __future__ import annotations

from collections import deque
from itertools import repeat
from typing import Any

from fleet_sim.arrays import Floats, Rows
from fleet_sim.core.world import World
from fleet_sim.errors import StaleHandleError, did_you_mean

_set = object.__setattr__


class Handle:
    """Refers to one entity of a world by its row; all state is in the world's columns.

    After its entity was removed, using a handle raises StaleHandleError. Handles of the same entity are equal. An
    attribute that its class does not have cannot be set.
    """

    # Without a dict of its own a handle cannot keep an attribute that nothing reads.
    __slots__ = ("__weakref__", "_generation", "_row", "_world", "last_label")

    _world: World
    _row: int
    _generation: int
    last_label: str
    """What the entity was called when it was removed; there is none before."""

    @classmethod
    def bind(cls, world: World, row: int) -> Any:
        """Return a new handle for the living entity in `row`; use the spawning functions instead."""
        handle = cls.__new__(cls)
        handle._refer(world, row)
        return handle

    @classmethod
    def bind_many(cls, world: World, rows: Rows) -> list[Any]:
        """Return new handles for the living entities in `rows`, see `bind`."""
        if getattr(cls.bind, "__func__", None) is not _BIND:
            return [cls.bind(world, row) for row in rows.tolist()]
        # The loops stay in C: ten thousand handles are asked for at once.
        handles: list[Any] = list(map(cls.__new__, repeat(cls, len(rows))))
        values = (repeat(world), rows.tolist(), world.generation[rows].tolist())
        for name, column in zip(("_world", "_row", "_generation"), values, strict=True):
            deque(map(_set, handles, repeat(name), column), maxlen=0)
        return handles

    def _refer(self, world: World, row: int) -> None:
        # Around our own __setattr__, which would take most of the time of spawning ten thousand entities.
        _set(self, "_world", world)
        _set(self, "_row", row)
        # Rows are reused: the generation tells the entity from a later one in the same row.
        _set(self, "_generation", int(world.generation[row]))

    @property
    def world(self) -> World:
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
        """Row and generation, which tell it from any other entity; also of one that was removed."""
        return self._row, self._generation

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

    def __setattr__(self, name: str, value: object) -> None:
        """Set an attribute that can be set; raises AttributeError with the closest name for any other."""
        try:
            # First the usual way: the search for a close name costs only where this fails.
            super().__setattr__(name, value)
        except AttributeError:
            message = _unsettable(self, name)
            if message is None:
                raise
            raise AttributeError(message) from None

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


def _unsettable(handle: object, name: str) -> str | None:
    """Return why `name` cannot be set on `handle`; None where the attribute can be set, and failed for its own reasons.

    Handles hold no state of their own: a misspelt attribute would be kept and never read.
    """
    cls = type(handle)
    known = getattr(cls, name, None)
    if known is None:
        public = [key for key in dir(cls) if not key.startswith("_")]
        hint = did_you_mean(name, public).partition(" Known:")[0]
        own = "Values of your own belong in `user_data`, or in a subclass"
        return f"{cls.__name__} has no attribute {name!r}.{hint} {own}"
    if isinstance(known, property) and known.fset is not None:
        return None
    setter = f"set_{name}"
    hint = f"; call {setter}()" if hasattr(cls, setter) else ""
    return f"{name!r} of {cls.__name__} can only be read{hint}"


def handle_of(cls: type[Handle], world: World, row: int, generation: int, label: str | None) -> Handle:
    """Return the handle of the entity that had `row` in `generation`, called `label` where it was removed."""
    handle = cls.__new__(cls)
    for name, value in (("_world", world), ("_row", row), ("_generation", generation)):
        _set(handle, name, value)
    if label is not None:
        _set(handle, "last_label", label)
    return handle

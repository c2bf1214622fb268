"""Values read back from the JSON and the arrays of a state file."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import numpy as np

from fleet_sim.arrays import AnyArray
from fleet_sim.core.saving.forms import Forms
from fleet_sim.core.saving.objects import object_of
from fleet_sim.core.saving.values import PLAIN, Json
from fleet_sim.errors import FleetSimError, StateFileError, brief
from fleet_sim.saved_classes import SAVED

MOST_ROWS = 100_000_000
"""Rows that one row of a file may stand for."""


class ValueReader:
    """Turns what a ValueWriter made into values again, for the same pieces in the same order.

    Raises StateFileError for anything else. Objects are made of saved classes and of forms only.
    """

    def __init__(self, forms: Forms, arrays: Sequence[AnyArray]) -> None:
        self._forms = forms
        self._arrays = arrays
        self._made: list[Any] = []
        self._kinds: dict[str, Callable[[Any], Any]] = {
            "float": _float,
            "enum": _member,
            "number": lambda number: self._array(number)[()],
            "same": self._same,
            "tuple": self._series(tuple),
            "set": self._series(set),
            "frozenset": self._series(frozenset),
            "deque": self._deque,
            "dict": self._dict,
            "array": lambda number: self._keep(self._array(number)),
            "rows": self._rows,
            "things": self._things,
            "bytes": lambda number: self._keep(self._array(number).tobytes()),
            "as": self._form,
            "object": self._object,
        }

    def read(self, json: Json) -> Any:
        """Return the value that was written as `json`."""
        if json is None or isinstance(json, (bool, int, float, str)):
            return json
        if isinstance(json, list):
            # Kept before its items are read: they may refer to it.
            items: list[Any] = self._keep([])
            items.extend(json if {*map(type, json)} <= PLAIN else map(self.read, json))
            return items
        if not isinstance(json, dict) or len(json) != 1:
            raise StateFileError(f"expected a value, got {brief(json)}")
        ((kind, content),) = json.items()
        read = self._kinds.get(kind)
        if read is None:
            raise StateFileError(f"unknown kind of value {brief(kind)}")
        try:
            return read(content)
        except FleetSimError:
            raise
        # Whatever a form meets that expects other content.
        except Exception as error:
            raise StateFileError(f"{kind}: not as it was written ({type(error).__name__}: {error})") from error

    # ---- things that may stand in several places ---------------------------------------------------------------------

    def _keep(self, value: Any) -> Any:
        self._made.append(value)
        return value

    def _later(self) -> int:
        """Keep a place for what is made after its parts."""
        self._made.append(_UNMADE)
        return len(self._made) - 1

    def _same(self, number: int) -> Any:
        if not isinstance(number, int) or not 0 <= number < len(self._made) or self._made[number] is _UNMADE:
            raise StateFileError(f"nothing was read as number {brief(number)} before")
        return self._made[number]

    def _series(self, kind: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def read(items: list[Json]) -> Any:
            place = self._later()
            self._made[place] = kind(list(map(self.read, items)))
            return self._made[place]

        return read

    def _deque(self, content: list[Json]) -> Any:
        longest, *items = content
        made: deque[Any] = self._keep(deque(maxlen=longest))
        made.extend(map(self.read, items))
        return made

    def _dict(self, pairs: list[list[Json]]) -> Any:
        made: dict[Any, Any] = self._keep({})
        for key, item in pairs:
            # In the order of writing, by which things are numbered.
            name = self.read(key)
            made[name] = self.read(item)
        return made

    # ---- arrays ------------------------------------------------------------------------------------------------------

    def _array(self, number: int) -> AnyArray:
        if not isinstance(number, int) or not 0 <= number < len(self._arrays):
            raise StateFileError(f"there is no array {brief(number)}")
        # A copy: arrays of a file are read-only, and one may be read twice.
        return self._arrays[number].copy()

    def _rows(self, content: list[Json]) -> AnyArray:
        count, number = content
        row = self._array(number)
        if not 0 <= count <= MOST_ROWS:
            raise StateFileError(f"expected 0 to {MOST_ROWS} rows, got {brief(count)}")
        # A view of the one row: however many a file asks for, they take no more memory.
        array: AnyArray = self._keep(np.broadcast_to(row, (count, *row.shape)))
        return array

    def _things(self, content: list[Json]) -> AnyArray:
        """Return an array of any objects with the saved shape; raises StateFileError where the numbers do not fit."""
        shape, items = content
        # Before the array is made: a file may ask for any size.
        if any(size < 0 for size in shape) or math.prod(shape) != len(items):
            raise StateFileError(f"expected {brief(shape)} things, got {len(items)}")
        made = np.empty(tuple(shape), object)
        self._keep(made)
        flat = made.reshape(-1)
        for index, item in enumerate(items):
            flat[index] = self.read(item)
        return made

    # ---- objects -----------------------------------------------------------------------------------------------------

    def _form(self, content: list[Json]) -> Any:
        name, inner = content
        form = self._forms.named(name)
        if form is None:
            raise StateFileError(f"this simulation does not know what {brief(name)} is")
        place = self._later()
        self._made[place] = form.read(self.read(inner))
        return self._made[place]

    def _object(self, content: list[Json]) -> Any:
        name, own = content
        cls = _saved_class(name)
        place = self._later()
        made = object_of(cls, {key: self.read(item) for key, item in own.items()})
        self._made[place] = made
        return made


_UNMADE = object()


def _float(text: str) -> float:
    value = float(text)
    # Finite numbers are written as numbers: a text for one was not written by us.
    if math.isfinite(value):
        raise StateFileError(f"expected inf or nan, got {brief(text)}")
    return value


def _saved_class(name: str) -> type[Any]:
    cls = SAVED.registered().get(name)
    if cls is None:
        raise StateFileError(f"no class {brief(name)} is known here whose objects are saved; import its module first")
    return cls


def _member(content: list[str]) -> Enum:
    name, member = content
    cls = _saved_class(name)
    if not issubclass(cls, Enum) or member not in cls.__members__:
        raise StateFileError(f"{brief(name)} has no value {brief(member)}")
    return cls[member]

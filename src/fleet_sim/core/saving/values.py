"""Values of a checkpoint as JSON and arrays, without loss: numbers bit by bit, and one thing that stands in two places
is one thing again."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from enum import Enum
from typing import Any

import numpy as np

from fleet_sim.arrays import AnyArray
from fleet_sim.core.saving.forms import Forms
from fleet_sim.core.saving.objects import attributes_of, refusal
from fleet_sim.errors import StateFileError
from fleet_sim.saved_classes import saved_name

Json = Any
"""None, a truth value, a number or a text; a list; or a mapping of one key, which names the kind of value."""

PLAIN = frozenset((type(None), bool, int, str))
"""The types whose values stand for themselves, here and in JSON."""
ARRAYS = "biuf"
"""The kinds of numbers whose arrays are written as such."""


class ValueWriter:
    """Turns values into JSON. Arrays are collected in `arrays` and stand in the JSON by number."""

    def __init__(self, forms: Forms) -> None:
        self.arrays: list[AnyArray] = []
        self._forms = forms
        self._numbers: dict[int, int] = {}
        # What was written lives as long as this: its `id` must not become that of another thing.
        self._kept: list[object] = []

    def write(self, value: object, where: str) -> Json:
        """Return `value` as JSON; raises StateFileError naming `where` for what cannot be saved."""
        kind = type(value)
        # Exactly these types: a subclass has more to it than its value.
        if value is None or kind is bool or kind is int or kind is str:
            return value
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}  # type: ignore[arg-type]
        if isinstance(value, Enum):
            return {"enum": [_class_name(kind, where), value.name]}
        if isinstance(value, np.generic):
            return {"number": self._array(np.asarray(value), where)}
        number = self._numbers.get(id(value))
        if number is not None:
            return {"same": number}
        self._numbers[id(value)] = len(self._numbers)
        self._kept.append(value)
        return self._once(value, where)

    def _once(self, value: Any, where: str) -> Json:
        """Return what is met for the first time, and may be met again."""
        kind = type(value)
        if kind is list:
            # Names of a fleet, which are as they are; a list that is changed later must not be what was written.
            return list(value) if {*map(type, value)} <= PLAIN else self._items(value, where)
        if kind is tuple:
            return {"tuple": self._items(value, where)}
        if kind is set or kind is frozenset:
            # Sorted, so that the same state gives the same file: the order of texts differs from process to process.
            return {kind.__name__: self._items(sorted(value, key=repr), where)}
        if kind is deque:
            return {"deque": [value.maxlen, *self._items(value, where)]}
        if kind is dict:
            return {"dict": [self._pair(key, item, where) for key, item in value.items()]}
        if isinstance(value, np.ndarray):
            return self._of_array(value, where)
        if kind is bytes:
            return {"bytes": self._array(np.frombuffer(value, np.uint8), where)}
        form = self._forms.of(kind)
        if form is not None:
            return {"as": [form.name, self.write(form.write(value), where)]}
        name = saved_name(kind)
        if name is None:
            raise StateFileError(f"{where}: {refusal(value)}")
        own = {key: self.write(item, f"{where}.{key}") for key, item in attributes_of(value).items()}
        return {"object": [name, own]}

    def _items(self, values: Iterable[object], where: str) -> list[Json]:
        return [self.write(item, f"{where}[{index}]") for index, item in enumerate(values)]

    def _pair(self, key: object, item: object, where: str) -> list[Json]:
        inner = f"{where}.{key}" if isinstance(key, str) else f"{where}[{key!r:.40}]"
        return [self.write(key, where), self.write(item, inner)]

    def _of_array(self, value: AnyArray, where: str) -> Json:
        if value.dtype == object:
            return {"things": [list(value.shape), self._items(value.reshape(-1).tolist(), where)]}
        if len(value.shape) and len(value) > 1 and value.strides[0] == 0:
            # One row that stands for all of them, as columns are kept in which nothing was set.
            return {"rows": [len(value), self._array(value[0], where)]}
        return {"array": self._array(value, where)}

    def _array(self, value: AnyArray, where: str) -> int:
        value = np.asarray(value)
        if value.dtype.kind not in ARRAYS:
            raise StateFileError(f"{where}: arrays of {value.dtype} cannot be saved; use numbers")
        # Not `ascontiguousarray`, which makes an array of one number of a number.
        self.arrays.append(np.array(value, order="C"))
        return len(self.arrays) - 1


def _class_name(cls: type[Any], where: str) -> str:
    name = saved_name(cls)
    if name is None:
        raise StateFileError(
            f"{where}: values of {cls.__qualname__} cannot be saved; mark the class with fleet_sim.saved"
        )
    return name

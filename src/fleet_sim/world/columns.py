"""Column tables: arrays of equal length with one entry per row, whose declaration is also their documentation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeVar
from weakref import ref

import numpy as np

from fleet_sim.base.arrays import AnyArray, Bools, Rows
from fleet_sim.base.errors import InvalidValueError

Named = TypeVar("Named", bound=NamedTuple)


@dataclass(frozen=True)
class Column:
    """The description of a column: its type, its meaning and its writers.

    `hashed` columns are part of the state hash; `reference` columns hold rows of other entities (-1 for none), for
    which the hash uses the entity's name, as rows depend on the order of spawning. `law` columns hold indices of motion
    laws, for which it uses the law's name, as indices depend on the order in which laws were registered. `lazy` columns
    take no memory, and cannot be written, before `ColumnTable.own` is called for them.
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    default: Any
    unit: str
    frame: str
    writer: str
    doc: str
    hashed: bool
    reference: bool
    law: bool
    lazy: bool

    def allocate(self, capacity: int) -> AnyArray:
        """Return a fresh array for `capacity` rows, filled with the default."""
        if self.dtype != object and not np.any(self.default):
            # Memory that is only taken page by page, when something else is written.
            return np.zeros((capacity, *self.shape), self.dtype)
        array = np.empty((capacity, *self.shape), self.dtype)
        array[:] = self.default
        return array

    def shared(self, capacity: int) -> AnyArray:
        """Return the default as a read-only array of `capacity` rows, which takes no memory."""
        return np.broadcast_to(np.array(self.default, self.dtype), (capacity, *self.shape))


def column(
    dtype: Any,
    shape: tuple[int, ...] = (),
    *,
    default: Any = 0,
    unit: str = "",
    frame: str = "",
    writer: str = "",
    doc: str = "",
    hashed: bool = True,
    reference: bool = False,
    law: bool = False,
    lazy: bool = False,
) -> Any:
    """Declare a column in the body of a ColumnTable; the annotation beside it is the array's type."""
    return Column(np.dtype(dtype), shape, default, unit, frame, writer, doc, hashed, reference, law, lazy)


class ColumnTable:
    """Columns of equal length. Attributes are the arrays themselves: `table.position[row]`.

    Growing replaces the arrays, so hold a table and a row, never an array, across a spawn. `scalars` are the same
    numbers one by one, for code that looks at few rows.
    """

    schema: ClassVar[dict[str, Column]] = {}
    transient: ClassVar[bool] = False
    """Whether the table caches data from outside the world; checkpoints do not save or restore it."""
    on_demand: ClassVar[bool] = False
    """Whether the columns take no memory, and cannot be written, before `use` is called."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Collect the columns of the class and its bases in `schema`; raises InvalidValueError for a reserved name."""
        super().__init_subclass__(**kwargs)
        own = {name: value for name, value in vars(cls).items() if isinstance(value, Column)}
        for name in own:
            # A column `capacity`, as of batteries, would be taken for the number of rows.
            if name in ("capacity", "scalars", "in_use") or hasattr(ColumnTable, name):
                raise InvalidValueError(f"{cls.__name__}: a table has {name!r} itself; name the column otherwise")
        # A new dict: the inherited one belongs to the base class.
        cls.schema = {**cls.schema, **own}

    def __init__(self, capacity: int = 64) -> None:
        self.capacity = capacity
        self.in_use = not self.on_demand
        self._shared = {name for name, spec in self.schema.items() if spec.lazy or self.on_demand}
        for name, spec in self.schema.items():
            setattr(self, name, self._allocate(name, spec, capacity))
        self.scalars = Scalars(self)

    def _allocate(self, name: str, spec: Column, capacity: int) -> AnyArray:
        return spec.shared(capacity) if name in self._shared else spec.allocate(capacity)

    def use(self) -> None:
        """Let the columns of a table that is `on_demand` be written from now on; may be called again."""
        if not self.in_use:
            self.in_use = True
            self.own(*(name for name, spec in self.schema.items() if not spec.lazy))

    def own(self, *names: str) -> None:
        """Let the columns `names`, which may be lazy, be written from now on; may be called again."""
        shared = self._shared.intersection(names)
        if shared:
            self._shared -= shared
            for name in shared:
                setattr(self, name, self.schema[name].allocate(self.capacity))
            self.scalars = Scalars(self)

    def owns(self, name: str) -> bool:
        """Return whether the column `name` takes memory, and can be written."""
        return name not in self._shared

    def columns(self) -> Iterator[tuple[str, Column, AnyArray]]:
        """Yield (name, description, array) of every column, in order of declaration."""
        for name, spec in self.schema.items():
            yield name, spec, getattr(self, name)

    def grow(self, capacity: int) -> None:
        """Enlarge the columns to `capacity` rows; the values of existing rows are kept."""
        if capacity <= self.capacity:
            return
        for name, spec, old in list(self.columns()):
            new = self._allocate(name, spec, capacity)
            # Copied into a new array, not resized in place: views of the old one may still be in use.
            if name not in self._shared:
                new[: self.capacity] = old
            setattr(self, name, new)
        self.capacity = capacity
        self.scalars = Scalars(self)

    def clear_rows(self, rows: Rows) -> None:
        """Reset all columns of `rows` to their defaults."""
        if not self.in_use:
            return
        # One row is written three times as fast by its number.
        index = int(rows[0]) if len(rows) == 1 else rows
        for name, spec in self.schema.items():
            if name not in self._shared:
                getattr(self, name)[index] = spec.default

    def copy_arrays(self) -> dict[str, AnyArray]:
        """Return read-only copies of all arrays by name; a column of equal rows uses the memory of one row."""
        return {name: compact_copy(array) for name, _, array in self.columns()}

    def restore_arrays(self, arrays: dict[str, AnyArray]) -> None:
        """Restore arrays from `copy_arrays`; rows beyond them get the defaults."""
        if not self.in_use:
            if all(bool((arrays[name] == spec.default).all()) for name, spec in self.schema.items()):
                return
            self.use()
        for name, spec in self.schema.items():
            saved = arrays[name]
            if name in self._shared:
                if bool((saved == spec.default).all()):
                    continue
                self.own(name)
            array = getattr(self, name)
            array[: len(saved)] = saved
            array[len(saved) :] = spec.default

    @property
    def nbytes(self) -> int:
        """Memory of all columns in bytes."""
        return sum(array.nbytes for name, _, array in self.columns() if name not in self._shared)


class Scalars:
    """The numbers of a table one by one: `table.scalars.position[3 * row + 1]` is y. Columns of vectors are flat here.

    Reading or writing one takes a third of the time that an array takes for it, so what moves a few robots, one after
    the other, does it here. They are the arrays' own memory; like arrays, they are replaced when the table grows.
    """

    def __init__(self, table: ColumnTable) -> None:
        # Weak: arrays are kept by the scalars that they belong to, which must not keep a world that is gone.
        self._table = ref(table)

    def __getattr__(self, name: str) -> memoryview[float]:
        # Only for a column that is looked at for the first time: from then on it is an attribute.
        table = None if name.startswith("_") else self._table()
        if table is None or name not in table.schema:
            raise AttributeError(f"{type(table).__name__} has no column {name!r}")
        numbers: memoryview[float] = memoryview(getattr(table, name).reshape(-1))
        setattr(self, name, numbers)
        return numbers


def named_columns(kind: type[Named], table: object) -> Named:
    """Return the columns of `table` with the names of the fields of `kind`, as compiled code takes them.

    They are the arrays themselves, valid until the table replaces them: all at once, when it grows or is stacked.
    """
    return kind(*(getattr(table, name) for name in kind._fields))


def numbers_of(arrays: Any) -> Any:
    """Return an array, or a tuple of them with names, as memory for kernels that run in Python; numbers stay.

    Under one index it gives plain numbers, which are several times faster than those of NumPy, with the same results.
    """
    if hasattr(arrays, "_fields"):
        return type(arrays)(*map(numbers_of, arrays))
    return arrays.data if isinstance(arrays, np.ndarray) else arrays


class FeatureColumns(ColumnTable):
    """Columns of a feature that only some entities have.

    Entities without it have the defaults, and the table does not enter their part of the state hash: a world in which
    no entity has the feature has the same hash as one in which the feature was never used.
    """

    present: Bools = column(bool, writer="spawning, Features", doc="the entity has the feature")

    def among(self, rows: Rows) -> Rows:
        """Return the `rows` that have the feature, in the same order: `among(world.rows)` are all of them."""
        having: Rows = rows[self.present[rows]]
        return having


def compact_copy(array: AnyArray) -> AnyArray:
    """Return a copy of an array, for a checkpoint: read-only and with the memory of one row where all are equal."""
    # Many columns hold one value throughout, such as limits that nobody set: this keeps checkpoints small.
    first = array[:1].copy()
    if len(array) and bool((array == first).all()):
        return np.broadcast_to(first[0], array.shape)
    return array.copy()

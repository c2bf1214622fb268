"""A state file: a line that says what it is, a checksum over all that follows, and a zip of JSON and arrays.

    fleet_sim state 3
    <SHA-256 of the rest> <its length in bytes>
    <zip archive: state.json, 0.npy, 1.npy, ...>

Tools that open zip archives open it as it is.
"""

from __future__ import annotations

import hashlib
import inspect
import io
import json
import math
import zipfile
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cached_property, partial
from pathlib import Path
from types import MemberDescriptorType, NoneType, UnionType
from typing import Any, ClassVar, Generic, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

from fleet_sim.base.arrays import ARRAYS, AnyArray, array_of, unpacked
from fleet_sim.base.errors import FleetSimError, StateFileError, brief
from fleet_sim.base.files import as_path, opened, writing
from fleet_sim.base.registry import SAVED, saved, saved_name
from fleet_sim.world.columns import ColumnTable

# Forms: how objects that are no plain values are written in a state file, and found or made again.


Thing = TypeVar("Thing")


@dataclass(frozen=True)
class Form(Generic[Thing]):
    """How the objects of `cls`, and of classes derived from it, are written.

    `write` returns plain values that say which object it is, or of what it is made; it raises StateFileError for one
    that cannot be saved. `read` returns the object in the simulation that the file is read into: the one that is there
    already, or a new one. What a file says may be anything: `read` raises for what it cannot use.
    """

    name: str
    cls: type[Thing]
    write: Callable[[Thing], object]
    read: Callable[[Any], Thing]


class Forms:
    """The forms of a simulation, by name and by class. A later form of a class comes before an earlier one."""

    def __init__(self) -> None:
        self._forms: dict[str, Form[Any]] = {}
        self._known: dict[type[Any], Form[Any] | None] = {}

    def add(self, form: Form[Any]) -> None:
        """Write objects of the form's class in this form; it takes the place of one of its name."""
        self._forms.pop(form.name, None)
        self._forms[form.name] = form
        self._known.clear()

    def of(self, cls: type[Any]) -> Form[Any] | None:
        """Return the form of objects of `cls`; None where there is none."""
        if cls not in self._known:
            found = [form for form in self._forms.values() if issubclass(cls, form.cls)]
            self._known[cls] = found[-1] if found else None
        return self._known[cls]

    def named(self, name: object) -> Form[Any] | None:
        """Return the form called `name`; None where there is none."""
        return self._forms.get(name) if isinstance(name, str) else None


# Objects of saved classes as their attributes, and made of them again without running code of theirs.


def refusal(value: object) -> str:
    """Return why `value` cannot be saved, naming it as its author does."""
    # The author knows the function that was wrapped, not the wrapper.
    while isinstance(value, partial):
        value = value.func
    if callable(value) and hasattr(value, "__qualname__"):
        module = getattr(value, "__module__", "")
        return f"the function {module}.{value.__qualname__} cannot be saved: a file holds no code"
    kind = type(value)
    return (
        f"an object of {kind.__module__}.{kind.__qualname__} cannot be saved; mark the class with fleet_sim.saved if "
        "its attributes are all there is to it"
    )


def attributes_of(value: object) -> dict[str, Any]:
    """Return all attributes of an object by name, but those that are computed from others."""
    cls = type(value)
    found = {name: getattr(value, name) for name in getattr(cls, "_fields", ())}
    for ancestor in cls.__mro__:
        slots = vars(ancestor).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__weakref__", "__dict__") and hasattr(value, name):
                found[name] = getattr(value, name)
    found.update(getattr(value, "__dict__", {}))
    return {name: item for name, item in found.items() if not isinstance(_static(cls, name), cached_property)}


def object_of(cls: type[Any], attributes: Mapping[str, Any]) -> Any:
    """Return an object of `cls` with these attributes; raises StateFileError for what it does not have.

    Neither its constructor nor any other code of it is called.
    """
    if issubclass(cls, Enum):
        raise StateFileError(f"{cls.__name__}: its values are named, not made of attributes")
    if issubclass(cls, tuple):
        names = getattr(cls, "_fields", ())
        if set(attributes) != set(names):
            raise StateFileError(f"{cls.__name__}: expected {', '.join(names)}, got {brief(sorted(attributes))}")
        _check_kinds(cls, attributes)
        # Not by the class itself, whose `__new__` may be the user's.
        return tuple.__new__(cls, [attributes[name] for name in names])
    if is_dataclass(cls):
        missing = [field.name for field in fields(cls) if field.name not in attributes]
        if missing:
            raise StateFileError(f"{cls.__name__}: {', '.join(missing)} is missing")
        _check_kinds(cls, attributes)
    made: Any = object.__new__(cls)
    give_attributes(made, attributes)
    return made


def _check_kinds(cls: type[Any], attributes: Mapping[str, Any]) -> None:
    """Raise StateFileError where an attribute is not of the kind that the field of its name is declared as."""
    if cls not in _KINDS:
        _KINDS[cls] = {name: kind for name, hint in _hints(cls).items() if (kind := _kind_of(hint))}
    for name, kind in _KINDS[cls].items():
        if name in attributes and not isinstance(attributes[name], kind):
            shown = " or ".join(one.__name__ for one in kind)
            raise StateFileError(f"{cls.__name__}.{name}: expected {shown}, got {brief(attributes[name])}")


_KINDS: dict[type[Any], dict[str, tuple[type[Any], ...]]] = {}
"""Of saved classes, the types of what their fields may hold; fields that may hold anything are left out."""

_NUMBERS: dict[Any, tuple[type[Any], ...]] = {
    int: (int, np.integer),
    float: (float, int, np.integer, np.floating),
    bool: (bool, np.bool_),
    None: (NoneType,),
}


def _hints(cls: type[Any]) -> dict[str, Any]:
    try:
        return get_type_hints(cls)
    except NameError:
        # It names a class that only type checkers see.
        return {}


def _kind_of(hint: Any) -> tuple[type[Any], ...]:
    """Return the types that a declared type stands for; none where it may be anything."""
    if get_origin(hint) in (Union, UnionType):
        kinds = [_kind_of(one) for one in get_args(hint)]
        return sum(kinds, ()) if all(kinds) else ()
    origin = get_origin(hint) or hint
    if origin in _NUMBERS:
        return _NUMBERS[origin]
    # Since NumPy 2.5, NDArray[...] is an alias of the language: its origin is the alias and not the array.
    if origin is npt.NDArray:
        return (np.ndarray,)
    # `Any` is a class since Python 3.11.
    known = isinstance(origin, type) and origin is not Any and not getattr(origin, "_is_protocol", False)
    return (origin,) if known else ()


def give_attributes(thing: object, attributes: Mapping[str, Any]) -> None:
    """Set attributes of `thing`, frozen or not; raises StateFileError for a name that is no attribute of its own."""
    cls = type(thing)
    for name, value in attributes.items():
        known = _static(cls, name)
        # A slot, or the default of a field: anything else would be hidden, or would be called.
        own = known is None or isinstance(known, MemberDescriptorType) or not _is_code(known)
        if not isinstance(name, str) or name.startswith("__") or not own:
            raise StateFileError(f"{cls.__name__} has no attribute {brief(name)} that can be read from a file")
        object.__setattr__(thing, name, value)


def _is_code(known: object) -> bool:
    return hasattr(type(known), "__get__") or hasattr(type(known), "__set__") or callable(known)


def _static(cls: type[Any], name: str) -> object:
    return inspect.getattr_static(cls, name, None)


# State of a part in its attributes: copied into checkpoints, and put back.


@saved
@dataclass(frozen=True)
class PartState:
    """Copies of the attributes that a part names in `STATE`."""

    values: dict[str, Any]

    def check(self, given: object, where: str) -> Mapping[str, Any]:
        """Return the values of `given`; raises StateFileError unless it is the state of such a part."""
        values = given.values if isinstance(given, PartState) else None
        if not isinstance(values, dict) or values.keys() != self.values.keys():
            raise StateFileError(f"{where}: expected {', '.join(self.values)}, got {brief(given)}")
        return values


class Stateful:
    """A part whose state is in the attributes named in `STATE`; other parts among them have a state of their own.

    The state is a copy, and copied again when it is put back. Arrays are written in place, and so are other parts.
    """

    STATE: ClassVar[tuple[str, ...]] = ()

    def save(self) -> Any:
        """Return the state as copies, for a checkpoint."""
        return PartState({name: copied(getattr(self, name)) for name in self.STATE})

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned."""
        for name in self.STATE:
            own, value = getattr(self, name), saved.values[name]
            if isinstance(own, Stateful):
                own.restore(value)
            elif isinstance(own, ColumnTable):
                own.grow(max(map(len, value.values.values())))
                own.restore_arrays(value.values)
            elif isinstance(own, np.ndarray) and own.shape == value.shape:
                own[...] = value
            else:
                setattr(self, name, copied(value))


def copied(value: Any) -> Any:
    """Return `value` in containers and arrays of its own. Objects stay the same, but those that have a `copy`."""
    kind = type(value)
    if kind in _UNCHANGING:
        return value
    if kind is deque:
        return deque(map(copied, value), value.maxlen)
    if kind in (list, set, tuple):
        return kind(value) if {*map(type, value)} <= _UNCHANGING else kind(map(copied, value))
    if kind is dict:
        return value.copy() if {*map(type, value.values())} <= _UNCHANGING else {k: copied(v) for k, v in value.items()}
    if isinstance(value, Stateful):
        return value.save()
    if isinstance(value, ColumnTable):
        return PartState(value.copy_arrays())
    return value.copy() if isinstance(value, np.ndarray) or (saved_name(kind) and hasattr(kind, "copy")) else value


_UNCHANGING = frozenset((type(None), bool, int, float, str, bytes))


# Values of a checkpoint as JSON and arrays, without loss: numbers bit by bit, and one thing that stands in two places
# is one thing again.


Json = Any
"""None, a truth value, a number or a text; a list; or a mapping of one key, which names the kind of value."""

PLAIN = frozenset((type(None), bool, int, str))
"""The types whose values stand for themselves, here and in JSON."""


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


MAGIC = b"fleet_sim state "
VERSION = 3
LARGEST = 4 << 30
"""Bytes of a file, and of what is in it."""
CONTENT = "state.json"

_LONGEST_LINE = 200
# The same state gives the same file.
_DATE = (1980, 1, 1, 0, 0, 0)


def write_archive(path: str | Path, content: dict[str, Any], arrays: Sequence[AnyArray]) -> None:
    """Write a state file, whole or not at all; raises InvalidValueError for what the system refuses."""
    text = json.dumps(content, allow_nan=False, separators=(",", ":")).encode()
    body = io.BytesIO()
    # Fast rather than small: the columns of a large world are many megabytes, and a run waits for them.
    with zipfile.ZipFile(body, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(_entry(CONTENT), text)
        for number, array in enumerate(arrays):
            with archive.open(_entry(f"{number}.npy"), "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)
    data = body.getbuffer()
    with writing(as_path(path), "wb") as file:
        file.write(MAGIC + f"{VERSION}\n{hashlib.sha256(data).hexdigest()} {len(data)}\n".encode())
        file.write(data)


def read_archive(path: str | Path) -> tuple[dict[str, Any], list[AnyArray]]:
    """Return content and arrays of a state file; raises StateFileError for any other, a damaged and a cut off one."""
    try:
        with opened(as_path(path), "rb") as file:
            first, second = file.readline(_LONGEST_LINE), file.readline(_LONGEST_LINE)
            _check_first(first)
            digest, length = _second(second)
            # One byte more than there should be, to notice what was added.
            data = file.read(length + 1)
    except OSError as error:
        raise StateFileError(f"cannot be read: {error.strerror or error}") from error
    if len(data) < length:
        raise StateFileError(f"it is cut off: {len(data)} of {length} bytes are there")
    if len(data) > length or hashlib.sha256(data).hexdigest() != digest:
        raise StateFileError("it is damaged or was changed: its checksum is that of another content")
    try:
        files = unpacked(data, LARGEST)
        content = json.loads(files.pop(CONTENT))
        if not isinstance(content, dict):
            raise StateFileError(f"{CONTENT}: expected a mapping")
        return content, [array_of(files[f"{number}.npy"]) for number in range(len(files))]
    except (KeyError, ValueError, RecursionError) as error:
        raise StateFileError(f"its content is not as it was written: {error}") from error


def _check_first(line: bytes) -> None:
    if not line.startswith(MAGIC):
        raise StateFileError("it is not a state file: those begin with 'fleet_sim state'")
    version = line[len(MAGIC) :].strip()
    if version != str(VERSION).encode():
        shown = version.decode("ascii", "replace")
        raise StateFileError(f"its format is version {brief(shown)}, and this fleet_sim reads version {VERSION}")


def _second(line: bytes) -> tuple[str, int]:
    digest, _, length = line.decode("ascii", "replace").strip().partition(" ")
    if len(digest) != 64 or not length.isdecimal() or not line.endswith(b"\n"):
        raise StateFileError("it is cut off or damaged: its second line has no checksum")
    if int(length) > LARGEST:
        raise StateFileError(f"it says that it has {length} bytes; at most {LARGEST} are read")
    return digest, int(length)


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _DATE)
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


# Values read back from the JSON and the arrays of a state file.


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

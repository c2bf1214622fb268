"""Message types of ROS 2 without ROS: made, serialised and described from their definitions."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fleet_sim.base.arrays import AnyArray
from fleet_sim.base.errors import ConfigError, missing_extra, of_extra
from fleet_sim.base.files import data_roots, is_folder, listed, read_text

if TYPE_CHECKING:
    from rosbags.typesys.store import Typestore

OWN = "fleet_sim_msgs"
NS_PER_S = 1_000_000_000
BASE, NAME, ARRAY, SEQUENCE = 1, 2, 3, 4
"""What a field is, as rosbags numbers it."""


@cache
def typestore() -> Typestore:
    """Return the standard types of ROS 2 Jazzy and those of fleet_sim_msgs.

    Raises MissingDependencyError without the extra `record`, and ConfigError where the definitions of fleet_sim_msgs
    are not installed.
    """
    with of_extra("rosbags", "record", "a recording"):
        from rosbags.typesys import Stores, get_types_from_msg, get_typestore
    store = get_typestore(Stores.ROS2_JAZZY)
    for file in listed(own_definitions(), "*.msg"):
        store.register(get_types_from_msg(read_text(file), f"{OWN}/msg/{file.stem}"))
    return store


def check_installed() -> None:
    """Raise what `typestore` raises, without reading the types, which takes a while."""
    for package in ("mcap", "rosbags"):
        if find_spec(package) is None:
            raise missing_extra(package, "record", "a recording")
    own_definitions()


def own_definitions() -> Path:
    """Return the folder with the definitions of fleet_sim_msgs; raises ConfigError with the folders searched."""
    # In a checkout it is a folder of src/; in a wheel and in an ament prefix a neighbour of share/fleet_sim.
    roots = data_roots()
    prefixes = [Path(prefix) for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if prefix]
    folders = [root / "src" / OWN / "msg" for root in roots] + [root.parent / OWN / "msg" for root in roots]
    # colcon installs each package into a prefix of its own.
    folders += [prefix / "share" / OWN / "msg" for prefix in (*prefixes, Path(sys.prefix))]
    found = next((folder for folder in folders if is_folder(folder)), None)
    if found is None:
        raise ConfigError(f"the definitions of {OWN} are not installed. Searched: {', '.join(map(str, folders))}")
    return found


@cache
def definition(kind: str) -> str:
    """Return the text that describes the type `kind` ("nav_msgs/msg/Path") and all types in it, as recordings have."""
    return typestore().generate_msgdef(kind, ros_version=2)[0]


def make(kind: str, **values: Any) -> Any:
    """Return a message of type `kind` with `values`, and zeros, empty texts and empty arrays elsewhere."""
    store = typestore()
    fields = store.fielddefs[kind][1]
    # Not `get`, which would make every default for nothing.
    given = {name: values[name] if name in values else _default(*field) for name, field in fields}
    return store.types[kind](**given)


def serializer(kind: str) -> Callable[[Any], bytes]:
    """Return what makes the CDR of a message of type `kind`, little endian, with its header."""
    store = typestore()
    return lambda message: bytes(store.serialize_cdr(message, kind))


def deserializer(kind: str) -> Callable[[bytes], Any]:
    """Return what reads the CDR of a message of type `kind`; it raises ValueError for other bytes."""
    store = typestore()
    from rosbags.serde import SerdeError

    def read(data: bytes) -> Any:
        try:
            return store.deserialize_cdr(data, kind)
        # Not a ValueError, unlike what it raises for most bytes.
        except SerdeError as error:
            raise ValueError(f"no {kind}: {error}") from error

    return read


def stamped(frame: str, nanoseconds: int = 0) -> Any:
    """Return a std_msgs/Header."""
    return make("std_msgs/msg/Header", stamp=time_message(nanoseconds), frame_id=frame)


def time_message(nanoseconds: int) -> Any:
    """Return a time in ns as builtin_interfaces/Time."""
    sec, nanosec = divmod(nanoseconds, NS_PER_S)
    return make("builtin_interfaces/msg/Time", sec=sec, nanosec=nanosec)


_NUMBERS: Mapping[str, AnyArray] = {
    kind: np.zeros(0, kind.replace("byte", "uint8"))
    for kind in ("int8", "uint8", "byte", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")
}


def _default(node: int, content: Any) -> Any:
    """Return the empty value of a field as rosbags describes it: a base type, a name, an array or a sequence."""
    if node == BASE:
        kind = content[0]
        return "" if kind in ("string", "wstring") else False if kind == "bool" else 0.0 if "float" in kind else 0
    if node == NAME:
        return make(content)
    (inner, item), length = content
    count = length if node == ARRAY else 0
    if inner == BASE and item[0] in _NUMBERS:
        return np.zeros(count, _NUMBERS[item[0]].dtype)
    return [_default(inner, item) for _ in range(count)]

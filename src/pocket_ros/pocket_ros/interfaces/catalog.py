"""Finds the definition of an interface by its name.

Asked in this order: the ament index (installed packages and source checkouts), then the definitions bundled
here, which are those of ROS 2 Jazzy. What was found is kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from ..ament_index_python import PackageNotFoundError, get_package_share_directory, get_packages_with_prefixes
from .definitions import (
    ActionDefinition,
    Definition,
    Field,
    FieldType,
    MessageDefinition,
    ServiceDefinition,
    Shape,
    parse,
)

KINDS = ("msg", "srv", "action")
LONGEST_NAME = 255
BUNDLED = Path(__file__).parent / "definitions"


class UnknownInterfaceError(LookupError):
    """No definition of that name is installed or bundled."""


@cache
def definition(name: str) -> Definition:
    """The definition of `pkg/msg/Name`, `pkg/srv/Name`, `pkg/action/Name` or a part of the latter two.

    Raises UnknownInterfaceError with the nearest known name.
    """
    if len(name) > LONGEST_NAME:
        raise UnknownInterfaceError(
            f"interface names have at most {LONGEST_NAME} characters, this one {len(name)}"
        )
    parts = name.split("/")
    # Letters of other scripts are longer in file names, which have the same limit in bytes.
    if len(parts) != 3 or parts[1] not in KINDS or not name.isascii():
        raise UnknownInterfaceError(f"'{name}' is not an interface name; it has the form package/msg/Name")
    text = source_text(name)
    if text is not None:
        return parse(name, text)
    part = _part(name)
    if part is not None:
        return part
    import difflib  # only where a name is wrong

    near = difflib.get_close_matches(parts[2], interface_names(parts[0]).get(parts[1], []), 1)
    hint = f"; did you mean '{parts[0]}/{parts[1]}/{near[0]}'?" if near else ""
    raise UnknownInterfaceError(f"no definition of '{name}' is installed or known{hint}")


def message(name: str) -> MessageDefinition:
    """`definition` for what must be a message. Raises UnknownInterfaceError otherwise."""
    found = definition(name)
    if not isinstance(found, MessageDefinition):
        raise UnknownInterfaceError(f"'{name}' is not a message")
    return found


def source_text(name: str) -> str | None:
    """The text of the definition file, where there is one."""
    path = source_path(name)
    return None if path is None else path.read_text(encoding="utf-8")


def source_path(name: str) -> Path | None:
    """The definition file, where there is one."""
    package, kind, base = name.split("/")
    paths = (folder / kind / f"{base}.{kind}" for folder in _folders(package))
    return next((path for path in paths if path.is_file()), None)


def render(found: MessageDefinition) -> str:
    """A message definition as text, for definitions that have no file."""
    lines = [f"{c.base} {c.name}={c.value}" for c in found.constants]
    lines += [f"{f.type} {f.name}" + ("" if f.default is None else f" {f.default}") for f in found.fields]
    return "\n".join(line for line in lines if "structure_needs_at_least_one_member" not in line)


def interface_names(package: str) -> dict[str, list[str]]:
    """Kind (`msg`, `srv`, `action`) to the sorted names of a package; empty where the package has none."""
    names: dict[str, set[str]] = {}
    for folder in _folders(package):
        for kind in KINDS:
            for path in (folder / kind).glob(f"*.{kind}"):
                names.setdefault(kind, set()).add(path.stem)
    return {kind: sorted(names[kind]) for kind in KINDS if kind in names}


def packages() -> list[str]:
    """Every package that has interfaces, sorted."""
    known = {p.name for p in BUNDLED.iterdir() if p.is_dir()}
    return sorted(known | {p for p in get_packages_with_prefixes() if has_package(p)})


def has_package(package: str) -> bool:
    """Whether a package of that name has interfaces."""
    return any((folder / kind).is_dir() for folder in _folders(package) for kind in KINDS)


# Other nodes ask for names that they make up: these are not kept for ever.
@lru_cache(maxsize=1024)
def _folders(package: str) -> tuple[Path, ...]:
    return tuple(_find_folders(package))


def _find_folders(package: str) -> Iterator[Path]:
    with contextlib.suppress(PackageNotFoundError, ValueError):
        yield Path(get_package_share_directory(package, print_warning=False))
    yield BUNDLED / package


def _part(name: str) -> Definition | None:
    """The request of a service, the goal of an action and so on: `pkg/srv/Name_Request`."""
    owner_name, _, part = name.rpartition("_")
    kind = name.split("/")[1]
    if kind == "msg" or not part or "/" in part:
        return None
    try:
        owner = definition(owner_name)
    except UnknownInterfaceError:
        return None
    parts: dict[str, Definition] = {}
    if isinstance(owner, ServiceDefinition):
        parts = {"Request": owner.request, "Response": owner.response, "Event": owner.event}
    elif isinstance(owner, ActionDefinition):
        parts = {
            "Goal": owner.goal,
            "Result": owner.result,
            "Feedback": owner.feedback,
            "SendGoal": owner.send_goal,
            "GetResult": owner.get_result,
            "FeedbackMessage": owner.feedback_message,
        }
    return parts.get(part)


# RIHS01 type hashes: sha256 over the canonical JSON of a type and of every type it refers to.


_TYPE_IDS = {
    "int8": 2,
    "uint8": 3,
    "int16": 4,
    "uint16": 5,
    "int32": 6,
    "uint32": 7,
    "int64": 8,
    "uint64": 9,
    "float32": 10,
    "float64": 11,
    "char": 13,
    "bool": 15,
    "byte": 16,
    "string": 17,
    "wstring": 18,
}
_NESTED, _BOUNDED_STRING, _BOUNDED_WSTRING = 1, 21, 22
_SHAPE_OFFSETS = {Shape.SINGLE: 0, Shape.ARRAY: 48, Shape.BOUNDED: 96, Shape.UNBOUNDED: 144}


@cache
def type_hash(name: str) -> str:
    """`RIHS01_<64 hex digits>` of a message, a service, an action or a part of one."""
    description = type_description(name)
    text = json.dumps(description, separators=(", ", ": "), ensure_ascii=True)
    return "RIHS01_" + hashlib.sha256(text.encode()).hexdigest()


def type_description(name: str) -> dict[str, Any]:
    """The description that is hashed: `type_description` and the `referenced_type_descriptions`, by name."""
    fields = _fields(definition(name))
    referenced: dict[str, tuple[Field, ...]] = {}
    _collect(fields, referenced)
    return {
        "type_description": _individual(name, fields),
        "referenced_type_descriptions": [_individual(n, referenced[n]) for n in sorted(referenced)],
    }


def _fields(definition: Definition) -> tuple[Field, ...]:
    if isinstance(definition, MessageDefinition):
        return definition.fields
    if isinstance(definition, ServiceDefinition):
        return tuple(
            Field(f"{part}_message", FieldType(getattr(definition, part).name))
            for part in ("request", "response", "event")
        )
    return (
        Field("goal", FieldType(definition.goal.name)),
        Field("result", FieldType(definition.result.name)),
        Field("feedback", FieldType(definition.feedback.name)),
        Field("send_goal_service", FieldType(definition.send_goal.name)),
        Field("get_result_service", FieldType(definition.get_result.name)),
        Field("feedback_message", FieldType(definition.feedback_message.name)),
    )


def _collect(fields: tuple[Field, ...], into: dict[str, tuple[Field, ...]]) -> None:
    for field in fields:
        base = field.type.base
        if not field.type.is_primitive and base not in into:
            into[base] = _fields(definition(base))
            _collect(into[base], into)


def _individual(name: str, fields: tuple[Field, ...]) -> dict[str, Any]:
    return {"type_name": name, "fields": [{"name": f.name, "type": _field_type(f.type)} for f in fields]}


def _field_type(kind: FieldType) -> dict[str, Any]:
    if not kind.is_primitive:
        type_id = _NESTED
    elif kind.string_bound:
        type_id = _BOUNDED_STRING if kind.base == "string" else _BOUNDED_WSTRING
    else:
        # A .msg `char` is an unsigned octet in the type system the hash is defined on.
        type_id = _TYPE_IDS["uint8" if kind.base == "char" else kind.base]
    return {
        "type_id": type_id + _SHAPE_OFFSETS[kind.shape],
        "capacity": kind.size,
        "string_capacity": kind.string_bound,
        "nested_type_name": "" if kind.is_primitive else kind.base,
    }

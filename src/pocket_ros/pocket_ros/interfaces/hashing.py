"""RIHS01 type hashes: sha256 over the canonical JSON of a type and of every type it refers to."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from typing import Any

from . import catalog
from .model import Definition, Field, FieldType, MessageDefinition, ServiceDefinition, Shape

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
    fields = _fields(catalog.definition(name))
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
            into[base] = _fields(catalog.definition(base))
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

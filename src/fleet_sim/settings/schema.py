"""JSON schemas of settings classes, for editors, from the same declarations that the reader uses."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from enum import Enum
from typing import Any, Literal, get_args, get_origin

from fleet_sim.settings.fields import NO_RULES, Field, Setting, fields_of
from fleet_sim.settings.types import is_union

_JSON = (type(None), bool, int, float, str, list)
_TYPES = {bool: "boolean", str: "string", int: "integer", float: "number", type(None): "null"}


def json_schema(cls: type, *, title: str = "") -> dict[str, Any]:
    """Return a JSON schema (draft 2020-12) of the settings class `cls`.

    It accepts the same as `read`, except for conditions across several fields, which only `read` checks.
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **object_schema(cls),
        "title": title or cls.__name__,
    }


def object_schema(cls: type) -> dict[str, Any]:
    """Return the schema of `cls` without the header, for use inside another schema."""
    fields = fields_of(cls)
    properties: dict[str, Any] = {}
    exclusive: list[dict[str, Any]] = []
    for field in fields.values():
        properties[field.name] = _field_schema(field)
        for alias in field.rules.aliases:
            properties[alias] = {**_field_schema(field), "description": f"Alias of {field.name}."}
            # Given under both of its names, a setting would have two values.
            exclusive.append({"not": {"type": "object", "required": [field.name, alias]}})
    schema: dict[str, Any] = {"type": "object", "additionalProperties": False, "properties": properties}
    required = [field.name for field in fields.values() if field.default is None]
    if required:
        schema["required"] = required
    if exclusive:
        schema["allOf"] = exclusive
    if cls.__doc__:
        schema["description"] = cls.__doc__.strip().splitlines()[0]
    return schema


def nullable(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return `schema` of a section so that it accepts null as well: what YAML reads where a section is empty."""
    return {**schema, "type": [schema["type"], "null"]}


def _field_schema(field: Field) -> dict[str, Any]:
    """Return the JSON schema of one setting, with its text, its unit and its default."""
    rules = field.rules
    schema = dict(rules.schema or {}) if rules.reader is not None else type_schema(field.hint, rules)
    text = rules.doc + (f" [{rules.unit}]" if rules.unit else "")
    if text:
        schema["description"] = text.strip()
    default = plain(field.default()) if field.default is not None else None
    # JSON has no infinity.
    if field.default is not None and isinstance(default, _JSON) and default not in (math.inf, -math.inf):
        schema["default"] = default
    return schema


def type_schema(hint: Any, rules: Setting = NO_RULES) -> dict[str, Any]:
    """Return the schema of one type within `rules`."""
    origin, args = get_origin(hint), get_args(hint)
    if hint is Any or hint is object:
        return {}
    if is_union(hint):
        return {"anyOf": [type_schema(option, rules) for option in args]}
    if origin is list or (origin is tuple and args[-1] is Ellipsis):
        items = type_schema(args[0], rules)
        several = {"type": "array", "items": items}
        # Any is what has a name: a text, or a mapping with a type.
        return {"anyOf": [several, items or {"type": ["string", "object"]}]} if rules.one_is_list else several
    if origin is tuple:
        each = [type_schema(item, rules) for item in args]
        return {"type": "array", "prefixItems": each, "minItems": len(each), "maxItems": len(each)}
    if origin in (dict, Mapping) or hint is dict:
        return {"type": "object", "additionalProperties": type_schema(args[1], rules) if args else True}
    if origin is Literal:
        return {"enum": list(args)}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"enum": [member.value for member in hint]}
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return object_schema(hint)
    return {"type": _TYPES[hint], **(_bounds(rules) if hint in (int, float) else {})}


def _bounds(rules: Setting) -> dict[str, Any]:
    bounds = {"minimum": rules.low, "maximum": rules.high, "exclusiveMinimum": rules.above}
    given = {key: bound for key, bound in bounds.items() if bound is not None}
    return {"anyOf": [{"const": 0}, given]} if rules.or_zero else given


def plain(value: Any) -> Any:
    """Return `value` in JSON types: enums as values, tuples as lists, settings as mappings."""
    if isinstance(value, Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name: plain(getattr(value, name)) for name in fields_of(type(value))}
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value

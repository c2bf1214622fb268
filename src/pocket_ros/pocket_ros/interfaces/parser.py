"""Reads the text of `.msg`, `.srv` and `.action` files."""

from __future__ import annotations

import ast
import re

from .model import (
    EMPTY_MEMBER,
    PRIMITIVES,
    ActionDefinition,
    Constant,
    Definition,
    Field,
    FieldType,
    MessageDefinition,
    ServiceDefinition,
    Shape,
)

_TYPE = re.compile(r"^(?P<base>[A-Za-z][\w/]*)(?:<=(?P<bound>\d+))?(?:\[(?P<size>(?:<=)?\d*)\])?$")
_LINE = re.compile(r"^(?P<type>\S+)\s+(?P<name>[A-Za-z]\w*)\s*(?P<rest>.*)$")
_SECTIONS = {"msg": 1, "srv": 2, "action": 3}


class DefinitionError(ValueError):
    """An interface definition that cannot be read."""


def parse(name: str, text: str) -> Definition:
    """The definition of `name` (`pkg/msg/Name`, `pkg/srv/Name` or `pkg/action/Name`).

    Raises DefinitionError with the line for what is not an interface definition.
    """
    kind = name.split("/")[1]
    sections: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.strip() == "---":
            sections.append([])
        else:
            sections[-1].append(line)
    if len(sections) != _SECTIONS[kind]:
        wanted = _SECTIONS[kind] - 1
        raise DefinitionError(f"{name} has {len(sections) - 1} lines '---'; a .{kind} file has {wanted}")
    if kind == "msg":
        return _message(name, sections[0])
    if kind == "srv":
        return ServiceDefinition(
            name, _message(f"{name}_Request", sections[0]), _message(f"{name}_Response", sections[1])
        )
    parts = (
        _message(f"{name}_{p}", s) for p, s in zip(("Goal", "Result", "Feedback"), sections, strict=True)
    )
    return ActionDefinition(name, *parts)


def parse_type(text: str, package: str) -> FieldType:
    """A field type; names without a package belong to `package` (`Header` to std_msgs)."""
    match = _TYPE.match(text)
    if match is None:
        raise DefinitionError(f"'{text}' is not a field type")
    base, size = match["base"], match["size"]
    if base not in PRIMITIVES:
        if "/" not in base:
            base = "std_msgs/Header" if base == "Header" and package != "std_msgs" else f"{package}/{base}"
        if base.count("/") == 1:
            base = base.replace("/", "/msg/")
    bound = int(match["bound"] or 0)
    if size is None:
        return FieldType(base, string_bound=bound)
    if size == "":
        return FieldType(base, Shape.UNBOUNDED, string_bound=bound)
    if size.startswith("<="):
        return FieldType(base, Shape.BOUNDED, int(size[2:]), bound)
    return FieldType(base, Shape.ARRAY, int(size), bound)


def _message(name: str, lines: list[str]) -> MessageDefinition:
    package = name.split("/")[0]
    fields: list[Field] = []
    constants: list[Constant] = []
    for line in lines:
        code = _without_comment(line)
        if not code:
            continue
        match = _LINE.match(code)
        if match is None:
            raise DefinitionError(f"{name}: cannot read the line '{line}'")
        field_type, rest = parse_type(match["type"], package), match["rest"].strip()
        if rest.startswith("="):
            value = _value(rest[1:].strip(), field_type, name)
            constants.append(Constant(match["name"], field_type.base, value))
        else:
            default = _value(rest, field_type, name) if rest else None
            fields.append(Field(match["name"], field_type, default))
    return MessageDefinition(name, tuple(fields) or (EMPTY_MEMBER,), tuple(constants))


def _without_comment(line: str) -> str:
    quote = ""
    for position, character in enumerate(line):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character == "#":
            line = line[:position]
            break
    return line.strip()


def _value(text: str, field_type: FieldType, name: str) -> object:
    if field_type.shape is not Shape.SINGLE:
        return [_primitive(v, field_type.base, name) for v in _elements(text)]
    return _primitive(text, field_type.base, name)


def _elements(text: str) -> list[str]:
    inner = text.strip()[1:-1]
    return [e.strip() for e in re.findall(r"\"[^\"]*\"|'[^']*'|[^,]+", inner) if e.strip()]


def _primitive(text: str, base: str, name: str) -> object:
    if base in ("string", "wstring"):
        quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
        return text[1:-1].replace(f"\\{text[0]}", text[0]) if quoted else text
    if base == "bool":
        return text.lower() in ("true", "1")
    try:
        if base.startswith("float"):
            return float(text)
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError) as error:
        raise DefinitionError(f"{name}: '{text}' is not a {base}") from error
    return bytes([value]) if base == "byte" else value

"""What an interface definition says, as data: fields, constants, messages, services and actions."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

INTEGERS = frozenset({"int8", "uint8", "char", "int16", "uint16", "int32", "uint32", "int64", "uint64"})
FLOATS = frozenset({"float32", "float64"})
PRIMITIVES = INTEGERS | FLOATS | {"bool", "byte", "string", "wstring"}


class Shape(Enum):
    """How many values of its base type a field holds."""

    SINGLE = "single"
    ARRAY = "array"
    BOUNDED = "bounded"
    UNBOUNDED = "unbounded"


@dataclass(frozen=True)
class FieldType:
    """The type of a field.

    `base` is a primitive name or `pkg/msg/Name`; `size` is the length of an array or the bound of a bounded
    sequence; `string_bound` is 0 for strings of any length.
    """

    base: str
    shape: Shape = Shape.SINGLE
    size: int = 0
    string_bound: int = 0

    @property
    def is_primitive(self) -> bool:
        return self.base in PRIMITIVES

    @property
    def is_string(self) -> bool:
        return self.base in ("string", "wstring")

    @property
    def is_sequence(self) -> bool:
        return self.shape in (Shape.BOUNDED, Shape.UNBOUNDED)

    def element(self) -> FieldType:
        """The type of one element of an array or sequence."""
        return FieldType(self.base, string_bound=self.string_bound)

    def __str__(self) -> str:
        """The type as an interface definition writes it."""
        base = self.base.replace("/msg/", "/")
        if self.string_bound:
            base += f"<={self.string_bound}"
        suffix = {Shape.SINGLE: "", Shape.ARRAY: f"[{self.size}]", Shape.UNBOUNDED: "[]"}
        return base + suffix.get(self.shape, f"[<={self.size}]")


@dataclass(frozen=True)
class Field:
    """A named field; `default` is None where the definition gives none."""

    name: str
    type: FieldType
    default: Any = None


@dataclass(frozen=True)
class Constant:
    """A named constant of a message."""

    name: str
    base: str
    value: Any


@dataclass(frozen=True)
class MessageDefinition:
    """A message, or the request, response or event part of a service; `name` is `pkg/kind/Name`."""

    name: str
    fields: tuple[Field, ...]
    constants: tuple[Constant, ...] = ()


@dataclass(frozen=True)
class ServiceDefinition:
    """A service; the parts are named `<name>_Request`, `<name>_Response` and `<name>_Event`."""

    name: str
    request: MessageDefinition
    response: MessageDefinition
    event: MessageDefinition = field(init=False)

    def __post_init__(self) -> None:
        event = MessageDefinition(
            f"{self.name}_Event",
            (
                Field("info", FieldType("service_msgs/msg/ServiceEventInfo")),
                Field("request", FieldType(self.request.name, Shape.BOUNDED, 1)),
                Field("response", FieldType(self.response.name, Shape.BOUNDED, 1)),
            ),
        )
        object.__setattr__(self, "event", event)


@dataclass(frozen=True)
class ActionDefinition:
    """An action with the services and the feedback message that carry it."""

    name: str
    goal: MessageDefinition
    result: MessageDefinition
    feedback: MessageDefinition
    send_goal: ServiceDefinition = field(init=False)
    get_result: ServiceDefinition = field(init=False)
    feedback_message: MessageDefinition = field(init=False)

    def __post_init__(self) -> None:
        goal_id = Field("goal_id", FieldType("unique_identifier_msgs/msg/UUID"))
        send, get = f"{self.name}_SendGoal", f"{self.name}_GetResult"
        parts = {
            "send_goal": ServiceDefinition(
                send,
                MessageDefinition(f"{send}_Request", (goal_id, Field("goal", FieldType(self.goal.name)))),
                MessageDefinition(
                    f"{send}_Response",
                    (
                        Field("accepted", FieldType("bool")),
                        Field("stamp", FieldType("builtin_interfaces/msg/Time")),
                    ),
                ),
            ),
            "get_result": ServiceDefinition(
                get,
                MessageDefinition(f"{get}_Request", (goal_id,)),
                MessageDefinition(
                    f"{get}_Response",
                    (Field("status", FieldType("int8")), Field("result", FieldType(self.result.name))),
                ),
            ),
            "feedback_message": MessageDefinition(
                f"{self.name}_FeedbackMessage", (goal_id, Field("feedback", FieldType(self.feedback.name)))
            ),
        }
        for name, part in parts.items():
            object.__setattr__(self, name, part)


Definition = MessageDefinition | ServiceDefinition | ActionDefinition
EMPTY_MEMBER = Field("structure_needs_at_least_one_member", FieldType("uint8"))


# Sizes, struct formats and NumPy and array types of the primitive types.


FORMATS = {
    "bool": "?",
    "byte": "c",
    "char": "B",
    "int8": "b",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "float32": "f",
    "float64": "d",
}
SIZES = {
    base: {"h": 2, "H": 2, "i": 4, "I": 4, "f": 4}.get(f, 8 if f in "qQd" else 1)
    for base, f in FORMATS.items()
}
# Sequences of these are `array.array` of that type code, fixed arrays are NumPy arrays of that dtype.
TYPE_CODES = {base: f for base, f in FORMATS.items() if base not in ("bool", "byte")}
DTYPES = {base: "uint8" if base == "char" else base for base in FORMATS if base not in ("bool", "byte")}
# The names that `get_fields_and_field_types` uses.
IDL_NAMES = {"bool": "boolean", "byte": "octet", "char": "uint8", "float32": "float", "float64": "double"}


# Reads the text of `.msg`, `.srv` and `.action` files.


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

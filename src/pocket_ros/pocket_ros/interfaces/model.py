"""What an interface definition says, as data: fields, constants, messages, services and actions."""

from __future__ import annotations

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
                f"{self.name}_FeedbackMessage",
                (goal_id, Field("feedback", FieldType(self.feedback.name))),
            ),
        }
        for name, part in parts.items():
            object.__setattr__(self, name, part)


Definition = MessageDefinition | ServiceDefinition | ActionDefinition
EMPTY_MEMBER = Field("structure_needs_at_least_one_member", FieldType("uint8"))

"""Message, service and action classes, generated from definitions.

A message class behaves as the one rosidl generates: keyword arguments, defaults, constants on the class,
checked
assignment (AssertionError), equality, `get_fields_and_field_types`. Its values live in slots named
`_<field>`, which the
CDR code reads and writes directly.
"""

from __future__ import annotations

import re
from array import array
from functools import cache
from typing import Any, ClassVar

import numpy as np

from . import catalog
from .assignment import checker
from .layout import DTYPES, IDL_NAMES, TYPE_CODES
from .model import (
    EMPTY_MEMBER,
    ActionDefinition,
    Field,
    FieldType,
    MessageDefinition,
    ServiceDefinition,
    Shape,
)


class MessageType(type):
    """The type of message classes; constants cannot be reassigned."""

    _constants_: dict[str, Any]

    def __setattr__(cls, name: str, value: Any) -> None:
        if name in cls.__dict__.get("_constants_", ()):
            raise AttributeError(f"constant '{name}' of {cls.__name__} cannot be set")
        super().__setattr__(name, value)


class _SlotTypes:
    """Makes the types when somebody asks for them: hardly any program does."""

    def __get__(self, instance: object, owner: type[Message]) -> tuple[Any, ...]:
        from .slot_types import slot_types

        return slot_types(owner._type_name_)


class Message(metaclass=MessageType):
    """What all message classes share."""

    __slots__: tuple[str, ...] = ()
    _type_name_: ClassVar[str] = ""
    _fields_: ClassVar[tuple[str, ...]] = ()
    _field_types_: ClassVar[dict[str, str]] = {}
    SLOT_TYPES = _SlotTypes()

    @classmethod
    def get_fields_and_field_types(cls) -> dict[str, str]:
        """Field name to IDL type, in the order of the definition."""
        return dict(cls._field_types_)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, self.__class__):
            return False
        return all(_equal(getattr(self, s), getattr(other, s)) for s in type(self).__slots__)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        package, kind, _ = self._type_name_.split("/")
        values = ", ".join(f"{name}={_show(getattr(self, f'_{name}'))}" for name in self._fields_)
        return f"{package}.{kind}.{type(self).__name__}({values})"

    def __copy__(self) -> Message:
        twin = type(self).__new__(type(self))
        for slot in type(self).__slots__:
            setattr(twin, slot, getattr(self, slot))
        return twin

    def __getstate__(self) -> dict[str, Any]:
        return {slot: getattr(self, slot) for slot in type(self).__slots__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for slot, value in state.items():
            setattr(self, slot, value)


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return bool(np.array_equal(a, b))
    return bool(a == b)


def _show(value: Any) -> str:
    return repr(value.tolist()) if isinstance(value, array) else repr(value)


@cache
def message_class(name: str) -> Any:
    """The class of the message `pkg/msg/Name` (or of a part of a service or action).

    Raises UnknownInterfaceError where there is no such message.
    """
    return _build(catalog.message(name))


def _require(name: str, kind: type[Any], noun: str) -> None:
    if not isinstance(catalog.definition(name), kind):
        raise catalog.UnknownInterfaceError(f"'{name}' is not {noun}")


@cache
def service_class(name: str) -> Any:
    """The class of the service `pkg/srv/Name`, with `Request`, `Response` and `Event`."""
    _require(name, ServiceDefinition, "a service")
    parts = {
        p.capitalize(): message_class(f"{name}_{p.capitalize()}") for p in ("request", "response", "event")
    }
    return type(_base(name), (), {**_identity(name), **parts, "__new__": _no_instances})


@cache
def action_class(name: str) -> Any:
    """The class of the action `pkg/action/Name`, with `Goal`, `Result`, `Feedback` and `Impl`."""
    _require(name, ActionDefinition, "an action")
    carriers = {
        "SendGoalService": service_class(f"{name}_SendGoal"),
        "GetResultService": service_class(f"{name}_GetResult"),
        "FeedbackMessage": message_class(f"{name}_FeedbackMessage"),
        "CancelGoalService": service_class("action_msgs/srv/CancelGoal"),
        "GoalStatusMessage": message_class("action_msgs/msg/GoalStatusArray"),
    }
    parts = {p: message_class(f"{name}_{p}") for p in ("Goal", "Result", "Feedback")}
    namespace = {**_identity(name), **parts, "Impl": type("Impl", (), carriers), "__new__": _no_instances}
    return type(_base(name), (), namespace)


def _no_instances(cls: type, *args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError("Service and action classes can not be instantiated")


def _base(name: str) -> str:
    return name.split("/")[2]


def module_name(name: str) -> str:
    """The module rosidl would put the class in: `pkg.msg._snake_case`."""
    package, kind, base = name.split("/")
    if kind != "msg":
        base = re.sub(
            r"_(Request|Response|Event|Goal|Result|Feedback|SendGoal.*|GetResult.*|FeedbackMessage)$",
            "",
            base,
        )
    return f"{package}.{kind}._{snake_case(base)}"


def snake_case(name: str) -> str:
    """`PoseStamped` as `pose_stamped`, `TF2Error` as `tf2_error`."""
    name = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()


def _identity(name: str) -> dict[str, Any]:
    return {"__module__": module_name(name), "_type_name_": name}


def _build(definition: MessageDefinition) -> Any:
    fields = tuple(field for field in definition.fields if field is not EMPTY_MEMBER)
    defaults: dict[str, Any] = {}
    lines = [_parameters(fields)]
    namespace: dict[str, Any] = {
        **_identity(definition.name),
        "__slots__": tuple(f"_{f.name}" for f in fields),
        "_fields_": tuple(f.name for f in fields),
        "_field_types_": {f.name: idl_type(f.type) for f in fields},
        "_constants_": {c.name: c.value for c in definition.constants},
        **{c.name: c.value for c in definition.constants},
    }
    for field in fields:
        cls = None if field.type.is_primitive else message_class(field.type.base)
        check = checker(field.name, field.type, cls)
        namespace[field.name] = _property(field.name, check)
        expression = _default(field, cls, check, defaults)
        unchecked = field.type.shape is Shape.SINGLE  # the others are converted, asked or not
        lines += [
            f"    if {field.name} is _MISSING: self._{field.name} = {expression}",
            *([f"    elif check_fields is False: self._{field.name} = {field.name}"] if unchecked else []),
            f"    else: self.{field.name} = {field.name}",
        ]
    scope = {"_MISSING": _MISSING, "_refuse": _refuse, **defaults}
    exec("\n".join(lines), scope)
    namespace["__init__"] = scope["__init__"]
    return MessageType(_base(definition.name), (Message,), namespace)


_MISSING: Any = type("_Missing", (), {"__repr__": lambda self: "<default>"})()


def _parameters(fields: tuple[Field, ...]) -> str:
    names = "".join(f", {f.name}=_MISSING" for f in fields)
    signature = f"def __init__(self, *{names}, check_fields=True, **_unknown):"
    return f"{signature}\n    if _unknown: _refuse(self, _unknown)"


def _refuse(message: Message, unknown: dict[str, Any]) -> None:
    raise AssertionError(
        f"Invalid arguments passed to constructor: {', '.join(sorted(unknown))}; "
        f"{type(message).__name__} has {', '.join(message._fields_)}"
    )


def _property(name: str, check: Any) -> property:
    slot = f"_{name}"
    scope: dict[str, Any] = {"_check": check}
    exec(
        f"def get(self): return self.{slot}\ndef set(self, value): self.{slot} = _check(value)",
        scope,
    )
    return property(scope["get"], scope["set"], doc=f"Message field '{name}'.")


def _default(field: Field, cls: type | None, check: Any, scope: dict[str, Any]) -> str:
    """An expression for the default value; what it needs is put into `scope`."""
    kind, name = field.type, f"_default_{field.name}"
    if field.default is not None:
        value = check(field.default)
        scope[name] = value
        return f"{name}[:]" if kind.shape is not Shape.SINGLE else name
    if kind.shape is Shape.ARRAY:
        return _array_default(kind, cls, name, scope)
    if kind.is_sequence:
        if kind.base in TYPE_CODES:
            scope["_array"] = array
            return f"_array('{TYPE_CODES[kind.base]}')"
        return "[]"
    return _single_default(kind, cls, name, scope)


def _single_default(kind: FieldType, cls: type | None, name: str, scope: dict[str, Any]) -> str:
    if cls is not None:
        scope[name] = cls
        return f"{name}()"
    if kind.is_string:
        return "''"
    return {"bool": "False", "byte": "b'\\x00'", "float32": "0.0", "float64": "0.0"}.get(kind.base, "0")


def _array_default(kind: FieldType, cls: type | None, name: str, scope: dict[str, Any]) -> str:
    if kind.base in TYPE_CODES:
        scope[name] = np.zeros(kind.size, DTYPES[kind.base])
        return f"{name}.copy()"
    single = _single_default(kind, cls, name, scope)
    return f"[{single} for _ in range({kind.size})]"


def idl_type(kind: FieldType) -> str:
    """A field type as `get_fields_and_field_types` writes it, such as `sequence<double>` or `string<10>`."""
    base = IDL_NAMES.get(
        kind.base, kind.base.replace("/msg/", "/").replace("/srv/", "/").replace("/action/", "/")
    )
    if kind.string_bound:
        base += f"<{kind.string_bound}>"
    if kind.shape is Shape.ARRAY:
        return f"{base}[{kind.size}]"
    if kind.shape is Shape.BOUNDED:
        return f"sequence<{base}, {kind.size}>"
    return f"sequence<{base}>" if kind.shape is Shape.UNBOUNDED else base

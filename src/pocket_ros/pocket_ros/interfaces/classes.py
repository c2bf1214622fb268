"""Message, service and action classes, generated from definitions.

A message class behaves as the one rosidl generates: keyword arguments, defaults, constants on the class,
checked
assignment (AssertionError), equality, `get_fields_and_field_types`. Its values live in slots named
`_<field>`, which the
CDR code reads and writes directly.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable, Sequence, Set
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np

from ..rosidl_parser import (
    AbstractNestableType,
    AbstractType,
    Array,
    BasicType,
    BoundedSequence,
    BoundedString,
    BoundedWString,
    NamespacedType,
    UnboundedSequence,
    UnboundedString,
    UnboundedWString,
)
from . import catalog
from .definitions import (
    DTYPES,
    EMPTY_MEMBER,
    FLOATS,
    IDL_NAMES,
    INTEGERS,
    SIZES,
    TYPE_CODES,
    ActionDefinition,
    Field,
    FieldType,
    MessageDefinition,
    ServiceDefinition,
    Shape,
)

# What is raised for arrays and sequences of numbers that a field cannot hold. rclpy raises
# AssertionError where its checks of fields are on, and TypeError or OverflowError where they are off:
# programs that handle either keep working.


class FieldTypeError(AssertionError, TypeError):
    """Not a flat sequence of numbers of that kind."""


class FieldRangeError(AssertionError, OverflowError):
    """A number the element type cannot hold."""


# Checks and conversions on assignment to a message field. Each function takes the field's name and the
# value and returns what is stored. A single value of the wrong type or range is an AssertionError in
# rosidl's wording. Arrays and sequences of numbers are converted where nothing is lost, as rosidl does;
# what cannot be converted is one of the errors of `array_errors`.


Check = Callable[[Any], Any]
_FLOAT_LIMITS = {"float32": ("float", 3.402823466e38), "float64": ("double", 1.7976931348623157e308)}


def _fail(name: str, what: str) -> AssertionError:
    return AssertionError(f"The '{name}' field must be {what}")


def checker(name: str, kind: FieldType, cls: type | None) -> Check:
    """The check of a field; `cls` is the message class where the base type is a message."""
    single = _single(name, kind.element(), cls)
    if kind.shape is Shape.SINGLE:
        return single
    if kind.base in TYPE_CODES:
        return _array(name, kind) if kind.shape is Shape.ARRAY else _sequence(name, kind)
    return _list(name, kind, single, cls)


def _single(name: str, kind: FieldType, cls: type | None) -> Check:
    if cls is not None:
        return _message(name, cls)
    if kind.is_string:
        return _string(name, kind.string_bound)
    if kind.base in INTEGERS:
        return _integer(name, kind.base)
    if kind.base in FLOATS:
        return _float(name, kind.base)
    return _bool(name) if kind.base == "bool" else _byte(name)


def _message(name: str, cls: type) -> Check:
    def check(value: Any) -> Any:
        if not isinstance(value, cls):
            raise _fail(name, f"a sub message of type '{cls.__name__}'")
        return value

    return check


def _string(name: str, bound: int) -> Check:
    def check(value: Any) -> Any:
        if not isinstance(value, str):
            raise _fail(name, "of type 'str'")
        if bound and len(value) > bound:
            raise _fail(name, f"string value not longer than {bound}")
        return value

    return check


def integer_range(base: str) -> tuple[int, int]:
    """The lowest and highest value of an integer type."""
    bits = 8 * SIZES[base]
    return (0, 2**bits - 1) if base.startswith(("u", "c")) else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _integer(name: str, base: str) -> Check:
    low, high = integer_range(base)
    word = "an integer" if low else "an unsigned integer"

    def check(value: Any) -> Any:
        if not isinstance(value, int):
            raise _fail(name, "of type 'int'")
        if not low <= value <= high:
            raise _fail(name, f"{word} in [{low}, {high}]")
        return value

    return check


def _float(name: str, base: str) -> Check:
    word, limit = _FLOAT_LIMITS[base]

    def check(value: Any) -> Any:
        if not isinstance(value, float):
            raise _fail(name, "of type 'float'")
        if (value > limit or value < -limit) and not math.isinf(value):
            raise _fail(name, f"a {word} in [-{limit}, {limit}]")
        return value if type(value) is float else float(value)  # a NumPy scalar would show in the repr

    return check


def _bool(name: str) -> Check:
    def check(value: Any) -> Any:
        if not isinstance(value, bool):
            raise _fail(name, "of type 'bool'")
        return value

    return check


def _byte(name: str) -> Check:
    def check(value: Any) -> Any:
        if not isinstance(value, (bytes, bytearray)) or len(value) != 1:
            raise _fail(name, "of type 'bytes' or 'ByteString' with length 1")
        return bytes(value)

    return check


def _array(name: str, kind: FieldType) -> Check:
    dtype, size = np.dtype(DTYPES[kind.base]), kind.size
    convert = _to_array(name, kind)

    def check(value: Any) -> Any:
        if isinstance(value, np.ndarray) and value.dtype == dtype and value.ndim == 1:
            result = np.ascontiguousarray(value)
        else:
            result = np.array(convert(value), dtype=dtype)
        if len(result) != size:
            raise AssertionError(
                f"The '{name}' numpy.ndarray() must have a size of {size}, not {len(result)}"
            )
        return result

    return check


def _sequence(name: str, kind: FieldType) -> Check:
    convert, bound = _to_array(name, kind), kind.size

    def check(value: Any) -> Any:
        result = convert(value)
        if bound and len(result) > bound:
            raise AssertionError(f"The '{name}' array.array() must have a size <= {bound}, not {len(result)}")
        return result

    return check


def _to_array(name: str, kind: FieldType) -> Check:
    """Converts to `array.array`; buffers of the right type are copied whole, never element by element."""
    code, dtype = TYPE_CODES[kind.base], np.dtype(DTYPES[kind.base])
    word = "int" if kind.base in INTEGERS else "float"
    limits = " in [{}, {}]".format(*integer_range(kind.base)) if word == "int" else ""
    wanted = f"The '{name}' field must be a set or sequence and each value of type '{word}'{limits}"

    def convert(value: Any) -> Any:
        if isinstance(value, array) and value.typecode == code:
            return value
        if isinstance(value, np.ndarray):
            return _from_numpy(value, code, dtype, wanted)
        if isinstance(value, (bytes, bytearray, memoryview)) and dtype.itemsize == 1:
            result = array(code)
            result.frombytes(value)
            return result
        if isinstance(value, (str, bytes, bytearray)):
            raise FieldTypeError(f"{wanted}, not {type(value).__name__}")
        try:
            return array(code, value)
        except TypeError as error:
            raise FieldTypeError(f"{wanted}: {error}") from error
        except OverflowError as error:
            raise FieldRangeError(f"{wanted}: {error}") from error

    return convert


def _from_numpy(value: Any, code: str, dtype: np.dtype[Any], wanted: str) -> Any:
    if value.ndim != 1:
        raise FieldTypeError(f"{wanted}, not an array of shape {value.shape}; `ravel()` makes it flat")
    if value.dtype.kind not in ("iub" if dtype.kind in "iu" else "iubf"):
        raise FieldTypeError(f"{wanted}, not an array of {value.dtype}")
    if dtype.kind in "iu" and value.dtype != dtype and value.size:
        limits = np.iinfo(dtype)
        if value.min() < limits.min or value.max() > limits.max:
            raise FieldRangeError(f"{wanted}, not [{value.min()}, {value.max()}]")
    result = array(code)
    result.frombytes(value.astype(dtype, copy=False).tobytes())
    return result


def _list(name: str, kind: FieldType, single: Check, cls: type | None) -> Check:
    size, fixed = kind.size, kind.shape is Shape.ARRAY
    word = cls.__name__ if cls else {"bool": "bool", "byte": "bytes"}.get(kind.base, "str")
    length = f" with length {'' if fixed else '<= '}{size}" if size else ""

    def check(value: Any) -> Any:
        if not isinstance(value, (Sequence, Set)) or isinstance(value, (str, bytes, bytearray)):
            raise _fail(name, f"a set or sequence{length} and each value of type '{word}'")
        if size and (len(value) != size if fixed else len(value) > size):
            raise _fail(name, f"a set or sequence{length} and each value of type '{word}'")
        try:
            for element in value:
                single(element)
        except AssertionError as error:
            raise _fail(name, f"a set or sequence{length} and each value of type '{word}'") from error
        return value if isinstance(value, list) else list(value)

    return check


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
    namespace: dict[str, Any] = {
        **_identity(definition.name),
        "__slots__": tuple(f"_{f.name}" for f in fields),
        "_fields_": tuple(f.name for f in fields),
        "_field_types_": {f.name: idl_type(f.type) for f in fields},
        "_constants_": {c.name: c.value for c in definition.constants},
        **{c.name: c.value for c in definition.constants},
    }
    parts = [
        (field, cls, checker(field.name, field.type, cls))
        for field in fields
        for cls in [None if field.type.is_primitive else message_class(field.type.base)]
    ]
    namespace.update((field.name, _property(field.name, check)) for field, _, check in parts)

    # Most classes that are imported never make a message: their constructor is written at the first one.
    def first(self: Any, *args: Any, **kwargs: Any) -> None:
        made.__init__ = _constructor(parts)
        made.__init__(self, *args, **kwargs)

    namespace["__init__"] = first
    made: Any = MessageType(_base(definition.name), (Message,), namespace)
    return made


def _constructor(parts: list[tuple[Field, type | None, Any]]) -> Any:
    """The `__init__` of a message with these fields, their classes and checks."""
    defaults: dict[str, Any] = {}
    lines = [_parameters(tuple(field for field, _, _ in parts))]
    for field, cls, check in parts:
        expression = _default(field, cls, check, defaults)
        unchecked = field.type.shape is Shape.SINGLE  # the others are converted, asked or not
        lines += [
            f"    if {field.name} is _MISSING: self._{field.name} = {expression}",
            *([f"    elif check_fields is False: self._{field.name} = {field.name}"] if unchecked else []),
            f"    else: self.{field.name} = {field.name}",
        ]
    scope = {"_MISSING": _MISSING, "_refuse": _refuse, **defaults}
    run_source("\n".join(lines), scope)
    return scope["__init__"]


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


def run_source(source: str, scope: dict[str, Any]) -> None:
    """Run what was written here.

    Given as text while Ctrl-C is handled, the program would end as if nobody had caught it.
    """
    exec(compile(source, "<message>", "exec"), scope)


def _property(name: str, check: Callable[[Any], Any]) -> property:
    slot = f"_{name}"

    def put(self: Message, value: Any) -> None:
        setattr(self, slot, check(value))

    return property(attrgetter(slot), put, doc=f"Message field '{name}'.")


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


# The types of a message's fields, as `rosidl_parser` has them.


@cache
def slot_types(name: str) -> tuple[AbstractType, ...]:
    """The types of the fields of the message `pkg/msg/Name`, in the order of its definition."""
    fields = (field for field in catalog.message(name).fields if field is not EMPTY_MEMBER)
    return tuple(_type_of(field.type) for field in fields)


def _type_of(kind: FieldType) -> AbstractType:
    element = _element(kind)
    if kind.shape is Shape.ARRAY:
        return Array(element, kind.size)
    if kind.shape is Shape.BOUNDED:
        return BoundedSequence(element, kind.size)
    return UnboundedSequence(element) if kind.shape is Shape.UNBOUNDED else element


def _element(kind: FieldType) -> AbstractNestableType:
    if kind.base == "string":
        return BoundedString(kind.string_bound) if kind.string_bound else UnboundedString()
    if kind.base == "wstring":
        return BoundedWString(kind.string_bound) if kind.string_bound else UnboundedWString()
    if kind.is_primitive:
        return BasicType(IDL_NAMES.get(kind.base, kind.base))
    *namespaces, name = kind.base.split("/")
    return NamespacedType(namespaces, name)

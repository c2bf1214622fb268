"""Parameters and their values."""

from __future__ import annotations

import array
import re
from enum import Enum
from typing import Any, TypeAlias

import yaml

__all__ = [
    "PARAMETER_SEPARATOR_STRING",
    "Parameter",
    "get_parameter_value",
    "parameter_dict_from_yaml_file",
    "parameter_value_to_python",
]


PARAMETER_SEPARATOR_STRING = "."

_SEQUENCES = (list, tuple, array.array)
AllowableParameterValue = (
    None | bool | int | float | str | list[bytes] | list[bool] | list[int] | list[float] | list[str]
)


class _Type(Enum):
    """The types a parameter value can have."""

    NOT_SET = 0
    BOOL = 1
    INTEGER = 2
    DOUBLE = 3
    STRING = 4
    BYTE_ARRAY = 5
    BOOL_ARRAY = 6
    INTEGER_ARRAY = 7
    DOUBLE_ARRAY = 8
    STRING_ARRAY = 9

    @classmethod
    def from_parameter_value(cls, parameter_value: Any) -> _Type:
        """The type of a Python value. Raises TypeError for values no parameter can have."""
        for kind, python in _SCALARS.items():
            if python is None:
                if parameter_value is None:
                    return kind
            elif isinstance(parameter_value, python):
                return kind
        if isinstance(parameter_value, _SEQUENCES):
            for kind, python in _ELEMENTS.items():
                if all(isinstance(v, python) for v in parameter_value):
                    return kind
            raise TypeError(f"The given value is not a list of one of the allowed types '{parameter_value}'.")
        raise TypeError(f"The given value is not one of the allowed types '{parameter_value}'.")

    def check(self, parameter_value: Any) -> bool:
        """Whether a Python value has this type."""
        if self is _Type.NOT_SET:
            return parameter_value is None
        if self in _SCALARS:
            return isinstance(parameter_value, _SCALARS[self])  # type: ignore[arg-type]
        return isinstance(parameter_value, _SEQUENCES) and all(
            isinstance(v, _ELEMENTS[self]) for v in parameter_value
        )


# Order matters: bool is an int, and an empty list is a byte array.
_SCALARS: dict[_Type, type | None] = {
    _Type.NOT_SET: None,
    _Type.BOOL: bool,
    _Type.INTEGER: int,
    _Type.DOUBLE: float,
    _Type.STRING: str,
}
_ELEMENTS: dict[_Type, type] = {
    _Type.BYTE_ARRAY: bytes,
    _Type.BOOL_ARRAY: bool,
    _Type.INTEGER_ARRAY: int,
    _Type.DOUBLE_ARRAY: float,
    _Type.STRING_ARRAY: str,
}
_Type.__name__ = "Type"
_Type.__qualname__ = "Parameter.Type"


def _member(kind: _Type) -> str:
    return f"{kind.name.lower()}_value"


class Parameter:
    """A name with a value and its type.

    The type is that of the value where it is not given. Raises TypeError for values no parameter can have and
    ValueError where
    type and value disagree.
    """

    Type: TypeAlias = _Type

    def __init__(self, name: str, type_: _Type | None = None, value: Any = None) -> None:
        if type_ is None:
            type_ = _Type.from_parameter_value(value)
        if not isinstance(type_, _Type):
            raise TypeError(f"type must be an instance of '{_Type!r}'")
        if not type_.check(value):
            raise ValueError(f"Type '{type_}' and value '{value}' do not agree")
        self._name = name
        self.type_ = type_
        self._value = value

    @classmethod
    def from_parameter_msg(cls, param_msg: Any) -> Parameter:
        """From rcl_interfaces/msg/Parameter."""
        kind = _Type(param_msg.value.type)
        value = None if kind is _Type.NOT_SET else getattr(param_msg.value, _member(kind))
        return cls(param_msg.name, kind, value)

    @property
    def name(self) -> str:
        return self._name

    @property
    def value(self) -> Any:
        return self._value

    def get_parameter_value(self) -> Any:
        """As rcl_interfaces/msg/ParameterValue."""
        message = _message("ParameterValue")(type=self.type_.value)
        if self.type_ is not _Type.NOT_SET:
            setattr(message, _member(self.type_), self._value)
        return message

    def to_parameter_msg(self) -> Any:
        """As rcl_interfaces/msg/Parameter."""
        return _message("Parameter")(name=self._name, value=self.get_parameter_value())

    def __repr__(self) -> str:
        return f"Parameter(name={self._name!r}, type_={self.type_}, value={self._value!r})"


def _message(name: str) -> Any:
    from ..interfaces.classes import message_class

    return message_class(f"rcl_interfaces/msg/{name}")


def get_parameter_value(string_value: str) -> Any:
    """The ParameterValue that a text on a command line means: YAML where that fits, else the text."""
    try:
        parsed = yaml.safe_load(string_value)
    except UNREADABLE:
        parsed = string_value
    if parsed is None or not isinstance(parsed, (bool, int, float, str, list)):
        parsed = string_value
    try:
        # An empty list is a byte array to Parameter; on a command line it is one of booleans, as rclpy has
        # it.
        kind = _Type.BOOL_ARRAY if parsed == [] else None
        return Parameter("", kind, parsed).get_parameter_value()
    except TypeError:
        return Parameter("", value=string_value).get_parameter_value()


def parameter_value_to_python(parameter_value: Any) -> Any:
    """The Python value in a ParameterValue.

    None where it is not set. Raises RuntimeError for an unknown type.
    """
    try:
        kind = _Type(parameter_value.type)
    except ValueError:
        raise RuntimeError(f"unexpected parameter type {parameter_value.type}") from None
    if kind is _Type.NOT_SET:
        return None
    value = getattr(parameter_value, _member(kind))
    return list(value) if kind in _ELEMENTS else value


def parameter_dict_from_yaml_file(
    parameter_file: str,
    use_wildcard: bool = False,
    target_nodes: list[str] | None = None,
    namespace: str = "",
) -> dict[str, Any]:
    """Name to Parameter message for the entries of a parameter file; of all nodes where none is given.

    A node that stands in the file twice has the parameters of both sections. Raises RuntimeError for a file
    without what is asked for, TypeError for a value that no parameter can have.
    """

    with open(parameter_file, encoding="utf-8") as file:
        content = load_sections(file.read())
    if not isinstance(content, dict):
        raise RuntimeError(f"Param file {parameter_file} does not start with the name of a node")
    keys = ["/**"] if use_wildcard and "/**" in content else []
    for node in target_nodes or []:
        if node not in content:
            raise RuntimeError(
                f"Param file does not contain parameters for {node}, only for nodes: {list(content)}"
            )
    keys += target_nodes or [key for key in content if key != "/**"]
    if not keys:
        raise RuntimeError("Param file does not contain selected parameters")
    values: dict[str, Any] = {}
    for key in keys:
        section = content[key]
        if not isinstance(section, dict) or not isinstance(section.get("ros__parameters"), dict):
            raise RuntimeError(f"YAML file is not a valid ROS parameter file for node {key}")
        values.update(flatten(section["ros__parameters"], namespace))
    return {name: _message_of(name, value) for name, value in values.items()}


def _message_of(name: str, value: Any) -> Any:
    try:
        # An empty list is one of booleans, as `get_parameter_value` has it.
        return Parameter(name, _Type.BOOL_ARRAY if value == [] else None, value).to_parameter_msg()
    except TypeError as error:
        raise TypeError(f"parameter '{name}': {error}") from error


# YAML as ROS reads it in parameter files and in `-p name:=value`. Words are booleans, integers and
# floats by the rules of the C library rather than those of YAML: `1e-3` is a float, `y` a boolean,
# `1_000` and `2026-01-02` are strings. Keys are always text.


_PLAIN = "!plain"
_TRUE = frozenset(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"])
_FALSE = frozenset(["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"])
_NULL = frozenset(["", "~", "null", "Null", "NULL"])
_INTEGER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|\.?(?:inf|nan)|infinity)", re.IGNORECASE)

UNREADABLE = (yaml.YAMLError, ValueError, TypeError, OverflowError, RecursionError)
"""What `load` and checks of values raise; beyond YAMLError for tags such as !!int, and for huge numbers."""


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers: dict[Any, Any] = {}

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(None, None, "a key must be a name", key.start_mark)
        found: dict[Any, Any] = {}
        for key, value in node.value:
            _merge(found, {key.value: self.construct_object(value, deep=True)})
        return found


def _merge(target: dict[Any, Any], more: dict[Any, Any]) -> None:
    """Add entries; a section that is there already is added to, as ROS does with a node named twice."""
    for key, value in more.items():
        if isinstance(value, dict) and isinstance(target.get(key), dict):
            _merge(target[key], value)
        else:
            target[key] = value


_Loader.add_implicit_resolver(_PLAIN, re.compile(""), None)
_Loader.add_constructor(_PLAIN, lambda loader, node: scalar(node.value))


def load(text: str) -> Any:
    """The content of a document. Raises yaml.YAMLError for what is none."""
    return yaml.load(text, Loader=_Loader)


def load_sections(text: str) -> Any:
    """The content of a document by the rules of YAML, sections with the same name joined.

    Raises yaml.YAMLError for what is none.
    """
    loader = yaml.SafeLoader(text)
    try:
        root = loader.get_single_node()
        return None if root is None else loader.construct_document(_join_sections(root))
    finally:
        loader.dispose()


def _join_sections(node: Any) -> Any:
    """Of sections with the same name PyYAML would keep the last one, and say nothing."""
    if not isinstance(node, yaml.MappingNode):
        return node
    pairs: list[tuple[Any, Any]] = []
    places: dict[str, int] = {}
    for key, value in node.value:
        place = places.get(key.value) if isinstance(key, yaml.ScalarNode) else None
        if isinstance(key, yaml.ScalarNode) and isinstance(value, yaml.MappingNode):
            places.setdefault(key.value, len(pairs))
        if place is None or not isinstance(value, yaml.MappingNode) or key.value == "<<":
            pairs.append((key, value))
        else:
            first = pairs[place][1]
            # A new node, for an anchor may stand for the first one elsewhere too.
            pairs[place] = (key, yaml.MappingNode(first.tag, first.value + value.value))
    return yaml.MappingNode(node.tag, [(key, _join_sections(value)) for key, value in pairs])


def scalar(text: str) -> bool | int | float | str | None:
    """What a word without quotes means; integers beyond 64 bits are floats."""
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if _INTEGER.fullmatch(text):
        digits = text.lstrip("+-")
        octal = digits.startswith("0") and digits.isdigit()
        value = int(text, 8 if octal else 0)
        return value if -(2**63) <= value < 2**63 else float(value)
    if _FLOAT.fullmatch(text):
        special = text.lower().lstrip("+-").startswith((".i", ".n"))
        return float(text.replace(".", "") if special else text)
    return text


def flatten(values: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Nested parameter values as dotted names."""
    flat: list[tuple[str, Any]] = []
    for key, value in values.items():
        if isinstance(value, dict):
            flat += flatten(value, f"{prefix}{key}.")
        else:
            flat.append((f"{prefix}{key}", value))
    return flat

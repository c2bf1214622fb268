"""Messages filled from dictionaries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..interfaces.classes import message_class

Setter = Callable[[Any], None]


def set_message_fields(
    msg: Any, values: dict[str, Any], expand_header_auto: bool = False, expand_time_now: bool = False
) -> list[Setter]:
    """Fill a message from nested dictionaries.

    A message as value is taken as it is, other values are converted to the type of their field: 1 to true,
    '3' to 3.

    With `expand_header_auto` or `expand_time_now` the words `auto` for a header and `now` for a time stand
    for the time of publishing: the functions answered set it. Raises AttributeError for a field that does not
    exist, TypeError and ValueError for a value that does not fit.
    """
    if not isinstance(values, dict):
        raise TypeError(f"expected a dictionary for {type(msg).__name__}, got {values!r}")
    setters: list[Setter] = []
    types = msg.get_fields_and_field_types()
    for name, value in values.items():
        if name not in types:
            raise AttributeError(f"'{type(msg).__name__}' has no field '{name}'; it has: {', '.join(types)}")
        current = getattr(msg, name)
        kind = types[name]
        if expand_header_auto and value == "auto" and kind == "std_msgs/Header":
            setters.append(lambda stamp, header=current: setattr(header, "stamp", stamp))  # type: ignore[misc]
        elif expand_time_now and value == "now" and kind == "builtin_interfaces/Time":
            setters.append(lambda stamp, owner=msg, field=name: setattr(owner, field, stamp))  # type: ignore[misc]
        elif type(value) is type(current) and not isinstance(value, list):
            setattr(msg, name, value)
        elif hasattr(current, "get_fields_and_field_types"):
            setters += set_message_fields(current, value or {}, expand_header_auto, expand_time_now)
        else:
            setattr(msg, name, _field_value(kind, current, value))
    return setters


def _field_value(kind: str, current: Any, value: Any) -> Any:
    if isinstance(value, list):
        element = (
            kind.split("<", 1)[1].rsplit(">", 1)[0] if kind.startswith("sequence<") else kind.split("[")[0]
        )
        element = element.split(",")[0].strip()
        if "/" in element:
            return [_nested(element, item) for item in value]
        if element in ("octet", "byte"):
            return [item if isinstance(item, bytes) else bytes([item]) for item in value]
        if element in ("float", "double"):
            return [float(item) for item in value]
        return value
    if isinstance(current, bytes) and isinstance(value, int):
        return bytes([value])
    for scalar in (bool, int, float, str):
        if isinstance(current, scalar):
            return scalar(value)
    return value


def _nested(kind: str, values: Any) -> Any:
    if hasattr(values, "get_fields_and_field_types"):
        return values
    package, _, name = kind.rpartition("/")
    message = message_class(f"{package.removesuffix('/msg')}/msg/{name}")()
    set_message_fields(message, values)
    return message

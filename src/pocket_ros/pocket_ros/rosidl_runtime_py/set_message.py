"""Messages filled from dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from ..interfaces.classes import message_class

Setter = Callable[[Any], None]

_SCALARS = (bool, int, float, str)


def set_message_fields(
    msg: Any, values: Mapping[str, Any], expand_header_auto: bool = False, expand_time_now: bool = False
) -> list[Setter]:
    """Fill a message from nested dictionaries.

    A message as value is taken as it is, other values are converted to the type of their field: 1 to true,
    '3' to 3. A dictionary for a field makes a new message of it: what it does not name has its default.

    With `expand_header_auto` or `expand_time_now` the words `auto` for a header and `now` for a time stand
    for the time of publishing, in arrays of messages too: the functions answered set it. Raises
    AttributeError for a field that does not exist, TypeError and ValueError for a value that does not fit.
    """
    filler = _Filler(expand_header_auto, expand_time_now)
    filler.fill(msg, values)
    return filler.setters


class _Filler:
    """Fills one message, and collects what sets the times in it that are still open."""

    def __init__(self, header_auto: bool, time_now: bool) -> None:
        self._header_auto = header_auto
        self._time_now = time_now
        self.setters: list[Setter] = []

    def fill(self, msg: Any, values: Mapping[str, Any]) -> None:
        """Set the fields that are named."""
        if not isinstance(values, Mapping):
            kind = type(values).__name__
            raise TypeError(f"Value '{values}' is expected to be a dictionary but is a {kind}")
        types = msg.get_fields_and_field_types()
        for name, value in values.items():
            if name not in types:
                raise AttributeError(
                    f"'{type(msg).__name__}' has no field '{name}'; it has: {', '.join(types)}"
                )
            kind, current = types[name], getattr(msg, name)
            # Compared with what may be an array only where the field is no array: that has no one answer.
            if self._header_auto and kind == "std_msgs/Header" and value == "auto":
                self.setters.append(partial(setattr, current, "stamp"))
            elif self._time_now and kind == "builtin_interfaces/Time" and value == "now":
                self.setters.append(partial(setattr, msg, name))
            else:
                setattr(msg, name, self._converted(name, kind, current, value))

    def _converted(self, name: str, kind: str, current: Any, value: Any) -> Any:
        is_array = kind.startswith("sequence<") or kind.endswith("]")
        if "/" in kind:  # what is wrong inside says so itself
            return self._array(kind, current, value) if is_array else self._scalar(current, value)
        try:
            return self._array(kind, current, value) if is_array else self._scalar(current, value)
        except (TypeError, ValueError) as error:
            raise type(error)(f"the field '{name}' takes {kind}, not {value!r}: {error}") from error

    def _scalar(self, current: Any, value: Any) -> Any:
        if type(value) is type(current):
            return value
        if _is_message(current):
            return self._message(type(current), value)
        if isinstance(current, bytes) and isinstance(value, int):
            return bytes([value])
        for scalar in _SCALARS:
            if isinstance(current, scalar):
                return scalar(value)
        return value

    def _array(self, kind: str, current: Any, value: Any) -> Any:
        if not isinstance(value, (list, tuple)):
            return value  # arrays and bytes are checked by the field
        element = (
            kind.split("<", 1)[1].rsplit(">", 1)[0] if kind.startswith("sequence<") else kind.split("[")[0]
        )
        element = element.split(",")[0].strip()
        if "/" in element:
            package, _, name = element.rpartition("/")
            made = message_class(f"{package.removesuffix('/msg')}/msg/{name}")
            return [item if _is_message(item) else self._message(made, item) for item in value]
        if element in ("octet", "byte"):
            return [item if isinstance(item, bytes) else bytes([item]) for item in value]
        if element in ("float", "double"):
            return [float(item) for item in value]
        if isinstance(current, np.ndarray):
            return [int(item) for item in value]
        return list(value)

    def _message(self, made: Any, values: Any) -> Any:
        message = made()
        self.fill(message, values)
        return message


def _is_message(value: Any) -> bool:
    return hasattr(value, "get_fields_and_field_types")

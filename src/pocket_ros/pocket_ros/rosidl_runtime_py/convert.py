"""Messages as YAML, CSV and dictionaries."""

from __future__ import annotations

import re
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import yaml

from ..interfaces.classes import message_class
from ..rosidl_parser import AbstractType, NamespacedType


class _Dumper(yaml.SafeDumper):
    """Writes dictionaries in their own order and never as aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_ARRAY = re.compile(r"(?:sequence<(?P<item>.+?)(?:, (?P<bound>\d+))?>|(?P<element>.+)\[(?P<size>\d+)\])$")


def _abbreviation(kind: str, length: int) -> str:
    """What stands for an array of that type, and of that length where the type leaves it open."""
    found = _ARRAY.match(kind)
    if found is None:
        return f"<array type: {kind}>"
    element = re.sub(r"^(w?string)<\d+>$", r"\1", found["item"] or found["element"])
    if found["size"]:
        return f"<array type: {element}[{found['size']}]>"
    bound = f"[{found['bound']}]" if found["bound"] else ""
    return f"<sequence type: {element}{bound}, length: {length}>"


def _with_full_name(kind: str, slot: Any) -> str:
    """The type of an array of messages with the whole name of the element, `pkg/srv/Name_Request`."""
    element = getattr(slot, "value_type", None)
    if not isinstance(element, NamespacedType):
        return kind
    package, *_, name = full = element.namespaced_name()
    return kind.replace(f"{package}/{name}", "/".join(full))


def _is_array(value: Any) -> bool:
    return not isinstance(value, str) and (hasattr(value, "__len__") or hasattr(value, "tolist"))


def _plain_list(value: Any) -> list[Any]:
    return list(value.tolist()) if hasattr(value, "tolist") else list(value)


def _number(byte: bytes) -> int:
    return byte[0] if byte else 0


def to_plain(
    value: Any,
    *,
    truncate_length: int | None = None,
    no_arr: bool = False,
    no_str: bool = False,
    kind: str = "",
    byte: Callable[[bytes], Any] = _number,
) -> Any:
    """A message as dictionaries, lists and scalars; long arrays and strings are cut at `truncate_length`.

    `byte` says what a single byte becomes.
    """
    options: dict[str, Any] = {"truncate_length": truncate_length, "no_arr": no_arr, "no_str": no_str}
    options["byte"] = byte
    if hasattr(value, "get_fields_and_field_types"):
        types = value.get_fields_and_field_types()
        if no_arr:
            slots = zip(types.items(), value.SLOT_TYPES, strict=True)
            types = {name: _with_full_name(kind, slot) for (name, kind), slot in slots}
        return {name: to_plain(getattr(value, name), kind=types[name], **options) for name in types}
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        if no_str:
            return f"<string length: <{len(value)}>>"
        cut = truncate_length is not None and len(value) > truncate_length
        return value[:truncate_length] + "..." if cut else value
    if isinstance(value, bytes) and kind in ("octet", "byte", "char"):
        return byte(value)
    if _is_array(value):
        if no_arr and kind:
            return _abbreviation(kind, len(value))
        cut = truncate_length is not None and len(value) > truncate_length
        items = _plain_list(value[:truncate_length] if cut else value)
        element = "octet" if "octet" in kind else ""
        plain = [to_plain(item, kind=element, **options) for item in items]
        return [*plain, "..."] if cut else plain
    return value.item() if hasattr(value, "item") else value


def message_to_yaml(message: Any, *, flow_style: bool = False, **options: Any) -> str:
    """A message, or a field of one, as YAML; options are those of `to_plain`."""
    plain = to_plain(message, **options)
    text: str = yaml.dump(
        plain,
        Dumper=_Dumper,
        allow_unicode=True,
        width=sys.maxsize,
        sort_keys=False,
        default_flow_style=flow_style,
    )
    return text[: -len("...\n")] if text.endswith("\n...\n") else text  # the end of a document of one scalar


def message_to_csv(message: Any, **options: Any) -> str:
    """All scalars of a message, separated by commas; bytes as Python writes them, `b'2'`."""

    def scalars(value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            for item in value.values():
                yield from scalars(item)
        elif isinstance(value, list):
            for item in value:
                yield from scalars(item)
        else:
            yield str(value)

    return ",".join(scalars(to_plain(message, byte=repr, **options)))


def message_to_ordereddict(
    msg: Any, *, truncate_length: int | None = None, no_arr: bool = False, no_str: bool = False
) -> OrderedDict[str, Any]:
    """Field names and values, nested messages as dictionaries.

    Arrays and strings are cut at `truncate_length`.
    """
    plain = to_plain(msg, truncate_length=truncate_length, no_arr=no_arr, no_str=no_str)
    return _ordered(plain)  # type: ignore[no-any-return]


def _ordered(value: Any) -> Any:
    if isinstance(value, dict):
        return OrderedDict((name, _ordered(item)) for name, item in value.items())
    return [_ordered(item) for item in value] if isinstance(value, list) else value


def get_message_slot_types(msg: Any) -> OrderedDict[str, AbstractType]:
    """The names of the fields, and their types as `rosidl_parser` has them."""
    return OrderedDict(zip(msg.get_fields_and_field_types(), msg.SLOT_TYPES, strict=True))


# Messages filled from dictionaries.


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

"""Messages as YAML, CSV and dictionaries."""

from __future__ import annotations

import re
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import yaml

from ..rosidl_parser.definition import AbstractType, NamespacedType


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

"""Messages as text, and text as messages."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import yaml

Setter = Callable[[Any], None]


class _Dumper(yaml.SafeDumper):
    """Writes dictionaries in their own order and never as aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _is_array(value: Any) -> bool:
    return not isinstance(value, str) and (hasattr(value, "__len__") or hasattr(value, "tolist"))


def _plain_list(value: Any) -> list[Any]:
    return list(value.tolist()) if hasattr(value, "tolist") else list(value)


def to_plain(
    value: Any,
    *,
    truncate_length: int | None = None,
    no_arr: bool = False,
    no_str: bool = False,
    kind: str = "",
) -> Any:
    """A message as dictionaries, lists and scalars; long arrays and strings are cut at `truncate_length`."""
    options: dict[str, Any] = {"truncate_length": truncate_length, "no_arr": no_arr, "no_str": no_str}
    if hasattr(value, "get_fields_and_field_types"):
        types = value.get_fields_and_field_types()
        return {name: to_plain(getattr(value, name), kind=types[name], **options) for name in types}
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        if no_str:
            return f"<string length: <{len(value)}>>"
        cut = truncate_length is not None and len(value) > truncate_length
        return value[:truncate_length] + "..." if cut else value
    if isinstance(value, bytes) and kind in ("octet", "byte", "char"):
        return value[0] if value else 0
    if _is_array(value):
        if no_arr:
            element = (
                kind.split("<", 1)[-1].rstrip(">") if kind.startswith("sequence") else kind.split("[")[0]
            )
            return (
                f"<array type: {element.split(',')[0]}>"
                if "sequence" not in kind
                else (f"<sequence type: {element.split(',')[0]}, length: {len(value)}>")
            )
        cut = truncate_length is not None and len(value) > truncate_length
        items = _plain_list(value[:truncate_length] if cut else value)
        plain = [to_plain(item, **options) for item in items]
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
    return text.removesuffix("...\n")


def message_to_csv(message: Any, **options: Any) -> str:
    """All scalars of a message, separated by commas."""

    def scalars(value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            for item in value.values():
                yield from scalars(item)
        elif isinstance(value, list):
            for item in value:
                yield from scalars(item)
        else:
            yield str(value)

    return ",".join(scalars(to_plain(message, **options)))


def set_message_fields(message: Any, values: dict[str, Any], *, auto: bool = False) -> list[Setter]:
    """Fill a message from nested dictionaries.

    With `auto`, `auto` for a header and `now` for a time stand for the time of publishing: the functions
    answered set it. Raises AttributeError for a field that does not exist, TypeError and ValueError for a
    value that does not fit.
    """
    if not isinstance(values, dict):
        raise TypeError(f"expected a dictionary for {type(message).__name__}, got {values!r}")
    setters: list[Setter] = []
    types = message.get_fields_and_field_types()
    for name, value in values.items():
        if name not in types:
            raise AttributeError(
                f"'{type(message).__name__}' has no field '{name}'; it has: {', '.join(types)}"
            )
        current = getattr(message, name)
        kind = types[name]
        if auto and value == "auto" and kind == "std_msgs/Header":
            setters.append(lambda stamp, header=current: setattr(header, "stamp", stamp))  # type: ignore[misc]
        elif auto and value == "now" and kind == "builtin_interfaces/Time":
            setters.append(lambda stamp, owner=message, field=name: setattr(owner, field, stamp))  # type: ignore[misc]
        elif hasattr(current, "get_fields_and_field_types"):
            setters += set_message_fields(current, value or {}, auto=auto)
        else:
            setattr(message, name, _field_value(kind, current, value))
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
    if isinstance(current, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(current, bytes) and isinstance(value, int):
        return bytes([value])
    if isinstance(current, str) and not isinstance(value, str):
        return str(value)
    return value


def _nested(kind: str, values: dict[str, Any]) -> Any:
    from .interface_types import interface_class

    message = interface_class(kind, "msg")()
    set_message_fields(message, values)
    return message

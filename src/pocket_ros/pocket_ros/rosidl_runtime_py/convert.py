"""Messages as YAML, CSV and dictionaries."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import yaml


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

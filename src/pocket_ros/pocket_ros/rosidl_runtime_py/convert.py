"""Messages as YAML, CSV and dictionaries."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from ..ros2cli.message_text import message_to_csv, message_to_yaml, to_plain

__all__ = ["message_to_csv", "message_to_ordereddict", "message_to_yaml"]


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

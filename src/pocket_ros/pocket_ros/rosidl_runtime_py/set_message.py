"""Messages filled from dictionaries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ros2cli import message_text


def set_message_fields(
    msg: Any, values: dict[str, Any], expand_header_auto: bool = False, expand_time_now: bool = False
) -> list[Callable[[Any], None]]:
    """Fill a message from nested dictionaries.

    With `expand_header_auto` or `expand_time_now` the words `auto` for a header and `now` for a time stand
    for the time of publishing: the functions answered set it. Raises AttributeError for a field that does not
    exist, TypeError and ValueError for a value that does not fit.
    """
    return message_text.set_message_fields(msg, values, auto=expand_header_auto or expand_time_now)

"""What a page may send: everything is looked at before the library that serves the pages reads it.

That library is made for pages of its own, and takes from them more than these pages ever send: files without end, new
values for any attribute of a control, values that a control does not have.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import msgspec.msgpack

LONGEST = 16_384
"""Bytes of one message at most; the longest that a page sends is a camera, of some 400."""
LONGEST_TEXT = 200
FURTHEST = 1e9
"""No number is larger, which leaves room for every world, screen and clock."""

Check = Callable[[Any], bool]


def _number(value: Any) -> bool:
    # A bool is an int to Python, and no number to a page.
    return type(value) in (int, float) and abs(value) <= FURTHEST


def _size(value: Any) -> bool:
    return _number(value) and value > 0


def _text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST_TEXT


def _vector(length: int) -> Check:
    return lambda value: isinstance(value, list) and len(value) == length and all(map(_number, value))


def _direction(length: int) -> Check:
    vector = _vector(length)
    return lambda value: vector(value) and math.hypot(*value) > 1e-9


def _or_none(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _points(value: object) -> bool:
    pair = _vector(2)
    return isinstance(value, list) and 0 < len(value) <= 2 and all(map(pair, value))


def _one_of(*values: object) -> Check:
    return lambda value: value in values


def _input(value: object) -> bool:
    """Whether it is a new value of a control, and nothing else of it."""
    if not isinstance(value, dict) or value.keys() != {"value"}:
        return False
    new = value["value"]
    return isinstance(new, bool) or _number(new) or _text(new)


_POINT, _TURN = _vector(3), _direction(4)
_MODIFIER = _or_none(_text)

CHECKS: Mapping[str, Mapping[str, Check]] = {
    "ViewerCameraMessage": {
        "wxyz": _TURN,
        "position": _POINT,
        "fov": lambda value: _size(value) and value < math.pi,
        "near": _number,
        "far": _number,
        "image_height": _size,
        "image_width": _size,
        "look_at": _POINT,
        "up_direction": _POINT,
    },
    "ScenePointerMessage": {
        "event_type": _one_of("click"),
        "ray_origin": _POINT,
        "ray_direction": _direction(3),
        "screen_pos": _points,
        "modifier": _MODIFIER,
    },
    "GuiUpdateMessage": {"uuid": _text, "updates": _input},
    "TransformControlsUpdateMessage": {"name": _text, "wxyz": _TURN, "position": _POINT, "owner": _text},
    "TransformControlsDragStartMessage": {"name": _text, "owner": _text},
    "TransformControlsDragEndMessage": {"name": _text, "owner": _text},
}
"""The messages of pages, and what each of their fields must be."""


def reason_to_refuse(message: str | bytes) -> str:
    """Return why a message is refused; "": it is not."""
    if isinstance(message, str):
        return "messages of pages are bytes"
    if len(message) > LONGEST:
        return f"a message of {len(message)} bytes, where {LONGEST} are the most"
    try:
        fields = msgspec.msgpack.decode(message)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return "a message that is no MessagePack"
    if not isinstance(fields, dict):
        return "a message that is not a map"
    kind = fields.pop("type", None)
    checks = CHECKS.get(kind) if isinstance(kind, str) else None
    if checks is None:
        return "a message that pages do not send"
    if fields.keys() | {"owner"} != checks.keys() | {"owner"}:
        return f"a {kind} with other fields than it has"
    # Whose control it is may be left out: everybody's, then.
    wrong = next((name for name, value in fields.items() if name not in checks or not checks[name](value)), None)
    return "" if wrong is None else f"a {kind} with a wrong {wrong}"

"""Messages that nobody should send: of the right type with absurd values, and bytes that are no message."""

from __future__ import annotations

import math
import re
from random import Random
from typing import Any

from rclpy.serialization import serialize_message
from rosidl_runtime_py.utilities import get_message

TEXTS = (
    *("", "x", "cart", "arm", "robot_0", "pallet", "map", "odom", "nobody", "base_link", "a" * 300, "../../etc/passwd"),
    *("/dev/zero", "file:///etc/hostname", "[" * 500, "{a: [1, 2}", "\N{SNOWMAN}", "%s%n", "^(a+)+b$", "1e309", "tf"),
    *("{pose: [1, 2, 0]}", "controller: {class: this.X}", "target_rtf", "urdf_path: /etc/passwd", "box", "arm6"),
)
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.3, 5e-324, 1e-9, 1e6, -1e9, 1e38, math.inf, -math.inf, math.nan)
DOUBLES = (*FLOATS, 1e155, -1e308)
INTEGERS = (0, 1, 2, 3, 5, 7, 127, 255, -1, -128, 2**15 - 1, 2**31 - 1, -(2**31), 2**32 - 1, 2**63 - 1, 2**64 - 1)
ENCAPSULATIONS = tuple(bytes(pair) for pair in ((0, 3), (0, 7), (0, 255), (255, 255), (1, 1), (0, 2), (0, 9)))
"""Those that are not plain CDR: what follows is of another form."""

MOST_ENTRIES = 3
DEEPEST = 5

_SEQUENCE = re.compile(r"sequence<(?P<inner>[^,]+?)(?:, *(?P<most>\d+))?>$")
_ARRAY = re.compile(r"(?P<inner>.+)\[(?P<count>\d+)\]$")
_INTEGER = re.compile(r"(?P<unsigned>u?)int(?P<bits>\d+)$")


def garbage(kind: Any, random: Random, depth: int = 0) -> Any:
    """Return a message of the type `kind` with a value for each field that its type allows, and often nobody means."""
    message = kind()
    for name, declared in kind.get_fields_and_field_types().items():
        setattr(message, name, _value(declared, random, depth))
    return message


def _value(declared: str, random: Random, depth: int) -> Any:
    if found := _SEQUENCE.match(declared):
        most = 0 if depth >= DEEPEST else min(MOST_ENTRIES, int(found["most"] or MOST_ENTRIES))
        return _values(found["inner"], random.randint(0, most), random, depth)
    if found := _ARRAY.match(declared):
        return _values(found["inner"], int(found["count"]), random, depth)
    return _values(declared, 1, random, depth)[0]


def _values(inner: str, count: int, random: Random, depth: int) -> list[Any]:
    if inner in ("float", "double"):
        values = FLOATS if inner == "float" else DOUBLES
        # Half of all messages have usual numbers only, so that some get further.
        usual = random.random() < 0.5
        return [random.choice(values[:5] if usual else values) for _ in range(count)]
    if inner == "boolean":
        return [random.random() < 0.5 for _ in range(count)]
    if inner in ("octet", "byte"):
        return [bytes([random.randrange(256)]) for _ in range(count)]
    if found := _INTEGER.match(inner):
        bits, unsigned = int(found["bits"]), bool(found["unsigned"])
        least, most = (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        allowed = [value for value in INTEGERS if least <= value <= most]
        return [random.choice(allowed) for _ in range(count)]
    if inner.startswith(("string", "wstring")):
        return [random.choice(TEXTS) for _ in range(count)]
    part = get_message(inner if inner.count("/") == 2 else inner.replace("/", "/msg/"))
    return [garbage(part, random, depth + 1) for _ in range(count)]


def invalid_bytes(kind: Any, random: Random) -> bytes:
    """Return bytes that are no message of the type `kind`: cut off, with something behind, or of another form."""
    data = bytes(serialize_message(garbage(kind, random)))
    way = random.randrange(3)
    if way == 0 and len(data) >= 16:
        # Writers fill up to a multiple of four: what is cut off is more than that.
        return data[: 4 * random.randrange(2, (len(data) - 5) // 4)] if len(data) >= 20 else data[:8]
    if way == 1:
        return data + random.randbytes(4 * random.randint(1, 16))
    return random.choice(ENCAPSULATIONS) + data[2:]

"""Messages as bytes: those that arrive, all of them or none, and those that are patched and sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rclpy.serialization import deserialize_message, serialize_message

from fleet_sim.cdr import STAMP, ByteTemplate, MessagePart
from fleet_sim.errors import InvalidValueError

PADDING = 3
"""Bytes that may follow a message: writers fill up to a multiple of four."""


def is_plain(data: bytes) -> bool:
    """Return whether the encapsulation says plain CDR, big or little endian: what all ROS 2 middlewares write."""
    return len(data) >= 4 and data[0] == 0 and data[1] <= 1


def decode(data: bytes, kind: Any) -> Any:
    """Return the message of type `kind` in `data`; raises InvalidValueError for bytes that are not one, whole.

    Decoders take other encapsulations for plain CDR and leave what follows a message alone. Such bytes are of another
    type, and the numbers in them would move a robot.
    """
    if not is_plain(data):
        raise InvalidValueError(f"what arrived is not plain CDR but begins with {data[:4].hex(' ')}")
    try:
        message = deserialize_message(data, kind)
        whole = len(serialize_message(message))
    # What decoders raise for invalid bytes: rclpy's in C and the generated setters do not agree on one class.
    except (RuntimeError, ValueError, AssertionError, RecursionError) as error:
        raise InvalidValueError(str(error)[:200]) from error
    if len(data) > whole + PADDING:
        raise InvalidValueError(f"{len(data)} bytes arrived for a message of {whole}; its type is another one")
    return message


class MessageTemplate(ByteTemplate):
    """Messages of rclpy that keep their layout: names and frames stay, numbers change."""

    def __init__(self, messages: Sequence[Any], parts: Sequence[MessagePart]) -> None:
        super().__init__(messages, parts, serialize_message)


def stamped_template(messages: Sequence[Any], fields: Mapping[str, Sequence[str]]) -> MessageTemplate:
    """Return the template of messages with a header: groups sec, nanosec, and those of `fields`, float64 by path."""
    numbers = {name: ("f8", paths) for name, paths in fields.items()}
    return MessageTemplate(messages, [MessagePart({**STAMP, **numbers})])

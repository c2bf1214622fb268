"""Messages of rclpy of a fixed layout as bytes, see `fleet_sim.cdr`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rclpy.serialization import serialize_message

from fleet_sim.cdr import STAMP, ByteTemplate, MessagePart


class MessageTemplate(ByteTemplate):
    """Messages of rclpy that keep their layout: names and frames stay, numbers change."""

    def __init__(self, messages: Sequence[Any], parts: Sequence[MessagePart]) -> None:
        super().__init__(messages, parts, serialize_message)


def stamped_template(messages: Sequence[Any], fields: Mapping[str, Sequence[str]]) -> MessageTemplate:
    """Return the template of messages with a header: groups sec, nanosec, and those of `fields`, float64 by path."""
    numbers = {name: ("f8", paths) for name, paths in fields.items()}
    return MessageTemplate(messages, [MessagePart({**STAMP, **numbers})])

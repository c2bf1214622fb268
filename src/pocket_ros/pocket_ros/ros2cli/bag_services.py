"""Services in recordings: a recording holds the events that service introspection publishes."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import NamedTuple

from rosbags.interfaces import Connection
from rosbags.rosbag2 import Reader, ReaderError

from ..rclpy.service_introspection import SERVICE_EVENT_POSTFIX
from .subscribing import absolute_name

_REQUESTS = (0, 1)  # sent, received; responses are 2 and 3
# Encapsulation, event_type and its padding, stamp, client_gid, padding, sequence_number.
_EVENT_INFO = {True: struct.Struct("<4xB3x8x16s4xq"), False: struct.Struct(">4xB3x8x16s4xq")}


def is_event_topic(topic: str, type_name: str) -> bool:
    """Whether a topic has the events of a service."""
    return topic.endswith(SERVICE_EVENT_POSTFIX) and "/srv/" in type_name and type_name.endswith("_Event")


def service_name(topic: str) -> str:
    """The service whose events a topic has."""
    return topic.removesuffix(SERVICE_EVENT_POSTFIX)


def event_topics(services: Iterable[str]) -> set[str]:
    """The topics with the events of services; a service may be named by that topic too."""
    return {service_name(absolute_name(name)) + SERVICE_EVENT_POSTFIX for name in services}


class Calls(NamedTuple):
    """How often a service was called; an event that client and server recorded counts once."""

    requests: int
    responses: int


def count_calls(reader: Reader, connection: Connection) -> Calls:
    """Count the calls in the events of a service. Raises ReaderError for what is no event."""
    seen: tuple[set[tuple[bytes, int]], set[tuple[bytes, int]]] = (set(), set())
    for _, _, data in reader.messages([connection]):
        try:
            kind, client, number = _EVENT_INFO[bool(data[1] & 1)].unpack_from(data)
        except (IndexError, struct.error) as error:
            raise ReaderError(f"a message of '{connection.topic}' is no event of a service") from error
        seen[0 if kind in _REQUESTS else 1].add((client, number))
    return Calls(len(seen[0]), len(seen[1]))

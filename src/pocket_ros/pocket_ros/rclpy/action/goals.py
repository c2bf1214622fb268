"""The states of a goal and the events that lead from one to another."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NoReturn

from ..exceptions import RCLError

if TYPE_CHECKING:
    from ..node import Node


class GoalStatus(IntEnum):
    """The states, numbered as in action_msgs/msg/GoalStatus."""

    UNKNOWN = 0
    ACCEPTED = 1
    EXECUTING = 2
    CANCELING = 3
    SUCCEEDED = 4
    CANCELED = 5
    ABORTED = 6


class GoalEvent(IntEnum):
    """What happens to a goal."""

    EXECUTE = 0
    CANCEL_GOAL = 1
    SUCCEED = 2
    ABORT = 3
    CANCELED = 4


ACTIVE = frozenset({GoalStatus.ACCEPTED, GoalStatus.EXECUTING, GoalStatus.CANCELING})
CANCELABLE = frozenset({GoalStatus.ACCEPTED, GoalStatus.EXECUTING})
_TRANSITIONS = {
    (GoalStatus.ACCEPTED, GoalEvent.EXECUTE): GoalStatus.EXECUTING,
    (GoalStatus.ACCEPTED, GoalEvent.CANCEL_GOAL): GoalStatus.CANCELING,
    (GoalStatus.EXECUTING, GoalEvent.CANCEL_GOAL): GoalStatus.CANCELING,
    (GoalStatus.EXECUTING, GoalEvent.SUCCEED): GoalStatus.SUCCEEDED,
    (GoalStatus.EXECUTING, GoalEvent.ABORT): GoalStatus.ABORTED,
    (GoalStatus.CANCELING, GoalEvent.SUCCEED): GoalStatus.SUCCEEDED,
    (GoalStatus.CANCELING, GoalEvent.ABORT): GoalStatus.ABORTED,
    (GoalStatus.CANCELING, GoalEvent.CANCELED): GoalStatus.CANCELED,
}


def transition(status: GoalStatus, event: GoalEvent) -> GoalStatus:
    """The state after an event. Raises RCLError where the event cannot happen in that state."""
    after = _TRANSITIONS.get((status, event))
    if after is None:
        possible = [e.name for s, e in _TRANSITIONS if s is status] or ["nothing"]
        raise RCLError(
            f"goal_handle attempted invalid transition from state {status.name} with event {event.name}; "
            f"possible is {', '.join(possible)}"
        )
    return after


# The actions of the domain.


_NamesAndTypes = list[tuple[str, list[str]]]
_FEEDBACK, _FEEDBACK_TYPE = "/_action/feedback", "_FeedbackMessage"


def get_action_names_and_types(node: Node) -> _NamesAndTypes:
    """All actions with their types."""
    return _actions(node.get_topic_names_and_types())


def get_action_server_names_and_types_by_node(
    node: Node, remote_node_name: str, remote_node_namespace: str
) -> _NamesAndTypes:
    """The actions a node serves. Raises NodeNameNonExistentError."""
    return _actions(node.get_publisher_names_and_types_by_node(remote_node_name, remote_node_namespace))


def get_action_client_names_and_types_by_node(
    node: Node, remote_node_name: str, remote_node_namespace: str
) -> _NamesAndTypes:
    """The actions a node has clients of. Raises NodeNameNonExistentError."""
    return _actions(node.get_subscriber_names_and_types_by_node(remote_node_name, remote_node_namespace))


def _actions(topics: _NamesAndTypes) -> _NamesAndTypes:
    return [
        (name.removesuffix(_FEEDBACK), [kind.removesuffix(_FEEDBACK_TYPE) for kind in types])
        for name, types in topics
        if name.endswith(_FEEDBACK)
    ]


# action_msgs/msg/GoalStatusArray as bytes: published at each change of any goal, so one must be cheap.
# An element is an id of 16 bytes, seconds, nanoseconds and a status. Seconds are aligned to 4 bytes: 3
# bytes of padding come after each id but the first, which happens to end where the seconds may begin.


_HEADER = struct.Struct("<4sI")
_LITTLE_ENDIAN = b"\x00\x01\x00\x00"
_ELEMENT = struct.Struct("<16s3xiIb")
_PADDING = slice(16, 19)
_STATUS_AT = 27


class StatusBook:
    """The states of the goals of a server, in the order they were accepted."""

    def __init__(self) -> None:
        self._elements = bytearray()
        self._places: dict[bytes, int] = {}

    def add(self, key: bytes, sec: int, nanosec: int, status: int) -> None:
        """Begin with a goal by its id, accepted at a time."""
        self._places[key] = len(self._elements)
        self._elements += _ELEMENT.pack(key, sec, nanosec, status)

    def change(self, key: bytes, status: int) -> None:
        """Change the state of a goal; nothing where it is not known."""
        place = self._places.get(key)
        if place is not None:
            struct.pack_into("<b", self._elements, place + _STATUS_AT, status)

    def discard(self, keys: set[bytes]) -> None:
        """Forget goals."""
        places = [at for key, at in self._places.items() if key not in keys]
        kept = [bytes(self._elements[at : at + _ELEMENT.size]) for at in places]
        self._elements = bytearray(b"".join(kept))
        self._places = {element[:16]: index * _ELEMENT.size for index, element in enumerate(kept)}

    def cdr(self) -> bytes:
        """Return the message."""
        data = bytearray(_HEADER.pack(_LITTLE_ENDIAN, len(self._places)))
        data += self._elements[: _PADDING.start]
        data += self._elements[_PADDING.stop :]
        return bytes(data)


def statuses(data: bytes) -> Iterator[tuple[bytes, int]] | None:
    """Return (id, status) of each goal in a message, or None where it is not little-endian or too short."""
    if len(data) < _HEADER.size or data[:2] != _LITTLE_ENDIAN[:2]:
        return None
    count = _HEADER.unpack_from(data)[1]
    first, stride = _HEADER.size, _ELEMENT.size
    padding = _PADDING.stop - _PADDING.start
    end = first + count * stride - padding
    if count == 0:
        return iter(())
    if len(data) < end:
        return None
    starts = (max(at, first) for at in range(first - padding, end, stride))
    keys = (data[at : at + 16] for at in starts)
    states = data[first - padding + _STATUS_AT : end : stride]
    return zip(keys, struct.unpack(f"{count}b", states), strict=True)


# Actions as waitables, which a program cannot run by itself here.


class ActionWaitable:
    """Has the calls by which rclpy's executors run an action; executors here run its entities one by one."""

    def add_to_wait_set(self, wait_set: Any) -> NoReturn:
        self._refuse("add_to_wait_set")

    def is_ready(self, wait_set: Any) -> NoReturn:
        self._refuse("is_ready")

    def take_data(self) -> NoReturn:
        self._refuse("take_data")

    def execute(self, taken_data: Any) -> NoReturn:
        self._refuse("execute")

    def _refuse(self, call: str) -> NoReturn:
        raise NotImplementedError(f"{type(self).__name__}.{call} is not covered; a full ROS 2 has it")

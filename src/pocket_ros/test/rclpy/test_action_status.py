"""The states of goals as bytes, which the message class reads, and back."""

from __future__ import annotations

from action_msgs.msg import GoalInfo, GoalStatus, GoalStatusArray

from pocket_ros.rclpy.action.goals import StatusBook, statuses
from pocket_ros.rclpy.type_support import deserialize_message, serialize_message

FIRST, SECOND, THIRD = (bytes([number] * 16) for number in (1, 2, 3))
Goal = tuple[bytes, int, int, int]


def message(*goals: Goal) -> bytes:
    """Return the message of (id, seconds, nanoseconds, status), serialised by its class."""
    array = GoalStatusArray()
    for key, sec, nanosec, status in goals:
        info = GoalInfo()
        info.goal_id.uuid = list(key)
        info.stamp.sec, info.stamp.nanosec = sec, nanosec
        array.status_list.append(GoalStatus(goal_info=info, status=status))
    return bytes(serialize_message(array))


def goals_in(data: bytes) -> list[Goal]:
    """Return what the message class reads."""
    found = []
    for element in deserialize_message(data, GoalStatusArray).status_list:
        stamp = element.goal_info.stamp
        found.append((bytes(element.goal_info.goal_id.uuid), stamp.sec, stamp.nanosec, element.status))
    return found


def test_the_message_class_reads_a_book() -> None:
    book = StatusBook()
    assert goals_in(book.cdr()) == []
    book.add(FIRST, 5, 6, GoalStatus.STATUS_ACCEPTED)
    book.add(SECOND, 7, 8, GoalStatus.STATUS_ACCEPTED)
    book.change(FIRST, GoalStatus.STATUS_EXECUTING)
    book.change(THIRD, GoalStatus.STATUS_EXECUTING)
    assert goals_in(book.cdr()) == [(FIRST, 5, 6, 2), (SECOND, 7, 8, 1)]
    book.discard({FIRST})
    book.change(SECOND, GoalStatus.STATUS_ABORTED)
    assert goals_in(book.cdr()) == [(SECOND, 7, 8, 6)]


def test_states_are_read_with_and_without_padding() -> None:
    expected = [(FIRST, 2), (SECOND, -1)]
    data = message((FIRST, 5, 6, 2), (SECOND, 7, 8, -1))
    for variant in (data, data.ljust(len(data) + 3, b"\x00")):
        found = statuses(variant)
        assert found is not None
        assert list(found) == expected


def test_what_is_laid_out_otherwise_is_left_to_the_message_class() -> None:
    data = message((FIRST, 5, 6, 2))
    assert statuses(data[:-4]) is None
    assert statuses(b"\x00\x00" + data[2:]) is None
    assert statuses(b"") is None

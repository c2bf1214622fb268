"""Which goals a request to cancel is about."""

from __future__ import annotations

from typing import Any

from .goal_handle import ServerGoalHandle
from .goal_state import CANCELABLE

_NONE, _REJECTED, _UNKNOWN_GOAL, _TERMINATED = range(4)
_NO_ID = bytes(16)


def goals_to_cancel(wanted: Any, goals: list[ServerGoalHandle]) -> tuple[int, list[ServerGoalHandle]]:
    """A return code of action_msgs/srv/CancelGoal and the goals.

    No id and no stamp is all goals; a stamp is all accepted until then; an id is that goal.
    """
    key = bytes(wanted.goal_id.uuid)
    stamp = (wanted.stamp.sec, wanted.stamp.nanosec)
    cancelable = [g for g in goals if g.status in CANCELABLE]
    if key == _NO_ID and stamp == (0, 0):
        found = cancelable
    else:
        until = [g for g in cancelable if stamp != (0, 0) and _accepted_at(g) <= stamp]
        found = [g for g in cancelable if g in until or g.key == key]
        if not found and key != _NO_ID:
            return (_TERMINATED if any(g.key == key for g in goals) else _UNKNOWN_GOAL), []
    return (_NONE if found else _REJECTED), found


def _accepted_at(goal: ServerGoalHandle) -> tuple[int, int]:
    return goal.goal_info.stamp.sec, goal.goal_info.stamp.nanosec

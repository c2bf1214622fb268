"""A goal on the side of the server."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Any, Protocol

from .goal_state import ACTIVE, GoalEvent, GoalStatus, transition


class _Server(Protocol):
    """What a goal asks of its server, which makes the goals and so is above them."""

    def notify_execute(
        self, goal_handle: ServerGoalHandle, execute_callback: Callable[[ServerGoalHandle], Any] | None
    ) -> None: ...

    def notify_state(self, goal_handle: ServerGoalHandle) -> None: ...

    def publish_feedback(self, goal_handle: ServerGoalHandle, feedback: Any) -> None: ...


class ServerGoalHandle:
    """A goal that was accepted, its state, and the way to report on it."""

    def __init__(self, action_server: _Server, goal_info: Any, goal_request: Any) -> None:
        self._action_server = action_server
        self._goal_info = goal_info
        self._goal_request = goal_request
        self._lock = RLock()
        self._status = GoalStatus.ACCEPTED
        self._destroyed = False
        self.finished_at = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ServerGoalHandle) and self.goal_id == other.goal_id

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def key(self) -> bytes:
        """The goal id as bytes."""
        return bytes(self._goal_info.goal_id.uuid)

    @property
    def goal_info(self) -> Any:
        """The action_msgs/msg/GoalInfo."""
        return self._goal_info

    @property
    def request(self) -> Any:
        """What the client asked for."""
        return self._goal_request

    @property
    def goal_id(self) -> Any:
        """The unique_identifier_msgs/msg/UUID."""
        return self._goal_info.goal_id

    @property
    def is_active(self) -> bool:
        """Whether it is not finished."""
        return not self._destroyed and self._status in ACTIVE

    @property
    def is_cancel_requested(self) -> bool:
        """Whether a request to cancel it was accepted."""
        return self._status is GoalStatus.CANCELING

    @property
    def status(self) -> int:
        """The state, as in action_msgs/msg/GoalStatus; unknown after destruction."""
        return int(GoalStatus.UNKNOWN if self._destroyed else self._status)

    def execute(self, execute_callback: Callable[[ServerGoalHandle], Any] | None = None) -> None:
        """Have the execute callback run. Raises RCLError where the goal was executed before."""
        if not self.is_cancel_requested:
            self.update(GoalEvent.EXECUTE)
        self._action_server.notify_execute(self, execute_callback)

    def publish_feedback(self, feedback: Any) -> None:
        """Tell the client how it is going. Raises TypeError for what is no feedback of this action."""
        self._action_server.publish_feedback(self, feedback)

    def succeed(self) -> None:
        """Finish well. Raises RCLError where the state does not allow it."""
        self.update(GoalEvent.SUCCEED)

    def abort(self) -> None:
        """Finish badly. Raises RCLError where the state does not allow it."""
        self.update(GoalEvent.ABORT)

    def canceled(self) -> None:
        """Finish because a client asked for it. Raises RCLError where the state does not allow it."""
        self.update(GoalEvent.CANCELED)

    def update(self, event: GoalEvent) -> None:
        """Go to the state after `event` and publish it. Raises RCLError."""
        with self._lock:
            self._status = transition(self._status, event)
        self._action_server.notify_state(self)

    def destroy(self) -> None:
        """Forget the goal."""
        self._destroyed = True

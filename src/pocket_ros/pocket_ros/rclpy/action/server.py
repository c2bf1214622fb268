"""Action servers."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from enum import Enum
from threading import RLock
from typing import TYPE_CHECKING, Any, Protocol

from ...interfaces.classes import message_class
from ..entity import CallbackGroup, Entity
from ..exceptions import RCLError
from ..qos import QoSProfile, qos_profile_action_status_default, qos_profile_services_default
from ..service import RequestHeader, Service
from ..task import Future
from ..time import S_TO_NS
from ..timer import Timer
from ..type_support import check_is_valid_action_type
from ..waitable import NumberOfEntities
from .goals import ACTIVE, CANCELABLE, ActionWaitable, GoalEvent, GoalStatus, StatusBook, transition

if TYPE_CHECKING:
    from ..node import Node

__all__ = [
    "ActionServer",
    "CancelResponse",
    "GoalEvent",
    "GoalResponse",
    "RCLError",
    "ServerGoalHandle",
    "default_cancel_callback",
    "default_goal_callback",
    "default_handle_accepted_callback",
]


# A goal on the side of the server.


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
        self.goal_info = goal_info
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
        return bytes(self.goal_info.goal_id.uuid)

    @property
    def request(self) -> Any:
        """What the client asked for."""
        return self._goal_request

    @property
    def goal_id(self) -> Any:
        """The unique_identifier_msgs/msg/UUID."""
        return self.goal_info.goal_id

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


# Which goals a request to cancel is about.


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


class GoalResponse(Enum):
    """What a goal callback answers."""

    REJECT = 1
    ACCEPT = 2


class CancelResponse(Enum):
    """What a cancel callback answers."""

    REJECT = 1
    ACCEPT = 2


class _DeferredService(Service):
    """A service that answers when it likes: the callback gets the request and its header."""

    def run(self, work: Any) -> Any:
        return self.callback(*work)


def default_goal_callback(goal_request: Any) -> GoalResponse:
    """Accept every goal."""
    return GoalResponse.ACCEPT


def default_cancel_callback(goal_handle: ServerGoalHandle) -> CancelResponse:
    """Reject every request to cancel."""
    return CancelResponse.REJECT


def default_handle_accepted_callback(goal_handle: ServerGoalHandle) -> None:
    """Execute at once."""
    goal_handle.execute()


class ActionServer(ActionWaitable):
    """Accepts goals of one action, executes them, and keeps their results for `result_timeout` seconds."""

    def __init__(
        self,
        node: Node,
        action_type: type[Any],
        action_name: str,
        execute_callback: Callable[[ServerGoalHandle], Any],
        *,
        callback_group: CallbackGroup | None = None,
        goal_callback: Callable[[Any], Any] = default_goal_callback,
        handle_accepted_callback: Callable[[ServerGoalHandle], Any] = default_handle_accepted_callback,
        cancel_callback: Callable[[ServerGoalHandle], Any] = default_cancel_callback,
        goal_service_qos_profile: QoSProfile = qos_profile_services_default,
        result_service_qos_profile: QoSProfile = qos_profile_services_default,
        cancel_service_qos_profile: QoSProfile = qos_profile_services_default,
        feedback_pub_qos_profile: QoSProfile = QoSProfile(depth=10),
        status_pub_qos_profile: QoSProfile = qos_profile_action_status_default,
        result_timeout: float = 900,
    ) -> None:
        check_is_valid_action_type(action_type)
        self._node = node
        self.action_type = action_type
        self._action_name = action_name
        self._result_timeout_ns = int(result_timeout * S_TO_NS)
        self._lock = RLock()
        self._goal_handles: dict[bytes, ServerGoalHandle] = {}
        self._results: dict[bytes, Future[Any]] = {}
        self._book = StatusBook()
        self._expiry: Timer | None = None
        self._logger = node.get_logger().get_child("action_server")
        self.callback_group = callback_group or node.default_callback_group
        self.register_handle_accepted_callback(handle_accepted_callback)
        self.register_goal_callback(goal_callback)
        self.register_cancel_callback(cancel_callback)
        self.register_execute_callback(execute_callback)
        with ExitStack() as refused:
            self._create_services(
                goal_service_qos_profile, cancel_service_qos_profile, result_service_qos_profile, refused
            )
            self._create_topics(feedback_pub_qos_profile, status_pub_qos_profile, refused)
            refused.pop_all()
        self._destroyed = False
        node.add_waitable(self)

    def _create_topics(self, feedback_qos: QoSProfile, status_qos: QoSProfile, refused: ExitStack) -> None:
        impl, create, base = self.action_type.Impl, self._node._ros_create_publisher, self._action_name
        self._feedback = create(impl.FeedbackMessage, f"{base}/_action/feedback", feedback_qos)
        refused.callback(self._feedback.destroy)
        self._status = create(impl.GoalStatusMessage, f"{base}/_action/status", status_qos)

    def _create_services(
        self, goal_qos: QoSProfile, cancel_qos: QoSProfile, result_qos: QoSProfile, refused: ExitStack
    ) -> None:
        """Make the services; `refused` destroys them where there is no room for the whole server."""
        impl, node, base = self.action_type.Impl, self._node, f"{self._action_name}/_action"

        def serve(kind: Any, name: str, callback: Callable[..., Any], qos: QoSProfile) -> Service:
            group = self.callback_group
            made = node._ros_create_service(kind, f"{base}/{name}", callback, qos, group, _DeferredService)
            refused.callback(made.destroy)
            return made

        self._goal_service = serve(impl.SendGoalService, "send_goal", self._on_goal, goal_qos)
        self._cancel_service = serve(impl.CancelGoalService, "cancel_goal", self._on_cancel, cancel_qos)
        self._result_service = serve(impl.GetResultService, "get_result", self._on_result, result_qos)

    def get_num_entities(self) -> NumberOfEntities:
        """How many entities of each kind it consists of."""
        return NumberOfEntities(num_timers=1, num_services=3)

    def _ros_entities(self) -> Iterator[Entity]:
        """What an executor waits on."""
        yield from (self._goal_service, self._cancel_service, self._result_service)
        if self._expiry is not None:
            yield self._expiry

    def register_handle_accepted_callback(
        self, handle_accepted_callback: Callable[[ServerGoalHandle], Any] | None
    ) -> None:
        """Called with each accepted goal; the default executes it."""
        self._handle_accepted_callback = handle_accepted_callback or default_handle_accepted_callback

    def register_goal_callback(self, goal_callback: Callable[[Any], Any] | None) -> None:
        """Called with each requested goal; answers a GoalResponse."""
        self._goal_callback = goal_callback or default_goal_callback

    def register_cancel_callback(self, cancel_callback: Callable[[ServerGoalHandle], Any] | None) -> None:
        """Called with each goal to be cancelled; answers a CancelResponse."""
        self._cancel_callback = cancel_callback or default_cancel_callback

    def register_execute_callback(self, execute_callback: Callable[[ServerGoalHandle], Any]) -> None:
        """Called to execute a goal; answers the result. Raises TypeError for what cannot be called."""
        if not callable(execute_callback):
            raise TypeError("Failed to register goal execution callback: not callable")
        self._execute_callback = execute_callback

    def notify_execute(
        self, goal_handle: ServerGoalHandle, execute_callback: Callable[[ServerGoalHandle], Any] | None
    ) -> None:
        """Have the executor of the node execute a goal. Raises RuntimeError where it has none."""
        executor = self._node.executor
        if executor is None:
            raise RuntimeError("a goal can be executed only while an executor spins the node")
        executor.create_task(self._execute, execute_callback or self._execute_callback, goal_handle)

    def notify_state(self, goal_handle: ServerGoalHandle) -> None:
        """The state of a goal changed."""
        if not goal_handle.is_active and not goal_handle.finished_at:
            goal_handle.finished_at = self._node.get_clock().now_ns()
            self._schedule_expiry()
        with self._lock:
            self._book.change(goal_handle.key, goal_handle.status)
        self._publish_status()

    def notify_goal_done(self) -> None:
        """Nothing to do: finished goals are noticed by their state."""

    def publish_feedback(self, goal_handle: ServerGoalHandle, feedback: Any) -> None:
        """Publish feedback of a goal.

        Raises TypeError for what is none of this action, and RCLError after shutdown: that ends callbacks
        which work on as long as their goal is active.
        """
        if not isinstance(feedback, self.action_type.Feedback):
            raise TypeError(f"Expected {self.action_type.Feedback}, got {type(feedback)}")
        if not self._node.context.ok():
            raise RCLError("Failed to publish feedback with an action server: the context is shut down")
        if not self._destroyed and goal_handle.status != GoalStatus.UNKNOWN:
            kind = self.action_type.Impl.FeedbackMessage
            self._feedback.publish(kind(goal_id=goal_handle.goal_id, feedback=feedback))

    def destroy(self) -> None:
        """End the server."""
        if self._destroyed:
            return
        self._destroyed = True
        self._node.remove_waitable(self)
        for goal_handle in self._goal_handles.values():
            goal_handle.destroy()
        for entity in self._ros_entities():
            entity.destroy()  # type: ignore[attr-defined]
        self._feedback.destroy()
        self._status.destroy()

    async def _on_goal(self, request: Any, header: RequestHeader) -> None:
        key = bytes(request.goal_id.uuid)
        accepted = key not in self._goal_handles and await self._wants(request.goal)
        response = self.action_type.Impl.SendGoalService.Response(accepted=accepted)
        goal_handle = None
        if accepted:
            response.stamp = self._node.get_clock().now().to_msg()
            info = message_class("action_msgs/msg/GoalInfo")(goal_id=request.goal_id, stamp=response.stamp)
            goal_handle = ServerGoalHandle(self, info, request.goal)
            with self._lock:
                self._goal_handles[key] = goal_handle
                self._results[key] = Future()
                self._book.add(key, response.stamp.sec, response.stamp.nanosec, goal_handle.status)
        self._answer(self._goal_service, response, header)
        if goal_handle is not None:
            self._publish_status()
            await _call(self._handle_accepted_callback, goal_handle)

    async def _wants(self, goal: Any) -> bool:
        response = await _call(self._goal_callback, goal)
        if not isinstance(response, GoalResponse):
            self._logger.warning("Goal request callback did not return a GoalResponse type. Rejecting goal.")
        return response is GoalResponse.ACCEPT

    async def _execute(
        self, execute_callback: Callable[[ServerGoalHandle], Any], goal_handle: ServerGoalHandle
    ) -> None:
        try:
            result = await _call(execute_callback, goal_handle)
        except Exception as error:  # A faulty callback aborts its goal; the server goes on.
            result = None
            if not self._node.context.ok() and isinstance(error, RCLError):
                return  # told that it is over by what it called
            self._logger.error(f"Error raised in execute callback: {error}")
            traceback.print_exc()
        if not isinstance(result, self.action_type.Result):
            if result is not None:
                self._logger.error(
                    f"Expected {self.action_type.Result} from the execute callback, got {type(result)}"
                )
            result = self.action_type.Result()
        if goal_handle.is_active:
            self._logger.warning(f"Goal state not set, assuming aborted. Goal ID: {goal_handle.goal_id.uuid}")
            if goal_handle.status == GoalStatus.ACCEPTED:
                goal_handle.update(GoalEvent.EXECUTE)
            goal_handle.abort()
        kind = self.action_type.Impl.GetResultService.Response
        future = self._results.get(goal_handle.key)
        if future is not None:
            future.set_result(kind(status=goal_handle.status, result=result))

    async def _on_cancel(self, request: Any, header: RequestHeader) -> None:
        response = self.action_type.Impl.CancelGoalService.Response()
        with self._lock:
            response.return_code, candidates = goals_to_cancel(
                request.goal_info, list(self._goal_handles.values())
            )
        for goal_handle in candidates:
            if await _call(self._cancel_callback, goal_handle) is CancelResponse.ACCEPT:
                try:
                    goal_handle.update(GoalEvent.CANCEL_GOAL)
                except RCLError:
                    continue  # it finished while the callback ran
                response.goals_canceling.append(goal_handle.goal_info)
        self._answer(self._cancel_service, response, header)

    def _on_result(self, request: Any, header: RequestHeader) -> None:
        future = self._results.get(bytes(request.goal_id.uuid))
        if future is None:
            kind = self.action_type.Impl.GetResultService.Response
            self._answer(self._result_service, kind(status=int(GoalStatus.UNKNOWN)), header)
            return
        future.add_done_callback(lambda done: self._answer(self._result_service, done.result(), header))

    def _answer(self, service: Service, response: Any, header: RequestHeader) -> None:
        if self._destroyed or not self._node.context.ok():
            return
        service.send_response(response, header)

    def _publish_status(self) -> None:
        if self._destroyed or not self._node.context.ok():
            return
        with self._lock:
            self._status.publish(self._book.cdr())

    def _schedule_expiry(self) -> None:
        """Results are kept for a while; negative timeouts keep them for good."""
        if self._result_timeout_ns < 0 or self._expiry is not None:
            return
        clock = self._node.get_clock()
        self._expiry = Timer(self._expire, self.callback_group, max(self._result_timeout_ns, 1), clock)
        self._node._ros_added(self._expiry)

    def _expire(self) -> None:
        now = self._node.get_clock().now_ns()
        with self._lock:
            gone = set()
            for key, goal_handle in list(self._goal_handles.items()):
                finished = goal_handle.finished_at
                if finished and now - finished >= self._result_timeout_ns:
                    goal_handle.destroy()
                    del self._goal_handles[key], self._results[key]
                    gone.add(key)
            self._book.discard(gone)
            waiting = [g.finished_at for g in self._goal_handles.values() if g.finished_at]
            expiry = self._expiry
            if not waiting and expiry is not None:
                self._expiry = None
                self._node._ros_removed(expiry)
                expiry.destroy()
            elif expiry is not None:
                expiry.timer_period_ns = max(min(waiting) + self._result_timeout_ns - now, 1)
                expiry.reset()


async def _call(callback: Callable[..., Any], argument: Any) -> Any:
    result = callback(argument)
    return await result if inspect.isawaitable(result) else result

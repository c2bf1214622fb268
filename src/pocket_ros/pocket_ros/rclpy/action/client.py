"""Action clients."""

from __future__ import annotations

import inspect
import time
import uuid
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from threading import Event
from typing import TYPE_CHECKING, Any

import numpy as np

from ...interfaces.classes import message_class
from ..entity import CallbackGroup, Entity
from ..qos import QoSProfile, qos_profile_action_status_default, qos_profile_services_default
from ..task import Future
from ..type_support import check_is_valid_action_type
from ..waitable import NumberOfEntities
from .goals import ACTIVE, ActionWaitable, GoalStatus, statuses

if TYPE_CHECKING:
    from ..node import Node
    from ..service import Client

_FIRST_POLL, _LAST_POLL = 0.001, 0.05
_MOST_FINISHED, _GRACE_S = 100, 10.0
"""How many goals, and how long, still have their feedback told after their results."""


class ClientGoalHandle:
    """A goal on the side of the client."""

    def __init__(self, action_client: ActionClient, goal_id: Any, goal_response: Any) -> None:
        self._action_client = action_client
        self.goal_id = goal_id
        self._goal_response = goal_response
        self.status = int(GoalStatus.UNKNOWN)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClientGoalHandle) and self.goal_id == other.goal_id

    def __hash__(self) -> int:
        return hash(bytes(self.goal_id.uuid))

    def __repr__(self) -> str:
        return f"ClientGoalHandle <id={self.goal_id.uuid}, accepted={self.accepted}, status={self.status}>"

    @property
    def stamp(self) -> Any:
        """When the server accepted the goal."""
        return self._goal_response.stamp

    @property
    def accepted(self) -> bool:
        return bool(self._goal_response.accepted)

    def cancel_goal(self) -> Any:
        """Ask to cancel, and wait for the answer. Another thread has to spin."""
        return _wait(self._action_client._node, self.cancel_goal_async())

    def cancel_goal_async(self) -> Future[Any]:
        """Ask to cancel; the future gets the answer."""
        return self._action_client._cancel_goal_async(self)

    def get_result(self) -> Any:
        """Wait for the result. Another thread has to spin."""
        return _wait(self._action_client._node, self.get_result_async())

    def get_result_async(self) -> Future[Any]:
        """The future gets the result with the final state."""
        return self._action_client._get_result_async(self)


class ActionClient(ActionWaitable):
    """Sends goals of one action."""

    def __init__(
        self,
        node: Node,
        action_type: type[Any],
        action_name: str,
        *,
        callback_group: CallbackGroup | None = None,
        goal_service_qos_profile: QoSProfile = qos_profile_services_default,
        result_service_qos_profile: QoSProfile = qos_profile_services_default,
        cancel_service_qos_profile: QoSProfile = qos_profile_services_default,
        feedback_sub_qos_profile: QoSProfile = QoSProfile(depth=10),
        status_sub_qos_profile: QoSProfile = qos_profile_action_status_default,
    ) -> None:
        check_is_valid_action_type(action_type)
        self._node = node
        self._action_type = action_type
        self._action_name = action_name
        self._goal_handles: weakref.WeakValueDictionary[bytes, ClientGoalHandle] = (
            weakref.WeakValueDictionary()
        )
        self._feedback_callbacks: dict[bytes, Callable[[Any], Any]] = {}
        self._finished: deque[tuple[float, bytes]] = deque()
        group = self.callback_group = callback_group or node.default_callback_group
        impl, base = action_type.Impl, f"{action_name}/_action"

        def ask(kind: Any, name: str, qos: QoSProfile) -> Client:
            return node._ros_create_client(kind, f"{base}/{name}", qos, group)

        self._goal_client = ask(impl.SendGoalService, "send_goal", goal_service_qos_profile)
        self._cancel_client = ask(impl.CancelGoalService, "cancel_goal", cancel_service_qos_profile)
        self._result_client = ask(impl.GetResultService, "get_result", result_service_qos_profile)
        self._feedback = node._ros_create_subscription(
            impl.FeedbackMessage, f"{base}/feedback", self._on_feedback, feedback_sub_qos_profile, group
        )
        self._status = node._ros_create_subscription(
            impl.GoalStatusMessage, f"{base}/status", self._on_status, status_sub_qos_profile, group, raw=True
        )
        self._destroyed = False
        node.add_waitable(self)

    def get_num_entities(self) -> NumberOfEntities:
        """How many entities of each kind it consists of."""
        return NumberOfEntities(num_subs=2, num_clients=3)

    def _ros_entities(self) -> Iterator[Entity]:
        """What an executor waits on."""
        yield from (self._goal_client, self._cancel_client, self._result_client, self._feedback, self._status)

    def send_goal(self, goal: Any, **kwargs: Any) -> Any:
        """Send a goal and wait for its result; None where it is rejected. Another thread has to spin."""
        goal_handle = _wait(self._node, self.send_goal_async(goal, **kwargs))
        if goal_handle is None or not goal_handle.accepted:
            return None
        return goal_handle.get_result()

    def send_goal_async(
        self, goal: Any, feedback_callback: Callable[[Any], Any] | None = None, goal_uuid: Any = None
    ) -> Future[Any]:
        """Send a goal; the future gets a ClientGoalHandle when it was accepted or rejected.

        Raises TypeError for what is no goal of this action.
        """
        if not isinstance(goal, self._action_type.Goal):
            raise TypeError(f"Expected {self._action_type.Goal}, got {type(goal)}")
        goal_id = _random_id() if goal_uuid is None else goal_uuid
        key = bytes(goal_id.uuid)
        if feedback_callback is not None:
            self._feedback_callbacks[key] = feedback_callback
        request = self._action_type.Impl.SendGoalService.Request(goal_id=goal_id, goal=goal)
        future: Future[Any] = Future()

        def answered(response: Future[Any]) -> None:
            handle = ClientGoalHandle(self, goal_id, response.result())
            if handle.accepted:
                self._goal_handles[key] = handle
            else:
                self._feedback_callbacks.pop(key, None)
            future.set_result(handle)

        self._goal_client.call_async(request).add_done_callback(answered)
        return future

    def server_is_ready(self) -> bool:
        """Whether a server would receive a goal and its messages would come here."""
        clients = (self._goal_client, self._cancel_client, self._result_client)
        topics = (self._feedback, self._status)
        return all(c.service_is_ready() for c in clients) and all(t.get_publisher_count() for t in topics)

    def wait_for_server(self, timeout_sec: float | None = None) -> bool:
        """Wait for a server; False on timeout and shutdown."""
        deadline = None if timeout_sec is None else time.monotonic() + timeout_sec
        pause = _FIRST_POLL
        while self._node.context.ok():
            if self.server_is_ready():
                return True
            if deadline is not None and time.monotonic() >= deadline:
                return False
            time.sleep(pause)
            pause = min(pause * 2, _LAST_POLL)
        return False

    def destroy(self) -> None:
        """End the client."""
        if not self._destroyed:
            self._destroyed = True
            self._node.remove_waitable(self)
            for entity in self._ros_entities():
                entity.destroy()  # type: ignore[attr-defined]

    def _cancel_goal_async(self, goal_handle: ClientGoalHandle) -> Future[Any]:
        if not isinstance(goal_handle, ClientGoalHandle):
            raise TypeError(f"Expected type ClientGoalHandle but received {type(goal_handle)}")
        request = self._action_type.Impl.CancelGoalService.Request()
        request.goal_info.goal_id = goal_handle.goal_id
        return self._cancel_client.call_async(request)

    def _get_result_async(self, goal_handle: ClientGoalHandle) -> Future[Any]:
        if not isinstance(goal_handle, ClientGoalHandle):
            raise TypeError(f"Expected type ClientGoalHandle but received {type(goal_handle)}")
        request = self._action_type.Impl.GetResultService.Request(goal_id=goal_handle.goal_id)
        future = self._result_client.call_async(request)
        key = bytes(goal_handle.goal_id.uuid)
        future.add_done_callback(lambda _: self._forget_later(key))
        return future

    def _forget_later(self, key: bytes) -> None:
        # Feedback that came before the result may be read after it: they come by different topics.
        if key in self._feedback_callbacks and all(key != finished for _, finished in self._finished):
            self._finished.append((time.monotonic(), key))
        self._forget()

    def _forget(self) -> None:
        """Drop the callbacks of goals that ended a while ago, with all that a callback holds on to."""
        latest = time.monotonic() - _GRACE_S
        while self._finished and (len(self._finished) > _MOST_FINISHED or self._finished[0][0] < latest):
            self._feedback_callbacks.pop(self._finished.popleft()[1], None)

    async def _on_feedback(self, message: Any) -> None:
        callback = self._feedback_callbacks.get(bytes(message.goal_id.uuid))
        if callback is not None:
            result = callback(message)
            if inspect.isawaitable(result):
                await result

    def _on_status(self, data: bytes) -> None:
        self._forget()
        found = statuses(data) or self._decoded(data)
        for key, status in found:
            handle = self._goal_handles.get(key)
            if handle is not None:
                handle.status = status
                if status not in ACTIVE:
                    self._goal_handles.pop(key, None)

    def _decoded(self, data: bytes) -> Iterator[tuple[bytes, int]]:
        message = self._status.handle.decode(data, self._action_type.Impl.GoalStatusMessage)
        return ((bytes(element.goal_info.goal_id.uuid), element.status) for element in message.status_list)


def _random_id() -> Any:
    values = np.frombuffer(uuid.uuid4().bytes, np.uint8).copy()
    return message_class("unique_identifier_msgs/msg/UUID")(uuid=values)


def _wait(node: Node, future: Future[Any]) -> Any:
    event = Event()
    future.add_done_callback(lambda _: event.set())
    node.context.on_shutdown(event.set)
    event.wait()
    return future.result()

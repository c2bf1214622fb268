"""Run a managed node."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from ...interfaces.classes import message_class, service_class
from ...launch.event import Event
from ...launch.event_handler import BaseEventHandler
from ...launch.logging import get_logger
from ...launch.some_substitutions_type import SomeSubstitutionsType
from ..events.lifecycle import ChangeState, StateTransition
from ..ros_adapters import LOOK_SECONDS, call_service, get_ros_node
from .node import Node

if TYPE_CHECKING:
    from ...launch.launch_context import LaunchContext
    from ...rclpy.client import Client


class LifecycleNode(Node):
    """Runs a managed node: a ChangeState event makes it go through a transition, and a StateTransition event
    is emitted for each one it went through.

    A transition that the node refuses is an error in the log. Arguments are those of Node.
    """

    def __init__(
        self, *, name: SomeSubstitutionsType, namespace: SomeSubstitutionsType, **kwargs: Any
    ) -> None:
        super().__init__(name=name, namespace=namespace, **kwargs)
        self._state_change: Client | None = None

    def prepare(self, context: LaunchContext) -> None:
        """Perform the substitutions, and listen to the node before it is started."""
        super().prepare(context)
        node = get_ros_node(context)
        event = message_class("lifecycle_msgs/msg/TransitionEvent")
        loop = context.asyncio_loop
        assert loop is not None

        def tell(message: object) -> None:
            transition = StateTransition(action=self, msg=message)
            loop.call_soon_threadsafe(context.emit_event_sync, transition)

        node.create_subscription(event, f"{self.node_name}/transition_event", tell, 10)
        service = service_class("lifecycle_msgs/srv/ChangeState")
        self._state_change = node.create_client(service, f"{self.node_name}/change_state")
        context.register_event_handler(_OnChangeState(self))

    def begin_transition(self, event: ChangeState, context: LaunchContext) -> None:
        """Ask the node for a transition; the answer is waited for beside the launch."""
        assert context.asyncio_loop is not None
        task = context.asyncio_loop.run_in_executor(None, self._ask, event.transition_id, context)
        task.add_done_callback(self._report)

    def _ask(self, transition_id: int, context: LaunchContext) -> None:
        client = self._state_change
        assert client is not None
        node, topic = get_ros_node(context), f"{self.node_name}/transition_event"
        # Without its publisher in sight what the node says of the transition would be missed.
        while not (client.wait_for_service(timeout_sec=LOOK_SECONDS) and node.count_publishers(topic)):
            if context.is_shutdown:
                return
        request = service_class("lifecycle_msgs/srv/ChangeState").Request()
        request.transition.id = transition_id
        response = call_service(client, request, context)
        if response is not None and not response.success:
            name = ChangeState.valid_transitions[transition_id]
            raise RuntimeError(f"Failed to make transition '{name}' for LifecycleNode '{self.node_name}'")

    @staticmethod
    def _report(task: asyncio.Future[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            get_logger("launch_ros.actions.lifecycle_node").error(str(error))


class _OnChangeState(BaseEventHandler):
    """Passes events on to one node."""

    def __init__(self, target: LifecycleNode) -> None:
        super().__init__(matcher=self._is_meant)
        self._target = target

    def _is_meant(self, event: Event) -> bool:
        return isinstance(event, ChangeState) and event.lifecycle_node_matcher(self._target)

    def handle(self, event: Event, context: LaunchContext) -> None:
        assert isinstance(event, ChangeState)
        self._target.begin_transition(event, context)

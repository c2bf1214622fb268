"""An action server whose goals are executed by the simulation, not by a callback that waits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.action import CancelResponse, GoalResponse

from fleet_sim.ros import qos
from fleet_sim.ros.actions.batches import BatchingActionServer
from fleet_sim.ros.actions.kind import ActionKind


class SimulatedActionServer(BatchingActionServer):
    """Accepts goals and passes them on; `finish` ends them. A running goal needs neither a thread nor a task."""

    def __init__(
        self,
        node: Any,
        kind: ActionKind,
        name: str,
        *,
        wants: Callable[[Any], bool],
        accepted: Callable[[SimulatedActionServer, Any], None],
        cancel: Callable[[Any], None],
        group: Any,
    ) -> None:
        self.kind = kind
        self.name = name
        self._begin_cancelling = cancel
        super().__init__(
            node,
            kind.type,
            name,
            execute_callback=_never_called,
            goal_callback=lambda goal: GoalResponse.ACCEPT if wants(goal) else GoalResponse.REJECT,
            handle_accepted_callback=lambda handle: accepted(self, handle),
            cancel_callback=self._let_cancel,
            # Depths of the defaults are 10: the eleventh of many goals sent at once would be lost.
            callback_group=group,
            goal_service_qos_profile=qos.REQUESTS,
            result_service_qos_profile=qos.REQUESTS,
            cancel_service_qos_profile=qos.REQUESTS,
        )

    def notify_execute(self, goal_handle: Any, execute_callback: Any) -> None:
        """Run the callback that returns the result. Without one the goal has only started; there is nothing to run."""
        if execute_callback is not None:
            super().notify_execute(goal_handle, execute_callback)

    def finish(self, goal_handle: Any, end: Callable[[Any], Any]) -> None:
        """End a goal that was executed: `end(goal_handle)` sets its state and returns the result."""
        self.notify_execute(goal_handle, end)

    def _let_cancel(self, goal_handle: Any) -> CancelResponse:
        self._begin_cancelling(goal_handle)
        # Always: the simulation ends the goal in its next step, whatever it is doing.
        return CancelResponse.ACCEPT


def _never_called(goal_handle: Any) -> None:
    raise AssertionError("goals are executed by the simulation")

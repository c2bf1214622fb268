"""What the actions have in common that look only: the robot goes on with whatever it does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from rclpy.action import ActionServer, CancelResponse, GoalResponse

from fleet_sim.ros import qos
from fleet_sim.ros.interface import Bridge


class RefusedGoal(Exception):
    """There is no result; `code` is the name of Nav2's code."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class LookingServers:
    """Action servers of one robot whose goals are carried out by callbacks, in the executor."""

    def __init__(self, bridge: Bridge, robot: str) -> None:
        self._bridge = bridge
        self._robot = robot
        self._servers: list[Any] = []

    def destroy(self) -> None:
        """Serve no longer."""
        for server in self._servers:
            server.destroy()

    def serve(self, kind: Any, name: str, execute: Callable[[Any], Awaitable[Any]]) -> None:
        """Serve an action below the name of the robot; `execute(goal_handle)` returns the result."""
        server = ActionServer(
            self._bridge.node,
            kind,
            f"{self._robot}/{name}",
            execute,
            goal_callback=self._wants,
            cancel_callback=lambda handle: CancelResponse.REJECT,
            callback_group=self._bridge.group,
            goal_service_qos_profile=qos.REQUESTS,
            result_service_qos_profile=qos.REQUESTS,
            cancel_service_qos_profile=qos.REQUESTS,
        )
        self._servers.append(server)

    def _wants(self, goal: Any) -> GoalResponse:
        return GoalResponse.REJECT if self._robot in self._bridge.resting else GoalResponse.ACCEPT


def aborted(handle: Any, result: Any, error: Exception) -> Any:
    """Abort a goal, and return `result` with the code of the error and its text."""
    code = error.code if isinstance(error, RefusedGoal) else "UNKNOWN"
    handle.abort()
    # Older versions of Nav2 have none of these.
    for field, value in (("error_code", getattr(type(result), code, 0)), ("error_msg", str(error))):
        if hasattr(result, field):
            setattr(result, field, value)
    return result

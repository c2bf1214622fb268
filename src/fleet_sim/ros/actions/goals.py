"""Goals: from acceptance to result. The simulation runs the action and signals its end; nothing polls."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from threading import Event
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped

from fleet_sim.actions.base import Action
from fleet_sim.config.modes import ActionCause, ActionStatus
from fleet_sim.core.commands import CancelActions, ExecuteAction
from fleet_sim.errors import UnknownNameError
from fleet_sim.ros.actions.kind import GoalOutcome, GoalReader, Progress
from fleet_sim.ros.actions.server import SimulatedActionServer
from fleet_sim.ros.commands import Answer
from fleet_sim.ros.conversions import row_to_pose_msg, time_to_msg
from fleet_sim.ros.interface import Bridge
from fleet_sim_msgs.msg import Cause

CANCEL_REASON = "cancelled by a client"
SHUTDOWN_REASON = "the simulation was shut down"

CODES = {
    ActionCause.INVALID_GOAL: Cause.INVALID_GOAL,
    ActionCause.UNKNOWN_ROBOT: Cause.UNKNOWN_ROBOT,
    ActionCause.UNKNOWN_OBJECT: Cause.UNKNOWN_OBJECT,
    ActionCause.UNREACHABLE: Cause.UNREACHABLE,
    ActionCause.TIMEOUT: Cause.TIMEOUT,
    ActionCause.CANCELLED: Cause.CANCELED,
    ActionCause.PREEMPTED: Cause.PREEMPTED,
    ActionCause.SHUTDOWN: Cause.SHUTDOWN,
    ActionCause.FAILED: Cause.FAILED,
    ActionCause.BLOCKED: Cause.BLOCKED,
    ActionCause.BATTERY_EMPTY: Cause.BATTERY_EMPTY,
}
"""Causes of the simulation and their values in the message."""


def cause_of_action(action: Action) -> tuple[int, str]:
    """Return (cause, text) of an action that has ended; (NONE, "") for success."""
    if action.cause is None:
        return Cause.NONE, ""
    return CODES[action.cause], action.error_message or ""


def cause_of_error(error: BaseException) -> int:
    """Return the cause of an error raised while a goal was read."""
    return Cause.UNKNOWN_FRAME if isinstance(error, UnknownNameError) else Cause.INVALID_GOAL


@dataclass(eq=False)
class AcceptedGoal:
    """One accepted goal."""

    server: SimulatedActionServer
    handle: Any
    robot: str
    action: Action | None = None
    """The action of the goal; None until it starts, if frames have to be resolved first."""
    farthest: float = 0.0

    @property
    def name(self) -> str:
        """The id of its command, which is also used to cancel it."""
        return _key(self.handle).hex()


class Goals:
    """All goals of all robots.

    `accept`, `cancel` and `end_all` belong to the executor's thread, the rest to the simulation's.
    """

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self._open: dict[bytes, AcceptedGoal] = {}
        # By id of the action: the goal keeps it alive, so no other one gets that id meanwhile.
        self._running: dict[int, AcceptedGoal] = {}
        self._ending: Event | None = None
        bridge.sim.events.on("action_completed", self._on_completed)

    # ---- in the executor's thread ------------------------------------------------------------------------------------

    def accept(self, robot: str, server: SimulatedActionServer, handle: Any, action: Action | None) -> None:
        """Start an accepted goal in phase 1 of the next step, with `action` if it is already built."""
        goal = AcceptedGoal(server, handle, robot, action)
        self._open[_key(handle)] = goal
        with server.changing_state():
            handle.execute()
        if self._ending:
            self._finish(goal, GoalOutcome(Cause.SHUTDOWN, SHUTDOWN_REASON, action=goal.action))
        else:
            self._bridge.gateway.send(partial(self._command, goal)).add_done_callback(partial(self._on_answer, goal))

    @property
    def open(self) -> list[AcceptedGoal]:
        """The goals that have no result yet."""
        return list(self._open.values())

    def cancel(self, handle: Any, reason: str = CANCEL_REASON) -> None:
        """Cancel a goal in phase 1 of the next step; its robot then stops."""
        goal = self._open.get(_key(handle))
        if goal is not None:
            command = CancelActions(names=(goal.robot,), goal=goal.name, reason=reason, source="action")
            self._bridge.gateway.send(lambda: command).add_done_callback(lambda _: self.end_unannounced())

    def end_all(self, ended: Event) -> None:
        """End every goal because the simulation has stopped; `ended` is set when all results are out."""
        self._ending = ended
        for goal in list(self._open.values()):
            self._finish(goal, GoalOutcome(Cause.SHUTDOWN, SHUTDOWN_REASON, action=goal.action))
        self._tell_when_ended()

    def _finish(self, goal: AcceptedGoal, outcome: GoalOutcome) -> None:
        if self._open.get(_key(goal.handle)) is goal:
            goal.server.finish(goal.handle, partial(self._end, goal, outcome))

    def _end(self, goal: AcceptedGoal, outcome: GoalOutcome, handle: Any) -> Any:
        """Set the goal's final state and return its result."""
        if self._open.pop(_key(handle), None) is not None:
            with goal.server.changing_state():
                _set_final_state(handle, outcome)
            if outcome.success and goal.server.kind.succeeded is not None:
                goal.server.kind.succeeded(self._bridge, goal.robot)
            self._tell_when_ended()
        return goal.server.kind.result(replace(outcome, request=handle.request))

    def _tell_when_ended(self) -> None:
        if self._ending is not None and not self._open:
            # Setting a result makes rclpy create a task that sends it, and the newest task runs first: set `ended` two
            # turns of tasks later, when those of this turn and of the next one are done.
            later = self._bridge.node.executor.create_task
            self._bridge.mailbox.post(partial(later, later, self._ending.set))

    # ---- in the simulation's thread ----------------------------------------------------------------------------------

    def end_unannounced(self) -> None:
        """End the goals whose actions were cancelled before they began: no event is emitted for them."""
        for goal in [g for g in self._running.values() if g.action is not None and g.action.is_complete()]:
            self._ended(goal)

    def publish_feedback(self, now: int) -> None:
        """Publish the feedback of all running goals."""
        world = self._bridge.sim.world
        for goal in list(self._running.values()):
            action = goal.action
            if action is None or action.status is not ActionStatus.IN_PROGRESS or not world.index.has_name(goal.robot):
                continue
            row = world.index.row_named(goal.robot)
            progress = action.progress(world.handles[row])
            left = float(progress.get("distance_left", 0.0))
            # The length of the way is not known, so progress is relative to the largest distance seen.
            goal.farthest = max(goal.farthest, left)
            pose = PoseStamped(pose=row_to_pose_msg(world.position[row], world.orientation[row]))
            pose.header.stamp, pose.header.frame_id = time_to_msg(now), self._bridge.frames.map
            share = 1.0 - left / goal.farthest if goal.farthest > 0.0 else 0.0
            speed = float(np.sqrt((world.velocity[row] ** 2).sum()))
            told = Progress(
                str(progress["phase"]),
                pose,
                left,
                share,
                action.get_duration(),
                progress,
                action,
                goal.handle.request,
                speed,
                str(progress.get("blocked_by") or action.blocked_by or ""),
            )
            goal.handle.publish_feedback(goal.server.kind.feedback(told))

    def _command(self, goal: AcceptedGoal) -> ExecuteAction:
        """Return the command that starts the goal; raises FleetSimError."""
        if goal.action is None:
            goal.action = goal.server.kind.build(goal.handle.request, GoalReader(self._bridge))
        # Before the command is applied: an action may end in the step in which it starts.
        self._running[id(goal.action)] = goal
        return ExecuteAction(names=(goal.robot,), actions=(goal.action,), command_id=goal.name, source="action")

    def _on_answer(self, goal: AcceptedGoal, answer: Answer) -> None:
        """End a goal that could not be started."""
        error = answer.exception()
        if error is None and answer.result().ok:
            return
        self._running.pop(id(goal.action), None)
        if error is not None:
            self._post(goal, GoalOutcome(cause_of_error(error), str(error)))
            return
        for reason in answer.result().rejected.values():
            # A new action is rejected for one reason only: the robot was removed in the meantime.
            self._post(goal, GoalOutcome(Cause.UNKNOWN_ROBOT, reason))

    def _on_completed(self, action: Action, **details: object) -> None:
        goal = self._running.get(id(action))
        if goal is not None:
            self._ended(goal)

    def _ended(self, goal: AcceptedGoal) -> None:
        assert goal.action is not None
        del self._running[id(goal.action)]
        cause, text = cause_of_action(goal.action)
        self._post(goal, GoalOutcome(cause, text, goal.action.get_duration(), goal.action))

    def _post(self, goal: AcceptedGoal, outcome: GoalOutcome) -> None:
        self._bridge.mailbox.post(lambda: self._finish(goal, outcome))


def _set_final_state(handle: Any, outcome: GoalOutcome) -> None:
    if outcome.success:
        handle.succeed()
    elif outcome.cause == Cause.CANCELED and handle.is_cancel_requested:
        handle.canceled()
    else:
        handle.abort()


def _key(handle: Any) -> bytes:
    return bytes(handle.goal_id.uuid)

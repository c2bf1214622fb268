"""Action servers of ROS 2 whose goals the simulation carries out: kinds, goals, results and feedback."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Event
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped
from rclpy.action import ActionServer, CancelResponse, GoalResponse

from fleet_sim.base.errors import InvalidValueError, UnknownNameError
from fleet_sim.base.geometry import Pose
from fleet_sim.base.params import ActionCause, ActionStatus
from fleet_sim.base.scenario import RosParams
from fleet_sim.robots.actions.action import Action
from fleet_sim.ros import messages as qos
from fleet_sim.ros.commands import Answer
from fleet_sim.ros.interface import Bridge
from fleet_sim.ros.messages import pose_from_msg, row_to_pose_msg, time_from_msg, time_to_msg
from fleet_sim.ros.robot_commands import start_time
from fleet_sim.ros.waiting_messages import SleepingServers
from fleet_sim.world.commands import CancelActions, ExecuteAction
from fleet_sim.world.world import World
from fleet_sim_msgs.msg import Cause

# The parts of a ROS 2 action: how goals are read, and how results and feedback are written.


class GoalReader:
    """Reads the parts of a goal that depend on the world: in the simulation's thread, between two steps."""

    is_final = True
    """Whether everything read so far is independent of the world's state."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge

    def pose(self, stamped: PoseStamped) -> Pose:
        """Return a pose in the map frame; raises UnknownNameError for its frame."""
        return self._bridge.transforms.pose_to_map(stamped.header.frame_id, pose_from_msg(stamped.pose))

    @property
    def has_routes(self) -> bool:
        """Whether robots can be routed around walls: from the start of a simulation on, or never."""
        return self._bridge.sim.world.routes.known

    @property
    def params(self) -> RosParams:
        """The settings of the node."""
        return self._bridge.params

    def time(self, stamp: Time) -> float | None:
        """Return the simulation time of a stamp, None to start at once."""
        return start_time(self._bridge, stamp)

    def station(self, name: str) -> Pose:
        """Return the pose of a station of the scenario's site; raises InvalidValueError where there is none."""
        try:
            station = self._bridge.sim.get_manager("site").station(name)
        except UnknownNameError as error:
            raise InvalidValueError(f"dock_id: {error}") from error
        return Pose.from_euler(station.x, station.y, 0.0, 0.0, 0.0, station.yaw)


class ArrivalReader(GoalReader):
    """Reads a goal when it arrives, in the executor's thread, which must not access the world.

    Poses in the map frame, the usual case, are final. Goals with poses in other frames can be checked, but must be read
    again in the simulation's thread.
    """

    def pose(self, stamped: PoseStamped) -> Pose:
        """Return a pose in its own frame; raises InvalidValueError."""
        # Other frames depend on where things are when the goal starts.
        if stamped.header.frame_id.removeprefix("/") not in ("", self._bridge.frames.map):
            self.is_final = False
        return pose_from_msg(stamped.pose)

    def station(self, name: str) -> Pose:
        """Return a placeholder."""
        # The scenario, and its site with it, may be another one when the goal starts.
        self.is_final = False
        return Pose((0.0, 0.0, 0.0))

    def time(self, stamp: Time) -> float | None:
        """Return a placeholder time, None to start at once."""
        # 0 is a stamp that nobody set: start at once.
        if time_from_msg(stamp) == 0:
            return None
        self.is_final = False
        # Any time will do: only the form of the goal is checked here.
        return 0.0


@dataclass(frozen=True)
class GoalOutcome:
    """How a goal ended: `cause` is a value of fleet_sim_msgs/msg/Cause, NONE for success; `duration` in s.

    `action` is the action of the goal, None if it never began.
    """

    cause: int
    text: str
    duration: float = 0.0
    action: Action | None = None
    request: Any = None
    """The goal's message."""

    @property
    def success(self) -> bool:
        """Whether the goal was reached."""
        return self.cause == 0


@dataclass(frozen=True)
class Progress:
    """Progress of a running goal: the robot's pose, distance left in m, share of it done, time since start in s."""

    phase: str
    pose: PoseStamped
    distance_left: float
    fraction: float
    duration: float
    details: Mapping[str, Any] = field(default_factory=dict)
    """The feedback of the action itself."""
    action: Action | None = None
    request: Any = None
    """The goal's message."""
    speed: float = 0.0
    """Of the robot, in m/s."""
    blocked_by: str = ""
    """Name of what keeps the action from going on; empty: nothing."""


def _everyone(world: World, robot: str) -> bool:
    return True


def _always(params: RosParams) -> bool:
    return True


@dataclass(frozen=True)
class ActionKind:
    """An action by `name`: its interface `type`, and how a goal becomes an action of the simulation.

    `build(goal, reader)` raises FleetSimError if the goal is invalid. `result(outcome)` and
    `feedback(progress)` return messages. `per_fleet`: the goal names the robot, so one server can serve the fleet.
    `serves(world, robot)` says which robots have it, `asked_for(params)` whether anybody has. Goals of `navigation` are
    rejected while the navigation of their robot is deactivated. `succeeded(bridge, robot)` is called for each success.
    """

    name: str
    type: Any
    build: Callable[[Any, GoalReader], Action]
    result: Callable[[GoalOutcome], Any]
    feedback: Callable[[Progress], Any]
    per_fleet: bool = True
    serves: Callable[[World, str], bool] = _everyone
    asked_for: Callable[[RosParams], bool] = _always
    navigation: bool = False
    succeeded: Callable[[Bridge, str], None] | None = None
    of_joints: bool = False
    """Whether it is offered under the name of a controller of joints, where the settings have one."""

    def topic(self, params: RosParams) -> str:
        """Return its name below that of a robot."""
        return params.in_joint_controller(self.name) if self.of_joints else self.name


def own_kind(name: str, kind: Any, build: Callable[[Any, GoalReader], Action]) -> ActionKind:
    """Return an action of fleet_sim_msgs; all of them share the fields of result and feedback."""

    def result(outcome: GoalOutcome) -> Any:
        return kind.Result(success=outcome.success, cause=outcome.cause, text=outcome.text, duration=outcome.duration)

    def feedback(progress: Progress) -> Any:
        return kind.Feedback(
            phase=progress.phase,
            pose=progress.pose,
            distance_left=progress.distance_left,
            progress=progress.fraction,
            blocked_by=progress.blocked_by,
        )

    return ActionKind(name, kind, build, result, feedback)


def patience_of(goal: Any) -> float | None:
    """Return how long a goal lets its robot stand before a static body, in s; 0: for ever, None: as the run does."""
    return None if goal.blocked_timeout < 0.0 else goal.blocked_timeout


def timeout_of(goal: Any) -> float | None:
    """Return the timeout of a goal in s; None for no timeout."""
    return None if goal.timeout == 0.0 else goal.timeout


# An action server whose goals are executed by the simulation, not by a callback that waits.


MOST = 256
"""Requests of one turn, so that other services are served between those of a client that never stops."""
REQUESTS = ("goal", "cancel", "result")
"""The parts of what is taken in which there is a request."""


class SimulatedActionServer(ActionServer):
    """Accepts goals and passes them on; `finish` ends them. A running goal needs neither a thread nor a task.

    Requests are taken in batches, and handled in the order of their arrival, and statuses published once for a batch:
    rclpy's executor takes one request a turn, and each turn builds the set of everything that it waits for; and at each
    change of a goal, rclpy publishes the statuses of all goals. Of a thousand goals sent at once the last waited for
    seconds. pocket_ros waits on a set that lasts, keeps its statuses as bytes, and calls nothing of this.
    """

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
        self.kind, self.name = kind, name
        self._begin_cancelling = cancel
        self._node_of_tasks = node
        self.sleeping: SleepingServers | None = None
        """Where it sleeps while nothing comes for it; None: an executor waits on it all the time."""
        self._call = -1
        self._later: StatusesLater | None = None
        self._statuses: StatusesLater | None = None
        super().__init__(
            node,
            kind.type,
            name,
            execute_callback=_never_called,
            goal_callback=lambda goal: GoalResponse.ACCEPT if wants(goal) else GoalResponse.REJECT,
            handle_accepted_callback=lambda handle: accepted(self, handle),
            cancel_callback=self._let_cancel,
            callback_group=group,
            **qos.GOALS,
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

    # ---- requests in batches -----------------------------------------------------------------------------------------

    def add_to_wait_set(self, wait_set: Any) -> None:
        """Have an executor wait on it."""
        if self.sleeping is not None:
            self._call = self.sleeping.call_of(self)
        super().add_to_wait_set(wait_set)

    def is_ready(self, wait_set: Any) -> bool:
        """Return whether there is something to do."""
        ready: bool = super().is_ready(wait_set)
        if not ready and self.sleeping is not None:
            self.sleeping.rest(self, self._call)
        return ready

    def take_data(self) -> deque[dict[str, Any]]:
        """Return what is waiting, at most `MOST` requests of a kind; called where something is ready."""
        taken: deque[dict[str, Any]] = deque()
        try:
            while len(taken) < MOST:
                data = super().take_data()
                more = any(request in data for request in REQUESTS)
                # The first may be a goal that has expired, without any request.
                if more or not taken:
                    taken.append(data)
                if not more:
                    break
        except BaseException:
            # A request that cannot be decoded must not cost those that came before it.
            self._put_off(taken)
            raise
        return taken

    async def execute(self, taken_data: deque[dict[str, Any]]) -> None:
        """Handle what was taken. Where handling one raises, the rest is handled in the next turn."""
        try:
            while taken_data:
                await super().execute(taken_data.popleft())
        finally:
            self._put_off(taken_data)

    def _put_off(self, taken: deque[dict[str, Any]]) -> None:
        if taken:
            self._node_of_tasks.executor.create_task(self.execute, taken)

    # ---- statuses ----------------------------------------------------------------------------------------------------

    @property
    def native(self) -> Any:
        """The server of the C library; None where the client library has none."""
        return getattr(self, "_own_handle", None)

    @property
    def _handle(self) -> Any:
        """The server of the C library, by the name under which rclpy's goals ask for it to publish the statuses."""
        return self._own_handle if self._later is None else self._later

    @_handle.setter
    def _handle(self, handle: Any) -> None:
        self._own_handle = handle
        self._statuses = StatusesLater(handle, self._node_of_tasks)

    @contextmanager
    def changing_state(self) -> Iterator[None]:
        """While the state of a goal changes: the statuses are published in the next turn, once for all changes."""
        self._later = self._statuses
        try:
            yield
        finally:
            self._later = None

    def destroy(self) -> None:
        """End the server; statuses that were to be published are not."""
        if self._statuses is not None:
            self._statuses.close()
        if self.sleeping is not None:
            self.sleeping.remove(self)
        super().destroy()


class StatusesLater:
    """Stands for the server of the C library, but publishes the statuses in the next turn of the executor."""

    def __init__(self, handle: Any, node: Any) -> None:
        self._handle = handle
        self._node = node
        self._waiting = False
        self._closed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._handle, name)

    def publish_status(self) -> None:
        """Publish the statuses of all goals soon."""
        if not self._waiting:
            self._waiting = True
            self._node.executor.create_task(self._publish)

    def _publish(self) -> None:
        self._waiting = False
        if not self._closed:
            self._handle.publish_status()

    def close(self) -> None:
        """Publish no more."""
        self._closed = True


def _never_called(goal_handle: Any) -> None:
    raise AssertionError("goals are executed by the simulation")


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
    ActionCause.BREAKDOWN: Cause.BREAKDOWN,
    ActionCause.EMERGENCY_STOP: Cause.EMERGENCY_STOP,
    ActionCause.MANUAL_MODE: Cause.MANUAL_MODE,
    ActionCause.LOCALIZATION_LOST: Cause.LOCALIZATION_LOST,
    ActionCause.DISTURBED: Cause.DISTURBED,
    ActionCause.CLOSED: Cause.CLOSED,
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
            (position,), (orientation,) = world.believed_poses(np.array([row]))
            pose = PoseStamped(pose=row_to_pose_msg(position, orientation))
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
            publish = partial(goal.handle.publish_feedback, goal.server.kind.feedback(told))
            self._bridge.send_from(row, "feedback", publish)

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
        def post() -> None:
            self._bridge.mailbox.post(lambda: self._finish(goal, outcome))

        index = self._bridge.sim.world.index
        if index.has_name(goal.robot):
            # Results are asked for until they come.
            self._bridge.send_from(index.row_named(goal.robot), "actions", post, resent=True)
        else:
            post()


def _set_final_state(handle: Any, outcome: GoalOutcome) -> None:
    if outcome.success:
        handle.succeed()
    elif outcome.cause == Cause.CANCELED and handle.is_cancel_requested:
        handle.canceled()
    else:
        handle.abort()


def _key(handle: Any) -> bytes:
    return bytes(handle.goal_id.uuid)


# Goals whose client has gone: reported, or ended where `client_timeout` is set.


UNHEARD = 2.0
"""Time in s without a client until it counts as gone: discovery may be later than the goal itself."""


class ClientLeases:
    """Finds the open goals that nobody listens to any more; in the executor's thread, once a second.

    Every action client subscribes to the feedback of its action, and goals are told apart by that only: a goal of an
    action with two clients counts as attended while one of them lives. A client that ends is noticed at once, one that
    was killed when the middleware gives it up, with Cyclone DDS after 10 s.
    """

    def __init__(self, bridge: Bridge, goals: Goals, timeout: float) -> None:
        """`timeout` in s of real time; 0: the robots go on."""
        self._bridge = bridge
        self._goals = goals
        self._timeout = timeout
        self._since: dict[str, float] = {}
        self._told: set[str] = set()

    def look(self) -> None:
        """Report goals that are unattended now, or end those that have been so for too long."""
        # Wall time: clients are gone in real time, also where the simulation pauses.
        goals, now = self._goals.open, time.monotonic()
        # Feedback is what every client of an action subscribes to; a count per name, not per goal.
        counts = {name: self._bridge.node.count_subscribers(f"{name}/_action/feedback") for name in names_of(goals)}
        # An entry lives as long as nobody listens, so the time begins anew when a client comes back.
        self._since = {name: self._since.get(name, now) for name, count in counts.items() if not count}
        unattended = {goal: now - self._since[goal.server.name] for goal in goals if goal.server.name in self._since}
        gone = {goal: unheard for goal, unheard in unattended.items() if unheard >= UNHEARD}
        self._bridge.gateway.unattended_goals = len(gone)
        # Forgotten with their goals, or the set would grow for ever.
        self._told &= {goal.name for goal in goals}
        for goal, unheard in gone.items():
            if goal.name not in self._told and unheard >= self._timeout:
                self._told.add(goal.name)
                self._tell(goal)

    def _tell(self, goal: AcceptedGoal) -> None:
        if self._timeout:
            self._goals.cancel(goal.handle, f"its client was gone for {self._timeout:g} s (client_timeout)")
        else:
            self._bridge.node.get_logger().warning(
                f"the client that sent a goal of {goal.server.name} for {goal.robot!r} disconnected; the robot goes on."
                " Set client_timeout to cancel such goals"
            )


def names_of(goals: Iterable[AcceptedGoal]) -> set[str]:
    """Return the names of the actions of `goals`."""
    return {goal.server.name for goal in goals}

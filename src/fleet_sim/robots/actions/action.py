"""Action: the base class of all actions, and the conditions an action can wait for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial, wraps
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from fleet_sim.base.arrays import Floats, Ints, as_float, as_floats
from fleet_sim.base.errors import ConfigError, FleetSimError, InvalidValueError, StateError
from fleet_sim.base.geometry import Path, pose_arrays
from fleet_sim.base.limits import LONGEST_TIME
from fleet_sim.base.params import ActionCause, ActionStatus
from fleet_sim.base.registry import saved
from fleet_sim.base.settings import check_fields, setting
from fleet_sim.base.settings.fields import fields_of
from fleet_sim.base.spatial import quaternions
from fleet_sim.robots import drive
from fleet_sim.robots.agent import Agent
from fleet_sim.world.clock import Clock
from fleet_sim.world.conditions import conditions_of
from fleet_sim.world.schema import NO_ROW

Canceller = Callable[[str, ActionCause], None]
"""Ends an action that is queued or running: called with the reason and the cause."""

BLOCKED_DOC = "Time after which it fails where a static body blocks the robot; None: that of the run, 0: never."
FINAL = (ActionStatus.COMPLETED, ActionStatus.FAILED, ActionStatus.CANCELLED)


@saved
@dataclass(frozen=True)
class Until:
    """The condition that wakes an action: arrival of the agent or of its joints, a simulation time (s), or the first.

    A waiting action costs nothing. Waking up early is harmless: `update` must check the state, not the reason of the
    call.
    """

    arrival: bool = False
    time: float | None = None
    joints: bool = False
    """All joints with targets have reached them; not signalled for robots whose joints are moved by motors."""


@saved
class Failure(NamedTuple):
    """Why an action cannot continue: a message and a machine-readable cause."""

    message: str
    cause: ActionCause = ActionCause.FAILED


def _started_by_hand(start: Callable[[Any, Agent], Until | None]) -> Callable[[Any, Agent], Until | None]:
    """Return `start` for who calls it without a queue, too: the action then runs, and `stop` ends it."""

    @wraps(start)
    def begun(action: Action, agent: Agent) -> Until | None:
        if action.status is ActionStatus.IN_PROGRESS:
            return start(action, agent)
        return action.begin(agent, partial(action._cancel_by_hand, agent))

    return begun


def _stopped_by_hand(stop: Callable[[Any, Agent], None]) -> Callable[[Any, Agent], None]:
    """Return `stop` for who calls it to end the action, too: one that runs is cancelled, and then cleans up."""

    @wraps(stop)
    def stopped(action: Action, agent: Agent) -> None:
        if action.is_complete():
            stop(action, agent)
        elif action.status is ActionStatus.IN_PROGRESS or action._on_cancel is not None:
            action.cancel("stopped")

    return stopped


class Action:
    """One task of an agent.

    A subclass overrides `start` and `update`. Both may end the action with `complete()` or `fail(message, cause)`;
    otherwise they return an `Until`, or None to be called in the next step. In both, `agent.set_goal`, `set_path`,
    `set_velocity` and `stop` command the robot for this action; called from anywhere else they cancel it.

    Attributes: `status`, `error_message` and `cause` (why it failed or was cancelled, in words and as an ActionCause,
    else None), `start_time` and `end_time` in s of simulation time (None until then), `timeout` in s after which it
    fails (None: never).
    """

    moves_base: ClassVar[bool] = True
    """Whether a command to drive, given while the action runs, cancels it."""
    heeds_obstacles: ClassVar[bool] = False
    """Whether the action is woken when its robot stops before a new obstacle."""

    def __init__(self, timeout: float | None = None) -> None:
        """Make an action that has not started; `timeout` in s of simulation time, None: as long as it takes.

        Raises InvalidValueError for a timeout that is negative or too long for the clock.
        """
        self.timeout = None if timeout is None else as_float(timeout, "timeout in s", low=0.0, high=LONGEST_TIME)
        self.status = ActionStatus.NOT_STARTED
        self.error_message: str | None = None
        self.cause: ActionCause | None = None
        self.start_time: float | None = None
        self.end_time: float | None = None
        self.goal = ""
        """Id of the goal that the action was given with, for cancelling only its actions."""
        self._clock: Clock | None = None
        self._agent: Agent | None = None
        self._blocked_by: str | None = None
        self._on_cancel: Canceller | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Let `start` and `stop` of the class be called by hand as well as by the queue."""
        super().__init_subclass__(**kwargs)
        if "start" in vars(cls):
            cls.start = _started_by_hand(cls.start)  # type: ignore[method-assign]
        if "stop" in vars(cls):
            cls.stop = _stopped_by_hand(cls.stop)  # type: ignore[method-assign]

    # ---- to override -------------------------------------------------------------------------------------------------

    @_started_by_hand
    def start(self, agent: Agent) -> Until | None:
        """Start the action."""
        return None

    def update(self, agent: Agent, dt: float) -> Until | None:
        """Continue the action; `dt` is the time step."""
        return None

    @_stopped_by_hand
    def stop(self, agent: Agent) -> None:
        """Clean up: called once, however the action ended. By hand it ends an action that runs, and stops the robot."""

    def finish(self) -> bool:
        """End the running action with success, by the command FinishActions; return whether it waits for that."""
        return False

    def moves_joints(self, places: Ints) -> bool:
        """Return whether the running action moves some of the joints at `places` (K,) among those that move.

        A command to such a joint cancels the action.
        """
        return False

    def parts(self) -> list[Action]:
        """Return the actions that this one runs internally; they are saved and restored with it."""
        return []

    def hinderer(self, agent: Agent) -> int:
        """Return the row of what keeps the running action from going on, or NO_ROW."""
        row = int(agent.world.motion.blocked_by[agent.row]) if self.moves_base else NO_ROW
        # It may have been removed since the last step.
        return row if agent.world.alive[row] else NO_ROW

    def check_unused(self) -> None:
        """Raise StateError where it was used already or is in a queue: one action serves one robot, once."""
        if self.status is not ActionStatus.NOT_STARTED:
            raise StateError(f"{self!r} was already used; call reset() to use it again")
        if self._on_cancel is not None:
            raise StateError(f"{self!r} is already in a queue")

    # ---- ending ------------------------------------------------------------------------------------------------------

    def complete(self) -> None:
        """End with success."""
        self._end(ActionStatus.COMPLETED, None, None)

    def fail(self, message: str, cause: ActionCause = ActionCause.FAILED) -> None:
        """End without success."""
        self._end(ActionStatus.FAILED, message, cause)

    def cancel(self, reason: str = "cancelled", cause: ActionCause = ActionCause.CANCELLED) -> None:
        """End the action at once; a running action stops its robot. An action that has ended is not changed."""
        if self.is_complete():
            return
        if self._on_cancel is not None:
            self._on_cancel(reason, cause)
        else:
            self._end(ActionStatus.CANCELLED, reason, cause)

    def fail_as(self, part: Action) -> None:
        """Fail for the reason for which `part`, which ran within this action, has ended."""
        self._blocked_by = part.blocked_by
        self.fail(part.error_message or "", part.cause or ActionCause.FAILED)

    def fail_blocked(self, agent: Agent) -> bool:
        """Fail where the robot has stood before a static body for as long as it waits; return whether that is so."""
        if not drive.is_blocked_too_long(agent.world, agent.row):
            return False
        self._blocked_by = agent.world.label(int(agent.world.motion.blocked_by[agent.row]))
        self.fail(drive.blocked_text(agent.world, agent.row), ActionCause.BLOCKED)
        # Here, as a part of another action ends without that one.
        drive.stop(agent.world, np.array([agent.row]))
        return True

    def fail_inside(self, agent: Agent, path: Path, align_final: bool = True, tolerance: float = 0.0) -> bool:
        """Fail where `path` leads into a static body and the robot would stop before it; return whether that is so."""
        world, positions, orientations = agent.world, *pose_arrays(path)
        rows, lengths = np.array([agent.row]), np.array([len(path)])
        inside = drive.goals_inside(
            world, rows, lengths, positions, orientations, align_final=align_final, tolerance=tolerance
        )
        for number, body in inside.values():
            self._blocked_by = world.label(body)
            self.fail(drive.inside_text(world, number, body, len(path)), ActionCause.BLOCKED)
        return bool(inside)

    def _end(self, status: ActionStatus, message: str | None, cause: ActionCause | None) -> None:
        self.status = status
        self.error_message = message
        self.cause = cause
        self.end_time = self._clock.time if self._clock is not None else None
        self._on_cancel = self._agent = None

    # ---- queries -----------------------------------------------------------------------------------------------------

    def is_complete(self) -> bool:
        """Return whether the action has ended, successfully or not."""
        return self.status in FINAL

    @property
    def blocked_by(self) -> str | None:
        """Name of what keeps the running action from going on: what stands before its robot, or a door or lift.

        None where nothing does. An action that failed for it keeps the name.
        """
        if self._agent is None:
            return self._blocked_by
        row = self.hinderer(self._agent)
        return None if row == NO_ROW else self._agent.world.label(row)

    def get_duration(self) -> float:
        """Return how long the action has run, in s of simulation time; 0 before it starts."""
        if self.start_time is None:
            return 0.0
        if self.end_time is not None:
            return self.end_time - self.start_time
        return 0.0 if self._clock is None else self._clock.time - self.start_time

    # ---- running -----------------------------------------------------------------------------------------------------

    def begin(self, agent: Agent, on_cancel: Canceller | None = None) -> Until | None:
        """Start the action for `agent`: what the scheduler and `execute` call. Raises StateError the second time."""
        if self.status is not ActionStatus.NOT_STARTED:
            raise StateError(f"{type(self).__name__} was already started; call reset() to use it again")
        clock = agent.world.clock
        # Kept, as durations are asked for where there is no agent at hand.
        self._clock = clock
        self._agent = agent
        self._on_cancel = on_cancel
        self.status = ActionStatus.IN_PROGRESS
        self.start_time = clock.time
        return self._timed(self.start(agent))

    def proceed(self, agent: Agent, dt: float) -> Until | None:
        """Update the running action, unless its time is up."""
        # The tolerance lets it end in the step in which its time is up, in spite of rounding.
        if self.timeout is not None and self.get_duration() >= self.timeout - 1e-9:
            self.fail(f"timed out after {self.timeout:g} s", ActionCause.TIMEOUT)
            return None
        return self._timed(self.update(agent, dt))

    def _timed(self, until: Until | None) -> Until | None:
        if until is None or self.timeout is None or self.start_time is None:
            return until
        limit = self.start_time + self.timeout
        return replace(until, time=limit if until.time is None else min(limit, until.time))

    def execute(self, agent: Agent, dt: float) -> bool:
        """Run the action manually, once per step: the first call starts it, further calls continue it.

        Returns whether it has ended. Actions in an agent's queue are run by the simulation instead.
        """
        if self.is_complete():
            return True
        if self.status is ActionStatus.NOT_STARTED:
            self.begin(agent, partial(self._cancel_by_hand, agent))
        else:
            self.proceed(agent, dt)
        if self.is_complete():
            # The scheduler does this for queued actions.
            self.stop(agent)
        return self.is_complete()

    def _cancel_by_hand(self, agent: Agent, reason: str, cause: ActionCause) -> None:
        self._end(ActionStatus.CANCELLED, reason, cause)
        self.stop(agent)
        drive.stop(agent.world, np.array([agent.row]))

    def reset(self) -> None:
        """Make an action that is not running ready to start again; raises StateError for a running one."""
        if self.status is ActionStatus.IN_PROGRESS:
            raise StateError(f"{type(self).__name__} is running; cancel it before resetting it")
        if self.status is ActionStatus.NOT_STARTED:
            return  # it may be waiting in a queue
        self.status = ActionStatus.NOT_STARTED
        self.error_message = self.cause = None
        self.start_time = self.end_time = self._clock = self._on_cancel = self._blocked_by = None

    def progress(self, agent: Agent) -> dict[str, Any]:
        """Return the progress of a running action, for feedback."""
        return {"phase": str(self.status), "duration": self.get_duration(), "blocked_by": self.blocked_by or ""}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.status}>"


# DeclaredAction: the base of actions whose parameters are declared once, as settings.


Numbers: TypeAlias = Sequence[float] | Floats


@dataclass(eq=False, repr=False)
class DeclaredAction(Action):
    """An action whose parameters are dataclass fields made by `setting`: type, range, unit and meaning in one place.

    The constructor checks them, and actions from files, JSON or messages are made by it too. They may be set until a
    robot has the action. A subclass is a dataclass
    with `eq=False, repr=False` (an action is equal to itself only). It initialises its running state in
    `__post_init__`, after its base class; raises InvalidValueError.
    """

    _: KW_ONLY
    timeout: float | None = setting(None, low=0.0, unit="s", doc="Time after which the action fails; None: never.")

    def __post_init__(self) -> None:
        try:
            check_fields(self)
        except ConfigError as error:
            raise InvalidValueError(str(error)) from error
        # After the checks: the base class trusts its arguments.
        super().__init__(self.timeout)

    def __setattr__(self, name: str, value: object) -> None:
        """Set a parameter as if it had been given at first; raises AttributeError once a robot has the action."""
        state = vars(self)
        if "status" not in state or "_changing" in state or name not in fields_of(type(self)):
            super().__setattr__(name, value)
            return
        if self.status is not ActionStatus.NOT_STARTED or self._on_cancel is not None:
            kind = type(self).__name__
            raise AttributeError(f"{kind}.{name} counts until a robot has the action; cancel it and give another one")
        before = dict(state)
        # What follows from the parameters is made by `__post_init__`, so it is made anew.
        state.update({name: value, "_changing": True})
        try:
            self.__post_init__()
        except BaseException:
            state.clear()
            state.update(before)
            raise
        del state["_changing"]
        self.goal = before["goal"]


def read_point(value: object) -> Floats | None:
    """Return a position (3,), or None for None; raises InvalidValueError."""
    return _numbers(value, 3)


def read_turn(value: object) -> Floats | None:
    """Return a quaternion (4,), not normalised, or None for None; raises InvalidValueError."""
    return _numbers(value, 4)


def _numbers(value: object, count: int) -> Floats | None:
    if value is None:
        return None
    try:
        return as_floats(value, (count,), "numbers")
    except InvalidValueError as error:
        raise InvalidValueError(f"must be {count} finite numbers, got {value!r}") from error


def as_given(value: object) -> object:
    """Return `value`: the reader of parameters that can be checked only against the robot, when the action starts."""
    return value


# Who cannot drive by itself, and driving as a passenger of the traffic.


def is_conveyed(agent: Agent) -> bool:
    """Return whether the robot is driven by the traffic."""
    return agent.world.routes.conveys(agent.row)


def reason_not_to_drive(agent: Agent) -> str:
    """Return why nothing else drives a robot of the traffic."""
    conveyance = agent.world.routes.conveyance
    return "" if conveyance is None else conveyance.reason


def set_out(
    agent: Agent, path: Path, leg: int, align_final: bool, tolerance: float, *, only_check: bool = False
) -> Failure | None:
    """Send the robot to the pose number `leg` of `path`, or `only_check` that; return why it is not sent, or None."""
    conveyance = agent.world.routes.conveyance
    if conveyance is None or not conveyance.drives(agent.row):
        return Failure("the robot takes part in the traffic no longer", ActionCause.UNREACHABLE)
    positions, orientations = pose_arrays(path)
    heading = quaternions.yaw_of(orientations, leg) if align_final and leg == len(positions) - 1 else None
    try:
        send = conveyance.check_goal if only_check else conveyance.send_to
        send(agent.row, positions[leg], heading, tolerance)
    except FleetSimError as error:
        return Failure(str(error), ActionCause.INVALID_GOAL)
    return None


def is_there(agent: Agent) -> bool | Failure:
    """Return whether the robot is where it was sent, or why it will not come there."""
    conveyance = agent.world.routes.conveyance
    if conveyance is None or not conveyance.drives(agent.row):
        return Failure("the robot takes part in the traffic no longer", ActionCause.UNREACHABLE)
    return conveyance.has_brought(agent.row)


def immovable(agent: Agent) -> Failure | None:
    """Return why the agent cannot drive, or None."""
    if not agent.can_move:
        return Failure("the agent has a fixed base and cannot move", ActionCause.UNREACHABLE)
    conditions, row = conditions_of(agent.world), agent.row
    if conditions is not None and conditions.halted[row]:
        refusing = (rule for rule in agent.world.drive_rules if rule.refuses(np.array([row]))[0])
        # The traffic refuses all that it drives, and drives them itself.
        own: object = agent.world.routes.conveyance
        reason = next(rule.reason_of(row) for rule in refusing if rule is not own)
        return Failure(reason, ActionCause.from_code(int(conditions.cause[row])))
    holder = agent.attached_to
    if holder is None:
        return None
    return Failure(f"the agent is carried by {holder!r} and cannot move by itself", ActionCause.UNREACHABLE)

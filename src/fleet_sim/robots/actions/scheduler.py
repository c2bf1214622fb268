"""The action scheduler: the queues of all agents, and the events that wake their actions."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import NoneType
from typing import Any

import numpy as np

from fleet_sim.base.arrays import Bools, Bytes, Ints, Rows
from fleet_sim.base.errors import InvalidValueError, StateFileError
from fleet_sim.base.params import ActionCause, ActionStatus
from fleet_sim.robots import drive
from fleet_sim.robots.actions.action import Action, Canceller, Until
from fleet_sim.robots.actions.registry import describe_action, parse_action_goal
from fleet_sim.robots.agent import Agent
from fleet_sim.world.checkpoint import check_row
from fleet_sim.world.clock import Clock
from fleet_sim.world.columns import ColumnTable, column
from fleet_sim.world.state_files import Stateful
from fleet_sim.world.world import World

# The columns of actions.


IDLE, ARRIVAL, OTHER, JOINTS = 0, 1, 2, 4
"""What a running action waits for; ARRIVAL and JOINTS may be added up."""


class ActionColumns(ColumnTable):
    """Which agents have actions, and what the running one waits for."""

    waiting: Bytes = column(
        np.uint8, writer="ActionScheduler", doc="0 no action, 2 something else, or sum of 1 its arrival, 4 its joints"
    )
    busy: Bools = column(bool, writer="ActionScheduler", doc="an action runs or is queued")


# What a state file says of queues and actions, checked before it becomes them.


def with_parts(actions: Iterable[Action]) -> list[Action]:
    """Return `actions`, and all that they are made of."""
    found = list(actions)
    # The list grows while it is walked: parts may have parts of their own.
    for action in found:
        found += action.parts()
    return found


def check_queues(world: World, saved: Mapping[str, Any]) -> None:
    """Raise StateFileError for what `ActionScheduler.save` never returns."""
    known = {id(action) for action, _ in saved["states"]}
    waiting = [action for queue in saved["queues"].values() for action in queue]
    for row in (*saved["queues"], *saved["running"], *saved["woken"], *saved["polled"]):
        check_row(world, row)
    for action in (*saved["running"].values(), *waiting):
        if id(action) not in known:
            raise StateFileError("actions: one has no state")
    for tick, serial, row, action in saved["timers"].values["heap"]:
        check_row(world, row)
        if type(tick) is not int or type(serial) is not int or id(action) not in known:
            raise StateFileError("actions: a timer without a time or an action")
    for action, state in saved["states"]:
        _check_action(action, state)


def _check_action(action: object, state: Mapping[str, Any]) -> None:
    """Raise StateFileError unless `state` can be the attributes of an action."""
    times = [state["start_time"], state["end_time"], state["timeout"]]
    texts = [state["error_message"] or "", state["goal"]]
    status, clock = state["status"], state["_clock"]
    good = isinstance(action, Action) and isinstance(status, ActionStatus)
    good = good and isinstance(state["cause"], (ActionCause, NoneType)) and isinstance(clock, (Clock, NoneType))
    good = good and all(time is None or type(time) is float for time in times)
    good = good and all(isinstance(text, str) for text in texts)
    # One that runs knows the time.
    if not good or (status is ActionStatus.IN_PROGRESS and (clock is None or times[0] is None)):
        raise StateFileError(f"{type(action).__name__}: not the state of an action")


# The timers of actions: which agents are to be woken at a step of the clock.


Timer = tuple[int, int, int, Action]
"""The tick it is due at, a serial number, the agent's row, and the action that waits."""

_LEAST_LIMIT = 64


class ActionTimers(Stateful):
    """Timers of running actions, in the order in which they are due.

    `running` (row -> action) is the scheduler's: the timer of an action that has ended counts for nothing.
    """

    STATE = ("heap",)

    def __init__(self, running: Mapping[int, Action]) -> None:
        self._running = running
        self.heap: list[Timer] = []
        self._limit = _LEAST_LIMIT
        self._serial = 0

    def add(self, tick: int, row: int, action: Action) -> None:
        """Wake the agent in `row` at `tick`, if `action` still runs there by then."""
        # Breaks ties in the heap, as actions cannot be compared.
        self._serial += 1
        heapq.heappush(self.heap, (tick, self._serial, row, action))
        if len(self.heap) > self._limit:
            self._drop_old()

    def due(self, tick: int) -> list[int]:
        """Take out the timers that are due at `tick`; return the rows whose action still runs."""
        rows: list[int] = []
        while self.heap and self.heap[0][0] <= tick:
            _, _, row, action = heapq.heappop(self.heap)
            # The timer of an action that has ended stays in the heap until it is due.
            if self._running.get(row) is action:
                rows.append(row)
        return rows

    def _drop_old(self) -> None:
        """Remove the timers of actions that have ended; late ones would accumulate."""
        self.heap = [timer for timer in self.heap if self._running.get(timer[2]) is timer[3]]
        heapq.heapify(self.heap)
        # Doubled, so that tidying up costs a constant time per timer on average.
        self._limit = max(_LEAST_LIMIT, 2 * len(self.heap))


class ActionScheduler:
    """Runs the actions of all agents (an ActionQueues).

    Python code runs only for agents whose action is woken in this step: a thousand robots in the middle of a MoveTo
    cost nothing. Agents are woken in the order of their ids.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._columns = world.add_table("actions", ActionColumns)
        self._queues: dict[int, deque[Action]] = {}
        self._running: dict[int, Action] = {}
        self.woken: set[int] = set()
        self.polled: set[int] = set()
        self.timers = ActionTimers(self._running)
        self.user_defined = False
        """Whether a user-defined action was ever queued: its code may read any state."""
        self._acting: int | None = None
        world.on_remove.append(self._forget)

    # ---- ActionQueues ------------------------------------------------------------------------------------------------

    def add(self, row: int, action: Any, goal: str = "") -> None:
        """Append `action`, with `goal` as its id for `cancel_goal`; it starts when those before it have ended."""
        self.check(action)
        action.goal = goal
        self._queues.setdefault(row, deque()).append(action)
        self.user_defined = self.user_defined or not type(action).__module__.startswith("fleet_sim.")
        # This also marks it as queued, so that `check` refuses it a second time.
        action._on_cancel = self._canceller(row, action)
        self._columns.busy[row] = True
        if row not in self._running:
            self.woken.add(row)

    def check(self, action: Any) -> None:
        """Raise InvalidValueError unless it is an Action, and StateError if it was already used or queued."""
        if not isinstance(action, Action):
            raise InvalidValueError(f"an action must derive from Action, got {action!r}")
        action.check_unused()

    parse = staticmethod(parse_action_goal)
    describe = staticmethod(describe_action)

    def cancel(self, row: int, reason: str, cause: ActionCause = ActionCause.PREEMPTED) -> bool:
        """End the running and all queued actions as CANCELLED with `reason`; the caller stops the robot if needed.

        Commands that an action gives to its own robot while it starts or updates do not cancel it.
        """
        return row != self._acting and self._cancel_all(row, reason, cause)

    def cancel_base(self, row: int, reason: str, cause: ActionCause = ActionCause.PREEMPTED) -> bool:
        """Like `cancel`, but a running action that only moves joints continues."""
        running = self._running.get(row)
        if row == self._acting or running is None or running.moves_base:
            return self.cancel(row, reason, cause)
        queued = self._queues.pop(row, ())
        for action in queued:
            self._end(row, action, reason, cause)
        self._note(row)
        return bool(queued)

    def cancel_goal(self, row: int, goal: str, reason: str) -> bool:
        """End the actions with the id `goal` as CANCELLED; return whether there were any."""
        queue = (self._running.get(row), *self._queues.get(row, ()))
        actions = [action for action in queue if action is not None and action.goal == goal]
        for action in actions:
            action.cancel(reason)
        return bool(actions)

    def cancel_joints(self, row: int, places: Ints, reason: str) -> bool:
        """Like `cancel` if the running action moves some of the joints at `places` (K,); else do nothing."""
        running = self._running.get(row)
        return running is not None and running.moves_joints(places) and self.cancel(row, reason)

    def _cancel_all(self, row: int, reason: str, cause: ActionCause) -> bool:
        actions = [action for action in (self._running.get(row),) if action is not None]
        actions += self._queues.pop(row, ())
        for action in actions:
            self._end(row, action, reason, cause)
        self._note(row)
        return bool(actions)

    def busy(self, rows: Rows) -> Rows:
        """Return the `rows` with a running or waiting action: for others `cancel` does nothing."""
        return rows[self._columns.busy[rows]]

    def current(self, row: int) -> Action | None:
        """Return the running action, or None."""
        return self._running.get(row)

    def queued(self, row: int) -> int:
        """Return the number of running and waiting actions."""
        return (row in self._running) + len(self._queues.get(row, ()))

    def _cancel_one(self, row: int, action: Action, reason: str, cause: ActionCause) -> None:
        running = self._running.get(row) is action
        queue = self._queues.get(row)
        if not running and queue is not None:
            queue.remove(action)
        self._end(row, action, reason, cause)
        self._note(row)
        if running:
            drive.stop(self._world, np.array([row]))
            self.woken.add(row)

    def _end(self, row: int, action: Action, reason: str, cause: ActionCause) -> None:
        # An action that never began has nothing to clean up, and its end is not announced.
        started = action.status is ActionStatus.IN_PROGRESS
        action._end(ActionStatus.CANCELLED, reason, cause)
        if started:
            self._finish(row, action)

    def _note(self, row: int) -> None:
        self._columns.busy[row] = self.queued(row) > 0

    # ---- stepping ----------------------------------------------------------------------------------------------------

    def arrived(self, rows: Rows) -> None:
        """Wake, in the next step, the actions of `rows` that wait for the arrival of their robot."""
        self._wake(rows, ARRIVAL)

    def joints_settled(self, rows: Rows) -> None:
        """Wake, in the next step, the actions of `rows` that wait for the arrival of joints."""
        self._wake(rows, JOINTS)

    def blocked(self, rows: Rows) -> None:
        """Wake, in the next step, the actions of `rows`, which stand before a new obstacle, that want to know."""
        self.woken.update(row for row in rows.tolist() if row in self._running and self._running[row].heeds_obstacles)

    def blocked_too_long(self, rows: Rows) -> None:
        """Wake, in the next step, the actions of `rows`, whose time to wait before static bodies is up."""
        self.woken.update(row for row in rows.tolist() if row in self._running)

    def _wake(self, rows: Rows, event: int) -> None:
        self.woken.update(rows[self._columns.waiting[rows] & event != 0].tolist())

    def run(self, dt: float) -> None:
        """Update all actions that were woken."""
        self.woken.update(self.timers.due(self._world.clock.tick))
        if not self.woken and not self.polled:
            return
        # Woken rows are ordered by id, not by row: rows are reused, and a run must not depend on that.
        rows = self.woken | self.polled
        # A new set: what is woken while actions run waits for the next step.
        self.woken = set()
        ids = self._world.object_id
        for row in sorted(rows, key=lambda row: int(ids[row])):
            if self._world.alive[row]:
                self._advance(row, dt)

    def _advance(self, row: int, dt: float) -> None:
        """Update the running action, then start the next ones as long as they end at once."""
        agent: Agent = self._world.handles[row]
        while True:
            action = self._running.get(row)
            if action is None:
                action = self._next(row)
                if action is None:
                    return
                self._announce("action_started", row, action=action)
                call, what = partial(action.begin, agent, self._canceller(row, action)), "action start"
            else:
                call, what = partial(action.proceed, agent, dt), "action update"
            # Its own commands to its robot must not cancel it, see `_acting`.
            step = self._call(row, action, call, f"{what} of {type(action).__name__}")
            # Its own code has ended it, or a handler has: continue with what runs now, if anything does.
            if self._running.get(row) is not action:
                continue
            if not action.is_complete():
                self._wait(row, action, step)
                return
            self._settle(row, action)

    def _call(self, row: int, action: Action, call: Callable[[], Until | None], what: str) -> Until | None:
        """Call the action's code; an action that raises an exception fails."""
        guard = self._world.guard
        self._acting = row
        try:
            return call()
        except BaseException as error:
            self._acting = None
            caught = isinstance(error, Exception)
            if self._running.get(row) is action and not action.is_complete():
                action.fail("it raised an exception; see the log")
                # Where the exception leaves `_advance`, what that would do next is done here.
                if guard.raise_on_fault or not caught:
                    self.woken.add(row)
                    self._settle(row, action)
            if not caught:
                raise
            guard.note_failure(what, call)
            return None
        finally:
            self._acting = None

    def _settle(self, row: int, action: Action) -> None:
        """Finish the running action, which has ended; after a failure the robot is stopped."""
        if action.status is ActionStatus.FAILED:
            drive.stop(self._world, np.array([row]))
        self._finish(row, action)

    def _canceller(self, row: int, action: Action) -> Canceller:
        return partial(self._cancel_one, row, action)

    def _next(self, row: int) -> Action | None:
        queue = self._queues.get(row)
        if not queue:
            self._queues.pop(row, None)
            return None
        action = self._running[row] = queue.popleft()
        return action

    def _wait(self, row: int, action: Action, until: Until | None) -> None:
        if until is None:
            self.polled.add(row)
            self._columns.waiting[row] = OTHER
            return
        self.polled.discard(row)
        self._columns.waiting[row] = ARRIVAL * until.arrival + JOINTS * until.joints or OTHER
        if until.time is not None:
            self.timers.add(self._world.clock.ticks(until.time), row, action)

    def _finish(self, row: int, action: Action) -> None:
        # Before any user code: `stop` and handlers already see the robot without this action.
        self._running.pop(row, None)
        self.polled.discard(row)
        self._columns.waiting[row] = IDLE
        self._note(row)
        self._world.guard.call("action stop", action.stop, self._world.handles[row])
        self._announce("action_completed", row, action=action, status=action.status)

    def _announce(self, event: str, row: int, **details: Any) -> None:
        world = self._world
        world.events.emit(event, agent=world.handles[row], **details)
        world.entity_events.emit(row, event, **details)

    def _forget(self, rows: Rows) -> None:
        for row in rows.tolist():
            if row in self._running or row in self._queues:
                self._cancel_all(row, "the agent was removed", ActionCause.UNKNOWN_ROBOT)
            self.woken.discard(row)

    # ---- checkpoints -------------------------------------------------------------------------------------------------

    def save(self) -> dict[str, Any]:
        """Return queues, running actions and their inner state."""
        actions = with_parts(action for _, action in self.with_rows())
        return {
            "queues": {row: list(queue) for row, queue in self._queues.items()},
            "running": dict(self._running),
            "woken": set(self.woken),
            "polled": set(self.polled),
            "timers": self.timers.save(),
            "states": [(action, {**vars(action), "_on_cancel": None}) for action in actions],
        }

    def check_saved(self, saved: Any) -> None:
        """Raise StateFileError for what `save` never returns."""
        check_queues(self._world, saved)

    def restore(self, saved: dict[str, Any]) -> None:
        """Restore what `save` returned: the same action objects, in the state they had."""
        # Actions given since then will not run on, so they end here.
        kept = {id(action) for action, _ in saved["states"]}
        for action in (action for _, action in self.with_rows() if id(action) not in kept):
            action._end(ActionStatus.CANCELLED, "the simulation was reset", ActionCause.SHUTDOWN)
        self._queues = {row: deque(queue) for row, queue in saved["queues"].items()}
        # In place: the timers read it.
        self._running.clear()
        self._running.update(saved["running"])
        self.woken, self.polled = set(saved["woken"]), set(saved["polled"])
        self.timers.restore(saved["timers"])
        for action, state in saved["states"]:
            # In place: users hold these objects and look at their status.
            vars(action).clear()
            vars(action).update(state)
        for row, action in self.with_rows():
            action._on_cancel = self._canceller(row, action)

    def with_rows(self) -> list[tuple[int, Action]]:
        """Return all running and waiting actions with their rows."""
        return [*self._running.items(), *((row, action) for row, queue in self._queues.items() for action in queue)]

"""What a state file says of queues and actions, checked before it becomes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import NoneType
from typing import Any

from fleet_sim.actions.base import Action
from fleet_sim.config.modes import ActionCause, ActionStatus
from fleet_sim.core.clock import Clock
from fleet_sim.core.saving.checks import check_row
from fleet_sim.core.world import World
from fleet_sim.errors import StateFileError


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
    for tick, serial, row, action in saved["timers"]:
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

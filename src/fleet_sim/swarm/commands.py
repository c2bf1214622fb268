"""From the actions of controllers to velocity commands: checks, factors of each agent, delays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fleet_sim.arrays import Floats, Rows
from fleet_sim.core.columns import numbers_of
from fleet_sim.errors import InvalidValueError
from fleet_sim.swarm.agents import Group
from fleet_sim.swarm.unicycle import give, held_arrays, unicycle_arrays

_FLOAT = np.dtype(np.float64)


def drive(group: Group, actions: object) -> Rows:
    """Command the agents of `group` to do `actions` (N, 2), None for resting; return the rows that were commanded.

    NaN leaves an agent to other commands. Raises InvalidValueError for other shapes, and for what is infinite.
    """
    if actions is None:
        actions = np.zeros((len(group), 2))
    if not (group.acts_directly and _are_finite(actions, len(group.rows))):
        actions = group.kind.twists(group.config, _adjusted(group, _checked(group, actions), group.world.steps))
    return _give(group, actions)


def rest_held(group: Group) -> None:
    """Let those agents of `group`, which has no controller, rest that are halted or stopped, whatever drives them."""
    swarm, rows = group.swarm, group.rows
    if np.count_nonzero(swarm.halted.take(rows)) or np.count_nonzero(swarm.stopped.take(rows)):
        _give(group, np.full((len(rows), 2), np.nan))


def _give(group: Group, twists: Any) -> Rows:
    """Give body twists (N, 2) as commands; return the rows that were commanded."""
    columns, rows, clock = group.columns, group.rows, group.columns.clock
    driving, held = unicycle_arrays(columns).driving, held_arrays(group.swarm, compiled=columns.compiled)
    given = np.empty(len(rows), np.int64)
    if columns.compiled:
        # A copy: of other layouts, and of what cannot be written, kernels are compiled again.
        twists = np.array(twists, np.float64, order="C")
        count = give(rows, twists, clock.dt, clock.tick, held, columns.alive, driving, given)
    else:
        run, alive = give.in_python, columns.scalars.alive
        count = run(rows.tolist(), numbers_of(twists), clock.dt, clock.tick, held, alive, driving, numbers_of(given))  # type: ignore[arg-type]
    driven = rows if count == len(rows) else given[:count]
    columns.waypoints.discard(columns.motion, driven)
    return driven


def _are_finite(actions: object, count: int) -> bool:
    """Return whether these are finite numbers for `count` agents; False says nothing."""
    if type(actions) is not np.ndarray or actions.dtype is not _FLOAT or actions.shape != (count, 2):
        return False
    # What is infinite or not a number makes the sum so.
    return math.isfinite(np.add.reduce(actions, None))


def _checked(group: Group, actions: Any) -> Floats:
    """Return a controller's actions as (N, 2) numbers, finite or NaN; raises InvalidValueError."""
    array = np.array(actions, np.float64)
    if array.shape != (len(group.rows), 2) or np.count_nonzero(np.isinf(array)):
        raise InvalidValueError(
            f"{type(group.controller).__name__}: expected finite actions of shape ({len(group)}, 2), got {actions!r}"
        )
    return array


def _adjusted(group: Group, actions: Floats, steps: int) -> Floats:
    """Return actions with the agents' own factors put in, and as late as their settings say."""
    spread = getattr(group.config, "idiosyncrasies", None)
    if spread is not None:
        mean, deviation = spread
        factors = group.column("action factors", (2,), default=np.nan)
        # NaN marks agents that joined since: each draws its factors once, and keeps them.
        new = np.flatnonzero(np.isnan(factors[:, 0]))
        if len(new):
            factors[new] = group.rng.normal(mean, deviation, (len(new), 2))
        actions = actions * factors
    delay = getattr(group.config, "delay", 0)
    if delay:
        waiting = group.column("action queue", (delay, 2))
        if group.config.delay_start == "first":
            # Agents that joined since find their first action wherever they look.
            begun = group.column("action queue begun", dtype=bool, default=False)
            if not begun.all():
                waiting[~begun] = actions[~begun, None]
                begun[:] = True
        # A ring buffer: the slot holds the action of `delay` steps ago. It is copied before this step overwrites it.
        slot = steps % delay
        actions, waiting[:, slot] = waiting[:, slot].copy(), actions
    return actions

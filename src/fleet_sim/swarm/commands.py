"""From the actions of controllers to velocity commands: checks, factors of each agent, delays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fleet_sim.arrays import Floats, Rows
from fleet_sim.core import steering
from fleet_sim.errors import InvalidValueError
from fleet_sim.swarm.agents import Group
from fleet_sim.swarm.compiled_agents import give_freely

INF = float("inf")

FEW = 12
"""Number of agents up to which one is commanded after the other."""

_FLOAT = np.dtype(np.float64)


def drive(group: Group, actions: object) -> Rows:
    """Command the agents of `group` to do `actions` (N, 2), None for resting; return the rows that were commanded.

    NaN leaves an agent to other commands. Raises InvalidValueError for other shapes, and for what is infinite.
    """
    if actions is None:
        actions = np.zeros((len(group), 2))
    few = len(group.rows) <= FEW
    if few and group.acts_directly:
        numbers = _plain_numbers(group, actions)
        if numbers is not None:
            return _drive_few(group, numbers)
    twists = group.kind.twists(group.config, _adjusted(group, _checked(group, actions), group.world.steps))
    if few:
        return _drive_few(group, twists.tolist())
    columns, swarm = group.columns, group.swarm
    if columns.compiled and give_freely(columns, group.rows, twists, swarm.halted, swarm.stopped):
        return group.rows
    twists = _held(group, twists)
    # Controllers are user code and may have removed agents.
    driven_mask = ~(np.isnan(twists[:, 0]) | np.isnan(twists[:, 1])) & columns.alive[group.rows]
    driven_mask &= columns.motion.law[group.rows] != 0
    rows = group.rows
    if np.count_nonzero(driven_mask) < len(rows):
        rows, twists = rows[driven_mask], twists[driven_mask]
    linear, angular = np.zeros((len(rows), 3)), np.zeros((len(rows), 3))
    linear[:, 0], angular[:, 2] = twists[:, 0], twists[:, 1]
    steering.give_velocities(columns, rows, linear, angular)
    return rows


def _plain_numbers(group: Group, actions: object) -> list[list[float]] | None:
    """Return the actions of few agents as numbers, where these are their velocities as they are; None: see `drive`.

    An array of arrays takes several times as long for two numbers.
    """
    if type(actions) is not np.ndarray or actions.dtype is not _FLOAT or actions.shape != (len(group.rows), 2):
        return None
    numbers: list[list[float]] = actions.tolist()
    for linear, angular in numbers:
        # Neither infinite nor NaN: what is left over of such a number is NaN.
        if linear - linear != 0.0 or angular - angular != 0.0:
            return None
    return numbers


def _drive_few(group: Group, twists: list[list[float]]) -> Rows:
    """Do the same for a group of few agents, one after the other."""
    columns, rows = group.columns, group.rows
    halted, stopped = group.swarm.scalars.halted, group.swarm.scalars.stopped
    alive, law = columns.scalars.alive, columns.motion.scalars.law
    for row in rows.tolist():
        if halted[row] or stopped[row]:
            twists = _held(group, np.array(twists)).tolist()
            break
    driven = []
    # The checks have seen to it that there is one for each.
    for row, (linear, angular) in zip(rows.tolist(), twists):  # noqa: B905
        # Only NaN is unequal to itself; faster than a call for two numbers.
        if linear == linear and angular == angular and alive[row] and law[row]:
            steering.give_velocity(columns, row, linear, angular)
            driven.append(row)
    return rows if len(driven) == len(rows) else np.array(driven, np.int64)


def rest_held(group: Group) -> None:
    """Let those agents of `group`, which has no controller, rest that are halted or stopped, whatever drives them."""
    swarm, rows = group.swarm, group.rows
    if np.count_nonzero(swarm.halted.take(rows)) or np.count_nonzero(swarm.stopped.take(rows)):
        _drive_few(group, [[math.nan, math.nan]] * len(rows))


def _held(group: Group, twists: Floats) -> Floats:
    """Return `twists` (N, 2) without those of halted agents, and without the speed of those that are stopped.

    A step of their stop is over with that. One with `catastrophic_collisions` is halted by it.
    """
    swarm, rows = group.swarm, group.rows
    stopped_mask = swarm.stopped.take(rows) > 0
    if np.count_nonzero(stopped_mask):
        stopped = rows[stopped_mask]
        swarm.stopped[stopped] -= 1
        swarm.halted[stopped] |= swarm.catastrophic[stopped]
    halted_mask = swarm.halted.take(rows)
    held_mask = halted_mask | stopped_mask
    if not np.count_nonzero(held_mask):
        return twists
    # Other commands, which NaN stands for, do not drive them either.
    speeds = np.where(held_mask, 0.0, twists[:, 0])
    turns = np.where(halted_mask | (held_mask & np.isnan(twists[:, 1])), 0.0, twists[:, 1])
    return np.stack((speeds, turns), axis=1)


def _checked(group: Group, actions: Any) -> Floats:
    """Return a controller's actions as (N, 2) numbers, finite or NaN; raises InvalidValueError."""
    array = np.array(actions, np.float64)
    numbers = array.reshape(-1).tolist() if array.size <= 2 * FEW else None
    # Of few numbers, a list tells it in a fraction of the time.
    infinite = np.count_nonzero(np.isinf(array)) if numbers is None else INF in numbers or -INF in numbers
    if array.shape != (len(group.rows), 2) or infinite:
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

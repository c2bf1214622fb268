"""The interface of motion laws, and a helper that laws share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np

from fleet_sim.arrays import NO_ROWS, Rows
from fleet_sim.config.modes import ControllerMode
from fleet_sim.core.world import World

VELOCITY = ControllerMode.VELOCITY.code


@runtime_checkable
class MotionLaw(Protocol):
    """Moves robots by one step of time.

    `step` gets rows whose `control` is VELOCITY or POSE and which may move. It writes their poses, velocities and body
    twists, calls `world.touch` with the rows whose pose changed, and returns the rows that arrived at the end of
    their path and are at rest. The result for a row must not depend on which other rows are passed with it.
    """

    name: str

    def step(self, world: World, rows: Rows, dt: float) -> Rows:
        """Move `rows` by `dt` seconds; return those that arrived."""
        ...


@runtime_checkable
class FeatureLaw(Protocol):
    """A law of motion that needs the columns of a feature: robots that are given the law get the feature with it."""

    feature: str


@runtime_checkable
class MotorLaw(Protocol):
    """A law that commands motors of joints, and writes no poses: the engine moves the body by them.

    What another law plans for a body of the engine becomes velocities of that body (`by_engine`).
    """

    motors: bool


def move_by_control(
    world: World,
    rows: Rows,
    dt: float,
    follow_velocities: Callable[[World, Rows, float], None],
    follow_poses: Callable[[World, Rows, float], Rows],
) -> Rows:
    """Move those of `rows` that follow a velocity command, then those on a path; return those that arrived.

    Each function is called with its own rows only, and not at all where there are none.
    """
    commanded_mask = world.motion.control.take(rows) == VELOCITY
    if np.count_nonzero(commanded_mask):
        follow_velocities(world, np.compress(commanded_mask, rows), dt)
        rows = np.compress(~commanded_mask, rows)
    return follow_poses(world, rows, dt) if len(rows) else NO_ROWS

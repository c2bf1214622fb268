"""The interface of motion laws, and a helper that laws share."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from fleet_sim.arrays import Rows
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

"""The motion laws by name, and how to add one.

A law moves many robots at once. `world.motion.law[row]` holds a law's index; index 0 is "cannot move".
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from fleet_sim.arrays import NO_ROWS, Rows
from fleet_sim.config.modes import ControllerMode, MotionMode
from fleet_sim.core.world import World
from fleet_sim.errors import DuplicateNameError, InvalidValueError, unknown_name
from fleet_sim.motion import differential, omni
from fleet_sim.motion.velocity import follow_velocities
from fleet_sim.motion.wheels import WheelLaw

VELOCITY = ControllerMode.VELOCITY.code
MAX_LAWS = 255


@runtime_checkable
class MotionLaw(Protocol):
    """Moves robots by one step of time.

    `step` gets rows whose `control` is VELOCITY or POSE and which may move. It writes their poses, velocities and body
    twists, calls `world.touch` with the rows whose pose changed, and returns the rows that arrived at the end of
    their path and are at rest. What it does to a row must not depend on which other rows come with it.
    """

    name: str

    def step(self, world: World, rows: Rows, dt: float) -> Rows:
        """Move `rows` by `dt` seconds; return those that arrived."""
        ...


class OmnidirectionalLaw:
    """Drives and turns in any direction at the same time."""

    name = MotionMode.OMNIDIRECTIONAL.value

    def step(self, world: World, rows: Rows, dt: float) -> Rows:
        """Move `rows` by `dt` seconds; return those that arrived."""
        commanded, posed = by_control(world, rows)
        if len(commanded):
            follow_velocities(world, commanded, dt, sideways=True)
        return omni.follow_poses(world, posed, dt) if len(posed) else NO_ROWS


class DifferentialLaw:
    """Drives along its heading and turns about its vertical axis."""

    name = MotionMode.DIFFERENTIAL.value

    def step(self, world: World, rows: Rows, dt: float) -> Rows:
        """Move `rows` by `dt` seconds; return those that arrived."""
        commanded, posed = by_control(world, rows)
        if len(commanded):
            follow_velocities(world, commanded, dt, sideways=False)
        return differential.follow_poses(world, posed, dt) if len(posed) else NO_ROWS


def by_control(world: World, rows: Rows) -> tuple[Rows, Rows]:
    """Return the rows that follow a velocity command, and those that follow a path."""
    commanded_mask = world.motion.control.take(rows) == VELOCITY
    if not np.count_nonzero(commanded_mask):
        return NO_ROWS, rows
    return np.compress(commanded_mask, rows), np.compress(~commanded_mask, rows)


_laws: list[MotionLaw | None] = [None]


def register_motion_law(name: str, law: MotionLaw) -> int:
    """Make `law` known as `name` and return its index; raises DuplicateNameError where the name is taken."""
    if not isinstance(law, MotionLaw):
        raise InvalidValueError(f"motion law {name!r}: expected an object with `name` and `step(world, rows, dt)`")
    if name in motion_law_names():
        raise DuplicateNameError(f"a motion law named {name!r} exists already")
    if len(_laws) > MAX_LAWS:
        raise InvalidValueError(f"there can be at most {MAX_LAWS} motion laws")
    _names.append(name)
    _laws.append(law)
    return len(_laws) - 1


def motion_law_names() -> list[str]:
    """Return the names of all laws, in order of their index (from 1)."""
    return _names[1:]


def motion_law_index(name: str) -> int:
    """Return the index of the law called `name`; raises UnknownNameError with the closest name."""
    key = str(name)
    if key not in _names[1:]:
        raise unknown_name("motion law", key, _names[1:])
    return _names.index(key, 1)


def motion_law(index: int) -> MotionLaw:
    """Return the law with `index`; raises InvalidValueError where there is none."""
    law = _laws[index] if 0 < index < len(_laws) else None
    if law is None:
        raise InvalidValueError(f"no motion law has index {index}; known are 1 to {len(_laws) - 1}")
    return law


_names: list[str] = ["immovable"]
register_motion_law(OmnidirectionalLaw.name, OmnidirectionalLaw())
register_motion_law(DifferentialLaw.name, DifferentialLaw())
register_motion_law(WheelLaw.name, WheelLaw())


def install_laws(world: World) -> None:
    """Let `world` know the laws by name: those that are registered now and later."""
    world.law_names = _names

"""A compiled model of MuJoCo, and what its parts stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fleet_sim.arrays import Floats, Ints

DAMPING = 0.04
"""Linear and angular damping of bodies (1/s) where a material gives none: PyBullet's."""


@dataclass(eq=False)
class Compiled:
    """A compiled model and what its parts stand for; places are those in the plan, links those of robot models.

    `body_place` and `body_link` (B,) of all bodies, -1 and -2 for the world. `free` (F, 3): place, first position and
    first velocity of dynamic bodies. `seats` (S, 2): place and mocap number of dynamic robots with a fixed base.
    `pieces` (P, 5): place, link, mocap number or -1, first position and velocity or -1, of kinematic bodies. `joints`
    (J, 4): place, number among the movable joints, position and velocity. `surface` (G, 4): `ContactSurface` of geoms.
    """

    model: Any
    body_place: Ints
    body_link: Ints
    base: Ints
    free: Ints
    seats: Ints
    pieces: Ints
    joints: Ints
    surface: Floats
    substep: float = 0.0
    """Length in s of the substeps for which the model's contacts are set, 0 before the first one."""
    gravity: tuple[float, ...] = field(init=False)
    """The gravity that the model has, in m/s2."""

    def __post_init__(self) -> None:
        self.gravity = tuple(self.model.opt.gravity.tolist())


def table_of(values: Sequence[tuple[int, ...]], width: int) -> Ints:
    """Return the rows of a table (N, width), which may have none."""
    return np.array(values, np.int64).reshape(-1, width)

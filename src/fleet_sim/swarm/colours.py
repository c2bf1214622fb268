"""Colours of bodies: as given, or drawn."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import as_floats
from fleet_sim.errors import InvalidValueError
from fleet_sim.swarm.canvas import Color

RANDOM_COLOR = "Random"
"""Stands for a colour of its own for each agent."""

NO_COLOR = np.full(3, -1.0)
BRIGHTEST = 600
"""Largest sum of the three parts of a drawn colour, so that it shows on white."""


def read_color(value: object) -> Color | str:
    """Return a colour, or `RANDOM_COLOR`; raises ValueError for anything else."""
    if isinstance(value, str) and value == RANDOM_COLOR:
        return RANDOM_COLOR
    try:
        numbers = as_floats(value, (3,), "color")
    except InvalidValueError:
        numbers = NO_COLOR
    if (numbers < 0).any() or (numbers > 255).any() or (numbers != np.round(numbers)).any():
        raise ValueError(f"must be a list of 3, each item a whole number from 0 to 255, or Random; got {value!r}")
    red, green, blue = numbers.astype(int).tolist()
    return red, green, blue


def drawn_color(rng: np.random.Generator) -> Color:
    """Return a colour that shows on white."""
    parts = [255, 255, 255]
    while sum(parts) > BRIGHTEST:
        parts = rng.integers(0, 256, 3).tolist()
    red, green, blue = parts
    return red, green, blue

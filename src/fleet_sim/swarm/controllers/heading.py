"""Conversion of desired velocities to unicycle actions."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.spatial.quaternions import wrapped


def steered(headings: Floats, x: Floats, y: Floats, *, top_speed: float, turn_gain: float, top_turn: float) -> Floats:
    """Return actions (N, 2) that turn `headings` (N,) to wanted velocities (x, y) and drive as far as they point there.

    The turning speed is `turn_gain` (1/s) times the bearing, within `top_turn` rad/s; the speed is the wanted one's
    share along the heading, from 0 to `top_speed`.
    """
    sizes = np.sqrt(x * x + y * y)
    bearings = np.where(sizes > 0.0, wrapped(trig.arctan2(y, x) - headings), 0.0)
    turns = np.minimum(np.maximum(turn_gain * bearings, -top_turn), top_turn)
    speeds = np.minimum(np.maximum(sizes * trig.cos(bearings), 0.0), top_speed)
    return np.stack((speeds, turns), axis=1)

"""How slotcars drive: the speeds that they take next, of all at once."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Floats
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.spatial.quaternions import wrapped

TURN_FIRST = np.radians(5.0)
"""A slotcar that has to turn by more than this stands meanwhile."""
CREEP = 1e-4
"""Slower than this counts as standing."""


def next_rates(ways: Floats, rates: Floats, tops: Floats, usual: Floats, most: Floats, dt: float) -> Floats:
    """Return the rates (N,) after `dt` s, on `ways` (N,) that are left, with a sign, to come to rest at their ends.

    `tops` limit rates; `usual` accelerations are kept where they are enough, and `most` where they are not.
    """
    now = np.where(np.abs(rates) < CREEP, 0.0, rates)
    stop_mask = (ways == 0.0) | ((now != 0.0) & (np.signbit(now) != np.signbit(ways)))
    braked = now - np.copysign(np.minimum(np.abs(now), most * dt), now)
    # What it takes to come to rest just there, if it begins now.
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = np.where(ways == 0.0, 0.0, -now * now / (2.0 * np.where(ways == 0.0, 1.0, ways)))
    needed = np.copysign(np.minimum(np.abs(needed), most), needed)
    wanted = np.copysign(tops, ways)
    # So near that a step more would lead beyond.
    near_mask = np.abs((now + usual) * dt) > np.abs(ways)
    wanted = np.where(near_mask, np.copysign(np.minimum(np.abs(ways) / dt, tops), ways), wanted)
    change = wanted - now
    usually = now + np.copysign(np.minimum(np.abs(change), usual * dt), change)
    return np.where(stop_mask, braked, np.where(np.abs(needed) >= usual, now + needed * dt, usually))


def turns_to(yaws: Floats, ways: Floats, reversible: Bools) -> tuple[Floats, Floats]:
    """Return by how much (N,) in rad to turn to drive along `ways` (N, 2), and whether forwards (1) or backwards."""
    turns = wrapped(trig.arctan2(ways[:, 1], ways[:, 0]) - yaws)
    back_mask = reversible & (np.abs(turns) > 0.5 * np.pi)
    turns = np.where(back_mask, wrapped(turns + np.pi), turns)
    # Right at its place a robot has no way that it could turn along.
    turns = np.where(trig.hypot(ways[:, 0], ways[:, 1]) < 1e-3, 0.0, turns)
    return turns, np.where(back_mask, -1.0, 1.0)

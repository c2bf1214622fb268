"""Colors of bodies: their own, or by what their robots do, are or have left; collisions come before all."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bytes, Floats, Ints
from fleet_sim.core.appearance import Appearance
from fleet_sim.core.features import FEATURES, Feature
from fleet_sim.core.snapshot import Snapshot
from fleet_sim.viewer.web.bodies import ShownBodies

COLLIDING = (222, 42, 42)
MOVING, IDLE, CARRYING = (46, 160, 95), (158, 166, 178), (38, 116, 217)
TYPES: Bytes = np.array(
    [(38, 116, 217), (234, 140, 30), (46, 160, 95), (155, 89, 182), (23, 162, 184), (214, 82, 122), (120, 110, 60)],
    np.uint8,
)
FULL, HALF, EMPTY = np.array((46, 160, 95.0)), np.array((240, 190, 40.0)), np.array((222, 42, 42.0))
WITHOUT = (158, 166, 178)
"""Of robots that do not have what is colored by."""
SLOW = 1e-3
"""Below this speed, in m/s and rad/s, a robot counts as standing."""


OWN, STATE, TYPE = "their own", "state", "type"


def color_modes(snapshot: Snapshot) -> tuple[str, ...]:
    """Return what robots can be colored by: features that have levels, too, once they are in use."""
    return (OWN, STATE, TYPE, *filter(_has_levels, snapshot.features))


def legend_of(mode: str) -> str:
    """Return what the colors of a mode mean; "" where there is nothing to explain."""
    if mode == STATE:
        return "green: moving, blue: carrying, gray: standing"
    if mode in (OWN, TYPE):
        return ""
    return "green: full, yellow: half full, red: empty, gray: has none"


def _has_levels(feature: str) -> bool:
    return feature in FEATURES and type(FEATURES.get(feature)).levels is not Feature.levels


def colors_of(snapshot: Snapshot, bodies: ShownBodies, mode: str, *, collisions: bool) -> Bytes:
    """Return the colors (M, 3) of all instances; with `collisions`, what collides is red."""
    table = bodies.table
    colors = np.ascontiguousarray(table.colors[:, :3])
    if mode != OWN:
        known = _BY_MODE.get(mode)
        by_entity = _by_feature(snapshot, mode) if known is None else known(snapshot, bodies.appearance)
        robots_mask = snapshot.agent_mask[table.rows]
        colors[robots_mask] = by_entity[table.rows[robots_mask]]
    if collisions and len(snapshot.collisions):
        touching_mask = np.zeros(len(snapshot.names), np.bool_)
        touching_mask[snapshot.collisions.reshape(-1)] = True
        colors[touching_mask[table.rows]] = COLLIDING
    return colors


def moving_mask(snapshot: Snapshot) -> Ints:
    """Return which entities move, (N,)."""
    speeds = np.abs(snapshot.velocities).max(axis=1, initial=0.0)
    turns = np.abs(snapshot.angular_velocities).max(axis=1, initial=0.0)
    mask: Ints = (speeds > SLOW) | (turns > SLOW)
    return mask


def _by_state(snapshot: Snapshot, looks: Appearance) -> Bytes:
    colors = np.tile(np.array(IDLE, np.uint8), (len(snapshot.names), 1))
    colors[moving_mask(snapshot)] = MOVING
    carriers = snapshot.carriers[snapshot.carriers >= 0]
    colors[carriers] = CARRYING
    return colors


def _by_type(snapshot: Snapshot, looks: Appearance) -> Bytes:
    # Robots of one description are of one type, and those of one shape.
    kinds = np.where(looks.model_ids >= 0, looks.model_ids, len(looks.models) + looks.shape_ids)
    numbers = np.zeros(len(kinds), np.int64)
    own = np.flatnonzero(snapshot.agent_mask)
    numbers[own] = np.unique(kinds[own], return_inverse=True)[1].reshape(-1)
    chosen: Bytes = TYPES[numbers % len(TYPES)]
    return chosen


def _by_feature(snapshot: Snapshot, name: str) -> Bytes:
    colors = np.tile(np.array(WITHOUT, np.uint8), (len(snapshot.names), 1))
    columns = snapshot.features.get(name)
    if columns is None:
        return colors
    has = np.flatnonzero(columns["present"])
    level: Floats = FEATURES.get(name).levels(columns)[has, None]
    upper = HALF + (FULL - HALF) * (2.0 * level - 1.0)
    lower = EMPTY + (HALF - EMPTY) * (2.0 * level)
    colors[has] = np.where(level > 0.5, upper, lower).astype(np.uint8)
    return colors


_BY_MODE = {STATE: _by_state, TYPE: _by_type}

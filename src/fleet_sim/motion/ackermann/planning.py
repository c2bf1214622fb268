"""Planning: the curve of each car to its current waypoint, of up to five pieces, arcs and lines."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Bytes, Floats, Ints, Rows
from fleet_sim.config.modes import MovementDirection
from fleet_sim.core.world import World
from fleet_sim.motion.ackermann.columns import AckermannColumns
from fleet_sim.motion.ackermann.curves import PIECES, Curves
from fleet_sim.motion.ackermann.dubins import dubins, to_point
from fleet_sim.motion.ackermann.reeds_shepp import reeds_shepp
from fleet_sim.spatial import quaternions
from fleet_sim.spatial import trigonometry as trig

BACKWARD, AUTO = MovementDirection.BACKWARD.code, MovementDirection.AUTO.code

SHORTEST = 1e-9
"""Pieces shorter than this, in m, are not driven."""


def plan_curves(world: World, table: AckermannColumns, rows: Rows) -> None:
    """Plan the curves of `rows` from where they are to their current waypoints.

    With their final orientation, where it is the last waypoint and that is asked for; all others are passed with any
    heading, on an arc and a straight line. Shortest curves: ahead, back, or both, by the direction of the path.
    """
    motion, pool = world.motion, world.waypoints
    headed = motion.path_start[rows] + motion.waypoint[rows]
    last_mask = motion.waypoint[rows] == motion.path_length[rows] - 1
    aligned_mask = last_mask & motion.align_final[rows]
    radii = table.min_radius[rows]
    heading = quaternions.yaws(world.orientation[rows])
    turn = quaternions.wrapped(quaternions.yaws(pool.orientation[headed]) - heading)
    # What two headings differ by rounding is no turn: a car that does not reverse would drive a circle for it.
    turn = np.where(np.abs(turn) < SHORTEST, 0.0, turn)
    delta = pool.position[headed, :2] - world.position[rows, :2]
    sine, cosine = trig.sin_cos(heading)
    # In the frame of the car, in radii: curves are computed for a radius of 1.
    x = (cosine * delta[:, 0] + sine * delta[:, 1]) / radii
    y = (cosine * delta[:, 1] - sine * delta[:, 0]) / radii
    curves = _curves(x, y, turn, aligned_mask, motion.direction[rows])
    lengths = curves.lengths * radii[:, None]
    lengths = np.where(np.abs(lengths) < SHORTEST, 0.0, lengths)
    distance = np.sqrt(delta[:, 0] * delta[:, 0] + delta[:, 1] * delta[:, 1])
    # There already: a circle to the same place is no way.
    lengths[(distance < SHORTEST) & (~aligned_mask | (turn == 0.0))] = 0.0
    lengths, curvatures, counts = _packed(lengths, curves.turns / radii[:, None])
    exact_mask = _stop_short(lengths, curvatures, counts, last_mask, aligned_mask, distance, motion.tolerance[rows])
    table.lengths[rows], table.curvatures[rows], table.pieces[rows] = lengths, curvatures, counts
    table.exact[rows] = exact_mask
    table.piece[rows], table.done[rows] = 0, 0.0
    table.start[rows], table.start_turn[rows] = world.position[rows, :2], world.orientation[rows]


def _curves(x: Floats, y: Floats, turn: Floats, aligned_mask: Bools, directions: Bytes) -> Curves:
    """Return the shortest curves to goals at x, y (N,) and `turn` (N,), in units of the smallest radius.

    Without `aligned_mask` the heading at the goal is free; `directions` says which ways each may drive.
    """
    lengths, turns = np.zeros((len(x), PIECES)), np.zeros((len(x), PIECES))
    auto_mask, back_mask = directions == AUTO, directions == BACKWARD
    ahead_mask = ~auto_mask & ~back_mask
    for mask, kind in (
        (aligned_mask & auto_mask, "both"),
        (aligned_mask & ahead_mask, "ahead"),
        (aligned_mask & back_mask, "back"),
        (~aligned_mask & auto_mask, (1.0, -1.0)),
        (~aligned_mask & ahead_mask, (1.0,)),
        (~aligned_mask & back_mask, (-1.0,)),
    ):
        at = np.flatnonzero(mask)
        if not len(at):
            continue
        if isinstance(kind, tuple):
            found = to_point(x[at], y[at], kind)
        elif kind == "both":
            found = reeds_shepp(x[at], y[at], turn[at])
        elif kind == "ahead":
            found = dubins(x[at], y[at], turn[at])
        else:
            # As ahead to the mirror image of the goal, driven back.
            mirrored = dubins(-x[at], y[at], -turn[at])
            found = Curves(-mirrored.lengths, mirrored.turns)
        lengths[at], turns[at] = found
    return Curves(lengths, turns)


def _packed(lengths: Floats, curvatures: Floats) -> tuple[Floats, Floats, Ints]:
    """Return pieces (N, 5) without empty ones between, and how many there are."""
    # Empty pieces go to the end, the others keep their order.
    order = np.argsort(lengths == 0.0, axis=1, kind="stable")
    packed = np.take_along_axis(lengths, order, axis=1)
    return packed, np.take_along_axis(curvatures, order, axis=1), np.count_nonzero(packed, axis=1)


def _stop_short(
    lengths: Floats,
    curvatures: Floats,
    counts: Ints,
    last_mask: Bools,
    aligned_mask: Bools,
    distance: Floats,
    tolerances: Floats,
) -> Bools:
    """Take the tolerance off the ends of curves to last waypoints; return which (N,) still end at the waypoint."""
    exact_mask = np.ones(len(lengths), np.bool_)
    tolerant_mask = last_mask & (tolerances > 0.0)
    if not np.count_nonzero(tolerant_mask):
        return exact_mask
    # Near enough already, and with any heading: no curve.
    counts[tolerant_mask & ~aligned_mask & (distance <= tolerances)] = 0
    ends = np.maximum(counts - 1, 0)
    at = np.arange(len(lengths))
    # Off an arc the heading would be another one than asked for.
    short_mask = tolerant_mask & (counts > 0) & (~aligned_mask | (curvatures[at, ends] == 0.0))
    sizes = np.abs(lengths[at, ends])
    kept = np.maximum(sizes - tolerances * (1.0 - 1e-9), 0.0)
    lengths[at[short_mask], ends[short_mask]] = np.copysign(kept, lengths[at, ends])[short_mask]
    exact_mask[tolerant_mask & ((counts == 0) | short_mask)] = False
    counts[short_mask & (kept == 0.0)] -= 1
    return exact_mask

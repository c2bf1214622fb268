"""Cuts of tilted solids by a horizontal plane: convex polygons."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.sensors.solids import Solids
from fleet_sim.spatial import quaternions
from fleet_sim.spatial import trigonometry as trig

SIDES = 144
"""Corners that stand for a round outline."""

Cut = tuple[Floats, Ints]
"""Corners (2, N, K) counter-clockwise, and how many of the K count (N,): 0 where the plane misses."""

_BOX_CORNERS = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
# Corner numbers are three bits, one per axis: an edge joins corners that differ in one bit.
_BOX_EDGES = np.array([(a, b) for a in range(8) for b in range(a) if bin(a ^ b).count("1") == 1])
_SINES, _COSINES = trig.sin_cos(np.arange(SIDES) * (2.0 * np.pi / SIDES))
_RIM = np.concatenate([np.stack((_COSINES, _SINES, np.full(SIDES, side))) for side in (-1.0, 1.0)], axis=1).T
_RIM_EDGES = np.concatenate(
    [
        np.stack((np.arange(SIDES), (np.arange(SIDES) + 1) % SIDES), axis=1),
        np.stack((np.arange(SIDES), (np.arange(SIDES) + 1) % SIDES), axis=1) + SIDES,
        np.stack((np.arange(SIDES), np.arange(SIDES) + SIDES), axis=1),
    ]
)


def cut_boxes(solids: Solids, height: float) -> Cut:
    """Return where the plane at `height` cuts boxes."""
    return cut_hulls(posed(solids, _BOX_CORNERS[None] * solids.half_extents[:, None]), _BOX_EDGES, height)


def cut_cylinders(solids: Solids, height: float) -> Cut:
    """Return where the plane at `height` cuts cylinders, which have `SIDES` sides for that."""
    return cut_hulls(posed(solids, _RIM[None] * solids.half_extents[:, None]), _RIM_EDGES, height)


def posed(solids: Solids, points: Floats) -> Floats:
    """Return `points` (N, V, 3), or (1, V, 3) where all have the same, of the solids' frames in the world."""
    count, each = len(solids.rows), points.shape[1]
    local = np.broadcast_to(points, (count, each, 3)).reshape(-1, 3)
    turned = quaternions.rotate(np.repeat(solids.orientations, each, axis=0), local)
    return turned.reshape(count, each, 3) + solids.positions[:, None]


def cut_hulls(vertices: Floats, edges: Ints, height: float) -> Cut:
    """Return where the plane at `height` cuts convex bodies with `vertices` (N, V, 3) and `edges` (E, 2)."""
    # A vertex exactly at the height counts as above. So every edge is crossed or not, without a third case, and a
    # crossed one is never level.
    below_mask = vertices[..., 2] < height
    # Few edges are crossed: only these are computed.
    bodies, crossed = np.nonzero(below_mask[:, edges[:, 0]] != below_mask[:, edges[:, 1]])
    starts, ends = vertices[bodies, edges[crossed, 0]], vertices[bodies, edges[crossed, 1]]
    share = (height - starts[:, 2]) / (ends[:, 2] - starts[:, 2])
    x, y = (starts[:, axis] + share * (ends[:, axis] - starts[:, axis]) for axis in (0, 1))
    counts = np.bincount(bodies, minlength=len(vertices))
    # The cut of a convex body is convex, so sorting its corners by angle around their mean gives the outline.
    many = np.maximum(counts, 1)
    middle_x, middle_y = (np.bincount(bodies, part, minlength=len(vertices)) / many for part in (x, y))
    angles = trig.arctan2(y - middle_y.take(bodies), x - middle_x.take(bodies))
    order = np.lexsort((angles, bodies))
    # The bodies are in order already, and stay so.
    places = np.arange(len(bodies)) - (np.cumsum(counts) - counts).take(bodies)
    corners = np.zeros((2, len(vertices), max(3, int(counts.max(initial=0)))))
    corners[0, bodies, places], corners[1, bodies, places] = x.take(order), y.take(order)
    return corners, counts


def cut_capsules(solids: Solids, height: float) -> Cut:
    """Return where the plane at `height` cuts capsules: the outermost points in `SIDES` directions.

    A capsule is a ball that moves along its axis. Of its discs at `height` the one that reaches furthest in a direction
    is where the gain along the axis and the loss of radius are in balance.
    """
    radii = solids.radii
    reach = solids.half_extents[:, 2] - radii
    axes = quaternions.rotate(solids.orientations, np.tile(np.array([0.0, 0.0, 1.0]), (len(radii), 1)))
    rise = axes[:, 2]
    off = height - solids.positions[:, 2]
    # Along the axis, the ball's centre is within its radius of the plane between `low` and `high`.
    # A level capsule has no rise. With a tiny one the bounds are far away, and the ends of the axis limit them.
    steep = np.where(np.abs(rise) < 1e-9, 1e-9, rise)
    bounds = np.stack(((off - radii) / steep, (off + radii) / steep))
    low, high = np.maximum(bounds.min(axis=0), -reach), np.minimum(bounds.max(axis=0), reach)
    counts = np.where(low <= high, SIDES, 0)
    gain = axes[:, 0, None] * _COSINES + axes[:, 1, None] * _SINES
    balance = -gain * radii[:, None] / np.sqrt(gain * gain + (steep * steep)[:, None]) * np.sign(steep)[:, None]
    along = np.clip((off[:, None] - balance) / steep[:, None], low[:, None], high[:, None])
    drop = off[:, None] - steep[:, None] * along
    widths = np.sqrt(np.maximum(radii[:, None] ** 2 - drop * drop, 0.0))
    corners = np.empty((2, len(radii), SIDES))
    corners[0] = solids.positions[:, 0, None] + along * axes[:, 0, None] + widths * _COSINES
    corners[1] = solids.positions[:, 1, None] + along * axes[:, 1, None] + widths * _SINES
    return corners, counts

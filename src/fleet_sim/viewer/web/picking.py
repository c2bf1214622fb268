"""What is under the mouse: the body that a ray meets first, exactly, triangle by triangle."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.sensors.render.instances import InstanceTable, MeshKey
from fleet_sim.spatial import quaternions
from fleet_sim.viewer.web.bodies import ShownBodies

Triangles = tuple[Floats, Floats, Floats]


def pick(bodies: ShownBodies, origin: Floats, direction: Floats) -> tuple[int, float] | None:
    """Return the index of the entity that a ray meets first, as the page shows it, and how far away in m; or None."""
    table = bodies.table
    near = _near(table, bodies.positions, origin, direction, bodies.shown_mask)
    best: tuple[int, float] | None = None
    for instance, entry in near:
        if best is not None and entry > best[1]:
            # The others begin further away than what was found.
            break
        away = _distance(bodies, instance, origin, direction)
        if away is not None and (best is None or away < best[1]):
            best = (int(table.rows[instance]), away)
    return best


def meets_floor(origin: Floats, direction: Floats, height: float = 0.0) -> Floats | None:
    """Return the point (3,) where a ray meets the level plane at `height` m, or None."""
    if abs(direction[2]) < 1e-9:
        return None
    away = (height - origin[2]) / direction[2]
    if away <= 0.0:
        return None
    point: Floats = origin + away * direction
    return point


def _near(
    table: InstanceTable, positions: Floats, origin: Floats, direction: Floats, shown_mask: Bools
) -> list[tuple[int, float]]:
    """Return the shown instances whose spheres the ray meets and the distances to these, the nearest first."""
    to = positions - origin
    along = to @ direction
    aside = np.einsum("ij,ij->i", to, to) - along * along
    reach = table.radii * table.radii - aside
    chosen: Ints = np.flatnonzero((reach >= 0.0) & (along + table.radii > 0.0) & shown_mask)
    entries = along[chosen] - np.sqrt(reach[chosen])
    order = np.argsort(entries)
    return list(zip(chosen[order].tolist(), entries[order].tolist(), strict=True))


def _distance(bodies: ShownBodies, instance: int, origin: Floats, direction: Floats) -> float | None:
    table = bodies.table
    back = quaternions.conjugate(bodies.orientations[instance][None])
    scale = table.scales[instance].astype(np.float64)
    # In the frame of the unscaled mesh; the factor along the ray stays the same, as the direction is not normalised.
    start = quaternions.rotate(back, (origin - bodies.positions[instance])[None])[0] / scale
    way = quaternions.rotate(back, direction[None])[0] / scale
    found = [
        _first(piece.vertices[piece.faces].astype(np.float64), start, way)
        for piece in bodies.mesh(_key(table, instance))
    ]
    return min((away for away in found if away is not None), default=None)


def _key(table: InstanceTable, instance: int) -> MeshKey:
    return next(group.key for group in table.batches if group.start <= instance < group.stop)


def _first(corners: Floats, start: Floats, way: Floats) -> float | None:
    """Return the smallest factor of `way` at which a ray meets one of the triangles (T, 3, 3); Moeller and Trumbore."""
    one, two = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    across = np.cross(way, two)
    size = np.einsum("ij,ij->i", one, across)
    with np.errstate(divide="ignore", invalid="ignore"):
        to = start - corners[:, 0]
        u = np.einsum("ij,ij->i", to, across) / size
        turned = np.cross(to, one)
        v = (turned @ way) / size
        away = np.einsum("ij,ij->i", two, turned) / size
        hit = (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (away > 0.0)
    return float(away[hit].min()) if hit.any() else None

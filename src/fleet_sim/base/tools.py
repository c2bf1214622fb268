"""Small helpers for user code: poses near a target, grids, limits, frames."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from fleet_sim.base.arrays import Floats, as_floats
from fleet_sim.base.geometry import Pose
from fleet_sim.base.spatial import trigonometry as trig


def calculate_offset_pose(target: Pose, current: Pose, offset: float, keep_height: bool = True) -> Pose:
    """Return the pose `offset` m before `target` as seen from `current`, facing the target.

    The height is that of `current` with `keep_height`, else the target's. If `current` is exactly above the target, the
    yaw of `current` is used as the direction to the target.
    """
    dx, dy = target.x - current.x, target.y - current.y
    distance = math.hypot(dx, dy)
    heading = trig.atan2_of(dy, dx) if distance > 1e-9 else current.yaw
    sine, cosine = trig.sin_cos_of(heading)
    x, y = target.x - offset * cosine, target.y - offset * sine
    return Pose.from_yaw(x, y, current.z if keep_height else target.z, heading)


def world_to_grid(position: Sequence[float], spacing: Sequence[float], offset: Sequence[float]) -> tuple[int, int, int]:
    """Return the cell nearest to `position`; an axis with spacing 0 has the single cell 0."""
    point, step, origin = (
        as_floats(v, (3,), n) for v, n in ((position, "position"), (spacing, "spacing"), (offset, "offset"))
    )
    x, y, z = (
        round((p - o) / s) if s else 0 for p, s, o in zip(point.tolist(), step.tolist(), origin.tolist(), strict=True)
    )
    return x, y, z


def grid_to_world(cell: Sequence[int], spacing: Sequence[float], offset: Sequence[float]) -> list[float]:
    """Return the position of `cell`, in m."""
    return [o + s * c for c, s, o in zip(cell, spacing, offset, strict=True)]


def world_to_grid_2d(position: Sequence[float], spacing: Sequence[float], offset: Sequence[float]) -> tuple[int, int]:
    """Return the cell in x and y nearest to `position`."""
    x, y, _ = world_to_grid([*position[:2], 0.0], [*spacing[:2], 0.0], [*offset[:2], 0.0])
    return x, y


def grid_to_world_2d(cell: Sequence[int], spacing: Sequence[float], offset: Sequence[float]) -> list[float]:
    """Return x and y of `cell`, in m."""
    return grid_to_world(cell[:2], spacing[:2], offset[:2])


def find_nearest(position: Sequence[float], poses: Iterable[Pose]) -> int | None:
    """Return the index of the pose nearest to `position` (the first of equals), or None without poses."""
    here = Pose(list(position))
    distances = [here.distance_to(pose) for pose in poses]
    return distances.index(min(distances)) if distances else None


def normalize_vector_param(value: float | Sequence[float], what: str = "value") -> Floats:
    """Return one number three times, or three numbers, as an array (3,); raises InvalidValueError."""
    return as_floats([value] * 3 if isinstance(value, (int, float)) else value, (3,), what)


def body_to_world_velocity_2d(vx: float, vy: float, yaw: float) -> tuple[float, float]:
    """Return a body-frame velocity in the world frame, in the plane."""
    sine, cosine = trig.sin_cos_of(yaw)
    return vx * cosine - vy * sine, vx * sine + vy * cosine


def body_to_world_velocity_3d(velocity: Sequence[float], orientation: Sequence[float]) -> list[float]:
    """Return a body-frame velocity (3,) in the world frame, for a body with `orientation` (xyzw)."""
    turn = Pose((0.0, 0.0, 0.0), orientation)
    return turn.compose(Pose(as_floats(velocity, (3,), "velocity").tolist())).as_position()

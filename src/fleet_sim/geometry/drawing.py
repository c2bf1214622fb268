"""Debug lines, drawn by a simulation or a PyBullet client."""

from __future__ import annotations

from collections.abc import Sequence

from fleet_sim.errors import InvalidValueError
from fleet_sim.geometry.pose import Pose

AXIS_COLORS = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def draw_line(
    sim: object,
    start: Sequence[float],
    end: Sequence[float],
    color: Sequence[float],
    width: float,
    lifetime: float,
) -> int:
    """Draw a line in world coordinates and return its id; `sim` or its `bullet` has `addUserDebugLine`."""
    # Either a client of PyBullet or a simulation, which has one.
    for target in (sim, getattr(sim, "bullet", None)):
        draw = getattr(target, "addUserDebugLine", None)
        if draw is not None:
            return int(draw(list(start), list(end), list(color), lineWidth=width, lifeTime=lifetime))
    raise InvalidValueError(f"drawing: pass sim=, a simulation or an object with addUserDebugLine; got {sim!r}")


def draw_cross(
    sim: object, position: Sequence[float], size: float, color: Sequence[float], lifetime: float
) -> list[int]:
    """Draw three lines of length `size` that cross at `position`."""
    ids = []
    for axis in range(3):
        start, end = list(position), list(position)
        start[axis] -= 0.5 * size
        end[axis] += 0.5 * size
        ids.append(draw_line(sim, start, end, color, 2.0, lifetime))
    return ids


def draw_axes(sim: object, pose: Pose, length: float, lifetime: float) -> list[int]:
    """Draw the axes of a pose: x red, y green, z blue."""
    ids = []
    for axis, color in enumerate(AXIS_COLORS):
        tip = [0.0, 0.0, 0.0]
        tip[axis] = length
        ids.append(draw_line(sim, pose.position, pose.compose(Pose(tip)).position, color, 2.0, lifetime))
    return ids

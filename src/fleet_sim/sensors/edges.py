"""Draws edges: straight lines between two points in a horizontal plane, sides of bodies or cuts of surfaces."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats, Ints, Rows
from fleet_sim.sensors.compiled_lanes import EDGE_ON
from fleet_sim.sensors.fans import TURN, Drawing, lanes_of
from fleet_sim.sensors.outlines import Segments
from fleet_sim.spatial import trigonometry as trig


def draw_segments(drawing: Drawing, segments: Segments, sensors: Ints, shapes: Ints) -> None:
    """Draw the segments `shapes` (K,) as `sensors` (K,) see them."""
    stations = drawing.stations
    x, y = stations.x.take(sensors), stations.y.take(sensors)
    start = stations.local(sensors, segments.starts[0].take(shapes) - x, segments.starts[1].take(shapes) - y)
    end = stations.local(sensors, segments.ends[0].take(shapes) - x, segments.ends[1].take(shapes) - y)
    # Seen edge-on, a line covers no angle; from a point on it, it has no side.
    seen = np.flatnonzero(np.abs(start[0] * end[1] - start[1] * end[0]) > EDGE_ON)
    start, end = (start[0].take(seen), start[1].take(seen)), (end[0].take(seen), end[1].take(seen))
    draw_edges(drawing, sensors.take(seen), start, end, segments.circles.rows.take(shapes.take(seen)))


def draw_edges(
    drawing: Drawing, sensors: Ints, a: tuple[Floats, Floats], b: tuple[Floats, Floats], owners: Rows
) -> None:
    """Draw edges between points given in the sensors' frames."""
    (ax, ay), (bx, by) = a, b
    ex, ey = bx - ax, by - ay
    crossed = ax * ey - ay * ex
    from_a, from_b = trig.arctan2(ay, ax), trig.arctan2(by, bx)
    sweeps = from_b - from_a
    # An edge covers less than half a turn, so the shorter way round is the right one.
    sweeps -= TURN * np.round(sweeps / TURN)
    # Facing edges run clockwise as seen from upright sensors, but counter-clockwise from those upside down; cuts of
    # surfaces run either way.
    begins = np.where(sweeps < 0.0, from_b, from_a)
    lengths = np.sqrt(ex * ex + ey * ey) if drawing.details else ex
    for lanes in lanes_of(drawing, sensors, begins, np.abs(sweeps)):
        pairs = lanes.pairs
        # The range along direction d to the line through a with direction e is (a x e) / (d x e).
        slants = lanes.cosines * ey.take(pairs)
        slants -= lanes.sines * ex.take(pairs)
        ranges = crossed.take(pairs) / slants
        if drawing.details:
            drawing.draw(lanes.places, ranges, owners.take(pairs), np.abs(slants) / lengths.take(pairs))
        else:
            drawing.draw(lanes.places, ranges)

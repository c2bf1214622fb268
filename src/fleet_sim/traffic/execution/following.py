"""Following: a robot is granted a node that the one before it is still leaving, and keeps behind that one.

A follower may stop so far before its node that discs do not touch even if its leader stops at once. Leaders only move
away, so what the follower was allowed stays allowed, whatever their speeds and delays. A leader has been granted a node
further on, and moves off; the one who follows it came later in the plan, too. So none follows itself in the end.
"""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Rows
from fleet_sim.kernels import inlined
from fleet_sim.traffic.execution.drivers import Drivers, Stride
from fleet_sim.traffic.execution.tracks import Tracks
from fleet_sim.traffic.execution.ways import Marks, Uses, Ways

NOBODY = -1
APART = 1e-3
"""What robots keep beyond their room in m, so that rounding never makes a touch of it."""
SIDEWAYS = -1e-9
"""The least cosine between the lanes of a follower and its leader."""
AHEAD = 0.5
"""The same where footprints are squares, and lanes along rows and columns."""


@inlined
def follow(
    rows: Rows,
    open_mask: Bools,
    tracks: Tracks,
    marks: Marks,
    ways: Ways,
    uses: Uses,
    drivers: Drivers,
    step: Stride,
) -> None:
    """Grant nodes to those of `rows` who may follow the one before them, and set how far before followers have to stop.

    Called before anybody moves, so that leaders are nowhere nearer in this step. A leader has set out from the node,
    straight on or to the side, and all who pass before it have ended their uses.
    """
    room = tracks.room + APART
    for index in range(len(rows)):
        row, asks = rows[index], step.asks[index]
        leader, place = drivers.leader[row], marks.granted[row]
        if asks:
            leader, place = ways.leaders[row, place + 1], place + 1
        node = ways.nodes[row, place]
        if leader == NOBODY:
            # Its leader is gone, and may stand in the way until the node is open.
            if drivers.gap[row] > 0.0 and not asks and open_mask[node]:
                drivers.gap[row], drivers.halted[row] = 0.0, False
            continue
        at = marks.at[leader]
        leaves = ways.nodes[leader, at] == node and marks.behind[leader] <= at < marks.granted[leader]
        if not leaves:
            drivers.leader[row] = NOBODY
            drivers.gap[row] = 0.0
            continue
        begin, end = ways.nodes[row, place - 1], ways.nodes[leader, at + 1]
        ax = tracks.positions[node, 0] - tracks.positions[begin, 0]
        ay = tracks.positions[node, 1] - tracks.positions[begin, 1]
        bx = tracks.positions[end, 0] - tracks.positions[node, 0]
        by = tracks.positions[end, 1] - tracks.positions[node, 1]
        lengths = np.sqrt((ax * ax + ay * ay) * (bx * bx + by * by))
        cosine, sine, gone = (ax * bx + ay * by) / lengths, (ax * by - ay * bx) / lengths, drivers.progress[leader]
        if asks:
            last = uses.left[node] == ways.needs[row, place, 0] - 1
            long = tracks.lengths[ways.lanes[row, place]] >= tracks.room
            # Squares are clear of one that turned off only when it is gone.
            least = AHEAD if tracks.square else SIDEWAYS
            if not (last and long and gone > 0.0 and cosine >= least):
                continue
            marks.granted[row], drivers.leader[row] = place, leader
        drivers.gap[row] = gap_behind(gone * max(cosine, 0.0), gone * sine, room)


@inlined
def gap_behind(along: float, beside: float, room: float) -> float:
    """Return how far before a node a robot is `room` m from one that is so far beyond it, along its lane and beside."""
    square = room * room - beside * beside
    return max(np.sqrt(square) - along, 0.0) if square > 0.0 else 0.0

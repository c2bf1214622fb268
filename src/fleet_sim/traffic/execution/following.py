"""Following: a robot is granted a node that the one before it is still leaving, and keeps behind that one.

A follower may stop so far before its node that discs do not touch even if its leader stops at once. Leaders only move
away, so what the follower was allowed stays allowed, whatever their speeds and delays. A leader has been granted a node
further on, and moves off; the one who follows it came later in the plan, too. So none follows itself in the end.
"""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Rows
from fleet_sim.kernels import compiled
from fleet_sim.traffic.execution.drivers import Drivers
from fleet_sim.traffic.execution.tracks import Tracks
from fleet_sim.traffic.execution.ways import Marks, Uses, Ways

NOBODY = -1
APART = 1e-3
"""What robots keep beyond their room in m, so that rounding never makes a touch of it."""
SIDEWAYS = -1e-9
"""The least cosine between the lanes of a follower and its leader."""


@compiled
def may_follow(row: int, place: int, tracks: Tracks, marks: Marks, ways: Ways, uses: Uses, drivers: Drivers) -> bool:
    """Return whether a robot may be granted the node at `place` of its way, as the one before it leaves that.

    The leader has set out from there, straight on or to the side; all who pass before it have ended their uses.
    """
    leader, node = ways.leaders[row, place], ways.nodes[row, place]
    if leader == NOBODY or len(tracks.claims) or uses.left[node] != ways.needs[row, place, 0] - 1:
        return False
    if not _leaves(leader, node, marks, ways) or drivers.progress[leader] <= 0.0:
        return False
    if tracks.lengths[ways.lanes[row, place]] < tracks.room + APART:
        return False
    return _turn_of(row, place, leader, tracks, marks, ways)[0] >= SIDEWAYS


@compiled
def _leaves(leader: int, node: int, marks: Marks, ways: Ways) -> bool:
    """Return whether a robot is on its way from `node` and has not cleared it."""
    at = marks.at[leader]
    return ways.nodes[leader, at] == node and marks.behind[leader] <= at < marks.granted[leader]


@compiled
def _turn_of(row: int, place: int, leader: int, tracks: Tracks, marks: Marks, ways: Ways) -> tuple[float, float]:
    """Return cosine and sine of the angle between a lane to a node and the leader's lane from there."""
    begin, node, end = ways.nodes[row, place - 1], ways.nodes[row, place], ways.nodes[leader, marks.at[leader] + 1]
    ax, ay = (
        tracks.positions[node, 0] - tracks.positions[begin, 0],
        tracks.positions[node, 1] - tracks.positions[begin, 1],
    )
    bx, by = tracks.positions[end, 0] - tracks.positions[node, 0], tracks.positions[end, 1] - tracks.positions[node, 1]
    lengths = np.sqrt((ax * ax + ay * ay) * (bx * bx + by * by))
    return (ax * bx + ay * by) / lengths, (ax * by - ay * bx) / lengths


@compiled
def keep_behind(rows: Rows, open_mask: Bools, tracks: Tracks, marks: Marks, ways: Ways, drivers: Drivers) -> None:
    """Set how far before their nodes followers have to stop: before leaders move on, so that these are nowhere nearer.

    Where a leader is gone and may stand in the way, its follower waits until the node is open.
    """
    room = tracks.room + APART
    for row in rows:
        leader, place = drivers.leader[row], marks.granted[row]
        if leader == NOBODY:
            if drivers.gap[row] > 0.0 and open_mask[ways.nodes[row, place]]:
                drivers.gap[row], drivers.halted[row] = 0.0, False
            continue
        if not _leaves(leader, ways.nodes[row, place], marks, ways):
            drivers.leader[row], drivers.gap[row] = NOBODY, 0.0
            continue
        cosine, sine = _turn_of(row, place, leader, tracks, marks, ways)
        along, beside = drivers.progress[leader] * max(cosine, 0.0), drivers.progress[leader] * sine
        square = room * room - beside * beside
        drivers.gap[row] = max(np.sqrt(square) - along, 0.0) if square > 0.0 else 0.0

"""Rotations: robots that move round in a circle at once, each to the place that the next one leaves.

None of them could wait until the next has left. So all stand and are turned before any of them is granted its move,
and then drive in lockstep: each has driven the same share of its lane at any time, at the law of the slowest. When one
is held, all brake together. How near two of them come is therefore known before; see `rings.have_room`.
"""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Rows
from fleet_sim.kernels import inlined
from fleet_sim.traffic.execution.drivers import MOVED, Drivers, Stride
from fleet_sim.traffic.execution.numbers import STRAIGHT, can_stop, next_speed, wrapped
from fleet_sim.traffic.execution.tracks import Tracks
from fleet_sim.traffic.execution.ways import Marks, Rotations, Ways


@inlined
def start_rounds(
    rows: Rows,
    open_mask: Bools,
    barred: Bools,
    tracks: Tracks,
    marks: Marks,
    ways: Ways,
    rounds: Rotations,
    drivers: Drivers,
) -> None:
    """Grant rotations to robots where all of a circle are ready.

    Who is ready stands where the next one goes on from, and is the only one there. So uses of nodes need not be looked
    at: those before theirs have ended.
    """
    rounds.ready[:] = 0
    for row in rows:
        at = marks.at[row]
        stands = at == marks.granted[row] and at + 1 < marks.length[row]
        number = ways.rounds[row, at + 1] if stands else 0
        if number and rounds.sizes[number] and _is_ready(row, open_mask, barred, tracks, marks, ways, drivers):
            # The lowest row leads, which is the same one in each step.
            rounds.leaders[number] = min(rounds.leaders[number], row) if rounds.ready[number] else row
            rounds.ready[number] += 1
    for row in rows:
        at = marks.at[row]
        stands = at == marks.granted[row] and at + 1 < marks.length[row]
        number = ways.rounds[row, at + 1] if stands else 0
        # All of the circle are ready; numbers of no circle have a size of 0.
        if number and rounds.ready[number] == rounds.sizes[number] > 0:
            marks.granted[row] += 1
            drivers.round[row] = rounds.leaders[number]


@inlined
def _is_ready(
    row: int, open_mask: Bools, barred: Bools, tracks: Tracks, marks: Marks, ways: Ways, drivers: Drivers
) -> bool:
    """Return whether a robot can start with the others of its circle: it stands on its node, and is free to go.

    It has to face the lane, unless it drives without turning.
    """
    at = marks.at[row]
    node = ways.nodes[row, at + 1]
    if barred[node] and drivers.wide[row] and drivers.goal[row] != node:
        return False
    if drivers.held[row] or drivers.speed[row] != 0.0 or drivers.progress[row] != 0.0 or drivers.spin[row] != 0.0:
        return False
    if marks.behind[row] != at or not open_mask[ways.nodes[row, at + 1]]:
        return False
    if not drivers.turns[row]:
        return True
    ahead = drivers.yaw[row] + np.pi if drivers.reversing[row] else drivers.yaw[row]
    return abs(wrapped(tracks.yaws[ways.lanes[row, at + 1]] - ahead)) <= STRAIGHT


@inlined
def drive_rounds(
    rows: Rows, dt: float, open_mask: Bools, tracks: Tracks, marks: Marks, ways: Ways, drivers: Drivers, step: Stride
) -> None:
    """Move the robots of each rotation that was granted by the same share of their lanes."""
    for leader in rows:
        if drivers.round[leader] != leader:
            continue
        length = tracks.lengths[ways.lanes[leader, marks.at[leader] + 1]]
        limit, accel, held = np.inf, np.inf, False
        for index in range(len(rows)):
            row = rows[index]
            if drivers.round[row] != leader:
                continue
            begin, end = ways.nodes[row, marks.at[row]], ways.nodes[row, marks.at[row] + 1]
            lane = ways.lanes[row, marks.at[row] + 1]
            # What this robot may do, in terms of the leader's lane.
            scale = length / tracks.lengths[lane]
            limit = min(limit, min(step.tops[index], tracks.limits[lane]) * scale)
            accel = min(accel, step.accels[index] * scale)
            held = held or drivers.held[row] != 0
            held = held or (drivers.halted[row] and not (open_mask[begin] and open_mask[end]))
        speed, left = drivers.speed[leader], length - drivers.progress[leader]
        # If one is held all brake; else they speed up as the slowest of them can.
        after = max(speed - accel * dt, 0.0) if held else min(limit, speed + accel * dt)
        after = max(min(after, next_speed(speed, left, 0.0, limit, accel, dt)), speed - accel * dt)
        way = min(0.5 * dt * (speed + after), left)
        # Exactly to the end, which sums of small steps would miss.
        if not held and can_stop(left, speed, limit, accel, dt):
            way = left
        for index in range(len(rows)):
            if drivers.round[rows[index]] == leader:
                moves = way > 0.0 or speed != 0.0
                lane_length = tracks.lengths[ways.lanes[rows[index], marks.at[rows[index]] + 1]]
                _move(rows[index], way >= left, way / length, after / length, lane_length, moves, marks, drivers)
                if moves:
                    step.motions[index] = MOVED


@inlined
def _move(
    row: int, there: bool, share: float, rate: float, length: float, moves: bool, marks: Marks, drivers: Drivers
) -> None:
    """Move a robot on by a share of its lane, which it then goes on along at `rate` shares per second."""
    drivers.waiting[row] = not moves
    drivers.waited[row] += not moves
    drivers.driven[row] += share * length
    if there:
        marks.at[row] += 1
        drivers.progress[row] = drivers.speed[row] = 0.0
        drivers.round[row], drivers.halted[row] = -1, False
    else:
        drivers.progress[row] += share * length
        drivers.speed[row] = rate * length

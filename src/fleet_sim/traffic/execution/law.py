"""The law by which robots drive their ways: grants first, then a step of motion, for all robots in one kernel.

Speeds follow the trapezoid of `fleet_sim.motion.profile`: the next speed is the largest from which the robot can still
stop at the end of what it was granted. It stands exactly on the node then.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Bools, Bytes, Floats, Ints, Rows
from fleet_sim.kernels import compiled
from fleet_sim.traffic.execution.tracks import Tracks
from fleet_sim.traffic.execution.ways import Marks, Uses, Ways

STRAIGHT = 1e-9
"""Lanes that differ by less (rad) are one line, and a heading that is off by less is right."""
SLACK = 1.0 + 1e-9
TINY = 1e-300
TURN = 2.0 * np.pi
BACKWARD, EITHER = 1, 2


class Drivers(NamedTuple):
    """Columns of robots in the traffic, by row; those of TrafficColumns by the same names."""

    goal: Ints
    arrived: Bools
    held: Bytes
    pace: Floats
    progress: Floats
    speed: Floats
    yaw: Floats
    spin: Floats
    reversing: Bools
    turns: Bools
    lead: Bytes
    waiting: Bools
    waited: Ints
    driven: Floats
    place: Floats


class Limits(NamedTuple):
    """The limits of robots, by row: (rows,) of the norms, (rows, 3) by axis; as in MotionColumns."""

    linear: Floats
    linear_axes: Floats
    accel: Floats
    accel_axes: Floats
    angular: Floats
    angular_axes: Floats
    turn_accel: Floats
    turn_accel_axes: Floats


@compiled
def advance(
    rows: Rows,
    dt: float,
    open_mask: Bools,
    tracks: Tracks,
    marks: Marks,
    ways: Ways,
    uses: Uses,
    drivers: Drivers,
    limits: Limits,
    motions: Bytes,
    velocities: Floats,
) -> None:
    """Grant what may be granted to `rows`, then move them by `dt` s.

    Writes `motions` (len(rows),), bits: 1 moved, 2 turned, 4 stands at its goal for the first time; and `velocities`
    (len(rows), 2) in m/s. Places are in `drivers.place`.
    """
    for row in rows:
        _grant(row, dt, open_mask, tracks, marks, ways, uses, drivers, limits)
    for index in range(len(rows)):
        row = rows[index]
        before = drivers.speed[row]
        motions[index] = 0
        if _stands(row, drivers) and _turn(row, dt, tracks, marks, ways, drivers, limits):
            motions[index] = 2
        drivers.waiting[row] = False
        if motions[index] == 0:
            passed = marks.at[row]
            _drive(row, dt, tracks, marks, ways, drivers, limits)
            _leave(row, passed, tracks, marks, ways, uses, drivers)
            _locate(index, row, tracks, marks, ways, drivers, velocities)
            if before != 0.0 or drivers.speed[row] != 0.0:
                motions[index] = 1
        else:
            velocities[index] = 0.0
        at_goal = ways.nodes[row, marks.at[row]] == drivers.goal[row]
        if at_goal and not drivers.arrived[row] and _stands(row, drivers):
            drivers.arrived[row] = True
            motions[index] |= 4


@compiled
def _stands(row: int, drivers: Drivers) -> bool:
    """Return whether a robot stands on a node."""
    return drivers.speed[row] == 0.0 and drivers.progress[row] == 0.0


@compiled
def _top_speed(row: int, drivers: Drivers, limits: Limits) -> float:
    axis = limits.linear_axes[row, 0]
    if not drivers.turns[row]:
        # It drives in any direction of its own frame: what holds for all axes holds for all directions.
        axis = min(axis, limits.linear_axes[row, 1])
    return min(limits.linear[row], axis) * drivers.pace[row]


@compiled
def _acceleration(row: int, drivers: Drivers, limits: Limits) -> float:
    axis = limits.accel_axes[row, 0]
    if not drivers.turns[row]:
        axis = min(axis, limits.accel_axes[row, 1])
    return min(limits.accel[row], axis)


@compiled
def _next_speed(speed: float, distance: float, exit_speed: float, limit: float, accel: float, dt: float) -> float:
    """Return the next speed as `next_speeds` of the profile does."""
    ahead = max(2.0 * distance - speed * dt + exit_speed * exit_speed / accel, 0.0)
    ahead /= np.sqrt(ahead / accel + 0.25 * dt * dt) + 0.5 * dt
    return max(min(ahead, limit, speed + accel * dt), speed - accel * dt)


@compiled
def _can_stop(distance: float, speed: float, limit: float, accel: float, dt: float) -> bool:
    """Return whether a robot can stop exactly `distance` ahead within one step, as `can_stop` of the profile does."""
    if distance > min(0.5 * accel * dt, limit) * dt * SLACK:
        return False
    most = accel * dt
    rate = speed * speed / max(most * most, TINY)
    offset = distance - 0.5 * speed * dt
    spare = 0.25 * dt * most * max(1.0 - rate, 0.0) + 1e-9 * dt * min(most, 1.0)
    return rate <= SLACK and offset * offset <= spare * spare


@compiled
def _wrapped(angle: float) -> float:
    return angle - TURN * np.floor(angle / TURN + 0.5)


@compiled
def _stops_at(row: int, place: int, last: int, tracks: Tracks, ways: Ways, drivers: Drivers) -> bool:
    """Return whether the robot stops at a node of its way: at its goal, at a corner, at the last that counts."""
    if place >= last:
        return True
    if ways.nodes[row, place] == drivers.goal[row] and not drivers.arrived[row]:
        return True
    bend = tracks.yaws[ways.lanes[row, place + 1]] - tracks.yaws[ways.lanes[row, place]]
    return abs(_wrapped(bend)) > STRAIGHT


@compiled
def _grant(
    row: int,
    dt: float,
    open_mask: Bools,
    tracks: Tracks,
    marks: Marks,
    ways: Ways,
    uses: Uses,
    drivers: Drivers,
    limits: Limits,
) -> None:
    """Grant further nodes until the robot need not brake in this step, while nobody has to pass them before."""
    if drivers.held[row]:
        return
    speed, limit = drivers.speed[row], _top_speed(row, drivers, limits)
    accel = _acceleration(row, drivers, limits)
    fastest = max(min(speed + accel * dt, limit), speed - accel * dt)
    # What it drives in this step at most, and what it needs to stop after it.
    needed = 0.5 * dt * (speed + fastest) + 0.5 * fastest * fastest / accel
    place = marks.at[row]
    ahead = -drivers.progress[row]
    while ahead <= needed:
        if place >= marks.length[row] - 1:
            return
        if place > marks.at[row] and _stops_at(row, place, marks.length[row], tracks, ways, drivers):
            return
        place += 1
        if place > marks.granted[row]:
            if not _is_free(row, place, open_mask, tracks, ways, uses):
                return
            marks.granted[row] = place
        ahead += tracks.lengths[ways.lanes[row, place]]


@compiled
def _is_free(row: int, place: int, open_mask: Bools, tracks: Tracks, ways: Ways, uses: Uses) -> bool:
    """Return whether all uses that the plan puts before this move have ended, and its node is open."""
    node, lane = ways.nodes[row, place], ways.lanes[row, place]
    if not open_mask[node] or uses.left[node] < ways.needs[row, place, 0]:
        return False
    for at in range(tracks.begins[lane], tracks.begins[lane + 1]):
        if uses.left[tracks.claims[at]] < ways.needs[row, place, 1 + at - tracks.begins[lane]]:
            return False
    return True


@compiled
def _turn(row: int, dt: float, tracks: Tracks, marks: Marks, ways: Ways, drivers: Drivers, limits: Limits) -> bool:
    """Turn a standing robot towards its next lane; return whether it turned in this step."""
    accel = min(limits.turn_accel[row], limits.turn_accel_axes[row, 2])
    limit = min(limits.angular[row], limits.angular_axes[row, 2])
    spin = drivers.spin[row]
    place = marks.at[row] + 1
    if drivers.held[row] or place >= marks.length[row] or not drivers.turns[row]:
        if spin == 0.0:
            return False
        after = max(abs(spin) - accel * dt, 0.0) * np.sign(spin)
        drivers.yaw[row] = _wrapped(drivers.yaw[row] + 0.5 * dt * (spin + after))
        drivers.spin[row] = after
        return True
    lane = tracks.yaws[ways.lanes[row, place]]
    error = _wrapped(lane - drivers.yaw[row])
    if spin == 0.0:
        lead = drivers.lead[row]
        drivers.reversing[row] = lead == BACKWARD or (lead == EITHER and abs(error) > 0.5 * np.pi + STRAIGHT)
    if drivers.reversing[row]:
        error = _wrapped(error + np.pi)
    if spin == 0.0 and abs(error) <= STRAIGHT:
        return False
    way = 1.0 if error >= 0.0 else -1.0
    if _can_stop(abs(error), way * spin, limit, accel, dt):
        drivers.yaw[row] = _wrapped(lane + np.pi) if drivers.reversing[row] else lane
        drivers.spin[row] = 0.0
        return True
    after = way * _next_speed(way * spin, abs(error), 0.0, limit, accel, dt)
    drivers.yaw[row] = _wrapped(drivers.yaw[row] + 0.5 * dt * (spin + after))
    drivers.spin[row] = after
    return True


@compiled
def _drive(row: int, dt: float, tracks: Tracks, marks: Marks, ways: Ways, drivers: Drivers, limits: Limits) -> None:
    """Move a robot along its way, at most to the end of what it was granted."""
    at, granted = marks.at[row], marks.granted[row]
    if at == granted:
        wants = drivers.goal[row] >= 0 and not drivers.arrived[row]
        drivers.waiting[row] = wants or marks.length[row] > granted + 1
        drivers.waited[row] += drivers.waiting[row]
        return
    speed, accel = drivers.speed[row], _acceleration(row, drivers, limits)
    limit = min(_top_speed(row, drivers, limits), tracks.limits[ways.lanes[row, at + 1]])
    end, left = at + 1, tracks.lengths[ways.lanes[row, at + 1]] - drivers.progress[row]
    after = max(speed - accel * dt, 0.0) if drivers.held[row] else min(limit, speed + accel * dt)
    while not _stops_at(row, end, granted, tracks, ways, drivers):
        lane = ways.lanes[row, end + 1]
        # A lower limit ahead holds from the lane's first node on.
        after = min(after, _next_speed(speed, left, tracks.limits[lane], np.inf, accel, dt))
        left += tracks.lengths[lane]
        end += 1
    after = max(min(after, _next_speed(speed, left, 0.0, limit, accel, dt)), speed - accel * dt)
    way = min(0.5 * dt * (speed + after), left)
    if not drivers.held[row] and _can_stop(left, speed, limit, accel, dt):
        way = left
    drivers.driven[row] += way
    if way >= left:
        marks.at[row], drivers.progress[row], drivers.speed[row] = end, 0.0, 0.0
        return
    drivers.speed[row] = after
    drivers.progress[row] += way
    while at + 1 < end and drivers.progress[row] >= tracks.lengths[ways.lanes[row, at + 1]]:
        at += 1
        drivers.progress[row] -= tracks.lengths[ways.lanes[row, at]]
    marks.at[row] = at


@compiled
def _leave(row: int, before: int, tracks: Tracks, marks: Marks, ways: Ways, uses: Uses, drivers: Drivers) -> None:
    """End the uses of nodes that the robot has cleared, and of the claims of lanes that it drove since `before`."""
    at = marks.at[row]
    for place in range(before + 1, at + 1):
        lane = ways.lanes[row, place]
        for claim in range(tracks.begins[lane], tracks.begins[lane + 1]):
            uses.left[tracks.claims[claim]] += 1
    while marks.behind[row] < at:
        uses.left[ways.nodes[row, marks.behind[row]]] += 1
        marks.behind[row] += 1
    if marks.behind[row] > at or at == marks.granted[row]:
        return
    if drivers.progress[row] >= tracks.clears[ways.lanes[row, at + 1]]:
        uses.left[ways.nodes[row, at]] += 1
        marks.behind[row] += 1


@compiled
def _locate(
    index: int, row: int, tracks: Tracks, marks: Marks, ways: Ways, drivers: Drivers, velocities: Floats
) -> None:
    """Write where the robot is, and its velocity."""
    at = marks.at[row]
    begin = tracks.positions[ways.nodes[row, at]]
    velocities[index] = 0.0
    if drivers.progress[row] == 0.0 and drivers.speed[row] == 0.0:
        # As it is: a robot that stands is exactly on its node.
        drivers.place[row] = begin
        return
    end = tracks.positions[ways.nodes[row, at + 1]]
    length = tracks.lengths[ways.lanes[row, at + 1]]
    for axis in range(2):
        way = (end[axis] - begin[axis]) / length
        drivers.place[row, axis] = begin[axis] + way * drivers.progress[row]
        velocities[index, axis] = way * drivers.speed[row]

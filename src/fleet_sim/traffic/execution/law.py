"""The law by which robots drive their ways: grants first, then a step of motion, as loops over all robots.

Speeds follow the trapezoid of `fleet_sim.motion.profile`: the next speed is the largest from which the robot can still
stop at the end of what it was granted. It stands exactly on the node then.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Bools, Bytes, Floats, Ints, Rows
from fleet_sim.kernels import compiled
from fleet_sim.motion.profile import ROUNDING, SLACK, TINY
from fleet_sim.traffic.execution.tracks import Tracks
from fleet_sim.traffic.execution.ways import Marks, Uses, Ways

STRAIGHT = 1e-9
"""A heading that is off by less (rad) is right."""
WHOLE_TURN = 2.0 * np.pi
BACKWARD, EITHER = 1, 2
MOVED, TURNED, ARRIVED = 1, 2, 4
SHUT, OPEN, NARROW = 0, 1, 2
"""Gates of nodes: nobody may enter, all may, or wide robots only where it is their goal."""


class Drivers(NamedTuple):
    """Columns of robots in the traffic, by row; those of TrafficColumns by the same names."""

    goal: Ints
    heading: Floats
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
    wide: Bools


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


class Stride(NamedTuple):
    """What a step of all robots finds out, by place in its rows (n,).

    `tops` in m/s and `accels` in m/s2 of each robot; the place `passed` of its way before the step; what it did in bits
    MOVED, TURNED, ARRIVED (for the first time at its goal); `velocities` (n, 2) in m/s.
    """

    tops: Floats
    accels: Floats
    passed: Ints
    motions: Bytes
    velocities: Floats


def advance(
    rows: Rows,
    dt: float,
    gates: Bytes,
    tracks: Tracks,
    marks: Marks,
    ways: Ways,
    uses: Uses,
    drivers: Drivers,
    limits: Limits,
) -> Stride:
    """Grant what may be granted to `rows`, then move them by `dt` s; their places are in `drivers.place`."""
    count = len(rows)
    step = Stride(np.empty(count), np.empty(count), marks.at[rows], np.zeros(count, np.uint8), np.zeros((count, 2)))
    # A function over all robots for each part: to hand arrays to a function per robot takes longer than its work, as
    # their references are counted.
    look_up_limits(rows, drivers, limits, step)
    grant(rows, dt, gates, tracks, marks, ways, uses, drivers, step)
    turn(rows, dt, tracks, marks, ways, drivers, limits, step)
    drive(rows, dt, tracks, marks, ways, drivers, step)
    leave(rows, tracks, marks, ways, uses, drivers, step)
    locate(rows, tracks, marks, ways, drivers, step)
    return step


@compiled
def look_up_limits(rows: Rows, drivers: Drivers, limits: Limits, step: Stride) -> None:
    """Find the top speeds and the accelerations of robots along their lanes."""
    for index in range(len(rows)):
        row = rows[index]
        speed, accel = limits.linear_axes[row, 0], limits.accel_axes[row, 0]
        if not drivers.turns[row]:
            # It drives in any direction of its own frame: what holds for both axes holds for all directions.
            speed, accel = min(speed, limits.linear_axes[row, 1]), min(accel, limits.accel_axes[row, 1])
        step.tops[index] = min(limits.linear[row], speed) * drivers.pace[row]
        step.accels[index] = min(limits.accel[row], accel)


# ---- numbers ---------------------------------------------------------------------------------------------------------


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
    spare = 0.25 * dt * most * max(1.0 - rate, 0.0) + ROUNDING * dt * min(most, 1.0)
    return rate <= SLACK and offset * offset <= spare * spare


@compiled
def _wrapped(angle: float) -> float:
    return angle - WHOLE_TURN * np.floor(angle / WHOLE_TURN + 0.5)


# ---- grants ----------------------------------------------------------------------------------------------------------


@compiled
def grant(
    rows: Rows,
    dt: float,
    gates: Bytes,
    tracks: Tracks,
    marks: Marks,
    ways: Ways,
    uses: Uses,
    drivers: Drivers,
    step: Stride,
) -> None:
    """Grant nodes until robots need not brake in this step, while nobody has to pass them before."""
    for index in range(len(rows)):
        row = rows[index]
        if drivers.held[row]:
            continue
        speed, accel, at, last = drivers.speed[row], step.accels[index], marks.at[row], marks.length[row] - 1
        fastest = max(min(speed + accel * dt, step.tops[index]), speed - accel * dt)
        # What it drives in this step at most, and what it needs to stop after it.
        needed = 0.5 * dt * (speed + fastest) + 0.5 * fastest * fastest / accel
        ahead, place = -drivers.progress[row], at
        while ahead <= needed and place < last:
            at_goal = ways.nodes[row, place] == drivers.goal[row] and not drivers.arrived[row]
            # It stops here anyway, and is granted more when it stands.
            if place > at and (at_goal or ways.bends[row, place + 1]):
                break
            place += 1
            lane = ways.lanes[row, place]
            if place > marks.granted[row]:
                node = ways.nodes[row, place]
                gate = gates[node]
                free = gate == OPEN or (gate == NARROW and (not drivers.wide[row] or drivers.goal[row] == node))
                free = free and uses.left[node] >= ways.needs[row, place, 0]
                for at_claim in range(tracks.begins[lane], tracks.begins[lane + 1]):
                    need = ways.needs[row, place, 1 + at_claim - tracks.begins[lane]]
                    free = free and uses.left[tracks.claims[at_claim]] >= need
                if not free:
                    break
                marks.granted[row] = place
            ahead += tracks.lengths[lane]


@compiled
def leave(rows: Rows, tracks: Tracks, marks: Marks, ways: Ways, uses: Uses, drivers: Drivers, step: Stride) -> None:
    """End the uses of nodes that robots have cleared, and of the claims of lanes that they drove to the end."""
    for index in range(len(rows)):
        row = rows[index]
        at = marks.at[row]
        for place in range(step.passed[index] + 1, at + 1):
            lane = ways.lanes[row, place]
            for claim in range(tracks.begins[lane], tracks.begins[lane + 1]):
                uses.left[tracks.claims[claim]] += 1
        while marks.behind[row] < at:
            uses.left[ways.nodes[row, marks.behind[row]]] += 1
            marks.behind[row] += 1
        if marks.behind[row] > at or at == marks.granted[row]:
            continue
        if drivers.progress[row] >= tracks.clears[ways.lanes[row, at + 1]]:
            uses.left[ways.nodes[row, at]] += 1
            marks.behind[row] += 1


# ---- motion ----------------------------------------------------------------------------------------------------------


@compiled
def turn(
    rows: Rows, dt: float, tracks: Tracks, marks: Marks, ways: Ways, drivers: Drivers, limits: Limits, step: Stride
) -> None:
    """Turn standing robots towards their next lanes, or at their goals to the headings that they were sent with."""
    for index in range(len(rows)):
        row = rows[index]
        if drivers.speed[row] != 0.0 or drivers.progress[row] != 0.0:
            continue
        accel = min(limits.turn_accel[row], limits.turn_accel_axes[row, 2])
        limit = min(limits.angular[row], limits.angular_axes[row, 2])
        spin, place = drivers.spin[row], marks.at[row] + 1
        onward = place < marks.length[row] and drivers.turns[row]
        wanted = tracks.yaws[ways.lanes[row, place]] if onward else drivers.heading[row]
        if not onward and (ways.nodes[row, place - 1] != drivers.goal[row] or drivers.arrived[row]):
            wanted = np.nan
        if drivers.held[row] or np.isnan(wanted):
            if spin != 0.0:
                after = max(abs(spin) - accel * dt, 0.0) * np.sign(spin)
                drivers.yaw[row] = _wrapped(drivers.yaw[row] + 0.5 * dt * (spin + after))
                drivers.spin[row] = after
                step.motions[index] = TURNED
            continue
        error = _wrapped(wanted - drivers.yaw[row])
        if spin == 0.0:
            lead = drivers.lead[row]
            backward = lead == BACKWARD or (lead == EITHER and abs(error) > 0.5 * np.pi + STRAIGHT)
            drivers.reversing[row] = onward and backward
        if drivers.reversing[row]:
            wanted = _wrapped(wanted + np.pi)
            error = _wrapped(wanted - drivers.yaw[row])
        if spin == 0.0 and abs(error) <= STRAIGHT:
            continue
        step.motions[index] = TURNED
        way = 1.0 if error >= 0.0 else -1.0
        after = way * _next_speed(way * spin, abs(error), 0.0, limit, accel, dt)
        there = _can_stop(abs(error), way * spin, limit, accel, dt)
        drivers.yaw[row] = wanted if there else _wrapped(drivers.yaw[row] + 0.5 * dt * (spin + after))
        drivers.spin[row] = 0.0 if there else after


@compiled
def drive(rows: Rows, dt: float, tracks: Tracks, marks: Marks, ways: Ways, drivers: Drivers, step: Stride) -> None:
    """Move robots that do not turn along their ways, at most to the ends of what they were granted."""
    for index in range(len(rows)):
        row = rows[index]
        drivers.waiting[row] = False
        at, granted = marks.at[row], marks.granted[row]
        if step.motions[index] == TURNED:
            continue
        if at == granted:
            wants = drivers.goal[row] >= 0 and not drivers.arrived[row] and ways.nodes[row, at] != drivers.goal[row]
            drivers.waiting[row] = wants
            drivers.waited[row] += wants
            continue
        speed, accel, held = drivers.speed[row], step.accels[index], drivers.held[row] != 0
        limit = min(step.tops[index], tracks.limits[ways.lanes[row, at + 1]])
        end, left = at + 1, tracks.lengths[ways.lanes[row, at + 1]] - drivers.progress[row]
        after = max(speed - accel * dt, 0.0) if held else min(limit, speed + accel * dt)
        while end < granted and not ways.bends[row, end + 1]:
            if ways.nodes[row, end] == drivers.goal[row] and not drivers.arrived[row]:
                break
            lane = ways.lanes[row, end + 1]
            # A lower limit ahead holds from the lane's first node on.
            after = min(after, _next_speed(speed, left, tracks.limits[lane], np.inf, accel, dt))
            left += tracks.lengths[lane]
            end += 1
        after = max(min(after, _next_speed(speed, left, 0.0, limit, accel, dt)), speed - accel * dt)
        way = min(0.5 * dt * (speed + after), left)
        if not held and _can_stop(left, speed, limit, accel, dt):
            way = left
        if way > 0.0 or speed != 0.0:
            step.motions[index] = MOVED
        drivers.driven[row] += way
        if way >= left:
            marks.at[row], drivers.progress[row], drivers.speed[row] = end, 0.0, 0.0
            continue
        drivers.speed[row] = after
        drivers.progress[row] += way
        while at + 1 < end and drivers.progress[row] >= tracks.lengths[ways.lanes[row, at + 1]]:
            at += 1
            drivers.progress[row] -= tracks.lengths[ways.lanes[row, at]]
        marks.at[row] = at


@compiled
def locate(rows: Rows, tracks: Tracks, marks: Marks, ways: Ways, drivers: Drivers, step: Stride) -> None:
    """Write where robots are and their velocities, and which of them stand at their goals for the first time."""
    for index in range(len(rows)):
        row = rows[index]
        if step.motions[index] != TURNED:
            at, progress, speed = marks.at[row], drivers.progress[row], drivers.speed[row]
            x, y = tracks.positions[ways.nodes[row, at], 0], tracks.positions[ways.nodes[row, at], 1]
            # As it is: a robot that stands is exactly on its node.
            if progress != 0.0 or speed != 0.0:
                end, length = ways.nodes[row, at + 1], tracks.lengths[ways.lanes[row, at + 1]]
                along_x, along_y = (tracks.positions[end, 0] - x) / length, (tracks.positions[end, 1] - y) / length
                x, y = x + along_x * progress, y + along_y * progress
                step.velocities[index, 0], step.velocities[index, 1] = along_x * speed, along_y * speed
            drivers.place[row, 0], drivers.place[row, 1] = x, y
        stands = drivers.speed[row] == 0.0 and drivers.progress[row] == 0.0
        if stands and not drivers.arrived[row] and ways.nodes[row, marks.at[row]] == drivers.goal[row]:
            heading = drivers.heading[row]
            if np.isnan(heading) or (
                drivers.spin[row] == 0.0 and abs(_wrapped(heading - drivers.yaw[row])) <= STRAIGHT
            ):
                drivers.arrived[row] = True
                step.motions[index] |= ARRIVED

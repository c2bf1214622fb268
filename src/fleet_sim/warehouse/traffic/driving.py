"""The law by which robots drive their ways: grants first, then a step of motion, as loops over all robots.

Speeds follow the trapezoid of the motion laws: the next speed is the largest from which the robot can still stop at
the end of what it was granted. It stands exactly on the node then.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.base.arrays import Bools, Bytes, Floats, Ints, Rows
from fleet_sim.base.kernels import compiled_step, inlined
from fleet_sim.warehouse.traffic.columns import SERVING
from fleet_sim.warehouse.traffic.dependency_graph import (
    STRAIGHT,
    Marks,
    Rotations,
    Tracks,
    Uses,
    Ways,
    can_stop,
    needs_of,
    next_speed,
    resource_of,
    wrapped,
)

# Robots as the law sees them: columns by row, and what a step finds out.


MOVED, TURNED, ARRIVED = 1, 2, 4


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
    round: Ints
    halted: Bools
    leader: Ints
    gap: Floats
    wide: Bools


class Limits(NamedTuple):
    """The limits of robots, by row: (rows,) of the norms, (rows, 3) by axis; named as in MotionColumns."""

    linear_limit: Floats
    linear_limits: Floats
    linear_accel: Floats
    linear_accels: Floats
    angular_limit: Floats
    angular_limits: Floats
    angular_accel: Floats
    angular_accels: Floats


class Stride(NamedTuple):
    """What steps of all robots find out, by place in their rows (n,).

    `tops` in m/s and `accels` in m/s2 of each robot; the place `passed` of its way before the tick; what it did in this
    tick, and what in `all` of them, in bits MOVED, TURNED, ARRIVED (for the first time at its goal); who `asks` to
    follow the one before it into its next node; who is in a circle that moves, `circling`.

    `modes` say of whom the law need not be asked in the next tick; `free` is at most how far in m one in mode FREE is
    from where it has to stop; `wants` (n, 2) is what one in mode WAITS waits for, and how often that has to be left;
    `spots` (n, 6) are of the lane of one in mode FREE: until where in m nothing happens on it, its length in m, its
    begin, and its direction.
    """

    tops: Floats
    accels: Floats
    passed: Ints
    motions: Bytes
    all: Bytes
    asks: Bools
    circling: Ints
    modes: Bytes
    free: Floats
    wants: Ints
    spots: Floats


ASKS, FREE, WAITS, TURNS, REFUSED = range(5)
"""The law is asked; it would let the robot speed up to its top speed; wait; go on turning without a grant. REFUSED: it
is asked, and has not granted the next node."""
SPARE = 1e-6
"""Way in m by which a robot in mode FREE is farther from where it brakes, so that rounding never matters."""


class Trace(NamedTuple):
    """Where robots in `rows` (n,) were at the end of each tick (T,) of a step, and how they moved there."""

    rows: Rows
    places: Floats
    velocities: Floats
    speeds: Floats
    yaws: Floats
    spins: Floats


class Stays(NamedTuple):
    """Robots of a crew (K,) by rows and numbers, which stay `ticks` where they arrive, if they are `active`.

    By number: `until` which tick each stays, NOT_SERVING for those on their way.
    """

    rows: Rows
    robots: Ints
    active: Bools
    until: Ints
    ticks: int


NOT_SERVING = -1
"""The tick at which a robot ends its stay, where it has none."""
NO_STAYS = Stays(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.bool_), np.zeros(0, np.int64), 0)


def stride_of(count: int) -> Stride:
    """Return room for what steps of `count` robots find out."""
    tops, accels, passed = np.empty(count), np.empty(count), np.empty(count, np.int64)
    motions, done, modes = (np.empty(count, np.uint8) for _ in range(3))
    known = modes, np.empty(count), np.empty((count, 2), np.int64), np.empty((count, 6))
    return Stride(tops, accels, passed, motions, done, np.empty(count, np.bool_), np.empty(count, np.int64), *known)


def trace_of(rows: Rows, ticks: int) -> Trace:
    """Return room for where robots in `rows` are after each of so many ticks."""
    shape = ticks, len(rows)
    return Trace(rows, np.empty((*shape, 2)), np.empty((*shape, 2)), *(np.empty(shape) for _ in range(3)))


def places_in(trace: Trace, rows: Rows) -> Ints | slice:
    """Return the places of `rows` (K,) in a trace, all where these are the same; -1 for one that is not in it."""
    if len(rows) == len(trace.rows) and (rows == trace.rows).all():
        return slice(None)
    known = {row: place for place, row in enumerate(trace.rows.tolist())}
    return np.array([known.get(row, -1) for row in rows.tolist()], np.int64)


# Following: a robot is granted a node that the one before it is still leaving, and keeps behind that one. A follower
# may stop so far before its node that discs do not touch even if its leader stops at once. Leaders only move away, so
# what the follower was allowed stays allowed, whatever their speeds and delays. A leader has been granted a node
# further on, and moves off; the one who follows it came later in the plan, too. So none follows itself in the end.


NOBODY = -1
APART = 1e-3
"""What robots keep beyond their room in m, so that rounding never makes a touch of it."""
SIDEWAYS = -1e-9
"""The least cosine between the lanes of a follower and its leader."""
AHEAD = 0.5
"""The same where footprints are squares, and lanes along rows and columns."""


@inlined
def row_at(rows: Rows, index: int) -> int:
    """Return a row without a sign: indices that may count from the end would take a tenth of the time of all ticks."""
    return np.uint64(rows[index])  # type: ignore[return-value]


@inlined
def follow(
    rows: Rows, open_mask: Bools, tracks: Tracks, marks: Marks, ways: Ways, uses: Uses, drivers: Drivers, step: Stride
) -> None:
    """Grant nodes to those of `rows` who may follow the one before them, and set how far before followers have to stop.

    Called before anybody moves, so that leaders are nowhere nearer in this step. A leader has set out from the node,
    straight on or to the side, and all who pass before it have ended their uses.
    """
    room = tracks.room + APART
    for index in range(len(rows)):
        row, asks = row_at(rows, index), step.asks[index]
        leader, place = drivers.leader[row], marks.granted[row]
        # Most follow nobody.
        if leader == NOBODY and not asks and drivers.gap[row] == 0.0:
            continue
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


# Rotations: robots that move round in a circle at once, each to the place that the next one leaves. None of them
# could wait until the next has left. So all stand and are turned before any of them is granted its move, and then
# drive in lockstep: each has driven the same share of its lane at any time, at the law of the slowest. When one is
# held, all brake together. How near two of them come is therefore known before; see `have_room` in `graph.py`.


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
    for number in range(len(rounds.ready)):
        rounds.ready[number] = 0
    complete = False
    for row in rows:
        at = marks.at[row]
        stands = at == marks.granted[row] and at + 1 < marks.length[row]
        number = ways.rounds[row, at + 1] if stands else 0
        if number and rounds.sizes[number] and _is_ready(row, open_mask, barred, tracks, marks, ways, drivers):
            # The lowest row leads, which is the same one in each step.
            rounds.leaders[number] = min(rounds.leaders[number], row) if rounds.ready[number] else row
            rounds.ready[number] += 1
            complete = complete or rounds.ready[number] == rounds.sizes[number]
    for row in rows:
        if not complete:
            break
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
    rows: Rows,
    count: int,
    dt: float,
    open_mask: Bools,
    tracks: Tracks,
    marks: Marks,
    ways: Ways,
    drivers: Drivers,
    step: Stride,
) -> None:
    """Move the robots of each rotation that was granted by the same share of their lanes; `count` are circling."""
    for one in range(count):
        leader = rows[step.circling[one]]
        if drivers.round[leader] != leader:
            continue
        length = tracks.lengths[ways.lanes[leader, marks.at[leader] + 1]]
        limit, accel, held = np.inf, np.inf, False
        for place in range(count):
            index = step.circling[place]
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
        for place in range(count):
            index = step.circling[place]
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


BACKWARD, EITHER = 1, 2


class Roads(NamedTuple):
    """The lanes of a site, and the nodes (N,) that are open to all, or `barred` to wide robots but as their goals."""

    tracks: Tracks
    open_mask: Bools
    barred: Bools


class Plans(NamedTuple):
    """Where robots go: how far each has come, the ways of all, what they use and where they move round in circles."""

    marks: Marks
    ways: Ways
    uses: Uses
    rounds: Rotations


@compiled_step
def advance(
    rows: Rows,
    dt: float,
    roads: Roads,
    plans: Plans,
    drivers: Drivers,
    limits: Limits,
    stays: Stays,
    tick: int,
    step: Stride,
    trace: Trace,
) -> int:
    """Grant what may be granted to `rows`, then move them by `dt` s, from `tick` on as often as `trace` has room for.

    Their places are in `drivers.place`, and those of each tick in `trace`; what they did is written to `step`. Between
    ticks those stay who arrived, and go who stayed long enough. Returns how many ticks were made: all, or those before
    the one in which the last of a crew that was on its way has stayed long enough.
    """
    tracks, open_mask, barred = roads
    marks, ways, uses, rounds = plans
    for index in range(len(rows)):
        begin_steps(index, rows[index], drivers, limits, step)
    for number in range(len(trace.speeds)):
        if number and len(stays.rows):
            _, ended = serve_rows(stays, tick + number, drivers.arrived, drivers.held)
            if ended and not _on_way(stays, tick + number):
                return number
        for index in range(len(rows)):
            row = row_at(rows, index)
            step.passed[index], step.motions[index] = marks.at[row], 0
            if not goes_on(index, row, dt, uses, drivers, step):
                step.modes[index], step.asks[index] = ASKS, False
                grant(index, row, dt, roads, plans, drivers, step)
            elif step.modes[index] != WAITS:
                step.asks[index] = False
        follow(rows, open_mask, tracks, marks, ways, uses, drivers, step)
        if len(rounds.sizes) > 1:
            start_rounds(rows, open_mask, barred, tracks, marks, ways, rounds, drivers)
        circling = 0
        # All of one robot at once, as what it needs is at hand then: nobody looks at others from here on.
        for index in range(len(rows)):
            row = row_at(rows, index)
            if step.modes[index] == FREE:
                coast(index, row, number, dt, tracks, marks, ways, uses, drivers, step, trace)
            elif step.modes[index] == WAITS and marks.at[row] == marks.granted[row]:
                drivers.waited[row] += drivers.waiting[row]
                trace.velocities[number, index, 0] = trace.velocities[number, index, 1] = 0.0
                note(index, row, number, drivers, step, trace)
            else:
                turn(index, row, dt, tracks, marks, ways, drivers, limits, step)
                drive(index, row, dt, tracks, marks, ways, drivers, step)
                if drivers.round[row] >= 0:
                    # Those of a circle drive together, see below.
                    step.circling[circling] = index
                    circling += 1
                else:
                    leave(index, row, tracks, marks, ways, uses, drivers, step)
                    locate(index, row, number, tracks, marks, ways, drivers, step, trace)
                    decide(index, row, dt, tracks, marks, ways, drivers, step)
        if circling:
            drive_rounds(rows, circling, dt, open_mask, tracks, marks, ways, drivers, step)
            for place in range(circling):
                index = step.circling[place]
                leave(index, rows[index], tracks, marks, ways, uses, drivers, step)
                locate(index, rows[index], number, tracks, marks, ways, drivers, step, trace)
                step.modes[index] = ASKS
    return len(trace.speeds)


# ---- what the law need not be asked about ----------------------------------------------------------------------------


@inlined
def goes_on(index: int, row: int, dt: float, uses: Uses, drivers: Drivers, step: Stride) -> bool:
    """Return whether a robot goes on as its mode says in this tick, whatever else happens."""
    mode = step.modes[index]
    if mode in (ASKS, REFUSED) or drivers.held[row]:
        return False
    if mode == WAITS:
        return uses.left[step.wants[index, 0]] < step.wants[index, 1]
    if mode == FREE:
        speed, accel = drivers.speed[row], step.accels[index]
        after = max(min(step.tops[index], speed + accel * dt), speed - accel * dt)
        return step.free[index] > 0.5 * dt * (speed + after) + 0.5 * after * after / accel + SPARE
    return True


@inlined
def decide(
    index: int, row: int, dt: float, tracks: Tracks, marks: Marks, ways: Ways, drivers: Drivers, step: Stride
) -> None:
    """Find the mode in which a robot is after a tick in which the law was asked."""
    mode, at, accel = step.modes[index], marks.at[row], step.accels[index]
    step.modes[index] = ASKS
    if step.motions[index] == MOVED and mode == FREE:
        if drivers.speed[row] > 0.0 and drivers.leader[row] < 0 and not drivers.halted[row]:
            step.modes[index] = FREE
            spot(index, row, tracks, marks, ways, step)
    elif step.motions[index] == TURNED:
        # With a lane that was granted, a robot that stands asks for no more.
        after = accel * dt
        if at < marks.granted[row] and tracks.lengths[ways.lanes[row, at + 1]] > after * dt + SPARE:
            step.modes[index] = TURNS
    elif step.motions[index] == 0 and mode == REFUSED and at == marks.granted[row]:
        step.modes[index] = WAITS


@inlined
def spot(index: int, row: int, tracks: Tracks, marks: Marks, ways: Ways, step: Stride) -> None:
    """Look up the lane that a robot is on."""
    at = marks.at[row]
    node, end, lane = ways.nodes[row, at], ways.nodes[row, at + 1], ways.lanes[row, at + 1]
    length = tracks.lengths[lane]
    x, y = tracks.positions[node, 0], tracks.positions[node, 1]
    step.spots[index, 0] = min(length, tracks.clears[lane]) if marks.behind[row] == at else length
    step.spots[index, 1], step.spots[index, 2], step.spots[index, 3] = length, x, y
    step.spots[index, 4] = (tracks.positions[end, 0] - x) / length
    step.spots[index, 5] = (tracks.positions[end, 1] - y) / length


@inlined
def coast(
    index: int,
    row: int,
    tick: int,
    dt: float,
    tracks: Tracks,
    marks: Marks,
    ways: Ways,
    uses: Uses,
    drivers: Drivers,
    step: Stride,
    trace: Trace,
) -> None:
    """Move a robot by what `drive` would find, as nothing ahead of it is near."""
    speed, accel = drivers.speed[row], step.accels[index]
    after = max(min(step.tops[index], speed + accel * dt), speed - accel * dt)
    distance = 0.5 * dt * (speed + after)
    step.motions[index] = MOVED
    step.free[index] -= distance
    drivers.driven[row] += distance
    drivers.speed[row] = after
    progress = drivers.progress[row] + distance
    if progress >= step.spots[index, 0]:
        while progress >= step.spots[index, 1]:
            progress -= step.spots[index, 1]
            marks.at[row] += 1
            step.spots[index, 1] = tracks.lengths[ways.lanes[row, marks.at[row] + 1]]
        drivers.progress[row] = progress
        leave(index, row, tracks, marks, ways, uses, drivers, step)
        spot(index, row, tracks, marks, ways, step)
    drivers.progress[row] = progress
    along_x, along_y = step.spots[index, 4], step.spots[index, 5]
    drivers.place[row, 0] = step.spots[index, 2] + along_x * progress
    drivers.place[row, 1] = step.spots[index, 3] + along_y * progress
    trace.velocities[tick, index, 0], trace.velocities[tick, index, 1] = along_x * after, along_y * after
    note(index, row, tick, drivers, step, trace)


@inlined
def note(index: int, row: int, tick: int, drivers: Drivers, step: Stride, trace: Trace) -> None:
    """Write where a robot is after a tick, and what it did."""
    step.all[index] |= step.motions[index]
    trace.places[tick, index, 0], trace.places[tick, index, 1] = drivers.place[row, 0], drivers.place[row, 1]
    trace.speeds[tick, index], trace.yaws[tick, index] = drivers.speed[row], drivers.yaw[row]
    trace.spins[tick, index] = drivers.spin[row]


@inlined
def begin_steps(index: int, row: int, drivers: Drivers, limits: Limits, step: Stride) -> None:
    """Find the top speed and the acceleration of a robot along its lane; it has not done anything yet."""
    step.all[index], step.modes[index] = 0, ASKS
    speed, accel = limits.linear_limits[row, 0], limits.linear_accels[row, 0]
    if not drivers.turns[row]:
        # It drives in any direction of its own frame: what holds for both axes holds for all directions.
        speed, accel = min(speed, limits.linear_limits[row, 1]), min(accel, limits.linear_accels[row, 1])
    step.tops[index] = min(limits.linear_limit[row], speed) * drivers.pace[row]
    step.accels[index] = min(limits.linear_accel[row], accel)


# ---- stays -----------------------------------------------------------------------------------------------------------


@compiled_step
def serve_rows(stays: Stays, tick: int, arrived: Bools, held: Bytes) -> tuple[bool, bool]:
    """Let those of a crew stay that arrived, and go that stayed long enough; `arrived` and `held` are by row.

    Returns whether one was held or let go, and whether the stay of one ends now.
    """
    changed, ended = False, False
    for place in range(len(stays.rows)):
        row, robot = stays.rows[place], stays.robots[place]
        # Who has no task has not just arrived.
        if stays.until[robot] < 0 and arrived[row] and stays.active[robot]:
            stays.until[robot] = tick + stays.ticks
            # Without a stay nobody has to be held.
            if stays.ticks > 0:
                held[row], changed = held[row] | SERVING, True
        elif 0 <= stays.until[robot] <= tick and held[row] & SERVING:
            held[row], changed = held[row] & ~SERVING, True
        ended = ended or stays.until[robot] == tick
    return changed, ended


@inlined
def _on_way(stays: Stays, tick: int) -> bool:
    """Return whether one of a crew that has a task has not yet stayed long enough at its goal."""
    found = False
    for robot in stays.robots:
        found = found or (stays.active[robot] and not 0 <= stays.until[robot] <= tick)
    return found


# ---- grants ----------------------------------------------------------------------------------------------------------


@inlined
def grant(index: int, row: int, dt: float, roads: Roads, plans: Plans, drivers: Drivers, step: Stride) -> None:
    """Grant nodes until a robot need not brake in this step, while nobody has to pass them before."""
    tracks, open_mask, barred = roads
    marks, ways, uses, rounds = plans
    if drivers.held[row] or drivers.round[row] >= 0:
        return
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
            # What stands there is in nobody's way but that of who carries something wide.
            node = ways.nodes[row, place]
            if barred[node] and drivers.wide[row] and drivers.goal[row] != node:
                break
            # Who follows another one is granted no more before that one has cleared the node.
            if drivers.leader[row] >= 0 or drivers.halted[row]:
                break
            # Granted to all who move round at once, when they stand and are ready.
            if rounds.sizes[ways.rounds[row, place]] > 0:
                break
            # What has to be left first: the node, what the lane claims, and what it holds there.
            wanted, need = node, ways.needs[row, place, 0]
            free = open_mask[node] and uses.left[node] >= need
            for slot in range(1, needs_of(node, lane, tracks)):
                if free:
                    wanted, need = resource_of(node, lane, slot, tracks), ways.needs[row, place, slot]
                    free = uses.left[wanted] >= need
            if not free:
                # Lanes that claim others may be crossed; and who holds more than a node needs all of it.
                single = tracks.firsts[node] == tracks.firsts[node + 1]
                step.asks[index] = open_mask[node] and single and not len(tracks.claims)
                if open_mask[node]:
                    step.modes[index] = REFUSED
                    step.wants[index, 0], step.wants[index, 1] = wanted, need
                break
            marks.granted[row] = place
        ahead += tracks.lengths[lane]


@inlined
def leave(
    index: int, row: int, tracks: Tracks, marks: Marks, ways: Ways, uses: Uses, drivers: Drivers, step: Stride
) -> None:
    """End the uses of nodes that a robot has cleared, and of the claims of lanes that it drove to the end."""
    at = marks.at[row]
    for place in range(step.passed[index] + 1, at + 1):
        lane = ways.lanes[row, place]
        for claim in range(tracks.begins[lane], tracks.begins[lane + 1]):
            uses.left[tracks.claims[claim]] += 1
    while marks.behind[row] < at:
        _end_stand(ways.nodes[row, marks.behind[row]], tracks, uses)
        marks.behind[row] += 1
    if marks.behind[row] > at or at == marks.granted[row]:
        return
    if drivers.progress[row] >= tracks.clears[ways.lanes[row, at + 1]]:
        _end_stand(ways.nodes[row, at], tracks, uses)
        marks.behind[row] += 1


@inlined
def _end_stand(node: int, tracks: Tracks, uses: Uses) -> None:
    """End the uses of a node, and of all that a robot held there."""
    uses.left[node] += 1
    for at in range(tracks.firsts[node], tracks.firsts[node + 1]):
        uses.left[tracks.stands[at]] += 1


# ---- motion ----------------------------------------------------------------------------------------------------------


@inlined
def turn(
    index: int,
    row: int,
    dt: float,
    tracks: Tracks,
    marks: Marks,
    ways: Ways,
    drivers: Drivers,
    limits: Limits,
    step: Stride,
) -> None:
    """Turn a standing robot towards its next lane, or at its goal to the heading that it was sent with."""
    if drivers.speed[row] != 0.0 or drivers.progress[row] != 0.0:
        return
    accel = min(limits.angular_accel[row], limits.angular_accels[row, 2])
    limit = min(limits.angular_limit[row], limits.angular_limits[row, 2])
    spin, place = drivers.spin[row], marks.at[row] + 1
    onward = place < marks.length[row] and drivers.turns[row]
    wanted = tracks.yaws[ways.lanes[row, place]] if onward else drivers.heading[row]
    # Also when it has been there before, and had to give way since.
    if not onward and ways.nodes[row, place - 1] != drivers.goal[row]:
        wanted = np.nan
    if drivers.held[row] or np.isnan(wanted):
        if spin != 0.0:
            new_spin = max(abs(spin) - accel * dt, 0.0) * np.sign(spin)
            drivers.yaw[row] = wrapped(drivers.yaw[row] + 0.5 * dt * (spin + new_spin))
            drivers.spin[row] = new_spin
            step.motions[index] = TURNED
        return
    error = wrapped(wanted - drivers.yaw[row])
    if spin == 0.0:
        lead = drivers.lead[row]
        backward = lead == BACKWARD or (lead == EITHER and abs(error) > 0.5 * np.pi + STRAIGHT)
        drivers.reversing[row] = onward and backward
    if drivers.reversing[row]:
        wanted = wrapped(wanted + np.pi)
        error = wrapped(wanted - drivers.yaw[row])
    if spin == 0.0 and abs(error) <= STRAIGHT:
        return
    step.motions[index] = TURNED
    sign = 1.0 if error >= 0.0 else -1.0
    new_spin = sign * next_speed(sign * spin, abs(error), 0.0, limit, accel, dt)
    stops = can_stop(abs(error), sign * spin, limit, accel, dt)
    drivers.yaw[row] = wanted if stops else wrapped(drivers.yaw[row] + 0.5 * dt * (spin + new_spin))
    drivers.spin[row] = 0.0 if stops else new_spin


@inlined
def drive(
    index: int, row: int, dt: float, tracks: Tracks, marks: Marks, ways: Ways, drivers: Drivers, step: Stride
) -> None:
    """Move a robot that does not turn along its way, at most to the end of what it was granted.

    Places are indices into the way of a robot: its nodes, with the lane into each.
    """
    drivers.waiting[row] = False
    place, granted_place = marks.at[row], marks.granted[row]
    if step.motions[index] == TURNED or drivers.round[row] >= 0:
        return
    if place == granted_place:
        wants_to_go = (
            drivers.goal[row] >= 0 and not drivers.arrived[row] and ways.nodes[row, place] != drivers.goal[row]
        )
        drivers.waiting[row] = wants_to_go
        drivers.waited[row] += wants_to_go
        return
    speed, accel, is_held = drivers.speed[row], step.accels[index], drivers.held[row] != 0
    lane = ways.lanes[row, place + 1]
    # Within a place: it may stand half turned, and needs the room for that until it has done.
    if is_held and tracks.lengths[lane] == 0.0:
        return
    top_speed = min(step.tops[index], tracks.limits[lane])
    new_speed = max(speed - accel * dt, 0.0) if is_held else min(top_speed, speed + accel * dt)
    # It has to stop at the end of what it was granted, before a bend, or at its goal.
    stop_place, to_stop = place + 1, tracks.lengths[lane] - drivers.progress[row]
    plain = tracks.limits[lane] == np.inf
    while stop_place < granted_place and not ways.bends[row, stop_place + 1]:
        if ways.nodes[row, stop_place] == drivers.goal[row] and not drivers.arrived[row]:
            break
        lane = ways.lanes[row, stop_place + 1]
        # A lower limit ahead holds from the lane's first node on.
        if tracks.limits[lane] < np.inf:
            plain = False
            new_speed = min(new_speed, next_speed(speed, to_stop, tracks.limits[lane], np.inf, accel, dt))
        to_stop += tracks.lengths[lane]
        stop_place += 1
    # Behind the one before it, a follower stops before the node.
    clearance = drivers.gap[row] if stop_place == granted_place else 0.0
    allowed = max(to_stop - clearance, 0.0)
    if plain and not is_held and clearance == 0.0:
        step.modes[index] = FREE
    new_speed = min(new_speed, next_speed(speed, allowed, 0.0, top_speed, accel, dt))
    new_speed = max(new_speed, speed - accel * dt)
    # It may come to rest within the step.
    distance = min(0.5 * dt * (speed + new_speed), allowed)
    if not is_held and can_stop(allowed, speed, top_speed, accel, dt):
        distance, new_speed = allowed, 0.0
    if distance > 0.0 or speed != 0.0:
        step.motions[index] = MOVED
    elif not is_held:
        # For the one before it, in the middle of a lane.
        drivers.waiting[row] = True
        drivers.waited[row] += 1
    drivers.driven[row] += distance
    step.free[index] = to_stop - distance
    if distance >= to_stop:
        marks.at[row], drivers.progress[row], drivers.speed[row] = stop_place, 0.0, 0.0
        return
    drivers.speed[row] = new_speed
    drivers.progress[row] += distance
    while place + 1 < stop_place and drivers.progress[row] >= tracks.lengths[ways.lanes[row, place + 1]]:
        place += 1
        drivers.progress[row] -= tracks.lengths[ways.lanes[row, place]]
    marks.at[row] = place


@inlined
def locate(
    index: int,
    row: int,
    tick: int,
    tracks: Tracks,
    marks: Marks,
    ways: Ways,
    drivers: Drivers,
    step: Stride,
    trace: Trace,
) -> None:
    """Write where a robot is and its velocity, and whether it stands at its goal for the first time."""
    trace.velocities[tick, index, 0] = trace.velocities[tick, index, 1] = 0.0
    if step.motions[index] != TURNED:
        at, progress, speed = marks.at[row], drivers.progress[row], drivers.speed[row]
        x, y = tracks.positions[ways.nodes[row, at], 0], tracks.positions[ways.nodes[row, at], 1]
        # As it is: a robot that stands is exactly on its node.
        if progress != 0.0 or speed != 0.0:
            end, length = ways.nodes[row, at + 1], tracks.lengths[ways.lanes[row, at + 1]]
            along_x, along_y = (tracks.positions[end, 0] - x) / length, (tracks.positions[end, 1] - y) / length
            x, y = x + along_x * progress, y + along_y * progress
            trace.velocities[tick, index, 0], trace.velocities[tick, index, 1] = along_x * speed, along_y * speed
        drivers.place[row, 0], drivers.place[row, 1] = x, y
    stands = drivers.speed[row] == 0.0 and drivers.progress[row] == 0.0
    if stands and not drivers.arrived[row] and ways.nodes[row, marks.at[row]] == drivers.goal[row]:
        heading = drivers.heading[row]
        if np.isnan(heading) or (drivers.spin[row] == 0.0 and abs(wrapped(heading - drivers.yaw[row])) <= STRAIGHT):
            drivers.arrived[row] = True
            step.motions[index] |= ARRIVED
    note(index, row, tick, drivers, step, trace)

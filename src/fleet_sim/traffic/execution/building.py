"""Kernels that check plans, and count who passes what after whom.

A plan is checked step by step: it begins where the grants end and follows lanes, and no two robots use a node or a
crossing in one step. Then each use is counted after those before it, which is the whole graph, see `graph.py`.
"""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Ints, Rows
from fleet_sim.kernels import compiled
from fleet_sim.traffic.execution.numbers import STRAIGHT, wrapped
from fleet_sim.traffic.execution.rings import find_rings, follows_itself
from fleet_sim.traffic.execution.tracks import Tracks
from fleet_sim.traffic.execution.ways import Marks, Small, Uses, Ways

SOUND, START, NO_LANE, TAKEN, CIRCLE = range(5)
WAITS, ASTRAY = -1, -2
NOBODY = -1


@compiled
def first_fault(
    paths: Ints, ends: Ints, tracks: Tracks, standing: Ints, taken: Ints, rounds: Small
) -> tuple[int, int, int, int]:
    """Return (kind, robot, other robot, step) of the first fault of `paths` that begin at `ends`, or SOUND.

    `standing` and `taken` are scratch by resource, -1 before, and after a sound plan. `rounds` (R, T + 1), 0 before,
    get the numbers of the rotations that robots make in a step; in a sound plan `robot` is how many there are.
    """
    robots, known = len(paths), 0
    lanes = np.empty(robots, np.int64)
    search = np.empty((3, robots), np.int64)
    for robot in range(robots):
        if paths[robot, 0] != ends[robot]:
            # The plan has to begin where the robot will be.
            return START, robot, -1, 0
    for step in range(1, paths.shape[1]):
        for robot in range(robots):
            standing[paths[robot, step - 1]] = robot
            lanes[robot] = _lane(paths[robot, step - 1], paths[robot, step], tracks)
            # Before anything is looked up at a node that may not exist.
            if lanes[robot] == ASTRAY:
                return NO_LANE, robot, -1, step
        for robot in range(robots):
            # Taken in the order of robots: who is second is at fault.
            other = _take(robot, paths[robot, step], lanes[robot], tracks, taken)
            if other >= 0:
                return TAKEN, robot, other, step
        if len(tracks.claims):
            robot = follows_itself(paths, step, lanes, tracks, standing, search)
        else:
            robot, known = find_rings(paths, step, lanes, tracks, standing, search[0], rounds, known)
        if robot >= 0:
            return CIRCLE, robot, -1, step
        for robot in range(robots):
            standing[paths[robot, step - 1]] = -1
            taken[paths[robot, step]] = -1
            if lanes[robot] >= 0:
                for at in range(tracks.begins[lanes[robot]], tracks.begins[lanes[robot] + 1]):
                    taken[tracks.claims[at]] = -1
    return SOUND, known, -1, -1


@compiled
def _lane(before: int, node: int, tracks: Tracks) -> int:
    """Return the lane from one node to another; WAITS where they are the same, ASTRAY where there is none."""
    if node == before:
        return WAITS
    width = tracks.neighbours.shape[1]
    if node >= 0:
        for slot in range(width):
            if tracks.neighbours[before, slot] == node:
                return before * width + slot
    return ASTRAY


@compiled
def _take(robot: int, node: int, lane: int, tracks: Tracks, taken: Ints) -> int:
    """Let the robot use a node, and what the lane to it claims; return who uses some of it already, -1 for nobody."""
    if taken[node] >= 0:
        return taken[node]
    # Its place, then what its lane crosses.
    taken[node] = robot
    if lane >= 0:
        for at in range(tracks.begins[lane], tracks.begins[lane + 1]):
            other = taken[tracks.claims[at]]
            if other >= 0 and other != robot:
                return other
            taken[tracks.claims[at]] = robot
    return -1


@compiled
def append(
    holders: Rows, rows: Rows, paths: Ints, rounds: Small, tracks: Tracks, marks: Marks, ways: Ways, uses: Uses
) -> None:
    """Make the sound plan `paths` of `rows`, with its `rounds`, what `holders` drive after their granted ways."""
    uses.left[:] = 0
    uses.given[:] = 0
    uses.last[:] = -1
    for row in holders:
        _keep_granted(row, marks, ways, uses)
    # After those who leave a node, as they move round with others, count those who are granted it already.
    for row in holders:
        _count_ahead(row, tracks, marks, ways, uses)
    for step in range(1, paths.shape[1]):
        for robot in range(len(rows)):
            lane = _lane(paths[robot, step - 1], paths[robot, step], tracks)
            if lane >= 0:
                _plan_move(rows[robot], paths[robot, step], lane, rounds[robot, step], tracks, marks, ways, uses)
    for row in holders:
        mixed = 0
        # With the prime of FNV-1a: one number that stands for the whole way ahead.
        for place in range(marks.at[row], marks.length[row]):
            mixed = (mixed ^ (ways.nodes[row, place] + 1)) * 1099511628211
            mixed = (mixed ^ ways.rounds[row, place]) * 1099511628211
            for slot in range(ways.needs.shape[2]):
                mixed = (mixed ^ ways.needs[row, place, slot]) * 1099511628211
        marks.digest[row] = mixed


@compiled
def _keep_granted(row: int, marks: Marks, ways: Ways, uses: Uses) -> None:
    """Move what the robot still holds to the front of its way, and count its uses of what it leaves or stands on."""
    # A robot that has cleared the node that it passed last is still on the lane that begins there.
    base = min(marks.behind[row], marks.at[row])
    count = marks.granted[row] - base + 1
    marks.behind[row] -= base
    marks.at[row] -= base
    marks.granted[row] = count - 1
    marks.length[row] = count
    for place in range(count):
        ways.nodes[row, place] = ways.nodes[row, base + place]
        ways.lanes[row, place] = ways.lanes[row, base + place]
        ways.bends[row, place] = ways.bends[row, base + place]
        # Rotations that began are known by who takes part.
        ways.needs[row, place], ways.rounds[row, place] = 0, 0
        if marks.behind[row] <= place <= marks.at[row]:
            _count(row, ways.nodes[row, place], uses)


@compiled
def _count_ahead(row: int, tracks: Tracks, marks: Marks, ways: Ways, uses: Uses) -> None:
    """Count the uses of the nodes that the robot was granted and has not reached."""
    for place in range(marks.at[row] + 1, marks.granted[row] + 1):
        lane = ways.lanes[row, place]
        _count(row, ways.nodes[row, place], uses)
        # The claims of a lane are held until its end is reached.
        for at in range(tracks.begins[lane], tracks.begins[lane + 1]):
            _count(row, tracks.claims[at], uses)


@compiled
def _plan_move(
    row: int, node: int, lane: int, number: int, tracks: Tracks, marks: Marks, ways: Ways, uses: Uses
) -> None:
    """Add a move along `lane` to `node` to the end of a way, after all uses of what it needs that are known."""
    place = marks.length[row]
    marks.length[row] = place + 1
    ways.nodes[row, place] = node
    ways.lanes[row, place] = lane
    ways.rounds[row, place] = number
    bend = wrapped(tracks.yaws[lane] - tracks.yaws[ways.lanes[row, place - 1]])
    # Of the first lane of a way it means nothing: robots look at the bends ahead of them.
    ways.bends[row, place] = abs(bend) > STRAIGHT
    ways.leaders[row, place] = uses.last[node] if uses.last[node] != row else NOBODY
    ways.needs[row, place, 0] = _count(row, node, uses)
    for at in range(tracks.begins[lane], tracks.begins[lane + 1]):
        ways.needs[row, place, 1 + at - tracks.begins[lane]] = _count(row, tracks.claims[at], uses)


@compiled
def _count(row: int, resource: int, uses: Uses) -> int:
    """Count one more use of a resource by `row`; return how many others must have ended before."""
    # Nobody waits for himself: a robot that comes back, with no one between, waits for whom it waited before.
    need = uses.first[resource] if uses.last[resource] == row else uses.given[resource]
    uses.first[resource] = need
    uses.last[resource] = row
    uses.given[resource] += 1
    return need


@compiled
def withdraw(holders: Rows, row: int, tracks: Tracks, marks: Marks, ways: Ways, uses: Uses) -> None:
    """End all that the robot in `row` holds, and let no other wait for what was only planned for it."""
    # What it held is free now.
    for place in range(marks.behind[row], marks.granted[row] + 1):
        uses.left[ways.nodes[row, place]] += 1
    for place in range(marks.at[row] + 1, marks.length[row]):
        lane = ways.lanes[row, place]
        planned = place > marks.granted[row]
        if planned:
            _waive(holders, row, ways.nodes[row, place], ways.needs[row, place, 0], tracks, marks, ways)
        for at in range(tracks.begins[lane], tracks.begins[lane + 1]):
            if planned:
                need = ways.needs[row, place, 1 + at - tracks.begins[lane]]
                _waive(holders, row, tracks.claims[at], need, tracks, marks, ways)
            else:
                uses.left[tracks.claims[at]] += 1


@compiled
def _waive(holders: Rows, gone: int, resource: int, need: int, tracks: Tracks, marks: Marks, ways: Ways) -> None:
    """Let each planned use of `resource` behind the one with `need` wait for one use less."""
    for row in holders:
        if row == gone:
            continue
        for place in range(marks.granted[row] + 1, marks.length[row]):
            # Only those that come after it waited for it.
            if ways.nodes[row, place] == resource and ways.needs[row, place, 0] > need:
                ways.needs[row, place, 0] -= 1
            lane = ways.lanes[row, place]
            for at in range(tracks.begins[lane], tracks.begins[lane + 1]):
                slot = 1 + at - tracks.begins[lane]
                if tracks.claims[at] == resource and ways.needs[row, place, slot] > need:
                    ways.needs[row, place, slot] -= 1

"""Checks of plans: no robot moves along a path that has not passed them."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bytes, Ints
from fleet_sim.errors import PlanError
from fleet_sim.kernels import compiled
from fleet_sim.traffic.circles import are_in_order
from fleet_sim.traffic.problem import BARRED, BLOCKED, EVERYWHERE, Problem
from fleet_sim.traffic.tables import Links

SOUND, NO_MOVE, SHUT, SAME_NODE, SWAP, TOO_NEAR, CIRCLE, NO_ROOM = range(8)


def check_paths(problem: Problem, paths: object) -> Ints:
    """Return `paths` as Ints (R, T + 1) if robots may drive them; column t has the nodes at step t.

    Raises PlanError that names the robot, the step and the reason: a wrong shape or start, a move that the network does
    not have or onto a blocked node, two robots at one node, swapping, or too near to each other, or a plan that is
    shorter than the window or, without one, ends away from the goals.
    """
    # A planner of users' own may return anything.
    array = np.asarray(paths)
    if array.ndim != 2 or array.dtype.kind not in "iu" or len(array) != len(problem) or array.shape[1] < 2:
        raise PlanError(
            f"paths: expected whole numbers of shape ({len(problem)} robots, at least 2 steps),"
            f" got {array.dtype} of shape {array.shape}"
        )
    checked = np.ascontiguousarray(array, np.int64)
    network = problem.network
    outside = np.argwhere((checked < 0) | (checked >= len(network)))
    if len(outside):
        robot, step = outside[0].tolist()
        raise PlanError(
            f"robot {robot} is at node {array[robot, step]} at step {step}, which the network does not have"
        )
    # Compared at step 0: a path for another robot is most often seen here.
    astray = np.flatnonzero(checked[:, 0] != problem.starts)
    if len(astray):
        robot = int(astray[0])
        raise PlanError(f"robot {robot} starts at node {problem.starts[robot]}, its path at node {checked[robot, 0]}")
    claims = network.claims
    held = np.full((2, claims.resources(len(network))), -1, np.int64)
    bars, passes = problem.bars, problem.passes
    fault = find_fault(checked, network.links, bars, passes, claims.begins, claims.ids, held[0], held[1])
    if fault[0] != SOUND:
        raise PlanError(_told(checked, *fault))
    _check_length(problem, checked)
    return checked


def _told(paths: Ints, kind: int, robot: int, other: int, step: int) -> str:
    """Return a sentence for people about the fault of `kind` in a plan, with robots and nodes by number."""
    begin, end = paths[robot, step - 1], paths[robot, step]
    move = f"robot {robot} moves from node {begin} to node {end} at step {step}"
    return {
        NO_MOVE: f"{move}, which are not neighbours in that direction",
        SHUT: f"{move}, which is blocked",
        NO_ROOM: f"{move}, which is barred to wide robots",
        SAME_NODE: f"robots {other} and {robot} are both at node {end} at step {step}",
        SWAP: f"robots {other} and {robot} need each other's place: {move}",
        CIRCLE: f"at step {step} robots wait for each other in a circle, as each needs room that the next one leaves",
        TOO_NEAR: f"{move}, too near to robot {other}",
    }[kind]


def _check_length(problem: Problem, paths: Ints) -> None:
    """Raise PlanError if a robot is not at its goal at the end, and the plan has fewer steps than its window.

    Without a window all robots must be at their goals.
    """
    last = paths.shape[1] - 1
    away = np.flatnonzero(paths[:, -1] != problem.goals)
    if not len(away):
        return
    robot = int(away[0])
    # Without a window, a plan leads to the end.
    if problem.window == 0:
        # With one, a part of the way will do, if it is as long as was asked for.
        raise PlanError(f"robot {robot} is at node {paths[robot, -1]} at the end and not at its goal")
    if last < problem.window:
        raise PlanError(f"the plan has {last} steps, {problem.window} are asked for, and robot {robot} is on its way")


@compiled
def find_fault(
    paths: Ints, links: Links, bars: Bytes, passes: Ints, begins: Ints, ids: Ints, before: Ints, after: Ints
) -> tuple[int, int, int, int]:
    """Return (kind, robot, other robot, step) of the first fault, or SOUND; `before`, `after` are scratch of -1.

    `before` has who stands where, `after` who holds what in the step.
    """
    if not len(ids):
        # Ten times as fast: to hand arrays to a function per robot takes longer than its work.
        return _find_fault_on_grid(paths, links, bars, passes, before, after)
    robots, length = paths.shape
    for step in range(1, length):
        for robot in range(robots):
            before[paths[robot, step - 1]] = robot
        for robot in range(robots):
            begin, end = paths[robot, step - 1], paths[robot, step]
            move = _move_number(links, begin, end)
            if move < 0 and begin != end:
                return NO_MOVE, robot, -1, step
            if begin != end and bars[end] == BLOCKED:
                return SHUT, robot, -1, step
            if begin != end and bars[end] == BARRED and passes[robot] != EVERYWHERE and passes[robot] != end:
                return NO_ROOM, robot, -1, step
            if after[end] >= 0:
                other = after[end]
                return (SAME_NODE if paths[other, step] == end else TOO_NEAR), robot, other, step
            after[end] = robot
            if move >= 0:
                for at in range(begins[move], begins[move + 1]):
                    if after[ids[at]] >= 0 and after[ids[at]] != robot:
                        return TOO_NEAR, robot, after[ids[at]], step
                    after[ids[at]] = robot
        for robot in range(robots):
            other = _swaps_with(paths, links, begins, ids, before, after, robot, step)
            if other >= 0:
                return SWAP, robot, other, step
        # Unlike on a grid there is no room to move round at once.
        if not are_in_order(links, begins, ids, paths[:, step - 1].copy(), paths[:, step].copy(), before, after, False):
            return CIRCLE, 0, -1, step
        for robot in range(robots):
            before[paths[robot, step - 1]] = -1
            _release(paths, links, begins, ids, after, robot, step)
    return SOUND, -1, -1, -1


@compiled
def _find_fault_on_grid(
    paths: Ints, links: Links, bars: Bytes, passes: Ints, before: Ints, after: Ints
) -> tuple[int, int, int, int]:
    """Do what `find_fault` does where moves claim nothing but nodes. Scratch holds numbers that grow with the step."""
    robots, length = paths.shape
    for robot in range(robots):
        before[paths[robot, 0]] = robot
    for step in range(1, length):
        base = step * robots
        for robot in range(robots):
            begin, end = paths[robot, step - 1], paths[robot, step]
            if begin != end:
                joined = False
                for column in range(links.shape[1]):
                    joined = joined or links[begin, column] == end
                if not joined:
                    return NO_MOVE, robot, -1, step
                if bars[end] == BLOCKED:
                    return SHUT, robot, -1, step
                if bars[end] == BARRED and passes[robot] != EVERYWHERE and passes[robot] != end:
                    return NO_ROOM, robot, -1, step
            if after[end] >= base:
                return SAME_NODE, robot, after[end] - base, step
            after[end] = base + robot
        for robot in range(robots):
            begin, end = paths[robot, step - 1], paths[robot, step]
            other = before[end] - (base - robots)
            if begin != end and other >= 0 and after[begin] == base + other:
                return SWAP, robot, other, step
        before, after = after, before
    return SOUND, -1, -1, -1


@compiled
def _move_number(links: Links, begin: int, end: int) -> int:
    """Return the number of the move, -1 where there is none."""
    for column in range(links.shape[1]):
        if links[begin, column] == end:
            return begin * links.shape[1] + column
    return -1


@compiled
def _swaps_with(
    paths: Ints, links: Links, begins: Ints, ids: Ints, before: Ints, after: Ints, robot: int, step: int
) -> int:
    """Return a robot that stands on what `robot` needs and needs what `robot` stands on, -1 for none."""
    begin, end = paths[robot, step - 1], paths[robot, step]
    if begin == end:
        return -1
    # On a grid: the two exchange places.
    other = before[end]
    if other >= 0 and after[begin] == other:
        return other
    if len(ids):
        move = _move_number(links, begin, end)
        for at in range(begins[move], begins[move + 1]):
            # Resources beyond the nodes are crossings, on which nobody stands.
            if ids[at] < len(links):
                other = before[ids[at]]
                if other >= 0 and other != robot and after[begin] == other:
                    return other
    return -1


@compiled
def _release(paths: Ints, links: Links, begins: Ints, ids: Ints, after: Ints, robot: int, step: int) -> None:
    begin, end = paths[robot, step - 1], paths[robot, step]
    after[end] = -1
    if len(ids) and begin != end:
        move = _move_number(links, begin, end)
        for at in range(begins[move], begins[move + 1]):
            after[ids[at]] = -1

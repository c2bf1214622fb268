"""Kernels of inverse kinematics: `Descent.run` and `NullSpace.run`, one robot after another, with the same bits.

`descend` is damped least squares from some start. `rest` then moves joints that are not needed for the target towards a
rest posture. Errors are in m and rad; rad count as ARM m each.
"""

from __future__ import annotations

import math

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.kernels import compiled
from fleet_sim.kinematics.compiled_chain import (
    Chain,
    ChainScratch,
    find_jacobian,
    multiply_transposed,
    place_bodies,
    scratch_for,
    solve_damped,
    turn_end,
)
from fleet_sim.kinematics.descent import ARM, DAMPING, LEAST_DAMPING, PROGRESS
from fleet_sim.kinematics.descent import PATIENCE as DESCENT_PATIENCE
from fleet_sim.kinematics.descent import STRIDE as DESCENT_STRIDE
from fleet_sim.kinematics.null_space import PATIENCE, SETTLED, STRIDE


@compiled
def measure(chain: Chain, q: Floats, target: Floats, axes: Floats, work: ChainScratch) -> tuple[float, float]:
    """Compute frames and weighted errors for `q` (B,); return the errors of position and orientation in m and rad."""
    place_bodies(chain, q, work)
    errors, size = work.errors, 0.0
    for part in range(3):
        errors[part] = target[part] - work.position[part]
    if len(errors) > 3:
        size = turn_end(chain, axes, work)
        for part in range(3, 6):
            errors[part] = ARM * errors[part]
    return math.sqrt(errors[0] * errors[0] + errors[1] * errors[1] + errors[2] * errors[2]), size


@compiled
def move(chain: Chain, q: Floats, change: Floats, stride: float) -> float:
    """Add `change` (F,), scaled so that no joint moves further than `stride`; return the largest of it before."""
    largest = 0.0
    for joint in range(len(change)):
        largest = max(largest, abs(change[joint]))
    # One factor for all joints, so that the direction of the step stays.
    scale = stride / max(largest, stride)
    for joint in range(len(change)):
        value = q[chain.free[joint]] + change[joint] * scale
        q[chain.free[joint]] = min(max(value, chain.lower[joint]), chain.upper[joint])
    return largest


@compiled
def drop_stuck(chain: Chain, q: Floats, change: Floats, work: ChainScratch) -> bool:
    """Take joints that would leave their limits out of the Jacobian, and note them; return whether there are any."""
    found = False
    for joint in range(len(change)):
        value, way = q[chain.free[joint]], change[joint]
        low, high = value <= chain.lower[joint], value >= chain.upper[joint]
        work.stuck[joint] = (low and way < 0.0) or (high and way > 0.0)
        if work.stuck[joint]:
            found = True
            for row in range(len(work.jacobian)):
                # Times 0, as on arrays: signs of zeros, and what is no number, come out the same.
                work.jacobian[row, joint] *= 0.0
    return found


@compiled
def descend(
    chain: Chain, starts: Floats, targets: Floats, axes: Floats, steps: int, residual: float
) -> tuple[Floats, Floats]:
    """Return the best joint values (N, B) found from `starts`, and their errors (N, 2).

    `targets` (N, 3) and `axes` (N, 3, 3) are wanted; no axes, (0, 3, 3), if any orientation will do.
    """
    best, reached = starts.copy(), np.full((len(starts), 2), np.inf)
    turns = len(axes) > 0
    work, change = scratch_for(chain, 6 if turns else 3), np.empty(len(chain.free))
    for robot in range(len(starts)):
        q, squares, waits = starts[robot].copy(), np.inf, 0
        wanted = axes[robot] if turns else work.axes
        for step in range(steps + 1):
            near, turned = measure(chain, q, targets[robot], wanted, work)
            now = near * near
            if turns:
                now += (ARM * ARM) * (turned * turned)
            if now < squares:
                best[robot], reached[robot, 0], reached[robot, 1] = q, near, turned
            waits += 1
            # Steps that gain too little are counted; after so many in a row the descent ends.
            if now < (1.0 - PROGRESS) * squares:
                waits = 0
            if now < squares or now != now:
                squares = now
            # Asked in this way, an error that is no number ends the descent too.
            if not (near > residual or turned > residual) or waits >= DESCENT_PATIENCE or step == steps:
                break
            find_jacobian(chain, ARM, work)
            # The gradient says which joints would leave their limits; the step is made without these.
            multiply_transposed(work.jacobian, work.errors, change)
            drop_stuck(chain, q, change, work)
            # Far from the target the damping is large and steps are short; near it they are those of Newton's method.
            solve_damped(work.jacobian, DAMPING * now + LEAST_DAMPING, work.products, work.errors)
            multiply_transposed(work.jacobian, work.errors, change)
            move(chain, q, change, DESCENT_STRIDE)
    return best, reached


@compiled
def distance_to(chain: Chain, q: Floats, goal: Floats, gain: Floats) -> float:
    """Return the squared distance from the rest posture `goal` (F,), of joints with a `gain` (F,)."""
    total = 0.0
    for joint in range(len(goal)):
        if gain[joint] > 0.0:
            way = q[chain.free[joint]] - goal[joint]
            total += way * way
    return total


@compiled
def project(pull: Floats, change: Floats, work: ChainScratch) -> None:
    """Write J^+ errors + (I - J^+ J) `pull` (F,) into `change` (F,), with J^+ the damped inverse."""
    # One solve for both terms: J^+ (errors - J pull) + pull.
    left = work.errors.copy()
    for joint in range(len(pull)):
        for row in range(len(left)):
            left[row] -= work.jacobian[row, joint] * pull[joint]
    solve_damped(work.jacobian, LEAST_DAMPING, work.products, left)
    multiply_transposed(work.jacobian, left, change)
    for joint in range(len(pull)):
        change[joint] += pull[joint]


@compiled
def pull_to_rest(chain: Chain, q: Floats, goal: Floats, gain: Floats, pull: Floats) -> None:
    """Write how far the joints are pulled towards the rest posture in one step into `pull` (F,)."""
    largest = 0.0
    for joint in range(len(pull)):
        pull[joint] = gain[joint] * (goal[joint] - q[chain.free[joint]])
        largest = max(largest, abs(pull[joint]))
    scale = STRIDE / max(largest, STRIDE)
    for joint in range(len(pull)):
        pull[joint] *= scale


@compiled
def rest(
    chain: Chain,
    starts: Floats,
    errors: Floats,
    targets: Floats,
    axes: Floats,
    goal: Floats,
    gain: Floats,
    steps: int,
    residual: float,
) -> tuple[Floats, Floats]:
    """Return joint values (N, B) nearer to the rest posture than `starts`, whose errors are (N, 2), and their errors.

    `goal` (F,) and `gain` (F,) are 0 for joints without a rest value; the others are those of `descend`.
    """
    best, reached = starts.copy(), errors.copy()
    turns = len(axes) > 0
    work, free = scratch_for(chain, 6 if turns else 3), len(chain.free)
    change, pull = np.empty(free), np.empty(free)
    for robot in range(len(starts)):
        q, waits = starts[robot].copy(), 0
        # No posture may have larger errors than the first one, unless they are small enough.
        most, most_turned = max(errors[robot, 0], residual), max(errors[robot, 1], residual)
        nearest = distance_to(chain, q, goal, gain)
        wanted = axes[robot] if turns else work.axes
        for _ in range(steps):
            near, turned = measure(chain, q, targets[robot], wanted, work)
            distance, kept = distance_to(chain, q, goal, gain), near <= most and turned <= most_turned
            waits += 1
            if kept and distance < nearest:
                best[robot], reached[robot, 0], reached[robot, 1] = q, near, turned
                nearest, waits = distance, 0
            find_jacobian(chain, ARM, work)
            pull_to_rest(chain, q, goal, gain, pull)
            project(pull, change, work)
            # Joints at their limits are taken out of the Jacobian and of the pull, and the step is computed again.
            if drop_stuck(chain, q, change, work):
                for joint in range(free):
                    if work.stuck[joint]:
                        pull[joint] *= 0.0
                project(pull, change, work)
            size = move(chain, q, change, STRIDE)
            # Small steps end it, but not where the last of them has lost the target.
            if (size <= SETTLED and kept) or waits >= PATIENCE:
                break
    return best, reached

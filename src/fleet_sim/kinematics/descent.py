"""Descents to a target, and from there towards a rest posture: kernels, one robot after another.

`descend` is damped least squares from given joint values to a local minimum of the error. The damping grows with the
squared error: far from the target steps are short and safe, near it they are those of Newton's method (Sugihara,
"Solvability-unconcerned inverse kinematics by the Levenberg-Marquardt method", 2011). A joint at its limit that would
go beyond it takes no part in the step. Where the descent ends in a wrong minimum, `inverse.py` begins another one
elsewhere. `rest` moves joints that are not needed for the target: the end effector stays where it is.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.kernels.compiled import compiled_step
from fleet_sim.kinematics.chain import (
    Chain,
    ChainScratch,
    find_jacobian,
    multiply_transposed,
    place_bodies,
    scratch_for,
    solve_damped,
    turn_end,
    views_of,
)
from fleet_sim.kinematics.params import IKParams

ARM = 0.3
"""Weight of orientation errors: the metres that count as much as one radian."""
STRIDE = 1.0
"""Largest change of a joint in one step of a descent, in rad or m."""
DAMPING, LEAST_DAMPING = 0.2, 1e-5
"""Damping per squared error, and its minimum, in m2; it keeps singular poses solvable."""
PATIENCE = 8
"""Number of steps without progress after which a descent ends."""
PROGRESS = 1e-3
"""Fraction by which the squared error must shrink for a step to count as progress."""
REST_STRIDE = 0.25
"""Largest change of a joint in one step towards the rest posture, in rad or m: the Jacobian holds only nearby."""
SETTLED = 1e-4
"""Largest change of a joint, in rad or m, below which the posture counts as settled."""
REST_PATIENCE = 16
"""Number of steps that bring the posture no nearer to the rest posture, after which the motion ends."""


_NO_AXES: Floats = np.empty((0, 3, 3))


class Descents:
    """The kernels below for targets of one chain, with `turns` of poses, else of positions; compiled or as Python."""

    def __init__(self, chain: Chain, params: IKParams, *, turns: bool, compiled: bool) -> None:
        work = scratch_for(chain, turns=turns)
        self._compiled, self._steps, self._residual = compiled, params.max_inner_iterations, params.residual_threshold
        self._rest_gain = params.rest_gain
        self._chain: Chain = chain if compiled else views_of(chain)
        self._work: ChainScratch = work if compiled else views_of(work)
        self._descend, self._to_rest = (descend, rest) if compiled else (descend.in_python, rest.in_python)

    def descend(self, starts: Floats, targets: Floats, axes: Floats | None) -> tuple[Floats, Floats]:
        """Return the best joint values (N, B) found from `starts`, and their errors (N, 2) in m and rad.

        `targets` (N, 3) and `axes` (N, 3, 3) are the wanted positions and axes of the end.
        """
        best, reached = starts.copy(), np.full((len(starts), 2), np.inf)
        wanted = self._given(starts), self._given(targets), self._given(_NO_AXES if axes is None else axes)
        limits = self._steps, self._residual
        self._descend(self._chain, self._work, *wanted, *limits, self._given(best), self._given(reached))
        return best, reached

    def rest(
        self, starts: Floats, errors: Floats, targets: Floats, axes: Floats | None, posture: Floats
    ) -> tuple[Floats, Floats]:
        """Return joint values (N, B) at most as far from a `posture` as `starts`, and their errors (N, 2).

        `errors` (N, 2) are those of `starts`; none becomes larger than it was, or than `residual_threshold`. `posture`
        (F,) holds NaN for joints that may have any value.
        """
        best, reached, given_mask = starts.copy(), errors.copy(), ~np.isnan(posture)
        goal, gain = np.where(given_mask, posture, 0.0), np.where(given_mask, self._rest_gain, 0.0)
        wanted = self._given(targets), self._given(_NO_AXES if axes is None else axes)
        pulled, limits = (self._given(goal), self._given(gain)), (self._steps, self._residual)
        out = self._given(best), self._given(reached)
        self._to_rest(
            self._chain, self._work, self._given(starts), self._given(errors), *wanted, *pulled, *limits, *out
        )
        return best, reached

    def _given(self, array: Floats) -> Any:
        """Return `array` as the kernels read and write it, see `chain`."""
        array = np.ascontiguousarray(array)
        return array if self._compiled else array.data


@compiled_step
def descend(
    chain: Chain,
    work: ChainScratch,
    starts: Floats,
    targets: Floats,
    axes: Floats,
    steps: int,
    residual: float,
    best: Floats,
    reached: Floats,
) -> None:
    """Write the best joint values found from `starts` (N, B) into `best` (N, B), and their errors into `reached`.

    `reached` (N, 2) holds inf; in m and rad. `targets` (N, 3) and `axes` (N, 3, 3) are wanted; `axes` is not read if
    `work` is for positions.
    """
    q, turns = work.q, len(work.errors) > 3
    for robot in range(len(starts)):
        squares, waits = math.inf, 0
        for joint in range(len(q)):
            q[joint] = starts[robot, joint]
        for step in range(steps + 1):
            near, turned = measure(chain, targets, axes, robot, work)
            now = near * near
            if turns:
                now += (ARM * ARM) * (turned * turned)
            waits += 1
            # Steps that gain too little are counted; after so many in a row the descent ends.
            if now < (1.0 - PROGRESS) * squares:
                waits = 0
            if now < squares:
                keep(work, robot, near, turned, best, reached)
                squares = now
            # Asked in this way, an error that is no number ends the descent too.
            on = (near > residual or turned > residual) and waits < PATIENCE and step < steps
            if not on or not len(chain.free):
                break
            find_jacobian(chain, ARM, work)
            # The gradient says which joints would leave their limits; the step is made without these.
            multiply_transposed(work.jacobian, work.errors, work.change)
            drop_stuck(chain, work)
            if not solve_damped(work.jacobian, DAMPING * now + LEAST_DAMPING, work.products, work.errors):
                break
            multiply_transposed(work.jacobian, work.errors, work.change)
            move(chain, STRIDE, work)


@compiled_step
def rest(
    chain: Chain,
    work: ChainScratch,
    starts: Floats,
    errors: Floats,
    targets: Floats,
    axes: Floats,
    goal: Floats,
    gain: Floats,
    steps: int,
    residual: float,
    best: Floats,
    reached: Floats,
) -> None:
    """Write joint values nearer to the rest posture than `starts` (N, B) into `best`, and their errors into `reached`.

    Before, these hold `starts` and its `errors` (N, 2). `goal` (F,) and `gain` (F,) are 0 for joints without a rest
    value; the others are those of `descend`.
    """
    q, stuck, pull = work.q, work.stuck, work.pull
    for robot in range(len(starts)):
        for joint in range(len(q)):
            q[joint] = starts[robot, joint]
        # No posture may have larger errors than the first one, unless they are small enough.
        most, most_turned = max(errors[robot, 0], residual), max(errors[robot, 1], residual)
        nearest, waits = distance_to(chain, goal, gain, work), 0
        for _ in range(steps):
            near, turned = measure(chain, targets, axes, robot, work)
            distance, kept = distance_to(chain, goal, gain, work), near <= most and turned <= most_turned
            waits += 1
            if kept and distance < nearest:
                keep(work, robot, near, turned, best, reached)
                nearest, waits = distance, 0
            find_jacobian(chain, ARM, work)
            pull_to_rest(chain, goal, gain, work)
            if not project(work):
                break
            # Joints at their limits are taken out of the Jacobian and of the pull, and the step is computed again.
            if drop_stuck(chain, work):
                for joint in range(len(pull)):
                    if stuck[joint]:
                        pull[joint] *= 0.0
                if not project(work):
                    break
            size = move(chain, REST_STRIDE, work)
            # Small steps end it, but not where the last of them has lost the target.
            if (size <= SETTLED and kept) or waits >= REST_PATIENCE:
                break


@compiled_step
def measure(chain: Chain, targets: Floats, axes: Floats, robot: int, work: ChainScratch) -> tuple[float, float]:
    """Compute frames and weighted errors for `q`; return the errors of position and orientation in m and rad."""
    place_bodies(chain, work)
    errors, position, size = work.errors, work.position, 0.0
    for part in range(3):
        errors[part] = targets[robot, part] - position[part]
    if len(errors) > 3:
        size = turn_end(chain, axes, robot, work)
        for part in range(3, 6):
            errors[part] = ARM * errors[part]
    return math.sqrt(errors[0] * errors[0] + errors[1] * errors[1] + errors[2] * errors[2]), size


@compiled_step
def keep(work: ChainScratch, robot: int, near: float, turned: float, best: Floats, reached: Floats) -> None:
    """Write the joint values at hand and their errors into the row of a robot."""
    for joint in range(len(work.q)):
        best[robot, joint] = work.q[joint]
    reached[robot, 0], reached[robot, 1] = near, turned


@compiled_step
def move(chain: Chain, stride: float, work: ChainScratch) -> float:
    """Add `change` to `q`, scaled so that no joint moves further than `stride`; return the largest of it before."""
    q, change, largest = work.q, work.change, 0.0
    for joint in range(len(change)):
        largest = max(largest, abs(change[joint]))
    # One factor for all joints, so that the direction of the step stays.
    scale = stride / max(largest, stride)
    for joint in range(len(change)):
        body = chain.free[joint]
        q[body] = min(max(q[body] + change[joint] * scale, chain.lower[joint]), chain.upper[joint])
    return largest


@compiled_step
def drop_stuck(chain: Chain, work: ChainScratch) -> bool:
    """Take joints that `change` would move beyond their limits out of the Jacobian; return whether there are any."""
    found, jacobian = False, work.jacobian
    for joint in range(len(work.change)):
        value, way = work.q[chain.free[joint]], work.change[joint]
        stuck = (value <= chain.lower[joint] and way < 0.0) or (value >= chain.upper[joint] and way > 0.0)
        work.stuck[joint] = stuck
        if stuck:
            found = True
            for row in range(len(jacobian)):
                jacobian[row, joint] *= 0.0
    return found


@compiled_step
def distance_to(chain: Chain, goal: Floats, gain: Floats, work: ChainScratch) -> float:
    """Return the squared distance from the rest posture `goal` (F,), of joints with a `gain` (F,)."""
    total = 0.0
    for joint in range(len(goal)):
        if gain[joint] > 0.0:
            way = work.q[chain.free[joint]] - goal[joint]
            total += way * way
    return total


@compiled_step
def pull_to_rest(chain: Chain, goal: Floats, gain: Floats, work: ChainScratch) -> None:
    """Write how far the joints are pulled towards the rest posture in one step into `pull`."""
    pull, largest = work.pull, 0.0
    for joint in range(len(pull)):
        pull[joint] = gain[joint] * (goal[joint] - work.q[chain.free[joint]])
        largest = max(largest, abs(pull[joint]))
    scale = REST_STRIDE / max(largest, REST_STRIDE)
    for joint in range(len(pull)):
        pull[joint] *= scale


@compiled_step
def project(work: ChainScratch) -> bool:
    """Write J^+ errors + (I - J^+ J) `pull` into `change`, with J^+ the damped inverse; return whether it exists."""
    jacobian, pull, left, change = work.jacobian, work.pull, work.left, work.change
    # One solve for both terms: J^+ (errors - J pull) + pull.
    for row in range(len(left)):
        left[row] = work.errors[row]
        for joint in range(len(pull)):
            left[row] -= jacobian[row, joint] * pull[joint]
    if not solve_damped(jacobian, LEAST_DAMPING, work.products, left):
        return False
    multiply_transposed(jacobian, left, change)
    for joint in range(len(pull)):
        change[joint] += pull[joint]
    return True

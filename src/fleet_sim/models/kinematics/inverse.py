"""Inverse kinematics: joint values that bring a link to target poses, for many robots of one model at once.

Damped least squares within the joint limits, with damping that grows with the error, see `descent`. Robots are solved
one after the other: a solution is the same bit for bit, however many are solved together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.kernels import compiled_step
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.rotations import atan2
from fleet_sim.models.kinematics.params import ORIENTATION_TOLERANCE, IKParams
from fleet_sim.models.kinematics.tree import ORIGIN, Moves, Tree, make_tree, moves_of, place_bodies
from fleet_sim.world.columns import numbers_of
from fleet_sim.world.shapes import PRISMATIC, REVOLUTE, RobotModel

# A chain of joints, one after the other: its frames, its end, its Jacobian, and the equations of a step. Kernels for
# one robot. They take arrays by single numbers and allocate nothing: as Python they run on memory views, which give
# plain floats where arrays would give NumPy's, twice as slow.


_PI = math.pi


class Chain(NamedTuple):
    """The constants of a `Tree` of B bodies in a row, without its axis of robots.

    `moves` make a body's frame in that before it. `free` (F,) are the bodies
    whose joints may move, with their `axis` (F, 3), `turning` (F,) and limits `lower` and `upper` (F,); `along` is the
    axis that all of them share, -1 for none. `offset` (3,) and `turn` (3, 3) are the end's in the last body.
    """

    moves: Moves
    free: Ints
    axis: Floats
    turning: Floats
    sliding: bool
    along: int
    offset: Floats
    turn: Floats
    lower: Floats
    upper: Floats


class ChainScratch(NamedTuple):
    """Work arrays for one robot with errors of R components: 3 of the position, and 3 of the orientation if wanted.

    `q` (B,) are joint values, `frames` (B or 1, 3, 4) those of the bodies or of the base, `jacobian` (R, F).
    """

    q: Floats
    frames: Floats
    position: Floats
    errors: Floats
    left: Floats
    axes: Floats
    turned: Floats
    jacobian: Floats
    products: Floats
    change: Floats
    pull: Floats
    stuck: Bools


def chain_of(tree: Tree, link: int, free: Ints, lower: Floats, upper: Floats) -> Chain:
    """Return the constants of the chain that ends in a link of `tree`; its `free` (F,) joints have limits (F,)."""
    axis, turning = np.ascontiguousarray(tree.axis[:, free, 0].T), np.ascontiguousarray(tree.turning[free, 0])
    # In most robot descriptions all joints turn about z of their own frames: then the kernels have less to compute.
    shared = [part for part in range(3) if len(free) and bool((axis[:, part] == 1.0).all())]
    return Chain(
        moves_of(tree),
        np.ascontiguousarray(free),
        axis,
        turning,
        bool((turning == 0.0).any()),
        shared[0] if shared else -1,
        np.ascontiguousarray(tree.link_position[link]),
        np.ascontiguousarray(quaternions.to_matrices(tree.link_orientation[[link]])[0]),
        np.ascontiguousarray(lower),
        np.ascontiguousarray(upper),
    )


def scratch_for(chain: Chain, *, turns: bool) -> ChainScratch:
    """Return work arrays, with `turns` also for errors of the orientation."""
    bodies, free, rows = len(chain.moves.parents), len(chain.free), 6 if turns else 3
    # A chain without joints ends in its base.
    frames = np.empty((bodies, 3, 4)) if bodies else np.eye(3, 4)[None].copy()
    return ChainScratch(
        np.empty(bodies),
        frames,
        np.empty(3),
        np.empty(rows),
        np.empty(rows),
        np.empty((3, 3)),
        np.empty((3, 3)),
        np.empty((rows, free)),
        np.empty((rows, rows)),
        np.empty(free),
        np.empty(free),
        np.empty(free, np.bool_),
    )


@compiled_step
def place_end(chain: Chain, work: ChainScratch) -> None:
    """Compute the frames of all bodies, and the position of the end, for the joint values `q`."""
    frames, position = work.frames, work.position
    place_bodies(chain.moves, work.q, 0, frames, 0)
    last = len(frames) - 1
    for row in range(3):
        total = frames[last, row, 3]
        for axis in range(3):
            if chain.offset[axis] != 0.0:
                total += frames[last, row, axis] * chain.offset[axis]
        position[row] = total


@compiled_step
def turn_end(chain: Chain, wanted: Floats, robot: int, work: ChainScratch) -> float:
    """Write the rotation vector that turns the end to axes `wanted[robot]` (3, 3) into `errors` 3 to 5.

    Returns its norm, the angle in [0, pi].
    """
    frames, axes, turn, out = work.frames, work.axes, work.turned, work.errors
    last = len(frames) - 1
    for column in range(3):
        x, y, z = chain.turn[0, column], chain.turn[1, column], chain.turn[2, column]
        for row in range(3):
            axes[row, column] = (frames[last, row, 0] * x + frames[last, row, 1] * y) + frames[last, row, 2] * z
    for column in range(3):
        x, y, z = axes[column, 0], axes[column, 1], axes[column, 2]
        for row in range(3):
            turn[row, column] = (wanted[robot, row, 0] * x + wanted[robot, row, 1] * y) + wanted[robot, row, 2] * z
    # The antisymmetric part of a rotation is its axis times the sine of its angle, the trace is 1 + 2 cos(angle).
    x, y, z = 0.5 * (turn[2, 1] - turn[1, 2]), 0.5 * (turn[0, 2] - turn[2, 0]), 0.5 * (turn[1, 0] - turn[0, 1])
    cosine = 0.5 * (turn[0, 0] + turn[1, 1] + turn[2, 2] - 1.0)
    sine = math.sqrt(x * x + y * y + z * z)
    if sine < 1e-6 and cosine < 0.0:
        # Near pi that part vanishes; the axis is in the symmetric part.
        half_turn(turn, out)
    else:
        # From both, as the sine alone is inexact near a right angle and the cosine alone near none. Towards an angle of
        # 0 the quotient tends to 1.
        scale = atan2(sine, cosine) / sine if sine > 1e-12 else 1.0
        out[3], out[4], out[5] = x * scale, y * scale, z * scale
    return math.sqrt(out[3] * out[3] + out[4] * out[4] + out[5] * out[5])


@compiled_step
def half_turn(turn: Floats, out: Floats) -> None:
    """Write the rotation vector of a matrix (3, 3) that rotates by pi into `out` 3 to 5."""
    for part in range(3):
        turn[part, part] += 1.0
    # With 1 added to its diagonal a turn by pi is twice the axis times itself: each column is the axis, the longest the
    # most exact.
    column = 0
    for part in range(1, 3):
        if turn[part, part] > turn[column, column]:
            column = part
    x, y, z = turn[0, column], turn[1, column], turn[2, column]
    scale = _PI / math.sqrt(x * x + y * y + z * z)
    out[3], out[4], out[5] = x * scale, y * scale, z * scale


@compiled_step
def find_jacobian(chain: Chain, weight: float, work: ChainScratch) -> None:
    """Compute the Jacobian of the end for the frames at hand; rows of turns, if there are any, times `weight`."""
    frames, out, along = work.frames, work.jacobian, chain.along
    px, py, pz = work.position[0], work.position[1], work.position[2]
    turns = len(out) > 3
    for joint in range(len(chain.free)):
        body = chain.free[joint]
        if along >= 0:
            ax, ay, az = frames[body, 0, along], frames[body, 1, along], frames[body, 2, along]
        else:
            x, y, z = chain.axis[joint, 0], chain.axis[joint, 1], chain.axis[joint, 2]
            ax = (frames[body, 0, 0] * x + frames[body, 0, 1] * y) + frames[body, 0, 2] * z
            ay = (frames[body, 1, 0] * x + frames[body, 1, 1] * y) + frames[body, 1, 2] * z
            az = (frames[body, 2, 0] * x + frames[body, 2, 1] * y) + frames[body, 2, 2] * z
        rx, ry, rz = px - frames[body, 0, 3], py - frames[body, 1, 3], pz - frames[body, 2, 3]
        turning = chain.turning[joint]
        # A joint that turns moves the end across its axis and the arm, one that slides moves it along its axis.
        x, y, z = ay * rz - az * ry, az * rx - ax * rz, ax * ry - ay * rx
        if chain.sliding:
            x, y, z = (
                x * turning + ax * (1.0 - turning),
                y * turning + ay * (1.0 - turning),
                z * turning + az * (1.0 - turning),
            )
        out[0, joint], out[1, joint], out[2, joint] = x, y, z
        if turns:
            out[3, joint], out[4, joint], out[5, joint] = (
                ax * turning * weight,
                ay * turning * weight,
                az * turning * weight,
            )


@compiled_step
def multiply_transposed(jacobian: Floats, vector: Floats, out: Floats) -> None:
    """Write the transposed Jacobian times `vector` (R,) into `out` (F,)."""
    for joint in range(len(out)):
        total = jacobian[0, joint] * vector[0]
        for row in range(1, len(vector)):
            total += jacobian[row, joint] * vector[row]
        out[joint] = total


@compiled_step
def solve_damped(jacobian: Floats, damping: float, products: Floats, vector: Floats) -> bool:
    """Overwrite `vector` (R,) with x where (J J^T + `damping` I) x equals it; `products` (R, R) is a work array.

    Returns whether there is such an x that can be computed: lengths of millions of metres leave nothing of the damping.
    """
    size, joints = jacobian.shape
    for row in range(size):
        for column in range(row + 1):
            total = jacobian[row, 0] * jacobian[column, 0]
            for joint in range(1, joints):
                total += jacobian[row, joint] * jacobian[column, joint]
            products[row, column] = products[column, row] = total
        products[row, row] += damping
    # No pivots are looked for: with damping the matrix is positive definite.
    for pivot in range(size):
        first = products[pivot, pivot]
        if first == 0.0:
            return False
        for below in range(pivot + 1, size):
            factor = products[below, pivot] / first
            for column in range(pivot + 1, size):
                products[below, column] -= factor * products[pivot, column]
            vector[below] -= factor * vector[pivot]
    for pivot in range(size - 1, -1, -1):
        vector[pivot] /= products[pivot, pivot]
        for above in range(pivot):
            vector[above] -= products[above, pivot] * vector[pivot]
    return True


# Descents to a target, and from there towards a rest posture: kernels, one robot after another. `descend` is damped
# least squares from given joint values to a local minimum of the error. The damping grows with the squared error: far
# from the target steps are short and safe, near it they are those of Newton's method (Sugihara,
# "Solvability-unconcerned inverse kinematics by the Levenberg-Marquardt method", 2011). A joint at its limit that
# would go beyond it takes no part in the step. Where the descent ends in a wrong minimum, `inverse.py` begins another
# one elsewhere. `rest` moves joints that are not needed for the target: the end effector stays where it is.


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
        self._chain: Chain = chain if compiled else numbers_of(chain)
        self._work: ChainScratch = work if compiled else numbers_of(work)
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
    place_end(chain, work)
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


class Solution(NamedTuple):
    """Joint values (N, M), the remaining errors of the end effectors (m, rad), and which are within the tolerance."""

    values: Floats
    position_errors: Floats
    orientation_errors: Floats
    reachable_mask: Bools


class InverseKinematics:
    """The inverse kinematics of one link of one model."""

    def __init__(self, model: RobotModel, link: int, params: IKParams | None = None) -> None:
        """`link` -1 is the base. Raises UnknownNameError for joints in `params` that the model does not have."""
        self.model = model
        self.params = params or IKParams()
        path = [joint for joint in reversed(list(model.chain(link))) if model.slots[joint] >= 0]
        self._slots: Ints = model.slots[path]
        self._free: Ints = np.flatnonzero(_free_mask(model, path, self.params))
        tree = make_tree(model, path)
        chosen = np.array(path, np.int64)[self._free]
        limited_mask = model.limited_mask[chosen]
        self._lower: Floats = np.where(limited_mask, model.lower[chosen], -np.inf)
        self._upper: Floats = np.where(limited_mask, model.upper[chosen], np.inf)
        self._root, self._reach = _workspace(model, tree, path, link)
        self._rest = rest_values(model, chosen.tolist(), self.params)
        self._chain = chain_of(tree, link, self._free, self._lower, self._upper)
        self.solved = 0
        """For how many robots `solve` was called, all together."""

    @property
    def slots(self) -> Ints:
        """Indices (F,) of the joints used, among the movable joints, from the base outwards."""
        return np.asarray(self._slots[self._free])

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The names of the joints used, from the base outwards."""
        return tuple(self.model.movable_names[slot] for slot in self.slots.tolist())

    def solve(
        self,
        values: Floats,
        positions: Floats,
        orientations: Floats | None = None,
        tolerance: float | None = None,
        *,
        compiled: bool = False,
    ) -> Solution:
        """Return joint values for targets of N robots, given in the frames of their bases.

        `values` (N, M) are the present values of all movable joints; joints that are not used keep them.
        `positions` (N, 3) and `orientations` (N, 4) are the target poses of the link; without orientations any
        orientation will do. `tolerance` in m replaces `reachability_tolerance`. `compiled` may be asked for where
        kernels are usable: it is 20 times faster, and more for many robots, with the same result to the bit.
        """
        self.solved += len(values)
        axes = None if orientations is None else quaternions.to_matrices(orientations)
        descents = Descents(self._chain, self.params, turns=axes is not None, compiled=compiled)
        best, errors = self._descend(descents, np.ascontiguousarray(values[:, self._slots]), positions, axes)
        if self._rest is not None:
            # What was not reached stays as near as it is.
            near = np.flatnonzero((errors <= self.params.convergence_threshold).all(axis=1))
            turned = None if axes is None else axes[near]
            best[near], errors[near] = descents.rest(best[near], errors[near], positions[near], turned, self._rest)
        solved = values.copy()
        solved[:, self._slots] = best
        limit = self.params.reachability_tolerance if tolerance is None else tolerance
        off, turned_off = np.ascontiguousarray(errors.T)
        return Solution(solved, off, turned_off, (off <= limit) & (turned_off <= ORIENTATION_TOLERANCE))

    def _descend(
        self, descents: Descents, present: Floats, targets: Floats, axes: Floats | None
    ) -> tuple[Floats, Floats]:
        """Return the best joint values (N, B) found from `present` and other starts, and their errors (N, 2)."""
        best = present.copy()
        errors = np.full((len(present), 2), np.inf)
        left = np.arange(len(present))
        # A descent ends in a local minimum, so it is restarted from several joint values until one is good enough.
        per_round = 1 + (self._rest is not None) + len(self.params.seed_quartiles)
        for start in range(per_round * self.params.max_outer_iterations):
            # Targets outside the workspace got the first round only, for the nearest pose; more starts cannot help.
            if start == per_round:
                left = left[_norm(targets[left] - self._root) <= self._reach]
            if not len(left):
                break
            q = self._start(start, present[left])
            found, reached = descents.descend(q, targets[left], None if axes is None else axes[left])
            nearer_mask = _size(reached) < _size(errors[left])
            nearer = left[nearer_mask]
            best[nearer], errors[nearer] = found[nearer_mask], reached[nearer_mask]
            # Robots that have arrived take no part in further starts: most arrive in the first.
            left = left[(errors[left] > self.params.convergence_threshold).any(axis=1)]
        return best, errors

    def _start(self, number: int, present: Floats) -> Floats:
        """Return start values (N, B): present ones, the rest posture, quartiles of the ranges, values between."""
        q = present.copy()
        free, lower, upper = self._free, self._lower, self._upper
        if number == 0:
            q[:, free] = np.clip(q[:, free], lower, upper)
            return q
        if self._rest is not None:
            # The next best start after the present values, as the arm is wanted there anyway.
            if number == 1:
                q[:, free] = np.clip(np.where(np.isnan(self._rest), q[:, free], self._rest), lower, upper)
                return q
            number -= 1
        quartiles = self.params.seed_quartiles
        if number <= len(quartiles):
            fractions: Floats | float = quartiles[number - 1]
        else:
            fractions = _spread(number - len(quartiles), len(free))
        limited_mask = np.isfinite(lower) & np.isfinite(upper)
        low, high = np.where(limited_mask, lower, 0.0), np.where(limited_mask, upper, 0.0)
        # A joint without limits has no range to divide, so it starts where it is.
        q[:, free] = np.where(limited_mask, low + fractions * (high - low), q[:, free])
        return q


def _free_mask(model: RobotModel, path: list[int], params: IKParams) -> Bools:
    """Return which joints of `path` the solver may move; raises InvalidValueError for joints that mimic others."""
    for mimic in model.mimics:
        if mimic.follower in path:
            raise InvalidValueError(
                f"inverse kinematics cannot use joint {model.joint_names[mimic.follower]!r} of {model.name!r}, which "
                f"mimics {model.joint_names[mimic.leader]!r}; command joint targets, or choose a link above it"
            )
    movable_mask = np.isin(model.joint_types[path], (REVOLUTE, PRISMATIC))
    if params.ik_joint_names is None:
        # Joints without limits are wheels as a rule, and turning a wheel moves no arm.
        return np.asarray(movable_mask & model.limited_mask[path])
    chosen = [model.joint_index(name) for name in params.ik_joint_names]
    return np.asarray(movable_mask & np.isin(path, chosen))


def _workspace(model: RobotModel, tree: Tree, path: list[int], link: int) -> tuple[Floats, float]:
    """Return the centre (3,) and the radius of a ball that contains the workspace of the link."""
    if not path:
        return tree.link_position[link], 0.0
    origins = tree.still[:, ORIGIN, :, 0].T
    lengths = [np.linalg.norm(origin) for origin in origins[1:]] + [np.linalg.norm(tree.link_position[link])]
    prismatic_mask = model.joint_types[path] == PRISMATIC
    spans = np.where(model.limited_mask[path], np.maximum(np.abs(model.lower[path]), np.abs(model.upper[path])), np.inf)
    return origins[0], float(sum(lengths) + spans[prismatic_mask].sum())


def _spread(number: int, count: int) -> Floats:
    """Return fractions (count,) of member `number` of a sequence that fills the unit cube evenly."""
    # The R sequence of Roberts, "The Unreasonable Effectiveness of Quasirandom Sequences" (2018), which generalises the
    # golden ratio: `ratio` is the root of x^(count + 1) = x + 1, found by fixed-point iteration.
    ratio = 2.0
    for _ in range(32):
        ratio = (1.0 + ratio) ** (1.0 / (count + 1))
    return np.asarray((0.5 + number * ratio ** -np.arange(1.0, count + 1)) % 1.0)


def _norm(vectors: Floats) -> Floats:
    """Return the lengths (N,) of vectors (N, 3)."""
    x, y, z = vectors.T
    return np.asarray(np.sqrt(x * x + y * y + z * z))


def _size(errors: Floats) -> Floats:
    """Return a single measure (N,) of errors (N, 2) in m and rad."""
    return np.asarray(errors[:, 0] + ARM * errors[:, 1])


def check_ik_params(model: RobotModel, params: IKParams) -> None:
    """Refuse joints in `params` that `model` does not have or that do not move, and rest values beyond limits.

    Raises UnknownNameError and InvalidValueError. Whether joints lead to an end effector shows when one is chosen.
    """
    for name in params.ik_joint_names or ():
        if model.slots[model.joint_index(name)] < 0:
            raise InvalidValueError(f"ik_joint_names: joint {name!r} of {model.name!r} does not move; leave it out")
    rest_values(model, (), params)


def rest_values(model: RobotModel, joints: Sequence[int], params: IKParams) -> Floats | None:
    """Return the rest values (F,) of `joints`, NaN for those that have none; None if none of them has one.

    Raises UnknownNameError for a joint that the model does not have, and InvalidValueError for one that does not move
    and for a value beyond limits.
    """
    given = {}
    for name, value in dict(params.rest_posture or ()).items():
        joint = model.joint_index(name)
        if model.slots[joint] < 0:
            raise InvalidValueError(f"rest_posture: joint {name!r} of {model.name!r} does not move; leave it out")
        low, high = float(model.lower[joint]), float(model.upper[joint])
        if model.limited_mask[joint] and not low <= value <= high:
            raise InvalidValueError(f"rest_posture: {name} is {value:g}, beyond its limits {low:g} to {high:g}")
        given[joint] = value
    rest = np.array([given.get(joint, np.nan) for joint in joints])
    return None if np.isnan(rest).all() else rest

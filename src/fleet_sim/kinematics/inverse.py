"""Inverse kinematics: joint values that bring a link to target poses, for many robots of one model at once.

Damped least squares within the joint limits, with damping that grows with the error. A robot's solution is the same bit
for bit, however many robots are solved together, as in `forward`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.core.robot_model import PRISMATIC, REVOLUTE, RobotModel
from fleet_sim.errors import InvalidValueError
from fleet_sim.kinematics.compiled_chain import Chain
from fleet_sim.kinematics.compiled_inverse import CompiledDescent, CompiledNullSpace, chain_of
from fleet_sim.kinematics.descent import Descent
from fleet_sim.kinematics.forward import ORIGIN
from fleet_sim.kinematics.jacobian import EndEffector, norm
from fleet_sim.kinematics.null_space import NullSpace, rest_values
from fleet_sim.kinematics.params import ORIENTATION_TOLERANCE, IKParams
from fleet_sim.kinematics.tree import Tree, make_tree
from fleet_sim.spatial import quaternions


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
        end = EndEffector(tree, link, self._free)
        chosen = np.array(path, np.int64)[self._free]
        limited_mask = model.limited_mask[chosen]
        self._lower: Floats = np.where(limited_mask, model.lower[chosen], -np.inf)[:, None]
        self._upper: Floats = np.where(limited_mask, model.upper[chosen], np.inf)[:, None]
        self._root, self._reach = _workspace(model, tree, path, link)
        self._descent = Descent(end, self._free, self._lower, self._upper, self.params)
        self._rest = rest_values(model, chosen.tolist(), self.params)
        self._null_space: NullSpace | None = None
        if self._rest is not None:
            self._null_space = NullSpace(end, self._free, (self._lower, self._upper), self._rest, self.params)
        chain = chain_of(tree, link, self._free, (self._lower, self._upper))
        self._compiled = _compiled(chain, self.params, self._rest)
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
        kernels are usable; it takes effect where the joints follow each other, with the same result to the bit.
        """
        descent: Descent | CompiledDescent = self._descent
        null_space: NullSpace | CompiledNullSpace | None = self._null_space
        if compiled and self._compiled is not None:
            descent, null_space = self._compiled
        self.solved += len(values)
        targets = np.ascontiguousarray(positions.T)
        axes = None if orientations is None else _axes(orientations)
        # Component layout, as in `forward`: each joint is one contiguous row over all robots.
        present = np.ascontiguousarray(values.T[self._slots])
        best, errors = self._descend(descent, present, targets, axes)
        if null_space is not None:
            self._rest_in_null_space(null_space, best, errors, targets, axes)
        solved = values.copy()
        solved[:, self._slots] = best.T
        limit = self.params.reachability_tolerance if tolerance is None else tolerance
        return Solution(solved, errors[0], errors[1], (errors[0] <= limit) & (errors[1] <= ORIENTATION_TOLERANCE))

    def _descend(
        self, descent: Descent | CompiledDescent, present: Floats, targets: Floats, axes: Floats | None
    ) -> tuple[Floats, Floats]:
        """Return the best joint values (F, N) found from `present` and other starts, and their errors (2, N)."""
        best = present.copy()
        errors = np.full((2, present.shape[1]), np.inf)
        left = np.arange(present.shape[1])
        # A descent ends in a local minimum, so it is restarted from several joint values until one is good enough.
        per_round = 1 + (self._rest is not None) + len(self.params.seed_quartiles)
        for start in range(per_round * self.params.max_outer_iterations):
            # Targets outside the workspace got the first round only, for the nearest pose; more starts cannot help.
            if start == per_round:
                left = left[norm(targets[:, left] - self._root) <= self._reach]
            if not len(left):
                break
            q = self._start(start, present[:, left])
            found, reached = descent.run(q, targets[:, left], None if axes is None else axes[..., left])
            nearer_mask = _size(reached) < _size(errors[:, left])
            nearer = left[nearer_mask]
            best[:, nearer], errors[:, nearer] = found[:, nearer_mask], reached[:, nearer_mask]
            # Robots that have arrived take no part in further starts: most arrive in the first.
            left = left[(errors[:, left] > self.params.convergence_threshold).any(axis=0)]
        return best, errors

    def _rest_in_null_space(
        self,
        null_space: NullSpace | CompiledNullSpace,
        best: Floats,
        errors: Floats,
        targets: Floats,
        axes: Floats | None,
    ) -> None:
        """Change `best` and `errors` of robots that have arrived to a solution nearer to their rest values."""
        # What was not reached stays as near as it is.
        near = np.flatnonzero((errors <= self.params.convergence_threshold).all(axis=0))
        turned = None if axes is None else axes[..., near]
        best[:, near], errors[:, near] = null_space.run(best[:, near], targets[:, near], turned, errors[:, near])

    def _start(self, number: int, present: Floats) -> Floats:
        """Return start values (K, N): present ones, the rest posture, quartiles of the ranges, values between."""
        q = present.copy()
        free, lower, upper = self._free, self._lower, self._upper
        if number == 0:
            q[free] = np.clip(q[free], lower, upper)
            return q
        if self._rest is not None:
            # The next best start after the present values, as the arm is wanted there anyway.
            if number == 1:
                q[free] = np.clip(np.where(np.isnan(self._rest), q[free], self._rest), lower, upper)
                return q
            number -= 1
        quartiles = self.params.seed_quartiles
        if number <= len(quartiles):
            fractions: Floats | float = quartiles[number - 1]
        else:
            fractions = _spread(number - len(quartiles), len(free))[:, None]
        limited_mask = np.isfinite(lower) & np.isfinite(upper)
        low, high = np.where(limited_mask, lower, 0.0), np.where(limited_mask, upper, 0.0)
        # A joint without limits has no range to divide, so it starts where it is.
        q[free] = np.where(limited_mask, low + fractions * (high - low), q[free])
        return q


def _compiled(
    chain: Chain | None, params: IKParams, rest: Floats | None
) -> tuple[CompiledDescent, CompiledNullSpace | None] | None:
    if chain is None:
        return None
    return CompiledDescent(chain, params), None if rest is None else CompiledNullSpace(chain, rest, params)


def _axes(orientations: Floats) -> Floats:
    """Return the matrices (3, 3, N) of `orientations` (N, 4), laid out to broadcast over robots."""
    return np.ascontiguousarray(np.moveaxis(quaternions.to_matrices(orientations), 0, -1))


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
    """Return the centre (3, 1) and the radius of a ball that contains the workspace of the link."""
    if not path:
        return tree.link_position[link][:, None], 0.0
    origins = tree.still[:, ORIGIN, :, 0].T
    lengths = [np.linalg.norm(origin) for origin in origins[1:]] + [np.linalg.norm(tree.link_position[link])]
    prismatic_mask = model.joint_types[path] == PRISMATIC
    spans = np.where(model.limited_mask[path], np.maximum(np.abs(model.lower[path]), np.abs(model.upper[path])), np.inf)
    return origins[0][:, None], float(sum(lengths) + spans[prismatic_mask].sum())


def _spread(number: int, count: int) -> Floats:
    """Return fractions (count,) of member `number` of a sequence that fills the unit cube evenly."""
    # The R sequence of Roberts, "The Unreasonable Effectiveness of Quasirandom Sequences" (2018), which generalises the
    # golden ratio: `ratio` is the root of x^(count + 1) = x + 1, found by fixed-point iteration.
    ratio = 2.0
    for _ in range(32):
        ratio = (1.0 + ratio) ** (1.0 / (count + 1))
    return np.asarray((0.5 + number * ratio ** -np.arange(1.0, count + 1)) % 1.0)


def _size(errors: Floats) -> Floats:
    """Return a single measure (N,) of errors (2, N) in m and rad."""
    # The weight that `descent` gives to orientations.
    return np.asarray(errors[0] + 0.3 * errors[1])

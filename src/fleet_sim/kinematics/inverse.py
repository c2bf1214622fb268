"""Inverse kinematics: joint values that bring a link to target poses, for many robots of one model at once.

Damped least squares within the joint limits, with damping that grows with the error, see `descent`. Robots are solved
one after the other: a solution is the same bit for bit, however many are solved together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.core.robot_model import PRISMATIC, REVOLUTE, RobotModel
from fleet_sim.errors import InvalidValueError
from fleet_sim.kinematics.chain import chain_of
from fleet_sim.kinematics.descent import ARM, Descents
from fleet_sim.kinematics.forward import ORIGIN
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

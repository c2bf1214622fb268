"""Null space: from joint values that reach a target towards a rest posture; the end effector stays where it is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.core.robot_model import RobotModel
from fleet_sim.errors import InvalidValueError
from fleet_sim.kinematics.descent import ARM, LEAST_DAMPING, products, pulled
from fleet_sim.kinematics.jacobian import EndEffector, norm, solve_definite, turn_between
from fleet_sim.kinematics.params import IKParams

STRIDE = 0.25
"""Largest change of a joint in one step, in rad or m: the Jacobian holds only nearby."""
SETTLED = 1e-4
"""Largest change of a joint, in rad or m, below which the posture counts as settled."""
PATIENCE = 16
"""Number of steps that bring the posture no nearer to the rest posture, after which the motion ends."""


class NullSpace:
    """Moves `free` (F,) of the K joints towards the rest posture of `params`, within `lower` and `upper` (F, 1)."""

    def __init__(
        self,
        end: EndEffector,
        free: Ints,
        limits: tuple[Floats, Floats],
        rest: Floats,
        params: IKParams,
    ) -> None:
        """`rest` (F, 1) holds NaN for joints without a rest value."""
        self._end, self._free, self._rest = end, free, rest
        self._lower, self._upper = limits
        # 0 for joints without a rest value: nothing pulls at them.
        self._gain = np.where(np.isnan(rest), 0.0, params.rest_gain)
        self._goal = np.where(np.isnan(rest), 0.0, rest)
        self._steps, self._residual = params.max_inner_iterations, params.residual_threshold

    def run(self, q: Floats, targets: Floats, axes: Floats | None, errors: Floats) -> tuple[Floats, Floats]:
        """Return joint values (K, N) at most as far from the rest posture as `q`, and their errors (2, N) in m and rad.

        `errors` (2, N) are those of `q`. No error becomes larger than it was, or than `residual_threshold`. `targets`
        (3, N) and `axes` (3, 3, N) are the wanted positions and axes of the end effector.
        """
        best, reached = q.copy(), errors.copy()
        # No error may grow, but up to what is small enough anyway.
        allowed = np.maximum(errors, self._residual)
        under_way, waits = np.arange(q.shape[1]), np.zeros(q.shape[1], np.int64)
        nearest = self._distance(q)
        for _ in range(self._steps):
            position = self._end.move(q)
            offsets = targets - position
            sizes = np.zeros((2, q.shape[1]))
            sizes[0] = norm(offsets)
            if axes is not None:
                turns = turn_between(self._end.axes(), axes)
                sizes[1] = norm(turns)
                offsets = np.concatenate((offsets, ARM * turns))
            distance = self._distance(q)
            kept_mask = (sizes[0] <= allowed[0]) & (sizes[1] <= allowed[1])
            better = np.flatnonzero(kept_mask & (distance < nearest))
            best[:, under_way[better]], reached[:, under_way[better]] = q[:, better], sizes[:, better]
            nearest[better] = distance[better]
            # Counted up for all, and back to 0 for those that came nearer.
            waits += 1
            waits[better] = 0
            q, size = self._moved(q, self._end.jacobian(position, turns=axes is not None), offsets)
            on = np.flatnonzero(((size > SETTLED) | ~kept_mask) & (waits < PATIENCE))
            if not len(on):
                break
            # Robots that are done are left out, so that the others are computed sooner.
            if len(on) < len(waits):
                q, nearest, allowed = q[:, on], nearest[on], allowed[:, on]
                under_way, waits, targets = under_way[on], waits[on], targets[:, on]
                axes = None if axes is None else axes[..., on]
        return best, reached

    def _distance(self, q: Floats) -> Floats:
        """Return the squared distances (N,) from the rest posture."""
        # Summed joint by joint: the result must not depend on the number of robots.
        out = np.zeros(q.shape[1])
        for joint, goal in zip(self._free.tolist(), self._rest[:, 0].tolist(), strict=True):
            if goal == goal:
                out += (q[joint] - goal) ** 2
        return out

    def _moved(self, q: Floats, jacobian: Floats, errors: Floats) -> tuple[Floats, Floats]:
        """Return the joint values (K, N) after one step, and its largest changes (N,)."""
        if len(errors) > 3:
            jacobian[3:] *= ARM
        values = q[self._free]
        pull = self._gain * (self._goal - values)
        # One factor for all joints: a pull keeps its direction.
        pull *= STRIDE / np.maximum(np.abs(pull).max(axis=0), STRIDE)
        change = _projected(jacobian, errors, pull)
        # Joints that would leave their limits stay there, and the others do without them.
        stuck_mask: Bools = ((values <= self._lower) & (change < 0.0)) | ((values >= self._upper) & (change > 0.0))
        if stuck_mask.any():
            change = _projected(jacobian * ~stuck_mask, errors, pull * ~stuck_mask)
        largest = np.abs(change).max(axis=0)
        change *= STRIDE / np.maximum(largest, STRIDE)
        moved = q.copy()
        moved[self._free] = np.clip(values + change, self._lower, self._upper)
        return moved, largest


def _projected(jacobian: Floats, errors: Floats, pull: Floats) -> Floats:
    """Return J^+ `errors` + (I - J^+ J) `pull`, with J^+ the damped inverse: (F, N)."""
    # Both terms share one solution: J^+ (errors - J pull) + pull.
    left: Floats = errors.copy()
    for joint in range(jacobian.shape[1]):
        left -= jacobian[:, joint] * pull[joint]
    damped = products(jacobian)
    # With it the products can be solved also where the arm is stretched.
    for component in range(len(errors)):
        damped[component, component] += LEAST_DAMPING
    return pulled(jacobian, solve_definite(damped, left)) + pull


def check_ik_params(model: RobotModel, params: IKParams) -> None:
    """Refuse joints in `params` that `model` does not have or that do not move, and rest values beyond limits.

    Raises UnknownNameError and InvalidValueError. Whether joints lead to an end effector shows when one is chosen.
    """
    for name in params.ik_joint_names or ():
        if model.slots[model.joint_index(name)] < 0:
            raise InvalidValueError(f"ik_joint_names: joint {name!r} of {model.name!r} does not move; leave it out")
    rest_values(model, (), params)


def rest_values(model: RobotModel, joints: Sequence[int], params: IKParams) -> Floats | None:
    """Return the rest values (F, 1) of `joints`, NaN for those that have none; None if none of them has one.

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
    rest = np.array([given.get(joint, np.nan) for joint in joints])[:, None]
    return None if np.isnan(rest).all() else rest

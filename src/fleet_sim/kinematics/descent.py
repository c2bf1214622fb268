"""Descent: from given joint values to the nearest ones that leave the least error, for many robots at once."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.kinematics.jacobian import EndEffector, norm, solve_definite, turn_between
from fleet_sim.kinematics.params import IKParams

ARM = 0.3
"""Metres that count as much as one radian."""
STRIDE = 0.7
"""The most a joint is moved by one step, in rad or m."""
DAMPING, LEAST_DAMPING = 0.2, 1e-5
"""Damping per squared error, and the least there is, in m2."""
PATIENCE = 8
"""Steps that may go by without getting nearer."""
PROGRESS = 0.01
"""The part of the error that must go for a step to have got nearer."""


class Descent:
    """Damped least squares within limits: `free` (F,) of the K joints move, between `lower` and `upper` (F, 1)."""

    def __init__(self, end: EndEffector, free: Ints, lower: Floats, upper: Floats, params: IKParams) -> None:
        self._end, self._free = end, free
        self._lower, self._upper = lower, upper
        self._steps, self._residual = params.max_inner_iterations, params.residual_threshold

    def run(self, q: Floats, targets: Floats, axes: Floats | None) -> tuple[Floats, Floats]:
        """Return the best joint values (K, N) on the way from `q`, and their errors (2, N) in m and rad.

        `targets` (3, N) and `axes` (3, 3, N) are where the end effector should be, and how it should be turned.
        """
        count = q.shape[1]
        best, reached = q.copy(), np.full((2, count), np.inf)
        under_way, squares, waits = np.arange(count), np.full(count, np.inf), np.zeros(count, np.int64)
        for step in range(self._steps + 1):
            position, turned = self._end.move(q)
            errors = targets - position
            if axes is not None:
                errors = np.concatenate((errors, ARM * turn_between(turned, axes)))
            sizes = np.stack((norm(errors[:3]), norm(errors[3:]) / ARM if axes is not None else np.zeros(len(waits))))
            now = (sizes[0] * sizes[0]) + (ARM * ARM) * (sizes[1] * sizes[1])
            better = np.flatnonzero(now < squares)
            best[:, under_way[better]], reached[:, under_way[better]] = q[:, better], sizes[:, better]
            waits = np.where(now < (1.0 - PROGRESS) * squares, 0, waits + 1)
            squares = np.minimum(now, squares)
            on_mask = (sizes > self._residual).any(axis=0) & (waits < PATIENCE)
            if step == self._steps or not len(self._free) or not on_mask.any():
                break
            jacobian = self._end.jacobian(position, turns=axes is not None)
            if not on_mask.all():
                q, jacobian, errors, now = q[:, on_mask], jacobian[..., on_mask], errors[:, on_mask], now[on_mask]
                under_way, squares, waits = under_way[on_mask], squares[on_mask], waits[on_mask]
                targets, axes = targets[:, on_mask], None if axes is None else axes[..., on_mask]
            q = self._moved(q, jacobian, errors, now)
        return best, reached

    def _moved(self, q: Floats, jacobian: Floats, errors: Floats, squares: Floats) -> Floats:
        """Return the joint values (K, N) after one step against `errors` (3 or 6, N)."""
        free, lower, upper = self._free, self._lower, self._upper
        if len(errors) > 3:
            jacobian[3:] *= ARM
        values = q[free]
        pull = _pulled(jacobian, errors)
        stuck_mask: Bools = ((values <= lower) & (pull < 0.0)) | ((values >= upper) & (pull > 0.0))
        if stuck_mask.any():
            jacobian *= ~stuck_mask
        damped = _products(jacobian)
        damping = DAMPING * squares + LEAST_DAMPING
        for component in range(len(errors)):
            damped[component, component] += damping
        change = _pulled(jacobian, solve_definite(damped, errors.copy()))
        largest = np.abs(change).max(axis=0)
        change *= STRIDE / np.maximum(largest, STRIDE)
        moved = q.copy()
        moved[free] = np.clip(values + change, lower, upper)
        return moved


def _pulled(jacobian: Floats, errors: Floats) -> Floats:
    """Return the transposed Jacobians (n, F, N) times vectors (n, N), (F, N)."""
    out: Floats = jacobian[0] * errors[0]
    for row, error in zip(jacobian[1:], errors[1:], strict=True):
        out += row * error
    return out


def _products(jacobian: Floats) -> Floats:
    """Return the Jacobians (n, F, N) times their transposes, (n, n, N)."""
    out: Floats = jacobian[:, None, 0] * jacobian[None, :, 0]
    for joint in range(1, jacobian.shape[1]):
        out += jacobian[:, None, joint] * jacobian[None, :, joint]
    return out

"""Descent: damped least squares from given joint values to a local minimum of the error, for many robots at once.

The damping grows with the squared error: far from the target steps are short and safe, near it they are those of
Newton's method (Sugihara, "Solvability-unconcerned inverse kinematics by the Levenberg-Marquardt method", 2011). A
joint at its limit that would go beyond it takes no part in the step. Where the descent ends in a wrong minimum,
`inverse.py` begins another one elsewhere.
"""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.kinematics.jacobian import EndEffector, norm, solve_definite, turn_between
from fleet_sim.kinematics.params import IKParams

ARM = 0.3
"""Weight of orientation errors: the metres that count as much as one radian."""
STRIDE = 1.0
"""Largest change of a joint in one step, in rad or m."""
DAMPING, LEAST_DAMPING = 0.2, 1e-5
"""Damping per squared error, and its minimum, in m2."""
PATIENCE = 8
"""Number of steps without progress after which a descent ends."""
PROGRESS = 1e-3
"""Fraction by which the squared error must shrink for a step to count as progress."""


class Descent:
    """Damped least squares within limits: `free` (F,) of the K joints move, between `lower` and `upper` (F, 1)."""

    def __init__(self, end: EndEffector, free: Ints, lower: Floats, upper: Floats, params: IKParams) -> None:
        self._end, self._free = end, free
        self._lower, self._upper = lower, upper
        self._steps, self._residual = params.max_inner_iterations, params.residual_threshold

    def run(self, q: Floats, targets: Floats, axes: Floats | None) -> tuple[Floats, Floats]:
        """Return the best joint values (K, N) found from `q`, and their errors (2, N) in m and rad.

        `targets` (3, N) and `axes` (3, 3, N) are the wanted positions and axes of the end effector.
        """
        count = q.shape[1]
        best, reached = q.copy(), np.full((2, count), np.inf)
        # `under_way` maps the robots that are left in the arrays to their places in the result.
        under_way, squares, waits = np.arange(count), np.full(count, np.inf), np.zeros(count, np.int64)
        for step in range(self._steps + 1):
            position = self._end.move(q)
            errors, sizes = self._errors(position, targets, axes)
            now = sizes[0] * sizes[0]
            if axes is not None:
                now += (ARM * ARM) * (sizes[1] * sizes[1])
            better = np.flatnonzero(now < squares)
            best[:, under_way[better]], reached[:, under_way[better]] = q[:, better], sizes[:, better]
            waits += 1
            waits[now < (1.0 - PROGRESS) * squares] = 0
            np.minimum(now, squares, out=squares)
            on_mask = (sizes[0] > self._residual) | (sizes[1] > self._residual)
            on_mask &= waits < PATIENCE
            on = np.flatnonzero(on_mask)
            if step == self._steps or not len(self._free) or not len(on):
                break
            jacobian = self._end.jacobian(position, turns=axes is not None)
            # Robots that are done leave the arrays, so that each further step costs only those that are left.
            if len(on) < len(on_mask):
                q, jacobian, errors, now = q[:, on], jacobian[..., on], errors[:, on], now[on]
                under_way, squares, waits = under_way[on], squares[on], waits[on]
                targets, axes = targets[:, on], None if axes is None else axes[..., on]
            q = self._moved(q, jacobian, errors, now)
        return best, reached

    def _errors(self, position: Floats, targets: Floats, axes: Floats | None) -> tuple[Floats, Floats]:
        """Return the error vectors in m (3 or 6, N), orientation weighted by ARM, and their norms (2, N) in m, rad."""
        errors = targets - position
        sizes = np.zeros((2, errors.shape[1]))
        sizes[0] = norm(errors)
        if axes is None:
            return errors, sizes
        turns = turn_between(self._end.axes(), axes)
        sizes[1] = norm(turns)
        return np.concatenate((errors, ARM * turns)), sizes

    def _moved(self, q: Floats, jacobian: Floats, errors: Floats, squares: Floats) -> Floats:
        """Return the joint values (K, N) after one step against `errors` (3 or 6, N)."""
        free, lower, upper = self._free, self._lower, self._upper
        if len(errors) > 3:
            jacobian[3:] *= ARM
        values = q[free]
        low_mask, high_mask = values <= lower, values >= upper
        # A joint at its limit that would move beyond it leaves the problem for this step, so that the others take over.
        if low_mask.any() or high_mask.any():
            pull = pulled(jacobian, errors)
            stuck_mask: Bools = (low_mask & (pull < 0.0)) | (high_mask & (pull > 0.0))
            jacobian *= ~stuck_mask
        damped = products(jacobian)
        # dq = J^T (J J^T + damping I)^-1 e. Damping that grows with the squared error gives careful steps far from the
        # target and fast convergence near it; the minimum keeps singular poses solvable.
        damping = DAMPING * squares + LEAST_DAMPING
        for component in range(len(errors)):
            damped[component, component] += damping
        change = pulled(jacobian, solve_definite(damped, errors.copy()))
        largest = np.abs(change).max(axis=0)
        # All joints are scaled alike, so that the step keeps its direction.
        change *= STRIDE / np.maximum(largest, STRIDE)
        change += values
        np.maximum(change, lower, out=change)
        np.minimum(change, upper, out=change)
        if len(free) == len(q):
            return change
        moved = q.copy()
        moved[free] = change
        return moved


def pulled(jacobian: Floats, errors: Floats) -> Floats:
    """Return the transposed Jacobians (n, F, N) times vectors (n, N), (F, N)."""
    out: Floats = jacobian[0] * errors[0]
    for row, error in zip(jacobian[1:], errors[1:], strict=True):
        out += row * error
    return out


def products(jacobian: Floats) -> Floats:
    """Return the Jacobians (n, F, N) times their transposes, (n, n, N)."""
    products = jacobian[:, None] * jacobian[None]
    out: Floats = products[:, :, 0]
    for joint in range(1, jacobian.shape[1]):
        out += products[:, :, joint]
    return out

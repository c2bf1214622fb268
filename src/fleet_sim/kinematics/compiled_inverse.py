"""`Descent` and `NullSpace` by compiled code, for robots whose joints follow each other: equal to the bit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.kinematics.compiled_chain import Chain
from fleet_sim.kinematics.compiled_solution import descend, rest
from fleet_sim.kinematics.params import IKParams
from fleet_sim.kinematics.tree import Tree
from fleet_sim.spatial import quaternions

_NO_AXES: Floats = np.empty((0, 3, 3))


def chain_of(tree: Tree, link: int, free: Ints, limits: tuple[Floats, Floats]) -> Chain | None:
    """Return the constants of the kernels for a link and its `free` (F,) joints, within `limits` (F, 1) twice.

    None where the bodies do not follow each other up to the link, or nothing moves.
    """
    bodies = np.arange(len(tree.parents))
    # Joints in a row: each body is moved by the one before it, and joint values have the same order.
    in_a_row = np.array_equal(tree.parents, bodies - 1) and np.array_equal(tree.slots, bodies)
    if not len(free) or not in_a_row or tree.link_body[link] != len(bodies) - 1:
        return None
    still, sine, cosine, slide = (
        np.ascontiguousarray(np.moveaxis(part[..., 0], 2, 0))
        for part in (tree.still, tree.sine, tree.cosine, tree.slide)
    )
    axis, turning = np.ascontiguousarray(tree.axis[:, free, 0].T), np.ascontiguousarray(tree.turning[free, 0])
    # Where all joints turn about the same axis of their frames, the kernel has less to compute.
    shared = [part for part in range(3) if bool((axis[:, part] == 1.0).all())]
    return Chain(
        still,
        sine,
        cosine,
        slide,
        tree.slides,
        np.ascontiguousarray(free),
        axis,
        turning,
        bool((turning == 0.0).any()),
        shared[0] if shared else -1,
        np.ascontiguousarray(tree.link_position[link]),
        np.ascontiguousarray(quaternions.to_matrices(tree.link_orientation[[link]])[0]),
        np.ascontiguousarray(limits[0][:, 0]),
        np.ascontiguousarray(limits[1][:, 0]),
    )


@dataclass(frozen=True, eq=False)
class CompiledDescent:
    """As `Descent`, for the joints of a chain."""

    chain: Chain
    params: IKParams

    def run(self, q: Floats, targets: Floats, axes: Floats | None) -> tuple[Floats, Floats]:
        """As `Descent.run`."""
        steps, residual = self.params.max_inner_iterations, self.params.residual_threshold
        found, reached = descend(self.chain, _by_robot(q), _by_robot(targets), _axes(axes), steps, residual)
        return found.T, reached.T


@dataclass(frozen=True, eq=False)
class CompiledNullSpace:
    """As `NullSpace`, for the joints of a chain; `rest` (F, 1) holds NaN for joints without a rest value."""

    chain: Chain
    rest: Floats
    params: IKParams

    def run(self, q: Floats, targets: Floats, axes: Floats | None, errors: Floats) -> tuple[Floats, Floats]:
        """As `NullSpace.run`."""
        params, given = self.params, ~np.isnan(self.rest[:, 0])
        found, reached = rest(
            self.chain,
            _by_robot(q),
            _by_robot(errors),
            _by_robot(targets),
            _axes(axes),
            np.where(given, self.rest[:, 0], 0.0),
            np.where(given, params.rest_gain, 0.0),
            params.max_inner_iterations,
            params.residual_threshold,
        )
        return found.T, reached.T


def _by_robot(array: Floats) -> Floats:
    """Return `array` (..., N) as (N, ...), contiguous."""
    return np.ascontiguousarray(array.T)


def _axes(axes: Floats | None) -> Floats:
    return _NO_AXES if axes is None else np.ascontiguousarray(np.moveaxis(axes, -1, 0))

"""Reaching: joint values that bring end effectors of a world's robots to world poses, many in one call."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints, Rows
from fleet_sim.base.spatial import quaternions
from fleet_sim.models.kinematics.inverse import InverseKinematics
from fleet_sim.models.kinematics.params import IKParams
from fleet_sim.models.profile import profile_of
from fleet_sim.world.shapes import RobotModel
from fleet_sim.world.world import World

DEFAULT_PARAMS = IKParams()
RAYS = 25
"""Rays in Python that take as long as one solution without compiled code: after many of either it is loaded."""


class Reach(NamedTuple):
    """For N robots: which can reach their targets, and the remaining errors (m, rad).

    `slots` (K,) of `World.joints` and their `values` (K,) bring the robots there, or as near as possible.
    """

    reachable_mask: Bools
    position_errors: Floats
    orientation_errors: Floats
    slots: Ints
    values: Floats


def default_end_effector(model: RobotModel) -> int:
    """Return the link that carries fingers or a tool; for a robot without an arm, its last link."""
    profile = profile_of(model)
    return model.num_joints - 1 if profile.ee_link_name is None else profile.ee_link_index


def reach(
    world: World,
    rows: Rows,
    links: Sequence[int],
    positions: Floats,
    orientations: Floats | None = None,
    tolerance: float | None = None,
) -> Reach:
    """Solve for `links` of `rows` (N,), robots with models, at world `positions` (N, 3) and `orientations` (N, 4).

    Robots of one model, link and IKParams are computed in one call. Nothing is written.
    """
    places, turns = quaternions.relative(
        world.position[rows],
        world.orientation[rows],
        positions,
        # Any orientation will do where none is wanted: the result of it is not used.
        quaternions.stack(*[np.zeros(len(rows))] * 3, np.ones(len(rows))) if orientations is None else orientations,
    )
    if not world.compiled:
        world.rays_in_python += RAYS * len(rows)
    reachable_mask, errors = np.zeros(len(rows), bool), np.zeros((2, len(rows)))
    slots: list[Ints] = []
    values: list[Floats] = []
    for solver, members in _groups(world, rows, links):
        starts = world.robots.joint_start[rows[members]]
        present = world.joints.position[starts[:, None] + np.arange(len(solver.model.movable))]
        turned = None if orientations is None else turns[members]
        solution = solver.solve(present, places[members], turned, tolerance, compiled=world.compiled)
        reachable_mask[members] = solution.reachable_mask
        errors[:, members] = solution.position_errors, solution.orientation_errors
        slots.append((starts[:, None] + solver.slots).reshape(-1))
        # The joints of the chain only: others may be on their way elsewhere.
        values.append(solution.values[:, solver.slots].reshape(-1))
    return Reach(reachable_mask, errors[0], errors[1], np.concatenate(slots), np.concatenate(values))


@lru_cache(maxsize=256)
def solver_of(model: RobotModel, link: int, params: IKParams) -> InverseKinematics:
    """Return the cached solver for a link of a model."""
    return InverseKinematics(model, link, params)


def _groups(world: World, rows: Rows, links: Sequence[int]) -> list[tuple[InverseKinematics, Ints]]:
    """Return (solver, indices into `rows` that use it)."""
    given = world.joints.ik_params
    members: dict[tuple[int, int, IKParams], list[int]] = {}
    for index, (row, link) in enumerate(zip(rows.tolist(), links, strict=True)):
        key = int(world.robots.model[row]), link, given.get(row) or DEFAULT_PARAMS
        members.setdefault(key, []).append(index)
    return [
        (solver_of(world.models[number], link, params), np.array(chosen))
        for (number, link, params), chosen in members.items()
    ]

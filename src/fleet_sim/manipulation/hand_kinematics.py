"""Inverse kinematics of a hand: joint positions that bring one link of an arm to a pose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from fleet_sim.arrays import Floats, as_floats
from fleet_sim.config.modes import CompiledCodeUse
from fleet_sim.core.robot_model import RobotModel
from fleet_sim.entities.agent import Agent
from fleet_sim.kernels import is_usable
from fleet_sim.kinematics.params import IKParams
from fleet_sim.kinematics.reaching import solver_of
from fleet_sim.spatial import poses, quaternions

ONE_DESCENT = IKParams(max_outer_iterations=1, seed_quartiles=())
"""One descent from where the arm is, and if that fails one from its rest posture. Others may reach the target too, but
the arm would sweep through the bin on its way to them."""
MANY = 100
"""Solutions of a process from which on compiled code is loaded: so many without take as long as loading it."""


def joints_for(
    agent: Agent,
    model: RobotModel,
    link: int,
    position: Sequence[float],
    orientation: Sequence[float] | None = None,
    rest: dict[str, float] | None = None,
    compiled_code: CompiledCodeUse = "auto",
) -> Floats:
    """Return positions of all movable joints that bring a link to a pose, world frame, within the limits.

    Joints that do not lead to the link keep their positions. What is out of reach is approached. With `rest`, joint
    positions by name, the posture is the one nearest to it. Compiled code gives the same result; `auto` uses it once it
    pays.
    """
    place = as_floats(position, (3,), "target_ee_position")[None]
    # Any orientation will do then; something has to go through the frames all the same.
    turn = quaternions.IDENTITY[None]
    if orientation is not None:
        given = as_floats(orientation, (4,), "target_ee_orientation")
        turn = quaternions.normalized(given[None], "target_ee_orientation")
    base = agent.get_pose()
    # The solver works in the frame of the base.
    positions, orientations = poses.relative(np.array([base.position]), np.array([base.orientation]), place, turn)
    solver = solver_of(model, link, ONE_DESCENT if rest is None else replace(ONE_DESCENT, rest_posture=rest))
    wanted = compiled_code == "always" or (compiled_code == "auto" and solver.solved >= MANY)
    solution = solver.solve(
        agent.joint_positions[None],
        positions,
        None if orientation is None else orientations,
        compiled=wanted and _can_compile(),
    )
    found: Floats = solution.values[0]
    return found


@cache
def _can_compile() -> bool:
    return is_usable()

"""IKParams: parameters of the inverse kinematics solver."""

from __future__ import annotations

from dataclasses import dataclass

from fleet_sim.gate.bounds import MOST_ITERATIONS
from fleet_sim.settings import Checked, setting

ORIENTATION_TOLERANCE = 0.15
"""Largest orientation error (rad) at which a target still counts as reached."""


@dataclass(frozen=True)
class IKParams(Checked):
    """Parameters for finding the joint values of an end effector target.

    The solver runs descents from several start values. The first of `max_outer_iterations` rounds starts from the
    present joint values and from all joints at each of `seed_quartiles` of their ranges. Each further round has as many
    starts, spread evenly over the ranges. A descent ends when its error is below `residual_threshold`, when the error
    no longer shrinks, or after `max_inner_iterations` steps. The first result within `convergence_threshold` is
    used, otherwise the nearest one. Targets outside the workspace are tried in the first round only.
    """

    max_outer_iterations: int = setting(5, low=1, high=MOST_ITERATIONS, doc="Maximum number of rounds of descents.")
    convergence_threshold: float = setting(
        0.01, low=0, unit="m, rad", doc="Error below which a result is accepted and no further start is tried."
    )
    max_inner_iterations: int = setting(200, low=1, high=MOST_ITERATIONS, doc="Maximum number of steps of a descent.")
    residual_threshold: float = setting(1e-4, low=0, unit="m, rad", doc="Error below which a descent stops.")
    reachability_tolerance: float = setting(
        0.02, low=0, unit="m", doc="Position error up to which a target counts as reachable."
    )
    seed_quartiles: tuple[float, ...] = setting(
        (0.25, 0.5, 0.75), low=0, high=1, doc="Start values of descents, as fractions of the joint ranges."
    )
    ik_joint_names: tuple[str, ...] | None = setting(
        None, doc="Joints the solver may move; null: all joints with limits that lead to the end effector (no wheels)."
    )

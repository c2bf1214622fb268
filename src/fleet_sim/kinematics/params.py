"""IKParams: how inverse kinematics is solved."""

from __future__ import annotations

from dataclasses import dataclass

from fleet_sim.settings import Checked, setting

ORIENTATION_TOLERANCE = 0.15
"""How far, in rad, an end effector may be turned away from its target and still count as there."""


@dataclass(frozen=True)
class IKParams(Checked):
    """How a target of an end effector is turned into joint values.

    The solver descends from several sets of joint values: the present ones and all joints at each of `seed_quartiles`
    of their ranges; that is the first of `max_outer_iterations` rounds. Each further round has as many sets, spread
    evenly over the ranges. A descent ends when its error is below `residual_threshold`, when it no longer shrinks, or
    after `max_inner_iterations` steps. The first that ends within `convergence_threshold` wins, else the one that came
    nearest. Targets that are too far away for any joint values are tried in the first round only.
    """

    max_outer_iterations: int = setting(5, low=1, doc="Rounds of descents at most.")
    convergence_threshold: float = setting(0.01, low=0, unit="m, rad", doc="A descent that ends within it is taken.")
    max_inner_iterations: int = setting(200, low=1, doc="Steps of a descent at most.")
    residual_threshold: float = setting(1e-4, low=0, unit="m, rad", doc="Error at which a descent ends.")
    reachability_tolerance: float = setting(0.02, low=0, unit="m", doc="A target met within it counts as reachable.")
    seed_quartiles: tuple[float, ...] = setting(
        (0.25, 0.5, 0.75), low=0, high=1, doc="Starts, as fractions of the joints' ranges."
    )
    ik_joint_names: tuple[str, ...] | None = setting(
        None, doc="Joints that take part; null: those that lead to the end effector and have limits, so no wheels."
    )

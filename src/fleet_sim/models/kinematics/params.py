"""IKParams: parameters of the inverse kinematics solver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from numbers import Real

from fleet_sim.base.limits import MOST_ITERATIONS
from fleet_sim.base.settings import Checked, setting

ORIENTATION_TOLERANCE = 0.15
"""Largest orientation error (rad) at which a target still counts as reached."""


def _posture(value: object) -> tuple[tuple[str, float], ...] | None:
    """Return joint values by name, sorted, so that equal postures are equal; raises ValueError."""
    if value is None:
        return None
    if isinstance(value, Mapping):
        value = tuple(value.items())
    allowed = "expected joint values by name, such as {joint_1: 0.5}"
    if not isinstance(value, (tuple, list)) or not all(isinstance(e, (tuple, list)) and len(e) == 2 for e in value):
        raise ValueError(f"{allowed}, got {value!r}")
    posture = {}
    for name, number in value:
        checked = None if isinstance(number, bool) or not isinstance(number, Real) else float(number)
        if not isinstance(name, str) or checked is None or not isfinite(checked):
            raise ValueError(f"{allowed}, got {name!r}: {number!r}")
        if name in posture:
            raise ValueError(f"{allowed}; {name!r} is given twice")
        posture[name] = checked
    return tuple(sorted(posture.items()))


@dataclass(frozen=True)
class IKParams(Checked):
    """Parameters for finding the joint values of an end effector target.

    The solver runs descents from several start values. The first of `max_outer_iterations` rounds starts from the
    present joint values and from all joints at each of `seed_quartiles` of their ranges. Each further round has as many
    starts, spread evenly over the ranges. A descent ends when its error is below `residual_threshold`, when the error
    no longer shrinks, or after `max_inner_iterations` steps. The first result within `convergence_threshold` is
    used, otherwise the nearest one. Targets outside the workspace are tried in the first round only.

    With a `rest_posture` the arm then moves towards it with its end effector at the target, as far as its limits and
    spare joints allow: by the part of `rest_gain` times the remaining way that is in the null space of the Jacobian, in
    each of at most `max_inner_iterations` steps. Errors do not grow above `residual_threshold`. The second start is the
    rest posture.
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
    rest_posture: Mapping[str, float] | tuple[tuple[str, float], ...] | None = setting(
        None,
        reader=_posture,
        schema={"type": ["object", "null"], "additionalProperties": {"type": "number"}},
        unit="rad, m",
        doc="Preferred joint values by name, among those that reach a target; joints not named have none.",
    )
    rest_gain: float = setting(
        0.5, above=0, high=1, doc="Fraction of the way to the rest posture that is wanted in each step."
    )

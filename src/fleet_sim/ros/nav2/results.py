"""What the results of Nav2's actions have in common: error codes and times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fleet_sim.config.ros_params import RosParams
from fleet_sim.errors import InvalidValueError
from fleet_sim.ros.actions.kind import ActionKind, GoalOutcome
from fleet_sim.ros.conversions import duration_to_msg
from fleet_sim_msgs.msg import Cause

PLANNER = {
    Cause.UNKNOWN_FRAME: "TF_ERROR",
    Cause.INVALID_GOAL: "GOAL_OCCUPIED",
    Cause.UNREACHABLE: "NO_VALID_PATH",
    Cause.BLOCKED: "NO_VALID_PATH",
    Cause.TIMEOUT: "TIMEOUT",
}
"""Causes and the names of the planner's codes. A goal that is no free place counts as occupied."""


def is_on(params: RosParams) -> bool:
    """Return whether robots have all of Nav2's interface."""
    return params.nav2.enabled


def navigation_kind(name: str, kind: Any, build: Any, result: Any, feedback: Any, succeeded: Any = None) -> ActionKind:
    """Return an action that each robot serves where Nav2's interface is on; see ActionKind."""
    return ActionKind(
        name, kind, build, result, feedback, per_fleet=False, navigation=True, asked_for=is_on, succeeded=succeeded
    )


def told(result: Any, outcome: GoalOutcome, names: Mapping[int, str], codes: Any = None) -> Any:
    """Return `result` with the code of the outcome and its reason, where its version of Nav2 has such fields.

    `names` are those of the codes by cause, `codes` the class that has them, by default that of the result. Others
    are UNKNOWN; a goal that was cancelled or preempted has no error, as in Nav2.
    """
    ended = outcome.cause in (Cause.NONE, Cause.CANCELED, Cause.PREEMPTED)
    code = 0 if ended else int(getattr(codes or type(result), names.get(outcome.cause, "UNKNOWN"), 0))
    # Older versions of Nav2 have none of these.
    for field, value in (("error_code", code), ("error_msg", outcome.text)):
        if hasattr(result, field):
            setattr(result, field, value)
    return result


def timed(result: Any, outcome: GoalOutcome) -> Any:
    """Return `result` of a behaviour with the time that it took."""
    result.total_elapsed_time = duration_to_msg(outcome.duration)
    return result


def check_plugin(given: str, known: str, field: str) -> None:
    """Raise InvalidValueError for another plugin than the only one that there is."""
    if given not in ("", known):
        raise InvalidValueError(f"{field}: only {known!r} is here; leave it empty, got {given[:80]!r}")


def check_no_tree(tree: str) -> None:
    """Raise InvalidValueError where a behaviour tree is asked for."""
    if tree:
        raise InvalidValueError(f"behavior_tree: none can be run here; leave it empty, got {tree[:80]!r}")

"""All kinds of actions, by name."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import FunctionType
from typing import Any

from fleet_sim.actions.base import Action
from fleet_sim.actions.registry import parse_action_goal
from fleet_sim.registry import Registry, instances_of
from fleet_sim.ros.actions.kind import ActionKind, GoalReader, own_kind
from fleet_sim.ros.actions.move_to import MOVE_TO
from fleet_sim.ros.actions.pick_and_drop import DROP, PICK
from fleet_sim_msgs.action import Execute


def _build(goal: Any, reader: GoalReader) -> Action:
    return parse_action_goal(goal.action, goal.parameters)


EXECUTE = own_kind("execute", Execute, _build)


def offers(module: str, *names: str) -> bool:
    """Return whether a module of a message package is installed and has `names`: older versions have fewer."""
    # Asked for beforehand: an import of ours that fails must not look like a package that is missing.
    return find_spec(module.partition(".")[0]) is not None and all(
        hasattr(import_module(module), name) for name in names
    )


OPTIONAL: dict[str, ActionKind] = {}
if offers("control_msgs.action", "FollowJointTrajectory"):
    from fleet_sim.ros.actions.follow_joint_trajectory import FOLLOW_JOINT_TRAJECTORY

    OPTIONAL["follow_joint_trajectory"] = FOLLOW_JOINT_TRAJECTORY

ACTION_SETS = Registry("set of ROS actions", instances_of(FunctionType, "a function"), group="fleet_sim.ros_actions")
"""Functions of other parts that return kinds of actions by name, of those whose message packages are installed."""


def _built_in() -> dict[str, ActionKind]:
    kinds = {"move_to": MOVE_TO, "pick": PICK, "drop": DROP, "execute": EXECUTE, **OPTIONAL}
    for find_kinds in ACTION_SETS.all().values():
        kinds |= find_kinds()
    return kinds


KINDS = Registry(
    "ROS action",
    instances_of(ActionKind),
    group="fleet_sim.ros_action",
    built_in=_built_in,
)
"""Each is served for every robot that supports it and, if its goals name a robot, for the fleet."""

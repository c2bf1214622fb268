"""execute: any registered action by its name."""

from __future__ import annotations

from typing import Any

from fleet_sim.actions.base import Action
from fleet_sim.actions.registry import parse_action_goal
from fleet_sim.ros.actions.kind import GoalReader, own_kind
from fleet_sim_msgs.action import Execute


def _build(goal: Any, reader: GoalReader) -> Action:
    return parse_action_goal(goal.action, goal.parameters)


EXECUTE = own_kind("execute", Execute, _build)

"""What an action of ROS 2 is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fleet_sim.actions.base import Action
from fleet_sim.geometry import Pose
from fleet_sim.ros.conversions import pose_from_msg

Place = Callable[[Any], Pose]
"""Returns the pose of a PoseStamped in the map frame; raises UnknownNameError for its frame."""


@dataclass(frozen=True)
class ActionKind:
    """An action by `name`: its interface `type`, and how a goal becomes an action of the simulation.

    `build(goal, place)` raises FleetSimError for what is wrong with the goal. `describe(action, result)` adds to the
    result what only this action has.
    """

    name: str
    type: Any
    build: Callable[[Any, Place], Action]
    describe: Callable[[Action, Any], None] = lambda action, result: None

    def check(self, goal: Any) -> None:
        """Raise FleetSimError where the goal is wrong whatever the state of the world."""
        self.build(goal, lambda stamped: pose_from_msg(stamped.pose))


def timeout_of(goal: Any) -> float | None:
    """Return the goal's timeout as actions have it: None for never."""
    return None if goal.timeout == 0.0 else goal.timeout

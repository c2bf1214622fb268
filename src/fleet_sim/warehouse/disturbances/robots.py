"""Disturbances of robots: what each of them does to a robot, and what that tells its fleet manager."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fleet_sim.base.params import ActionCause
from fleet_sim.base.settings import setting
from fleet_sim.warehouse.disturbances.kind import DisturbanceKind, Effect, Event
from fleet_sim.world.conditions import RobotError


@dataclass
class Breakdown(DisturbanceKind):
    """Robots break down where they are, until they are repaired."""

    level: Literal["warning", "fatal"] = setting("fatal", doc="Of the error that they tell.")
    description: str = setting("it has broken down", doc="The text of that error.")

    def effect(self, event: Event) -> Effect:
        """A robot that stands, and says why."""
        error = RobotError("breakdown", self.level, self.description, (("disturbance", event.id),))
        return Effect(self.description, ActionCause.BREAKDOWN, faults=("breakdown",), errors=(error,))

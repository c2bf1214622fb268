"""What a world's handles ask motion for: the laws and the controllers by name, as a simulation connects them."""

from __future__ import annotations

from typing import Any

from fleet_sim.entities.controller_plan import ControllerPlan
from fleet_sim.motion.controllers.registry import plan
from fleet_sim.motion.laws import motion_law_index, motion_law_names


class Laws:
    """The registered motion laws (a LawBook); those that are registered later are among them."""

    def names(self) -> list[str]:
        """Return the names by the laws' indices; 0 is for what cannot move."""
        return ["immovable", *motion_law_names()]

    def index(self, name: str) -> int:
        """Return the index of a law; raises UnknownNameError."""
        return motion_law_index(name)


class Controllers:
    """The registered controllers (a ControllerBook)."""

    def plan(self, spec: Any) -> ControllerPlan:
        """Return what a spawn entry's `controller` asks for; see `plan` of the registry for what is raised."""
        return plan(spec)

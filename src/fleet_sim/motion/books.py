"""Lookup of motion laws and controllers by name, as a simulation connects them to its world."""

from __future__ import annotations

from typing import Any

from fleet_sim.entities.controller_plan import ControllerPlan
from fleet_sim.motion.controllers.registry import plan
from fleet_sim.motion.laws import feature_of, motion_law_index, motion_law_names


class Laws:
    """The registered motion laws (a LawBook), including those registered later."""

    def names(self) -> list[str]:
        """Return the names in order of the laws' indices; index 0 means "cannot move"."""
        return ["immovable", *motion_law_names()]

    def index(self, name: str) -> int:
        """Return the index of a law; raises UnknownNameError."""
        return motion_law_index(name)

    def feature(self, index: int) -> str | None:
        """Return the feature that robots with the law of this index need, or None."""
        return feature_of(index)


class Controllers:
    """The registered controllers (a ControllerBook)."""

    def plan(self, spec: Any) -> ControllerPlan:
        """Return the plan for the `controller` of a spawn entry; raises as `plan` of the registry does."""
        return plan(spec)

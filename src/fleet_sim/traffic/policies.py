"""Policies: when to plan."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from fleet_sim.registry import Registry, subclasses_of


@dataclass(frozen=True)
class Situation:
    """What a policy decides by.

    `changed` says that a goal, a closed place, an obstacle or the robots themselves changed since the last plan;
    `standing` that no robot moves; `spent` that some robot has driven all that was planned for it and is not at its
    goal.
    """

    changed: bool
    standing: bool
    spent: bool


class Policy(ABC):
    """Decides whether to plan now; asked in each step when the period has passed since the last plan."""

    @abstractmethod
    def plans(self, situation: Situation) -> bool:
        """Return whether to plan before this step."""


class Period(Policy):
    """Plans each period, whatever happens."""

    def plans(self, situation: Situation) -> bool:
        """Return True."""
        return True


class AllStopped(Policy):
    """Plans when all robots stand and there is something to plan for."""

    def plans(self, situation: Situation) -> bool:
        """Return whether all robots stand, and there is something to plan for."""
        return situation.standing and (situation.changed or situation.spent)


class OnDemand(Policy):
    """Plans when something changed, or a robot has driven all that was planned for it."""

    def plans(self, situation: Situation) -> bool:
        """Return whether there is something to plan for."""
        return situation.changed or situation.spent


class Given(Policy):
    """Never plans: robots drive the paths that they are given, see `Traffic.drive_rows`."""

    def plans(self, situation: Situation) -> bool:
        """Return False."""
        return False


POLICIES: Registry[type[Policy]] = Registry(
    "traffic policy",
    subclasses_of(Policy),
    group="fleet_sim.traffic_policy",
    built_in={"period": Period, "all_stopped": AllStopped, "on_demand": OnDemand, "given": Given},
)
"""Classes of policies by name; `find` takes dotted paths, too."""

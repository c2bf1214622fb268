"""Policies of charging: who goes to a charger, and who leaves it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from fleet_sim.arrays import Bools, Floats, Rows, as_float
from fleet_sim.errors import InvalidValueError
from fleet_sim.registry import Fit, Registry


@dataclass(frozen=True, eq=False)
class ChargingRequest:
    """R robots with batteries, at one moment: `levels` (R,) from 0 to 1, who has nothing to do, and who charges.

    `waiting` is how many orders wait for a robot, `free_chargers` how many chargers nobody has.
    """

    rows: Rows
    levels: Floats
    idle_mask: Bools
    charging_mask: Bools
    waiting: int
    free_chargers: int


@runtime_checkable
class ChargingPolicy(Protocol):
    """Decides who charges. Robots with a load, and those at work, go when they have done the order at hand."""

    def go(self, request: ChargingRequest) -> Bools:
        """Return which robots (R,) are to charge."""

    def leave(self, request: ChargingRequest) -> Bools:
        """Return which of the robots (R,) at chargers are to leave."""


class Threshold:
    """Robots charge below `low`, until they are at `full`."""

    def __init__(self, low: float = 0.3, full: float = 0.95) -> None:
        self.low = as_float(low, "low", low=0.0, high=1.0)
        self.full = as_float(full, "full", low=0.0, high=1.0)
        if self.low >= self.full:
            raise InvalidValueError(f"low: must be less than full, got {low:g} and {full:g}")

    def go(self, request: ChargingRequest) -> Bools:
        """Return who is below `low`."""
        return np.asarray(request.levels < self.low)

    def leave(self, request: ChargingRequest) -> Bools:
        """Return who is at `full`."""
        return np.asarray(request.levels >= self.full)


class Opportunity(Threshold):
    """Robots also charge when they have nothing to do below `top_up`; from `enough` on they leave for orders."""

    def __init__(self, low: float = 0.3, full: float = 1.0, top_up: float = 0.8, enough: float = 0.5) -> None:
        super().__init__(low, full)
        self.top_up = as_float(top_up, "top_up", low=self.low, high=self.full)
        self.enough = as_float(enough, "enough", low=self.low, high=self.full)

    def go(self, request: ChargingRequest) -> Bools:
        """Return who is below `low`, or idle while no order waits; of these not more than there are chargers."""
        forced = super().go(request)
        spare = request.idle_mask & (request.levels < self.top_up) & ~forced
        spare &= request.waiting == 0
        chosen = np.flatnonzero(spare)
        # Whoever would only queue may as well stay where it is.
        order = chosen[np.argsort(request.levels[chosen], kind="stable")]
        # Those who must charge come first at the chargers.
        forced[order[: max(request.free_chargers - int(forced.sum()), 0)]] = True
        return forced

    def leave(self, request: ChargingRequest) -> Bools:
        """Return who is full, or has enough while orders wait."""
        return np.asarray((request.levels >= self.full) | ((request.waiting > 0) & (request.levels >= self.enough)))


CHARGING_POLICIES: Registry[Callable[..., ChargingPolicy]] = Registry(
    "charging policy",
    Fit("a class with methods go(request) and leave(request)", callable),
    group="fleet_sim.charging_policy",
    built_in={"threshold": Threshold, "opportunity": Opportunity},
)
"""Policies of charging by name; `find` also takes dotted paths."""


def make_policy(name: str, settings: Mapping[str, Any]) -> ChargingPolicy:
    """Return the policy `name`, or at the dotted path `name`; raises UnknownNameError and InvalidValueError."""
    policy = CHARGING_POLICIES.make(name, settings)
    if not isinstance(policy, ChargingPolicy):
        raise InvalidValueError(f"charging policy {name!r} makes {policy!r}, which lacks go(request) or leave(request)")
    return policy

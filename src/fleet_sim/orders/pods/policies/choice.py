"""Which pod serves the orders of a workstation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.orders.pods.policies.policy import PodPolicy
from fleet_sim.registry import Fit, Registry


@dataclass(frozen=True, eq=False)
class PodRequest:
    """The pods (P,) that could serve a workstation now: each has items that it needs, and can be fetched.

    `lengths` (P,) in m are the ways from pods to the workstation, `lines` (P,) how many lines of its orders each pod
    serves at least in part, `items` (P,) how many items of them. `pods` (P,) are their numbers, `held` (P, S) the items
    on them by sku that nobody else needs, and `wanted` (S,) those that the workstation needs. `now` in s.
    """

    pods: Ints
    lengths: Floats
    lines: Ints
    items: Ints
    held: Ints
    wanted: Ints
    now: float


@runtime_checkable
class PodChoice(PodPolicy[PodRequest], Protocol):
    """Decides which pod is fetched next."""


class NearestPod:
    """Takes the pod with the shortest way to the workstation."""

    def choose(self, request: PodRequest) -> int:
        """Return the nearest pod."""
        return int(request.lengths.argmin())


class MostLines:
    """Takes the pod that serves most lines; of these the one with most items for them, then the nearest."""

    def choose(self, request: PodRequest) -> int:
        """Return the pod with most lines."""
        return int(np.lexsort((request.lengths, -request.items, -request.lines))[0])


POD_CHOICES: Registry[Callable[..., PodChoice]] = Registry(
    "pod choice",
    Fit("a class with a method choose(request)", callable),
    group="fleet_sim.pod_choice",
    built_in={"nearest": NearestPod, "most_lines": MostLines},
)
"""Policies that choose pods by name; `find` also takes dotted paths."""

"""Where a pod is stored again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.orders.pods.policies.policy import PodPolicy
from fleet_sim.registry import Fit, Registry


@dataclass(frozen=True, eq=False)
class StorageRequest:
    """The places (K,) where a pod could be stored: all that are free, and the one that it came from.

    `points` (K, 2) in m, `lengths` (K,) in m of the ways from the robot to them, `original` the index of the place that
    the pod came from, -1 where it cannot get there. `pod` is its number, `held` (S,) what is on it by sku.
    """

    pod: int
    points: Floats
    lengths: Floats
    original: int
    held: Ints
    now: float


@runtime_checkable
class StoragePolicy(PodPolicy[StorageRequest], Protocol):
    """Decides where pods are stored."""


class OriginalPlace:
    """Takes each pod back to where it came from."""

    def choose(self, request: StorageRequest) -> int:
        """Return the original place."""
        return request.original


class NearestPlace:
    """Takes each pod to the nearest free place: what is asked for often comes to stand near the workstations."""

    def choose(self, request: StorageRequest) -> int:
        """Return the nearest place."""
        return int(np.argmin(request.lengths))


STORAGE_POLICIES: Registry[Callable[..., StoragePolicy]] = Registry(
    "storage policy",
    Fit("a class with a method choose(request)", callable),
    group="fleet_sim.storage_policy",
    built_in={"original": OriginalPlace, "nearest": NearestPlace},
)
"""Policies that store pods by name; `find` also takes dotted paths."""

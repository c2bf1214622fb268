"""Allocators by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fleet_sim.errors import InvalidValueError
from fleet_sim.orders.allocation.allocator import Allocator
from fleet_sim.orders.allocation.auction import Auction
from fleet_sim.orders.allocation.hungarian import Hungarian
from fleet_sim.orders.allocation.nearest import NearestFirst
from fleet_sim.registry import Fit, Registry

AllocatorMaker = Callable[..., Allocator]
"""A class, or a function, that makes an allocator from its settings."""

ALLOCATORS: Registry[AllocatorMaker] = Registry(
    "allocator",
    Fit("a class with a method allocate(request)", callable),
    group="fleet_sim.allocator",
    built_in={"nearest": NearestFirst, "hungarian": Hungarian, "auction": Auction},
)
"""Allocators by name; `find` also takes dotted paths."""


def make_allocator(name: str, settings: Mapping[str, Any]) -> Allocator:
    """Return the allocator `name`, or at the dotted path `name`, made with `settings`.

    Raises UnknownNameError, InvalidValueError, and MissingDependencyError where it needs what is not installed.
    """
    allocator = ALLOCATORS.make(name, settings)
    if not isinstance(allocator, Allocator):
        raise InvalidValueError(f"allocator {name!r} makes {allocator!r}, which has no method allocate(request)")
    return allocator

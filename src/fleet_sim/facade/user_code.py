"""Code of the user's own in a simulation, by name: state files hold none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from fleet_sim.core.pipeline import Pipeline
from fleet_sim.core.plugins import keeps_state
from fleet_sim.core.world import World
from fleet_sim.facade.extensions import Extensions

OWN = "fleet_sim"


def user_code(world: World, pipeline: Pipeline, extensions: Extensions) -> list[str]:
    """Return what of the user's own runs with a simulation and is in no file, each by kind and name."""
    return list(dict.fromkeys([*_of_simulation(pipeline, extensions), *_of_events(world), *_of_entities(world)]))


def _of_simulation(pipeline: Pipeline, extensions: Extensions) -> Iterator[str]:
    """Yield what users added to a simulation whose state a file would not have."""
    for function in extensions.callbacks:
        yield f"callback {name_of(function)}"
    for plugin in extensions.plugins:
        if not keeps_state(plugin) and not _is_ours(type(plugin)):
            yield f"plugin {name_of(type(plugin))}"
    for system in pipeline.systems:
        if not _is_ours(system.run):
            yield f"system {system.name} ({name_of(system.run)})"
    for name, manager in extensions.managers.items():
        if not _is_ours(type(manager)) or getattr(manager, "has_callbacks", False):
            yield f"manager {name}"


def _of_events(world: World) -> Iterator[str]:
    for event, handler in [*world.events.handlers, *world.entity_events.handlers]:
        if not _is_ours(handler):
            yield f"handler {name_of(handler)} of event {event!r}"


def _of_entities(world: World) -> Iterator[str]:
    for what, thing in world.hooks.code:
        yield f"{what} {name_of(thing)}"


def name_of(thing: Callable[..., object] | type[Any]) -> str:
    """Return module and name of a function or class, as its author wrote them."""
    plain = _plain(thing)
    return f"{getattr(plain, '__module__', '?')}.{getattr(plain, '__qualname__', type(plain).__qualname__)}"


def _is_ours(thing: object) -> bool:
    module = str(getattr(_plain(thing), "__module__", ""))
    return module == OWN or module.startswith(f"{OWN}.")


def _plain(thing: object) -> object:
    """Return the function within wrappers and bound methods."""
    while isinstance(thing, partial) or hasattr(thing, "__wrapped__"):
        thing = thing.func if isinstance(thing, partial) else thing.__wrapped__
    owner = getattr(thing, "__self__", None)
    # A method that a user's class inherits is the user's code as well.
    if owner is not None and not isinstance(owner, type):
        return type(owner)
    return getattr(thing, "__func__", thing)

"""Filling a world from its configuration; what is wrong is reported with the key of the entry."""

from __future__ import annotations

from typing import Any

from fleet_sim.errors import ConfigError, FleetSimError
from fleet_sim.swarm.regions import GOALS
from fleet_sim.swarm.spawners import SPAWNERS
from fleet_sim.swarm.stepping import Stepper
from fleet_sim.swarm.subscribers import SUBSCRIBERS
from fleet_sim.swarm.svg import object_entries
from fleet_sim.swarm.swarm_world import SwarmWorld


def fill(world: SwarmWorld, stepper: Stepper, step_spawners: bool) -> None:
    """Make what the configuration of `world` names; raises ConfigError."""
    config = world.config
    # Goals first, as controllers and metrics look for them; subscribers last, as they look at all the rest.
    for key, entry in _each("goals", config.goals):
        world.goals.append(at_key(key, GOALS.make, entry))
    for key, entry in _each("agents", config.agents):
        at_key(key, world.spawn, entry)
    for key, entry in _each("spawners", config.spawners):
        world.spawners.append(at_key(key, SPAWNERS.make, entry, world))
    for key, entry in _each("objects", config.objects):
        for thing in at_key(key, object_entries, entry):
            at_key(key, world.add_object, thing)
    for key, entry in _each("metrics", config.metrics):
        at_key(key, world.add_metric, entry)
    if step_spawners:
        # A copy: a spawner may change the list while it spawns.
        for index, spawner in enumerate(list(world.spawners)):
            at_key(f"spawners[{index}]", stepper.start_spawner, spawner)
        stepper.drop_spawners()
    for key, entry in _each("subscribers", config.subscribers):
        # A class is callable, too, but has to be made into a subscriber first.
        function = callable(entry) and not isinstance(entry, type)
        world.subscribers.append(entry if function else at_key(key, SUBSCRIBERS.make, entry))


def at_key(key: str, function: Any, *args: Any) -> Any:
    """Return `function(*args)`; what is wrong is reported with the key of the entry."""
    try:
        return function(*args)
    except FleetSimError as error:
        raise ConfigError.of(error).within(key) from error


def _each(section: str, entries: list[Any]) -> list[tuple[str, Any]]:
    return [(f"{section}[{index}]", entry) for index, entry in enumerate(entries)]

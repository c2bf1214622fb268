"""Spawning by command: entries as in a scenario file, renamed if their names are taken and this is allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np

from fleet_sim.arrays import is_finite
from fleet_sim.core import commands as c
from fleet_sim.core.world import World
from fleet_sim.entities.agent import Agent
from fleet_sim.entities.entries import spawn_entry_rows
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.entities.spawning import remove
from fleet_sim.errors import InvalidValueError
from fleet_sim.gate.remote import remote_input
from fleet_sim.models import model_folders

MOST_SPAWNED = 10_000
"""Maximum number of entities per command from another process."""


def spawn_command(world: World, command: c.Spawn) -> tuple[str, ...]:
    """Spawn the entries of `command` and return the names; on a ConfigError, which names the entry, none is spawned."""
    if not command.remote:
        return _spawn(world, command)
    check_amount(command)
    # What comes from elsewhere may name files of the folders of models only.
    with remote_input(model_folders(world.model_paths)):
        return _spawn(world, command)


def check_amount(command: c.Spawn) -> None:
    """Raise InvalidValueError if `command` spawns more entities than allowed, as this would block a step for long."""
    total = 0
    # Counted before anything is read, as reading a huge grid is already the work to be refused.
    for entry in (*command.robots, *command.objects):
        grid = entry.get("grid") if isinstance(entry, Mapping) else None
        count = grid.get("count") if isinstance(grid, Mapping) else None
        # A value that is not a number is rejected later, with its place, when the entry is read.
        total += max(int(count), 1) if is_finite(count) else 1
    if total > MOST_SPAWNED:
        raise InvalidValueError(
            f"one message may spawn at most {MOST_SPAWNED} entities, this asks for {total:g}; spawn them in several"
        )


def _spawn(world: World, command: c.Spawn) -> tuple[str, ...]:
    """Spawn the robots and the objects of a command, all or none, and return their names, robots first."""
    robots = spawn_entry_rows(world, Agent, _entries(world, command, command.robots), path="robots")
    try:
        objects = spawn_entry_rows(world, SimObject, _entries(world, command, command.objects), path="objects")
    except BaseException:
        # All or nothing, as for entries of one section.
        remove(world, robots)
        raise
    return tuple(map(world.label, np.concatenate((robots, objects)).tolist()))


def _entries(world: World, command: c.Spawn, entries: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Return `entries`, with new names for those whose names are taken, if the command allows renaming."""
    if not command.rename:
        return list(entries)
    taken: set[str] = set()
    renamed = []
    for entry in entries:
        # Numbers begin at 0 for each entry; names that are taken are skipped.
        stem = entry.get("name") or "robot"
        candidates = (f"{stem}_{number}" for number in count())
        name = entry.get("name") or next(candidates)
        while world.index.has_name(name) or name in taken:
            name = next(candidates)
        taken.add(name)
        renamed.append({**entry, "name": name})
    return renamed

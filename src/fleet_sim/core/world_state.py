"""The state of a world as a value: taken for a checkpoint, and put back."""

from __future__ import annotations

from typing import Any

import numpy as np

from fleet_sim.arrays import Rows
from fleet_sim.core.world import World


def save_world(world: World) -> dict[str, Any]:
    """Return a copy of all state of `world`, for a checkpoint."""
    return {
        "tables": {name: table.copy_arrays() for name, table in world.tables.items() if not table.transient},
        "names": list(world.index.names),
        "handles": world.handles.save(),
        "user_data": {row: dict(data) for row, data in world.user_data.items()},
        "free": world.free_rows.save(),
        "next_id": world.next_id,
        "waypoints": world.waypoints.save(),
        "joints": world.joints.save(),
        "random": world.random.save(),
        "entity_events": world.entity_events.save(),
        "hooks": world.hooks.save(),
    }


def spawned_since(world: World, saved: dict[str, Any]) -> Rows:
    """Return the rows of entities spawned after `save_world`."""
    body = saved["tables"]["body"]
    count = len(body["alive"])
    known_mask = np.zeros(world.capacity, np.bool_)
    known_mask[:count] = body["alive"] & (body["generation"] == world.generation[:count])
    return world.rows[~known_mask[world.rows]]


def restore_world(world: World, saved: dict[str, Any]) -> None:
    """Restore what `save_world` returned.

    Entities spawned since then are removed (listeners are called); entities removed since then live again, with
    their old handles, hooks and event handlers. Hooks and handlers of the others are not changed.
    """
    # Before anything is restored: listeners must see these entities with their own values.
    world.release(spawned_since(world, saved))
    kept = world.rows
    back = _restore_columns(world, saved["tables"])
    world.index.restore(saved["names"])
    world.handles.restore(saved["handles"], kept)
    world.user_data = {row: dict(data) for row, data in saved["user_data"].items()}
    world.free_rows.restore(saved["free"], len(saved["names"]), world.capacity)
    world.next_id = saved["next_id"]
    world.waypoints.restore(saved["waypoints"])
    world.joints.restore(saved["joints"])
    world.random.restore(saved["random"])
    world.entity_events.revive(back.tolist(), saved["entity_events"])
    world.hooks.revive(back.tolist(), saved["hooks"])
    # Increased, not restored: a cache may still hold the saved number, filled with what came after it.
    world.version += 1
    for listener in world.on_spawn:
        listener(back)
    # Bodies in the engine may have been made or changed since; all of them are brought up to date.
    if world.material.in_use:
        world.material.behind[world.rows] = True
    world.may_carry = True
    world.touch(world.rows)
    world.touch_joints(world.rows)


def _restore_columns(world: World, saved: dict[str, Any]) -> Rows:
    """Restore the columns of all tables; return the rows of entities that live again."""
    body = saved["body"]
    count = len(body["alive"])
    # Between release and restoring: a row whose later owner was just removed counts as dead here too.
    back = np.flatnonzero(body["alive"] & ~world.alive[:count])
    generations = world.generation.copy()
    for name, table in world.tables.items():
        if name in saved:
            table.restore_arrays(saved[name])
        elif not table.transient:
            # The table was added later: at the time of `save_world` all its rows had the defaults.
            table.clear_rows(np.arange(world.capacity))
    world.keep_generations(int(world.generation.max(initial=0)))
    dead_mask = ~world.alive
    # Rows that are dead again keep the higher number, so that handles of entities spawned since stay stale.
    world.generation[dead_mask] = generations[dead_mask]
    return back

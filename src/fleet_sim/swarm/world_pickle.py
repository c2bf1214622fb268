"""Pickling of worlds: a copy continues the run in this process or another.

A world is pickled as its settings and checkpoints: the present one, and the first for `reset`. What refers to the
world, its simulation and its columns refers to those of the new world afterwards. Code that was connected from outside,
such as functions of `sim.events`, is not part of it.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from typing import Any

from fleet_sim.core.checkpoint import Checkpoint
from fleet_sim.errors import StateError
from fleet_sim.swarm.swarm_world import SwarmWorld
from fleet_sim.swarm.world_memory import key_of

CARRIED = ("groups", "goals", "keys", "subscribers", "team_order", "is_set_up", "source", "_conditions", "_stop_at")
"""Attributes of a world that are not in its checkpoints."""


def packed(world: SwarmWorld) -> tuple[bytes, bytes]:
    """Return the settings and the state of `world`; raises StateError within a step, and for what cannot be pickled."""
    columns = world.columns
    now = world.sim.save_state()
    initial = world.sim.state.initial
    own = {name: value for name, value in vars(world).items() if name in CARRIED}
    content = {
        "capacity": columns.capacity,
        "shapes": vars(columns.shapes),
        "models": columns.models,
        "own": own,
        "now": _fields(now),
        "initial": None if initial is None else _fields(initial),
    }
    stream = io.BytesIO()
    try:
        _Pickler(stream, _known(world)).dump(content)
        return pickle.dumps(world.config), stream.getvalue()
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise StateError(
            f"this world cannot be pickled: {error}. Classes and functions must be found by name in a module, so write"
            " no lambda and no class within a function"
        ) from error


def unpacked(make: Callable[[Any], SwarmWorld], config: bytes, state: bytes) -> SwarmWorld:
    """Return the world that `packed` returned `config` and `state` of, made anew by `make`."""
    world = make(pickle.loads(config))
    columns = world.columns
    content = _Unpickler(io.BytesIO(state), _known(world)).load()
    columns.grow(content["capacity"])
    vars(columns.shapes).update(content["shapes"])
    columns.models[:] = content["models"]
    for name, value in content["own"].items():
        known = vars(world)[name]
        # In place: parts of the new world hold these lists already.
        if isinstance(known, list):
            known[:] = value
        else:
            vars(world)[name] = value
    world.rekey(key_of)
    if content["initial"] is not None:
        world.sim.state.initial = Checkpoint(columns, **content["initial"])
    world.sim.restore_state(Checkpoint(columns, **content["now"]))
    return world


def _fields(checkpoint: Checkpoint) -> dict[str, Any]:
    return {"clock": checkpoint.clock, "world": checkpoint.world, "parts": checkpoint.parts}


def _known(world: SwarmWorld) -> dict[str, Any]:
    """Return what is not pickled, but stands for the same part of the new world."""
    return {"world": world, "sim": world.sim, "columns": world.columns, "swarm": world.swarm}


class _Pickler(pickle.Pickler):
    def __init__(self, stream: io.BytesIO, known: dict[str, Any]) -> None:
        super().__init__(stream)
        self._names = {id(part): name for name, part in known.items()}

    def persistent_id(self, obj: Any) -> str | None:
        """Return the name of a part that the new world has from its constructor."""
        return self._names.get(id(obj))


class _Unpickler(pickle.Unpickler):
    def __init__(self, stream: io.BytesIO, known: dict[str, Any]) -> None:
        super().__init__(stream)
        self._known = known

    def persistent_load(self, pid: str) -> Any:
        """Return the part of the new world."""
        return self._known[pid]

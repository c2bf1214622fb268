"""Calls of `sim.bullet` that concern the engine as a whole, and what of them the simulation has to know or refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fleet_sim.arrays import as_floats
from fleet_sim.bullet.client import NO_BODY
from fleet_sim.bullet.mirror import BulletMirror
from fleet_sim.errors import InvalidValueError, StateError

_STEPS = "the simulation steps the engine by params.physics_substep, or less; set that, or timestep, before it is built"


def set_gravity(mirror: BulletMirror, *args: Any, **kwargs: Any) -> bool:
    """Set the gravity of the simulation, also for sensors and for an engine that is built anew."""
    given = dict(zip(("gravX", "gravY", "gravZ"), args, strict=False)) | kwargs
    numbers = [given.get(name) for name in ("gravX", "gravY", "gravZ")]
    x, y, z = as_floats(numbers, (3,), "setGravity").tolist()
    mirror.set_gravity((x, y, z))
    return True


def set_time_step(mirror: BulletMirror, seconds: float) -> bool:
    """Set the step of an engine that the user steps. Raises StateError where the simulation steps it."""
    if mirror.world.physics:
        raise StateError(f"sim.bullet.setTimeStep: {_STEPS}")
    mirror.client.set_timestep(seconds)
    return True


def set_engine_parameter(mirror: BulletMirror, *args: Any, **kwargs: Any) -> bool:
    """Set parameters of the engine, also for one that is built anew.

    Raises StateError for another time step where the simulation steps the engine, and InvalidValueError for values
    without a name.
    """
    if mirror.world.physics and (args or "fixedTimeStep" in kwargs):
        raise StateError(f"sim.bullet.setPhysicsEngineParameter, fixedTimeStep: {_STEPS}")
    if args:
        raise InvalidValueError("sim.bullet.setPhysicsEngineParameter: give each value with the name of its parameter")
    mirror.client.set_engine_parameters(kwargs)
    return True


def restore_state(mirror: BulletMirror, *args: Any, **kwargs: Any) -> bool:
    """Raise StateError where bodies of entities would go back without the simulation seeing it."""
    rows = mirror.world.rows
    told = rows[mirror.bodies.table.body[rows] != NO_BODY]
    if len(told):
        raise StateError(
            f"sim.bullet.restoreState: {mirror.world.label(int(told[0]))!r} would go back in PyBullet alone; use "
            "sim.save_state() and sim.restore_state()"
        )
    return False


ENGINE_CALLS: dict[str, Callable[..., bool]] = {
    "setGravity": set_gravity,
    "setTimeStep": set_time_step,
    "setPhysicsEngineParameter": set_engine_parameter,
    "restoreState": restore_state,
}
"""The functions, each with what it does before PyBullet's, and whether it replaces that."""

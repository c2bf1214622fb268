"""Materials of bodies for the physics engine, and pushes on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fleet_sim.arrays import as_float, as_floats
from fleet_sim.core.schema import NO_ROW
from fleet_sim.core.world import World
from fleet_sim.entities.concave import check_mass
from fleet_sim.entities.drive import is_steered
from fleet_sim.errors import StateError, unknown_name
from fleet_sim.gate.bounds import LARGEST_MASS

MATERIAL = ("friction", "rolling_friction", "restitution", "linear_damping", "angular_damping")
"""The columns of materials."""


def checked_material(values: Mapping[str, float]) -> dict[str, float]:
    """Return `values` by name of column; raises InvalidValueError and UnknownNameError."""
    checked = {}
    for name, value in values.items():
        if name not in MATERIAL:
            raise unknown_name("property of a material", name, MATERIAL)
        # More than 1 would give a body energy at each bounce.
        checked[name] = as_float(value, name, low=0.0, high=1.0 if name == "restitution" else np.inf)
    return checked


def set_material(world: World, row: int, values: Mapping[str, float]) -> None:
    """Change the material of the entity in `row`, from the next step on."""
    checked = checked_material(values)
    world.material.use()
    for name, value in checked.items():
        getattr(world.material, name)[row] = value
    # The mirror writes materials, which are many, apart from poses.
    world.material.behind[row] = True
    world.bullet_behind[row] = True


def set_mass(world: World, row: int, mass: float) -> None:
    """Change the mass in kg; raises StateError where joints would change between motors and kinematic motion, and for
    cars, for which engines have no law.
    """
    kilograms = as_float(mass, "mass in kg", low=0.0, high=LARGEST_MASS)
    # Without a mass, even a concave mesh stays where it is.
    if kilograms > 0.0:
        check_mass(world, row)
    if world.robots.joint_count[row] and bool(world.robots.motors[row]) != (world.physics and kilograms > 0.0):
        motors = "with" if world.robots.motors[row] else "without"
        raise StateError(f"{world.handles[row]!r} was spawned {motors} motors")
    if world.physics and kilograms > 0.0 and is_steered(world, row):
        raise StateError(
            f"{world.handles[row]!r} is steered like a car, for which engines have no law; its mass stays 0"
        )
    world.mass[row] = kilograms
    # What is carried follows its carrier and gets its mass back when it is put down.
    world.dynamic[row] = world.physics and kilograms > 0.0 and world.parent[row] == NO_ROW
    # The mirror looks at the masses of rows that are behind.
    world.bullet_behind[row] = True


def push(world: World, row: int, force: Sequence[float], position: Sequence[float] | None) -> None:
    """Push the entity in `row` with `force` (3,) in N for the next step, at its centre of mass or a world point."""
    _check_moved(world, row)
    point = None if position is None else as_floats(position, (3,), "position")
    world.bodies.push(row, as_floats(force, (3,), "force in N"), point)


def twist(world: World, row: int, torque: Sequence[float]) -> None:
    """Turn the entity in `row` with `torque` (3,) in Nm for the next step."""
    _check_moved(world, row)
    world.bodies.twist(row, as_floats(torque, (3,), "torque in Nm"))


def _check_moved(world: World, row: int) -> None:
    if not world.dynamic[row]:
        raise StateError(
            f"forces do not move {world.label(row)!r}: it is kinematic. The engine moves what has a mass and is not "
            "carried, with physics on"
        )

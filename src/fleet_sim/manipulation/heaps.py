"""Heaps of objects: how they are spawned, come to rest, and sleep in the engine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fleet_sim.arrays import Floats, Rows
from fleet_sim.core.world import World
from fleet_sim.entities.shape_params import ShapeParams
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.entities.spawn_params import SimObjectSpawnParams
from fleet_sim.entities.spawning import remove, spawn_many
from fleet_sim.manipulation.objects import LARGEST, ObjectKind
from fleet_sim.simulation import MultiRobotSimulationCore

GAP = 0.005
"""Gap in m between objects at the start of their fall."""
STILL, STILL_STEPS = 0.005, 12
"""Objects are at rest if they were slower than STILL (m/s, per axis) for STILL_STEPS steps in a row."""


def fall_coordinates(rng: np.random.Generator, count: int, dimensions: Floats) -> list[list[float]]:
    """Return `count` positions above a bin, in its frame: x at random, y and z in steps of LARGEST + GAP."""
    pitch = LARGEST + GAP
    # Objects start with their middle at most here, so that none falls onto a wall.
    reach = 0.5 * (dimensions[:2] - LARGEST) - 0.002
    lines = int(2.0 * reach[1] // pitch) + 1
    return [
        [
            float(rng.uniform(-reach[0], reach[0])),
            float(-reach[1] + pitch * (index % lines)),
            float(dimensions[2] + pitch * (index // lines)),
        ]
        for index in range(count)
    ]


def spawn_objects(
    world: World, kind: ObjectKind, positions: Floats, orientations: Floats, name: str
) -> list[SimObject]:
    """Spawn objects at rest at positions (N, 3) and orientations (N, 4), world frame, named `<name>/<kind>/<index>`."""
    names = [f"{name}/{kind.name}/{index}" for index in range(len(positions))]
    things = spawn_many(world, SimObject, _params(kind), positions, orientations, names)
    rows = rows_of(things)
    if (np.diff(rows) < 0).any():
        # Freed rows are reused in the order in which they were freed, here that of earlier grabs. The engine
        # creates bodies in the order of rows, and their motion depends on it. Spawn again from sorted rows, so that
        # motion does not depend on earlier episodes.
        remove(world, np.sort(rows))
        things = spawn_many(world, SimObject, _params(kind), positions, orientations, names)
    return things


def let_fall(sim: MultiRobotSimulationCore, things: Sequence[SimObject], steps: int) -> None:
    """Step the simulation until all objects are at rest, at most `steps` times."""
    world, rows = sim.world, rows_of(things)
    still = 0
    for _ in range(steps):
        sim.step_once()
        slow_mask = (np.abs(world.velocity[rows]) < STILL).all(axis=1)
        still = still + 1 if slow_mask.all() else 0
        if still >= STILL_STEPS:
            break


def put_to_sleep(sim: MultiRobotSimulationCore, things: Sequence[SimObject]) -> None:
    """Put objects at rest to sleep in the engine: they cost nothing until something touches them.

    A contact wakes the whole heap; it falls asleep again when it has come to rest.
    """
    # The order matters. A new body wakes up in its first step, whatever its state: make that step first.
    sim.step_once()
    sim.engine.put_to_sleep(rows_of(things))
    # In this step they fall asleep.
    sim.step_once()


def wake_up(sim: MultiRobotSimulationCore, things: Sequence[SimObject]) -> None:
    """Wake up objects, e.g. after one was removed from below them."""
    sim.engine.wake_up(rows_of(things))


def rows_of(things: Sequence[SimObject]) -> Rows:
    """Return the rows (N,) of objects."""
    return np.array([thing.row for thing in things], np.int64)


def _params(kind: ObjectKind) -> SimObjectSpawnParams:
    shape: ShapeParams = kind.shape
    return SimObjectSpawnParams(
        visual_shape=shape, collision_shape=shape, mass=kind.mass, friction=0.8, rolling_friction=0.0005
    )

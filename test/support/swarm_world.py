"""Swarm worlds for tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from fleet_sim.swarm.world import RectangularWorld


def make_world(
    controller: Any = None,
    sensors: Any = (),
    *,
    count: int = 12,
    seed: int = 1,
    positions: Any = None,
    angles: Any = None,
    agent: dict[str, Any] | None = None,
    **config: Any,
) -> RectangularWorld:
    """Return a world of 5 m by 5 m with `count` alike agents, set up; at random places unless `positions` are given."""
    world = RectangularWorld({"time_step": 0.05, **config})
    world.setup()
    random = np.random.default_rng(seed)
    if positions is None:
        positions = random.uniform(0.5, 4.5, (count, 2))
    if angles is None:
        angles = random.uniform(-3.0, 3.0, len(positions))
    spec = {
        "type": "MazeAgent",
        "agent_radius": 0.1,
        "controller": controller,
        "sensors": list(sensors),
        **(agent or {}),
    }
    world.spawn_many(world.recipe(spec), positions, angles)
    return world


def lattice(side: float, count: int) -> tuple[Any, Any]:
    """Return places and headings of so many agents on a lattice: some in one place, some that just touch."""
    rng = np.random.default_rng(2)
    places = np.round(rng.uniform(0.0, side, (count, 2)) * 2.0) / 2.0
    return places, 0.25 * np.pi * rng.integers(-4, 4, count)

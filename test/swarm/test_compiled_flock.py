"""Swarms with compiled code go as they go without, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from swarm_world import lattice

from fleet_sim.arrays import Floats
from fleet_sim.facade import compiled_code
from fleet_sim.swarm.world import RectangularWorld

pytest.importorskip("numba")

CROWD = 150
FLOCKS: tuple[dict[str, Any], ...] = (
    {},
    {"target_team": 1, "cohesion": 3.0},
)


def flown(flock: dict[str, Any], side: float) -> Floats:
    """Boids on a lattice, some in one place, some that carry limits; others stand."""
    world = RectangularWorld({"size": [side, side], "time_step": 0.05})
    world.setup()
    places, angles = lattice(side, CROWD)
    for team in (0, 1):
        part = slice(team, None, 2)
        controller = {"type": "BoidsController", **flock}
        spec = {"type": "MazeAgent", "agent_radius": 0.1, "team": team, "controller": controller, "sensors": []}
        world.spawn_many(world.recipe(spec), places[part], angles[part])
    for _ in range(25):
        world.step()
    crowd = world.everyone
    return np.concatenate((crowd.positions.ravel(), crowd.velocities.ravel(), crowd.headings))


@pytest.mark.parametrize("flock", FLOCKS)
def test_boids_fly_as_on_arrays(flock: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for side in (4.0, 40.0):
        found = []
        for least in (10**9, 1):
            monkeypatch.setattr(compiled_code, "MANY", least)
            found.append(flown(flock, side))
        assert found[0].tobytes() == found[1].tobytes()

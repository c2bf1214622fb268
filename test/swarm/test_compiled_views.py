"""Fields of view with compiled code read what they read without, in every step."""

from __future__ import annotations

import pytest
from swarm_world import lattice

from fleet_sim.facade import compiled_code
from fleet_sim.swarm.world import RectangularWorld

pytest.importorskip("numba")

CROWD = 150
VIEW = {"theta": 0.8, "distance": 1.5, "walls": True, "false_positive": 0.1, "target_team": 1}


def readings(side: float, update: str, steps: int) -> bytes:
    """Unicycles on a lattice, so that discs touch sectors exactly; some in one place; some that stand still."""
    world = RectangularWorld({"size": [side, side], "time_step": 0.25, "update": update, "seed": 1})
    world.setup()
    places, angles = lattice(side, CROWD)
    for team in (0, 1):
        part = slice(team, None, 2)
        parts = {
            "controller": {"type": "BinaryController", "a": [0.5, 0.0], "b": [0.0, 0.5 * team]},
            "sensors": [{"type": "BinaryFOVSensor", **VIEW}],
        }
        spec = {"type": "MazeAgent", "agent_radius": 0.25 * (1 + team), "team": team, "collides": False, **parts}
        world.spawn_many(world.recipe(spec), places[part], angles[part])
    seen = []
    for _ in range(steps):
        world.step()
        seen += [group.readings[0].tobytes() for group in world.population_groups]
    return b"".join([*seen, world.everyone.positions.tobytes()])


def test_agents_see_as_on_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    for side, update, steps in ((4.0, "together", 6), (40.0, "together", 6), (10.0, "in_turn", 1)):
        found = []
        for least in (10**9, 1):
            monkeypatch.setattr(compiled_code, "MANY", least)
            found.append(readings(side, update, steps))
        assert found[0] == found[1]

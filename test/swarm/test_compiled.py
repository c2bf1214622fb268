"""Swarms go with compiled code as their kernels go in Python, to the last bit."""

from __future__ import annotations

import pytest
from swarm_world import lattice

from fleet_sim.facade import update as compiled_code
from fleet_sim.swarm.world import RectangularWorld

pytest.importorskip("numba")

CROWD = 150
VIEW = {"theta": 0.8, "distance": 1.5, "walls": True, "false_positive": 0.1, "target_team": 1}


def course(side: float, update: str, steps: int) -> bytes:
    """Unicycles on a lattice, so that discs touch sectors exactly, some in one place; a third of them are boids."""
    world = RectangularWorld({"size": [side, side], "time_step": 0.25, "update": update, "seed": 1})
    world.setup()
    places, angles = lattice(side, CROWD)
    for team in (0, 1, 2):
        part = slice(team, None, 3)
        sight = {"type": "BinaryFOVSensor", **VIEW, "occlusion": team == 1}
        parts = {
            "controller": {"type": "BinaryController", "a": [0.5, 0.0], "b": [0.0, 0.5 * team]},
            "sensors": [sight],
        }
        if team == 2:
            parts = {"controller": {"type": "BoidsController", "target_team": 2, "cohesion": 3.0}, "sensors": [sight]}
        spec = {"type": "MazeAgent", "agent_radius": 0.25 * (1 + team % 2), "team": team, "collides": False, **parts}
        world.spawn_many(world.recipe(spec), places[part], angles[part])
    seen = []
    for _ in range(steps):
        world.step()
        seen += [group.readings[0].tobytes() for group in world.population_groups]
    crowd = world.everyone
    return b"".join([*seen, crowd.positions.tobytes(), crowd.velocities.tobytes(), crowd.headings.tobytes()])


def test_kernels_do_the_same_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    for side, update, steps in ((4.0, "together", 6), (40.0, "together", 6), (10.0, "in_turn", 1)):
        found = []
        for least in (10**9, 1):
            monkeypatch.setattr(compiled_code, "MANY", least)
            found.append(course(side, update, steps))
        assert found[0] == found[1]

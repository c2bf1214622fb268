"""Parameters of controllers whose results no other test looks at: changed, they change what agents do."""

from __future__ import annotations

from typing import Any

import pytest

from fleet_sim.swarm import RectangularWorld

N = 12
WAYPOINT = {"static_waypoint": [4.0, 4.0], "speed": 1.0}


def crowd(controller: dict[str, Any] | None, *, steps: int = 60, **settings: Any) -> RectangularWorld:
    agent = {"type": "MazeAgent", "agent_radius": 0.1, "controller": controller}
    spawner = {
        "type": "uniform",
        "n": N,
        "agent": agent,
        "facing": "random",
        "region": [[1, 1], [5, 1], [5, 5], [1, 5]],
    }
    world = RectangularWorld({"size": [6, 6], "time_step": 0.1, "spawners": [spawner], "seed": 3, **settings})
    world.setup()
    world.evaluate(steps)
    return world


def moves(kind: str, **parameters: Any) -> Any:
    world = crowd({"type": kind, **parameters})
    return world.everyone.positions.tolist(), [agent.angle for agent in world.population]


def keyed(kind: str, **parameters: Any) -> Any:
    """Return how agents drive while keys are held down, and let go."""
    world = crowd({"type": kind, **parameters}, steps=1)
    for keys in ({"w"}, {"w", "d"}, set(), {"s"}):
        world.keys = keys
        world.evaluate(12)
    return world.everyone.positions.tolist(), [agent.angle for agent in world.population]


CONTROLLED: list[tuple[Any, str, dict[str, Any], dict[str, Any]]] = [
    (keyed, "HumanController", {}, {"speed_range": [-0.1, 0.1], "turn_range": [-0.5, 0.5], "key_speed_mult": 0.05,
                                    "key_turn_mult": 0.5}),
    (moves, "LevyController", {"velocity": 0.5, "angular_velocity": 1.0, "levy_constant": 1.0},
     {"timeout_steps": 3, "step_scale": 3.0}),
    (moves, "OrcaController", WAYPOINT, {"max_turn": 0.5, "wall_horizon": 3.0, "max_neighbours": 1, "slow_down": 3.0}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("look", "kind", "others", "name", "value"),
    [(look, kind, others, *one) for look, kind, others, values in CONTROLLED for one in values.items()],
)
def test_a_parameter_of_a_controller_counts(look: Any, kind: str, others: Any, name: str, value: Any) -> None:
    assert look(kind, **others, **{name: value}) != look(kind, **others)

"""No parameter of a controller or metric is accepted and then ignored: changed, it changes what agents do or the value.

Parameters that tests of single components change already are not repeated here; a new one needs a test or a line.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from fleet_sim.swarm import RectangularWorld
from fleet_sim.swarm.controllers import CONTROLLERS
from fleet_sim.swarm.metrics import METRICS
from fleet_sim.swarm.sensors import SENSORS
from fleet_sim.swarm.spawners import SPAWNERS

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
    (moves, "BoidsController", {}, {"max_turn": 0.3, "separation_distance": 1.0, "separation": 0.1, "alignment": 0.1,
                                    "cohesion": 9.0, "min_speed": 0.1, "turn_gain": 1.0}),
    (moves, "CyclicPursuitController", {}, {"max_turn": 0.2}),
    (moves, "FollowController", {}, {"max_speed": 0.2, "max_turn": 0.5, "turn_gain": 1.0}),
    (keyed, "HumanController", {}, {"speed_range": [-0.1, 0.1], "turn_range": [-0.5, 0.5], "key_speed_mult": 0.05,
                                    "key_turn_mult": 0.5}),
    (moves, "LevyController", {"velocity": 0.5, "angular_velocity": 1.0, "levy_constant": 1.0},
     {"timeout_steps": 3, "step_scale": 3.0}),
    (moves, "OrcaController", WAYPOINT, {"max_turn": 0.5, "wall_horizon": 3.0, "max_neighbours": 1, "slow_down": 3.0}),
]  # fmt: skip
MEASURED: list[tuple[str, dict[str, Any]]] = [
    ("AgentsAtGoal", {"as_percent": True}),
    ("AlgebraicConnectivity", {"r_disk_size": 1.5}),
    ("RadialVariance", {"regularize": False, "weight": 3.0}),
    ("Scatter", {"regularize": False}),
]


@pytest.mark.parametrize(
    ("look", "kind", "others", "name", "value"),
    [(look, kind, others, *one) for look, kind, others, values in CONTROLLED for one in values.items()],
)
def test_a_parameter_of_a_controller_counts(look: Any, kind: str, others: Any, name: str, value: Any) -> None:
    assert look(kind, **others, **{name: value}) != look(kind, **others)


@pytest.mark.parametrize(("kind", "name", "value"), [(kind, *one) for kind, all_ in MEASURED for one in all_.items()])
def test_a_parameter_of_a_metric_counts(kind: str, name: str, value: Any) -> None:
    goal = {"type": "CylinderGoal", "position": [3, 3], "radius": 1.5}
    metrics = [{"type": kind, "name": "plain"}, {"type": kind, "name": "changed", name: value}]
    plain, changed = (metric.value for metric in crowd(None, steps=1, goals=[goal], metrics=metrics).metrics)
    assert changed != plain


def test_every_parameter_is_in_a_test() -> None:
    """A name alone proves little, but one that is in no test at all proves that nobody looked."""
    texts = [path.read_text(encoding="utf-8") for path in Path(__file__).parent.rglob("*.py")]
    missing = []
    for registry in (METRICS, CONTROLLERS, SENSORS, SPAWNERS):
        for cls in {registry.type_of(name) for name in registry.names()}:
            names = inspect.signature(cls).parameters.keys() - {"world", "agent", "args", "kwargs"}
            unseen = [name for name in names if not any(re.search(rf"\b{name}\b", text) for text in texts)]
            missing += [f"{cls.__name__}.{name}" for name in unseen]
    assert not missing

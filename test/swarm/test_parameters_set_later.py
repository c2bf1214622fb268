"""A parameter of a controller or sensor that is set later: checked as in the constructor, and with the same effect."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.settings.fields import fields_of
from fleet_sim.swarm import RectangularWorld
from fleet_sim.swarm.controllers import CONTROLLERS
from fleet_sim.swarm.metrics import METRICS
from fleet_sim.swarm.parameters import Configured
from fleet_sim.swarm.sensors import SENSORS
from fleet_sim.swarm.world_config import same

NEEDED: dict[str, dict[str, Any]] = {
    "BinaryController": {"a": [0.1, 0.2], "b": [0.1, -0.2]},
    "LevyController": {"velocity": 0.3, "angular_velocity": 1.0},
    "MultibitBinaryController": {"outputs": {0: [0.1, 0.2], 1: [0.1, 0.0]}, "sensor_ids": [0]},
    "OrcaController": {"static_waypoint": [4.0, 4.0]},
    "WaypointPIDController": {"static_waypoint": [4.0, 4.0]},
    "RegionalSensor": {"world_object_index": 0},
}
VALUES = (None, True, False, 0, 1, 2, -1, 0.25, -3.5, 1e300, float("inf"), float("nan"), "nonsense", "id", "agent")
VALUES += ([], [1.0, 2.0], [-1.0, 1.0], [1.0, 2.0, 3.0], [[0.0, 0.0], [1.0, 1.0]], {}, {0: [1.0, 1.0]}, object())


def kinds() -> list[type[Any]]:
    known = {kind for book in (CONTROLLERS, SENSORS) for name in book.names() if (kind := book.type_of(name))}
    return sorted((kind for kind in known if issubclass(kind, Configured)), key=lambda kind: kind.__name__)


def verdict(make: Any) -> str | None:
    try:
        make()
    except InvalidValueError as error:
        return str(error)
    return None


def state(part: Any) -> list[Any]:
    return [getattr(part, name) for name in (*fields_of(type(part)), *type(part).follows)]


def alike(first: Any, second: Any) -> bool:
    return len(first) == len(second) and all(
        same(a, b) or repr(vars(a)) == repr(vars(b)) if hasattr(a, "__dict__") else same(a, b)
        for a, b in zip(first, second, strict=True)
    )


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__name__)
def test_every_parameter_is_checked_where_it_is_set(kind: type[Any]) -> None:
    needed = NEEDED.get(kind.__name__, {})
    for name in fields_of(kind):
        refused = 0
        for value in VALUES:
            part = kind(**needed)
            before = state(part)
            # In the constructor beside the others as they are, where some are made of several that were given.
            wanted = verdict(
                lambda value=value, name=name, part=part: kind(**{**part.values_beside(name), name: value})
            )
            found = verdict(lambda value=value, name=name, part=part: setattr(part, name, value))
            assert found == wanted, (name, value)
            if found is None:
                assert alike(state(part), state(kind(**{**part.values_beside(name), name: value}))), (name, value)
            else:
                refused += 1
                assert kind.__name__ in found
                assert alike(state(part), before), (name, value)
        assert refused, name


def test_the_error_names_the_range() -> None:
    view = SENSORS.make({"type": "BinaryFOVSensor", "theta": 0.4})
    with pytest.raises(
        InvalidValueError, match=r"BinaryFOVSensor: false_positive: must be .*at least 0 and at most 1, got 2"
    ):
        view.false_positive = 2  # type: ignore[attr-defined]
    with pytest.raises(InvalidValueError, match="give one of static_waypoint"):
        CONTROLLERS.make({"type": "OrcaController", "static_waypoint": [1, 1]}).sensor_id = 0  # type: ignore[attr-defined]


def flock(**parameters: Any) -> RectangularWorld:
    world = RectangularWorld({"size": [6, 6], "time_step": 0.1, "seed": 1})
    world.setup()
    parts = {"controller": {"type": "LevyController", "velocity": 0.5, "angular_velocity": 2.0, **parameters}}
    world.spawn_many(world.recipe({"type": "MazeAgent", **parts}), [[2.0, 2.0], [4.0, 4.0]], [0.0, 1.0])
    return world


def test_a_seed_that_is_set_later_counts() -> None:
    given, later, other = flock(seed=7), flock(), flock()
    later.population[0].controller.seed = 7  # type: ignore[union-attr]
    for world in (given, later, other):
        world.evaluate(40)
    assert np.array_equal(later.everyone.positions, given.everyone.positions)
    assert not np.array_equal(other.everyone.positions, given.everyone.positions)


def test_a_sensor_is_drawn_as_said_last_and_keeps_its_history() -> None:
    view: Any = SENSORS.make({"type": "BinaryFOVSensor", "draw": False})
    assert not view.show
    view.show = True
    assert view.show
    view.draw = False
    assert not view.show
    line: Any = SENSORS.make({"type": "BinaryLOSSensor", "history_length": 4})
    line.history.extend([1, 2, 3, 4])
    line.history_length = 2
    assert (list(line.history), line.history.maxlen) == ([3, 4], 2)


def test_metrics_know_what_their_parameters_may_be() -> None:
    metric = METRICS.make({"type": "Circliness"})
    with pytest.raises(InvalidValueError, match="Circliness: name: must be text, got 3"):
        metric.name = 3  # type: ignore[assignment]


# ---- Parameters of controllers whose results no other test looks at: changed, they change what agents do -------------


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

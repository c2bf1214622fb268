"""Metrics made of other metrics, of some of the agents, and of what is in the world."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from oracle_rows import holds
from swarm_world import make_world

from fleet_sim.base.errors import FleetSimError
from fleet_sim.swarm.controllers import StaticController
from fleet_sim.swarm.swarm_state import Metric
from fleet_sim.swarm.world import RectangularWorld, World_from_config


def driver(speed: float, turn: float = 0.0) -> dict[str, Any]:
    return {"type": "static", "output": [speed, turn]}


def two_teams() -> RectangularWorld:
    """Return a world with two slow agents without a team, and a fast red and a fast blue one."""
    world = make_world(driver(0.2), positions=[[1.0, 1.0], [2.0, 2.0]], angles=[0.0, 0.0])
    for team, y in (("red", 3.0), ("blue", 4.0)):
        fast = {"type": "MazeAgent", "agent_radius": 0.1, "controller": driver(0.6), "team": team, "name": team}
        world.spawn(fast, [1.0, y], 0.0)
    return world


class Steps(Metric):
    """Counts how often it was measured."""

    def calculate(self) -> None:
        self.set_value(len(self.value_history) + 1)


@holds("api:SubGroup*.value", fault="swarm/metrics/combination.py: teams to look at are left out")
def test_sub_groups() -> None:
    world = two_teams()
    cases: list[tuple[dict[str, Any], float]] = [
        ({}, 0.4),
        ({"include_teams": ["red", "blue"]}, 0.6),
        ({"exclude_teams": ["red"]}, 1.0 / 3.0),
        ({"include_names": ["red", "agent_0"]}, 0.4),
        ({"exclude_names": ["red", "blue"], "exclude_teams": ["red"]}, 0.2),
        ({"include_teams": ["red"], "exclude_teams": ["red"]}, float("nan")),
    ]
    metrics = [
        world.add_metric({"type": "SubGroup", "name": str(index), "metric": "average_speed", **chosen})
        for index, (chosen, _) in enumerate(cases)
    ]
    world.step()
    assert [metric.value for metric in metrics] == pytest.approx([value for _, value in cases], nan_ok=True)
    assert len(world.metrics) == len(cases), "the inner metrics are not in the list"
    with pytest.raises(FleetSimError, match="must be one of the population"):
        world.add_metric({"type": "SubGroup", "metric": {"type": "EntityLen", "target_name": "population"}})


@holds("api:Combination.value", fault="swarm/metrics/combination.py: inner metrics have the value of the step before")
def test_combinations() -> None:
    world = two_teams()
    world.add_metric("average_speed")
    cases: list[tuple[dict[str, Any], float]] = [
        ({"expression": "AverageSpeed * 10 + population"}, 8.0),
        ({"metrics": ["average_speed"], "expression": "metric.value > 0.3"}, 1.0),
        ({"metrics": ["average_speed", "convex_hull"], "expression": "metrics[0].value / 2 + (metrics[1] > 9)"}, 0.2),
        ({"metrics": [{"type": "average_speed", "name": "pace"}], "expression": "2 * pace"}, 0.8),
    ]
    metrics = [
        world.add_metric({"type": "Combination", "name": str(index), **params})
        for index, (params, _) in enumerate(cases)
    ]
    world.step()
    assert [metric.value for metric in metrics] == pytest.approx([value for _, value in cases])


def test_combinations_are_measured_and_noted_under_conditions() -> None:
    world = make_world(driver(0.2), count=2)
    inner = Steps(name="inner")
    measured = world.add_metric(
        {"type": "Combination", "metrics": [inner], "expression": "metric", "eval_condition": "steps >= 3"}
    )
    noted = world.add_metric({"type": "Combination", "name": "n", "expression": "steps", "save_condition": "steps < 2"})
    for _ in range(5):
        world.step()
    assert list(measured.value_history) == [1.0, 2.0]
    assert list(noted.value_history) == [0.0, 1.0]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"expression": "speed > 1"}, "unknown name 'speed'"),
        ({"expression": "average_speed.world"}, "not allowed"),
        ({"expression": ""}, "must be an expression"),
        ({"expression": None}, "expression: is missing"),
        ({"expression": "[1, 2]"}, "gives no number"),
        ({"expression": "1", "metrics": ["avarage_speed"]}, "Did you mean 'average_speed'"),
    ],
)
def test_combinations_that_mean_nothing_are_refused(params: dict[str, Any], message: str) -> None:
    world = World_from_config(
        {"agents": ["MazeAgent"], "metrics": [{"type": "Combination", "name": "c", **params}]}, source="mine.yaml"
    )
    with pytest.raises(FleetSimError, match=message):
        world.evaluate(1)


@holds("api:AndMetrics.value", fault="swarm/metrics/combination.py: one that holds is enough")
def test_several_hold_at_once() -> None:
    world = two_teams()
    fast = {"type": "Combination", "expression": "metrics[0] > 0.3", "metrics": ["average_speed"]}
    late = {"type": "Combination", "name": "late", "expression": "steps >= 2"}
    both = world.add_metric({"type": "AndMetrics", "metrics": [fast, late]})
    unknown = world.add_metric(
        {"type": "AndMetrics", "name": "u", "metrics": [{"type": "StepsUntil", "metric": "throughput"}]}
    )
    for _ in range(4):
        world.step()
    assert list(both.value_history) == [0.0, 0.0, 1.0, 1.0]
    assert list(unknown.value_history) == [0.0] * 4, "NaN is no value, and does not hold"


@holds("api:StepsUntil.value", fault="swarm/metrics/combination.py: the step in which it holds counts, too")
def test_steps_until() -> None:
    goal = {"type": "circle", "position": [3.0, 2.5], "radius": 0.5}
    world = make_world(driver(0.5), positions=[[2.41, 2.5]], angles=[0.0], goals=[goal])
    until = [
        world.add_metric({"type": "StepsUntil", "name": str(index), **params})
        for index, params in enumerate(
            [
                {"metric": "agents_at_goal"},
                {"metric": "agents_at_goal", "sentinel": 1},
                {"metric": "distance_travelled", "until_expression": "metric.value > 0.06"},
                {"metric": "agents_at_goal", "until_expression": "world.total_steps > 1 and metric == 0"},
                {"metric": "throughput", "sentinel": 77, "default": -1},
                {"metric": "throughput", "sentinel": 77},
            ]
        )
    ]
    world.step()
    assert [metric.value for metric in until] == pytest.approx([np.nan] * 4 + [-1, np.nan], nan_ok=True)
    world.evaluate(20)
    # It makes 25 mm per step, and the goal begins at 2.5 m: it is there with its fourth step.
    assert [metric.value for metric in until] == pytest.approx([3, 3, 3, 1, -1, np.nan], nan_ok=True)
    assert [metric.average for metric in until[:5]] == [3, 3, 3, 1, -1]
    world.reset()
    world.evaluate(20)
    assert until[0].value == 3.0
    with pytest.raises(FleetSimError, match="leave one of them out"):
        world.add_metric({"type": "StepsUntil", "metric": "throughput", "sentinel": 1, "until_expression": "metric"})


@holds("api:AnyAgent.value", fault="swarm/metrics/combination.py: agents of which it does not hold are found")
def test_any_agent() -> None:
    world = two_teams()
    world.add_object({"type": "StaticObject", "position": [4.0, 4.0], "agent_radius": 0.3, "name": "rock"})
    cases: list[tuple[dict[str, Any], float, str | None]] = [
        ({"expression": "linear > 0.5"}, 1.0, "red"),
        ({"expression": "agent.linear > 0.5", "exclude_teams": ["red"]}, 1.0, "blue"),
        ({"expression": "pos[0] > 3.5", "value_on_found": 5}, 5.0, "rock"),
        ({"expression": "y", "value_on_found": "expression", "include_names": ["agent_1"]}, 2.0, "agent_1"),
        ({"expression": "agent.team == 'blue' and not touching and not halted"}, 1.0, "blue"),
        ({"expression": "x > 100"}, 0.0, None),
        ({"expression": "x > 100", "default": -3}, -3.0, None),
        ({"expression": "agent.sensors[0].current_state > 0", "error": "skip"}, 0.0, None),
    ]
    metrics: list[Any] = [
        world.add_metric({"type": "AnyAgent", "name": str(index), **params})
        for index, (params, _, _) in enumerate(cases)
    ]
    world.step()
    assert [metric.value for metric in metrics] == pytest.approx([value for _, value, _ in cases])
    assert [metric.agent and metric.agent.name for metric in metrics] == [name for _, _, name in cases]
    with pytest.raises(FleetSimError, match="unknown name 'heat'"):
        world.add_metric({"type": "AnyAgent", "expression": "agent.heat > 3"})
    world.add_metric({"type": "AnyAgent", "name": "bare", "expression": "sensors[0] > 0"})
    with pytest.raises(FleetSimError, match="has no value"):
        world.step()


def test_any_agent_knows_readings() -> None:
    seeing = [{"type": "binary_fov", "theta": 0.5, "distance": 2.0}]
    world = make_world(driver(0.0), seeing, positions=[[1.0, 1.0], [2.0, 1.0]], angles=[np.pi, np.pi])
    metric: Any = world.add_metric({"type": "AnyAgent", "expression": "agent.sensors[0].current_state == 1"})
    world.step()
    world.step()
    assert metric.agent is world.population[1]


@holds("api:EntityLen.value", fault="swarm/metrics/combination.py: one more than there are")
def test_lengths() -> None:
    world = two_teams()
    world.add_object({"type": "region", "position": [1.0, 3.5], "agent_radius": 0.8, "name": "pit"})
    cases: list[tuple[dict[str, Any], float]] = [
        ({"target_name": "population"}, 4.0),
        ({"target_name": "objects"}, 1.0),
        ({"target_name": "pit", "attribute": "detected"}, 2.0),
        ({"target_name": "red", "attribute": "sensors"}, 0.0),
        ({"target_name": "red", "attribute": "group.agents"}, 2.0),
        ({"target_name": "nobody"}, float("nan")),
    ]
    metrics = [
        world.add_metric({"type": "EntityLen", "name": str(index), **params}) for index, (params, _) in enumerate(cases)
    ]
    world.step()
    assert [metric.value for metric in metrics] == pytest.approx([value for _, value in cases], nan_ok=True)
    for attribute, message in (("speed", "has no attribute 'speed'"), ("angle", "has no length")):
        metric = world.add_metric(
            {"type": "EntityLen", "name": attribute, "target_name": "red", "attribute": attribute}
        )
        with pytest.raises(FleetSimError, match=message):
            metric.calculate()
    with pytest.raises(FleetSimError, match="must be the name of an attribute"):
        world.add_metric({"type": "EntityLen", "target_name": "red", "attribute": "__class__"})


@holds(
    "api:SensorRotation.value", "api:GeneElementDifference.value", fault="swarm/metrics/crowd.py: shares of half a turn"
)
def test_numbers_of_controllers_as_angles() -> None:
    controller = {"type": "binary", "a": [0.1, np.pi / 2], "b": [0.2, np.pi]}
    world = make_world(controller, [{"type": "static", "state": 0}], count=2)
    second = world.add_metric({"type": "SensorRotation", "sensor_index": 3})
    apart = world.add_metric({"type": "GeneElementDifference", "genome_a_index": 1, "genome_b_index": 3})
    world.step()
    assert (second.value, apart.value) == (pytest.approx(0.5), pytest.approx(0.25))
    with pytest.raises(FleetSimError, match="has 6 numbers, so none with index 6"):
        world.add_metric({"type": "SensorRotation", "name": "none", "sensor_index": 6}).calculate()


def test_numbers_of_controllers_that_can_be_indexed() -> None:
    class Genome(StaticController):
        def __getitem__(self, index: int) -> float:
            return [1.0, np.pi][index]

        def __len__(self) -> int:
            return 2

    world = make_world(Genome(), count=1)
    metric = world.add_metric({"type": "SensorRotation", "sensor_index": 1})
    metric.calculate()
    assert metric.value == pytest.approx(0.5)


def test_a_history_without_a_limit() -> None:
    world = World_from_config(
        {
            "spawners": [{"type": "uniform", "n": 3, "agent": {"type": "MazeAgent", "controller": driver(0.2)}}],
            "metrics": ["scatter", {"type": "scatter", "name": "all", "history_size": None}],
        }
    )
    world.evaluate(250)
    assert [len(metric.value_history) for metric in world.metrics] == [100, 250]
    assert world.metrics[1].average == pytest.approx(np.mean(list(world.metrics[1].value_history)))

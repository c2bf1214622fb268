"""Teams that somebody looks for and nobody is of."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from fleet_sim import UnknownNameError
from fleet_sim.swarm import MazeAgent, RectangularWorld

RED = {"type": "MazeAgent", "team": "red", "position": [1, 1]}


def world_of(**config: Any) -> RectangularWorld:
    world = RectangularWorld({"agents": [RED], **config})
    world.setup()
    return world


@pytest.mark.parametrize(
    "metric",
    [
        {"type": "Circliness", "team": "rde"},
        {"type": "SubGroup", "metric": "Circliness", "include_teams": ["rde"]},
        {"type": "SubGroup", "metric": "Circliness", "exclude_teams": ["rde"]},
        {"type": "SubGroup", "metric": {"type": "Circliness", "team": "rde"}, "include_teams": ["red"]},
    ],
)
def test_a_metric_of_a_team_that_nobody_is_of_is_refused(metric: Any) -> None:
    world = world_of(metrics=[metric])
    with pytest.raises(UnknownNameError, match=r"nobody is of team 'rde'\. Did you mean 'red'\?"):
        world.evaluate(1)


def test_a_metric_that_comes_later_is_looked_at_too() -> None:
    world = world_of()
    world.evaluate(2)
    world.add_metric({"type": "Circliness", "team": "blue"})
    with pytest.raises(UnknownNameError, match="nobody is of team 'blue'"):
        world.evaluate(1)


def test_teams_of_spawners_and_of_agents_that_are_gone_count() -> None:
    spawner = {"type": "PointAgentSpawner", "delay": 9.0, "agent": {"type": "MazeAgent", "team": 2}}
    world = world_of(metrics=[{"type": "Circliness", "team": 2, "name": "a"}], spawners=[spawner])
    world.evaluate(1)
    world.remove(list(world.population))
    world.add_metric({"type": "Circliness", "team": "red", "name": "b"})
    world.evaluate(1)


def test_agents_that_are_put_there_before_the_first_step_count() -> None:
    world = world_of(metrics=[{"type": "Circliness", "team": "blue"}])
    world.population.append(MazeAgent({"team": "blue", "position": [2, 2]}, world))
    world.evaluate(1)


def test_a_sensor_of_a_team_that_nobody_is_of_is_told(caplog: pytest.LogCaptureFixture) -> None:
    sensor = {"type": "BinaryFOVSensor", "theta": 0.5, "target_team": "rde"}
    world = world_of(agents=[{**RED, "sensors": [sensor]}])
    with caplog.at_level(logging.WARNING, logger="fleet_sim"):
        world.evaluate(3)
    assert [record.getMessage() for record in caplog.records] == [
        "MazeAgent looks for team 'rde', of which nobody is so far. Did you mean 'red'?"
    ]

"""What each sensor reads."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from swarm_world import make_world

from fleet_sim.base.errors import FleetSimError
from fleet_sim.swarm.world import RectangularWorld

FOV = {"type": "BinaryFOVSensor", "theta": 0.4, "distance": 2.0}


def readings(world: RectangularWorld, steps: int = 1) -> list[Any]:
    """What the first sensor of the first group's agents reads after some steps."""
    for _ in range(steps):
        world.step()
    return world.population_groups[0].readings[0].tolist()


def pair(sensor: dict[str, Any], other: tuple[float, float], *, angle: float = 0.0, **config: Any) -> RectangularWorld:
    """A world with an agent at (1, 2.5) with `sensor`, and one without at `other`; a point with a disc of 0.1 m."""
    world = make_world(None, [sensor], positions=[[1.0, 2.5]], angles=[angle], **config)
    world.spawn({"type": "MazeAgent", "agent_radius": 0.1, "team": "them"}, other, 0.0)
    return world


def test_wrong_readings_come_at_their_rates() -> None:
    places = np.random.default_rng(1).uniform(1.0, 99.0, (600, 2))
    for there, rates in ((False, {"false_positive": 0.25}), (True, {"false_negative": 0.4})):
        sensor = {"type": "BinaryFOVSensor", "distance": 200.0 if there else 0.0, **rates}
        world = make_world(None, [sensor], positions=places, size=[100, 100], agent={"agent_radius": 0.0})
        states = np.array([readings(world) for _ in range(20)])
        assert states.mean() == pytest.approx(0.6 if there else 0.25, abs=0.02)
        assert states.mean(axis=0).std() == pytest.approx(math.sqrt(0.24 / 20 if there else 0.1875 / 20), rel=0.15)


def test_seeds_of_a_sensor_are_its_own() -> None:
    def run(world_seed: int, sensor_seed: int | None) -> list[Any]:
        sensor = {"type": "BinaryFOVSensor", "distance": 0.0, "false_positive": 0.5, "seed": sensor_seed}
        world = RectangularWorld({"seed": world_seed})
        recipe = world.recipe({"type": "MazeAgent", "sensors": [sensor]})
        world.spawn_many(recipe, np.random.default_rng(1).uniform(1.0, 4.0, (30, 2)), np.zeros(30))
        return [readings(world) for _ in range(5)]

    assert run(1, 7) == run(2, 7)
    assert run(1, 7) != run(1, 8)
    assert run(1, None) == run(1, None)
    assert run(1, None) != run(2, None)


def test_sensing_at_every_third_step() -> None:
    sensor = {**FOV, "time_step_between_sensing": 3, "store_history": True}
    world = pair(sensor, (2.0, 2.5))
    assert [readings(world)[0] for _ in range(4)] == [0, 0, 1, 1]
    world.population[1].place([1.0, 4.0], 0.0)
    assert [readings(world)[0] for _ in range(2)] == [1, 0]
    assert [state.tolist() for state in world.population_groups[0].sensors[0].history] == [[0], [0], [1], [1], [1], [0]]  # type: ignore[attr-defined]


def targets(world: RectangularWorld) -> list[Any]:
    """Ids of targets, as places in the population; None for nobody."""
    ids = [world.columns.object_id[agent.row] for agent in world.population]
    return [ids.index(found) if found in ids else None for found in readings(world)]


@pytest.mark.parametrize(
    ("hold", "after_move", "out_of_sight"),
    [("alwaysretarget", 2, 2), ("retargetonloss", 1, 2), ("holdlost", 1, 2), ("holdfirst", 1, 1)],
)
def test_targeters_hold(hold: str, after_move: int, out_of_sight: int) -> None:
    sensor = {"type": "targeter", "attribute": "id", "target_mode": "closest", "distance": 2.0, "hold": hold}
    world = make_world(None, [sensor], positions=[[1.0, 1.0], [1.5, 1.0], [2.5, 1.0]])
    first, second, third = world.population
    assert targets(world)[0] == 1
    third.place([1.0, 1.3], 0.0)
    assert targets(world)[0] == after_move
    second.place([4.5, 4.5], 0.0)
    assert targets(world)[0] == out_of_sight
    third.place([4.5, 2.5], 0.0)
    lost = {"holdlost": 2, "holdfirst": 1}.get(hold)
    assert targets(world)[0] == lost
    assert first.sensors[0].current_state == readings(world)[0]


@pytest.mark.parametrize(
    "params",
    [{"target_mode": "closets"}, {"hold": "holdloss"}, {"attribute": "pos"}, {"target_name": 5}, {"distance": -1}],
)
def test_targeters_refuse_what_they_do_not_know(params: dict[str, Any]) -> None:
    with pytest.raises(FleetSimError, match=next(iter(params))):
        make_world(None, [{"type": "targeter", **params}])


def test_outlines_are_drawn_from_the_agent() -> None:
    world = pair(FOV, (2.0, 2.5))
    sensor = world.population_groups[0].sensors[0]
    outline = sensor.outlines(world.population_groups[0])
    assert outline is not None
    assert outline[0][0].tolist() == [1.0, 2.5]
    assert np.hypot(*(outline[0][1:] - [1.0, 2.5]).T) == pytest.approx(2.0)
    assert (
        pair({**FOV, "show": False}, (2.0, 2.5)).population_groups[0].sensors[0].outlines(world.population_groups[0])
        is None
    )

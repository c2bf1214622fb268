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
WALL = {"type": "StaticObject", "points": [[0.0, -0.5], [0.05, -0.5], [0.05, 0.5], [0.0, 0.5]], "grounded": True}


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


@pytest.mark.parametrize(("other", "state"), [((2.0, 2.5), 1), ((3.05, 2.5), 1), ((3.15, 2.5), 0), ((1.0, 3.5), 0)])
def test_fov_ends_at_its_edges(other: tuple[float, float], state: int) -> None:
    assert readings(pair(FOV, other)) == [state]
    assert readings(pair({**FOV, "invert": True}, other)) == [1 - state]


@pytest.mark.parametrize(
    ("walls", "detectable", "state"),
    [(None, False, 0), (None, True, 1), (True, False, 1), (False, True, 0), ([[0, 0], [2.9, 5]], False, 1)],
)
def test_fov_of_walls(walls: Any, detectable: bool, state: int) -> None:
    # The border is 4 m ahead of x = 1; looking back it is 1 m away.
    sensor = {**FOV, "walls": walls, "wall_sensing_range": 2.0}
    angle = 0.0 if isinstance(walls, list) else math.pi
    world = make_world(None, [sensor], positions=[[1.0, 2.5]], angles=[angle], detectable_walls=detectable)
    assert readings(world) == [state]
    sensor["wall_sensing_range"] = 0.5
    world = make_world(None, [sensor], positions=[[1.0, 2.5]], angles=[angle], detectable_walls=detectable)
    assert readings(world) == [0]


@pytest.mark.parametrize("kind", ["BinaryFOVSensor", "BinaryLOSSensor"])
def test_walls_hide_what_is_behind_them(kind: str) -> None:
    sensor = {
        "type": kind,
        "distance": 3.0,
        "occlusion": True,
        **({"theta": 0.4, "walls": False} if "FOV" in kind else {}),
    }
    behind, beside = {**WALL, "position": [2.0, 2.5]}, {**WALL, "position": [2.0, 4.0]}
    for objects, state in (([behind], 0), ([beside], 1), ([], 1)):
        assert readings(pair(sensor, (3.0, 2.5), objects=objects)) == [state]
    assert readings(pair({**sensor, "occlusion": False}, (3.0, 2.5), objects=[behind])) == [1]


def test_a_goal_in_sight_is_a_state_of_its_own() -> None:
    goals = [{"type": "circle", "position": [3.0, 2.5], "radius": 0.5}]
    sensor = {**FOV, "detect_goal_with_added_state": True, "goal_sensing_range": 1.6}
    assert readings(pair(sensor, (2.0, 2.5), goals=goals)) == [2]
    assert readings(pair(sensor, (2.0, 2.5))) == [1]
    assert readings(pair({**sensor, "goal_sensing_range": 1.4}, (2.0, 2.5), goals=goals)) == [1]
    assert readings(pair({**FOV}, (1.0, 4.0), goals=goals)) == [0]


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


def test_line_of_sight() -> None:
    los = {"type": "BinaryLOSSensor"}
    assert readings(pair(los, (4.9, 2.59))) == [1]
    assert readings(pair(los, (4.9, 2.61))) == [0]
    assert readings(pair(los, (0.5, 2.5))) == [0]
    assert readings(pair({**los, "angle": math.pi}, (0.5, 2.5))) == [1]
    assert readings(pair({**los, "distance": 1.0}, (2.5, 2.5))) == [0]
    world = pair({**los, "history_length": 2}, (4.0, 2.5))
    readings(world, 5)
    assert len(world.population_groups[0].sensors[0].history) == 2  # type: ignore[attr-defined]


def test_regions() -> None:
    disc = {"type": "DetectionRegion", "position": [3.0, 3.0], "agent_radius": 0.5}
    room = {"type": "DetectionRegion", "position": [1.0, 1.0], "points": [[0, 0], [1, 0], [1, 1], [0, 1]]}
    places = [[3.2, 3.2], [3.45, 3.45], [1.5, 1.5], [2.5, 1.5]]
    for index, expected in ((0, [1, 0, 0, 0]), (1, [0, 0, 1, 0])):
        sensor = {"type": "RegionalSensor", "world_object_index": index}
        world = make_world(None, [sensor], positions=places, objects=[disc, room], agent={"collides": False})
        assert readings(world) == expected
    world = make_world(None, [{"type": "RegionalSensor", "world_object_index": 2}], objects=[disc, room])
    with pytest.raises(FleetSimError, match="world_object_index 2 does not exist; the world has 2 objects"):
        world.step()


def test_static_and_neighbours() -> None:
    places = [[1.0, 1.0], [1.5, 1.0], [2.0, 1.0], [4.0, 4.0]]
    assert readings(make_world(None, [{"type": "static", "state": 3}], positions=places)) == [3] * 4
    near = {"type": "NeighboursInRangeSensor", "distance": 0.6}
    assert readings(make_world(None, [near], positions=places)) == [1, 2, 1, 0]
    world = make_world(None, [{**near, "target_team": "them"}], positions=places)
    world.spawn({"type": "MazeAgent", "team": "them"}, [1.5, 1.5], 0.0)
    assert readings(world) == [0, 1, 0, 0]


def targets(world: RectangularWorld) -> list[Any]:
    """Ids of targets, as places in the population; None for nobody."""
    ids = [world.columns.object_id[agent.row] for agent in world.population]
    return [ids.index(found) if found in ids else None for found in readings(world)]


def test_targeters_choose() -> None:
    places = [[1.0, 1.0], [2.0, 1.0], [3.5, 1.0], [4.5, 1.0]]

    def chosen(**params: Any) -> list[Any]:
        return targets(make_world(None, [{"type": "targeter", "attribute": "id", **params}], positions=places))

    assert chosen() == [1, 0, 0, 0]
    assert chosen(target_mode="closest") == [1, 0, 3, 2]
    assert chosen(target_mode="furthest") == [3, 3, 0, 0]
    assert chosen(target_mode="furthest", distance=1.2) == [1, 0, 3, 2]
    assert chosen(distance=0.5) == [None] * 4
    assert chosen(target_team="x") == [None] * 4
    assert chosen(target_name="agent_2") == [2, 2, None, 2]
    assert chosen(target_name="nobody") == [None] * 4


@pytest.mark.parametrize(
    ("hold", "after_move", "out_of_sight"),
    [
        ("alwaysretarget", 2, 2),
        ("retargetonloss", 1, 2),
        ("holdlost", 1, 2),
        ("holdfirst", 1, 1),
    ],
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
    ("attribute", "value"),
    [("position", [2.0, 1.0]), ("velocity", [0.3, 0.0]), ("angle", 0.0), ("distance", 1.0)],
)
def test_targeters_read(attribute: str, value: Any) -> None:
    sensor = {"type": "targeter", "attribute": attribute, "target_name": "other"}
    world = make_world(None, [sensor], positions=[[1.0, 1.0]])
    assert np.isnan(readings(world)).all()
    world.spawn(
        {"type": "MazeAgent", "name": "other", "controller": {"type": "static", "output": [0.3, 0.0]}},
        [1.985, 1.0],
        0.0,
    )
    assert readings(world)[0] == pytest.approx(value)


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

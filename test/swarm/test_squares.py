"""Worlds stepped together: each is to the bit what it is when it is stepped alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from many_worlds import BINARY, FOV, ORDERS, VARIED, assert_same, crowd, shipped, state, varied

from fleet_sim.base.errors import InvalidValueError, StateError
from fleet_sim.swarm import (
    BinaryController,
    Controller,
    Metric,
    RectangularWorld,
    Squares,
    World_from_config,
    metrics,
    run_together,
)
from fleet_sim.swarm.evolution import how_stepped, load_search
from fleet_sim.swarm.metrics.crowd import CrowdMetric


@pytest.mark.parametrize("name", ["cyclic_pursuit", "flocking", "follow_the_leader"])
def test_parts_that_look_at_a_world_as_a_whole_are_asked_world_by_world(name: str) -> None:
    worlds = varied(shipped(name), 3, ("speed", "gain", "reach", "gap"))
    with Squares(worlds) as squares:
        assert len(squares.one_by_one) == 1
    assert_same(worlds, 18)


AGENTS: dict[str, dict[str, Any]] = {
    "one static action": {"controller": {"type": "StaticController", "output": [0.4, 0.9]}},
    "no controller": {},
    "wide and narrow sectors": {"controller": BINARY, "sensors": [{**FOV, "theta": 2.6}]},
    "one sector for all": {"controller": {**BINARY, "sense_avg_time": 3}, "sensors": [{"type": "BinaryFOVSensor"}]},
    "mistakes": {"controller": BINARY, "sensors": [{**FOV, "false_positive": 0.1, "false_negative": 0.2}]},
    "kept readings": {
        "controller": BINARY,
        "sensors": [{**FOV, "time_step_between_sensing": 3, "invert": True, "store_history": True, "bias": 0.3}],
    },
    "walls seen": {"controller": BINARY, "sensors": [{**FOV, "theta": 2.2, "walls": True, "wall_sensing_range": 0.7}]},
    "goals seen": {"controller": BINARY, "sensors": [{**FOV, "detect_goal_with_added_state": True}]},
    "lines of sight": {"controller": BINARY, "sensors": [{"type": "BinaryLOSSensor", "angle": 0.3}]},
    "short lines": {"controller": BINARY, "sensors": [{"type": "BinaryLOSSensor", "distance": 0.9}]},
    "points": {"controller": BINARY, "sensors": [{"type": "PointCollisionSensor", "distance": 0.4, "bias": 0.2}]},
    "three sensors": {
        "sensors": [FOV, {"type": "StaticSensor", "state": 1}, {"type": "BinaryLOSSensor"}],
        "controller": {"type": "MultibitBinaryController", "outputs": [[0.1 * k, 0.5 - 0.2 * k] for k in range(8)]},
    },
    "occlusion": {"controller": BINARY, "sensors": [{**FOV, "occlusion": True}]},
    "levy": {"controller": {"type": "LevyController", "velocity": 0.5, "angular_velocity": 2.0, "timeout": 1.0}},
    "waypoint": {
        "controller": {"type": "WaypointPIDController", "static_waypoint": [1, 1], "speed_pid": {"p": 0.5, "i": 0.1}}
    },
    "wheels": {"type": "DiffDriveAgent", "wheel_radius": 0.05, "controller": {**BINARY, "a": [8, 3]}, "sensors": [FOV]},
    "limits": {"controller": BINARY, "sensors": [FOV], "max_linear_accel": 0.4, "max_angular_vel": 0.5},
    "late": {"controller": BINARY, "sensors": [FOV], "delay": 3, "delay_start": "first", "trace_length": 7},
    "stops at others": {"controller": BINARY, "sensors": [FOV], "stop_on_collision": True},
    "breaks": {"controller": BINARY, "sensors": [FOV], "catastrophic_collisions": True},
    "stops at goals": {"controller": BINARY, "sensors": [FOV], "stop_at_goal": True},
    "passes through": {"controller": BINARY, "sensors": [FOV], "collides": False},
}
GOALS = [{"type": "CylinderGoal", "position": [2.2, 2.2], "radius": 0.4}]
ALONE_IN_TURN = {"occlusion"}


@pytest.mark.parametrize(
    ("agent", "update"),
    [*((name, "together") for name in AGENTS), *((name, "in_turn") for name in ("occlusion", "late", "mistakes"))],
)
def test_every_part_of_a_world_together_is_that_of_the_world_alone(agent: str, update: str) -> None:
    world = crowd(AGENTS[agent], update=update, goals=GOALS)
    if agent == "three sensors":
        world["spawners"][0]["agent"]["controller"]["outputs"][3] = [0.3, 0.3]
    alone = update == "in_turn" and agent in ALONE_IN_TURN
    assert_same(varied(world, 3, VARIED), 36, alone=alone)


METRICS = [
    name for name, cls in metrics.METRICS.registered().items() if issubclass(cls, CrowdMetric) and name == cls.__name__
]


def test_every_metric_of_a_crowd_has_the_history_of_the_world_alone() -> None:
    own: dict[str, dict[str, Any]] = {"PercentageAtGoal": {"percentage": 0.1}}
    own |= {"SensorRotation": {"sensor_index": 0}, "GeneElementDifference": {"genome_a_index": 0, "genome_b_index": 1}}
    metrics: list[dict[str, Any]] = [{"type": name, "history_size": 5, **own.get(name, {})} for name in METRICS]
    metrics += [{"type": name, "history_size": None, "name": f"all {name}"} for name in ("Circliness", "Scatter")]
    metrics.append({"type": "Circliness", "name": "short", "avg_history_max": 3, "history_size": 2})
    world = crowd({"controller": BINARY, "sensors": [FOV]}, goals=GOALS, metrics=metrics)
    assert_same(varied(world, 3, VARIED), 45)


def test_worlds_stop_where_they_stop_alone_and_are_left_out_afterwards() -> None:
    world = crowd({"controller": BINARY, "sensors": [FOV]})
    configs = [{**world, "seed": seed, "stop_at": stop} for seed, stop in enumerate((20, 20, 70, 70, 90))]
    with Squares(configs) as squares:
        assert set(squares.alone) == {4}
        squares.evaluate(50)
        assert [w.stopped for w in squares.worlds] == [True, True, False, False, False]
        squares.evaluate(50)
        found = [state(w) for w in squares.worlds]
    for config, expected in zip(configs, found, strict=True):
        with World_from_config(config) as alone:
            alone.evaluate(100)
            assert state(alone) == expected


def test_a_world_goes_on_alone_and_is_reset_as_if_it_had_never_been_together() -> None:
    configs = varied(crowd({"controller": BINARY, "sensors": [FOV]}), 2, VARIED)
    squares = Squares(configs)
    begin = squares.worlds[0].sim.state_hash()
    squares.evaluate(30)
    first = squares.worlds[0]
    first.spawn({"type": "MazeAgent", "agent_radius": 0.1, "position": [1, 1]})
    assert set(squares.alone) == {0, 1}
    first.evaluate(20)
    with World_from_config(configs[0]) as alone:
        alone.evaluate(30)
        alone.spawn({"type": "MazeAgent", "agent_radius": 0.1, "position": [1, 1]})
        alone.evaluate(20)
        assert state(alone) == state(first)
    first.reset()
    assert first.sim.state_hash() == begin
    squares.close()


# ---- Worlds that are stepped alone and say why, code of one's own that goes together, and searches -------------------


class Own(Controller):
    def act(self, group: Any) -> Any:
        return np.tile((0.2, 0.1), (len(group), 1))


class OwnBinary(BinaryController):
    """What it makes of its parameters is not known, so it does not inherit how they are put together."""

    def act(self, group: Any) -> Any:
        return np.tile(self.a, (len(group), 1))


class Weave(Controller):
    """One for all squares: `speed` is one number, or one for each agent."""

    per_square = ("speed",)

    def __init__(self, speed: float, swing: float = 0.8) -> None:
        self.speed = speed
        self.swing = swing

    def act(self, group: Any) -> Any:
        age = self.column(group, "age")
        age += 1.0
        return np.stack((self.speed + np.zeros(len(group)), np.where(age % 9 < 4, self.swing, -self.swing)), axis=1)


class Speeds(Metric):
    only_looks = True

    def calculate(self) -> None:
        assert self.world is not None
        self.set_value(float(self.world.everyone.linear.sum() + self.world.time))


@pytest.mark.parametrize("update", ORDERS)
def test_code_of_the_users_own_can_say_that_it_goes_together(update: str) -> None:
    weave = crowd({"controller": {"type": Weave, "speed": 0.4}, "sensors": [FOV]}, metrics=[Speeds], update=update)
    assert_same(varied(weave, 3, ("speed", "theta")), 30)


def listen(world: RectangularWorld) -> None:
    world.sim.events.on("post_step", lambda **details: None)


def call_back(world: RectangularWorld) -> None:
    world.sim.register_callback(lambda sim, dt: None)


def spawn_more(world: RectangularWorld) -> None:
    spawner = {"type": "PointAgentSpawner", "position": [1, 1], "mode": "repeat", "interval": 1.0, "times": 2}
    world.add_spawner({**spawner, "crowding": "push", "agent": {"type": "MazeAgent", "agent_radius": 0.1}})


def subscribe(world: RectangularWorld) -> None:
    world.subscribers.append(lambda world: None)


def stop_late(world: RectangularWorld) -> None:
    world.stop_at = "steps >= 5"


@pytest.mark.parametrize("change", [listen, call_back, spawn_more, subscribe, stop_late])
def test_a_world_in_which_something_else_happens_is_stepped_alone(change: Any) -> None:
    configs = varied(crowd({"controller": BINARY, "sensors": [FOV]}), 3, VARIED)
    with Squares(configs) as squares:
        assert squares.alone == {}
        change(squares.worlds[1])
        assert list(squares.alone) == [1]
        squares.evaluate(30)
        with World_from_config(configs[1]) as alone:
            alone.setup()
            change(alone)
            alone.evaluate(30)
            assert state(alone) == state(squares.worlds[1])


@pytest.mark.parametrize("own", [{"type": Own}, {**BINARY, "type": OwnBinary}])
def test_worlds_with_code_of_the_users_own_are_stepped_alone(own: dict[str, Any]) -> None:
    configs = varied(crowd({"controller": own, "sensors": [FOV]}), 2, ())
    with Squares(configs) as squares:
        assert all("your own" in reason for reason in squares.alone.values())
    assert_same(configs, 30, alone=True)


def test_worlds_that_differ_in_more_than_numbers_are_not_mixed() -> None:
    small, large = (
        crowd({"controller": BINARY, "sensors": [FOV]}, 4),
        crowd({"controller": BINARY, "sensors": [FOV]}, 5),
    )
    configs = [{**world, "seed": seed} for seed, world in enumerate((small, large, small, large))]
    assert_same(configs, 40)
    with Squares([small, large]) as squares:
        assert all("no other world" in reason for reason in squares.alone.values())


def test_a_pose_that_becomes_no_number_is_the_error_it_is_alone() -> None:
    fast = {"controller": {"type": "StaticController", "output": [1e200, 0.1]}, "collides": False}
    configs = [{**crowd(fast), "seed": seed} for seed in range(2)]
    with World_from_config(configs[0]) as world, pytest.raises(StateError) as alone:
        world.evaluate(10)
    with Squares(configs) as squares, pytest.raises(StateError) as together:
        squares.evaluate(10)
    assert str(together.value) == str(alone.value)


def test_one_world_cannot_be_given_twice() -> None:
    with World_from_config(crowd({})) as world, pytest.raises(InvalidValueError, match="twice"):
        Squares([world, world])


def test_run_together_returns_the_averages_of_each_world() -> None:
    configs = varied(crowd({"controller": BINARY, "sensors": [FOV]}), 3, VARIED)
    found = run_together(configs, 40)
    for config, averages in zip(configs, found, strict=True):
        with World_from_config(config) as world:
            assert repr(world.evaluate(40)) == repr(averages)


def test_a_search_says_why_its_worlds_are_stepped_alone() -> None:
    world = crowd({"controller": {**BINARY, "type": OwnBinary}, "sensors": [FOV]})
    parameters = {"spawners[0].agent.controller.a[1]": {"low": -1.0, "high": 0.0}}
    search = load_search({"world": world, "parameters": parameters, "metric": "Circliness"})
    assert "stepped one after the other: OwnBinary is code of your own" in how_stepped(search)
    parameters = {"time_step": {"low": 0.05, "high": 0.1}}
    search = load_search({"world": shipped("milling"), "parameters": parameters, "metric": "Circliness"})
    assert "no other world is like it" in how_stepped(search)

"""Worlds that are stepped alone and say why, code of one's own that goes together, and searches."""

from __future__ import annotations

from pathlib import Path
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
    run_together,
)
from fleet_sim.swarm.evolution import evolve, how_stepped
from fleet_sim.swarm.search import load_search


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


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.slow
def test_a_search_finds_the_same_together_and_one_after_the_other(tmp_path: Path, processes: int) -> None:
    settings = {
        "world": shipped("milling"),
        "parameters": {
            "spawners[0].agent.controller.a[1]": {"low": -1.0, "high": 0.0},
            "spawners[0].agent.sensors[0].theta": {"low": 0.1, "high": 1.0},
        },
        "metric": "Circliness",
        "steps": 30,
        "seeds": [0, 1],
        "generations": 2,
        "population": 4,
    }
    logs = []
    for together in (True, False):
        search = load_search({**settings, "together": together})
        assert how_stepped(search).startswith(
            "candidates are stepped together" if together else "candidates are stepped one after the other"
        )
        log = tmp_path / f"{together}.jsonl"
        evolve(search, log=log, processes=processes if together else 1)
        logs.append(log.read_text(encoding="utf-8"))
    assert logs[0] == logs[1]


def test_a_search_says_why_its_worlds_are_stepped_alone() -> None:
    world = crowd({"controller": {**BINARY, "type": OwnBinary}, "sensors": [FOV]})
    parameters = {"spawners[0].agent.controller.a[1]": {"low": -1.0, "high": 0.0}}
    search = load_search({"world": world, "parameters": parameters, "metric": "Circliness"})
    assert "stepped one after the other: OwnBinary is code of your own" in how_stepped(search)
    parameters = {"time_step": {"low": 0.05, "high": 0.1}}
    search = load_search({"world": shipped("milling"), "parameters": parameters, "metric": "Circliness"})
    assert "no other world is like it" in how_stepped(search)

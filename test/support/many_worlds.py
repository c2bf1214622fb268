"""Worlds of a search for tests: small and busy ones, which are compared together and alone."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

from fleet_sim.base.files import data_file
from fleet_sim.base.settings import load_mapping
from fleet_sim.swarm import RectangularWorld, Squares, World_from_config

ORDERS = ("together", "in_turn")
FOV = {"type": "BinaryFOVSensor", "theta": 0.4, "distance": 1.5}
BINARY = {"type": "BinaryController", "a": [0.3, -0.6], "b": [0.2, 0.7]}


def shipped(name: str) -> dict[str, Any]:
    return load_mapping(data_file("config", f"swarm/{name}.yaml"))


def crowd(agent: dict[str, Any], n: int = 6, **settings: Any) -> dict[str, Any]:
    """Return a small and busy world, in which agents meet each other and the border."""
    spawner = {
        "type": "UniformAgentSpawner",
        "n": n,
        "region": [[0.5, 0.5], [2.5, 0.5], [2.5, 2.5], [0.5, 2.5]],
        "facing": "random",
        "agent": {"type": "MazeAgent", "agent_radius": 0.1, **agent},
    }
    metrics = ["AverageSpeed", "Circliness", "TotalCollisions"]
    return {"size": [3, 3], "time_step": 0.1, "spawners": [spawner], "metrics": metrics, **settings}


def varied(world: dict[str, Any], count: int, keys: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return `world` with other seeds, and with other numbers under `keys` wherever its agents have them."""
    rng, worlds = np.random.default_rng(1), []
    for seed in range(count):
        worlds.append({**copy.deepcopy(world), "seed": seed})
        for entry in numbers_of(worlds[-1], keys):
            for key in keys:
                if key in entry:
                    entry[key] = (np.asarray(entry[key]) * rng.uniform(0.3, 1.6)).tolist()
    return worlds


def numbers_of(value: Any, keys: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if any(key in value for key in keys):
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from numbers_of(item, keys)


def state(world: RectangularWorld) -> dict[str, Any]:
    """Return what can be told of a world after a run."""
    groups = [
        {
            "readings": {index: values.tolist() for index, values in group.readings.items()},
            "state": {name: values.tolist() for name, values in group.state.items()},
            "histories": [[a.tolist() for a in getattr(sensor, "history", [])] for sensor in group.sensors],
        }
        for group in world.groups
    ]
    return {
        "hash": world.sim.state_hash(),
        "columns": {n: world.columns.motion.__dict__[n].tolist() for n in ("control", "command_expiry", "waypoint")},
        "groups": repr(groups),
        "metrics": repr([list(metric.value_history) for metric in world.metrics]),
        "steps": (world.steps, world.time, world.sim.clock.tick, world.stopped),
        "faults": dict(world.sim.guard.counts),
    }


def assert_same(configs: list[dict[str, Any]], steps: int = 60, *, alone: bool = False) -> None:
    """Step worlds together and alone, in two runs one after the other, and compare everything."""
    with Squares(configs) as squares:
        assert set(squares.alone) == (set(range(len(configs))) if alone else set()), squares.alone
        squares.evaluate(steps // 3)
        averages = squares.evaluate(steps - steps // 3)
        together = [state(world) for world in squares.worlds]
    for config, found, average in zip(configs, together, averages, strict=True):
        with World_from_config(config) as world:
            expected = world.evaluate(steps)
            assert found == state(world)
            assert repr(average) == repr(expected)


VARIED = ("a", "b", "theta", "distance", "angle", "bias", "velocity", "output", "static_waypoint")

"""The behaviours in config/swarm: each does what its name says, from every seed tried."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from fleet_sim.base.arrays import AnyArray
from fleet_sim.base.files import data_file
from fleet_sim.base.settings import load_mapping
from fleet_sim.swarm import registry
from fleet_sim.swarm.swarm_state import Metric
from fleet_sim.swarm.world import RectangularWorld, World_from_config

SEEDS = range(10)


class Behaviour(NamedTuple):
    """A world file, the time in s after which it is judged, and what must then hold of its metrics by name."""

    file: str
    time: float
    holds: Callable[[dict[str, float]], bool]


MILLING = Behaviour("milling", 40.0, lambda values: values["Circliness"] > 0.85)
AGGREGATION = Behaviour("aggregation", 40.0, lambda values: values["Aggregation"] >= 0.9 and values["Scatter"] < 0.02)
CYCLIC_PURSUIT = Behaviour(
    "cyclic_pursuit", 60.0, lambda values: values["Circliness"] > 0.9 and values["RadialVariance"] < 1e-3
)
DISPERSAL = Behaviour("dispersal", 60.0, lambda values: values["NearestNeighbourDistance"] > 1.25)
FLOCKING = Behaviour("flocking", 15.0, lambda values: values["Polarization"] > 0.9 and values["Aggregation"] > 0.9)
FOLLOW = Behaviour("follow_the_leader", 20.0, lambda values: values["ChainGap"] < 0.6)
ALL = [MILLING, AGGREGATION, CYCLIC_PURSUIT, DISPERSAL, FLOCKING, FOLLOW]


def name_of(value: Any) -> str:
    return value.file if isinstance(value, Behaviour) else str(value)


def configuration(behaviour: Behaviour, **changes: Any) -> dict[str, Any]:
    return {**load_mapping(data_file("config", f"swarm/{behaviour.file}.yaml")), **changes}


def open_world(config: dict[str, Any]) -> RectangularWorld:
    world = World_from_config(config)
    world.setup()
    return world


def values(world: RectangularWorld) -> dict[str, float]:
    return {metric.name: metric.value for metric in world.metrics}


def run(behaviour: Behaviour, **changes: Any) -> tuple[dict[str, float], dict[str, float]]:
    """Run a world file; returns its metrics after the first step and at the end."""
    with open_world(configuration(behaviour, **changes)) as world:
        world.step()
        first = values(world)
        for _ in range(round(behaviour.time / world.dt)):
            world.step()
        return first, values(world)


def side_by_side(behaviour: Behaviour, reach: float, **changes: Any) -> list[tuple[dict[str, float], dict[str, float]]]:
    """Run the swarms of all seeds in one world, far apart and without walls; returns their metrics as `run` does.

    Each begins as its world file has it from its seed. Sensors reach at most `reach` m, so not to another swarm.
    """
    config = configuration(behaviour, **changes)
    spread = 4.0 * max(*config["size"], reach)
    agent = config["spawners"][0]["agent"]
    agent["sensors"] = [
        {**sensor, "distance": min(reach, sensor.get("distance", reach))}
        for sensor in ({"type": entry} if isinstance(entry, str) else entry for entry in agent.get("sensors", ()))
    ]
    world = RectangularWorld(
        {"size": [len(SEEDS) * spread, spread], "time_step": config["time_step"], "collide_walls": False}
    )
    scale = world.size @ world.size / (np.array(config["size"]) @ config["size"])
    metrics: list[list[Metric]] = []
    for seed in SEEDS:
        with open_world({**config, "seed": seed}) as start:
            positions: AnyArray = start.everyone.positions + [(seed + 0.4) * spread, 0.4 * spread]
            world.spawn_many(world.recipe({**agent, "team": seed}), positions, start.everyone.headings)
        metrics.append([])
        for entry in config["metrics"]:
            spec = {"type": entry} if isinstance(entry, str) else entry
            metric = registry.make("metric", {**spec, "team": seed, "name": f"{spec['type']} {seed}"}, Metric)
            world.add_metric(metric)
            metrics[-1].append(metric)

    def taken() -> list[dict[str, float]]:
        found = [{metric.name.split()[0]: metric.value for metric in group} for group in metrics]
        return [{name: value * (scale if name == "Scatter" else 1.0) for name, value in one.items()} for one in found]

    world.step()
    first = taken()
    for _ in range(round(behaviour.time / world.dt)):
        world.step()
    return list(zip(first, taken(), strict=True))


def judge(behaviour: Behaviour, outcomes: list[tuple[dict[str, float], dict[str, float]]]) -> None:
    """Require that the behaviour is there at the end, and was not at the start, for every seed."""
    assert len(outcomes) == len(SEEDS)
    for seed, (first, last) in enumerate(outcomes):
        assert not behaviour.holds(first), f"seed {seed} begins with {first}"
        assert behaviour.holds(last), f"seed {seed} ends with {last}"


@pytest.mark.parametrize(("behaviour", "reach"), [(MILLING, 2.0), (AGGREGATION, 8.0), (FLOCKING, 2.5)], ids=name_of)
@pytest.mark.slow
def test_it_comes_about_from_every_seed(behaviour: Behaviour, reach: float) -> None:
    judge(behaviour, side_by_side(behaviour, reach))


@pytest.mark.slow
def test_dispersal_comes_about_from_every_seed() -> None:
    judge(DISPERSAL, side_by_side(DISPERSAL, 1.4, time_step=0.2))


@pytest.mark.parametrize("behaviour", [CYCLIC_PURSUIT, FOLLOW], ids=name_of)
@pytest.mark.slow
def test_it_comes_about_from_every_seed_in_steps_of_a_fifth_of_a_second(behaviour: Behaviour) -> None:
    judge(behaviour, [run(behaviour, seed=seed, time_step=0.2) for seed in SEEDS])


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("behaviour", ALL, ids=name_of)
def test_it_stays(behaviour: Behaviour) -> None:
    assert behaviour.holds(run(Behaviour(behaviour.file, 4.0 * behaviour.time, behaviour.holds))[1])

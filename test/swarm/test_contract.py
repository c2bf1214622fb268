"""What holds for every controller, sensor and metric there is."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from swarm_world import make_world

from fleet_sim.base.errors import FleetSimError
from fleet_sim.swarm import registry
from fleet_sim.swarm.agents import Controller, Sensor, SwarmAgent
from fleet_sim.swarm.metrics import StepsUntil
from fleet_sim.swarm.metrics.crowd import CrowdMetric
from fleet_sim.swarm.swarm_state import Metric
from fleet_sim.swarm.world import RectangularWorld

BASES: dict[str, type[Any]] = {"controller": Controller, "sensor": Sensor, "metric": Metric}
# What a constructor cannot do without, and settings that make it do something.
PARAMS: dict[str, dict[str, Any]] = {
    "StaticController": {"output": [0.2, 0.4]},
    "BinaryController": {"a": [0.2, -0.6], "b": [0.3, 0.6], "sense_avg_time": 3},
    "MultibitBinaryController": {"outputs": [[0.1, 0.2], [0.2, -0.3]]},
    "WaypointPIDController": {
        "static_waypoint": [2.0, 2.5],
        "speed_pid": {"p": 0.4, "max": 0.3},
        "steer_pid": {"p": 2.0, "i": 0.1, "d": 0.05, "imax": 0.5},
    },
    "LevyController": {"velocity": 0.3, "angular_velocity": 2.0, "timeout": 1.0},
    "OrcaController": {"waypoints": [[4.5, 4.5], [0.5, 0.5], [4.5, 0.5]]},
    "BinaryFOVSensor": {"theta": 0.4, "distance": 2.0, "bias": 0.2, "false_positive": 0.2, "false_negative": 0.2},
    "PointCollisionSensor": {"distance": 0.4, "false_positive": 0.1},
    "RegionalSensor": {"world_object_index": 0},
    "Targeter": {"target_mode": "closest", "distance": 2.0, "false_negative": 0.3},
    "PercentageAtGoal": {"percentage": 0.5},
    "AndMetrics": {"metrics": ["circliness", "average_speed"]},
    "AnyAgent": {"expression": "x > 1"},
    "Combination": {"metrics": ["circliness"], "expression": "metric * 2 + steps"},
    "EntityLen": {"target_name": "population"},
    "GeneElementDifference": {"genome_a_index": 0, "genome_b_index": 1},
    "SensorRotation": {"sensor_index": 1},
    "StepsUntil": {"metric": "average_speed"},
    "SubGroup": {"metric": "average_speed"},
    "SubGroupBehavior": {"metric": "average_speed"},
}
REGION = {"type": "DetectionRegion", "position": [2.5, 2.5], "agent_radius": 1.0}
GOAL = {"type": "circle", "position": [2.5, 2.5], "radius": 1.0}
SEES = {"type": "BinaryFOVSensor", "theta": 0.4, "distance": 2.0}


def classes(kind: str) -> list[type[Any]]:
    return sorted(set(registry.known_types(kind).values()), key=lambda cls: cls.__name__)


EVERYTHING = [(kind, cls) for kind in BASES for cls in classes(kind)]
# An AgentMethodController does what the type of agent says, and the one used here says nothing.
COMPONENTS = [(kind, cls) for kind, cls in EVERYTHING if kind != "metric" and cls.__name__ != "AgentMethodController"]


def ids(value: Any) -> str:
    return value.__name__ if isinstance(value, type) else str(value)


def spec_of(cls: type[Any], **more: Any) -> dict[str, Any]:
    return {"type": cls.__name__, **PARAMS.get(cls.__name__, {}), **more}


def world_with(kind: str, component: Any, update: str = "together") -> RectangularWorld:
    controller, sensors = (component, [SEES]) if kind == "controller" else ("cyclic_pursuit", [component])
    return make_world(controller, sensors, count=8, objects=[REGION], goals=[GOAL], update=update)


def alone(kind: str, cls: type[Any]) -> Any:
    """Return a component written per agent that asks `cls` about one agent at a time."""

    class AloneController(Controller):
        def __init__(self) -> None:
            self.inner: Controller = registry.make("controller", spec_of(cls), Controller)
            self.reciprocal_lead = getattr(self.inner, "reciprocal_lead", None)

        def get_actions(self, agent: SwarmAgent) -> tuple[float, float]:
            self.inner.slot = "controller"
            return self.inner.get_actions(agent)

    class AloneSensor(Sensor):
        def __init__(self) -> None:
            self.inner: Sensor = registry.make("sensor", spec_of(cls), Sensor)

        def step(self, agent: SwarmAgent) -> Any:
            self.inner.slot = "sensors[0]"
            return self.inner.step(agent)

    return AloneController if kind == "controller" else AloneSensor


@pytest.mark.parametrize(("kind", "cls"), EVERYTHING, ids=ids)
def test_unknown_keywords_are_refused_with_the_name_of_the_part(kind: str, cls: type[Any]) -> None:
    with pytest.raises(FleetSimError, match=rf"{cls.__name__}: unknown parameter 'colour'"):
        registry.make(kind, spec_of(cls, colour=1), BASES[kind])


@pytest.mark.parametrize(("kind", "cls"), EVERYTHING, ids=ids)
def test_numbers_that_are_none_are_refused(kind: str, cls: type[Any]) -> None:
    for name, parameter in inspect.signature(cls).parameters.items():
        if isinstance(parameter.default, float):
            for value in ("far", float("nan")):
                with pytest.raises(FleetSimError, match=name):
                    registry.make(kind, spec_of(cls, **{name: value}), BASES[kind])


@pytest.mark.parametrize(("kind", "cls"), COMPONENTS, ids=ids)
def test_one_by_one_it_does_what_it_does_on_arrays(kind: str, cls: type[Any]) -> None:
    together, one_by_one = world_with(kind, spec_of(cls)), world_with(kind, alone(kind, cls))
    for _ in range(15):
        together.step()
        one_by_one.step()
        for world in (together, one_by_one):
            assert np.isfinite(world.everyone.positions).all()
        assert together.everyone.positions.tolist() == one_by_one.everyone.positions.tolist()
        readings = [world.population_groups[0].readings[0] for world in (together, one_by_one)]
        assert np.array_equal(*readings, equal_nan=readings[0].dtype.kind == "f")


@pytest.mark.parametrize(("kind", "cls"), COMPONENTS, ids=ids)
def test_one_seed_gives_one_run(kind: str, cls: type[Any]) -> None:
    first, second = (world_with(kind, spec_of(cls), "in_turn") for _ in range(2))
    for world in (first, second):
        world.evaluate(10)
    assert first.sim.state_hash() == second.sim.state_hash()
    first.reset()
    first.evaluate(10)
    assert first.sim.state_hash() == second.sim.state_hash()


@pytest.mark.parametrize("cls", classes("metric"), ids=ids)
def test_metrics_give_numbers_and_begin_anew(cls: type[Any]) -> None:
    world = make_world("boids", goals=[GOAL])
    metric = registry.make("metric", spec_of(cls, history_size=7), Metric)
    world.add_metric(metric)
    world.evaluate(20)
    assert np.isfinite(metric.value)
    # One value is all that StepsUntil ever has.
    assert len(metric.value_history) == (1 if isinstance(metric, StepsUntil) else 7)
    metric.reset()
    assert np.isnan(metric.value)
    first = [metric.value for _ in range(3) if world.step() is None]
    metric.reset()
    assert np.isfinite(first).all()
    if not isinstance(metric, CrowdMetric):
        return
    # A team that nobody is in any more has no value.
    world.remove([world.spawn({"type": "MazeAgent", "team": "gone"})])
    lonely = registry.make("metric", spec_of(cls, name="lonely", team="gone"), Metric)
    world.add_metric(lonely)
    world.step()
    assert np.isnan(lonely.value)

"""Types of agents: how they move, what their settings do, their handles."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest

from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import (
    ConfigError,
    DuplicateNameError,
    InvalidValueError,
    StaleHandleError,
    StateError,
    UnknownNameError,
)
from fleet_sim.swarm import registry
from fleet_sim.swarm.agents import Controller, DiffDriveAgent, Group, MazeAgent, Sensor, SwarmAgent, trace_of
from fleet_sim.swarm.controllers import StaticController
from fleet_sim.swarm.sensors import BinaryFOVSensor
from fleet_sim.swarm.world import RectangularWorld


class Fixed(Controller):
    def __init__(self, action: Any = (1.0, 0.5)) -> None:
        self.action = action

    def act(self, group: Group) -> Floats:
        return np.tile(self.action, (len(group), 1))


class Slow(MazeAgent):
    """Goes half as fast."""

    @classmethod
    def twists(cls, config: Any, actions: Floats) -> Floats:
        return 0.5 * actions


def one(action: Any = (1.0, 0.5), steps: int = 1, **settings: Any) -> SwarmAgent:
    controller = {"type": Fixed, "action": action}
    agent = {"type": "MazeAgent", "position": [10, 10], "controller": controller, **settings}
    world = RectangularWorld({"size": [20, 20], "time_step": 0.1, "agents": [agent]})
    world.setup()
    for _ in range(steps):
        world.step()
    return world.population[0]


def test_idiosyncrasies_are_each_agents_own_and_stay() -> None:
    agent = {"type": "MazeAgent", "idiosyncrasies": [0.1, 0.2], "controller": Fixed}
    world = RectangularWorld({"size": [99, 99], "spawners": [{"type": "uniform", "n": 400, "agent": agent}]})
    world.setup()
    world.step()
    speeds, turns = world.everyone.linear, world.everyone.angular
    assert speeds.mean() == pytest.approx(1.0, abs=0.03) and speeds.std() == pytest.approx(0.1, abs=0.02)
    assert turns.std() == pytest.approx(0.5 * 0.2, abs=0.02)
    world.step()
    assert world.everyone.linear.tolist() == speeds.tolist()


def test_a_trace_is_as_long_as_asked_for() -> None:
    agent = one((1.0, 0.0), steps=7, trace_length=4)
    trace = trace_of(agent)
    assert trace is not None
    assert trace[:, 0] == pytest.approx([10.4, 10.5, 10.6, 10.7])
    assert trace_of(one()) is None


def test_handles() -> None:
    agent = one(name="anna", team="red", agent_radius=0.3)
    world = agent.world
    assert (agent.name, agent.team, agent.radius) == ("anna", "red", 0.3)
    assert world.agent_named("anna") is agent and world.agent_of(agent.row) is agent
    assert world.sim.get_object("anna") == agent.handle
    agent.position, agent.angle = (1, 2), 1.0
    assert (agent.x_pos, agent.y_pos, agent.angle) == pytest.approx((1.0, 2.0, 1.0))
    with pytest.raises(UnknownNameError, match="Did you mean 'anna'"):
        world.agent_named("ana")
    with pytest.raises(InvalidValueError, match="position"):
        agent.position = (np.nan, 0)
    agent.remove()
    assert not world.population and not agent.is_alive
    with pytest.raises(StaleHandleError, match="MazeAgent anna was removed"):
        _ = agent.position


def test_polygons_turn_with_their_agent() -> None:
    agent = one(points=[[0, 0], [2, 0], [2, 1]], anchor_point=[1, 0], angle=np.pi / 2, controller=None)
    assert agent.outline == pytest.approx(np.array([[10, 9], [10, 11], [9, 11]]))
    assert agent.radius == pytest.approx(np.sqrt(2))


def test_agents_alike_share_a_group_and_others_do_not() -> None:
    shared = {"type": "MazeAgent", "controller": {"type": Fixed, "action": [1, 0]}}
    entries = [
        {**shared, "position": [1, 1], "name": "a"},
        {**shared, "position": [2, 2], "team": 3, "body_color": [1, 2, 3]},
        {**shared, "controller": {"type": Fixed, "action": [2, 0]}},
        {**shared, "delay": 1},
    ]
    world = RectangularWorld({"agents": entries})
    world.setup()
    groups = [agent.group.index for agent in world.population]
    assert groups == [0, 0, 1, 2]
    assert world.population[0].controller is world.population[1].controller


def test_a_type_of_the_users_own() -> None:
    registry.register_agent_type("slow_for_test", Slow)
    assert one((1.0, 0.0), type="slow_for_test").linear == 0.5
    with pytest.raises(DuplicateNameError, match="the agent 'slow_for_test' exists already"):
        registry.register_agent_type("slow_for_test", DiffDriveAgent)
    with pytest.raises(InvalidValueError, match="expected a class"):
        registry.register_agent_type("other", "Slow")  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match=r"unknown kind of part 'agens'. Did you mean 'agent'"):
        registry.register_dictlike_type("agens", "x", Slow)


@pytest.mark.parametrize("kind", sorted(registry.KINDS))
def test_every_name_in_the_registry_is_a_documented_class(kind: str) -> None:
    known = registry.known_types(kind)
    assert known or kind in ("controller", "sensor", "metric")
    for name, cls in known.items():
        assert registry.find_type(kind, name) is cls
        assert cls.__doc__, f"{kind} {name} says nothing about itself"
        path = f"{cls.__module__}:{cls.__qualname__}"
        assert registry.find_type(kind, path) is cls
        registry.parameters_of(cls)


# ---- What is assigned to agents and worlds in code acts, or is refused with the reason -------------------------------


class Forward(Controller):
    """Written per agent."""

    def __init__(self, speed: float = 0.5) -> None:
        self.speed = speed

    def get_actions(self, agent: SwarmAgent) -> tuple[float, float]:
        return self.speed, 0.0


class Half(StaticController):
    """Written per agent, derived from one on arrays."""

    def get_actions(self, agent: SwarmAgent) -> tuple[float, float]:
        return 0.5 * self.output[0], 0.0


class Mine(Sensor):
    def step(self, agent: SwarmAgent) -> float:
        return agent.x_pos


def world_of(count: int = 2, update: str = "together", **settings: Any) -> RectangularWorld:
    agent = {"type": "MazeAgent", "agent_radius": 0.1, **settings}
    agents = [{**agent, "position": [1.0, 1.0 + index]} for index in range(count)]
    world = RectangularWorld({"size": [9, 9], "time_step": 0.1, "update": update, "agents": agents})
    world.setup()
    return world


def moved(world: RectangularWorld, steps: int = 1) -> list[float]:
    before = world.everyone.positions[:, 0]
    for _ in range(steps):
        world.step()
    return [round(float(way), 9) for way in world.everyone.positions[:, 0] - before]


OLD = [None, {"type": "static", "output": [0.1, 0.0]}, {"type": Forward, "speed": 0.1}]


@pytest.mark.parametrize("update", ["together", "in_turn"])
@pytest.mark.parametrize("old", OLD)
@pytest.mark.parametrize("new", [StaticController((0.5, 0.0)), Forward(), {"type": "static", "output": [0.5, 0.0]}])
def test_another_controller_decides_from_now_on_for_this_agent_alone(old: Any, new: Any, update: str) -> None:
    world = world_of(controller=old, update=update)
    first, second = world.population
    moved(world)
    other = type(new)() if isinstance(new, Forward) else new
    first.controller = other
    if not isinstance(other, dict):
        assert first.controller is other
    still = 0.0 if old is None else 0.01
    assert moved(world) == [0.05, still]
    assert world.population == [first, second]
    world.reset()
    assert moved(world) == [still, still]


def test_agents_can_share_a_controller_and_go_back_to_their_group() -> None:
    world = world_of(controller={"type": "static", "output": [0.1, 0.0]})
    first, second = world.population
    group, old, new = first.group, first.controller, StaticController((0.5, 0.0))
    first.controller = second.controller = new
    assert first.group is second.group is not group
    assert moved(world) == [0.05, 0.05]
    first.controller = old
    assert first.group is group
    first.controller = new
    second.controller = None
    assert moved(world, 2) == [0.1, 0.0]


def test_a_controller_may_be_changed_within_a_step() -> None:
    class Switching(Controller):
        def get_actions(self, agent: SwarmAgent) -> tuple[float, float]:
            agent.controller = StaticController((0.5, 0.0))
            return 0.1, 0.0

    for update in ("together", "in_turn"):
        world = world_of(controller=Switching, update=update)
        assert moved(world) == [0.01, 0.01]
        assert moved(world) == [0.05, 0.05]


def test_one_written_per_agent_is_asked_also_where_it_derives_from_one_on_arrays() -> None:
    world = world_of(controller={"type": Half, "output": [0.4, 0.0]})
    assert moved(world) == [0.02, 0.02]


def test_a_controller_of_one_agent_cannot_be_that_of_another_too() -> None:
    world = world_of()
    first, second = world.population
    own = first.controller = Forward()
    with pytest.raises(InvalidValueError, match="Forward is already that of <MazeAgent agent_0>"):
        second.controller = own
    with pytest.raises(UnknownNameError, match="unknown controller 'statik'"):
        first.controller = "statik"
    world.remove([first])
    first.controller = StaticController((0.5, 0.0))
    assert world.spawn(first).controller.output == (0.5, 0.0)  # type: ignore[union-attr]


@pytest.mark.parametrize("old", [[], [{"type": "binary_fov", "theta": 0.1, "distance": 0.1}], [Mine]])
def test_other_sensors_read_from_the_next_step_on(old: list[Any]) -> None:
    world = world_of(sensors=old)
    first, second = world.population
    first.angle = np.pi / 2
    world.step()
    readings = [sensor.current_state for sensor in first.sensors]
    first.sensors.append(BinaryFOVSensor(theta=0.5, distance=2.0))
    first.sensors.append(Mine())
    assert [sensor.current_state for sensor in first.sensors] == [*readings, 0, 0]
    world.step()
    assert [sensor.current_state for sensor in first.sensors] == [*readings, 1, 1.0]
    assert len(second.sensors) == len(old)
    first.sensors[0] = Mine()
    del first.sensors[1:]
    world.step()
    assert [sensor.current_state for sensor in first.sensors] == [1.0]
    world.reset()
    assert len(first.sensors) == len(old) and first.group is second.group


def test_a_sensor_that_is_left_keeps_reading_when_one_before_it_goes() -> None:
    view = {"type": "binary_fov", "theta": 0.5, "distance": 2.0}
    world = world_of(sensors=[Mine, view])
    first, second = world.population
    first.angle = second.angle = np.pi / 2
    first.sensors.pop(0)
    world.step()
    assert [sensor.current_state for sensor in first.sensors] == [1]
    assert [sensor.current_state for sensor in second.sensors] == [1.0, 0]


def test_what_cannot_be_done_with_sensors_is_said() -> None:
    world = world_of(sensors=[{"type": "binary_fov", "theta": 0.5, "distance": 2.0}])
    first = world.population[0]
    with pytest.raises(InvalidValueError, match=r"agent.sensors\[0\] = BinaryFOVSensor"):
        first.sensors[0].theta = 3.0
    with pytest.raises(InvalidValueError, match="given twice"):
        first.sensors.append(first.sensors[0])
    with pytest.raises(InvalidValueError, match="sensor"):
        first.sensors.append(7)
    assert len(first.sensors) == 1

    class Growing(Controller):
        def get_actions(self, agent: SwarmAgent) -> tuple[float, float]:
            agent.sensors.append(Mine())
            return 0.0, 0.0

    first.controller = Growing()
    with pytest.raises(StateError, match="between steps only"):
        world.step()


@pytest.mark.parametrize("how", ["del", "remove", "pop", "slice", "assign", "world"])
def test_who_is_taken_out_of_the_population_is_gone(how: str) -> None:
    world = world_of(3)
    first, second, third = world.population
    assert len(world.everyone) == 3
    if how == "del":
        del world.population[1]
    elif how == "remove":
        world.population.remove(second)
    elif how == "pop":
        assert world.population.pop(1) is second
    elif how == "slice":
        world.population[:] = [first, third]
    elif how == "assign":
        world.population = [first, third]  # type: ignore[assignment]
    else:
        world.remove([second])
    assert world.population == [first, third] and not second.is_alive
    assert len(world.everyone) == len(world.sim.agents) == 2
    world.step()
    world.population.clear()
    assert not world.population and not len(world.everyone) and not world.sim.agents
    world.reset()
    assert len(world.everyone) == len(world.population) == 2


def test_what_a_population_cannot_hold_is_refused() -> None:
    world, other = world_of(), world_of()
    first = world.population[0]
    thing = world.add_object({"type": "StaticObject", "agent_radius": 0.1, "position": [5, 5]})
    with pytest.raises(InvalidValueError, match="cannot be in it twice"):
        world.population.append(first)
    for stranger in (thing, other.population[0], {"type": "MazeAgent"}, None):
        with pytest.raises(InvalidValueError, match=r"world.population: world.spawn\(\{...\}\) adds to it"):
            world.population.append(stranger)  # type: ignore[arg-type]
    with pytest.raises(InvalidValueError, match=r"world\.add_object"):
        world.objects += [first]
    assert len(world.population) == 2 == len(world.everyone)
    world.population.reverse()
    assert world.everyone.positions[:, 1].tolist() == [2.0, 1.0]


def test_stop_at_can_be_set() -> None:
    world = world_of()
    world.stop_at = 3
    world.evaluate(9)
    assert world.steps == 3 and world.stopped
    world.stop_at = "steps >= 5"
    world.evaluate(9)
    assert world.steps == 5
    with pytest.raises(InvalidValueError, match="stop_at: must be a number of steps"):
        world.stop_at = 0
    with pytest.raises(InvalidValueError, match="unknown name 'stops'"):
        world.stop_at = "stops > 1"
    assert world.stop_at == "steps >= 5"


@pytest.mark.parametrize("name", ["time_step", "collide_walls", "update", "background_color"])
def test_settings_of_a_world_that_was_made_are_refused(name: str) -> None:
    with pytest.raises(AttributeError, match=rf"RectangularWorld.{name} is settled when it is made"):
        setattr(world_of(), name, 1)


def test_attributes_of_agents_act_or_are_refused() -> None:
    world = world_of()
    first, second = world.population
    first.body_color = (1, 2, 3)
    assert first.body_color == (1, 2, 3) != second.body_color
    with pytest.raises(ConfigError, match="body_color: must be a list of 3"):
        first.body_color = (1, 2)
    for name in ("collides", "agent_radius", "trace_length", "team"):
        with pytest.raises(AttributeError, match=rf"MazeAgent.{name} is settled when it is made"):
            setattr(first, name, 1)
    with pytest.raises(AttributeError, match=r"MazeAgent\.x_pos can be read only"):
        first.x_pos = 1  # type: ignore[misc]
    # Names of one's own are free, also where they are much like others.
    first.postion = world.metric_s = first.note_of_mine = 1  # type: ignore[attr-defined]
    assert first.postion == world.metric_s == first.note_of_mine == 1  # type: ignore[attr-defined]


# ---- Teams that somebody looks for and nobody is of ------------------------------------------------------------------


RED = {"type": "MazeAgent", "team": "red", "position": [1, 1]}


def world_of_teams(**config: Any) -> RectangularWorld:
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
    world = world_of_teams(metrics=[metric])
    with pytest.raises(UnknownNameError, match=r"nobody is of team 'rde'\. Did you mean 'red'\?"):
        world.evaluate(1)


def test_a_metric_that_comes_later_is_looked_at_too() -> None:
    world = world_of_teams()
    world.evaluate(2)
    world.add_metric({"type": "Circliness", "team": "blue"})
    with pytest.raises(UnknownNameError, match="nobody is of team 'blue'"):
        world.evaluate(1)


def test_teams_of_spawners_and_of_agents_that_are_gone_count() -> None:
    spawner = {"type": "PointAgentSpawner", "delay": 9.0, "agent": {"type": "MazeAgent", "team": 2}}
    world = world_of_teams(metrics=[{"type": "Circliness", "team": 2, "name": "a"}], spawners=[spawner])
    world.evaluate(1)
    world.remove(list(world.population))
    world.add_metric({"type": "Circliness", "team": "red", "name": "b"})
    world.evaluate(1)


def test_agents_that_are_put_there_before_the_first_step_count() -> None:
    world = world_of_teams(metrics=[{"type": "Circliness", "team": "blue"}])
    world.population.append(MazeAgent({"team": "blue", "position": [2, 2]}, world))
    world.evaluate(1)


def test_a_sensor_of_a_team_that_nobody_is_of_is_told(caplog: pytest.LogCaptureFixture) -> None:
    sensor = {"type": "BinaryFOVSensor", "theta": 0.5, "target_team": "rde"}
    world = world_of_teams(agents=[{**RED, "sensors": [sensor]}])
    with caplog.at_level(logging.WARNING, logger="fleet_sim"):
        world.evaluate(3)
    assert [record.getMessage() for record in caplog.records] == [
        "MazeAgent looks for team 'rde', of which nobody is so far. Did you mean 'red'?"
    ]

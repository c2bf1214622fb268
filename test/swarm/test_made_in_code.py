"""Agents, controllers, sensors and spawners made in code act as those of a configuration do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from source_worlds import AGENT, spawned, world_of

import fleet_sim.swarm
from fleet_sim import swarm
from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import ConfigError, FleetSimError, InvalidValueError, StaleHandleError, StateError
from fleet_sim.base.settings import setting
from fleet_sim.swarm import (
    BinaryController,
    BinaryFOVSensor,
    Controller,
    MazeAgent,
    MazeAgentConfig,
    PointAgentSpawner,
    RectangularWorld,
    RectangularWorldConfig,
    Sensor,
    StaticController,
    StaticObject,
    StaticObjectConfig,
    UniformAgentSpawner,
    World_from_config,
)
from fleet_sim.swarm.agents import Group
from fleet_sim.swarm.controllers import CONTROLLERS
from fleet_sim.swarm.metrics import METRICS
from fleet_sim.swarm.pictures import draw_world, picture
from fleet_sim.swarm.sensors import SENSORS
from fleet_sim.swarm.spawners import SPAWNERS

UPDATES = pytest.mark.parametrize("update", ["together", "in_turn"])


def empty(**settings: Any) -> RectangularWorld:
    return RectangularWorld(RectangularWorldConfig(size=(10, 10), time_step=0.1, **settings))


def run(world: RectangularWorld, steps: int = 1) -> RectangularWorld:
    if not world.is_set_up:
        world.setup()
    for _ in range(steps):
        world.step()
    return world


class Follower(Controller):
    """Written as there: per agent, with the agent as `parent`."""

    def __init__(self, parent: Any, speed: float = 0.5) -> None:
        self.parent = parent
        self.speed = speed

    def get_actions(self, agent: Any) -> tuple[float, float]:
        assert agent is self.parent is self.agent
        return self.speed, 0.0


class Ahead(Sensor):
    """Reads how far along x the agent is."""

    def __init__(self, agent: Any = None, parent: Any = None, reach: float = 1.0) -> None:
        super().__init__(agent, parent)
        self.reach = reach

    def step(self, agent: Any) -> float:
        assert agent is self.agent is self.parent
        return self.reach * float(agent.position[0])


@swarm.associated_type("Runner")
@dataclass
class RunnerConfig(MazeAgentConfig):
    stamina: float = setting(2.0, low=0, doc="How long it runs.")


class Runner(MazeAgent):
    """Remembers where it began."""

    def __init__(self, config: Any, world: Any, name: str | None = None) -> None:
        super().__init__(config, world, name)
        self.home = self.position


# ---- agents ----------------------------------------------------------------------------------------------------------


@UPDATES
def test_an_agent_made_in_code_runs_as_one_of_a_configuration(update: str) -> None:
    settings = {
        "agent_radius": 0.1,
        "angle": 0.5,
        "controller": {"type": "binary", "a": [0.3, 0.4], "b": [0.3, -0.4]},
        "sensors": [{"type": "binary_fov", "theta": 0.6, "distance": 3}],
    }
    first = empty(update=update)
    for x in (3.0, 5.0):
        agent = MazeAgent(MazeAgentConfig(position=(x, 5), **settings), first)
        assert isinstance(agent.controller, BinaryController)
        first.population.append(agent)
    places = [{"type": "MazeAgent", **settings, "position": [x, 5.0]} for x in (3.0, 5.0)]
    second = World_from_config({"size": [10, 10], "time_step": 0.1, "update": update, "agents": places})
    run(first, 30)
    run(second, 30)
    assert (first.everyone.positions == second.everyone.positions).all()
    assert (first.everyone.headings == second.everyone.headings).all()
    assert [agent.name for agent in first.population] == [agent.name for agent in second.population]


def test_before_it_is_in_its_world_an_agent_shows_where_it_will_be_and_can_be_changed() -> None:
    world = empty()
    agent = MazeAgent(MazeAgentConfig(agent_radius=0.2, team="red"), world, name="anna")
    assert agent.position.tolist() == [5.0, 5.0]
    assert (agent.angle, agent.name, agent.team, agent.radius, agent.is_alive) == (0.0, "anna", "red", 0.2, False)
    agent.position = (1.0, 2.0)
    agent.angle = 0.5
    agent.body_color = (1, 2, 3)
    assert agent.getPosition().tolist() == [1.0, 2.0]
    assert agent.get_heading() == 0.5
    for name in ("linear", "touching", "group", "row_of"):
        with pytest.raises((StateError, AttributeError)):
            getattr(agent, name)
    with pytest.raises(AttributeError, match="cannot be set later"):
        agent.collides = False
    agent.positon = "mine"  # a name of one's own
    assert world.population == []
    world.population.append(agent)
    assert world.agent_named("anna") is agent
    assert (agent.x_pos, agent.y_pos, agent.team, agent.is_alive) == (1.0, 2.0, "red", True)
    assert agent.angle == pytest.approx(0.5)
    assert world.everyone.positions.tolist() == [[1.0, 2.0]]


def test_an_agent_is_put_into_one_world_once() -> None:
    world, other = empty(), empty()
    agent = MazeAgent(MazeAgentConfig(), world)
    world.population.append(agent)
    with pytest.raises(InvalidValueError, match="cannot be in it twice"):
        world.population.append(agent)
    with pytest.raises(InvalidValueError, match="made for another world"):
        other.population.append(agent)
    with pytest.raises(InvalidValueError, match="elsewhere in this world"):
        world.objects.append(agent)
    del world.population[-1]
    with pytest.raises(InvalidValueError, match="does not come back"):
        world.population.append(agent)
    with pytest.raises(StaleHandleError):
        _ = agent.position


def test_a_wrong_agent_is_refused() -> None:
    world = empty()
    with pytest.raises(InvalidValueError, match="expected a world"):
        MazeAgent(MazeAgentConfig(), {"type": "RectangularWorld"})  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="MazeAgentConfig"):
        MazeAgent(StaticObjectConfig(), world)
    with pytest.raises(ConfigError, match="agent_radius"):
        MazeAgent({"agent_raduis": 1.0}, world)


def test_objects_made_in_code_stand_in_the_way() -> None:
    world = empty()
    corners = [(0.0, 0.0), (1.0, 0.0), (1.0, 4.0), (0.0, 4.0)]
    world.objects.append(StaticObject(StaticObjectConfig(position=(6, 3), points=corners), world))
    world.population.append(MazeAgent(MazeAgentConfig(position=(5, 5), agent_radius=0.5, controller="static"), world))
    world.population[0].controller = StaticController((1.0, 0.0))
    run(world, 20)
    assert world.population[0].x_pos == pytest.approx(5.5, abs=0.01)


def test_a_type_of_agents_of_ones_own_brings_its_settings() -> None:
    swarm.register_agent_type("Runner", Runner, RunnerConfig)
    swarm.register_agent_type("Runner", Runner, RunnerConfig)
    world = empty()
    world.spawn({"type": "Runner", "stamina": 3, "position": [1, 2]})
    world.spawn(RunnerConfig(position=(2, 2)))
    run(world)
    assert [agent.config.stamina for agent in world.population] == [3.0, 2.0]
    assert [agent.home.tolist() for agent in world.population] == [[1.0, 2.0], [2.0, 2.0]]
    with pytest.raises(InvalidValueError, match="derive from MazeAgentConfig"):
        swarm.register_agent_type("Other", type("Other", (MazeAgent,), {}), StaticObjectConfig)
    with pytest.raises(InvalidValueError, match="use those"):
        swarm.register_agent_type("Runner", Runner, type("Again", (RunnerConfig,), {}))


# ---- controllers and sensors -----------------------------------------------------------------------------------------


def test_parts_may_say_whose_they_are() -> None:
    world = empty()
    agent, other = (MazeAgent(MazeAgentConfig(position=(3, y), agent_radius=0.1), world) for y in (3, 6))
    agent.sensors.append(BinaryFOVSensor(agent, theta=0.5, distance=2))
    agent.controller = BinaryController((0.1, 0.0), (0.3, 0.0), agent)
    with pytest.raises(InvalidValueError, match="make another one"):
        other.controller = BinaryController((0.1, 0.0), (0.3, 0.0), parent=agent)
    with pytest.raises(InvalidValueError, match="the one agent"):
        StaticController(agent=agent, parent=other)
    with pytest.raises(InvalidValueError, match="the one agent"):
        StaticController((0.1, 0.0), agent="agent")
    other.controller = StaticController(agent=other, output=(0.2, 0.0))
    world.population += [agent, other]
    run(world, 10)
    assert [member.x_pos for member in (agent, other)] == pytest.approx([3.1, 3.2])
    # It sees somebody ahead, and takes the second action.
    world.spawn({"type": "StaticAgent", "position": [4.0, 3.0], "agent_radius": 0.1})
    run(world, 2)
    assert agent.sensors[0].current_state == 1
    assert agent.linear == pytest.approx(0.3)


@UPDATES
def test_a_part_of_ones_own_gets_its_agent(update: str) -> None:
    entry = {"type": "MazeAgent", "controller": {"type": Follower, "speed": 0.2}, "sensors": [{"type": Ahead}]}
    world = empty(update=update, agents=[{**entry, "position": [1, y]} for y in (1, 2)])
    run(world, 2)
    assert [agent.x_pos for agent in world.population] == pytest.approx([1.04, 1.04])
    assert [agent.sensors[0].current_state for agent in world.population] == pytest.approx([1.04, 1.04])
    world.population[0].controller = {"type": Follower, "speed": 1.0}
    run(world)
    assert [agent.x_pos for agent in world.population] == pytest.approx([1.14, 1.06])


def test_a_part_that_cannot_have_one_agent_says_what_to_write() -> None:
    class ForAll(Controller):
        def __init__(self, parent: Any) -> None:
            self.parent = parent

        def act(self, group: Any) -> Any:
            return np.zeros((len(group), 2))

    class OfTheWorld(Sensor):
        def step(self, world: Any) -> float:
            return float(world.total_steps)

    with pytest.raises(InvalidValueError, match=r"get_actions\(self, agent\) in place of act\(self, group\)"):
        empty().spawn({"type": "MazeAgent", "controller": ForAll})
    with pytest.raises(ConfigError, match=r"write step\(self, agent\); the world is agent.world"):
        empty().spawn({"type": "MazeAgent", "sensors": [OfTheWorld]})


# ---- spawners --------------------------------------------------------------------------------------------------------


def test_the_first_run_of_the_guide() -> None:
    world_config = RectangularWorldConfig(size=(10, 10), time_step=1 / 40)
    world = RectangularWorld(world_config)
    agent = MazeAgent(MazeAgentConfig(position=(5, 5), agent_radius=0.1), world)
    sensor = BinaryFOVSensor(agent, theta=0.45, distance=2)
    agent.sensors.append(sensor)
    controller = BinaryController((0.02, -0.5), (0.02, 0.5), agent)
    agent.controller = controller
    spawner = PointAgentSpawner(world, n=6, facing="away", avoid_overlap=True, agent=agent, mode="oneshot")
    world.spawners.append(spawner)
    swarm.run_sim(world, show_gui=False, stop_detection=lambda world: world.total_steps == 40)
    assert (len(world.population), world.spawners, agent.is_alive) == (6, [], False)
    # One group, one controller for all six: copies of the agent's.
    assert len({id(copy.group) for copy in world.population}) == 1
    assert world.population[0].controller is not controller
    assert {abs(copy.angular) for copy in world.population} == {0.5}
    assert all(copy.linear == 0.02 for copy in world.population)


def test_a_spawner_copies_its_agent_as_it_is_when_it_spawns() -> None:
    world = empty()
    agent = MazeAgent(MazeAgentConfig(position=(5, 5)), world)
    world.population.append(agent)
    spawner = world.add_spawner(PointAgentSpawner(world, agent=agent, n=2))
    agent.controller = {"type": Follower, "speed": 0.4}
    agent.position = (2, 3)
    del world.population[-1]
    run(world)
    assert len(world.population) == 2
    assert [copy.controller.agent for copy in world.population] == world.population
    assert all(copy.x_pos > 2.0 for copy in world.population)
    assert [copy.linear for copy in world.population] == pytest.approx([0.4, 0.4])
    # It can be used once more, as there.
    spawner.mark_for_deletion = False
    world.spawners.append(spawner)
    run(world)
    assert len(world.population) == 4


def test_other_spawners_take_agents_too() -> None:
    world = empty()
    agent = MazeAgent(MazeAgentConfig(agent_radius=0.1, controller=StaticController((0.1, 0.0))), world)
    world.spawners.append(UniformAgentSpawner(world, agent=agent, n=3, region=[[1, 1], [2, 1], [2, 2]]))
    world.add_spawner({"type": "grid", "agent": MazeAgentConfig(agent_radius=0.1), "n": 4})
    run(world)
    assert len(world.population) == 7
    assert np.count_nonzero(world.everyone.linear) == 3


# ---- names -----------------------------------------------------------------------------------------------------------


def test_names_of_there_mean_the_same() -> None:
    world = run(empty(metadata={"hash": 3}, agents=["MazeAgent"], stop_at="world.total_steps >= 3"))
    (agent,) = world.population
    agent.controller = StaticController((0.5, 0.0))
    run(world)
    assert isinstance(world, swarm.World)
    assert isinstance(agent, swarm.Agent)
    assert isinstance(world.config, swarm.BaseWorldConfig)
    assert world.meta == {"hash": 3}
    assert (world.total_steps, world.steps) == (2, 2)
    assert (agent.dx, agent.dy) == pytest.approx((0.05, 0.0))
    assert (agent.get_x_pos(), agent.get_y_pos()) == tuple(agent.pos)
    agent.set_heading(1.0)
    assert agent.get_heading() == agent.angle == pytest.approx(1.0)
    run(world)
    assert world.stopped


def test_a_seed_given_later_draws_as_one_given_at_first() -> None:
    spawner = {"type": "uniform", "n": 5, "agent": "MazeAgent"}
    first, second = empty(seed=7, spawners=[spawner]), empty(seed=1, spawners=[spawner])
    assert second.set_seed(7) == 7
    run(first)
    run(second)
    assert second.seed == 7
    assert (first.everyone.positions == second.everyone.positions).all()
    second.set_seed(8)
    second.reset()
    assert second.seed == 7
    with pytest.raises(InvalidValueError, match="whole number"):
        second.set_seed(-1)


# ---- values of the source --------------------------------------------------------------------------------------------


def with_agent(**settings: Any) -> RectangularWorld:
    return world_of(agents=[{**AGENT, **settings}])


class Counting(Controller):
    """Drives as fast as the number of the step says."""

    def act(self, group: Group) -> Floats:
        return np.tile((float(group.world.steps + 1), 0.0), (len(group), 1))


# ---- agents ----------------------------------------------------------------------------------------------------------


def test_random_colors_are_each_agents_own() -> None:
    spawners = [{"type": "uniform", "n": 8, "agent": {**AGENT, "body_color": "Random"}}]
    world, again = world_of(spawners=spawners), world_of(spawners=spawners)
    colors = [agent.body_color for agent in world.population]
    assert len(set(colors)) == 8
    assert all(0 <= part <= 255 for color in colors for part in color)
    assert colors == [agent.body_color for agent in again.population]
    for agent in world.population:
        shown = agent.handle.get_color()
        assert shown is not None and shown[:3] == pytest.approx([part / 255.0 for part in agent.body_color])
    drawn = {tuple(color) for color in picture(world, 400).rgb.reshape(-1, 3).tolist()}
    assert set(colors) <= drawn
    world.population[0].body_color = "Random"
    assert world.population[0].body_color not in (colors[0], "Random")
    with pytest.raises(FleetSimError, match="whole number from 0 to 255, or Random; got 'red'"):
        with_agent(body_color="red")


def test_factors_have_means() -> None:
    fixed = {"type": "static", "output": [1.0, 0.5]}
    agent = {**AGENT, "controller": fixed, "collides": False}
    factors = {"mean": [0.8, 2.0], "sd": [0.1, 0.0]}
    many = [{"type": "uniform", "n": 400, "agent": {**agent, "idiosyncrasies": factors}}]
    world = world_of(spawners=many, size=[99, 99])
    world.step()
    crowd = world.everyone
    assert crowd.linear.mean() == pytest.approx(0.8, abs=0.03) and crowd.linear.std() == pytest.approx(0.1, abs=0.02)
    assert crowd.angular == pytest.approx(np.full(400, 1.0))
    exact = world_of(agents=[{**agent, "idiosyncrasies": False}])
    exact.step()
    assert exact.population[0].linear == 1.0
    for wrong, message in (
        ({"mean": [1, 1]}, "must have the keys mean and sd"),
        ({"mean": [1, 1], "sd": [-1, 0]}, "sd: must be at least 0"),
        ([0.1], "expected numbers of shape"),
    ):
        with pytest.raises(FleetSimError, match=message):
            with_agent(idiosyncrasies=wrong)


@pytest.mark.parametrize(("mode", "apart"), [("DetectAndCorrect", True), ("Detect", False)])
def test_modes_of_collision(mode: str, apart: bool) -> None:
    agent = {**AGENT, "collides": mode}
    pit = {"type": "region", "position": [5, 5], "agent_radius": 0.5, "name": "pit"}
    world = world_of(agents=[{**agent, "position": [5, 5]}, {**agent, "position": [5.1, 5]}], objects=[pit])
    world.step()
    distance = float(np.hypot(*np.diff(world.population[0].group.positions, axis=0)[0]))
    assert (distance > 0.19) is apart
    assert len(world.agent_named("pit").detected) == 2  # type: ignore[attr-defined]  # it is a region


@pytest.mark.parametrize("mode", ["Disabled", "Correct", 0, 3])
def test_modes_without_a_counterpart_are_refused(mode: Any) -> None:
    with pytest.raises(FleetSimError, match=r"collides: must be true, false, 'DetectAndCorrect'.*target_teams"):
        with_agent(collides=mode)


def test_delayed_actions_begin_with_rest_or_with_the_first() -> None:
    settings = {"controller": Counting, "delay": 2, "collides": False}
    rest, first = with_agent(**settings), with_agent(**settings, delay_start="first")
    speeds = []
    for _ in range(5):
        for world in (rest, first):
            world.step()
        speeds.append((rest.population[0].linear, first.population[0].linear))
    assert speeds == [(0.0, 1.0), (0.0, 1.0), (1.0, 1.0), (2.0, 2.0), (3.0, 3.0)]
    # Who joins later begins with the action of that step.
    first.spawn({**AGENT, **settings, "delay_start": "first"}, [8.0, 8.0], 0.0)
    later = []
    for _ in range(4):
        first.step()
        later.append([agent.linear for agent in first.population])
    assert later == [[4.0, 6.0], [5.0, 6.0], [6.0, 6.0], [7.0, 7.0]]


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [("track_io", True, "a subscriber"), ("debug", True, "fleet-sim swarm"), ("seed", 3, "seed of the world")],
)
def test_settings_that_agents_do_not_have_say_what_to_write(key: str, value: Any, message: str) -> None:
    with pytest.raises(FleetSimError, match=rf"agents\[0\]\.{key}: is not a setting of agents. Instead: .*{message}"):
        with_agent(**{key: value})


@pytest.mark.parametrize(
    ("section", "name", "message"),
    [
        ("metrics", "JinjaMetric", "Instead: Combination"),
        ("metrics", "InstantKMHCircularity", "Instead: InstantTaubinSVDCircularity"),
        ("spawners", "ExcelSpawner", "Instead: save the sheet as CSV"),
        ("metrics", "Circlines", "Did you mean 'Circliness'.$"),
    ],
)
def test_parts_that_are_not_there_say_what_to_write(section: str, name: str, message: str) -> None:
    with pytest.raises(FleetSimError, match=rf"{section}\[0\]: unknown .* {name!r}.*{message}"):
        world_of(**{section: [{"type": name}]})


# ---- controllers and sensors -----------------------------------------------------------------------------------------


class Shy(MazeAgent):
    """Decides by itself."""

    def get_actions(self) -> tuple[float, float]:
        return (0.5, 0.0) if self.x_pos < 5.0 else (0.0, 1.0)


@pytest.mark.parametrize("update", ["together", "in_turn"])
def test_agents_may_decide_by_themselves(update: str) -> None:
    shy = {"type": Shy, "controller": "AgentMethodController"}
    world = world_of(agents=[{**shy, "position": [1, 1]}, {**shy, "position": [8, 8]}], update=update)
    world.step()
    assert world.everyone.linear.tolist() == [0.5, 0.0]
    assert world.everyone.angular.tolist() == [0.0, 1.0]


def test_agents_that_cannot_decide_are_named() -> None:
    world = with_agent(controller="AgentMethodController")
    with pytest.raises(FleetSimError, match=r"MazeAgent has no method get_actions\(\); derive a type"):
        world.step()


def test_people_drive_by_keys_and_not_by_joysticks() -> None:
    world = world_of(
        agents=[
            {**AGENT, "position": [2, 2], "controller": {"type": "HumanController", "joystick": None}},
            {**AGENT, "position": [2, 4], "controller": {"type": "HumanController", "keys": None}},
        ]
    )
    world.press_key("w")
    world.press_key("a")
    world.step()
    assert [(agent.linear, agent.angular) for agent in world.population] == [(0.01, 0.1), (0.0, 0.0)]
    with pytest.raises(FleetSimError, match="joystick: joysticks are not read, got 0; write null and drive by keys"):
        with_agent(controller={"type": "HumanController", "joystick": 0})


class Outlines:
    """A canvas that counts the polygons that are drawn."""

    def __init__(self) -> None:
        self.count = 0

    def clear(self, color: Any) -> None: ...

    def polygon(self, points: Floats, **_: Any) -> None:
        self.count += 1

    def circle(self, centre: Floats, radius: float, **_: Any) -> None: ...

    def line(self, points: Floats, color: Any) -> None: ...

    def text(self, *_: Any) -> None: ...


@pytest.mark.parametrize(
    "sensor", [{"type": "BinaryFOVSensor", "theta": 0.4, "distance": 2}, {"type": "PointCollisionSensor"}]
)
def test_sensors_are_drawn_or_not(sensor: dict[str, Any]) -> None:
    counts = []
    for more in ({}, {"draw": True}, {"draw": False}, {"draw": True, "show": False}):
        canvas = Outlines()
        draw_world(with_agent(sensors=[{**sensor, **more}]), canvas)
        counts.append(canvas.count)
    # The border of the world is always drawn.
    assert counts == [2, 2, 1, 2]
    assert BinaryFOVSensor(theta=0.3, draw=False).show is False


def test_tables_of_agents_as_files(tmp_path: Path) -> None:
    (tmp_path / "sheet.csv").write_text("x,y,angle,name\n1,2,0.5,anna\n3,4,,\n")
    world = spawned(type="csv", file=tmp_path / "sheet.csv")
    assert world.everyone.positions.tolist() == [[1, 2], [3, 4]]
    assert world.agent_named("anna").angle == pytest.approx(0.5)


# ---- one for a list of one -------------------------------------------------------------------------------------------


def test_one_entry_stands_for_a_list_of_one() -> None:
    sensor = {"type": "BinaryFOVSensor", "theta": 0.5}
    region = {"type": "DetectionRegion", "agent_radius": 1.0, "position": [2, 2], "target_teams": "red"}
    given: dict[str, Any] = {
        "agents": {**AGENT, "name": "one", "team": "red", "sensors": sensor},
        "spawners": {"type": "PointAgentSpawner", "agent": AGENT},
        "objects": region,
        "goals": {"type": "CylinderGoal", "position": [5, 5], "radius": 0.5},
        "metrics": {"type": "SubGroup", "metric": "average_speed", "include_teams": "red", "exclude_names": "two"},
    }
    world, listed = world_of(**given), world_of(**{key: [value] for key, value in given.items()})
    for one in (world, listed):
        one.evaluate(3)
        assert (len(one.population), len(one.objects), len(one.goals), len(one.metrics)) == (2, 1, 1, 1)
        assert isinstance(one.population[0].sensors[0].sensor, BinaryFOVSensor)
    assert world.sim.state_hash() == listed.sim.state_hash()
    assert world_of(agents=AGENT, metrics="circliness").metrics[0].name == "Circliness"


@pytest.mark.parametrize("registry", [METRICS, CONTROLLERS, SENSORS, SPAWNERS])
def test_every_component_can_be_imported_from_one_place(registry: Any) -> None:
    for name in registry.names():
        cls = registry.type_of(name)
        if not cls.__module__.startswith("fleet_sim."):
            # Other tests register parts of their own.
            continue
        assert getattr(fleet_sim.swarm, cls.__name__) is cls

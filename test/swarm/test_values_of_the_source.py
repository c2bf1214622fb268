"""Values and parts that files of RobotSwarmSimulator have: each acts, or is refused with what to write instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from source_worlds import AGENT, spawned, world_of

import fleet_sim.swarm
from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import FleetSimError
from fleet_sim.swarm.agents import Controller, Group, MazeAgent
from fleet_sim.swarm.controllers import CONTROLLERS
from fleet_sim.swarm.metrics import METRICS
from fleet_sim.swarm.pictures import draw_world, picture
from fleet_sim.swarm.sensors import SENSORS
from fleet_sim.swarm.sensors.binary import BinaryFOVSensor
from fleet_sim.swarm.spawners import SPAWNERS
from fleet_sim.swarm.world import RectangularWorld


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


def test_lists_left_empty() -> None:
    world = world_of(**dict.fromkeys(["agents", "spawners", "objects", "goals", "metrics", "subscribers"]))
    world.step()
    assert not world.population and not world.metrics


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


def test_what_is_wrong_with_one_entry_is_said_as_of_the_first() -> None:
    with pytest.raises(FleetSimError, match=r"metrics\[0\].*Did you mean 'Circliness'"):
        world_of(metrics="Circlines")
    with pytest.raises(FleetSimError, match=r"agents\[0\]\.angl: unknown key"):
        world_of(agents={**AGENT, "angl": 1})


@pytest.mark.parametrize("registry", [METRICS, CONTROLLERS, SENSORS, SPAWNERS])
def test_every_component_can_be_imported_from_one_place(registry: Any) -> None:
    for name in registry.names():
        cls = registry.type_of(name)
        if not cls.__module__.startswith("fleet_sim."):
            # Other tests register parts of their own.
            continue
        assert getattr(fleet_sim.swarm, cls.__name__) is cls

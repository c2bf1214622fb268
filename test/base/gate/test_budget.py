"""One request from outside has one budget: what it asks for is counted before it is built, whatever brings it."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

import fleet_sim as fs
from fleet_sim.apps.cli.schema import scenario_schema
from fleet_sim.base import request_budget as budget
from fleet_sim.base.errors import ConfigError, FleetSimError, InvalidValueError
from fleet_sim.base.request_budget import LONGEST_NAME, Work, check_name, from_outside
from fleet_sim.models import generated
from fleet_sim.robots.dispatch import LoadWorld
from fleet_sim.warehouse.disturbances.disturbances import Disturb
from fleet_sim.warehouse.traffic.planners.lacam import Lacam
from fleet_sim.warehouse.traffic.problem import Problem
from fleet_sim.world import checkpoint
from fleet_sim.world.commands import SaveState, Spawn
from fleet_sim.world.features import FEATURES

QUICK = 5.0
"""Processor time in s within which a request must have been refused. Carried out, each takes minutes."""
BIG_CAMERA = "{type: camera, width: 8192, height: 8192, rate: null}"
SITE = "{map: config/sites/maps/office.yaml, cell: 0.5}"
STATIONS = "{map: config/sites/maps/warehouse.yaml}"
DISC = "shape: {shape_type: cylinder, radius: 0.2, height: 0.3}"
ROBOTS = f"robots: [{{name: r, at: {{site: free, count: 60, clearance: 0.21}}, {DISC}"


@pytest.fixture
def sim() -> Iterator[fs.MultiRobotSimulationCore]:
    with fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, monitor=False)) as made:
        made.spawn(fs.AgentSpawnParams(name="there"))
        yield made


def spawn(sim: fs.MultiRobotSimulationCore, text: str, remote: bool = True) -> None:
    sim.dispatcher.dispatch(Spawn(robots=(yaml.safe_load(text),), remote=remote))


def load(sim: fs.MultiRobotSimulationCore, given: str | dict[str, Any]) -> None:
    scenario = yaml.safe_load(given) if isinstance(given, str) else given
    sim.dispatcher.dispatch(LoadWorld(scenario=scenario, remote=True))


SPAWNED = {
    "a camera of 67 million pixels": (f"{{name: r, sensors: [{BIG_CAMERA}]}}", "100,000,000 pixels"),
    "100 such cameras": (f"{{name: r, sensors: [{BIG_CAMERA}], grid: {{count: 100}}}}", "100,000,000 pixels"),
    "100 lidars of 100,000 rays": (
        "{name: r, grid: {count: 100}, sensors: [{type: lidar, rays: 100000, rate: null}]}",
        "20,000,000 rays",
    ),
    "a lidar of 10 million rays": (
        "{name: r, sensors: [{type: lidar_3d, rays: 10000, layers: 1000}]}",
        "20,000,000 rays",
    ),
    "a million robots": ("{name: r, grid: {count: 1000000}}", "10,000 entities, this asks for 1,000,000"),
}


@pytest.mark.parametrize(("text", "figure"), SPAWNED.values(), ids=SPAWNED)
def test_a_spawned_entry_beyond_the_budget_is_refused_with_the_figure(
    sim: fs.MultiRobotSimulationCore, text: str, figure: str
) -> None:
    begin = time.process_time()
    with pytest.raises(FleetSimError, match=figure):
        spawn(sim, text)
    assert time.process_time() - begin < QUICK
    assert [agent.name for agent in sim.agents] == ["there"]


WORLDS = {
    "a camera in the world": (f"{{robots: [{{name: r}}], sensors: [{BIG_CAMERA}]}}", "pixels"),
    "20 robots with a camera": (f"{{site: {SITE}, {ROBOTS}, sensors: [{BIG_CAMERA}]}}]}}", "pixels"),
    "plans of 100,000 steps": (
        f"{{site: {SITE}, {ROBOTS}}}], traffic: {{planner: pibt, window: 100000}}}}",
        "1,000,000 nodes of planning per simulated second, this asks for",
    ),
    "plans of a crowd": (
        f"{{site: {SITE}, {ROBOTS.replace('60', '400')}}}], traffic: {{planner: lacam, window: 0}}}}",
        "1,000,000 nodes of planning",
    ),
    "plans in many rounds": (
        f"{{site: {SITE}, {ROBOTS}}}], traffic: {{planner: lacam, settings: {{refinements: 1000000}}}}}}",
        "nodes of planning",
    ),
    "plans that are made again at once where they fail": (
        f"{{site: {SITE}, {ROBOTS}}}], traffic: {{planner: lacam, period: 3600, on_failure: replan}}}}",
        "nodes of planning",
    ),
    "ways on a fine map": (
        "{site: {map: config/sites/maps/office.yaml, cell: 0.1}, robots: [{name: r, at: {site: free, count: 400, "
        "clearance: 0.05}, shape: {shape_type: cylinder, radius: 0.04, height: 0.3}}], traffic: {period: 3600}}",
        "nodes of planning",
    ),
    "plans in each step": (
        f"{{site: {SITE}, {ROBOTS}}}], traffic: {{planner: lacam, window: 0, period: 1.0e-9}}}}",
        "nodes of planning",
    ),
    "plans that are refined until time is up": (
        f"{{site: {SITE}, {ROBOTS}}}], traffic: {{planner: lacam, settings: {{refinements: null}}}}}}",
        "nodes of planning",
    ),
    "a swarm of 100,000": (
        "{swarm: {type: RectangularWorld, size: [900, 900], spawners: "
        "[{type: GridAgentSpawner, n: 100000, agent: MazeAgent}]}}",
        "10,000 entities, this asks for 100,0",
    ),
    "a swarm that looks at itself": (
        "{swarm: {type: RectangularWorld, size: [900, 900], spawners: [{type: UniformAgentSpawner, n: 2000, "
        "agent: {type: MazeAgent, sensors: [{type: BinaryFOVSensor, theta: 3, distance: 2000}]}}]}}",
        "looks of sensors of a swarm at others per simulated second, this asks for",
    ),
    "a swarm that remembers": (
        "{swarm: {type: RectangularWorld, size: [90, 90], spawners: [{type: UniformAgentSpawner, n: 100, agent: {type: "
        "MazeAgent, sensors: [{type: BinaryLOSSensor, history_length: 1000000000}]}}]}}",
        "readings that sensors of a swarm keep, this asks for 100,000,000,000",
    ),
    "a region that is nearly a hole": (
        "{swarm: {type: RectangularWorld, size: [90, 90], spawners: [{type: UniformAgentSpawner, n: 5000, agent: "
        "MazeAgent, region: [[0, 0], [90, 90]], holes: [[[0, 0], [90, 89.9999]]]}]}}",
        "corners of regions beside which positions are drawn",
    ),
    "many actions": (
        "{robots: [{name: r, grid: {count: 9000}, actions: [" + ", ".join(["{type: wait, duration: 1}"] * 20) + "]}]}",
        "100,000 actions, this asks for 180,000",
    ),
    "orders faster than anybody serves them": (
        f"{{site: {STATIONS}, robots: [{{name: r, at: {{site: free}}}}], orders: {{arrivals: [{{per_hour: [1000000]"
        "}]}}",
        "100,000 times of orders in an hour, this asks for 1,000,000",
    ),
    "orders in one hour of the day": (
        f"{{site: {STATIONS}, robots: [{{name: r, at: {{site: free}}}}], orders: {{arrivals: [{{per_hour: [50000"
        + ", 0" * 23
        + "]}]}}",
        "100,000 times of orders in an hour, this asks for 1,200,000",
    ),
    "orders that are shared out all the time": (
        f"{{site: {STATIONS}, robots: [{{name: r, at: {{site: free, count: 100}}}}], orders: "
        "{allocation: {type: hungarian, period: 0, consider: 100000}}}",
        "robots and orders compared per simulated second",
    ),
    "a swarm that grows without end": (
        "{swarm: {type: RectangularWorld, size: [900, 900], spawners: "
        "[{type: UniformAgentSpawner, n: 10, agent: MazeAgent, mode: repeat, interval: 0.1}]}}",
        "10,000 entities, this asks for 10,000,0",
    ),
    "three swarms that come later": (
        "{swarm: {type: RectangularWorld, size: [900, 900], spawners: ["
        + ", ".join(["{type: UniformAgentSpawner, n: 4000, agent: MazeAgent, delay: 1.0}"] * 3)
        + "]}}",
        "10,000 entities, this asks for 12,0",
    ),
    "three entries of many": (
        "{robots: [{name: a, grid: {count: 4000}}, {name: b, grid: {count: 4000}}, {name: c, grid: {count: 4000}}]}",
        "10,000 entities, this asks for 12,000",
    ),
    "disturbances a thousand times a second": (
        "{robots: [{name: a}], disturbances: [{kind: breakdown, per_hour: 3600000, lasts: 0.1}]}",
        "1,000 disturbances by chance in a simulated second",
    ),
    "many disturbances of many robots": (
        "{robots: [{name: a, grid: {count: 2000}}], disturbances: ["
        + ", ".join(["{kind: breakdown, per_hour: 0.1}"] * 6)
        + "]}",
        "10,000 robots, doors or stations to disturb, this asks for 12,000",
    ),
    "a radio that is disturbed a thousand times over": (
        "{robots: [{name: a}], disturbances: [" + ", ".join(["{kind: radio, latency: 9, duplicates: 1}"] * 1000) + "]}",
        "messages may bring the disturbances of one robot to at most 10; there are 10",
    ),
    "disturbances that wait for a robot": (
        "{disturbances: [" + ", ".join(["{kind: radio, per_hour: 1, robots: [later]}"] * 11) + "]}",
        "disturbances of one robot to at most 10",
    ),
    "areas that are followed": (
        "{robots: [{name: a, grid: {count: 21}}], disturbances: ["
        + ", ".join(f"{{kind: radio, loss: 0.1, robots: [a_{at}], area: [[0, 0], [9, 0], [9, 9]]}}" for at in range(21))
        + "]}",
        "at most 20 areas in which robots are disturbed",
    ),
    "bodies in one place": (
        "{robots: [{name: r, grid: {count: 3000, columns: 60}, shape: {shape_type: sphere, radius: 50}}]}",
        "100,000 pairs of bodies that touch",
    ),
    "robots of many joints": (
        "{robots: [{name: r, urdf_path: mobile_manipulator, grid: {count: 3000, columns: 60, spacing: [2, 2, 0]}}]}",
        "20,000 joints of robots, this asks for 30,000",
    ),
    "people who come without end": (
        f"{{site: {STATIONS}, people: {{groups: [{{visits: [pick], per_hour: 100000}}]}}}}",
        "10,000 entities, this asks for 100,0",
    ),
    "people who go to many places": (
        f"{{site: {STATIONS}, people: {{groups: [{{count: 1, visits: [pick{', pick' * 9999}]}}]}}}}",
        "cells of the ways of people",
    ),
    "robots and objects": (
        "{robots: [{name: a, grid: {count: 6000}}], objects: [{name: b, grid: {count: 6000}}]}",
        "10,000 entities, this asks for 12,000",
    ),
}


def test_what_messages_add_to_one_robot_counts_together(sim: fs.MultiRobotSimulationCore) -> None:
    radio = {"kind": "radio", "robots": ["there"], "latency": 9.0}

    def disturb(**more: Any) -> None:
        sim.dispatcher.dispatch(Disturb(entry={**radio, **more}, remote=True))

    for _ in range(5):
        disturb()
        disturb(robots=["th*"], lasts=1.0)
    with pytest.raises(InvalidValueError, match="disturbances of one robot to at most 10; there are 10"):
        disturb(robots=["all"])
    sim.run_simulation(1.5)
    disturb()
    sim.spawn(fs.AgentSpawnParams(name="other"))
    for _ in range(10):
        disturb(robots=["other"])
    sim.dispatcher.dispatch(Disturb(entry=radio | {"robots": ["other"]}))


def test_bodies_that_are_apart_come_in(sim: fs.MultiRobotSimulationCore) -> None:
    for columns in (100, 1):
        load(
            sim, f"{{robots: [{{name: r, grid: {{count: 9000, columns: {columns}}}, shape: {{shape_type: sphere}}}}]}}"
        )
        assert len(sim.agents) == 9000
    with pytest.raises(FleetSimError, match="pairs of bodies that touch"):
        spawn(sim, "{name: over_all, grid: {count: 12}, pose: [0, 4000, 0], shape: {shape_type: sphere, radius: 9000}}")


@pytest.mark.parametrize(("text", "figure"), WORLDS.values(), ids=WORLDS)
def test_a_world_beyond_the_budget_is_refused_and_the_old_one_stays(
    sim: fs.MultiRobotSimulationCore, text: str, figure: str
) -> None:
    begin = time.process_time()
    with pytest.raises(FleetSimError, match=figure):
        load(sim, text)
    assert time.process_time() - begin < 4 * QUICK
    assert [agent.name for agent in sim.agents] == ["there"]


def hill(number: int, lines: int = 2, columns: int = 2) -> dict[str, Any]:
    shape = {"shape_type": "heightfield", "heights": [[float(number)] * columns] * (lines - 1) + [[0.0] * columns]}
    return {"objects": [{"name": f"hill_{number}", "pickable": False, "shape": shape}]}


def test_files_that_messages_bring_are_counted(
    sim: fs.MultiRobotSimulationCore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(FleetSimError, match="at most 20,000,000 bytes of files made of shapes"):
        load(sim, hill(1, 600, 800))
    assert not list(tmp_path.rglob("*.obj"))
    monkeypatch.setattr(generated, "FILES", Work(generated.FILES.what, 20e6, generated._from_outside + 1000))
    bring = [Spawn(objects=tuple(hill(number)["objects"]), remote=True) for number in range(1, 30)]
    with pytest.raises(FleetSimError, match=r"messages may bring the bytes of files .* to at most"):
        list(map(sim.dispatcher.dispatch, bring))
    assert 1 < len(list(tmp_path.rglob("*.obj"))) < 20


def test_a_second_message_cannot_add_what_the_first_one_could_not(sim: fs.MultiRobotSimulationCore) -> None:
    spawn(sim, "{name: a, grid: {count: 10}, sensors: [{type: lidar, rays: 90000, rate: 10}]}")
    with pytest.raises(FleetSimError, match="20,000,000; there are 9,000,000, and this asks for 18,000,000 more"):
        spawn(sim, "{name: b, grid: {count: 20}, sensors: [{type: lidar, rays: 90000, rate: 10}]}")
    for robot in list(sim.agents):
        sim.remove_object(robot)
    spawn(sim, "{name: b, grid: {count: 20}, sensors: [{type: lidar, rays: 90000, rate: 10}]}")
    assert len(sim.agents) == 20, "what is gone counts no longer"


def test_states_that_messages_have_kept_are_counted_together(
    sim: fs.MultiRobotSimulationCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (checkpoint.KEPT.most, checkpoint.KEPT.in_all) == (100_000, 1_000_000)
    monkeypatch.setattr(checkpoint, "KEPT", replace(checkpoint.KEPT, in_all=10))
    spawn(sim, f"{{name: r, {DISC}, grid: {{count: 4}}}}")
    save = SaveState(name="first", remote=True)
    # One that takes the place of another asks for no more.
    for name in ("first", "second", "first"):
        sim.dispatcher.dispatch(replace(save, name=name))
    with pytest.raises(InvalidValueError, match="at most 10; there are 10, and this asks for 5 more"):
        sim.dispatcher.dispatch(replace(save, name="third"))
    sim.dispatcher.dispatch(SaveState(name="own"))


def test_worlds_with_usual_plans_come_in(sim: fs.MultiRobotSimulationCore) -> None:
    load(sim, f"{{site: {SITE}, {ROBOTS}}}], traffic: {{planner: lacam}}}}")
    assert len(sim.agents) == 60


@pytest.mark.parametrize("remote", [True, False])
def test_searches_for_a_world_from_outside_have_a_share_of_each_second(
    sim: fs.MultiRobotSimulationCore, monkeypatch: pytest.MonkeyPatch, remote: bool
) -> None:
    asked: list[Problem] = []
    plan = Lacam.plan
    monkeypatch.setattr(Lacam, "plan", lambda self, problem: asked.append(problem) or plan(self, problem))
    text = f"{{site: {SITE}, {ROBOTS}}}], traffic: {{planner: lacam, period: 0.5, time_limit: 1000.0}}}}"
    sim.dispatcher.dispatch(LoadWorld(scenario=yaml.safe_load(text), remote=remote))
    sim.step_once()
    assert asked[-1].most_work == (500_000 if remote else math.inf)


def test_it_is_written_down_what_each_section_draws_from() -> None:
    rows = dict(re.findall(r"^ {4}(\w+) +(.+)$", budget.__doc__ or "", re.MULTILINE))
    sections = {*scenario_schema()["properties"], *FEATURES.names()}
    assert rows.keys() == sections, "a row for each: which work is charged, or why nothing is"
    source = Path(budget.__file__).parents[1]
    declared = {
        name for file in source.rglob("*.py") for name in re.findall(r"^([A-Z]+) = Work\(", file.read_text(), re.M)
    }
    drawn = {name: set(re.findall(r"\b[A-Z]{4,}\b", text)) for name, text in rows.items()}
    assert set.union(*drawn.values()) == declared
    assert all(bool(drawn[name]) != text.startswith("nothing: ") or ";" in text for name, text in rows.items())


def test_the_operator_has_no_budget(sim: fs.MultiRobotSimulationCore) -> None:
    spawn(sim, "{name: a, grid: {count: 10001, spacing: [0.1, 0.1, 0]}}", remote=False)
    spawn(sim, f"{{name: b, sensors: [{BIG_CAMERA}]}}", remote=False)
    assert len(sim.agents) == 10_003


def test_the_work_of_one_request_adds_up_and_ends_with_it() -> None:
    steps = Work("steps", 10, in_all=15)
    steps.charge(1e9)
    for _ in range(2):
        with from_outside():
            steps.charge(6)
            with pytest.raises(InvalidValueError, match="at most 10 steps, this asks for 12"):
                steps.charge(6)
            steps.check(4)
            steps.charge(4)
            with pytest.raises(InvalidValueError, match="at most 10 steps, this asks for 11"):
                steps.check(1)
            steps.charge(0, there=1000)
    with from_outside(), pytest.raises(InvalidValueError, match="at most 15; there are 9, and this asks for 7 more"):
        steps.charge(7, there=9)
    with from_outside(), pytest.raises(InvalidValueError):
        steps.charge(float("nan"))


BAD_NAMES = {
    "long": "n" * (LONGEST_NAME + 1),
    "very long": "n" * 90_000,
    "a line break": "a\nb",
    "an escape": "\x1b[31mred",
    "a null": "a\0b",
    "a turn of direction": "a\u202eb",
    "half a character": "\ud800",
}


@pytest.mark.parametrize("name", BAD_NAMES.values(), ids=BAD_NAMES)
def test_names_from_outside_are_short_and_printable(sim: fs.MultiRobotSimulationCore, name: str) -> None:
    for entry in ({"name": name}, {"name": "r", "sensors": [{"type": "imu", "name": name}]}):
        with pytest.raises(FleetSimError, match="at most 255 printable characters") as caught:
            sim.dispatcher.dispatch(Spawn(robots=(entry,), remote=True))
        assert len(str(caught.value)) < 400
        assert str(caught.value).isprintable()
        with pytest.raises(ConfigError, match="at most 255 printable characters"):
            sim.dispatcher.dispatch(LoadWorld(scenario={"robots": [entry]}, remote=True))
    sim.features.use("disturbances")
    for entry, id in (({"kind": "breakdown"}, name), ({"kind": "breakdown", "name": name}, "")):
        with pytest.raises(FleetSimError, match="at most 255 printable characters"):
            sim.dispatcher.dispatch(Disturb(entry=entry, id=id, remote=True))
    assert [agent.name for agent in sim.agents] == ["there"]


@pytest.mark.parametrize("name", ["n" * LONGEST_NAME, "Zoë 7", "机器人", "a b"])
def test_other_names_are_taken(sim: fs.MultiRobotSimulationCore, name: str) -> None:
    sim.dispatcher.dispatch(Spawn(robots=({"name": name},), remote=True))
    assert sim.agents[-1].name == name


def test_names_in_python_stay_free(sim: fs.MultiRobotSimulationCore) -> None:
    for name in ("n" * 100_000, "a\nb"):
        check_name(name)
        assert sim.spawn(fs.AgentSpawnParams(name=name)).name == name

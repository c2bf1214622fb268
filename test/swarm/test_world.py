"""The order of document 004, event by event; what a world holds; when it stops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fleet_sim.apps.cli.main import main
from fleet_sim.base.errors import ConfigError, DuplicateNameError, StateError
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.swarm import (
    BinaryController,
    BinaryFOVSensor,
    Circliness,
    MazeAgentConfig,
    RectangularWorldConfig,
    config_from_dict,
    config_from_yaml,
    run_sim,
    world_from_config,
)
from fleet_sim.swarm.agents import Controller, MazeAgent, Sensor, SwarmAgent
from fleet_sim.swarm.members import Spawner
from fleet_sim.swarm.swarm_state import Metric
from fleet_sim.swarm.world import RectangularWorld, World_from_config

EVENTS: list[str] = []


class LoggedController(Controller):
    def __init__(self, label: str) -> None:
        self.label = label
        EVENTS.append(f"make controller {label}")

    def get_actions(self, agent: SwarmAgent) -> tuple[float, float]:
        EVENTS.append(f"controller {agent.name} at {agent.x_pos:.1f}")
        return 1.0, 0.0


class LoggedSensor(Sensor):
    def __init__(self, label: str) -> None:
        self.label = label
        EVENTS.append(f"make sensor {label}")

    def step(self, agent: SwarmAgent) -> int:
        EVENTS.append(f"sensor {self.label} of {agent.name} at {agent.x_pos:.1f}")
        return 1


class LoggedSpawner(Spawner):
    def __init__(self, world: RectangularWorld, oneshot: bool = False, mark: bool = False) -> None:
        super().__init__(world)
        self.oneshot, self.mark = oneshot, mark
        EVENTS.append("make spawner")

    def step(self) -> None:
        EVENTS.append("spawner")
        self.mark_for_deletion = self.mark


class LoggedMetric(Metric):
    def __init__(self, **base: Any) -> None:
        super().__init__(**base)
        EVENTS.append("make metric")

    def calculate(self) -> None:
        assert self.world is not None
        EVENTS.append(f"metric sees {[round(agent.x_pos, 1) for agent in self.world.population]}")
        self.set_value(self.world.steps)


def agent(name: str, x: float) -> dict[str, Any]:
    return {
        "type": "MazeAgent",
        "name": name,
        "position": [x, 2],
        "controller": {"type": LoggedController, "label": name},
        "sensors": [{"type": LoggedSensor, "label": "s0"}, {"type": LoggedSensor, "label": "s1"}],
    }


def logged_world(update: str = "together", **more: Any) -> RectangularWorld:
    EVENTS.clear()
    config = {
        "time_step": 0.1,
        "update": update,
        "agents": [agent("a", 1.0), agent("b", 3.0)],
        "spawners": [{"type": LoggedSpawner}],
        "objects": [{**agent("o", 4.0), "controller": {"type": LoggedController, "label": "o"}}],
        "metrics": [LoggedMetric],
        **more,
    }
    return World_from_config(config)


def test_a_world_is_set_up_in_the_order_of_the_document() -> None:
    world = logged_world()
    assert EVENTS == [] and not world.population
    world.setup()
    sensors = ["make sensor s0", "make sensor s1"]
    assert [
        *("make controller a", *sensors),
        *("make controller b", *sensors),
        "make spawner",
        *("make controller o", *sensors),
        "make metric",
        "spawner",
    ] == EVENTS
    assert [member.name for member in world.population] == ["a", "b"]
    assert [thing.name for thing in world.objects] == ["o"]
    first = world.population[0]
    assert first.world is world and first.controller.agent is first
    assert [sensor.agent for sensor in first.sensors] == [first, first]


def test_stepping_the_spawners_in_setup_can_be_left_out() -> None:
    world = logged_world()
    world.setup(step_spawners=False)
    assert "spawner" not in EVENTS
    with pytest.raises(StateError, match=r"setup\(\) was called already; reset"):
        world.setup()


A_SENSES = ["sensor s0 of a at 1.1", "sensor s1 of a at 1.1"]
B_SENSES = ["sensor s0 of b at 3.1", "sensor s1 of b at 3.1"]
OBJECT = ["controller o at 4.0", "sensor s0 of o at 4.1", "sensor s1 of o at 4.1"]


@pytest.mark.parametrize(
    ("update", "agents"),
    [
        ("together", ["controller a at 1.0", "controller b at 3.0", *A_SENSES, *B_SENSES]),
        ("in_turn", ["controller a at 1.0", *A_SENSES, "controller b at 3.0", *B_SENSES]),
    ],
)
def test_a_step_is_in_the_order_of_the_document(update: str, agents: list[str]) -> None:
    world = logged_world(update)
    world.setup()
    world.subscribers.append(lambda world: EVENTS.append(f"subscriber at {world.steps}"))
    EVENTS.clear()
    world.step()
    assert ["spawner", *agents, *OBJECT, "metric sees [1.1, 3.1]", "subscriber at 1"] == EVENTS
    assert world.metrics[0].value_history[-1] == 0


def test_spawners_go_after_their_first_step_or_when_they_say_so() -> None:
    world = logged_world(spawners=[{"type": LoggedSpawner, "oneshot": True}, {"type": LoggedSpawner, "mark": True}])
    world.setup(step_spawners=False)
    world.spawners.append(LoggedSpawner(world))
    assert len(world.spawners) == 3
    world.step()
    assert len(world.spawners) == 1


def test_in_turn_a_later_agent_sees_where_an_earlier_one_went() -> None:
    class Follower(Controller):
        def get_actions(self, agent: SwarmAgent) -> tuple[float, float]:
            return agent.world.population[0].x_pos, 0.0

    def second_after(update: str) -> float:
        shared = {"type": "MazeAgent", "controller": Follower}
        agents = [{**shared, "position": [1, 1]}, {**shared, "position": [1, 2]}]
        world = RectangularWorld({"time_step": 0.5, "update": update, "agents": agents})
        world.setup()
        world.step()
        return world.population[1].x_pos

    assert second_after("together") == pytest.approx(1.5)
    assert second_after("in_turn") == pytest.approx(1.75)


def test_an_agent_type_with_a_step_of_its_own_is_stepped_by_it() -> None:
    class Jumper(MazeAgent):
        def step(self) -> None:
            super().step()
            self.place((self.x_pos, self.y_pos + 1.0), self.angle)

    world = RectangularWorld({"time_step": 0.1, "agents": [{**agent("a", 1.0), "type": Jumper}]})
    world.setup()
    EVENTS.clear()
    world.step()
    assert EVENTS == ["controller a at 1.0", "sensor s0 of a at 1.1", "sensor s1 of a at 1.1"]
    assert world.population[0].position == pytest.approx([1.1, 3.0])


def test_the_step_of_the_simulation_is_the_step_of_the_world() -> None:
    first, second = logged_world(), logged_world()
    first.setup()
    second.setup()
    for _ in range(5):
        first.step()
        second.sim.step_once()
    assert first.sim.state_hash() == second.sim.state_hash()
    assert first.steps == second.steps == second.sim.step_count == 5
    assert [row.handle.name for row in first.population] == [robot.name for robot in first.sim.agents[:2]]


def test_a_simulation_holds_one_world() -> None:
    sim = MultiRobotSimulationCore()
    world = RectangularWorld({}, sim)
    assert sim.get_manager("swarm") is world
    with pytest.raises(DuplicateNameError):
        RectangularWorld({}, sim)


@pytest.mark.parametrize(
    ("stop_at", "steps"),
    [
        (7, 7),
        ("world.total_steps >= 3", 3),
        ("steps >= 5 and steps_seen > 0", 5),
        ("time > 0.35", 4),
        (lambda world: world.steps == 3, 3),
    ],
)
def test_stop_at(stop_at: Any, steps: int) -> None:
    world = logged_world(stop_at=stop_at, metrics=[{"type": LoggedMetric, "name": "steps_seen"}])
    averages = world.evaluate(100)
    assert world.stopped and world.steps == steps
    assert averages == {"steps_seen": (steps - 1) / 2}


def test_lists_left_empty_hold_nothing(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text("agents:\nspawners:\nobjects:\ngoals:\nmetrics:\nsubscribers:\n", encoding="utf-8")
    world = World_from_config(path)
    world.evaluate(2)
    assert not world.population and world.total_steps == 2


def test_a_running_simulation_ends_where_its_world_stops() -> None:
    world = logged_world(stop_at=6)
    world.setup()
    report = world.sim.run_simulation()
    assert (report.reason, report.steps) == ("stopped", 6)


def test_removing_an_agent_in_the_middle_of_a_step() -> None:
    class Killer(Controller):
        def get_actions(self, agent: SwarmAgent) -> tuple[float, float]:
            victims = [other for other in agent.world.population if other is not agent]
            if agent.name == "a" and victims:
                agent.world.remove(victims)
            return 1.0, 0.0

    for update in ("together", "in_turn"):
        agents = [{**agent(name, 1.0 + index), "controller": Killer} for index, name in enumerate("bac")]
        world = RectangularWorld({"agents": agents, "update": update})
        world.setup()
        first = world.population[0]
        world.evaluate(3)
        assert [member.name for member in world.population] == ["a"]
        assert len(world.everyone) == 1 and not first.is_alive
        assert repr(first) == "<MazeAgent b (removed)>"
        world.reset()
        assert [member.name for member in world.population] == ["b", "a", "c"]


# ---- Settings of worlds from files, written back, and worlds made from them again ------------------------------------


MILL = """
type: RectangularWorld
size: [8, 8]
time_step: !np 1 / 40
seed: 5
agents:
spawners:
- type: UniformAgentSpawner
  n: 6
  facing: away
  region: [[3, 3], [5, 3], [5, 5], [3, 5]]
  agent:
    type: MazeAgent
    agent_radius: 0.1
    sensors: [{type: BinaryFOVSensor, theta: 0.33, distance: 2, false_negative: 0.1}]
    controller: {type: BinaryController, a: [0.27, -0.6], b: [0.27, 0.6]}
metrics: [circliness]
"""


class Own(RectangularWorld):
    """A world of ones own."""


class Other(RectangularWorld):
    """Another one."""


class Onwards(Controller):
    def __init__(self, speed: float = 0.1) -> None:
        self.speed = speed

    def get_actions(self, agent: Any) -> tuple[float, float]:
        return self.speed, 0.1


def hash_after(world: RectangularWorld, steps: int = 40) -> str:
    world.evaluate(steps)
    return world.sim.state_hash()


def written(folder: Path, text: str, name: str = "world.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_world_is_written_and_made_again_with_the_same_run(tmp_path: Path) -> None:
    config = config_from_yaml(written(tmp_path, MILL))
    config.save_yaml(tmp_path / "again.yaml")
    again = config_from_yaml(tmp_path / "again.yaml")
    assert isinstance(again, RectangularWorldConfig)
    worlds = [config.create_world(), again.create_world(), config_from_dict(config.as_dict()).create_world()]
    worlds += [world_from_config(RectangularWorldConfig.from_yamls(config.to_yaml()))]
    assert len({hash_after(world) for world in worlds}) == 1
    assert config.as_dict()["collide_walls"] is True
    assert "collide_walls" not in config.to_yaml()


def test_what_was_made_in_code_is_written_as_entries(tmp_path: Path) -> None:
    fov = BinaryFOVSensor(theta=0.4, distance=2.5)
    metric = Circliness(avg_history_max=30)
    controller = BinaryController([0.2, -0.5, 0.2, 0.5])
    controller.b = np.array([0.2, 0.25])
    agent = MazeAgentConfig(position=(1 / 3, 2), agent_radius=0.1, controller=controller, sensors=[fov])
    spawner = {"type": "grid", "n": 3, "agent": MazeAgentConfig(controller={"type": Onwards, "speed": 0.3})}
    config = RectangularWorldConfig(agents=[agent], spawners=[spawner], metrics=[metric], stop_at="steps >= 30")
    config.save_yaml(tmp_path / "code.yaml")
    assert hash_after(World_from_config(tmp_path / "code.yaml")) == hash_after(config.create_world())
    entry = config.as_dict()["agents"][0]
    assert entry["position"] == [1 / 3, 2.0]
    assert entry["controller"] == {"type": "BinaryController", "a": [0.2, -0.5], "b": [0.2, 0.25]}
    assert entry["sensors"] == [{"type": "BinaryFOVSensor", "theta": 0.4, "distance": 2.5}]


def test_a_spawner_of_an_agent_is_written_as_that_agent(tmp_path: Path) -> None:
    world = RectangularWorld()
    agent = MazeAgent(MazeAgentConfig(position=(1, 1), agent_radius=0.1), world)
    agent.controller = BinaryController((0.1, 0.0), (0.2, 0.0))
    config = RectangularWorldConfig(spawners=[{"type": "point", "n": 2, "agent": agent}])
    entry = config.as_dict()["spawners"][0]["agent"]
    assert entry["type"] == "MazeAgent"
    assert entry["controller"] == {"type": "BinaryController", "a": [0.1, 0.0], "b": [0.2, 0.0]}


def test_a_world_of_ones_own_is_made_again_as_such() -> None:
    world = Own({"size": [3, 3]})
    text = world.config.to_yaml()
    assert "test_world:Own" in text
    assert type(world_from_config(RectangularWorldConfig.from_yamls(text))) is Own
    with pytest.raises(ConfigError, match="settings of Other, not of Own"):
        Own({"type": Other})


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"stop_at": lambda world: True}, "stop_at: .* is an object and cannot be written"),
        ({"agents": [{"type": "MazeAgent", "controller": Onwards()}]}, r"agents\[0\].controller"),
        ({"agents": [{"type": type("Here", (MazeAgent,), {"__qualname__": "f.<locals>.Here"})}]}, "into a module"),
    ],
)
def test_code_cannot_be_written_and_the_error_names_the_key(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        RectangularWorldConfig(**settings).to_yaml()


def test_a_template_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"line 2: .* is of a Jinja template, which is not read here"):
        config_from_yaml(written(tmp_path, "type: RectangularWorld\nsize: [<{ width }>, 3]\n"))


def test_of_several_documents_the_world_is_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, f"---\nexpected: true\n---\n{MILL}...\n")
    assert len(run_sim(path, show_gui=False, steps=2).population) == 6
    assert main(["swarm", str(path), "--steps", "2"]) == 0
    assert "6 agents, 2 steps" in capsys.readouterr().out
    with pytest.raises(ConfigError, match="holds 2 documents, of which 0 have a `type`"):
        World_from_config(written(tmp_path, "a: 1\n---\nb: 2\n"))
    with pytest.raises(ConfigError, match="of which 2"):
        World_from_config(written(tmp_path, f"{MILL}---\n{MILL}"))
    with pytest.raises(ConfigError, match="is empty"):
        World_from_config(written(tmp_path, ""))


@pytest.mark.parametrize(("degrees", "seen"), [(0, True), (80, True), (-95, True), (150, False), (180, False)])
def test_a_file_with_its_expectation_beside_the_world(tmp_path: Path, degrees: int, seen: bool) -> None:
    text = f"""---
can_see: {str(seen).lower()}
---
type: "RectangularWorld"
size: [5, 5]
time_step: !np 1 / 40
agents:
  - type: "MazeAgent"
    position: !np [5, 5] / 2
    name: "looker"
    angle: 0.0
    agent_radius: 0.175
    sensors:
      - type: "BinaryFOVSensor"
        theta: !np deg2rad(90)
        distance: 1.5
  - type: "MazeAgent"
    position: [!np 2.5 + 1.2 * cos(deg2rad({degrees})), !np 2.5 + 1.2 * sin(np.deg2rad({degrees}))]
    agent_radius: 0.175
...
"""
    world = run_sim(written(tmp_path, text), show_gui=False, stop_detection=lambda world: world.total_steps == 1)
    assert world.agent_named("looker").sensors[0].current_state == seen

"""Settings of worlds from files and templates, written back, and worlds made from them again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fleet_sim.apps.cli.main import main
from fleet_sim.base.errors import ConfigError
from fleet_sim.swarm import (
    BinaryController,
    BinaryFOVSensor,
    Circliness,
    Controller,
    MazeAgent,
    MazeAgentConfig,
    RectangularWorld,
    RectangularWorldConfig,
    World_from_config,
    config_from_dict,
    config_from_yaml,
    run_sim,
    world_from_config,
)

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
    assert "test_world_files:Own" in text
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


def test_a_template_takes_values(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    size = "#%> set height = width / 2\nsize:\n- <{ width }>\n- <{ height }>\n"
    path = written(tmp_path, f"type: RectangularWorld\n{size}seed: <{{ seed|default(3) }}>\n")
    assert config_from_yaml(path, width=6).size == (6.0, 3.0)
    assert RectangularWorldConfig.from_yaml(path, width=6, seed=4).seed == 4
    with pytest.raises(ConfigError, match="'width' is undefined"):
        config_from_yaml(path)
    with pytest.raises(ConfigError, match="Did you mean 'width'"):
        config_from_yaml(path, width=6, widht=7)
    assert main(["swarm", str(path), "--steps", "1", "--set", "width=6", "--set", "time_step=0.5"]) == 0


def test_values_for_a_file_that_is_no_template_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="width: it is not a template"):
        config_from_yaml(written(tmp_path, MILL), width=6)


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

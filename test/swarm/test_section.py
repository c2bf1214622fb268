"""A swarm world in a scenario: the simulation, the command line and the ROS node open it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fresh_python import words_of

import fleet_sim as fs
from fleet_sim.apps.cli.main import main
from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import ConfigError
from fleet_sim.base.settings import load_mapping
from fleet_sim.robots.dispatch import LoadWorld
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.swarm.agents import Controller, Group
from fleet_sim.swarm.world import RectangularWorld, World_from_config

WORLD: dict[str, Any] = {
    "type": "RectangularWorld",
    "time_step": 0.1,
    "seed": 5,
    "size": [8, 6],
    "spawners": [
        {
            "type": "uniform",
            "n": 12,
            "facing": "random",
            "agent": {"type": "MazeAgent", "agent_radius": 0.1, "controller": f"{__name__}:Circles"},
        }
    ],
}


class Circles(Controller):
    def act(self, group: Group) -> Floats:
        return group.rng.uniform(0.1, 0.3, (len(group), 2))


WORLD["spawners"][0]["agent"]["controller"] = Circles


def headless(config: dict[str, Any], **simulation: Any) -> MultiRobotSimulationCore:
    return MultiRobotSimulationCore.from_dict({"simulation": {"gui": False, **simulation}, **config})


def world_in_sim(sim: MultiRobotSimulationCore) -> RectangularWorld:
    world: RectangularWorld = sim.get_manager("swarm")
    return world


def test_a_simulation_opens_a_world_and_runs_it_as_the_world_itself_does() -> None:
    world = World_from_config(WORLD)
    world.evaluate(20)
    sim = headless({"swarm": WORLD})
    for _ in range(20):
        sim.step_once()
    assert sim.state_hash() == world.sim.state_hash()
    assert len(sim.agents) == 12 and len(world_in_sim(sim).population) == 12
    assert sim.params.timestep == 0.1 and sim.params.seed == 5


def test_settings_of_the_simulation_take_precedence() -> None:
    sim = headless({"swarm": WORLD}, seed=9, timestep=0.05)
    assert world_in_sim(sim).seed == 9 and world_in_sim(sim).dt == 0.05


def test_robots_and_a_swarm_share_a_simulation() -> None:
    robot = {"name": "r", "pose": [20, 20, 0], "shape": {"shape_type": "box"}}
    sim = headless({"swarm": WORLD, "robots": [robot]})
    goal = sim.get_object("r")
    goal.set_velocity(vx=1.0)
    for _ in range(10):
        sim.step_once()
    assert goal.position[0] > 20.4
    assert len(world_in_sim(sim).population) == 12


def test_reset_brings_the_swarm_back() -> None:
    sim = headless({"swarm": WORLD})

    def run() -> str:
        for _ in range(15):
            sim.step_once()
        return sim.state_hash()

    first = run()
    sim.reset()
    assert world_in_sim(sim).steps == 0
    assert run() == first


def test_commands_from_outside_move_agents_that_decide_nothing() -> None:
    still = {"type": "MazeAgent", "agent_radius": 0.1, "name": "driven", "position": [1, 1]}
    sim = headless({"swarm": {**WORLD, "spawners": [], "agents": [still]}})
    sim.get_object("driven").set_velocity(vx=0.5)
    for _ in range(10):
        sim.step_once()
    assert world_in_sim(sim).population[0].position == pytest.approx([1.5, 1.0])


def test_a_file_of_a_bare_world_is_a_scenario(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "world.yaml"
    path.write_text(
        "type: RectangularWorld\ntime_step: !np 1 / 8\nagents:\n- {type: MazeAgent, angle: !np pi / 2}\n",
        encoding="utf-8",
    )
    sim = MultiRobotSimulationCore.from_dict({"simulation": {"gui": False}, "swarm": load_mapping(path)})
    assert sim.params.timestep == 0.125
    assert main(["run", str(path), "--headless", "--duration", "1", "--rtf", "0"]) == 0
    assert "1 robot, 8 steps" in capsys.readouterr().out
    assert main(["check", str(path)]) == 0


def test_what_is_wrong_is_said_with_file_and_key() -> None:
    with pytest.raises(ConfigError, match=r"f.yaml: swarm.sizes: unknown key. Did you mean 'size'"):
        MultiRobotSimulationCore.from_dict({"swarm": {"sizes": 1}}, source="f.yaml")
    config = {"simulation": {"gui": False}, "swarm": {"spawners": [{"type": "uniform"}]}}
    with pytest.raises(ConfigError, match=r"f.yaml: swarm.spawners\[0\]: .*'agent' is missing"):
        MultiRobotSimulationCore.from_dict(config, source="f.yaml")
    with pytest.raises(ConfigError, match=r"f.yaml: swarm: must be a mapping"):
        MultiRobotSimulationCore.from_dict({"swarm": [1]}, source="f.yaml")


def test_reading_the_settings_of_a_swarm_scenario_loads_no_simulation() -> None:
    code = (
        "import sys; from fleet_sim.base.params import SimulationParams as P;"
        "P.from_dict({'simulation': {'timestep': 0.5}, 'swarm': {'type': 'RectangularWorld'}});"
        "print(*(name for name in sys.modules if name.startswith(('fleet_sim.simulation', 'fleet_sim.swarm'))))"
    )
    assert words_of(code) == []


WANDERERS: dict[str, Any] = {
    "type": "RectangularWorld",
    "size": [20, 20],
    "metrics": ["Polarization"],
    "spawners": [{"type": "UniformAgentSpawner", "n": 6, "agent": {"type": "MazeAgent", "controller": Circles}}],
}


def run_of(sim: fs.MultiRobotSimulationCore) -> list[str]:
    """Return the hashes of ten steps."""
    hashes = []
    for _ in range(10):
        sim.step_once()
        hashes.append(sim.state_hash())
    return hashes


def test_a_loaded_world_takes_the_place_of_another_and_runs_as_the_first_one() -> None:
    with fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, monitor=False)) as sim:
        systems = [system.name for system in sim.pipeline.systems]
        runs = []
        for remote in (False, True, True):
            sim.dispatcher.dispatch(LoadWorld(scenario={"swarm": WANDERERS}, remote=remote))
            assert len(sim.get_manager("swarm").population) == 6
            runs.append(run_of(sim))
        assert runs[0] == runs[1] == runs[2]
        sim.save_state()
        before = len(sim.world)
        for wrong in ({"agents": [{"type": "NoSuchAgent"}]}, {"metrics": ["NoSuchMetric"]}, {"size": [-1, 0]}):
            with pytest.raises(fs.FleetSimError):
                sim.dispatcher.dispatch(LoadWorld(scenario={"swarm": {**WANDERERS, **wrong}}, remote=True))
            assert len(sim.world) == before, "what cannot be loaded leaves what was there"
            assert len(run_of(sim)) == 10
        sim.dispatcher.dispatch(LoadWorld(scenario={"robots": [{"name": "r"}]}, remote=True))
        assert [system.name for system in sim.pipeline.systems] == systems, "nothing of it is left"
        assert len(run_of(sim)) == 10
        with pytest.raises(fs.FleetSimError):
            sim.get_manager("swarm")

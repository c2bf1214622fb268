"""A feature is a folder: it brings columns, a key, a system, a command, and no other part knows its name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import load_feature
import numpy as np
import pytest
from load_feature import FEATURE, Drop, LoadSettings
from small_world import MakeSim

from fleet_sim import (
    AgentSpawnParams,
    ConfigError,
    MultiRobotSimulationCore,
    Pose,
    SimObjectSpawnParams,
    StateError,
    UnknownNameError,
)
from fleet_sim.world.commands import COMMANDS
from fleet_sim.world.features import FEATURES

Sim = MultiRobotSimulationCore


@pytest.fixture(autouse=True)
def load() -> Iterator[None]:
    """Let there be a feature `load`: what an entity carries grows by itself."""
    FEATURES.register("load", FEATURE)
    COMMANDS.register("drop_load", Drop)
    yield
    COMMANDS.unregister("drop_load")
    FEATURES.unregister("load")


def robots(sim: Sim, count: int = 2, **settings: Any) -> list[Any]:
    return sim.spawn_all(
        [AgentSpawnParams(name=f"r{i}", initial_pose=Pose((float(i), 0, 0)), **settings) for i in range(count)]
    )


def scenario(**entry: Any) -> dict[str, Any]:
    return {"simulation": {"gui": False, "timestep": 0.1}, "robots": [{"name": "r", **entry}]}


def test_a_simulation_has_nothing_of_a_feature_before_its_first_use(sim: Sim) -> None:
    systems = sim.pipeline.systems
    robots(sim)
    sim.step_once()
    assert sim.features.used == () and "load" not in sim.world.tables and sim.pipeline.systems == systems
    sim.spawn(SimObjectSpawnParams(name="crate", features={"load": {"mass": 2.0}}))
    assert sim.features.used == ("load",) and "load" in sim.world.tables
    names = [system.name for system in sim.pipeline.systems]
    assert names[names.index("motion") + 1] == "load"


def test_a_spawn_fills_the_columns_and_the_system_runs(sim: Sim) -> None:
    first, second = robots(sim, features={"load": LoadSettings(mass=1.5)})
    other = sim.spawn(AgentSpawnParams(name="plain"))
    for _ in range(4):
        sim.step_once()
    assert first.feature("load") == second.feature("load") == {"present": True, "mass": pytest.approx(1.9)}
    with pytest.raises(StateError, match="'plain' has no load"):
        other.feature("load")
    with pytest.raises(UnknownNameError, match="'load'"):
        other.feature("laod")


def test_the_key_of_a_scenario_works_from_yaml_to_the_hash(tmp_path: Path) -> None:
    path = tmp_path / "load.yaml"
    text = "simulation: {gui: false, timestep: 0.1}\nrobots: [{name: r, grid: {count: 3}, load: {mass: %s}}]\n"

    def run(mass: float) -> str:
        path.write_text(text % mass, encoding="utf-8")
        with Sim.from_yaml(path) as sim:
            sim.step_once()
            assert sim.get_object("r_2").feature("load")["mass"] == mass + 0.1
            return sim.state_hash()

    assert run(2.0) == run(2.0) != run(3.0)


def test_keys_are_checked_as_all_others() -> None:
    for entry, message in (
        ({"laod": {"mass": 1.0}}, r"robots\[0\].laod: unknown key. Did you mean 'load'"),
        ({"load": {"mas": 1.0}}, r"robots\[0\].load.mas: unknown key. Did you mean 'mass'"),
        ({"load": {"mass": -1.0}}, r"robots\[0\].load.mass: must be"),
        ({"features": {"load": {"mass": -1.0}}}, r"robots\[0\].features.load.mass: must be"),
        ({"features": {"laod": {}}}, r"robots\[0\].features: unknown feature 'laod'. Did you mean 'load'"),
        ({"load": {}, "features": {"load": {}}}, r"robots\[0\].load: given twice"),
    ):
        with pytest.raises(ConfigError, match=message):
            Sim.from_dict(scenario(**entry))
    with pytest.raises(ConfigError, match=r"load\.mass: must be"):
        AgentSpawnParams(features={"load": {"mass": "heavy"}})
    with pytest.raises(ConfigError, match="'load'"):
        AgentSpawnParams(features={"laod": {}})


def test_a_refused_spawn_leaves_the_feature_unused(sim: Sim) -> None:
    robots(sim, 1)
    before = sim.state_hash()
    with pytest.raises(ValueError, match="r0"):
        robots(sim, 1, features={"load": {}})
    assert sim.features.used == () and sim.state_hash() == before


def test_what_nobody_has_is_not_in_the_hash(make_sim: MakeSim) -> None:
    plain, used = make_sim(), make_sim()
    for sim in (plain, used):
        robots(sim)
    used.features.use("load")
    assert used.state_hash() == plain.state_hash()
    used.features.give("load", np.array([used.get_object("r0").row]), {"mass": 1.0})
    assert used.state_hash() != plain.state_hash()
    used.features.take("load", used.world.rows)
    assert used.state_hash() == plain.state_hash()


def test_rows_are_used_again_without_the_feature(sim: Sim) -> None:
    robot = robots(sim, 1, features={"load": {"mass": 1.0}})[0]
    row = robot.row
    sim.remove_object(robot)
    sim.step_once()
    new = sim.spawn(AgentSpawnParams(name="new"))
    assert new.row == row
    with pytest.raises(StateError):
        new.feature("load")


def test_saved_states_hold_it_also_those_from_before_its_first_use(sim: Sim) -> None:
    first, _ = robots(sim)
    empty, empty_hash = sim.save_state(), sim.state_hash()
    sim.features.give("load", sim.world.rows, {"mass": 1.0})
    sim.step_once()
    loaded, loaded_hash = sim.save_state(), sim.state_hash()
    for _ in range(3):
        sim.step_once()
    end = sim.state_hash()
    sim.restore_state(loaded)
    assert sim.state_hash() == loaded_hash and first.feature("load")["mass"] == 1.1
    assert sim.features.use("load").steps == 1
    for _ in range(3):
        sim.step_once()
    assert sim.state_hash() == end
    sim.restore_state(empty)
    assert sim.state_hash() == empty_hash and sim.features.use("load").steps == 0
    with pytest.raises(StateError):
        first.feature("load")


def test_commands_of_a_feature_reach_it_at_its_first_use_too(sim: Sim) -> None:
    robots(sim, 1)
    answer = sim.inbox.put(Drop(names=("r0", "ghost")))
    sim.step_once()
    assert answer.result().rejected == {"ghost": "unknown robot", "r0": "it has no load"}
    sim.features.give("load", sim.world.rows, {"mass": 5.0})
    answer = sim.inbox.put(Drop.from_dict(Drop(names=("r0",)).to_dict()))
    sim.step_once()
    assert answer.result().ok and sim.get_object("r0").feature("load")["mass"] == 0.1


def test_a_feature_that_cannot_start_leaves_no_table(sim: Sim) -> None:
    class Broken(type(FEATURE)):  # type: ignore[misc]
        def start(self, host: Any, table: Any) -> object:
            raise StateError("no luck")

    FEATURES.register("broken", Broken())
    try:
        with pytest.raises(StateError, match="no luck"):
            sim.features.use("broken")
    finally:
        FEATURES.unregister("broken")
    assert "broken" not in sim.world.tables and sim.features.used == ()


@pytest.mark.slow
def test_a_folder_beside_the_package_is_enough(tmp_path: Path) -> None:
    """From the file of another distribution to `schema`, `check`, `run` and the hash."""
    (tmp_path / "theirs.py").write_text(Path(load_feature.__file__).read_text(encoding="utf-8"), encoding="utf-8")
    info = tmp_path / "theirs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n", encoding="utf-8")
    points = "[fleet_sim.features]\nload = theirs:FEATURE\n[fleet_sim.command]\ndrop_load = theirs:Drop\n"
    (info / "entry_points.txt").write_text(points, encoding="utf-8")
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text("robots: [{name: r, load: {mass: 2.0}}]\n", encoding="utf-8")
    bad.write_text("robots: [{name: r, load: {mas: 2.0}}]\n", encoding="utf-8")

    def fleet_sim(*arguments: str, code: int = 0) -> str:
        command = [sys.executable, "-m", "fleet_sim.apps.cli.main", *arguments]
        environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    entry = json.loads(fleet_sim("schema"))["properties"]["robots"]["items"]["properties"]
    assert entry["load"]["properties"]["mass"]["minimum"] == 0
    assert entry["features"]["properties"]["load"] == entry["load"]
    assert "OK" in fleet_sim("check", str(good))
    assert "robots[0].load.mas: unknown key. Did you mean 'mass'?" in fleet_sim("check", str(bad), code=1)
    run = ("run", str(good), "--duration", "0.2", "--rtf", "0", "--headless", "--hash", "--set")
    assert "state hash" in fleet_sim(*run, "simulation.seed=1")

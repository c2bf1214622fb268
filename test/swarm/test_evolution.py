"""Searching parameters: it finds them, the same ones in any number of processes, and goes on where it stopped."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import ConfigError
from fleet_sim.swarm.agents import Controller, Group
from fleet_sim.swarm.evolution import evolve, load_search
from fleet_sim.swarm.swarm_state import Metric

OWN_MODULE = """
import numpy as np
from fleet_sim.swarm.agents import Controller
from fleet_sim.swarm.swarm_state import Metric

class Drive(Controller):
    def __init__(self, action):
        self.action = action
    def act(self, group):
        return np.tile(self.action, (len(group), 1))

class Miss(Metric):
    def calculate(self):
        self.set_value(np.hypot(*(self.world.everyone.positions[0] - [3.0, 2.0])))
"""

TURN = {"agents[0].controller.action[1]": {"low": -2.0, "high": 2.0, "start": 1.0}}
SEARCH = {
    "world": "world.yaml",
    "parameters": {"agents[0].controller.action[0]": {"low": -1.0, "high": 1.0}, **TURN},
    "metric": "Miss",
    "value": "last",
    "goal": "minimize",
    "steps": 20,
    "seeds": [0, 1],
    "generations": 4,
    "population": 6,
}


class Drive(Controller):
    def __init__(self, action: Any) -> None:
        self.action = action

    def act(self, group: Group) -> Floats:
        import numpy as np

        return np.tile(self.action, (len(group), 1))


class Miss(Metric):
    def calculate(self) -> None:
        import numpy as np

        assert self.world is not None
        self.set_value(float(np.hypot(*(self.world.everyone.positions[0] - [3.0, 2.0]))))


WORLD = {
    "time_step": 0.1,
    "agents": [{"type": "MazeAgent", "position": [1, 1], "controller": {"type": Drive, "action": [0.0, 0.0]}}],
    "metrics": [Miss],
}


def command(folder: Path, *options: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "fleet_sim.apps.cli.main", "evolve", "search.yaml", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "own.py").write_text(OWN_MODULE, encoding="utf-8")
    agent = {"type": "MazeAgent", "position": [1, 1], "controller": {"type": "own:Drive", "action": [0.0, 0.0]}}
    world = {"type": "RectangularWorld", "time_step": 0.1, "agents": [agent], "metrics": ["own:Miss"]}
    (tmp_path / "world.yaml").write_text(yaml.safe_dump(world), encoding="utf-8")
    (tmp_path / "search.yaml").write_text(yaml.safe_dump(SEARCH), encoding="utf-8")
    return tmp_path


def test_it_finds_the_way() -> None:
    parameters = {"agents[0].controller.action[0]": {"low": 0.0, "high": 2.0}, **TURN}
    search = load_search({**SEARCH, "world": WORLD, "parameters": parameters, "generations": 20, "seeds": [0]})
    outcome = evolve(search)
    assert outcome.best_value < 0.1
    assert outcome.generation == len(outcome.history) == 20
    assert set(outcome.best) == set(SEARCH["parameters"])  # type: ignore[arg-type]


def test_one_parameter_and_maximizing() -> None:
    parameters = {"agents[0].controller.action[0]": {"low": -1.0, "high": 0.5}}
    config = {**SEARCH, "world": WORLD, "parameters": parameters, "goal": "maximize", "generations": 8, "seeds": [0]}
    outcome = evolve(load_search(config))
    # Backwards into the wall, as far from the place to be as it gets.
    assert outcome.best_value == pytest.approx((3.0**2 + 1.0) ** 0.5)


def test_it_goes_on_from_its_log(tmp_path: Path) -> None:
    whole = evolve(load_search({**SEARCH, "world": WORLD, "seeds": [0]}), log=tmp_path / "whole.jsonl")
    for generations in (1, 3, 4):
        search = load_search({**SEARCH, "world": WORLD, "seeds": [0], "generations": generations})
        outcome = evolve(search, log=tmp_path / "parts.jsonl")
        assert outcome.generation == generations
    assert outcome.best == whole.best
    assert (tmp_path / "parts.jsonl").read_text() == (tmp_path / "whole.jsonl").read_text()


@pytest.mark.slow
def test_the_same_in_any_number_of_processes_and_after_going_on(folder: Path) -> None:
    command(folder, "--processes", "1", "--output", "one.yaml")
    command(folder, "--processes", "2", "--output", "two.yaml")
    assert "generation 2/2" not in command(folder, "--processes", "1", "--output", "three.yaml", "--generations", "2")
    shorter = (folder / "three.log.jsonl").read_text()
    out = command(folder, "--processes", "1", "--output", "three.yaml")
    assert "after 4 generations" in out and "fleet-sim swarm three.yaml" in out
    one, two, three = ((folder / f"{name}.log.jsonl").read_text() for name in ("one", "two", "three"))
    assert one == two == three
    assert one.startswith(shorter) and len(one.splitlines()) == 5
    best = [yaml.safe_load((folder / f"{name}.yaml").read_text()) for name in ("one", "two", "three")]
    assert best[0] == best[1] == best[2]
    evolved = best[0]["metadata"]["evolved"]
    assert best[0]["agents"][0]["controller"]["action"] == list(evolved["parameters"].values())
    assert evolved["value"] == min(min(json.loads(line)["values"]) for line in one.splitlines()[1:])
    done = subprocess.run(
        [sys.executable, "-m", "fleet_sim.apps.cli.main", "swarm", "one.yaml", "--steps", "20"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"Miss: {evolved['value']:.4g} " in done.stdout


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"metric": "Missed"}, "metric: unknown metric of the world 'Missed'. Did you mean 'Miss'"),
        ({"parameters": {"agents[3].angle": {"low": 0, "high": 1}}}, r"parameters.agents\[3\].angle: agents: has"),
        ({"parameters": {"agents[0].angle": {"low": 1, "high": 1}}}, r"high: must be above low \(1\)"),
        ({"parameters": {"agents[0].angle": {"low": 0, "high": 1, "start": 2}}}, "start: must be within 0 and 1"),
        ({"goal": "most"}, "goal: must be one of"),
        ({"world": 3}, "world: must be a mapping or the name of a file"),
    ],
)
def test_what_is_wrong_is_said(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_search({**SEARCH, "world": WORLD, **change})


def test_the_log_of_another_search_is_refused(tmp_path: Path) -> None:
    search = load_search({**SEARCH, "world": WORLD, "generations": 1})
    evolve(search, log=tmp_path / "a.jsonl")
    other = load_search({**SEARCH, "world": WORLD, "generations": 1, "seed": 1})
    with pytest.raises(ConfigError, match="is the log of another search; remove it"):
        evolve(other, log=tmp_path / "a.jsonl")

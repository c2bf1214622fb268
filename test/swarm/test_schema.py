"""The JSON schema of world files agrees with the reader."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from fleet_sim.base.errors import FleetSimError
from fleet_sim.base.settings import load_mapping
from fleet_sim.swarm.world import World_from_config
from fleet_sim.swarm.world_schema import world_schema

SHIPPED = sorted((Path(__file__).parents[2] / "config" / "swarm").glob("*.yaml"))
AGENT = {"type": "MazeAgent", "agent_radius": 0.1, "controller": {"type": "static", "output": [0, 0]}}


def allowed(world: dict[str, Any]) -> bool:
    validator = jsonschema.Draft202012Validator(world_schema())
    return not list(validator.iter_errors(world))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_shipped_worlds_are_allowed(path: Path) -> None:
    assert allowed(load_mapping(path))


@pytest.mark.parametrize(
    ("world", "right"),
    [
        ({"agents": [AGENT, "MazeAgent"]}, True),
        ({"agents": [{**AGENT, "colour": 3}]}, False),
        ({"agents": [{"agent_radius": 1}]}, False),
        ({"agents": [{**AGENT, "controller": {"type": "static", "outputs": [0, 0]}}]}, False),
        ({"spawners": [{"type": "uniform", "n": 3, "agent": AGENT, "holes": []}]}, True),
        ({"spawners": [{"type": "uniform", "n": 3, "agent": AGENT, "hole": []}]}, False),
        ({"spawners": [{"type": "uniform", "world": 3, "agent": AGENT}]}, False),
        ({"spawners": [{"type": "fixed", "positions": [[1, 1], [2, 2]], "agent": AGENT}]}, True),
        ({"spawners": [{"type": "fixed", "agent": AGENT}]}, False),
        ({"spawners": [{"type": "grid", "n": 4, "agent": "MazeAgent"}]}, True),
        ({"spawners": [{"type": "grid", "n": -1, "agent": AGENT}]}, False),
        ({"spawners": [{"type": "donut", "facing": "away", "agent": AGENT}]}, True),
        ({"spawners": [{"type": "donut", "facing": "outwards", "agent": AGENT}]}, False),
        ({"metrics": ["circliness", {"type": "circliness", "name": "c"}]}, True),
        ({"metrics": [{"type": "circliness", "nam": "c"}]}, False),
        ({"agents": [{**AGENT, "controller": {"type": "boids", "speed": 1}}]}, True),
        ({"agents": [{**AGENT, "controller": {"type": "boids", "speed": -1}}]}, False),
        ({"agents": [{**AGENT, "controller": {"type": "human", "keys": "wads"}}]}, False),
        ({"agents": [{**AGENT, "controller": {"type": "waypoint_pid", "static_waypoint": [1, 2, 3]}}]}, False),
        ({"agents": [{**AGENT, "sensors": [{"type": "binary_fov", "theta": 1, "walls": [[0, 0], [1, 1]]}]}]}, True),
        ({"agents": [{**AGENT, "sensors": [{"type": "binary_los", "history_length": 0}]}]}, False),
        ({"agents": [{**AGENT, "sensors": [{"type": "regional"}]}]}, False),
        ({"metrics": [{"type": "throughput", "window": 0}]}, False),
        ({"seed": "x"}, False),
        ({"stop_at": "steps > 3"}, True),
    ],
)
def test_schema_and_reader_agree(world: dict[str, Any], right: bool) -> None:
    assert allowed(world) is right
    try:
        World_from_config(world).setup()
    except FleetSimError:
        assert not right
    else:
        assert right


def test_types_of_the_users_own_pass() -> None:
    assert allowed({"agents": [{"type": "MazeAgent", "controller": {"type": "mine:Mine", "anything": 1}}]})


def test_the_command_prints_it() -> None:
    command = [sys.executable, "-m", "fleet_sim.apps.cli.main", "schema", "--world"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["title"] == "A fleet_sim swarm world"


def test_the_schema_is_json_and_says_what_parameters_mean() -> None:
    text = json.dumps(world_schema(), allow_nan=False)
    assert "Probability of reading 1 when there is nothing." in text


@pytest.mark.parametrize(
    ("section", "part", "right"),
    [
        ("goals", {"type": "Goal", "points": [[0, 0], [1, 0], [0, 1]]}, True),
        ("goals", {"type": "Goal", "center": [1, 1], "radius": 0.5, "name": "a", "color": [1, 2, 3]}, True),
        ("goals", {"type": "Goal", "center": [1, 1], "radius": -1}, False),
        ("goals", {"type": "area", "position": [1, 1], "size": [1, 2]}, True),
        ("goals", {"type": "area", "position": [1, 1], "size": [1, 2], "points": [[0, 0], [1, 0], [0, 1]]}, False),
        ("goals", {"type": "area", "position": [1, 1]}, False),
        ("goals", {"type": "circle", "position": [1, 1], "radius": 0.5}, True),
        ("goals", {"type": "circle", "position": [1, 1, 1], "radius": 0.5}, False),
        ("goals", {"type": "circle", "position": [1, 1]}, False),
        ("goals", {"type": "circle", "position": [1, 1], "radius": 1, "color": [1, 2, 300]}, False),
        ("subscribers", {"type": "table", "path": "a.csv", "every": 3}, True),
        ("subscribers", {"type": "table", "path": "a.csv", "every": 0}, False),
        ("subscribers", {"type": "table"}, False),
        ("subscribers", {"type": "plot", "path": "a.png", "metrics": ["a"]}, True),
        ("subscribers", {"type": "plot", "path": "a.png", "metrics": 3}, False),
        ("subscribers", {"type": "gif", "duration": None}, True),
        ("subscribers", {"type": "gif", "path": 3}, False),
        ("subscribers", {"type": "video", "fps": 0}, False),
        ("spawners", {"type": "csv", "agent": AGENT, "file": "places.csv"}, True),
        ("spawners", {"type": "csv", "agent": AGENT}, False),
        ("spawners", {"type": "csv", "agent": AGENT, "file": ["places.csv"]}, False),
    ],
)
def test_goals_subscribers_and_tables_of_agents_are_declared_too(
    section: str, part: dict[str, Any], right: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "places.csv").write_text("x,y\n1,2\n")
    assert allowed({section: [part]}) is right
    with World_from_config({section: [part]}) as world:
        if right:
            world.setup()
        else:
            with pytest.raises(FleetSimError, match=rf"{section}\[0\]"):
                world.setup()

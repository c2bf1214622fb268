"""Names in the registry that other distributions and modules bring."""

from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from dummies import Head
from fresh_python import words_of

import fleet_sim.swarm
from fleet_sim.base.errors import ConfigError, FleetSimError, InvalidValueError, UnknownNameError
from fleet_sim.base.settings import load_mapping
from fleet_sim.swarm import Controller, registry
from fleet_sim.swarm.agent_columns import WatchedList
from fleet_sim.swarm.controllers import LevyController
from fleet_sim.swarm.registry import world_schema
from fleet_sim.swarm.world import RectangularWorld, World_from_config

MODULE = """
from fleet_sim.swarm import Controller

class Forward(Controller):
    def __init__(self, speed=1.0):
        self.speed = speed
    def get_actions(self, agent):
        return self.speed, 0.0
"""

PROGRAM = """
from fleet_sim.swarm import RectangularWorld
agent = {"type": "MazeAgent", "position": [1, 1], "controller": {"type": "forward", "speed": 2.0}}
world = RectangularWorld({"time_step": 0.5, "agents": [agent]})
world.evaluate(1)
print(world.population[0].x_pos)
"""


def test_an_entry_point_of_another_distribution_is_a_name(tmp_path: Path) -> None:
    (tmp_path / "theirs.py").write_text(MODULE, encoding="utf-8")
    info = tmp_path / "theirs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[fleet_sim.swarm.controller]\nforward = theirs:Forward\n", encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "2.0\n", done.stderr


class Base(Controller):
    def __init__(self, speed: float, turn: float = 0.0) -> None:
        self.speed, self.turn = speed, turn

    def get_actions(self, agent: Any) -> tuple[float, float]:
        return self.speed, self.turn


class Derived(Base):
    def __init__(self, turn: float = 1.0, **more: Any) -> None:
        super().__init__(turn=turn, **more)


def test_what_a_constructor_passes_on_counts_as_its_own() -> None:
    assert list(registry.parameters_of(Derived)) == ["turn", "speed"]
    made = registry.make("controller", {"type": Derived, "speed": 2.0}, Controller)
    assert (made.speed, made.turn) == (2.0, 1.0)
    with pytest.raises(InvalidValueError, match=r"unknown parameter 'spede'. Did you mean 'speed'"):
        registry.make("controller", {"type": Derived, "spede": 2.0}, Controller)
    with pytest.raises(InvalidValueError, match="the parameter 'speed' is missing"):
        registry.make("controller", Base, Controller)


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ("os.path", InvalidValueError, "expected a class derived from Controller, got <module"),
        ("collections:Counter", InvalidValueError, "expected a class derived from Controller"),
        (3, InvalidValueError, "must be a name or a mapping with a type"),
        ("statik", UnknownNameError, "Did you mean 'static'"),
    ],
)
def test_what_is_no_controller_is_refused(spec: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        registry.make("controller", spec, Controller)


# ---- What users import from fleet_sim.swarm is there, and loaded at need ---------------------------------------------


def test_importing_the_part_loads_no_drawing_nor_plotting() -> None:
    code = (
        "import sys, fleet_sim.swarm, fleet_sim.swarm.world, fleet_sim.swarm.simulate, fleet_sim.swarm.pictures;"
        "print(*{'PIL', 'matplotlib', 'cma', 'pyarrow', 'imageio_ffmpeg', 'tkinter', 'pybullet'} & sys.modules.keys())"
    )
    assert words_of(code) == []
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = fleet_sim.swarm.Nothing


# ---- What is wrong in a world is refused with its place: in a configuration, a file, or a step -----------------------


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"sead": 1}, "sead: unknown key. Did you mean 'seed'"),
        ({"stop_at": 0}, "stop_at: must be a number of steps"),
        ({"stop_at": "import os"}, "stop_at: 'import os' is not an expression"),
        ({"stop_at": "circlines > 1"}, "stop_at: unknown name 'circlines'"),
        ({"agents": [{"type": "MazeAgent", "agent_radios": 1}]}, r"agents\[0\].agent_radios: unknown key"),
        ({"agents": [{"type": "MaceAgent"}]}, r"agents\[0\]: unknown agent 'MaceAgent'. Did you mean 'MazeAgent'"),
        ({"agents": [{"agent_radius": 1}]}, r"agents\[0\]: agent: `type` is missing"),
        ({"agents": [{"type": "MazeAgent", "controller": "nowhere:Class"}]}, r"agents\[0\]: controller: .nowhere"),
        ({"metrics": [Head, Head]}, r"metrics\[1\]: there are two metrics named 'Head'"),
        ({"goals": [{"type": "area", "position": [0, 0]}]}, r"goals\[0\]: goal area: the parameter 'size' is missing"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(config: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        World_from_config(config).setup()


def test_what_is_wrong_in_a_file_is_said_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text("sizes: [1, 1]\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"w.yaml: sizes: unknown key. Did you mean 'size'"):
        World_from_config(path)
    path.write_text("agents: [MazeAgents]\n", encoding="utf-8")
    world = World_from_config(path)
    with pytest.raises(ConfigError, match=r"w.yaml: agents\[0\]: unknown agent 'MazeAgents'"):
        world.setup()
    path.write_text("swarm: 3\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"w.yaml: swarm: must be a mapping"):
        World_from_config(path)


def test_actions_that_are_not_numbers_for_all_are_refused() -> None:
    class Short(Controller):
        def act(self, group: Any) -> Any:
            return np.zeros((len(group) - 1, 2))

    world = RectangularWorld({"agents": [{"type": "MazeAgent", "controller": Short}]})
    world.setup()
    with pytest.raises(InvalidValueError, match=r"Short: expected finite actions of shape \(1, 2\)"):
        world.step()


# ---- Random numbers that belong to agents ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [-1, 1.5, True, "a"])
def test_seeds_are_whole_numbers(seed: object) -> None:
    with pytest.raises(InvalidValueError, match="seed"):
        LevyController(velocity=1.0, angular_velocity=1.0, seed=seed)


# ---- Lists of a world: each change is asked for, and a refused one changes nothing -----------------------------------


Edit = Callable[[list[int]], Any]

EDITS: dict[str, Edit] = {
    "append": lambda items: items.append(9),
    "extend": lambda items: items.extend([8, 9]),
    "insert": lambda items: items.insert(1, 9),
    "remove": lambda items: items.remove(2),
    "pop": lambda items: items.pop(),
    "pop the first": lambda items: items.pop(0),
    "clear": lambda items: items.clear(),
    "sort": lambda items: items.sort(key=lambda item: -item),
    "sort backwards": lambda items: items.sort(reverse=True),
    "reverse": lambda items: items.reverse(),
    "set": lambda items: items.__setitem__(0, 9),
    "set a slice": lambda items: items.__setitem__(slice(0, 2), [7, 8, 9]),
    "delete": lambda items: items.__delitem__(-1),
    "delete a slice": lambda items: items.__delitem__(slice(None, None, 2)),
    "add to itself": lambda items: items.__iadd__([5]),
    "multiply": lambda items: items.__imul__(2),
}


class Owner:
    """Takes lists without negative numbers, and counts how often it is asked."""

    def __init__(self, *items: int) -> None:
        self.asked = 0
        self.items = WatchedList[int](self.change)
        self.items.put(items)

    def change(self, wanted: list[int]) -> None:
        self.asked += 1
        if min(wanted, default=0) < 0:
            raise InvalidValueError("no negative numbers")
        self.items.put(wanted)


@pytest.mark.parametrize("name", EDITS)
def test_every_change_is_asked_for_once_and_is_that_of_a_list(name: str) -> None:
    owner, plain = Owner(1, 2, 3), [1, 2, 3]
    answers = [EDITS[name](items) for items in (owner.items, plain)]
    assert list(owner.items) == plain
    assert owner.asked == 1
    assert isinstance(owner.items, WatchedList)
    if not name.startswith(("add", "multiply")):
        assert answers[0] == answers[1]


@pytest.mark.parametrize(
    "edit",
    [
        lambda items: items.append(-1),
        lambda items: items.extend([4, -1]),
        lambda items: items.insert(0, -1),
        lambda items: items.__setitem__(0, -1),
        lambda items: items.__setitem__(slice(1, 2), [5, -1]),
        lambda items: items.__iadd__([-1]),
    ],
)
def test_a_refused_change_leaves_the_list_as_it_was(edit: Edit) -> None:
    owner = Owner(1, 2, 3)
    with pytest.raises(InvalidValueError, match="no negative"):
        edit(owner.items)
    assert list(owner.items) == [1, 2, 3]


@pytest.mark.parametrize(
    ("edit", "error"),
    [
        (lambda items: items.remove(77), ValueError),
        (lambda items: items.pop(7), IndexError),
        (lambda items: items.__setitem__(7, 1), IndexError),
        (lambda items: items.__delitem__(7), IndexError),
    ],
)
def test_what_a_list_refuses_is_not_asked_for(edit: Edit, error: type[Exception]) -> None:
    owner = Owner(1, 2, 3)
    with pytest.raises(error):
        edit(owner.items)
    assert (owner.asked, list(owner.items)) == (0, [1, 2, 3])


def test_statements_that_change_in_place_keep_the_list() -> None:
    owner = Owner(1)
    items = owner.items
    items += [2]
    items *= 2
    assert items is owner.items
    assert list(items) == [1, 2, 1, 2]


def test_slices_and_copies_have_no_owner() -> None:
    owner = Owner(1, 2, 3)
    for made in (owner.items[:2], owner.items.copy(), copy.copy(owner.items), pickle.loads(pickle.dumps(owner.items))):
        assert type(made) is list
        made.append(-1)
    assert (owner.asked, list(owner.items)) == (0, [1, 2, 3])
    # In a copy of what refers to it, it is the list of its owner.
    assert copy.deepcopy({"items": owner.items})["items"] is owner.items


def test_put_asks_nobody() -> None:
    owner = Owner()
    owner.items.put(iter([-1, -2]))
    assert (owner.asked, list(owner.items)) == (0, [-1, -2])


# ---- The JSON schema of world files agrees with the reader -----------------------------------------------------------


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

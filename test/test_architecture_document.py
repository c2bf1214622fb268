"""ARCHITECTURE.md is true: its drawing, step, paths, names and entry points are those of the sources."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fleet_sim as fs
from fleet_sim.world.pipeline import Phase

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "fleet_sim"
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
DRAWING = re.findall(r"^```\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)[0]
MARKED = re.findall(r"`([^`\n]+)`", TEXT.replace(DRAWING, ""))
ROOMS_PROGRAM = """\
import json, sys
sys.path[:0] = ["test", "test/support"]
import test_architecture
print(json.dumps(test_architecture.ROOMS))
"""
# What a path in the text may be relative to.
BASES = (ROOT, PACKAGE)


def test_the_drawing_has_every_room_above_those_that_it_imports() -> None:
    done = subprocess.run([sys.executable, "-c", ROOMS_PROGRAM], cwd=ROOT, capture_output=True, text=True, check=True)
    rooms = [name for name in json.loads(done.stdout) if name != "plugins"]
    drawn = re.findall(r"^([a-z]+) ", DRAWING, re.MULTILINE)
    products = ["warehouse", "swarm", "learning"]
    assert sorted(drawn) == sorted(rooms)
    assert [name for name in drawn if name not in products] == [name for name in rooms[::-1] if name not in products]


def test_folders_in_the_drawing_exist() -> None:
    for room, text in re.findall(r"^([a-z]+) +(.+)$", DRAWING, re.MULTILINE):
        folders = {path.name for path in (PACKAGE / room).glob("*") if path.is_dir()} - {"__pycache__"}
        assert folders <= set(re.findall(r"\w+", text)), room


def test_every_room_is_in_the_table() -> None:
    table = TEXT.split("| room | what it holds | read first |")[1].split("\n\n")[0]
    named = {line.split("|")[1].strip(" `") for line in table.splitlines()[2:]}
    assert named == set(re.findall(r"^([a-z]+) ", DRAWING, re.MULTILINE)) - {"simulation"}


def test_the_step_is_the_one_of_a_simulation(sim: fs.MultiRobotSimulationCore) -> None:
    table = TEXT.split("| phase | systems, in order |")[1].split("\n\n")[0]
    rows = dict(re.findall(r"^\| (\w+) \| (.*) \|$", table, re.MULTILINE))
    told = {name: re.findall(r"`(\w+)`", text.split(":")[0].split(", at")[0]) for name, text in rows.items()}
    made = {
        phase.name.lower(): [system.name for system in sim.pipeline.systems if system.phase is phase] for phase in Phase
    }
    assert told == made


def paths() -> list[str]:
    ending = r"(\.(py|md|cfg|toml|txt|msg|yaml)|/)$"
    found = {mark for mark in MARKED if re.search(ending, mark) and re.fullmatch(r"[\w./-]+", mark)}
    return sorted(found - {"__init__.py", "ros.py"})


def test_every_path_exists() -> None:
    assert len(paths()) > 40
    assert [path for path in paths() if not any((base / path).exists() for base in BASES)] == []


def test_every_name_is_where_the_text_says() -> None:
    places = re.findall(r"`([A-Z]\w+)` of `([\w/]+)\.py`", TEXT)
    assert len(places) > 10
    for name, path in places:
        if path.startswith("ros/"):
            pytest.importorskip("rclpy")
        if path.startswith("learning/envs/"):
            pytest.importorskip("gymnasium")
        if path.startswith("test/"):
            assert re.search(rf"^{name}\b", (ROOT / f"{path}.py").read_text(encoding="utf-8"), re.MULTILINE)
        else:
            module = importlib.import_module(f"fleet_sim.{path.replace('/', '.').removesuffix('.__init__')}")
            assert hasattr(module, name), f"{path}.py has no {name}"

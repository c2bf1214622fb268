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
from fleet_sim.core.pipeline import Phase

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "fleet_sim"
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
DRAWING = re.findall(r"^```\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)[0]
MARKED = re.findall(r"`([^`\n]+)`", TEXT.replace(DRAWING, ""))
LAYERS_PROGRAM = """\
import json, sys
sys.path[:0] = ["test", "test/support"]
import test_architecture
print(json.dumps(test_architecture.LAYERS))
"""
# What a path in the text may be relative to.
BASES = (ROOT, PACKAGE)


def floors() -> list[tuple[str, list[str]]]:
    """The drawing as LAYERS has it, from the lowest floor up."""
    joined = re.sub(r"\n +>", " >", DRAWING)
    lines = [line for line in joined.splitlines() if re.match(r"\d", line)]
    assert [int(line.split()[0]) for line in lines] == list(range(len(lines), 0, -1))
    found = []
    for line in reversed(lines):
        parts = re.split(r"\s{2,}", line, maxsplit=2)[-1]
        found.append(("group" if "|" in parts else "chain", re.split(r"\s*[|>]\s*", parts.strip())))
    return found


def test_the_drawing_has_every_part_on_its_floor() -> None:
    done = subprocess.run([sys.executable, "-c", LAYERS_PROGRAM], cwd=ROOT, capture_output=True, text=True, check=True)
    layers = json.loads(done.stdout)
    # With one part alone, chain and group are the same.
    expected = [("chain" if len(parts) == 1 else kind, parts) for kind, parts in layers]
    assert floors() == expected


def test_every_part_is_in_the_table_of_parts() -> None:
    table = TEXT.split("| parts | what they hold |")[1].split("\n\n")[0]
    named = [name for line in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", line.split("|")[1])]
    assert sorted(named) == sorted(part for _, parts in floors() for part in parts)


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
        if path.startswith("envs/"):
            pytest.importorskip("gymnasium")
        if path.startswith("test/"):
            assert re.search(rf"^{name}\b", (ROOT / f"{path}.py").read_text(encoding="utf-8"), re.MULTILINE)
        else:
            module = importlib.import_module(f"fleet_sim.{path.replace('/', '.').removesuffix('.__init__')}")
            assert hasattr(module, name), f"{path}.py has no {name}"

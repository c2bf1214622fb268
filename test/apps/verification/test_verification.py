"""Runs are those of the table, bit for bit; what differs is told; and the table is complete."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from fleet_sim import MultiRobotSimulationCore
from fleet_sim.apps import verification as table
from fleet_sim.apps.cli.main import main
from fleet_sim.apps.verification import STEPS, STRIDE, Trace, quiet, trace
from fleet_sim.base.settings import load_mapping

KNOWN = table.load()
FILES = table.shipped()
SMALL = "milling.yaml"


def run(name: str, **settings: object) -> Trace:
    config = quiet(load_mapping(FILES[name]))
    config["simulation"].update(settings)
    with MultiRobotSimulationCore.from_dict(config) as sim:
        return trace(sim)


def test_every_shipped_scenario_is_in_the_table() -> None:
    """If not: `fleet-sim verify --update`, see CONTRIBUTING.md."""
    assert list(KNOWN) == list(FILES)
    assert all(len(known.states) == STEPS for known in KNOWN.values())


@pytest.mark.parametrize("name", FILES)
@pytest.mark.slow
def test_a_run_is_that_of_the_table(name: str) -> None:
    """Where a change is meant to change runs: `fleet-sim verify --update`, see CONTRIBUTING.md."""
    if reason := table.hindrance(KNOWN[name]):
        pytest.skip(reason)
    assert table.difference(KNOWN[name], table.traced(FILES[name])) is None


def test_something_happens_in_every_scenario() -> None:
    for name, known in KNOWN.items():
        assert len(set(known.states)) == STEPS, name
        moving = {
            part for part in ("body.position", "body.orientation", "joints") if len(known.parts.get(part, ())) > 1
        }
        assert moving, name


def test_the_first_difference_is_told_with_its_parts() -> None:
    expected = KNOWN[SMALL]
    states = (*expected.states[:24], "000000", *expected.states[25:])
    parts = {**expected.parts, "body.position": ("111111",) * (STEPS // STRIDE)}
    assert table.difference(expected, replace(expected, states=states)) == table.Difference(25, 30, ())
    assert table.difference(expected, replace(expected, parts=parts)) == table.Difference(10, 10, ("body.position",))
    shorter = replace(expected, states=expected.states[:95])
    assert table.difference(expected, shorter) == table.Difference(96, 100, ())
    text = str(table.Difference(3, 10, ("body.position", "joints")))
    assert text == "differs after step 3; until step 10 in: body.position, joints"


def test_another_seed_is_another_run() -> None:
    found = table.difference(KNOWN["flocking.yaml"], run("flocking.yaml", seed=123))
    assert found is not None
    assert "body.position" in found.parts


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    table.save(KNOWN, tmp_path / "copy.json")
    assert table.load(tmp_path / "copy.json") == KNOWN


def test_the_command_verifies_and_updates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = tmp_path / "mine.json"
    assert main(["verify", "--table", str(mine), "--update", SMALL]) == 0
    assert main(["verify", "--table", str(mine), SMALL]) == 0
    assert f"{SMALL}: same" in capsys.readouterr().out
    known = table.load(mine)[SMALL]
    table.save({SMALL: replace(known, states=("abcdef", *known.states[1:]))}, mine)
    assert main(["verify", "--table", str(mine), SMALL, "flocking.yaml"]) == 1
    output = capsys.readouterr().out
    assert f"{SMALL}: DIFFERS: differs after step 1; until step 10 in: " in output
    assert "flocking.yaml: DIFFERS: it is not in the table" in output
    assert "2 of them differ" in output


def test_what_cannot_be_verified_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "miling.yaml"]) == 1
    assert "Did you mean 'milling.yaml'" in capsys.readouterr().err
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"format": "fleet_sim hashes 0"}')
    assert main(["verify", "--table", str(wrong)]) == 1
    assert "expected the format 'fleet_sim hashes 1'" in capsys.readouterr().err
    table.save({SMALL: replace(KNOWN[SMALL], engine="0.0.1")}, wrong)
    assert main(["verify", "--table", str(wrong), SMALL]) == 0
    assert f"{SMALL}: skipped: needs PyBullet" in capsys.readouterr().out


@pytest.mark.slow
def test_neither_the_processor_nor_threads_change_a_run() -> None:
    """With no extension of the processor, by NumPy, its linear algebra and the C library; and with threads."""
    features = subprocess.run(
        [sys.executable, "-c", FEATURES], capture_output=True, text=True, check=True
    ).stdout.strip()
    environment = {
        **os.environ,
        "NPY_DISABLE_CPU_FEATURES": features,
        "OPENBLAS_CORETYPE": "Nehalem",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F",
        **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "4"),
    }
    command = [sys.executable, "-m", "fleet_sim.apps.cli.main", "verify"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


FEATURES = """
try:
    from numpy._core import _multiarray_umath as numpy
except ImportError:
    from numpy.core import _multiarray_umath as numpy
print(" ".join(name for name in numpy.__cpu_dispatch__ if numpy.__cpu_features__[name]))
"""


# ---- What a run depends on is computed with functions whose bits are the same on every machine -----------------------


PACKAGE = Path(__file__).parents[3] / "src" / "fleet_sim"

# Their last bits depend on the processor, on the version of NumPy, Python or the C library.
VARYING = {
    *(
        "sin",
        "cos",
        "tan",
        "sinh",
        "cosh",
        "tanh",
        "exp",
        "exp2",
        "expm1",
        "log",
        "log2",
        "log10",
        "log1p",
        "power",
        "pow",
    ),
    *("arcsin", "arccos", "arctan", "arctan2", "asin", "acos", "atan", "atan2", "hypot", "dist", "cbrt", "gamma"),
}
# Files that may use them, by the beginning of their paths, each with the reason.
EXEMPT = {
    "facade/view.py": "places a camera that draws",
    "apps/reports/": "draws",
    "apps/certify.py": "looks at runs, and shares no function with them",
    "sensing/sensors/lidar.py": "draws",
    "sensing/sensors/render/": "draws: pictures are not verified",
    "engines/bullet/window.py": "places a camera that draws",
    "apps/record/film.py": "places a camera that draws",
    "apps/viewer/": "draws, and answers clicks: what they ask for is recorded as a command",
    "engines/bullet/engine.py": "counts turns: only the whole number matters",
    "base/spatial/triangles.py": "counts levels: only the whole number matters",
    "warehouse/sites/drawing.py": "outlines that are drawn",
    "learning/manipulation/": "places a camera; environments are not verified",
    "swarm/simulate.py": "answers a click",
    "learning/envs/": "rewards and observations: environments are not verified",
    "base/settings/expressions.py": "formulas that users write in YAML; they may use any function",
    "swarm/controllers/single_agent.py": "its steps are drawn from a power law, which has no other form",
    "sensing/sensors/occupancy.py": "compares with a tolerance",
    "warehouse/nav2/maps.py": "pictures for others: no robot here drives by costs",
    "base/geometry.py": "compares with a tolerance",
    "apps/sweeps/settings.py": "values drawn from a distribution become part of the table",
}


NAMED = re.compile(rf"\b(?:np|math)\.(?:{'|'.join(sorted(VARYING))})\b")


@cache
def uses(path: Path) -> list[tuple[str, int]]:
    text = path.read_text(encoding="utf-8")
    # Most files are not worth parsing: a name that is nowhere in the text is nowhere in the tree.
    nodes = ast.walk(ast.parse(text)) if NAMED.search(text) else ()
    return [
        (ast.unparse(node), node.lineno)
        for node in nodes
        if isinstance(node, ast.Attribute) and node.attr in VARYING and ast.unparse(node.value) in ("np", "math")
    ]


FILES_SOURCES = sorted(PACKAGE.rglob("*.py"))


def test_no_function_with_varying_bits_is_used() -> None:
    varying = [
        f"{path.relative_to(PACKAGE)}:{line}: {what}"
        for path in FILES_SOURCES
        if not path.relative_to(PACKAGE).as_posix().startswith(tuple(EXEMPT))
        for what, line in uses(path)
    ]
    assert varying == [], "take them from fleet_sim.base.spatial.trigonometry"


def test_exemptions_are_needed() -> None:
    for start in EXEMPT:
        files = [path for path in FILES_SOURCES if path.relative_to(PACKAGE).as_posix().startswith(start)]
        assert any(list(uses(path)) for path in files), f"{start} needs no exemption"

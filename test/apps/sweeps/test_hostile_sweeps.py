"""Sweep files and journals of others: refused with the reason, in time, and nothing in them is run by looking at it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from fleet_sim import ConfigError
from fleet_sim.apps.cli.main import main
from fleet_sim.apps.sweeps import load_sweep, read_table

SCENARIO = "scenario: {simulation: {timestep: 0.1}, robots: [{name: a}]}\nduration: 0.2\n"


def changed(line: str, name: str, value: object) -> str:
    """A line of a journal with another value in it, and the checksum as it was."""
    return json.dumps({**json.loads(line), name: value})


EDITS: dict[str, tuple[Callable[[str], str], str]] = {
    "a number that was changed by hand": (
        lambda line: line.replace('"robots": 1', '"robots": 2'),
        "changed or damaged",
    ),
    "no checksum": (lambda line: line.rpartition(', "crc"')[0] + "}", "changed or damaged"),
    "a run that does not exist": (lambda line: changed(line, "run", 10**9), "changed or damaged"),
    "a line cut off in the middle": (lambda line: line[: len(line) // 2], "is none of a sweep"),
    "other bytes": (lambda line: "\x00" * 40, "is none of a sweep"),
    "depth": (lambda line: "[" * 100_000, "is none of a sweep"),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a sweep of two runs that was made."""
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "s.yaml").write_text(SCENARIO + "seeds: 1-2\nmeasure: [robots]\n")
    assert main(["sweep", str(folder / "s.yaml"), "--out", str(folder / "t.parquet"), "--processes", "1"]) == 0
    return folder


@pytest.mark.parametrize("edit", EDITS)
def test_journals_that_were_changed_are_refused(
    edit: str, whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (whole / "t.runs.jsonl").read_text().splitlines()
    lines[1] = EDITS[edit][0](lines[1])
    journal = tmp_path / "t.runs.jsonl"
    journal.write_text("\n".join(lines) + "\n")
    before = journal.read_bytes()
    assert main(["sweep", str(whole / "s.yaml"), "--out", str(tmp_path / "t.parquet"), "--resume"]) == 1
    error = capsys.readouterr().err
    assert "t.runs.jsonl: line 2" in error and EDITS[edit][1] in error and "Traceback" not in error
    assert journal.read_bytes() == before and not (tmp_path / "t.parquet").exists()


@pytest.mark.parametrize("part", [0, 3, 40, -8, -1])
def test_tables_that_were_cut_off_are_refused_and_written_anew(
    part: int, whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "t.parquet"
    table.write_bytes((whole / "t.parquet").read_bytes()[:part])
    assert main(["report", str(table), "--out", str(tmp_path / "page.html")]) == 1
    assert "Traceback" not in capsys.readouterr().err
    # What --resume goes on from is the journal: the table comes out of it whole.
    (tmp_path / "t.runs.jsonl").write_bytes((whole / "t.runs.jsonl").read_bytes())
    assert main(["sweep", str(whole / "s.yaml"), "--out", str(table), "--resume"]) == 0
    assert read_table(table).columns == read_table(whole / "t.parquet").columns


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("parameters: {a: &a [1], b: *a, c: {uniform: [0, .inf]}}", "finite"),
        ("seeds: 1-99999999999", "at most 100000 seeds"),
        ("parameters: {simulation.timestep: {from: 0, to: 1.0e+300, step: 1}}", "100000 values"),
        ("samples: 1000000\nparameters: {a: {uniform: [0, 1]}, b: {uniform: [0, 1]}, c: {uniform: [0, 1]}}", "2000000"),
        ("measure: !!python/object/apply:os.system [true]", "s.yaml"),
        ("scenario: !!python/name:os.system", "s.yaml"),
        ("parameters: {'robots[999999999].mass': [1]}", "robots"),
        ("attempts: 1000000", "attempts"),
    ],
)
def test_hostile_sweeps_are_refused_with_the_reason(text: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(text + "\n" + "".join(f"{line}\n" for line in SCENARIO.splitlines() if line[:8] not in text))
    with pytest.raises(ConfigError, match=reason):
        load_sweep(path)


def test_a_dry_run_imports_no_measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "evil_measure.py").write_text("raise SystemExit('it was imported')\n")
    (tmp_path / "s.yaml").write_text(SCENARIO + 'measure: ["evil_measure:x"]\n')
    assert main(["sweep", str(tmp_path / "s.yaml"), "--dry-run"]) == 0

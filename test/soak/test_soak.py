"""A soak tells what is flat from what grows, and runs as it is run by hand."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

HERE = Path(__file__).parent
HOURS = 2.0


@pytest.fixture
def soak(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the module that judges; the folder of the soak is not a package."""
    monkeypatch.syspath_prepend(str(HERE))
    import soak_verdict

    return soak_verdict


def rows_of(soak: ModuleType, **changes: Callable[[float], float]) -> list[Any]:
    """Return the rows of two hours; `changes` are functions of the time in hours."""
    random = np.random.default_rng(1)
    rows = []
    for beat in range(1, int(HOURS * 360)):
        hours = beat / 360.0
        values = {
            "memory_mb": 100.0 + random.normal(0.0, 2.0),
            "files": 10,
            "threads": 5,
            "processor_s": 10.0 * beat,
            "step_ms": 1.0,
            "steps": 1000 * beat,
            "operations": beat,
            "refused": 0,
            "lost": 0,
        }
        for name, change in changes.items():
            values[name] += change(hours)
        rows.append(soak.Row(seconds=10.0 * beat, part="node", **values))
    return rows


def faults_of(soak: ModuleType, **changes: Callable[[float], float]) -> list[str]:
    (verdict,) = soak.verdicts(rows_of(soak, **changes))
    return list(verdict.faults)


def test_noise_is_flat_and_so_is_what_grows_in_the_first_ten_minutes(soak: ModuleType) -> None:
    assert faults_of(soak) == []
    assert faults_of(soak, memory_mb=lambda hours: -80.0 if hours < 1 / 6 else 0.0) == []
    assert faults_of(soak, memory_mb=lambda hours: 0.5 * hours) == []


@pytest.mark.parametrize(
    ("name", "change", "fault"),
    [
        ("memory_mb", lambda hours: 2.0 * hours, "memory grows by"),
        ("processor_s", lambda hours: 2000.0 * hours**2, "a step becomes dearer by"),
        ("files", lambda hours: hours // 1.0, "+1 files"),
        ("threads", lambda hours: hours > 1.6, "+1 threads"),
        ("lost", lambda hours: hours > 1.0, "1 operations were lost"),
    ],
)
def test_what_grows_is_told(soak: ModuleType, name: str, change: Callable[[float], float], fault: str) -> None:
    (found,) = faults_of(soak, **{name: change})
    assert fault in found


def test_a_slope_has_the_error_that_repetition_shows(soak: ModuleType) -> None:
    times = np.arange(600.0, 7200.0, 10.0)
    slopes = [
        soak.slope_of(times, 3.0 * times / 3600.0 + np.random.default_rng(seed).normal(0.0, 1.0, len(times)))
        for seed in range(200)
    ]
    values = np.array([slope.value for slope in slopes])
    assert values.mean() == pytest.approx(3.0, abs=0.03)
    assert np.mean([slope.error for slope in slopes]) == pytest.approx(values.std(), rel=0.15)


@pytest.mark.slow
def test_a_soak_writes_figures_table_and_plot(tmp_path: Path) -> None:
    program = [sys.executable, str(HERE / "run.py"), "--minutes", "0.1", "--no-ros", "--folder", str(tmp_path)]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    # Six seconds are no soak, and are not called one.
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "library: too short to judge: the first ten minutes do not count"
    assert "| operations |" in done.stdout
    assert (tmp_path / "soak.csv").read_text().count("\n") == 2
    assert (tmp_path / "soak.png").stat().st_size > 1000


@pytest.mark.slow
def test_a_part_that_ends_before_the_first_figures_is_named(soak: ModuleType, tmp_path: Path) -> None:
    # In place of a middleware that cannot start.
    (tmp_path / "rclpy.py").write_text("raise SystemExit('there is no middleware here')\n")
    program = [sys.executable, str(HERE / "run.py"), "--minutes", "0.1", "--folder", str(tmp_path / "soak")]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    told = done.stdout.splitlines()
    assert "node ended too early, see node.log" in told and "there are no figures to judge" in told
    assert "there is no middleware here" in (tmp_path / "soak" / "node.log").read_text()


def test_figures_are_put_into_the_documents(soak: ModuleType, tmp_path: Path) -> None:
    import soak_document
    from soak_figures import Table

    with (tmp_path / "soak.csv").open("w", newline="") as file:
        table = Table(file)
        for row in rows_of(soak):
            table.add(row)
    page = tmp_path / "bench" / "README.md"
    page.parent.mkdir()
    (tmp_path / "docs" / "images").mkdir(parents=True)
    page.write_text(f"before\n{soak_document.BEGIN}old figures\n{soak_document.END}\nafter\n", encoding="utf-8")
    soak_document.document(tmp_path / "soak.csv", tmp_path)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n") and text.endswith("\nafter\n") and "old figures" not in text
    assert "120 minutes. Its verdict: flat, nothing grows." in text and "| its slope, MB/h |" in text
    assert (tmp_path / "docs" / "images" / "soak.png").stat().st_size > 1000
    page.write_text("without marks", encoding="utf-8")
    with pytest.raises(ValueError, match="no lines"):
        soak_document.document(tmp_path / "soak.csv", tmp_path)
    (tmp_path / "soak.csv").write_text((tmp_path / "soak.csv").read_text().partition("\n")[0])
    with pytest.raises(ValueError, match="no figures"):
        soak_document.document(tmp_path / "soak.csv", tmp_path)

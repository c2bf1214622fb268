"""Figures of a run: gathered on arrays, written to a file and read again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fleet_sim import ConfigError
from fleet_sim.warehouse.sites import Grid
from fleet_sim.warehouse.traffic.figures import DRIVING, MOST, WAITING, FigureCollector, Series
from fleet_sim.warehouse.traffic.run_file import read_run, run_of, write_run

GRID = Grid(np.ones((4, 5), bool))


def points(*cells: int) -> np.ndarray:
    return GRID.positions(np.array(cells))


def test_small_cells_are_counted_together() -> None:
    free = np.ones((7, 10), bool)
    free[:, 9] = False
    found = FigureCollector(Grid(free, 0.2))
    assert found.heat.grid.cell == pytest.approx(0.6)
    assert found.heat.free_mask.tolist() == [[True, True, True, False]] * 3


def test_series_keep_their_sums_however_long_the_run() -> None:
    series = Series(["a", "b"])
    for _ in range(4 * MOST):
        series.add(0.5, np.array([1.0, 0.25]))
    times, sums = series.table()
    assert len(times) < MOST
    assert times[-1] == pytest.approx(2 * MOST)
    assert sums.sum(axis=0).tolist() == [4 * MOST, MOST]
    assert np.diff(times).max() == pytest.approx(4.0)


def written(path: Path) -> dict[str, Any]:
    found = FigureCollector(GRID)
    found.observe(0.5, np.arange(2), points(0, 1), np.array([DRIVING, WAITING]))
    found.tasks_ended(np.array([2.0, 4.0]))
    figures = {"robots": 2.0, "closest_m": None, "tasks_done": 2.0}
    distributions = {"flow_time_s": found.flow_times, "planning_ms": np.zeros(0)}
    write_run(path, run_of("a run", figures, found, about={"seed": "3"}, distributions=distributions))
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def test_a_run_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    content = written(tmp_path / "run.json")
    assert (content["robots"], content["closest_m"]) == (2.0, None)
    run = read_run(tmp_path / "run.json")
    assert (run.title, run.about["seed"], run.figures["tasks_done"], run.figures["closest_m"]) == (
        "a run",
        "3",
        2,
        None,
    )
    assert run.times.tolist() == [0.5]
    assert run.states["waiting"].tolist() == [0.5]
    assert list(run.quantiles) == ["flow_time_s"]
    assert run.quantiles["flow_time_s"][[0, 50, 100]].tolist() == [2.0, 3.0, 4.0]
    assert run.heat is not None
    assert run.heat.passages[0].tolist() == [1.0, 1.0, 0.0, 0.0, 0.0]
    assert run.heat.waited[0, 1] == 0.5


@pytest.mark.parametrize(
    ("keys", "value", "reason"),
    [
        (["format"], "other", "is not a run file: expected the format 'fleet_sim run 1'"),
        (["series"], [], "series: must be a mapping"),
        (["series", "time_s"], ["a"], "series.time_s: must be a list of finite numbers"),
        (["series", "tasks_done"], [1, 2], "series.tasks_done: must have 1 numbers, got 2"),
        (["series", "robot_seconds", "idle"], [None], "robot_seconds.idle: must be a list of finite numbers"),
        (["percentiles", "flow_time_s"], [1.0], "percentiles.flow_time_s: must have 101 numbers"),
        (["percentiles"], 3, "percentiles: must be a mapping"),
        (["about"], 3, "about: must be a mapping"),
        (["heat"], 3, "heat.rows: must be a list of rows"),
        (["heat", "rows"], [".", ".."], "heat.rows: must be rows of 1 letters"),
        (["heat", "rows"], ["x"], "heat.rows: must be rows of 1 letters"),
        (["heat", "cell_m"], 0, "heat.cell_m: must be a length above 0"),
        (["heat", "passages"], [[99], [1]], "heat.passages: numbers of squares must be whole and below 20"),
        (["heat", "waited_s"], [[1], []], "heat.waited_s: must have 1 numbers"),
        (["heat", "waited_s"], 1, "heat.waited_s: must be"),
    ],
)
def test_wrong_run_files_are_refused(tmp_path: Path, keys: list[str], value: object, reason: str) -> None:
    content = written(tmp_path / "run.json")
    place = content
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    (tmp_path / "run.json").write_text(json.dumps(content))
    with pytest.raises(ConfigError, match=reason):
        read_run(tmp_path / "run.json")


@pytest.mark.parametrize(
    ("text", "reason"), [("[1]", "is not a run file"), ("{", "is not valid JSON"), ("NaN", "not a run")]
)
def test_other_files_are_refused(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(ConfigError, match=reason):
        read_run(tmp_path / "run.json")

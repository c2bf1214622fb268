"""Figures of a run: gathered on arrays, written to a file and read again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet_sim import ConfigError, MissingDependencyError
from fleet_sim.sites import Grid
from fleet_sim.traffic.figures import FigureCollector, read_run, run_of, write_run
from fleet_sim.traffic.figures.series import MOST, Series
from fleet_sim.traffic.figures.states import BLOCKED, DRIVING, IDLE, SERVING, WAITING

GRID = Grid(np.ones((4, 5), bool))


def points(*cells: int) -> np.ndarray:
    return GRID.positions(np.array(cells))


def test_states_distances_and_tasks_add_up() -> None:
    found = FigureCollector(GRID)
    robots = np.arange(3)
    found.observe(0.5, robots, points(0, 10, 19), np.array([DRIVING, WAITING, IDLE]))
    found.tasks_ended(np.array([3.0, 5.0]))
    found.observe(0.5, robots, points(1, 10, 19), np.array([DRIVING, BLOCKED, SERVING]))
    assert found.shares() == pytest.approx(
        {"driving": 1 / 3, "waiting": 1 / 6, "blocked": 1 / 6, "serving": 1 / 6, "idle": 1 / 6}
    )
    assert found.waiting_times().tolist() == [0.0, 1.0, 0.0]
    assert found.seconds_in("driving").tolist() == [1.0, 0.0, 0.0]
    assert found.driven.tolist() == [1.0, 0.0, 0.0]
    assert (found.tasks_done, found.flow_times.tolist(), found.simulated) == (2, [3.0, 5.0], 1.0)
    times, sums = found.series.table()
    assert times.tolist() == [1.0]
    assert sums.tolist() == [[2.0, 1.0, 0.5, 0.5, 0.5, 0.5]]


def test_robots_may_come_and_go() -> None:
    found = FigureCollector(GRID)
    found.observe(1.0, np.array([0]), points(0), np.array([DRIVING]))
    found.observe(1.0, np.array([0, 7]), points(1, 19), np.array([DRIVING, DRIVING]))
    found.observe(1.0, np.array([7]), points(18), np.array([DRIVING]))
    # Whoever comes back has driven nothing meanwhile, wherever it appears.
    found.observe(1.0, np.array([0, 7]), points(15, 17), np.array([DRIVING, DRIVING]))
    assert found.driven[[0, 7]].tolist() == [1.0, 2.0]
    assert found.driven.sum() == 3.0


def test_the_first_step_counts_where_it_begins_is_known() -> None:
    found = FigureCollector(GRID)
    found.begin(np.array([1]), points(3))
    found.observe(1.0, np.array([0, 1]), points(0, 4), np.array([DRIVING, DRIVING]))
    assert found.driven.tolist() == [0.0, 1.0]


def test_heat_counts_passages_and_waiting_by_square() -> None:
    found = FigureCollector(GRID)
    for cell, code in ((0, DRIVING), (1, DRIVING), (1, WAITING), (1, WAITING), (0, DRIVING)):
        found.observe(0.25, np.array([0]), points(cell), np.array([code]))
    found.observe(0.25, np.array([0]), np.array([[-0.5, 99.0]]), np.array([WAITING]))
    assert found.heat.passages.reshape(4, 5)[0].tolist() == [2.0, 1.0, 0.0, 0.0, 0.0]
    assert found.heat.waited.sum() == found.heat.waited[1] == 0.5


@pytest.mark.parametrize("yaw", [0.0, 0.7])
def test_heat_finds_the_squares_that_the_grid_does(yaw: float) -> None:
    grid = Grid(np.ones((8, 9), bool), 1.5, (-3.0, 2.0, yaw))
    found = FigureCollector(grid)
    places = np.random.default_rng(1).uniform(-15, 20, (500, 2))
    found.observe(1.0, np.arange(500), places, np.full(500, WAITING))
    cells = grid.cells_at(places)
    assert found.heat.passages.tolist() == np.bincount(cells[cells >= 0], minlength=grid.count).tolist()


def test_small_cells_are_counted_together() -> None:
    free = np.ones((7, 10), bool)
    free[:, 9] = False
    found = FigureCollector(Grid(free, 0.2))
    assert found.heat.grid.cell == pytest.approx(0.6)
    assert found.heat.free_mask.tolist() == [[True, True, True, False]] * 3


def test_a_standstill_of_all_is_one_deadlock() -> None:
    found = FigureCollector(GRID, deadlock_after=2.0)
    robots, here = np.arange(2), points(0, 3)

    def stand(seconds: float, *codes: int) -> None:
        for _ in range(int(seconds / 0.5)):
            found.observe(0.5, robots, here, np.array(codes))

    stand(5.0, WAITING, SERVING)
    stand(5.0, BLOCKED, DRIVING)
    stand(1.5, WAITING, IDLE)
    assert (found.standstill.deadlocks, found.standstill.stuck()) == (0, 1)
    stand(10.0, WAITING, IDLE)
    assert found.standstill.deadlocks == 1
    stand(0.5, DRIVING, IDLE)
    assert found.standstill.stuck() == 0
    stand(10.0, WAITING, WAITING)
    assert found.standstill.deadlocks == 2
    assert found.standstill.longest == 21.5


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


@settings(deadline=None, max_examples=20)
@given(st.lists(st.lists(st.tuples(st.integers(-1, 5), st.integers(-1, 4), st.integers(0, 4)), min_size=3, max_size=3)))
def test_figures_are_the_same_with_and_without_numba(steps: list[list[tuple[int, int, int]]]) -> None:
    def missing(*_: object) -> float:
        raise MissingDependencyError("numba is not installed")

    both = []
    for tally in (None, missing):
        found = FigureCollector(GRID, deadlock_after=1.0)
        with pytest.MonkeyPatch.context() as patch:
            if tally is not None:
                patch.setattr("fleet_sim.traffic.figures.collector.tally", tally)
            for number, step in enumerate(steps):
                # One robot comes and goes.
                there = np.array(step)[: 3 - number % 2]
                found.observe(0.5, np.arange(len(there)), there[:, :2] + 0.3, there[:, 2])
        heat, still = found.heat, found.standstill
        sums = (found.driven, heat.passages, heat.waited, found.waiting_times(), *found.series.table())
        both.append(([each.tolist() for each in sums], found.shares(), still.longest, still.deadlocks, still.stuck()))
    assert both[0] == both[1]

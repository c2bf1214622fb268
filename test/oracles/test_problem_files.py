"""Problem files of the League of Robot Runners: each key has the effect that its format describes, or is refused."""

from __future__ import annotations

import json
import math
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle_rows import holds

import fleet_sim as fs
from fleet_sim.base.arrays import Floats
from fleet_sim.facade.runner import Runner
from fleet_sim.warehouse.sites import read_site
from fleet_sim.warehouse.traffic import TrafficSettings
from fleet_sim.warehouse.traffic.runs import drive_workload
from fleet_sim.warehouse.traffic.workload import read_workload

ROWS = ["........", ".@@.@@..", "........", ".@@.@@..", "........", "........"]
STARTS = [0, 7, 40, 47]
TICK = 0.1
"""Seconds of a tick: what the Start-Kit gives its executor for one."""


def problem(
    folder: Path, tasks: list[list[int]], rows: list[str] = ROWS, starts: list[int] = STARTS, **more: Any
) -> Path:
    """Write a problem with its map, agents and tasks; return its file."""
    header = ["type octile", f"height {len(rows)}", f"width {len(rows[0])}", "map"]
    (folder / "hall.map").write_text("\n".join([*header, *rows]) + "\n")
    (folder / "hall.agents").write_text("\n".join(map(str, [len(starts), *starts])) + "\n")
    lines = [",".join(map(str, task)) for task in tasks]
    (folder / "hall.tasks").write_text("\n".join([str(len(lines)), *lines]) + "\n")
    names = {"mapFile": "hall.map", "agentFile": "hall.agents", "taskFile": "hall.tasks", "teamSize": len(starts)}
    path = folder / "problem.json"
    path.write_text(json.dumps({**names, **more}))
    return path


def random_tasks(count: int, rows: list[str] = ROWS) -> list[list[int]]:
    """Errands between free cells."""
    rng = np.random.default_rng(7)
    free = [number for number, letter in enumerate("".join(rows)) if letter == "."]
    return [rng.choice(free, 2, replace=False).tolist() for _ in range(count)]


LATE = 1 | 2 | 4
"""Reasons to stand, as bits: by command, by a delay, by a breakdown."""


class Watched:
    """The run of a problem: poses after each step, and by the numbers of steps who had which task, and was late."""

    def __init__(self, path: Path, seconds: float, monkeypatch: pytest.MonkeyPatch, period: float = 1.0) -> None:
        workload = read_workload(path)
        count, width = len(workload.starts), workload.site.grid.width
        poses: list[list[tuple[float, float, float]]] = []
        times: list[float] = []
        self.events: list[tuple[int, int, int, int]] = []
        """(step, robot, task, places of it that it has visited)."""
        self.tasks: list[tuple[int, int, list[tuple[int, int]]]] = []
        """(number, step since which a robot has it, row and column of each place that it was sent to)."""
        self.schedules: list[list[tuple[int, int]]] = [[] for _ in range(count)]
        """(step, task that it has from then on) by robot."""
        self.delays: list[list[list[int]]] = [[] for _ in range(count)]
        """[first, last step] by robot."""
        visited, since = np.zeros(count, np.int64), np.full(count, -1)
        step, following = Runner.step_over, type(workload.tasks).next

        def next_goals(tasks: Any, robots: Any, cells: Any) -> Any:
            goals = following(tasks, robots, cells)
            for place, robot in enumerate(robots.tolist()):
                mine = self.schedules[robot]
                if mine and mine[-1][1] >= 0:
                    visited[robot] += 1
                    self.events.append((len(times), robot, mine[-1][1], int(visited[robot])))
                    if not goals.done_mask[place]:
                        self.tasks[mine[-1][1]][2].append(divmod(int(goals.cells[place]), width))
                        continue
                if goals.cells[place] < 0:
                    mine += [(len(times), -1)] if mine else []
                    continue
                mine.append((len(times), len(self.tasks)))
                self.tasks.append((len(self.tasks), len(times), [divmod(int(goals.cells[place]), width)]))
                visited[robot] = 0
            return goals

        def look(runner: Runner, most: int) -> None:
            step(runner, 1)
            sim: Any = runner._sim
            # Others are simulated, too, to load machine code.
            if len(sim.agents) == count and (not times or sim.sim_time > times[-1]):
                late = sim.world.tables["traffic"].held[[agent.row for agent in sim.agents]] & LATE != 0
                for robot in np.flatnonzero(late != (since >= 0)).tolist():
                    if not late[robot]:
                        self.delays[robot].append([int(since[robot]), len(times) - 1])
                    since[robot] = len(times) if late[robot] else -1
                times.append(sim.sim_time)
                poses.append([(pose.x, pose.y, pose.yaw) for pose in (agent.get_pose() for agent in sim.agents)])

        monkeypatch.setattr(Runner, "step_over", look)
        monkeypatch.setattr(type(workload.tasks), "next", next_goals)
        self.outcome = drive_workload(workload, seconds, traffic=TrafficSettings(period=period))
        monkeypatch.undo()
        for robot in np.flatnonzero(since >= 0).tolist():
            self.delays[robot].append([int(since[robot]), len(times) - 1])
        self.figures = self.outcome.run.figures
        self.poses: Floats = np.array(poses)
        self.step = times[1] - times[0]


@pytest.mark.parametrize("dwell", [0.0, 1.3])
def test_a_run_ends_with_its_last_task_whether_or_not_somebody_looks(
    dwell: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = problem(tmp_path, [[8]], ["........."], [0])

    def figures() -> dict[str, float | None]:
        plans = TrafficSettings(period=7.0)
        found = drive_workload(read_workload(path), 100.0, traffic=plans, dwell=dwell).run.figures
        names = "makespan_s", "simulated_s", "flow_time_s_mean", "share_driving", "share_idle", "speed_mean"
        return {name: found[name] for name in names}

    whole, step = figures(), Runner.step_over
    monkeypatch.setattr(Runner, "step_over", lambda runner, most: step(runner, 1))
    assert figures() == whole
    # And not with the next plan; it is seen in the tick after that.
    assert whole["makespan_s"] == pytest.approx(whole["flow_time_s_mean"], abs=0.15)


@holds("api:drive_workload", fault="warehouse/traffic/workload.py: agentCounter is not read")
@pytest.mark.parametrize("counter", [3, pytest.param(7, marks=pytest.mark.slow)])
def test_a_robot_takes_agent_counter_ticks_for_a_cell_and_for_a_quarter_turn(
    counter: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # From the left to the right end and back, for ever: a half turn at each.
    path = problem(tmp_path, [[8], [0]], ["........."], [0], agentCounter=counter)
    # It is planned for in each step, so that it waits for no plan.
    run = Watched(path, 12.0 * counter, monkeypatch, 0.05)
    ends = np.array([tick for tick, *_ in run.events]) * run.step
    whole = 8 * counter * TICK + 2 * counter * TICK
    # A step to speed up, one to brake, and two to begin and end a turn.
    assert len(ends) > 8
    assert np.diff(ends) == pytest.approx(np.full(len(ends) - 1, whole), abs=4 * run.step)
    ways = np.hypot(*np.diff(run.poses[:, 0, :2], axis=0).T) / run.step
    turns = np.abs(np.angle(np.exp(1j * np.diff(run.poses[:, 0, 2])))) / run.step
    assert ways.max() == pytest.approx(1.0 / (counter * TICK), rel=1e-6)
    assert turns.max() == pytest.approx(0.5 * math.pi / (counter * TICK), rel=1e-6)


@holds("api:drive_workload", fault="warehouse/traffic/driving.py: squares are followed around corners as discs are")
@pytest.mark.parametrize(
    "size", [1.0, pytest.param(0.83, marks=pytest.mark.slow), pytest.param(0.6, marks=pytest.mark.slow)]
)
def test_squares_of_agent_size_never_overlap(size: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    starts = [0, 7, 40, 47, 16, 23, 3, 35]
    run = Watched(problem(tmp_path, random_tasks(60), starts=starts, agentCounter=5, agentSize=size), 90.0, monkeypatch)
    assert run.figures["tasks_done"] > 20
    assert run.figures["collisions"] == 0
    middles = run.poses[:, :, :2]
    for one, other in combinations(range(len(starts)), 2):
        apart = middles[:, one] - middles[:, other]
        # Straight lines between two steps, at a tenth of one.
        for share in np.linspace(0.0, 1.0, 10, endpoint=False):
            between = apart[:-1] + share * (apart[1:] - apart[:-1])
            assert np.abs(between).max(axis=1).min() >= size - 1e-6
    # Nor with a wall: along a row or a column of free cells.
    height = len(ROWS)
    for side in ((-1, -1), (-1, 1), (1, -1), (1, 1)):
        corners = middles + 0.5 * (size - 1e-6) * np.array(side)
        rows, columns = height - 1 - np.floor(corners[..., 1]).astype(int), np.floor(corners[..., 0]).astype(int)
        assert {ROWS[row][column] for row, column in set(zip(rows.flat, columns.flat, strict=True))} == {"."}


@holds("api:drive_workload", fault="warehouse/traffic/workload.py: robots of the League may drive backwards")
def test_robots_of_the_league_only_drive_forwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Watched(problem(tmp_path, random_tasks(40), agentCounter=4), 40.0, monkeypatch)
    ways = np.diff(run.poses[:, :, :2], axis=0)
    moves = np.hypot(ways[..., 0], ways[..., 1]) > 1e-9
    ahead = np.cos(run.poses[1:, :, 2]) * ways[..., 0] + np.sin(run.poses[1:, :, 2]) * ways[..., 1]
    assert (ahead[moves] > 0.0).all()
    # They turn around now and then, so going back would have saved turns.
    assert np.ptp(run.poses[..., 2]) > 3.0


@holds("api:drive_workload", fault="warehouse/traffic/disturbances.py: delays last one tick less than drawn")
@pytest.mark.parametrize(
    ("events", "durations"),
    [
        ("bernoulli", "uniform"),
        ("poisson", "gaussian"),
        pytest.param("bernoulli", "gaussian", marks=pytest.mark.slow),
        pytest.param("poisson", "uniform", marks=pytest.mark.slow),
    ],
)
def test_delays_come_as_often_and_last_as_long_as_the_file_says(
    events: str, durations: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance, shortest, longest, seconds = 0.03, 2, 9, 150.0
    delays = {"seed": 5, "minDelay": shortest, "maxDelay": longest, "pDelay": chance, "eventModel": events}
    model = {"durationModel": durations, "gaussMeanRatio": 0.3, "gaussStdRatio": 0.2}
    path = problem(tmp_path, random_tasks(40), agentCounter=4, delayConfig={**delays, **model})
    run = Watched(path, seconds, monkeypatch)
    steps = run.step / TICK
    lengths = []
    for robot, intervals in enumerate(run.delays):
        # One delay may follow another at once, so the longest is not checked by itself.
        for first, last in intervals:
            lengths.append((last - first + 1) * steps)
            # It stands from the step after that in which it braked.
            held = run.poses[first + 1 : last, robot]
            assert np.ptp(held[:, :2], axis=0).max(initial=0.0) <= 1e-9 if len(held) else True
    assert np.array(lengths) == pytest.approx(np.rint(lengths), abs=1e-6)
    assert min(lengths) >= shortest
    # Robots that stand are not drawn: of each robot's ticks a part is free.
    mean = sum(lengths) / len(lengths)
    expected = 0.5 * (shortest + longest) if durations == "uniform" else shortest + 0.3 * (longest - shortest)
    assert mean == pytest.approx(expected, rel=0.15)
    free = len(STARTS) * seconds / TICK - sum(lengths)
    often = chance * (free if events == "bernoulli" else len(STARTS) * seconds / TICK)
    assert len(lengths) == pytest.approx(often, rel=0.2)


@holds(
    "api:drive_workload", fault="warehouse/traffic/workload.py: the task that was revealed first is taken, however far"
)
@pytest.mark.parametrize("reveal", [0.5, 2.5])
def test_robots_take_the_nearest_of_the_revealed_tasks(
    reveal: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = random_tasks(14)
    run = Watched(problem(tmp_path, tasks, agentCounter=3, numTasksReveal=reveal), 90.0, monkeypatch)
    known = int(reveal * len(STARTS))
    places = [[divmod(cell, 8) for cell in task] for task in tasks]
    pool, revealed = list(range(known)), known
    at = {robot: divmod(cell, 8) for robot, cell in enumerate(STARTS)}
    has: dict[int, int] = {}
    begun: dict[int, int] = {}
    for robot, schedule in enumerate(run.schedules):
        begun.update({task: robot for _, task in schedule})
    # Tasks are numbered as they are taken, so their order in the file is that of the choices.
    ended = {task: tick for tick, _, task, visited in run.events if visited == 2}
    waiting = sorted(ended.items(), key=lambda item: item[1])
    for number, since, stops in run.tasks:
        for task, tick in [entry for entry in waiting if entry[1] <= since]:
            robot = begun[task]
            at[robot] = tuple(places[has.pop(robot) % len(tasks)][-1])
            pool.append(revealed)
            revealed += 1
            waiting.remove((task, tick))
        robot = begun[number]
        assert robot not in has
        away = [abs(places[one % 14][0][0] - at[robot][0]) + abs(places[one % 14][0][1] - at[robot][1]) for one in pool]
        taken = pool.pop(int(np.argmin(away)))
        assert stops == places[taken % 14][: len(stops)]
        has[robot] = taken
        assert len(has) <= known
    # The list begins again after its last task.
    assert len(run.tasks) > 14


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"agentSize": 1.2}, "agentSize"),
        ({"agentCounter": 0}, "agentCounter"),
        ({"agentCounter": 2.5}, "agentCounter"),
        ({"agentcounter": 3}, "agentCounter"),
        ({"numTasksReveal": 0.1}, "numTasksReveal"),
        ({"numTasksReveal": 3, "taskAssignmentStrategy": "greedy"}, "numTasksReveal"),
        ({"taskAssignmentStrategy": "roundrobin-fixed"}, "roundrobin"),
        ({"delayConfig": {"minDelay": 5, "maxDelay": 2}}, "maxDelay"),
        ({"delayConfig": {"pDelay": 1.5}}, "pDelay"),
        ({"delayConfig": {"eventModel": "weibull"}}, "eventModel"),
        ({"delayConfig": {"lambda": 0.1}}, "lambda"),
        ({"windConfig": {}}, "windConfig"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_its_key(more: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = problem(tmp_path, random_tasks(5), **more)
    with pytest.raises(fs.ConfigError, match=message) as caught:
        read_workload(path)
    assert str(path) in str(caught.value)


def test_a_problem_is_a_site_with_its_map_and_starts(tmp_path: Path) -> None:
    site = read_site(problem(tmp_path, random_tasks(5), agentCounter=3))
    assert site.starts.tolist() == STARTS
    assert site.grid.free_mask.tolist() == [[letter == "." for letter in row] for row in ROWS]


@pytest.mark.parametrize(
    ("name", "content", "named"),
    [
        ("kiva.json", {"layout": ["w.e", "w@e"], "n_row": 2, "maxtime": 5000}, ["maxtime"]),
        ("league.json", {"mapFile": "hall.map", "agentCounter": 3, "agentSize": 0.9}, ["agentCounter", "agentSize"]),
        (
            "floor.building.yaml",
            {
                "crowd_sim": {"enable": 1},
                "levels": {
                    "L1": {
                        "vertices": [[0, 0, 0, "", {"human_goal": [1, "x"]}], [9, 0, 0, ""], [9, 7, 0, ""]],
                        "measurements": [[0, 1, {"distance": [3, 9.0]}]],
                        "lanes": [[0, 1, {"demo_mock_lift_name": [1, "a"], "speed_limit": [3, 0.0]}]],
                        "floors": [{"vertices": [0, 1, 2]}],
                        "layers": {},
                        "human_lanes": [],
                    }
                },
            },
            ["crowd_sim", "levels.L1: human_lanes", "human_goal", "demo_mock_lift_name"],
        ),
    ],
)
def test_keys_without_an_effect_are_named_in_one_line(
    name: str, content: dict[str, Any], named: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    problem(tmp_path, random_tasks(5))
    # JSON is YAML, too.
    (tmp_path / name).write_text(json.dumps(content))
    read_site(tmp_path / name)
    (record,) = caplog.records
    assert all(key in record.getMessage() for key in (name, *named))
    assert "speed_limit" not in record.getMessage() and "layers" not in record.getMessage()


def test_a_map_with_a_line_of_another_dialect_is_refused(tmp_path: Path) -> None:
    (tmp_path / "odd.map").write_text("type octile\nheight 1\nwidth 2\nscale 0.5\nmap\n..\n")
    with pytest.raises(fs.ConfigError, match="line 4"):
        read_site(tmp_path / "odd.map")

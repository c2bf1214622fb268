"""What robots did, written as the League of Robot Runners does, and read as its visualiser reads it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fleet_sim.apps.cli.main import main
from fleet_sim.base.arrays import Floats
from fleet_sim.warehouse.traffic.league_file import LeagueRun, LeagueTask, write_league

pytest.importorskip("numba")

ROOM = "type octile\nheight 6\nwidth 8\nmap\n" + "........\n.@@..@@.\n........\n........\n.@@..@@.\n........\n"
STEPS = {"U": (1, 0), "D": (-1, 0), "L": (0, -1), "R": (0, 1), "W": (0, 0)}


def decoded(path: str, start: list[Any], units: int) -> Floats:
    """Where a robot is (T + 1, 2) in rows and columns, as PlanViz decodes a path in ticks; snapshots are checked."""
    place = np.array(start[:2], float) * units
    places = [place]
    chunks = list(re.finditer(r"\[\(([^)]*)\):\(([^)]*)\)\]", path))
    assert "".join(chunk.group(0) for chunk in chunks) == path
    for chunk in chunks:
        tick, row, column, _, counter = (int(part) for part in chunk.group(1).split(","))
        assert tick == len(places) - 1
        # A snapshot is the cell that it was in the middle of last, and how far it has gone since.
        assert np.abs(place - np.array([row, column]) * units).sum() == counter
        for run in chunk.group(2).split(","):
            letter, count = run.split()
            for _ in range(int(count)):
                place = place + STEPS[letter]
                places.append(place)
    return np.array(places) / units


def test_a_run_is_what_its_file_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("room.map").write_text(ROOM)
    Path("room.agents").write_text("3\n0\n47\n20\n")
    Path("room.tasks").write_text("4\n5,16\n26,40,7\n16,47\n31,0\n")
    problem = {"mapFile": "room.map", "agentFile": "room.agents", "teamSize": 3, "taskFile": "room.tasks"}
    Path("room.json").write_text(json.dumps(problem))
    arguments = ["traffic", "run", "room.json", "--seconds", "130", "--speed", "1.5", "--quiet"]
    assert main([*arguments, "--json", "figures.json", "--out", "out.json"]) == 0
    figures, content = json.loads(Path("figures.json").read_text()), json.loads(Path("out.json").read_text())
    assert (content["actionModel"], content["teamSize"]) == ("MAPF", 3)
    assert content["numTaskFinished"] == figures["tasks_done"] == 4
    assert content["makespan"] == round(figures["simulated_s"] / 0.1)
    assert content["errors"] == content["scheduleErrors"] == []
    paths = [
        decoded(path, start, content["agentMaxCounter"])
        for path, start in zip(content["actualPaths"], content["start"], strict=True)
    ]
    assert all(len(path) == content["makespan"] + 1 for path in paths)
    # Each errand ends where it leads to, at the tick of its event, and robots drove as far as the figures say.
    tasks = {number: np.array(places).reshape(-1, 2) for number, _, places in content["tasks"]}
    assert sorted(len(places) for places in tasks.values()) == [2, 2, 2, 3]
    for tick, robot, task, visited in content["events"]:
        assert np.abs(paths[robot][tick] - tasks[task][visited - 1]).max() < 0.5
        assert f":{task}" in content["actualSchedule"][robot]
    assert len(content["events"]) == 9
    driven = sum(np.abs(np.diff(path, axis=0)).sum() for path in paths)
    assert driven == pytest.approx(figures["driven_m"], abs=1.0)
    blocked = np.array([[letter == "@" for letter in line] for line in ROOM.splitlines()[4:]])
    for path in paths:
        assert not blocked[tuple(np.rint(path).astype(int).T)].any()


def test_a_plan_that_is_executed_is_written_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("room.map").write_text(ROOM)
    Path("room.scen").write_text("version 1\n0\troom.map\t8\t6\t0\t0\t4\t0\t4\n0\troom.map\t8\t6\t7\t5\t7\t3\t2\n")
    Path("p.txt").write_text("Agent 0:(0,0)->(1,0)->(2,0)->(3,0)->(4,0)->\nAgent 1:(7,5)->(7,4)->(7,3)->\n")
    # A step is longer than a robot needs for a cell: it is split in ticks.
    given = ["execute", "--map", "room.map", "--scen", "room.scen", "--paths", "p.txt", "--timestep", "0.8", "--quiet"]
    assert main(["traffic", *given, "--out", "out.json"]) == 0
    content = json.loads(Path("out.json").read_text())
    ends = [
        decoded(path, start, content["agentMaxCounter"])[-1].tolist()
        for path, start in zip(content["actualPaths"], content["start"], strict=True)
    ]
    assert ends == [[0.0, 4.0], [3.0, 7.0]]
    assert content["makespan"] % 2 == 0
    assert {robot: task for _, robot, task, _ in content["events"]} == {0: 0, 1: 1}


def test_long_runs_have_segments_and_idle_robots_a_schedule(tmp_path: Path) -> None:
    moves = np.zeros((2300, 2), np.uint8)
    moves[998:1003, 0] = 1
    run = LeagueRun(
        units=5,
        starts=np.array([[0, 0], [3, 3]]),
        moves=moves,
        planned=moves,
        tasks=[LeagueTask(0, 0, [(1, 0)])],
        finished=1,
        events=[(1003, 0, 0, 1)],
        schedules=[[(0, 0), (1003, -1)], []],
        delays=[[], [(5, 9)]],
        errors=[(0, 1, 7, "collision of two robots")],
        planning_s=np.array([0.25]),
        failed_plans=3,
    )
    write_league(tmp_path / "out.json", run)
    content = json.loads((tmp_path / "out.json").read_text())
    path = content["actualPaths"][0]
    assert path == "[(0,0,0,0,0):(W 998,U 2)][(1000,0,0,0,2):(U 3,W 997)][(2000,1,0,0,0):(W 300)]"
    assert decoded(path, content["start"][0], 5)[-1].tolist() == [1.0, 0.0]
    assert content["actualSchedule"] == ["0:0,1003:-1", "0:-1"]
    assert content["delayIntervals"] == [[], [[5, 9]]]
    assert content["errors"] == [[-1, 0, 1, 7, "collision of two robots"]]
    assert (content["plannerTimes"], content["numEntryTimeouts"]) == ([0.25], 3)

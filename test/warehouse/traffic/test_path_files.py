"""Files of paths: read as the programs write them, written so that they are read again, refused with robot and step."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fleet_sim import ConfigError, InvalidValueError
from fleet_sim.warehouse.sites import Grid
from fleet_sim.warehouse.traffic.path_files import read_paths, write_paths
from fleet_sim.warehouse.traffic.problem import makespan, steps_to_rest, sum_of_costs

FREE = np.ones((3, 4), bool)
FREE[1, 1] = False
GRID = Grid(FREE)
"""Cells 0 to 11 in rows of four; 5 is a wall."""

SMART = "Agent 0:(0,0)->(1,0)->(2,0)->\nAgent 1:(3,2)->(3,1)->\n"
LACAM = """agents=2
map_file=hall.map
solver=planner
solved=1
soc=3
makespan=2
starts=(0,0),(3,2),
goals=(2,0),(3,1),
solution=
0:(0,0),(3,2),
1:(1,0),(3,1),
2:(2,0),(3,1),
"""
CELLS = [[0, 1, 2], [11, 7, 7]]


@pytest.fixture
def file(tmp_path: Path):
    def write(text: str) -> Path:
        path = tmp_path / "paths.txt"
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize(
    "text",
    [
        SMART,
        SMART.replace("->\n", "\n"),
        "\n" + SMART.replace("Agent 1:", "Agent 1: ").replace("\n", "\r\n"),
        "Agent 0:(0,0,0)->(1,0,1)->(2,0,2)->\nAgent 1:(3,2,0)->(3,1,1.0)->\n",
        LACAM,
        "\n".join(LACAM.splitlines()[8:]),
    ],
)
def test_both_formats_are_read(file, text: str) -> None:
    paths = read_paths(file(text), GRID)
    assert paths.cells.tolist() == CELLS
    assert paths.lengths.tolist() == ([2, 2] if "solution" in text else [2, 1])


def test_starts_tell_the_order_of_the_two_numbers(file) -> None:
    by_rows = "Agent 0:(0,0)->(0,1)->(0,2)->\nAgent 1:(2,3)->(1,3)->\n"
    assert read_paths(file(by_rows), GRID, np.array([0, 11])).cells.tolist() == CELLS
    assert read_paths(file(SMART), GRID, np.array([0, 11])).cells.tolist() == CELLS
    # lacam3's order is known: files of its own are never turned.
    with pytest.raises(ConfigError, match=r"step 0: it begins in column 3, row 2, but .* starts it in column 2"):
        read_paths(file(LACAM), GRID, np.array([0, 10]))


@pytest.mark.parametrize("form", ["lacam", "smart"])
def test_what_is_written_is_read_again(tmp_path: Path, form: str) -> None:
    write_paths(tmp_path / "out.txt", np.array(CELLS), GRID, form=form, map_name="hall.map")
    assert read_paths(tmp_path / "out.txt", GRID).cells.tolist() == CELLS
    with pytest.raises(InvalidValueError, match=r"lacam or smart, got 'lorr'"):
        write_paths(tmp_path / "out.txt", np.array(CELLS), GRID, form="lorr")


def test_a_robot_that_only_stands_has_a_path(file) -> None:
    assert read_paths(file("Agent 0:(2,2)->"), GRID).cells.tolist() == [[10, 10]]


def test_costs_count_the_steps_until_a_robot_stays() -> None:
    paths = np.array([[0, 1, 1, 2, 2, 2], [4, 4, 4, 4, 4, 4], [8, 9, 10, 9, 8, 9]])
    assert steps_to_rest(paths).tolist() == [3, 0, 5]
    assert (sum_of_costs(paths), makespan(paths)) == (8, 5)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it has neither lines"),
        ("x,y\n0,1\n", "it has neither lines"),
        ("Agent 0:(0,0)->(1,0\n", r"line 1: expected cells such as \(3,4\)->\(3,5\), got '\(1,0'"),
        ("Agent 0:(0,0)->(99999999999,0)\n", "line 1: expected cells"),
        ("Agent 0:(0,0)->(a,0)\n", "line 1: expected cells"),
        ("Agent 0:\n", "line 1: agent 0 has no cells"),
        ("Agent 1:(0,0)->\n", "line 1: expected agent 0, got agent 1"),
        ("Agent 0:(0,0)->\nrobot 1:(1,0)->\n", "line 2: expected `Agent 1:`"),
        ("Agent 0:(0,0,0)->(1,0,2)->\n", "the times of agent 0 must count"),
        ("Agent 0:(0,0,0)->(1,0,0.5)->\n", "the times of agent 0 must count"),
        ("Agent 0:(0,0)->(1,0,1)->\n", "the times of agent 0 must count"),
        ("Agent 0:(0,0)->(0,-1)->\n", "robot 0, step 1: column 0, row -1 is outside of the map, which has 4 x 3"),
        ("Agent 0:(3,0)->(4,0)->\n", "robot 0, step 1: column 4, row 0 is outside of the map"),
        ("Agent 0:(1,0)->(1,1)->\n", "robot 0, step 1: column 1, row 1 is blocked in the map"),
        ("Agent 0:(0,0)->(2,0)->\n", "robot 0, step 1: it jumps from column 0, row 0 to column 2, row 0"),
        ("Agent 0:(2,1)->(3,2)->\n", "robot 0, step 1: it jumps"),
        ("Agent 0:(0,0)->\nAgent 1:(0,0)->\n", "robot 1, step 0: it is in column 0, row 0 together with robot 0"),
        ("Agent 0:(0,0)->(1,0)\nAgent 1:(2,0)->(2,0)->(1,0)", "robot 1, step 2: it is in column 1, row 0 together"),
        ("Agent 0:(0,0)->(1,0)\nAgent 1:(1,0)->(0,0)", "robot 0, step 1: it changes places with robot 1"),
        (LACAM.replace("solved=1", "solved=0"), "line 4: it says that no solution was found"),
        (LACAM.replace("agents=2", "agents=3"), "line 1: it says 3 agents, but has the paths of 2"),
        (LACAM.split("0:")[0], "it has no steps after a line `solution=`"),
        ("agents=2\nsoc=3\n", "it has no steps after a line `solution=`"),
        (LACAM.replace("1:(1,0),(3,1),", "1:(1,0),"), "line 11: expected the cells of 2 robots, got 1"),
        (LACAM.replace("\n1:", "\n2:"), "line 11: expected `1:` and cells"),
        (LACAM.replace("(1,0)", "(1;0)"), "line 11: expected cells"),
        (LACAM.replace("(1,0)", "(1,0,1)"), r"line 11: expected cells as \(column,row\)"),
    ],
)
def test_what_is_wrong_is_refused_with_its_place(file, text: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        read_paths(file(text), GRID)


def test_more_robots_than_starts_are_refused(file) -> None:
    with pytest.raises(ConfigError, match="paths of 2 robots, but there are 1 starts"):
        read_paths(file(SMART), GRID, np.array([0]))
    with pytest.raises(ConfigError, match="there is no such file"):
        read_paths("none.txt", GRID)


def test_a_file_that_would_fill_the_memory_is_refused(file) -> None:
    many = "".join(f"Agent {robot}:(0,0)->\n" for robot in range(1, 20_001))
    with pytest.raises(ConfigError, match="at most 100000000 cells"):
        read_paths(file("Agent 0:" + "(0,0)->" * 5_001 + "\n" + many), GRID)

"""Planners that are programs, and that are classes of users."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import networks
import numpy as np
import pytest

from fleet_sim.base.errors import ConfigError, InvalidValueError, PlanError
from fleet_sim.base.files import remote_input
from fleet_sim.warehouse.traffic import Planner, Problem, checked_plan, make_planner

SHORTEST = """
import json, sys
asked = json.load(open(sys.argv[1]))
def path(start, goal):
    before, front = {goal: goal}, [goal]
    for node in front:
        for other, ends in enumerate(asked["neighbours"]):
            if node in ends and other not in before:
                before[other] = node
                front.append(other)
    way = [start]
    while way[-1] != goal:
        way.append(before[way[-1]])
    return way
ways = [path(*ends) for ends in zip(asked["starts"], asked["goals"])]
longest = max(map(len, ways))
json.dump({"paths": [way + way[-1:] * (longest - len(way)) for way in ways]}, open(sys.argv[2], "w"))
"""


def planner_of(tmp_path: Path, code: str) -> Planner:
    """Return a planner that runs `code` as a program."""
    program = tmp_path / "program.py"
    program.write_text(code)
    return make_planner("external", networks.grid_network(), command=[sys.executable, str(program)])


def problem(**more: float) -> Problem:
    return Problem(networks.grid_network(), np.array([0, 7]), np.array([3, 39]), **more)  # type: ignore[arg-type]


def test_a_program_plans(tmp_path: Path) -> None:
    paths = checked_plan(planner_of(tmp_path, SHORTEST), problem())
    assert paths[:, -1].tolist() == [3, 39]


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("import sys; sys.exit('no idea')", "ended with code 1; it said: no idea"),
        ("print('forgot')", "wrote no path file; it said: forgot"),
        ("import sys; open(sys.argv[2], 'w').write('{')", "the path file is not"),
        ("import sys; open(sys.argv[2], 'w').write('{\"paths\": [[0, 1], [7]]}')", "the path file is not"),
        ("import sys; open(sys.argv[2], 'w').write('{\"paths\": [[0, 39], [7, 7]]}')", "not neighbours"),
        ('import sys; open(sys.argv[2], \'w\').write(\'{"paths": [["a"], ["b"]]}\')', "expected whole numbers"),
    ],
)
def test_a_program_that_fails_is_quoted(tmp_path: Path, code: str, error: str) -> None:
    with pytest.raises(PlanError, match=error):
        checked_plan(planner_of(tmp_path, code), problem())


def test_a_late_program_is_stopped_with_its_children(tmp_path: Path) -> None:
    child = tmp_path / "child"
    code = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(child)!r}, 'w').write(str(child.pid))\n"
        "time.sleep(600)\n"
    )
    with pytest.raises(PlanError, match="was stopped: it had no plan in 3 s"):
        planner_of(tmp_path, code).plan(problem(time_limit=3.0))
    assert not is_running(int(child.read_text()))


def is_running(process: int) -> bool:
    """Return whether a process goes on, a few moments after it was killed."""
    for _ in range(100):
        try:
            # After the name of the program, which stands in brackets.
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return False
        if state == "Z":
            return False
        time.sleep(0.05)
    return True


def test_a_program_that_is_not_there_and_commands_from_messages_are_refused() -> None:
    network = networks.grid_network()
    with pytest.raises(PlanError, match="'/no/such/planner' cannot be run"):
        make_planner("external", network, command=["/no/such/planner"]).plan(problem())
    with pytest.raises(InvalidValueError, match="command"):
        make_planner("external", network, command=[])
    with pytest.raises(ConfigError, match="command: missing"):
        make_planner("external", network)
    with remote_input(), pytest.raises(InvalidValueError, match="may not name programs"):
        make_planner("external", network, command=["true"])


OWN = """
from fleet_sim.warehouse.traffic import Planner

class Broken(Planner):
    def plan(self, problem):
        return [1][5]

class Swapping(Planner):
    def plan(self, problem):
        import numpy as np
        return np.stack((problem.starts, problem.goals), axis=1)
"""


def test_planners_of_users_are_found_and_what_they_do_wrong_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_planners.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    network = networks.grid_network()
    with pytest.raises(PlanError, match=r"planner Broken failed \(IndexError: list index out of range\)"):
        checked_plan(make_planner("own_planners:Broken", network), problem())
    swap = Problem(network, np.array([0, 1]), np.array([1, 0]))
    with pytest.raises(PlanError, match="planner Swapping: robots 1 and 0 need each other's place"):
        checked_plan(make_planner("own_planners.Swapping", network), swap)
    with pytest.raises(InvalidValueError, match="a class derived from Planner"):
        make_planner("fractions:Fraction", network)
    with pytest.raises(KeyError, match="Did you mean 'pibt'"):
        make_planner("pipt", network)


def test_the_example_runs() -> None:
    example = Path(__file__).parents[3] / "examples" / "own_planner.py"
    done = subprocess.run(
        [sys.executable, str(example)], capture_output=True, text=True, check=True, env={**os.environ}
    )
    goals = [int(line.split(": ")[1].split()[0]) for line in done.stdout.splitlines()]
    assert len(goals) == 3 and min(goals) > 20, done.stdout
    assert goals[2] > goals[0], "PIBT does better than politeness"

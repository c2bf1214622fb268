"""Kernels are compiled before a planner's time limit runs: with an empty cache that takes up to a minute."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numba")

# Kernels tell which forms of their machine code there are, in a process in which none has any at first.
PROGRAM = """
import sys
import numpy as np
from fleet_sim.base.kernels import Kernel
from fleet_sim.warehouse.sites import Grid, Site
from fleet_sim.warehouse.traffic import Network, Problem
from fleet_sim.warehouse.traffic.planning import Planning
from fleet_sim.warehouse.traffic.settings import TrafficSettings

codes = {}
machine_code = Kernel.machine_code

def told(kernel):
    codes[kernel.function.__name__] = machine_code(kernel)
    return codes[kernel.function.__name__]

def forms():
    # The types that each kernel has machine code for.
    return {(name, str(types)) for name, code in codes.items() for types in code.signatures}

Kernel.machine_code = told
network = Network.of_grid(Site("yard", Grid(np.ones((6, 6), bool))), radius=0.3)
planning = Planning(network, TrafficSettings(planner=sys.argv[1], settings=eval(sys.argv[2])))
before = forms()
assert before
robots = np.arange(1 if sys.argv[1] == "astar" else 6)
planned = planning.plan(Problem(network, robots, 35 - robots, window=10, seed=1))
assert planned.paths is not None, planning.last_refusal
print(sorted(forms() - before))
"""
OWN = """
import numpy as np
from fleet_sim.warehouse.traffic import Planner

class Waiting(Planner):
    def plan(self, problem):
        self.network.distances(int(problem.goals[0]))
        return np.repeat(problem.starts[:, None], problem.window + 1, axis=1)
"""


@pytest.mark.parametrize(
    ("planner", "settings"),
    [
        ("pibt", "{}"),
        ("prioritized", "{}"),
        ("lacam", "{'refinements': 5}"),
        ("astar", "{}"),
        ("my_own:Waiting", "{}"),
    ],
)
def test_the_first_plan_compiles_nothing(tmp_path: Path, planner: str, settings: str) -> None:
    (tmp_path / "my_own.py").write_text(OWN)
    command = [sys.executable, "-c", PROGRAM, planner, settings]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr

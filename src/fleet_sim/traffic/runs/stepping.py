"""Steps a fleet to the end of a run, and measures how long that takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from fleet_sim.errors import PlanError
from fleet_sim.sites.grid import Grid
from fleet_sim.sites.site import Site
from fleet_sim.traffic.planners.registry import make_planner
from fleet_sim.traffic.problem import Problem
from fleet_sim.traffic.runs.fleet import RunFleet, make_fleet
from fleet_sim.traffic.runs.outcome import Progress
from fleet_sim.traffic.runs.settings import FleetSettings
from fleet_sim.traffic.settings import TrafficSettings

OURS = ("astar", "lacam", "pibt", "prioritized")
"""Planners that are compiled when they are first asked."""

SHOWN_EACH = 0.5
"""Seconds of wall time between two calls of a progress function."""


class Timing(NamedTuple):
    """Time of the clock on the wall and of the processor, in s, and whether Ctrl-C ended the run."""

    wall: float
    cpu: float
    stopped: bool

    def figures(self, simulated: float) -> dict[str, float | None]:
        """Return them as figures of a run in which `simulated` s passed."""
        factor = simulated / self.wall if self.wall > 0.0 else None
        return {"wall_s": self.wall, "cpu_s": self.cpu, "real_time_factor": factor}


def step_to(
    fleet: RunFleet, seconds: float, done: Callable[[], bool], tasks: Callable[[], int], progress: Progress | None
) -> Timing:
    """Step until `seconds` are simulated or `done()`; return how long it took, and whether Ctrl-C ended it."""
    sim = fleet.sim
    begin = shown = time.perf_counter()
    begin_cpu = time.process_time()
    stopped = False
    try:
        # The tolerance is for times like 0.1 s, whose multiples fall just short.
        while sim.sim_time < seconds - 1e-9 and not done():
            sim.step_once()
            now = time.perf_counter()
            # By wall time: a fast run has thousands of steps between two looks.
            if progress is not None and now - shown >= SHOWN_EACH:
                shown = now
                progress(sim.sim_time, seconds, tasks())
    except KeyboardInterrupt:
        stopped = True
    return Timing(time.perf_counter() - begin, time.process_time() - begin_cpu, stopped)


def warm_up(planner: str = "pibt", settings: Mapping[str, object] | None = None) -> None:
    """Load the machine code that a run with `planner` uses: seconds at first, and no part of its planning.

    Planners of other packages are left alone: they may not expect a problem that nobody asked for.
    """
    site = Site("yard", Grid(np.ones((2, 3), bool)))
    # Robots in two corners that exchange places: that needs a plan, grants, and turns.
    fleet = make_fleet(site, np.array([0, 5]), FleetSettings(), TrafficSettings(), 0)
    with fleet.sim:
        nodes = fleet.traffic.nodes(fleet.traffic.rows)
        fleet.traffic.send_rows(fleet.traffic.rows, nodes[::-1].copy())
        for _ in range(30):
            fleet.sim.step_once()
        if planner not in OURS:
            return
        made = make_planner(planner, fleet.traffic.network, **(settings or {}))
        # The time limit passes while code is loaded: whether there is a plan does not matter.
        with suppress(PlanError):
            made.plan(Problem(fleet.traffic.network, nodes, nodes[::-1].copy(), window=4, time_limit=1.0))

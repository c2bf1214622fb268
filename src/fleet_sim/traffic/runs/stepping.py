"""Steps a fleet to the end of a run, and measures how long that takes."""

from __future__ import annotations

import time
from collections.abc import Callable

from fleet_sim.sites.grid import Grid
from fleet_sim.sites.site import Site
from fleet_sim.traffic.runs.fleet import Fleet, make_fleet
from fleet_sim.traffic.runs.outcome import Progress
from fleet_sim.traffic.runs.settings import FleetSettings
from fleet_sim.traffic.settings import TrafficSettings

SHOWN_EACH = 0.5
"""Seconds of wall time between two calls of a progress function."""


def step_to(
    fleet: Fleet, seconds: float, done: Callable[[], bool], tasks: Callable[[], int], progress: Progress | None
) -> tuple[float, bool]:
    """Step until `seconds` are simulated or `done()`; return the wall time in s, and whether Ctrl-C ended it."""
    sim = fleet.sim
    begin = shown = time.perf_counter()
    stopped = False
    try:
        while sim.sim_time < seconds - 1e-9 and not done():
            sim.step_once()
            now = time.perf_counter()
            if progress is not None and now - shown >= SHOWN_EACH:
                shown = now
                progress(sim.sim_time, seconds, tasks())
    except KeyboardInterrupt:
        stopped = True
    return time.perf_counter() - begin, stopped


def warm_up() -> None:
    """Load the machine code of what every run uses, which takes a second at first and is no part of planning."""
    import numpy as np

    site = Site("yard", Grid(np.ones((2, 3), bool)))
    fleet = make_fleet(site, np.array([0, 5]), FleetSettings(), TrafficSettings(), 0)
    with fleet.sim:
        fleet.traffic.send_rows(fleet.traffic.rows, fleet.traffic.nodes(fleet.traffic.rows)[::-1].copy())
        for _ in range(30):
            fleet.sim.step_once()

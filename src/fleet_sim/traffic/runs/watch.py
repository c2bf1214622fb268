"""Watch: looks at a fleet in every step, and turns what it saw into figures."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Bytes, Floats, Ints, Rows
from fleet_sim.kernels import compiled_step
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.traffic.columns import BROKEN, STOPPED, UNFIT
from fleet_sim.traffic.figures import FigureCollector
from fleet_sim.traffic.figures.closest import RobotOutlines, outlines_of
from fleet_sim.traffic.figures.collector import BLOCKED, DRIVING, IDLE, SERVING, WAITING
from fleet_sim.traffic.figures.summary import planning_of, summary_of
from fleet_sim.traffic.runs.crew import Crew
from fleet_sim.traffic.traffic import Traffic

HELD = STOPPED | BROKEN | UNFIT
"""Reasons to stand that no order of passing ends."""


@compiled_step
def look_at(
    rows: Rows,
    speed: Floats,
    spin: Floats,
    held: Bytes,
    position: Floats,
    serving_mask: Bools,
    active_mask: Bools,
    points: Floats,
    codes: Ints,
) -> float:
    """Write where `rows` (K,) are and what they do to `points` (K, 2) and `codes` (K,); return the highest speed."""
    fastest = 0.0
    for place in range(len(rows)):
        row = rows[place]
        points[place, 0], points[place, 1] = position[row, 0], position[row, 1]
        fastest = max(fastest, speed[row])
        if serving_mask[place]:
            codes[place] = SERVING
        elif speed[row] > 0.0 or spin[row] != 0.0:
            # Turning on the spot is driving, too: the robot does what it was told.
            codes[place] = DRIVING
        elif active_mask[place]:
            codes[place] = BLOCKED if held[row] & HELD else WAITING
        else:
            codes[place] = IDLE
    return fastest


class Watch:
    """Figures of the robots of `crew`, gathered by `look` in the last phase of each step."""

    def __init__(self, sim: MultiRobotSimulationCore, traffic: Traffic, crew: Crew, collector: FigureCollector) -> None:
        self.collector = collector
        self.speed_max = 0.0
        self._sim = sim
        self._traffic = traffic
        self._crew = crew
        collector.begin(crew.robots, sim.world.position[crew.rows, :2], self._outlines())

    def look(self, dt: float, serving_mask: Bools, active_mask: Bools) -> None:
        """Look at all robots (K,), some of which are served at a goal, and some of which have a task."""
        rows, table = self._crew.rows, self._crew.table
        points, codes = np.empty((len(rows), 2)), np.empty(len(rows), np.int64)
        columns = table.speed, table.spin, table.held, self._sim.world.position
        fastest = look_at(rows, *columns, serving_mask, active_mask, points, codes)
        self.speed_max = max(self.speed_max, fastest)
        self.collector.observe(dt, self._crew.robots, points, codes, outlines=self._outlines())

    def _outlines(self) -> RobotOutlines:
        rows = self._crew.rows
        return outlines_of(self._sim.world, rows, self._crew.table.radius[rows])

    def figures(self) -> dict[str, float | None]:
        """Return the figures so far; None for a distance of robots where there is only one."""
        return {
            **summary_of(self.collector, self._crew.count),
            "collisions": self._sim.collisions.count,
            "speed_max": self.speed_max,
        }

    def planning(self) -> dict[str, float | None]:
        """Return the figures of plans: how many, how many failed, and how long they took in ms."""
        return planning_of(self._traffic)

    def distributions(self) -> dict[str, Floats]:
        """Return the values of which a run file keeps percentiles."""
        return {
            "flow_time_s": self.collector.flow_times,
            "waiting_s": self.collector.waiting_times(),
            "driven_m": self.collector.driven,
            "planning_ms": self._traffic.planning_times * 1e3,
        }

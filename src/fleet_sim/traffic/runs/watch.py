"""Watch: looks at a fleet in every step, and turns what it saw into figures."""

from __future__ import annotations

from typing import Any

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.traffic.columns import BROKEN, STOPPED, UNFIT
from fleet_sim.traffic.figures import FigureCollector
from fleet_sim.traffic.figures.states import BLOCKED, DRIVING, IDLE, SERVING, WAITING
from fleet_sim.traffic.runs.fleet import Fleet
from fleet_sim.traffic.runs.goals import columns_of

HELD = STOPPED | BROKEN | UNFIT
"""Reasons to stand that no order of passing ends."""


class Watch:
    """Figures of the robots of `fleet`, gathered by `look` in the last phase of each step."""

    def __init__(self, fleet: Fleet, collector: FigureCollector, radius: float) -> None:
        self.collector = collector
        self.speed_max = 0.0
        self._fleet = fleet
        self._radius = radius
        self._rows: Ints = np.array(fleet.traffic.rows)
        self._robots: Ints = np.arange(len(self._rows))
        self._table = columns_of(fleet)
        collector.begin(self._robots, fleet.sim.world.position[self._rows, :2])

    def look(self, dt: float, serving_mask: Bools, active_mask: Bools) -> None:
        """Look at all robots (R,), some of which are served at a goal, and some of which have a task."""
        rows, table = self._rows, self._table
        speeds = table.speed[rows]
        self.speed_max = max(self.speed_max, float(speeds.max(initial=0.0)))
        moves_mask = (speeds > 0.0) | (table.spin[rows] != 0.0)
        held_mask = (table.held[rows] & HELD) != 0
        stands = np.where(held_mask, BLOCKED, WAITING)
        codes = np.where(moves_mask, DRIVING, np.where(active_mask, stands, IDLE))
        codes[serving_mask] = SERVING
        self.collector.observe(dt, self._robots, self._fleet.sim.world.position[rows, :2], codes)

    def figures(self) -> dict[str, float | None]:
        """Return the figures so far; None for a distance of robots where there is only one."""
        found, robots = self.collector, max(len(self._rows), 1)
        simulated = found.simulated
        closest = float(found.closest.distance)
        rate = found.tasks_done / simulated if simulated else 0.0
        driven = float(found.driven.sum())
        lone = not np.isfinite(closest)
        return {
            "robots": len(self._rows),
            "simulated_s": round(simulated, 6),
            "tasks_done": found.tasks_done,
            "throughput_per_s": rate,
            "throughput_per_h": rate * 3600.0,
            "collisions": self._fleet.sim.collisions.count,
            "closest_m": None if lone else closest,
            "closest_gap_m": None if lone else closest - 2.0 * self._radius,
            "deadlocks": found.standstill.deadlocks,
            "stuck_robots": found.standstill.stuck(),
            "longest_wait_s": round(found.standstill.longest, 6),
            "waiting_s_mean": float(found.waiting_times().sum()) / robots,
            **_percentiles("flow_time_s", found.flow_times, mean=True),
            "driven_m": driven,
            "driven_per_task_m": driven / found.tasks_done if found.tasks_done else None,
            "speed_mean": driven / (robots * simulated) if simulated else 0.0,
            "speed_max": self.speed_max,
            **{f"share_{name}": share for name, share in found.shares().items()},
        }

    def planning(self) -> dict[str, float | None]:
        """Return the figures of plans: how many, how many failed, and how long they took in ms."""
        told: dict[str, Any] = dict(self._fleet.traffic.figures())
        times = self._fleet.traffic.planning_times * 1e3
        return {
            "plans": told["plans"],
            "failed_plans": told["refusals"],
            **_percentiles("planning_ms", times, percents=(50, 90, 99)),
            "planning_ms_max": float(times.max()) if len(times) else None,
        }

    def distributions(self) -> dict[str, Floats]:
        """Return the values of which a run file keeps percentiles."""
        return {
            "flow_time_s": self.collector.flow_times,
            "waiting_s": self.collector.waiting_times(),
            "driven_m": self.collector.driven,
            "planning_ms": self._fleet.traffic.planning_times * 1e3,
        }


def _percentiles(
    name: str, values: Floats, *, percents: tuple[int, ...] = (50, 90, 99), mean: bool = False
) -> dict[str, float | None]:
    """Return the percentiles of `values` as figures, None where there are no values."""
    there = len(values) > 0
    found: dict[str, float | None] = {f"{name}_mean": float(values.mean()) if there else None} if mean else {}
    found.update(
        {f"{name}_p{percent}": float(np.percentile(values, percent)) if there else None for percent in percents}
    )
    return found

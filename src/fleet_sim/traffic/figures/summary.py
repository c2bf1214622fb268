"""Summary: what a collector saw and a traffic planned, as the figures of a run file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.traffic.figures.collector import FigureCollector
from fleet_sim.traffic.traffic import Traffic


def summary_of(found: FigureCollector, count: int) -> dict[str, float | None]:
    """Return the figures of `count` robots so far; None for a distance of robots where no two were at one height."""
    # Without robots all sums are 0, and so are the shares; 1 only avoids the division.
    robots = max(count, 1)
    simulated = found.simulated
    closest = float(found.closest.distance)
    rate = found.tasks_done / simulated if simulated else 0.0
    driven = float(found.driven.sum())
    lone = not np.isfinite(closest)
    return {
        "robots": count,
        "simulated_s": round(simulated, 6),
        "tasks_done": found.tasks_done,
        "throughput_per_s": rate,
        "throughput_per_h": rate * 3600.0,
        "closest_m": None if lone else closest,
        # From rim to rim, as people measure what is left between two robots.
        "closest_gap_m": None if lone else float(found.closest.gap),
        "deadlocks": found.standstill.deadlocks,
        "stuck_robots": found.standstill.stuck(),
        "longest_wait_s": round(found.standstill.longest, 6),
        "waiting_s_mean": float(found.waiting_times().sum()) / robots,
        **percentiles("flow_time_s", found.flow_times, mean=True),
        "driven_m": driven,
        "driven_per_task_m": driven / found.tasks_done if found.tasks_done else None,
        "speed_mean": driven / (robots * simulated) if simulated else 0.0,
        **{f"share_{name}": share for name, share in found.shares().items()},
    }


def planning_of(traffic: Traffic) -> dict[str, float | None]:
    """Return the figures of plans: how many, how many failed, and how long they took in ms."""
    told: Mapping[str, Any] = traffic.figures()
    times = traffic.planning_times * 1e3
    return {
        "plans": told["plans"],
        "failed_plans": told["refusals"],
        **percentiles("planning_ms", times),
        "planning_ms_max": float(times.max()) if len(times) else None,
    }


def percentiles(name: str, values: Floats, *, mean: bool = False) -> dict[str, float | None]:
    """Return the percentiles 50, 90 and 99 of `values` as figures, None where there are no values."""
    there = len(values) > 0
    found: dict[str, float | None] = {f"{name}_mean": float(values.mean()) if there else None} if mean else {}
    found.update({f"{name}_p{part}": float(np.percentile(values, part)) if there else None for part in (50, 90, 99)})
    return found

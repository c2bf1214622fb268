"""The figures that reports know by name: what they are called, their unit, and whether more is better."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fleet_sim.apps.reports.plots import number
from fleet_sim.base.files import TABLES, check_table, load_parquet, writing
from fleet_sim.warehouse.traffic.run_file import Run

MORE, LESS, NEITHER = 1, -1, 0


class Figure(NamedTuple):
    """A figure of a run: its key in run files, its name for people, unit, digits, and which way is better."""

    key: str
    name: str
    unit: str
    digits: int
    better: int


KNOWN: Mapping[str, tuple[Figure, ...]] = {
    "Work": (
        Figure("tasks_done", "Tasks done", "", 0, MORE),
        Figure("throughput_per_h", "Throughput", "per hour", 0, MORE),
        Figure("throughput_per_s", "Throughput", "per second", 3, MORE),
        Figure("orders_done", "Orders done", "", 0, MORE),
        Figure("orders_per_h", "Orders", "per hour", 0, MORE),
        Figure("sum_of_costs", "Sum of costs", "steps", 0, LESS),
        Figure("makespan_s", "Makespan", "s", 1, LESS),
        Figure("flow_time_s_mean", "Time of a task, mean", "s", 1, LESS),
        Figure("flow_time_s_p50", "Time of a task, median", "s", 1, LESS),
        Figure("flow_time_s_p90", "Time of a task, 90 %", "s", 1, LESS),
        Figure("flow_time_s_p99", "Time of a task, 99 %", "s", 1, LESS),
        Figure("orders_submitted", "Orders submitted", "", 0, NEITHER),
        Figure("orders_unreleased", "Orders not released before the end", "", 0, NEITHER),
        Figure("orders_waiting", "Released orders that wait at the end", "", 0, LESS),
        Figure("orders_refused", "Orders refused", "", 0, LESS),
        Figure("orders_cancelled", "Orders cancelled", "", 0, NEITHER),
        Figure("orders_failed", "Orders failed", "", 0, LESS),
        Figure("waiting_time_s_mean", "Until an order is assigned, mean", "s", 1, LESS),
        Figure("fetching_time_s_mean", "Then until its load is taken, mean", "s", 1, LESS),
        Figure("carrying_time_s_mean", "Then until it is done, mean", "s", 1, LESS),
        Figure("orders_with_due", "Orders done with a due time", "", 0, NEITHER),
        Figure("orders_late", "Orders late", "", 0, LESS),
        Figure("orders_done_late", "Orders done late", "", 0, LESS),
        Figure("orders_overdue", "Open orders past their due time", "", 0, LESS),
        Figure("lateness_s_mean", "Lateness of orders done, mean", "s", 1, LESS),
        Figure("lateness_s_p50", "Lateness of orders done, median", "s", 1, LESS),
        Figure("lateness_s_p90", "Lateness of orders done, 90 %", "s", 1, LESS),
        Figure("lateness_s_p99", "Lateness of orders done, 99 %", "s", 1, LESS),
    ),
    "Pods": (
        Figure("lines_done", "Lines done", "", 0, MORE),
        Figure("items_picked", "Items picked", "", 0, MORE),
        Figure("pod_visits", "Visits of pods", "", 0, LESS),
        Figure("items_per_visit", "Items picked in a visit (pile-on)", "", 2, MORE),
        Figure("pod_fills", "Visits to fill pods", "", 0, NEITHER),
        Figure("items_filled", "Items put on pods", "", 0, NEITHER),
        Figure("station_idle_share", "Workstations without a pod, share of time", "", 3, LESS),
        Figure("orders_short", "Orders that wait for stock at the end", "", 0, LESS),
        Figure("refused_for_stock", "Orders refused for lack of stock", "", 0, LESS),
        Figure("storage_waits", "Pods that waited for a place", "", 0, LESS),
        Figure("pods_stranded", "Pods left on the way", "", 0, LESS),
    ),
    "Robots": (
        Figure("robots", "Robots", "", 0, NEITHER),
        Figure("driven_m", "Driven in all", "m", 0, NEITHER),
        Figure("driven_loaded_m", "Driven with a load", "m", 0, NEITHER),
        Figure("driven_per_task_m", "Driven per task", "m", 1, LESS),
        Figure("speed_mean", "Mean speed of all", "m/s", 2, MORE),
        Figure("speed_max", "Highest speed", "m/s", 2, NEITHER),
        Figure("waiting_s_mean", "Waiting of a robot, mean", "s", 1, LESS),
        Figure("energy_wh", "Energy", "Wh", 0, LESS),
    ),
    "Safety": (
        Figure("collisions", "Collisions", "", 0, LESS),
        Figure("deadlocks", "Deadlocks of all robots", "", 0, LESS),
        Figure("stuck_robots", "Robots stuck at the end", "", 0, LESS),
        Figure("longest_wait_s", "Longest wait", "s", 1, LESS),
        Figure("closest_m", "Closest middles of two robots", "m", 3, MORE),
        Figure("closest_gap_m", "Smallest gap between footprints", "m", 3, MORE),
    ),
    "Planning and time": (
        Figure("plans", "Plans", "", 0, NEITHER),
        Figure("failed_plans", "Plans that failed", "", 0, LESS),
        Figure("planning_ms_p50", "Planning, median", "ms", 2, LESS),
        Figure("planning_ms_p90", "Planning, 90 %", "ms", 2, LESS),
        Figure("planning_ms_p99", "Planning, 99 %", "ms", 2, LESS),
        Figure("planning_ms_max", "Planning, longest", "ms", 2, LESS),
        Figure("simulated_s", "Simulated", "s", 1, NEITHER),
        Figure("wall_s", "Took", "s", 2, LESS),
        Figure("cpu_s", "Time of the processor", "s", 2, LESS),
        Figure("real_time_factor", "Times real time", "", 1, MORE),
    ),
}
"""By the heading that they stand under."""

SHARE = "share_"
"""What the figures of states begin with: the share of all robots' time."""


class Row(NamedTuple):
    """A figure with the values of one or two runs, None where a run does not have it."""

    figure: Figure
    values: tuple[float | None, ...]

    @property
    def change(self) -> float | None:
        """How much larger the second value is, as a share of the first; None where that cannot be said."""
        # A share of nothing is not a number; the caller says how much it grew by.
        if len(self.values) < 2 or self.values[0] is None or self.values[1] is None or not self.values[0]:
            return None
        return (self.values[1] - self.values[0]) / abs(self.values[0])


def rows_of(runs: Sequence[Run]) -> dict[str, list[Row]]:
    """Return the figures that any of `runs` has, by heading; those that nobody knows by name come last."""
    # A dict keeps the order in which runs have them.
    given = {key: None for run in runs for key in run.figures}
    found: dict[str, list[Row]] = {}
    for heading, figures in KNOWN.items():
        found[heading] = [_row(figure, runs) for figure in figures if figure.key in given]
    shares = [key for key in given if key.startswith(SHARE)]
    found["Time of the robots"] = [
        _row(Figure(key, key.removeprefix(SHARE).replace("_", " ").capitalize(), "%", 1, NEITHER), runs, 100.0)
        for key in shares
    ]
    # What a newer version writes is shown, too, under the name that it has.
    named = {figure.key for figures in KNOWN.values() for figure in figures}.union(shares)
    found["More"] = [_row(Figure(key, key, "", 3, NEITHER), runs) for key in given if key not in named]
    return {heading: rows for heading, rows in found.items() if rows}


def _row(figure: Figure, runs: Sequence[Run], times: float = 1.0) -> Row:
    values = [run.figures.get(figure.key) for run in runs]
    return Row(figure, tuple(None if value is None else value * times for value in values))


# The figures of runs as a table: CSV, or Parquet where pyarrow is installed.


def write_table(path: str | Path, runs: Sequence[Run]) -> None:
    """Write the figures of `runs`, a row for each: its title and its figures, empty where a run has none.

    The ending of `path` tells the format; raises as `check_table` does, and where the system refuses to write.
    """
    check_table(path)
    keys = list(dict.fromkeys(key for run in runs for key in run.figures))
    if Path(path).suffix.lower() == ".csv":
        with writing(path, newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["run", *keys])
            writer.writerows([run.title, *(_text(run.figures.get(key)) for key in keys)] for run in runs)
        return
    columns: dict[str, list[Any]] = {"run": [run.title for run in runs]}
    columns.update({key: [run.figures.get(key) for run in runs] for key in keys})
    pyarrow, parquet = load_parquet(TABLES)
    with writing(path, "wb") as file:
        parquet.write_table(pyarrow.table(columns), file)


def _text(value: float | None) -> str:
    return "" if value is None else f"{value:.10g}"


# The figures of runs as lines of text, for terminals.


def lines_of(runs: Sequence[Run]) -> list[str]:
    """Return the figures of the runs as the lines of a table, under their headings."""
    lines = []
    for heading, rows in rows_of(runs).items():
        lines.append(heading)
        for figure, values in rows:
            texts = "".join(f"{number(value, figure.digits):>16}" for value in values)
            lines.append(f"  {figure.name:<32}{texts} {figure.unit}".rstrip())
    return lines

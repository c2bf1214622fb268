"""Figures: how well a fleet serves its orders, at any moment and over time."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.arrays import Bools, Floats
from fleet_sim.core.world import World
from fleet_sim.orders.book import OrderBook
from fleet_sim.orders.columns import OrderColumns
from fleet_sim.orders.odometer import Odometer
from fleet_sim.orders.states import FINAL, OrderState, RobotState
from fleet_sim.output import replacing

HOUR = 3600.0
# The usual ones: half of all, most, and nearly all.
_PERCENTILES = (50, 90, 99)
_DONE = OrderState.DONE.code
_SAMPLED = ("unreleased", *(state.value for state in OrderState))
_FINAL = [state.code for state in FINAL]


class Figures:
    """Computes figures from the columns, and samples those that change over time."""

    def __init__(self, world: World, table: OrderColumns, book: OrderBook, odometer: Odometer) -> None:
        self._world, self._table, self._book, self._odometer = world, table, book, odometer
        self._samples: list[tuple[float, ...]] = []

    def figures(self, counts: Mapping[str, int]) -> dict[str, Any]:
        """Return nested mappings of numbers; times in s, distances in m, energy in J. None where there is no number.

        `counts` are how many orders there are, by what became of them.
        """
        book, table, now = self._book, self._book.table, self._world.clock.time
        count = len(book)
        done = table.state[:count] == _DONE
        release, assigned, picked, ended, due = (
            column[:count] for column in (table.release, table.assigned, table.picked, table.ended, table.due)
        )
        # Without a due time nothing can be late.
        timed = done & np.isfinite(due)
        late = np.maximum(ended - due, 0.0)[timed]
        done_late = int((late > 0.0).sum())
        # An open order is late as soon as its time is over, whenever it will be done.
        overdue = int((~np.isin(table.state[:count], _FINAL) & (due < now)).sum())
        return {
            "simulated_s": now,
            "orders": dict(counts),
            "throughput_per_hour": {
                "mean": int(done.sum()) / now * HOUR if now > 0.0 else None,
                "last_hour": self._last_hour(ended, done, now),
            },
            "flow_time_s": _spread((ended - release)[done]),
            "waiting_time_s": _spread((assigned - release)[done]),
            "fetching_time_s": _spread((picked - assigned)[done]),
            "carrying_time_s": _spread((ended - picked)[done]),
            "lateness_s": {
                "with_due": int(timed.sum()),
                "late": done_late + overdue,
                "done_late": done_late,
                "overdue": overdue,
                **_spread(late),
            },
            "robots": self._robots(),
        }

    def _last_hour(self, ended: Floats, done: Bools, now: float) -> float | None:
        # At the beginning there is no whole hour yet.
        span = min(now, HOUR)
        return int((done & (ended > now - span)).sum()) / span * HOUR if span > 0.0 else None

    def _robots(self) -> dict[str, Any]:
        """Return what robots did, those that were removed included."""
        rows = self._table.among(self._world.rows)
        # Those that were removed have left their sums.
        driven, loaded, stood, energy, *times = (self._odometer.total + self._odometer.sums(rows)).tolist()
        whole = sum(times)
        return {
            "count": len(rows),
            "time_s": {state.value: time for state, time in zip(RobotState, times, strict=True)},
            "share": {s.value: time / whole if whole else None for s, time in zip(RobotState, times, strict=True)},
            "driven_m": driven,
            "driven_loaded_m": loaded,
            "stood_driving_s": stood,
            "energy_j": energy,
        }

    # ---- over time ---------------------------------------------------------------------------------------------------

    def sample(self, counts: Mapping[str, int]) -> None:
        """Add a sample to the history; `counts` are how many orders there are, by what became of them."""
        world, table = self._world, self._table
        states = np.bincount(table.state[table.among(world.rows)], minlength=len(RobotState))
        self._samples.append((world.clock.time, *(counts[name] for name in _SAMPLED), *states.tolist()))

    def history(self) -> dict[str, Floats]:
        """Return the samples as columns of equal length: `time` in s, then counts of orders and of robots by state."""
        names = ["time", *(f"orders_{name}" for name in _SAMPLED), *(f"robots_{s.value}" for s in RobotState)]
        samples = np.array(self._samples, np.float64).reshape(-1, len(names))
        return {name: samples[:, index].copy() for index, name in enumerate(names)}

    # ---- files -------------------------------------------------------------------------------------------------------

    def write_orders(self, path: str | Path, places: list[str]) -> None:
        """Write a CSV file with a line per order: what became of it, and when."""
        lines = []
        for number in range(len(self._book)):
            status = self._book.status(number, places)
            times = (status.released, status.due, status.assigned, status.picked, status.ended)
            order = self._book.orders[number]
            texts = (status.id, status.state.value, status.robot, "|".join(status.stops), status.reason)
            lines.append([*texts, order.load, order.priority, *("" if time is None else time for time in times)])
        header = ["id", "state", "robot", "stops", "reason", "load", "priority"]
        header += ["released", "due", "assigned", "picked", "ended"]
        _write(path, header, lines)

    def write_history(self, path: str | Path) -> None:
        """Write a CSV file with a line per sample."""
        columns = self.history()
        _write(path, list(columns), np.column_stack(list(columns.values())).tolist())

    def save(self) -> Any:
        """Return the state as copies, for a checkpoint."""
        return list(self._samples), self._odometer.total.copy()

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned."""
        self._samples, self._odometer.total = list(saved[0]), saved[1].copy()


def _spread(values: Floats) -> Mapping[str, float | None]:
    """Return mean, percentiles and maximum; None for all where there are no values."""
    names = ["mean", *(f"p{percent}" for percent in _PERCENTILES), "max"]
    # A mean of nothing is no number, not 0.
    if not len(values):
        return dict.fromkeys(names)
    numbers = [values.mean(), *np.percentile(values, _PERCENTILES), values.max()]
    return dict(zip(names, map(float, numbers), strict=True))


def _write(path: str | Path, header: list[str], lines: list[list[Any]]) -> None:
    # Whole or not at all, as half a table looks like a whole one.
    with replacing(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(lines)

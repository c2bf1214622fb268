"""The verdict on a soak: whether memory, files, threads and the time of a step stay as they are.

Run alone it judges an earlier soak, also one that is still running: `python test/soak/soak_verdict.py soak/soak.csv`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from soak_figures import Row, read_rows

WARM_UP = 600.0
"""What is not judged, in s: caches fill, and every kind of work is done for the first time."""

SETTLED = {"node": 1000.0}
"""The same for parts that take longer: a node keeps the results of goals for 15 minutes."""

MOST_MEMORY = 1.0
"""Largest slope of memory, in MB/h."""

MOST_SLOWER = 10.0
"""Largest slope of the processor time per step, in percent of its mean per hour."""

BLOCKS = 24
"""Neighbouring samples are not independent; their slope is that of the means of so many blocks."""

SURE = 2.0
"""Standard errors by which a slope must differ from zero to be one."""


@dataclass(frozen=True)
class Slope:
    """A least-squares slope per hour, with its standard error; nan where there are too few samples."""

    value: float
    error: float

    def exceeds(self, limit: float) -> bool:
        """Return whether it is above `limit`, and not by chance above zero."""
        return self.value > limit and self.value > SURE * self.error

    def __str__(self) -> str:
        return f"{self.value:+.2f} ± {self.error:.2f}"


def slope_of(seconds: Sequence[float], values: Sequence[float]) -> Slope:
    """Return the slope of `values` over time."""
    times, figures = np.asarray(seconds) / 3600.0, np.asarray(values)
    known = np.isfinite(figures)
    times, figures = times[known], figures[known]
    blocks = min(BLOCKS, len(times) // 2)
    if blocks < 3:
        return Slope(math.nan, math.nan)
    x, y = (np.array([part.mean() for part in np.array_split(column, blocks)]) for column in (times, figures))
    spread = float(((x - x.mean()) ** 2).sum())
    value = float(((x - x.mean()) * (y - y.mean())).sum()) / spread
    rest = y - y.mean() - value * (x - x.mean())
    return Slope(value, math.sqrt(float((rest**2).sum()) / (blocks - 2) / spread))


def costs_of(rows: Sequence[Row]) -> tuple[list[float], list[float]]:
    """Return when, in s, a step took how much processor time, in ms, from row to row."""
    pairs = [(row, after) for row, after in pairwise(rows) if after.steps > row.steps]
    costs = [1e3 * (after.processor_s - row.processor_s) / (after.steps - row.steps) for row, after in pairs]
    return [after.seconds for _, after in pairs], costs


@dataclass(frozen=True)
class Verdict:
    """The verdict on one process of a soak."""

    part: str
    rows: Sequence[Row]
    """Those after the warm-up."""
    last: Row

    @property
    def memory(self) -> Slope:
        """The slope of memory in MB/h."""
        return slope_of([row.seconds for row in self.rows], [row.memory_mb for row in self.rows])

    @property
    def processor(self) -> Slope:
        """The slope of the processor time per step, in percent of its mean per hour.

        Not of the time of a step by the clock: that one also tells what else the machine does.
        """
        seconds, costs = costs_of(self.rows)
        slope = slope_of(seconds, costs)
        mean = sum(costs) / len(costs) if costs else math.nan
        return Slope(100.0 * slope.value / mean, 100.0 * slope.error / mean)

    def growth(self, name: str) -> int:
        """Return how far the largest `name` of the last quarter is above the largest of the first."""
        values = [getattr(row, name) for row in self.rows]
        quarter = max(1, len(values) // 4)
        return int(max(values[-quarter:]) - max(values[:quarter]))

    @property
    def faults(self) -> list[str]:
        """What is wrong, in words; nothing if all is well."""
        if len(self.rows) < 2 * 3:
            return ["too short to judge: the first ten minutes do not count"]
        found = []
        if self.memory.exceeds(MOST_MEMORY):
            found.append(f"memory grows by {self.memory} MB/h")
        if self.processor.exceeds(MOST_SLOWER):
            found.append(f"a step becomes dearer by {self.processor} % per hour")
        found += [f"{self.growth(name):+d} {name}" for name in ("files", "threads") if self.growth(name) > 0]
        if self.last.lost:
            found.append(f"{self.last.lost} operations were lost, or answered wrongly")
        return found


def verdicts(rows: Sequence[Row]) -> list[Verdict]:
    """Return the verdict on each process."""
    parts: dict[str, list[Row]] = {}
    for row in rows:
        parts.setdefault(row.part, []).append(row)
    return [
        Verdict(part, [row for row in mine if row.seconds >= SETTLED.get(part, WARM_UP)], mine[-1])
        for part, mine in parts.items()
    ]


def table_of(judged: Sequence[Verdict]) -> str:
    """Return the verdicts as a table in Markdown, a column for each process."""
    columns = [cells_of(one) for one in judged]
    lines = [f"| | {' | '.join(one.part for one in judged)} |", f"|---|{'---|' * len(judged)}"]
    lines += [f"| {name} | {' | '.join(column[name] for column in columns)} |" for name in columns[0]]
    return "\n".join(lines)


def cells_of(one: Verdict) -> dict[str, str]:
    """Return what the table says about one process."""
    last = one.last
    times = [row.step_ms for row in one.rows if math.isfinite(row.step_ms)]
    costs = costs_of(one.rows)[1]
    return {
        "hours": f"{last.seconds / 3600.0:.2f}",
        "steps": f"{last.steps:,}",
        "operations": f"{last.operations:,}",
        "refused, as they must be": f"{last.refused:,}",
        "lost, or answered wrongly": f"{last.lost:,}",
        "memory at the end, MB": f"{last.memory_mb:.1f}",
        "its slope, MB/h": f"{one.memory}",
        "step, median, ms": f"{np.median(times):.2f}" if times else "",
        "processor time per step, ms": f"{np.mean(costs):.2f}" if costs else "",
        "its slope, %/h": f"{one.processor}",
        "open files": f"{last.files} ({one.growth('files'):+d})" if one.rows else "",
        "threads": f"{last.threads} ({one.growth('threads'):+d})" if one.rows else "",
        "verdict": "; ".join(one.faults) or "flat",
    }


def plot(rows: Sequence[Row], path: Path) -> None:
    """Draw memory, the time of a step, files and threads of every process over time."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    kinds = {"memory_mb": "memory, MB", "files": "open files", "threads": "threads"}
    titles = [*kinds.values(), "processor time per step, ms"]
    figure, axes = plt.subplots(len(titles), 1, sharex=True, figsize=(9, 10), layout="constrained")
    for part in dict.fromkeys(row.part for row in rows):
        mine = [row for row in rows if row.part == part]
        for name, axis in zip(kinds, axes[:-1], strict=True):
            axis.plot([row.seconds / 60.0 for row in mine], [getattr(row, name) for row in mine], label=part, lw=1)
        seconds, costs = costs_of(mine)
        axes[-1].plot([moment / 60.0 for moment in seconds], costs, label=part, lw=0.5)
    for title, axis in zip(titles, axes, strict=True):
        axis.axvspan(0.0, WARM_UP / 60.0, color="0.92")
        axis.set_ylabel(title)
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
    axes[0].legend(ncols=3)
    axes[-1].set_xlabel("time, min (grey: not judged)")
    figure.savefig(path, dpi=100)
    plt.close(figure)


def report(csv_file: Path) -> list[str]:
    """Print the table of a soak and draw its plot beside its figures; return what is wrong."""
    rows = list(read_rows(csv_file.read_text().splitlines()))
    if not rows:
        return ["there are no figures to judge"]
    judged = verdicts(rows)
    print(table_of(judged))
    plot(rows, csv_file.with_suffix(".png"))
    print(f"\nwrote {csv_file.with_suffix('.png')}")
    return [f"{one.part}: {fault}" for one in judged for fault in one.faults]


if __name__ == "__main__":
    faults = report(Path(sys.argv[1]))
    print("\n".join(faults) or "flat: nothing grows")
    sys.exit(1 if faults else 0)

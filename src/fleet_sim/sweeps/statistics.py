"""Means and confidence intervals of what a sweep measured, for each combination of its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from fleet_sim.sweeps.table import DONE, SweepTable

# Student's t for 95 %, two-sided, by degrees of freedom from 1 on; from 31 on the expansion below has four digits.
_STUDENT = (
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
    2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
    2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423,
)  # fmt: skip
_NORMAL = 1.959964


@dataclass(frozen=True)
class Spread:
    """The mean of `count` values, and how far the 95 % confidence interval goes to either side; None for one value."""

    mean: float
    half_width: float | None
    count: int


@dataclass(frozen=True)
class RunGroup:
    """The runs of one combination of values, which are by the name of the parameter, and what they measured."""

    values: dict[str, Any]
    runs: int
    failed: int
    spreads: dict[str, Spread]


def student(freedom: int) -> float:
    """Return how many standard errors a 95 % confidence interval goes to either side."""
    if freedom <= len(_STUDENT):
        return _STUDENT[freedom - 1]
    # The first terms of the expansion about the normal distribution.
    z = _NORMAL
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def spread_of(values: Sequence[float]) -> Spread | None:
    """Return the mean of `values` and its confidence interval; None of no values."""
    if not values:
        return None
    count = len(values)
    half = student(count - 1) * stdev(values) / count**0.5 if count > 1 else None
    return Spread(fmean(values), half, count)


def groups_of(table: SweepTable, measures: Sequence[str] | None = None) -> list[RunGroup]:
    """Return the combinations of `table` in their order, each with the spread of its `measures` (None: of all)."""
    names = table.measures if measures is None else measures
    places: dict[tuple[Any, ...], list[int]] = {}
    for row in range(len(table)):
        places.setdefault(tuple(table.columns[name][row] for name in table.parameters), []).append(row)
    status = table.columns["status"]
    groups = []
    for key, rows in places.items():
        done = [row for row in rows if status[row] == DONE]
        spreads = {}
        for name in names:
            spread = spread_of(
                [float(table.columns[name][row]) for row in done if table.columns[name][row] is not None]
            )
            if spread is not None:
                spreads[name] = spread
        groups.append(
            RunGroup(dict(zip(table.parameters, key, strict=True)), len(rows), len(rows) - len(done), spreads)
        )
    return groups

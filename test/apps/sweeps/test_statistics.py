"""Means and confidence intervals of sweeps, against the distribution they come from."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from fleet_sim.apps.sweeps.sweep import SweepTable, groups_of, spread_of, student


def share_within(limit: float, freedom: int) -> float:
    """Return how likely Student's t of so many degrees of freedom is within +-limit, by adding up its density."""
    # The tail falls with a power only: t = tan(angle) makes the range finite.
    angle = np.linspace(0.0, math.atan(limit), 20_001)
    t = np.tan(angle)
    scale = math.lgamma(0.5 * (freedom + 1)) - math.lgamma(0.5 * freedom) - 0.5 * math.log(freedom * math.pi)
    density = math.exp(scale) * (1.0 + t * t / freedom) ** (-0.5 * (freedom + 1)) * (1.0 + t * t)
    step = angle[1] - angle[0]
    # Simpson's rule, on both sides of 0.
    return float(
        2.0 * step / 3.0 * (density[0] + density[-1] + 4.0 * density[1::2].sum() + 2.0 * density[2:-1:2].sum())
    )


@pytest.mark.parametrize("freedom", [*range(1, 41), 60, 120, 1000])
def test_an_interval_holds_the_mean_in_95_of_100_sweeps(freedom: int) -> None:
    assert share_within(student(freedom), freedom) == pytest.approx(0.95, abs=1e-5)


def test_intervals_get_shorter_with_every_run() -> None:
    factors = [student(freedom) for freedom in range(1, 200)]
    assert all(later < earlier for earlier, later in pairwise(factors))
    assert factors[-1] > 1.959964


def test_a_spread_of_few_values() -> None:
    assert spread_of([]) is None
    one = spread_of([4.0])
    assert one is not None
    assert (one.mean, one.half_width, one.count) == (4.0, None, 1)
    two = spread_of([1.0, 3.0])
    assert two is not None
    # The standard deviation is sqrt(2), the standard error 1.
    assert (two.mean, two.count) == (2.0, 2)
    assert two.half_width == pytest.approx(12.7062)
    same = spread_of([0.1] * 7)
    assert same is not None
    assert same.half_width == pytest.approx(0.0, abs=1e-15)


def table(**columns: list[Any]) -> SweepTable:
    """Return a table of runs that vary `speed` and measure `arrived` and `late`."""
    return SweepTable("", ["speed"], columns)


def test_runs_are_grouped_by_their_parameters_and_failed_ones_are_counted_only() -> None:
    runs = table(
        run=[0, 1, 2, 3, 4],
        seed=[1, 1, 2, 2, 3],
        speed=[1.0, 2.0, 1.0, 2.0, 1.0],
        status=["done", "done", "done", "failed", "failed"],
        error=["", "", "", "too long", "too long"],
        arrived=[10, 20, 14, 99, None],
        late=[None, 3.0, 5.0, None, None],
    )
    slow, fast = groups_of(runs)
    assert (slow.values, slow.runs, slow.failed) == ({"speed": 1.0}, 3, 1)
    assert (fast.values, fast.runs, fast.failed) == ({"speed": 2.0}, 2, 1)
    assert (slow.spreads["arrived"].mean, slow.spreads["arrived"].count) == (12.0, 2)
    # What was not measured in a run does not count as 0.
    assert (slow.spreads["late"].mean, slow.spreads["late"].count) == (5.0, 1)
    assert fast.spreads["arrived"].mean == 20.0
    assert list(groups_of(runs, ["late"])[1].spreads) == ["late"]


def test_a_group_of_failed_runs_has_no_spreads() -> None:
    runs = table(run=[0], seed=[1], speed=[1.0], status=["failed"], error=["x"], arrived=[None], late=[None])
    (group,) = groups_of(runs)
    assert (group.failed, group.spreads) == (1, {})

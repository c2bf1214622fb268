"""The plots of a report: work over time, what robots did, and how times are distributed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.reports.scales import Scale, around, clock_to, from_zero, number
from fleet_sim.reports.svg import Plot, legend
from fleet_sim.traffic.figures import Run

RUNS = ("var(--first)", "var(--second)")
"""Colors of the two runs."""

STATES = {
    "driving": "var(--blue)",
    "waiting": "var(--yellow)",
    "blocked": "var(--red)",
    "serving": "var(--green)",
    "idle": "var(--rest)",
    "loaded": "var(--violet)",
    "charging": "var(--orange)",
    "driving_loaded": "var(--blue)",
    "driving_empty": "var(--violet)",
    "out_of_energy": "var(--pink)",
}
OTHERS = ("var(--violet)", "var(--orange)", "var(--green)", "var(--pink)")
WIDE = 1100
BINS = 4
"""Of histograms, between two numbers along the axis."""
TASKS_OF_A_POINT = 20


def colors_of(states: Sequence[str]) -> dict[str, str]:
    """Return a color for each state: its own where it is known, else one that is left over."""
    free = [color for color in OTHERS if color not in {STATES.get(name) for name in states}] or list(OTHERS)
    # In order of appearance, so that one state has one color in both plots.
    unknown = [name for name in states if name not in STATES]
    return {name: STATES.get(name) or free[unknown.index(name) % len(free)] for name in states}


def throughput(runs: Sequence[Run], names: Sequence[str]) -> str:
    """Return the tasks per hour over time, with a line for each run."""
    clock = clock_to(max(float(run.times[-1]) if len(run.times) else 1.0 for run in runs), 10)
    lines = [_rates(run) for run in runs]
    scale = from_zero(max((float(rates.max(initial=0.0)) for _, rates in lines), default=1.0))
    plot = Plot(clock.scale, scale, width=WIDE, height=270, label="tasks per hour over time")
    plot.axes([clock.text(value) for value in clock.scale.ticks], scale.texts())
    for (middles, rates), color in zip(lines, RUNS, strict=False):
        plot.line(middles, rates, color)
    for index, middle in enumerate(lines[0][0].tolist()):
        shown = [clock.text(middle)]
        for (middles, rates), name in zip(lines, names, strict=True):
            # The two runs have stretches of different lengths, so the nearest one counts.
            near = index if len(runs) == 1 else int(np.argmin(np.abs(middles - middle)))
            shown.append(f"{name}: {number(float(rates[near]))} tasks per hour")
        plot.tip(middle, shown)
    return (legend(zip(names, RUNS, strict=False)) if len(runs) > 1 else "") + plot.text()


def _rates(run: Run) -> tuple[Floats, Floats]:
    """Return the middles of some stretches, and the tasks per hour in each."""
    # With few tasks in each, the line would show chance.
    most = int(np.clip(run.tasks.sum() / TASKS_OF_A_POINT, 8, 80))
    edges, tasks = _merged(run.times, run.tasks[:, None], most)
    lengths = np.diff(edges)
    return 0.5 * (edges[:-1] + edges[1:]), tasks[:, 0] / lengths * 3600.0


def level(runs: Sequence[Run], names: Sequence[str], key: str, what: str) -> str:
    """Return how many of the level `key` there were over time, with a line for each run that has it."""
    found = [
        (*_merged(run.times, run.levels[key][:, None], 150), name, color)
        for run, name, color in zip(runs, names, RUNS, strict=False)
        if key in run.levels
    ]
    clock = clock_to(max(float(edges[-1]) for edges, _, _, _ in found), 5)
    lines = [(_middles(edges), sums[:, 0] / np.diff(edges), name, color) for edges, sums, name, color in found]
    scale = from_zero(max(float(counts.max()) for _, counts, _, _ in lines))
    plot = Plot(clock.scale, scale, label=f"{what} over time")
    plot.axes([clock.text(value) for value in clock.scale.ticks], scale.texts())
    for middles, counts, _, color in lines:
        plot.line(middles, counts, color)
    for middle in lines[0][0].tolist():
        shown = [f"{name}: {number(float(np.interp(middle, m, counts)), 1)} {what}" for m, counts, name, _ in lines]
        plot.tip(middle, [clock.text(middle), *shown])
    return (legend((name, color) for _, _, name, color in lines) if len(runs) > 1 else "") + plot.text()


def _middles(edges: Floats) -> Floats:
    return 0.5 * (edges[:-1] + edges[1:])


def histogram(runs: Sequence[Run], names: Sequence[str], key: str, unit: str) -> str:
    """Return the shares of the values of `key` in bins of equal width, as steps for each run that has them.

    They follow from percentiles, so each is right to about a per cent. Of the first and the last per cent only what is
    not far away is shown.
    """
    found = [
        (run.quantiles[key], name, color)
        for run, name, color in zip(runs, names, RUNS, strict=False)
        if key in run.quantiles
    ]
    low = min(max(float(v[0]), 2.0 * float(v[1]) - float(v[99])) for v, _, _ in found)
    scale = around(low, max(min(float(v[100]), 2.0 * float(v[99]) - float(v[1])) for v, _, _ in found))
    edges = np.linspace(scale.low, scale.high, BINS * (len(scale.ticks) - 1) + 1)
    shares = [np.diff(np.interp(edges, values, np.arange(101.0))) for values, _, _ in found]
    peak = from_zero(max(float(part.max()) for part in shares))
    plot = Plot(scale, peak, label=f"histogram of {key}")
    plot.axes(scale.texts(unit), peak.texts("%"))
    for part, (_, _, color) in zip(shares, found, strict=True):
        if len(found) == 1:
            plot.area(edges, np.zeros(len(part)), part, color)
        else:
            plot.line(np.repeat(edges, 2)[1:-1], np.repeat(part, 2), color)
    for index, middle in enumerate(_middles(edges).tolist()):
        bounds = f"{number(float(edges[index]))} to {number(float(edges[index + 1]))} {unit}"
        shown = [f"{name}: {number(float(part[index]), 1)} %" for part, (_, name, _) in zip(shares, found, strict=True)]
        plot.tip(middle, [bounds, *shown])
    return (legend((name, color) for _, name, color in found) if len(runs) > 1 else "") + plot.text()


def states(run: Run, peak: float, end: float, width: int) -> str:
    """Return how many robots were in each state over time, stacked; axes reach `peak` robots and `end` s."""
    names = list(run.states)
    clock, scale = clock_to(end, 5 if width < WIDE else 10), from_zero(peak)
    plot = Plot(clock.scale, scale, width=width, height=270, label="robots by state over time")
    plot.axes([clock.text(value) for value in clock.scale.ticks], scale.texts())
    edges, sums = _merged(run.times, np.stack([run.states[name] for name in names], axis=1), 150)
    robots = sums / np.diff(edges)[:, None]
    tops = np.cumsum(robots, axis=1)
    colors = colors_of(names)
    # Stacked: each area begins where the one below it ends.
    for index, name in enumerate(names):
        plot.area(edges, tops[:, index] - robots[:, index], tops[:, index], colors[name])
    for middle, row in zip((0.5 * (edges[:-1] + edges[1:])).tolist(), robots.tolist(), strict=True):
        shown = [f"{name.replace('_', ' ')}: {number(value, 1)} robots" for name, value in zip(names, row, strict=True)]
        # From the top down, as the areas are seen.
        plot.tip(middle, [clock.text(middle), *shown[::-1]])
    return plot.text()


def _merged(times: Floats, sums: Floats, most: int) -> tuple[Floats, Floats]:
    """Return the ends (B + 1,) of at most `most` stretches of several each, from 0, and their sums (B, K)."""
    if not len(times):
        return np.array([0.0, 1.0]), np.zeros((1, sums.shape[1]))
    # Rounded up, so that there are never more than wanted.
    together = -(-len(times) // most)
    starts = np.arange(0, len(times), together)
    ends = np.append(starts[1:], len(times)) - 1
    edges, merged = np.append(0.0, times[ends]), np.add.reduceat(sums, starts, axis=0)
    # A stretch at the end that is much shorter than the others would show a peak that is none.
    if len(edges) > 2 and edges[-1] - edges[-2] < 0.5 * (edges[1] - edges[0]):
        edges, last = np.delete(edges, -2), merged[-1]
        merged = merged[:-1].copy()
        merged[-1] += last
    return edges, merged


def distribution(runs: Sequence[Run], names: Sequence[str], key: str, unit: str) -> str:
    """Return which share of the values of `key` is below a value, with a line for each run that has them."""
    found = [
        (run.quantiles[key], name, color)
        for run, name, color in zip(runs, names, RUNS, strict=False)
        if key in run.quantiles
    ]
    # The last per cent is often far away, and would squeeze the others together.
    scale = from_zero(max(float(values[99]) for values, _, _ in found) or 1.0)
    shares = Scale(0.0, 100.0, (0.0, 25.0, 50.0, 75.0, 100.0))
    plot = Plot(scale, shares, label=f"distribution of {key}")
    plot.axes(scale.texts(unit), shares.texts("%"))
    percents = np.arange(101.0)
    for values, _, color in found:
        # Beyond the scale a line would leave the plot.
        kept = values <= scale.high
        plot.line(values[kept], percents[kept], color)
    for value in np.linspace(0.0, scale.high, 61).tolist():
        shown = [f"{name}: {number(float(np.interp(value, values, percents)))} % below" for values, name, _ in found]
        plot.tip(value, [f"{number(value, scale.digits() + 1)} {unit}", *shown])
    return (legend((name, color) for _, name, color in found) if len(runs) > 1 else "") + plot.text()

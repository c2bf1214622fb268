"""The plots of reports as SVG: frames, axes and round numbers along them, work over time, what robots did."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from fleet_sim.base.arrays import Floats
from fleet_sim.warehouse.traffic.figures_file import Run

# Scales: round numbers along axes, and numbers as people read them.


NONE = "\u2013"
"""What stands for a figure that a run does not have."""


class Scale(NamedTuple):
    """A range of values on an axis, with its round numbers."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def place(self, value: float, begin: float, end: float) -> float:
        """Return where `value` is between the pixels `begin` and `end`."""
        span = self.high - self.low
        # A range of one value has no length; everything is at its begin.
        return begin + (end - begin) * ((value - self.low) / span if span else 0.0)

    def digits(self, unit: float = 1.0) -> int:
        """Return how many decimals tell the round numbers apart, counted in units of that size."""
        step = (self.ticks[1] - self.ticks[0]) / unit if len(self.ticks) > 1 else 1.0
        return max(0, -math.floor(math.log10(step) + 1e-9))

    def texts(self, unit: str = "") -> list[str]:
        """Return the round numbers as texts, with their unit."""
        return [f"{number(tick, self.digits())} {unit}".rstrip() for tick in self.ticks]


def from_zero(high: float, most: int = 5) -> Scale:
    """Return a scale from 0 to a round number of at least `high`, with about `most` steps."""
    high = high if high > 0.0 else 1.0
    step = round_step(high, most)
    # The tolerance keeps 3.0000000001 steps from becoming four.
    count = max(1, math.ceil(high / step - 1e-9))
    return Scale(0.0, count * step, tuple(index * step for index in range(count + 1)))


def around(low: float, high: float, most: int = 6) -> Scale:
    """Return a scale between round numbers that holds `low` and `high`, with at most `most` steps or one more."""
    high = max(high, low + 1e-6)
    step = round_step(high - low, most)
    first, last = math.floor(low / step + 1e-9), max(math.ceil(high / step - 1e-9), math.floor(low / step) + 1)
    return Scale(first * step, last * step, tuple(index * step for index in range(first, last + 1)))


def round_step(span: float, most: int) -> float:
    """Return 1, 2 or 5 times a power of ten, so that at most `most` steps make `span`."""
    raw = span / most
    power = 10.0 ** math.floor(math.log10(raw))
    return next(times * power for times in (1.0, 2.0, 5.0, 10.0) if times * power >= raw * (1.0 - 1e-9))


UNITS = ((86_400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))


class TimeAxis(NamedTuple):
    """Times on an axis: a scale in s, shown in `unit` of `length` s."""

    scale: Scale
    unit: str
    length: float

    def texts(self) -> list[str]:
        """Return the round times as texts."""
        return [self.text(value) for value in self.scale.ticks]

    def text(self, seconds: float) -> str:
        """Return a time with its unit."""
        least = 1 if self.length > 1.0 else 0
        return f"{number(seconds / self.length, max(least, self.scale.digits(self.length)))} {self.unit}"


def clock_to(seconds: float, most: int = 8) -> TimeAxis:
    """Return the axis of a run of so many seconds: from 0 to its end."""
    # The largest unit of which there are two: "90 min", not "1.5 h".
    length, unit = next(((size, name) for size, name in UNITS if seconds >= 2.0 * size), (1.0, "s"))
    step = round_step(max(seconds, 1e-9) / length, most) * length
    ticks = tuple(index * step for index in range(int(seconds / step + 1e-9) + 1))
    return TimeAxis(Scale(0.0, max(seconds, 1e-9), ticks), unit, length)


def number(value: float | None, digits: int = 0) -> str:
    """Return a number with at most `digits` decimals and spaces between thousands; a dash for None."""
    if value is None:
        return NONE
    text = f"{value:,.{digits}f}".replace(",", "\u202f")
    # Trailing zeros say nothing, and make columns hard to read.
    if digits and "." in text:
        text = text.rstrip("0").rstrip(".")
    # A number that is rounded to nothing has no sign.
    return "0" if text in ("-0", "") else text.replace("-", "\u2212")


def percent(share: float) -> str:
    """Return a change as people read it, such as +12 %."""
    sign = "+" if share > 0.0 else "\u2212" if share < 0.0 else "±"
    size = abs(share) * 100.0
    return f"{sign}{number(size, 1 if size < 10.0 else 0)} %"


# Plots as SVG: a frame with axes, and shapes in it. Colors are CSS variables, so that they fit light and dark.


class Plot:
    """A plot of `width` x `height` units with round numbers along its axes; what is drawn later is on top."""

    def __init__(self, x: Scale, y: Scale, *, width: int = 540, height: int = 250, label: str = "") -> None:
        self.x, self.y = x, y
        self.width, self.height = width, height
        self.left, self.right = 52.0, width - 12.0
        self.top, self.bottom = 12.0, height - 30.0
        self._label = label
        self._parts: list[str] = []
        self._tips: list[tuple[float, list[str]]] = []

    def axes(self, x_texts: Sequence[str], y_texts: Sequence[str]) -> None:
        """Draw the lines of the values, and write `x_texts` and `y_texts` at the round numbers."""
        for value, text in zip(self.y.ticks, y_texts, strict=True):
            y = self._y(value)
            kind = "axis" if value == self.y.low else "grid"
            self._parts.append(f'<line class="{kind}" x1="{self.left}" x2="{self.right}" y1="{y}" y2="{y}"/>')
            self._parts.append(f'<text x="{self.left - 8}" y="{y + 4:.1f}" text-anchor="end">{escape(text)}</text>')
        for value, text in zip(self.x.ticks, x_texts, strict=True):
            x = self._x(value)
            # The last one would be cut off by the edge.
            anchor = "end" if x > self.right - 14 else "middle"
            self._parts.append(f'<text x="{x}" y="{self.bottom + 19}" text-anchor="{anchor}">{escape(text)}</text>')

    def line(self, xs: Floats, ys: Floats, color: str) -> None:
        """Draw a line through the points."""
        points = " ".join(f"{self._x(x)},{self._y(y)}" for x, y in zip(xs.tolist(), ys.tolist(), strict=True))
        self._parts.append(f'<polyline class="line" style="stroke:{color}" points="{points}"/>')

    def bar(self, x: float, middle: float, low: float, high: float, color: str) -> None:
        """Draw a point, and a bar from `low` to `high` through it."""
        place = self._x(x)
        self._parts.append(
            f'<line style="stroke:{color}" x1="{place}" x2="{place}" y1="{self._y(low)}" y2="{self._y(high)}"/>'
            f'<circle style="fill:{color}" cx="{place}" cy="{self._y(middle)}" r="3.5"/>'
        )

    def area(self, xs: Floats, lows: Floats, highs: Floats, color: str, kind: str = "area") -> None:
        """Fill between two lines in steps: `xs` (B + 1,) are the ends of the stretches, `lows` and `highs` (B,)."""
        # Each end twice, for lines at right angles.
        across = np.repeat(xs, 2)[1:-1]
        upper = zip(across.tolist(), np.repeat(highs, 2).tolist(), strict=True)
        lower = zip(across[::-1].tolist(), np.repeat(lows, 2)[::-1].tolist(), strict=True)
        points = " ".join(f"{self._x(x)},{self._y(y)}" for x, y in (*upper, *lower))
        self._parts.append(f'<polygon class="{kind}" style="fill:{color}" points="{points}"/>')

    def tip(self, x: float, lines: Iterable[str]) -> None:
        """Show `lines` where the mouse is near the value `x`."""
        self._tips.append((self._x(x), list(lines)))

    def text(self, names: Iterable[tuple[str, str]] = ()) -> str:
        """Return the SVG element, below the legend of `names` with their colors."""
        tips = escape(json.dumps(self._tips)) if self._tips else ""
        frame = f"{self.left},{self.top},{self.right},{self.bottom}"
        entries = list(names)
        return (legend(entries) if entries else "") + (
            f'<svg class="plot" viewBox="0 0 {self.width} {self.height}" role="img" aria-label="{escape(self._label)}"'
            f' data-frame="{frame}" data-tips="{tips}">{"".join(self._parts)}'
            f'<line class="cross" y1="{self.top}" y2="{self.bottom}" x1="0" x2="0" visibility="hidden"/></svg>'
        )

    def _x(self, value: float) -> float:
        # A tenth of a unit cannot be seen, and keeps pages with thousands of points small.
        return round(self.x.place(value, self.left, self.right), 1)

    def _y(self, value: float) -> float:
        return round(self.y.place(value, self.bottom, self.top), 1)


def legend(entries: Iterable[tuple[str, str]]) -> str:
    """Return the names with their colors; both are (name, CSS color)."""
    items = "".join(f'<li><i style="background:{color}"></i>{escape(name)}</li>' for name, color in entries)
    return f'<ul class="legend">{items}</ul>'


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
    "queued": "var(--brown)",
}
OTHERS = ("var(--violet)", "var(--orange)", "var(--green)", "var(--pink)")
WIDE, NARROW = 1100, 540
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
    lines = [_rates(run) for run in runs]
    end = max(float(run.times[-1]) if len(run.times) else 1.0 for run in runs)
    peak = max((float(rates.max(initial=0.0)) for _, rates in lines), default=1.0)
    plot, clock = _over_time(end, peak, "tasks per hour", WIDE)
    for (middles, rates), color in zip(lines, RUNS, strict=False):
        plot.line(middles, rates, color)
    for index, middle in enumerate(lines[0][0].tolist()):
        shown = [clock.text(middle)]
        for (middles, rates), name in zip(lines, names, strict=True):
            # The two runs have stretches of different lengths, so the nearest one counts.
            near = index if len(runs) == 1 else int(np.argmin(np.abs(middles - middle)))
            shown.append(f"{name}: {number(float(rates[near]))} tasks per hour")
        plot.tip(middle, shown)
    return plot.text(zip(names, RUNS, strict=False) if len(runs) > 1 else ())


def _over_time(end: float, peak: float, what: str, width: int) -> tuple[Plot, TimeAxis]:
    """Return an empty plot of `what` until `end` s, and its axis of time."""
    clock, scale = clock_to(end, 10 if width == WIDE else 5), from_zero(peak)
    plot = Plot(clock.scale, scale, width=width, height=270 if width == WIDE else 250, label=f"{what} over time")
    plot.axes(clock.texts(), scale.texts())
    return plot, clock


def _rates(run: Run) -> tuple[Floats, Floats]:
    """Return the middles of some stretches, and the tasks per hour in each."""
    # With few tasks in each, the line would show chance.
    most = int(np.clip(run.tasks.sum() / TASKS_OF_A_POINT, 8, 80))
    edges, tasks = _merged(run.times, run.tasks[:, None], most)
    return _middles(edges), tasks[:, 0] / np.diff(edges) * 3600.0


def level(runs: Sequence[Run], names: Sequence[str], key: str, what: str) -> str:
    """Return how many of the level `key` there were over time, with a line for each run that has it."""
    found = [
        (*_merged(run.times, run.levels[key][:, None], 150), name, color)
        for run, name, color in zip(runs, names, RUNS, strict=False)
        if key in run.levels
    ]
    lines = [(_middles(edges), sums[:, 0] / np.diff(edges), name, color) for edges, sums, name, color in found]
    peak = max(float(counts.max()) for _, counts, _, _ in lines)
    plot, clock = _over_time(max(float(edges[-1]) for edges, _, _, _ in found), peak, what, NARROW)
    for middles, counts, _, color in lines:
        plot.line(middles, counts, color)
    for middle in lines[0][0].tolist():
        shown = [f"{name}: {number(float(np.interp(middle, m, counts)), 1)} {what}" for m, counts, name, _ in lines]
        plot.tip(middle, [clock.text(middle), *shown])
    return plot.text([(name, color) for _, _, name, color in lines] if len(runs) > 1 else ())


def _middles(edges: Floats) -> Floats:
    return 0.5 * (edges[:-1] + edges[1:])


def _quantiles(runs: Sequence[Run], names: Sequence[str], key: str) -> list[tuple[Floats, str, str]]:
    """Return the percentiles (101,) of `key` of the runs that have them, with names and colors."""
    shown = zip(runs, names, RUNS, strict=False)
    return [(run.quantiles[key], name, color) for run, name, color in shown if key in run.quantiles]


def histogram(runs: Sequence[Run], names: Sequence[str], key: str, unit: str) -> str:
    """Return the shares of the values of `key` in bins of equal width, as steps for each run that has them.

    They follow from percentiles, so each is right to about a per cent. Of the first and the last per cent only what is
    not far away is shown.
    """
    found = _quantiles(runs, names, key)
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
    return plot.text([(name, color) for _, name, color in found] if len(runs) > 1 else ())


def states(run: Run, peak: float, end: float, width: int) -> str:
    """Return how many robots were in each state over time, stacked; axes reach `peak` robots and `end` s."""
    names = list(run.states)
    clock, scale = clock_to(end, 5 if width < WIDE else 10), from_zero(peak)
    plot = Plot(clock.scale, scale, width=width, height=270, label="robots by state over time")
    plot.axes(clock.texts(), scale.texts())
    edges, sums = _merged(run.times, np.stack([run.states[name] for name in names], axis=1), 150)
    robots = sums / np.diff(edges)[:, None]
    tops = np.cumsum(robots, axis=1)
    colors = colors_of(names)
    # Stacked: each area begins where the one below it ends.
    for index, name in enumerate(names):
        plot.area(edges, tops[:, index] - robots[:, index], tops[:, index], colors[name])
    for middle, row in zip(_middles(edges).tolist(), robots.tolist(), strict=True):
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
    found = _quantiles(runs, names, key)
    plot, scale = _shares([values for values, _, _ in found], key, unit)
    percents = np.arange(101.0)
    for values, _, color in found:
        # Beyond the scale a line would leave the plot.
        kept = values <= scale.high
        plot.line(values[kept], percents[kept], color)
    for value in np.linspace(0.0, scale.high, 61).tolist():
        shown = [f"{name}: {number(float(np.interp(value, values, percents)))} % below" for values, name, _ in found]
        plot.tip(value, [f"{number(value, scale.digits() + 1)} {unit}", *shown])
    return plot.text([(name, color) for _, name, color in found] if len(runs) > 1 else ())


def _shares(percentiles: Sequence[Floats], key: str, unit: str) -> tuple[Plot, Scale]:
    """Return an empty plot of which share of the values of `key` is below a value, and the scale of values."""
    # The last per cent is often far away, and would squeeze the others together.
    scale = from_zero(max(float(values[99]) for values in percentiles) or 1.0)
    shares = Scale(0.0, 100.0, (0.0, 25.0, 50.0, 75.0, 100.0))
    plot = Plot(scale, shares, label=f"distribution of {key}")
    plot.axes(scale.texts(unit), shares.texts("%"))
    return plot, scale


# Runs that differ in their seeds: their mean as a line, in a band from the least to the most of them.


def throughput_band(runs: Sequence[Run]) -> str:
    """Return the tasks per hour of `runs` over time."""
    most = int(np.clip(np.mean([run.tasks.sum() for run in runs]) / TASKS_OF_A_POINT, 8, 80))
    return _band_over_time(runs, [run.tasks for run in runs], most, 3600.0, "tasks per hour", WIDE)


def level_band(runs: Sequence[Run], key: str, what: str) -> str:
    """Return how many of the level `key` there were in `runs` over time."""
    return _band_over_time(runs, [run.levels[key] for run in runs], 80, 1.0, what, NARROW)


def _band_over_time(runs: Sequence[Run], sums: Sequence[Floats], most: int, per: float, what: str, width: int) -> str:
    end = min(float(run.times[-1]) for run in runs)
    edges = np.linspace(0.0, end, most + 1)
    values = np.array([np.diff(sums_until(run, of, edges)) for run, of in zip(runs, sums, strict=True)])
    values *= per / np.diff(edges)
    plot, clock = _over_time(end, float(values.max()), what, width)
    tips = [clock.text(middle) for middle in _middles(edges).tolist()]
    return _with_band(plot, edges, values, tips, lambda value: f"{number(value, 1)} {what}")


def distribution_band(runs: Sequence[Run], key: str, unit: str) -> str:
    """Return which share of the values of `key` is below a value in each of `runs`."""
    percentiles = [run.quantiles[key] for run in runs]
    plot, scale = _shares(percentiles, key, unit)
    edges = np.linspace(0.0, scale.high, 121)
    values = np.array([np.interp(_middles(edges), own, np.arange(101.0)) for own in percentiles])
    tips = [f"{number(middle, scale.digits() + 1)} {unit}" for middle in _middles(edges).tolist()]
    return _with_band(plot, edges, values, tips, lambda value: f"{number(value)} % below")


def sums_until(run: Run, sums: Floats, times: Floats) -> Floats:
    """Return what the `sums` of the stretches of `run` have come to at `times`."""
    return np.interp(times, np.append(0.0, run.times), np.append(0.0, np.cumsum(sums)))


def _with_band(plot: Plot, edges: Floats, values: Floats, tips: Sequence[str], text: Callable[[float], str]) -> str:
    """Draw the band and the mean of `values` (R, B), which stand between `edges` (B + 1,)."""
    means, lows, highs, middles = values.mean(axis=0), values.min(axis=0), values.max(axis=0), _middles(edges)
    plot.area(edges, lows, highs, RUNS[0], "band")
    plot.line(middles, means, RUNS[0])
    for middle, tip, *found in zip(middles.tolist(), tips, means.tolist(), lows.tolist(), highs.tolist(), strict=True):
        names = ("mean", "least", "most")
        plot.tip(middle, [tip, *(f"{name}: {text(value)}" for name, value in zip(names, found, strict=True))])
    return plot.text()

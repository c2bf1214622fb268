"""The page of a sweep: what each measure was for each value of the parameters, with plots and a table."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from fleet_sim.apps.reports.page import KNOWN, Figure, card, table_of, whole_page
from fleet_sim.apps.reports.plots import NONE, Plot, Scale, around, from_zero, number, percent
from fleet_sim.apps.sweeps import RunGroup, Spread, SweepTable, differences_of, groups_of

LINES = ("var(--blue)", "var(--orange)", "var(--green)", "var(--violet)", "var(--yellow)", "var(--pink)")
"""Colors of the lines of a plot; with more lines there is no plot, as nobody could tell them apart."""

PLOTS = 12
"""At most so many measures are drawn; the table has all of them."""

FAILURES = 20
_NAMES = {figure.key: figure for figures in KNOWN.values() for figure in figures}


def sweep_page_of(table: SweepTable) -> str:
    """Return the page of a sweep; all that it needs is within it, and every text from the table is escaped."""
    groups = groups_of(table)
    names = [name for name in table.measures if any(name in group.spreads for group in groups)]
    varied = sorted((name for name in names if _varies(groups, name)), key=_rank)
    same = sorted((name for name in names if name not in varied), key=_rank)
    text = "Means of the runs that were done, with their 95 % confidence intervals."
    if same:
        text += " The same in all combinations: " + ", ".join(_same_text(groups, name) for name in same) + "."
    title = f'<div class="brand">fleet_sim sweep</div><h1>{escape(table.title)}</h1>'
    parts = [
        f"<header>{title}{_summary(table, groups)}</header>",
        _plots(table, groups, varied[:PLOTS]),
        card("All figures", text, _table(table, groups, varied)),
        _failures(table),
    ]
    return whole_page(table.title, parts, "Made by fleet-sim report.")


SURE = 0.05
"""A difference that comes of chance as rarely as this is called one."""


def comparison_lines(first: SweepTable, second: SweepTable) -> list[list[str]]:
    """Return a table of texts: what each measure was in two sweeps, and the probability that chance made a difference.

    It is that of Welch's test: below 0.05 the line is marked.
    """
    found = sorted(differences_of(first, second), key=lambda one: _rank(one.measure))
    lines = [["", first.title, second.title, "change", "p (Welch)", ""]]
    for values, measure, before, after, chance in (
        (one.values, one.measure, one.first, one.second, one.chance) for one in found
    ):
        if before.mean == after.mean and not before.half_width and not after.half_width:
            continue
        where = ", ".join(f"{_short(name)} {_text(value)}" for name, value in values.items())
        figure, digits = _figure(measure), _digits(measure)
        change = percent((after.mean - before.mean) / abs(before.mean)) if before.mean else NONE
        lines.append(
            [
                figure.name + (f" ({figure.unit})" if figure.unit else "") + (f", {where}" if where else ""),
                _spread_text(before, digits),
                _spread_text(after, digits),
                change,
                NONE if chance is None else f"{chance:.2g}",
                "differs" if chance is not None and chance < SURE else "",
            ]
        )
    return lines


def comparison_page_of(first: SweepTable, second: SweepTable) -> str:
    """Return the page that compares two sweeps; every text from the tables is escaped."""
    head, *rows = comparison_lines(first, second)
    title = f"{first.title} and {second.title}"
    heading = f"{escape(first.title)} <i>and</i> {escape(second.title)}"
    text = (
        "Means of the runs that were done, with their 95 % confidence intervals. p is how often runs that do not "
        f"differ would come out as far apart, by Welch's test; below {SURE:g} they differ. Of twenty such rows one "
        "does by chance."
    )
    content = table_of(map(escape, head), (map(escape, row) for row in rows))
    parts = [
        f'<header><div class="brand">fleet_sim sweep</div><h1>{heading}</h1></header>',
        card("What differs", text, content),
    ]
    return whole_page(title, parts, "Made by fleet-sim report.")


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table of texts, its first column to the left."""
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if not index else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _summary(table: SweepTable, groups: Sequence[RunGroup]) -> str:
    """Return what ran, how often, and what was the same in all runs."""
    failed = sum(group.failed for group in groups)
    seeds = len(set(table.columns["seed"]))
    said = f"{number(len(table))} runs: {number(len(groups))} combinations, {number(seeds)} seeds"
    said += f"; {number(failed)} runs failed" if failed else ""
    ran = [table.scenario, f"{number(table.duration, 3)} s each" if table.duration is not None else ""]
    fixed = [f"{name} {_text(table.columns[name][0])}" for name in table.parameters if name not in _varied(table)]
    lines = [said, ", ".join(filter(None, ran)), f"In all of them: {', '.join(fixed)}" if fixed else ""]
    return "".join(f"<p>{escape(line)}</p>" for line in lines if line)


def _varied(table: SweepTable) -> list[str]:
    """Return the parameters with more than one value; all of them where none has."""
    return [name for name in table.parameters if len(set(table.columns[name])) > 1] or list(table.parameters)


def _same_text(groups: Sequence[RunGroup], name: str) -> str:
    mean = next(group.spreads[name].mean for group in groups if name in group.spreads)
    figure = _figure(name)
    return f"{figure.name} {number(mean, figure.digits)}{f' {figure.unit}' if figure.unit else ''}"


def sweep_lines(table: SweepTable) -> list[str]:
    """Return the same as lines of text: the means of the measures that most look for."""
    groups = groups_of(table)
    varied = [name for name in table.measures if _varies(groups, name)]
    chosen = sorted(varied, key=_rank)[:4]
    parameters = _varied(table)
    head = [*parameters, "runs", "failed", *chosen]
    rows = [
        [*(_text(group.values[name]) for name in parameters), str(group.runs), str(group.failed)]
        + [_spread_text(group.spreads.get(name), _digits(name)) for name in chosen]
        for group in groups
    ]
    widths = [max(len(row[index]) for row in [head, *rows]) for index in range(len(head))]
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in [head, *rows]]


def _rank(name: str) -> tuple[int, str]:
    """Return the place of a measure among others: in the order of reports, then what they do not know."""
    return (list(_NAMES).index(name), "") if name in _NAMES else (len(_NAMES), name)


def _varies(groups: Sequence[RunGroup], name: str) -> bool:
    means = {group.spreads[name].mean for group in groups if name in group.spreads}
    # Of one combination there is nothing to compare: what it measured is shown.
    return len(means) > 1 or (len(groups) == 1 and bool(means))


def _digits(name: str) -> int:
    return _NAMES[name].digits if name in _NAMES else 3


def _figure(name: str) -> Figure:
    return _NAMES.get(name) or Figure(name, name, "", 3, 0)


# ---- plots -----------------------------------------------------------------------------------------------------------


def _plots(table: SweepTable, groups: Sequence[RunGroup], names: Sequence[str]) -> str:
    """Return a plot for each of `names` over the parameter that varies most; "" where nothing varies."""
    if not table.parameters or len(groups) < 2 or not names:
        return ""
    across = _across(table)
    lines = _lines(groups, [name for name in _varied(table) if name != across])
    if len(lines) > len(LINES):
        text = f"{len(lines)} combinations beside {across} are too many lines to tell apart; the table has them."
        return card("No plots", text, "")
    cards = [card(_figure(name).name, _unit_text(name, across), _plot(lines, across, name)) for name in names]
    return f'<div class="pair">{"".join(cards)}</div>'


def _across(table: SweepTable) -> str:
    """Return the parameter along the axis: of numbers, with most values."""

    def rank(name: str) -> tuple[bool, int]:
        values = table.columns[name]
        return all(isinstance(value, (int, float)) for value in values), len(set(values))

    return max(table.parameters, key=rank)


def _lines(groups: Sequence[RunGroup], others: Sequence[str]) -> dict[str, list[RunGroup]]:
    """Return the groups of each combination of the parameters `others`, by its name."""
    found: dict[str, list[RunGroup]] = {}
    for group in groups:
        # A word says what it is; a number needs the name of its parameter.
        named = [
            _text(group.values[name])
            if isinstance(group.values[name], str)
            else f"{_short(name)} {_text(group.values[name])}"
            for name in others
        ]
        found.setdefault(", ".join(named), []).append(group)
    return found


def _unit_text(name: str, across: str) -> str:
    unit = _figure(name).unit
    return f"{unit + ', ' if unit else ''}over {across}; bars are 95 % confidence intervals."


def _plot(lines: dict[str, list[RunGroup]], across: str, name: str) -> str:
    """Return the plot of one measure: a line for each combination of the other parameters, with intervals."""
    shown = {line: [group for group in groups if name in group.spreads] for line, groups in lines.items()}
    values = list(dict.fromkeys(group.values[across] for groups in shown.values() for group in groups))
    numbers = all(isinstance(value, (int, float)) for value in values)
    if numbers:
        values.sort()
    places = {value: float(value) if numbers else float(index) for index, value in enumerate(values)}
    ends = [_ends(group.spreads[name]) for groups in shown.values() for group in groups]
    low, high = min(end[0] for end in ends), max(end[1] for end in ends)
    # Small differences of large numbers are what one looks for; else zero is the honest beginning.
    scale = from_zero(high) if low >= 0.0 and low < 0.6 * high else around(low, high)
    plot = Plot(_x_scale(list(places.values()), numbers), scale, label=name)
    texts = [_text(value) for value in values] if not numbers else None
    plot.axes(texts if texts is not None else [number(tick, 3) for tick in plot.x.ticks], scale.texts())
    tips: dict[float, list[str]] = {}
    for index, ((line, groups), color) in enumerate(zip(shown.items(), LINES, strict=False)):
        # A little beside each other, so that bars at one place can be told apart.
        aside = (index - 0.5 * (len(shown) - 1)) * 0.008 * (plot.x.high - plot.x.low)
        ordered = sorted(groups, key=lambda group: places[group.values[across]])
        xs = np.array([places[group.values[across]] for group in ordered])
        plot.line(xs + aside, np.array([group.spreads[name].mean for group in ordered]), color)
        for x, group in zip(xs.tolist(), ordered, strict=True):
            spread = group.spreads[name]
            plot.bar(x + aside, spread.mean, *_ends(spread), color)
            text = _spread_text(spread, _digits(name))
            tips.setdefault(x, [f"{across} {_text(group.values[across])}"]).append(f"{line or name}: {text}")
    for x, told in tips.items():
        plot.tip(x, told)
    return plot.text(zip(shown, LINES, strict=False) if len(shown) > 1 else ())


def _x_scale(places: Sequence[float], numbers: bool) -> Scale:
    """Return the scale below a plot: of numbers, or one place for each value."""
    if numbers and len(places) > 1:
        margin = 0.04 * (max(places) - min(places))
        ticks = tuple(
            tick
            for tick in around(min(places), max(places)).ticks
            if min(places) - margin <= tick <= max(places) + margin
        )
        return Scale(min(places) - margin, max(places) + margin, ticks)
    return Scale(min(places) - 0.5, max(places) + 0.5, tuple(places))


def _ends(spread: Spread) -> tuple[float, float]:
    half = spread.half_width or 0.0
    return spread.mean - half, spread.mean + half


# ---- tables ----------------------------------------------------------------------------------------------------------


def _table(table: SweepTable, groups: Sequence[RunGroup], names: Sequence[str]) -> str:
    """Return the means of all groups as a table."""
    parameters = _varied(table)
    heads = [*map(_short, parameters), "runs", "failed", *(_figure(name).name for name in names)]
    units = [*[""] * (len(parameters) + 2), *(_figure(name).unit for name in names)]
    head = (escape(f"{text} ({unit})" if unit else text) for text, unit in zip(heads, units, strict=True))
    body = []
    for group in groups:
        cells = [*(_text(group.values[name]) for name in parameters), number(group.runs), number(group.failed)]
        cells += [_spread_text(group.spreads.get(name), _digits(name)) for name in names]
        body.append(map(escape, cells))
    return table_of(head, body)


def _failures(table: SweepTable) -> str:
    """Return the runs that failed, and why."""
    failed = [row for row, error in enumerate(table.columns["error"]) if error]
    if not failed:
        return ""
    lines = []
    for row in failed[:FAILURES]:
        values = ", ".join(f"{_short(name)} {_text(table.columns[name][row])}" for name in table.parameters)
        run, seed, error = (str(table.columns[name][row]) for name in ("run", "seed", "error"))
        lines.append(map(escape, (run, values, seed, error)))
    more = (
        f"<p>and {number(len(failed) - FAILURES)} more, in the table of the sweep</p>" if len(failed) > FAILURES else ""
    )
    content = table_of(("run", "with", "seed", "why"), lines)
    return card("Runs that failed", "They count in no mean.", content + more)


def _short(name: str) -> str:
    """Return a key path by its last names, which tell two of them apart mostly."""
    return ".".join(name.split(".")[-2:])


def _text(value: Any) -> str:
    return NONE if value is None else number(value, 6) if isinstance(value, (int, float)) else str(value)


def _spread_text(spread: Spread | None, digits: int) -> str:
    if spread is None:
        return NONE
    half = f" ± {number(spread.half_width, max(digits, 1))}" if spread.half_width else ""
    return number(spread.mean, max(digits, 1)) + half

"""The figures of one run or two as HTML: the most important as tiles, all in a table."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from fleet_sim.reports.figures import LESS, NEITHER, Row, rows_of
from fleet_sim.reports.scales import NONE, number, percent
from fleet_sim.traffic.figures import Run

TILES = (
    "throughput_per_h",
    "tasks_done",
    "flow_time_s_p50",
    "orders_late",
    "energy_wh",
    "planning_ms_p99",
    "collisions",
    "closest_gap_m",
    "deadlocks",
    "stuck_robots",
    "longest_wait_s",
    "real_time_factor",
)
SAME = 5e-4
"""Changes below this share are shown as none."""


def tiles(runs: Sequence[Run], names: Sequence[str]) -> str:
    """Return the figures that tell most: those of the first run, with what the second changes."""
    rows = {row.figure.key: row for rows in rows_of(runs).values() for row in rows}
    return f'<div class="tiles">{"".join(_tile(rows[key], names) for key in TILES if key in rows)}</div>'


def _tile(row: Row, names: Sequence[str]) -> str:
    """Return one figure as a tile: the new value large, the change from the old one below it."""
    figure = row.figure
    # The second run is the new one: its value is shown large, the first one's below it.
    value = number(row.values[-1], figure.digits)
    unit = f"<small>{escape(figure.unit)}</small>" if figure.unit else ""
    below = ""
    if len(row.values) > 1:
        below = f"<p>{_change(row)} from {number(row.values[0], figure.digits)}</p>"
    return f'<div class="tile"><h3>{escape(figure.name)}</h3><b>{value}{unit}</b>{below}</div>'


def figures_table(runs: Sequence[Run], names: Sequence[str]) -> str:
    """Return a table of all figures; with two runs it has their differences."""
    pair = len(runs) > 1
    head = "".join(f"<th>{escape(name)}</th>" for name in names) if pair else "<th></th>"
    last = "<th>change</th>" if pair else ""
    # A heading spans all columns, with one for the change of a pair.
    body = []
    for heading, rows in rows_of(runs).items():
        body.append(f'<tr><th colspan="{len(runs) + 2 + pair}">{escape(heading)}</th></tr>')
        body.extend(_line(row, pair) for row in rows)
    return (
        f'<div class="scroll"><table><thead><tr><th></th>{head}<th></th>{last}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def _line(row: Row, pair: bool) -> str:
    cells = "".join(f"<td>{number(value, row.figure.digits)}</td>" for value in row.values)
    change = f"<td>{_change(row)}</td>" if pair else ""
    return f'<tr><td>{escape(row.figure.name)}</td>{cells}<td class="unit">{escape(row.figure.unit)}</td>{change}</tr>'


def _change(row: Row) -> str:
    """Return the change from the first run to the second, colored where one of them is better."""
    change, (first, second) = row.change, row.values
    if first is None or second is None:
        return f'<span class="same">{NONE}</span>'
    # From nothing there is no share.
    text = percent(change) if change is not None else f"+{number(second, row.figure.digits)}" if second else "±0"
    size = change if change is not None else second - first
    if abs(size) < SAME or row.figure.better == NEITHER:
        return f'<span class="same">{"±0" if abs(size) < SAME else text}</span>'
    # More is better and it grew, or less is better and it shrank.
    better = (size > 0.0) != (row.figure.better == LESS)
    return f'<span class="{"good" if better else "bad"}">{text}</span>'

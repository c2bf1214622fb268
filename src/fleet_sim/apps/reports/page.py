"""The figures of runs: as tables, as lines of text, and as a page of HTML that needs nothing beside itself."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fleet_sim.apps.reports import plots
from fleet_sim.apps.reports.plots import NONE, legend, number, percent
from fleet_sim.apps.sweeps.sweep import spread_of
from fleet_sim.base.arrays import Bools, Floats, transparent_png_bytes
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.files import check_table
from fleet_sim.base.files import write_table as write_columns
from fleet_sim.warehouse.traffic.figures_file import Run, RunMark

# The figures that reports know by name: what they are called, their unit, and whether more is better.


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
        Figure("order_assignment_s_mean", "Of an order's time: until a robot sets out, mean", "s", 1, LESS),
        Figure("order_driving_empty_s_mean", "Of an order's time: driving to the load, mean", "s", 1, LESS),
        Figure("order_driving_loaded_s_mean", "Of an order's time: driving with it, mean", "s", 1, LESS),
        Figure("order_traffic_s_mean", "Of an order's time: standing for others, mean", "s", 1, LESS),
        Figure("order_queue_s_mean", "Of an order's time: waiting at stations, mean", "s", 1, LESS),
        Figure("order_service_s_mean", "Of an order's time: service at stations, mean", "s", 1, LESS),
        Figure("order_disturbance_s_mean", "Of an order's time: disturbances, mean", "s", 1, LESS),
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
        Figure("starved", "Waits of four times that", "", 0, LESS),
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
    kept = _rounded if Path(path).suffix.lower() == ".csv" else lambda value: value
    columns: dict[str, list[Any]] = {key: [kept(run.figures.get(key)) for run in runs] for key in keys}
    write_columns(path, {"run": [run.title for run in runs], **columns})


def _rounded(value: float | None) -> float | str:
    if value is None:
        return ""
    shown = float(f"{value:.10g}")
    return int(shown) if shown.is_integer() else shown


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


# The figures of one run or two as HTML: the most important as tiles, all in a table.


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
    "starved",
    "stuck_robots",
    "longest_wait_s",
    "real_time_factor",
)
SAME = 5e-4
"""Changes below this share are shown as none."""


def tiles(runs: Sequence[Run], tile: Callable[[Row], str]) -> str:
    """Return the figures that tell most, each as what `tile` makes of it."""
    rows = {row.figure.key: row for rows in rows_of(runs).values() for row in rows}
    return f'<div class="tiles">{"".join(tile(rows[key]) for key in TILES if key in rows)}</div>'


def _newest(row: Row) -> str:
    """Return one figure as a tile: the new value large, the change from the old one below it."""
    below = f"{_change(row)} from {number(row.values[0], row.figure.digits)}" if len(row.values) > 1 else ""
    return _tile(row.figure, row.values[-1], below)


def _tile(figure: Figure, value: float | None, below: str) -> str:
    unit = f"<small>{escape(figure.unit)}</small>" if figure.unit else ""
    text = f"{number(value, figure.digits)}{unit}"
    return f'<div class="tile"><h3>{escape(figure.name)}</h3><b>{text}</b>{f"<p>{below}</p>" if below else ""}</div>'


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


# Maps of where robots passed and where they waited, as pictures within the page.


RAMPS = {
    "passages": (
        (0.0, (147, 197, 253, 26)),
        (0.35, (57, 135, 229, 150)),
        (0.7, (124, 84, 222, 225)),
        (1.0, (220, 38, 127, 255)),
    ),
    "waited": (
        (0.0, (253, 224, 140, 26)),
        (0.35, (237, 161, 0, 160)),
        (0.7, (227, 73, 72, 230)),
        (1.0, (150, 10, 60, 255)),
    ),
}
"""Colors with their opacity from the least to the most: what is little lets the page through, light or dark."""
WALL = (128, 128, 132, 120)


def peak_of(maps: Sequence[Floats]) -> float:
    """Return the value of the strongest color: what 99.5 % of all squares in use keep below. Rare peaks look alike."""
    used = np.concatenate([values[values > 0.0] for values in maps]) if maps else np.zeros(0)
    return float(np.percentile(used, 99.5)) if len(used) else 0.0


def picture(values: Floats, free_mask: Bools, peak: float, ramp: str) -> str:
    """Return a data URI with a pixel for each square: `values` (H, W), colored up to `peak`, and walls."""
    stops = RAMPS[ramp]
    # Without a peak all is 0; dividing by it would make NaN of it.
    shares = np.clip(values / peak if peak > 0.0 else values * 0.0, 0.0, 1.0)
    places = [place for place, _ in stops]
    # Band by band: a color between two stops is a mixture of both.
    pixels = np.stack([np.interp(shares, places, [color[band] for _, color in stops]) for band in range(4)], axis=-1)
    # Unused squares are transparent, so that they look the same in light and dark pages.
    pixels[values <= 0.0] = 0.0
    pixels[~free_mask] = WALL
    return "data:image/png;base64," + b64encode(transparent_png_bytes(pixels.round().astype(np.uint8))).decode("ascii")


def gradient(ramp: str) -> str:
    """Return the colors as a CSS gradient."""
    parts = [
        f"rgba({red},{green},{blue},{alpha / 255:.2f}) {place:.0%}" for place, (red, green, blue, alpha) in RAMPS[ramp]
    ]
    return f"linear-gradient(90deg,{','.join(parts)})"


# Look and behaviour of the page: CSS for light and dark, and a script that shows values under the mouse.


CSS = """
:root{color-scheme:light dark;--page:#f6f6f3;--card:#fdfdfc;--line:#e4e3dc;--axis:#c3c2b7;--text:#12120f;--soft:#55544f;
--faint:#87857e;--blue:#2a78d6;--yellow:#eda100;--red:#e34948;--green:#1baf7a;--violet:#4a3aa7;--orange:#eb6834;
--pink:#d5528f;--brown:#a2703c;--rest:#d3d2ca;--first:#2a78d6;--second:#eb6834;--good:#0b7a54;--bad:#c02b2a;
--shadow:0 1px 2px rgba(20,20,10,.05),0 6px 20px rgba(20,20,10,.04)}
@media(prefers-color-scheme:dark){:root{--page:#111110;--card:#1a1a18;--line:#2d2d2a;--axis:#45443f;--text:#f6f5f0;
--soft:#c3c2b7;--faint:#8b897f;--blue:#3987e5;--yellow:#c98500;--red:#e66767;--green:#199e70;--violet:#9085e9;
--orange:#d95926;--pink:#d46a9c;--brown:#b98a5a;--rest:#45443f;--first:#4f97ec;--second:#e8743f;--good:#35c592;--bad:#f08080;
--shadow:none}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;
font-variant-numeric:tabular-nums;-webkit-font-smoothing:antialiased}
main{max-width:1180px;margin:0 auto;padding:44px 24px 64px}
header{margin-bottom:26px}
.brand{color:var(--faint);font-size:13px;letter-spacing:.04em}
h1{font-size:32px;line-height:1.2;letter-spacing:-.02em;margin:4px 0 8px;font-weight:650;overflow-wrap:anywhere}
h1 i{font-style:normal;color:var(--faint);font-weight:400}
h2{font-size:16px;margin:0 0 2px;font-weight:620;letter-spacing:-.005em}
p{margin:0;color:var(--soft);overflow-wrap:anywhere}
.card p{font-size:13.5px;margin-bottom:12px}
.card,.tile{background:var(--card);border:1px solid var(--line);border-radius:12px;box-shadow:var(--shadow)}
.card{padding:20px 22px;margin-top:18px}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(220px,1fr));gap:14px}
.tile{padding:15px 18px 14px}
.tile h3{margin:0;font-size:13px;font-weight:500;color:var(--soft)}
.tile b{display:block;font-size:27px;line-height:1.25;font-weight:640;letter-spacing:-.02em;white-space:nowrap}
.tile b small{font-size:14px;font-weight:450;color:var(--faint);letter-spacing:0;margin-left:4px}
.tile p{font-size:13px;color:var(--faint)}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,400px),1fr));gap:0 18px}
.inner{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,380px),1fr));gap:14px 26px;
align-items:end}
h4{margin:8px 0 4px;font-size:13px;font-weight:560;color:var(--soft)}
svg.plot{display:block;width:100%;height:auto;overflow:visible}
svg text{fill:var(--faint);font-size:11.5px;font-family:inherit}
.grid{stroke:var(--line);stroke-width:1}.axis{stroke:var(--axis);stroke-width:1}
.line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}
.area{opacity:.92}.band{opacity:.22}.cross{stroke:var(--faint);stroke-width:1;stroke-dasharray:3 3}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:4px 18px;margin:0 0 8px;padding:0;
font-size:13px;color:var(--soft)}
.legend i{display:inline-block;width:11px;height:11px;border-radius:3px;margin-right:7px;vertical-align:-1px}
.map{display:block;width:100%;max-height:560px;object-fit:contain;object-position:left top;image-rendering:pixelated;
border-radius:4px}
.map image{image-rendering:pixelated}
svg.map text{fill:var(--text);paint-order:stroke;stroke:var(--card);stroke-width:.25em}
circle.station{fill:var(--text)}circle.stuck{fill:var(--red)}
pre{text-align:left;font-size:12.5px;white-space:pre-wrap;max-width:80ch;overflow-wrap:anywhere}
details summary{cursor:pointer;color:var(--soft);font-size:13.5px}
.ramp{display:flex;align-items:center;gap:10px;font-size:12.5px;color:var(--faint);margin-top:10px}
.ramp i{flex:0 0 150px;height:9px;border-radius:5px}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:14px}
th,td{text-align:right;padding:5px 0 5px 18px;border-bottom:1px solid var(--line);white-space:nowrap;font-weight:400}
th:first-child,td:first-child{text-align:left;padding-left:0;white-space:normal;overflow-wrap:anywhere;min-width:8em}
thead th,tbody th[colspan]{color:var(--faint);font-size:12.5px}
tbody th[colspan]{padding-top:16px;font-weight:600;color:var(--soft)}
td.unit{color:var(--faint);text-align:left;padding-left:8px}
tr:last-child td{border-bottom:0}
.good{color:var(--good)}.bad{color:var(--bad)}.same{color:var(--faint)}
#tip{position:fixed;z-index:9;pointer-events:none;background:var(--text);color:var(--page);border-radius:8px;
padding:7px 11px;font-size:12.5px;line-height:1.45;white-space:pre;box-shadow:0 6px 22px rgba(0,0,0,.22)}
footer{margin-top:28px;color:var(--faint);font-size:12.5px}
@media print{body{background:#fff}.card,.tile{break-inside:avoid;box-shadow:none}}
"""

SCRIPT = """
(function(){
var tip=document.createElement("div");tip.id="tip";tip.hidden=true;document.body.appendChild(tip);
document.querySelectorAll("svg.plot").forEach(function(svg){
  var tips=svg.dataset.tips?JSON.parse(svg.dataset.tips):[];if(!tips.length)return;
  var cross=svg.querySelector(".cross"),size=svg.viewBox.baseVal;
  svg.addEventListener("mousemove",function(event){
    var box=svg.getBoundingClientRect(),x=(event.clientX-box.left)*size.width/box.width,best=tips[0];
    tips.forEach(function(one){if(Math.abs(one[0]-x)<Math.abs(best[0]-x))best=one;});
    cross.setAttribute("x1",best[0]);cross.setAttribute("x2",best[0]);cross.setAttribute("visibility","visible");
    tip.textContent=best[1].join("\\n");tip.hidden=false;
    var right=event.clientX+16+tip.offsetWidth>innerWidth-8;
    tip.style.left=(right?event.clientX-16-tip.offsetWidth:event.clientX+16)+"px";
    tip.style.top=Math.max(8,Math.min(event.clientY-12,innerHeight-tip.offsetHeight-8))+"px";
  });
  svg.addEventListener("mouseleave",function(){tip.hidden=true;cross.setAttribute("visibility","hidden");});
});
})();
"""


DISTRIBUTIONS = {
    "flow_time_s": ("How long tasks took", "The share of tasks that were done within a time.", "s"),
    "lateness_s": (
        "How late orders were",
        "The share of orders done with a due time that were late by at most a time.",
        "s",
    ),
    "waiting_s": ("How long robots waited", "The share of robots that stood on their way for at most a time.", "s"),
    "planning_ms": ("How long planning took", "The share of plans that were made within a time.", "ms"),
    "driven_m": ("How far robots drove", "The share of robots that drove at most so far.", "m"),
}
"""What run files keep percentiles of: its heading, what the plot shows, and its unit."""

FEW, DIGITS = 16, "0123456789"
LONG = 30
"""Rows of a table that are shown at once."""

LEVELS = {
    "battery_mean_percent": ("Charge of the batteries", "The mean of all robots, over simulated time.", "% charge"),
    "battery_least_percent": ("Charge of the emptiest robot", "The least of all robots, at each time.", "% charge"),
    "orders_open": ("Open orders", "Orders that were released and had not ended, over simulated time.", "open orders"),
    "orders_waiting": ("Orders that waited", "Those of them that no robot had yet.", "waiting orders"),
}
"""What run files keep over time besides: its heading, what the plot shows, and what it counts."""


def page_of(runs: Sequence[Run]) -> str:
    """Return the page of one run, or of two side by side; raises InvalidValueError for any other number.

    All that it needs is within it, and every text from the runs is escaped.
    """
    if len(runs) not in (1, 2):
        raise InvalidValueError(f"a report is about one or two runs, got {len(runs)}")
    names = _names(runs)
    title = " <i>and</i> ".join(escape(name) for name in names)
    parts = [
        f'<header><div class="brand">fleet_sim report</div><h1>{title}</h1>{_about(runs, names)}</header>',
        tiles(runs, _newest),
        card("Throughput", "Tasks done per hour, over simulated time.", plots.throughput(runs, names)),
        _levels(runs, any, lambda key, what: plots.level(runs, names, key, what)),
        _states(runs, names),
        _heat(runs, names),
        _pair(
            [
                *_lateness(runs, names),
                *_distributions(runs, any, lambda key, unit: plots.distribution(runs, names, key, unit)),
            ]
        ),
        _tables(runs, names),
        card("All figures", "", figures_table(runs, names)),
        _origins(runs, names),
    ]
    return whole_page(" and ".join(names), parts, "Made by fleet-sim report.")


def seeds_page_of(runs: Sequence[Run]) -> str:
    """Return the page of runs that differ in their seeds: means, and bands from the least to the most of the runs.

    Raises InvalidValueError for less than two, for two of one seed, and where they differ in more than their seeds.
    """
    seeds = _seeds_of(runs)
    mean = _mean_of(runs)
    about = f"{len(runs)} runs with the seeds {', '.join(seeds)}"
    rows = [row for rows in rows_of(runs).values() for row in rows if any(value is not None for value in row.values)]
    text = "The mean of all runs, in a band from the least to the most of them."
    parts = [
        f'<header><div class="brand">fleet_sim report</div><h1>{escape(mean.title)}</h1><p>{escape(about)}</p>'
        f"{_about([mean], [mean.title])}</header>",
        tiles(runs, _of_seeds),
        card("Throughput", f"Tasks done per hour, over simulated time. {text}", plots.throughput_band(runs)),
        _levels(runs, all, lambda key, what: plots.level_band(runs, key, what)),
        _states([mean], [mean.title]),
        _heat([mean], [mean.title]),
        _pair(_distributions(runs, all, lambda key, unit: plots.distribution_band(runs, key, unit))),
        card(
            "All figures",
            "The mean with its 95 % confidence interval, the least and the most of the runs that have the figure.",
            table_of(("", "mean", "least", "most", "", "runs"), map(_seeds_line, rows)),
        ),
        _origins([mean], [mean.title]),
    ]
    return whole_page(mean.title, parts, "Made by fleet-sim report.")


SAME_OF_SEEDS = ("scenario", "settings", "fleet_sim")
"""What runs that differ in their seeds have in common, of what they say about themselves."""


def _seeds_of(runs: Sequence[Run]) -> list[str]:
    """Return the seeds of the runs; raises as `seeds_page_of`."""
    seeds = [run.about.get("seed", "") for run in runs]
    if len(runs) < 2 or len(set(seeds)) < len(runs):
        raise InvalidValueError(f"bands need two or more runs, each with a seed of its own, got the seeds {seeds}")
    differing = [key for key in SAME_OF_SEEDS if len({run.about.get(key) for run in runs}) > 1]
    for key in ("robots", "simulated_s"):
        differing += [key] if len({run.figures.get(key) for run in runs}) > 1 else []
    if len({run.heat.free_mask.shape if run.heat is not None else None for run in runs}) > 1:
        differing.append("map")
    if differing or not all(len(run.times) for run in runs):
        raise InvalidValueError(f"bands are of runs that differ in their seeds alone, got other {', '.join(differing)}")
    return seeds


def _mean_of(runs: Sequence[Run]) -> Run:
    """Return a run with the mean of all in each stretch of the first one, and on each square of the map."""
    first = runs[0]
    edges = np.append(0.0, first.times)
    states = {
        state: np.mean(
            [np.diff(plots.sums_until(run, run.states[state], edges)) for run in runs if state in run.states], axis=0
        )
        for state in first.states
    }
    heats = [run.heat for run in runs if run.heat is not None]
    heat = first.heat and replace(
        first.heat,
        passages=np.mean([heat.passages for heat in heats], axis=0),
        waited=np.mean([heat.waited for heat in heats], axis=0),
        marks=[mark for mark in first.heat.marks if mark.kind != "stuck"],
    )
    about = {key: text for key, text in first.about.items() if all(run.about.get(key) == text for run in runs)}
    return replace(first, states=states, heat=heat, about=about)


def _of_seeds(row: Row) -> str:
    """Return one figure as a tile: its mean large, the least and the most below it."""
    values, digits = [value for value in row.values if value is not None], row.figure.digits
    if not values:
        return ""
    return _tile(row.figure, float(np.mean(values)), f"{number(min(values), digits)} to {number(max(values), digits)}")


def _seeds_line(row: Row) -> list[str]:
    figure, values = row.figure, [value for value in row.values if value is not None]
    spread = spread_of(values)
    assert spread is not None
    digits = figure.digits if max(values) == min(values) or figure.digits else 1
    half = f" ± {number(spread.half_width, digits)}" if spread.half_width is not None else ""
    least, most = number(min(values), figure.digits), number(max(values), figure.digits)
    return [
        escape(figure.name),
        f"{number(spread.mean, digits)}{half}",
        least,
        most,
        escape(figure.unit),
        str(len(values)),
    ]


def whole_page(title: str, parts: Sequence[str], footer: str) -> str:
    """Return an HTML page of `parts` with its style and script within it; `title` and `footer` are escaped."""
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{CSS}</style></head>"
        f"<body><main>{''.join(parts)}<footer>{escape(footer)}</footer></main><script>{SCRIPT}</script>"
        "</body></html>\n"
    )


def _names(runs: Sequence[Run]) -> list[str]:
    """Return the titles of the runs, told apart where they are equal."""
    names = [run.title or "run" for run in runs]
    return (
        [f"{name} ({letter})" for name, letter in zip(names, "AB", strict=False)]
        if len(set(names)) < len(names)
        else names
    )


def _about(runs: Sequence[Run], names: Sequence[str]) -> str:
    """Return a line about each run: how many robots for how long."""
    lines = []
    # `strict=False`: there are two colors, and one run or two.
    for run, name, color in zip(runs, names, plots.RUNS, strict=False):
        robots, seconds = run.figures.get("robots"), run.figures.get("simulated_s")
        said = f"{number(robots)} robots for {number(seconds)} s of simulated time"
        lines.append((f"{name}: {said}" if len(runs) > 1 else said, color))
    return legend(lines) if len(runs) > 1 else f"<p>{escape(lines[0][0])}</p>"


def table_of(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table of cells, which are HTML."""
    heads = "".join(f"<th>{cell}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>'


def card(heading: str, text: str, content: str) -> str:
    """Return a part of a page: a heading and a text, which are escaped, and HTML."""
    return (
        f'<section class="card"><h2>{escape(heading)}</h2>{f"<p>{escape(text)}</p>" if text else ""}{content}</section>'
    )


def _states(runs: Sequence[Run], names: Sequence[str]) -> str:
    """Return the card of what robots did over time; "" where no run has that."""
    shown = [(run, name) for run, name in zip(runs, names, strict=True) if run.states]
    if not shown:
        return ""
    peak = max(_most_robots(run) for run, _ in shown)
    # One scale for both runs, or they could not be compared by eye.
    end = max(float(run.times[-1]) if len(run.times) else 1.0 for run, _ in shown)
    states = list(dict.fromkeys(state for run, _ in shown for state in run.states))
    width = plots.WIDE if len(shown) == 1 else plots.NARROW
    drawn = "".join(
        f"<div>{_subheading(name, shown)}{plots.states(run, peak, end, width)}</div>" for run, name in shown
    )
    key = legend((state.replace("_", " "), color) for state, color in plots.colors_of(states).items())
    content = f'{key}<div class="inner">{drawn}</div>' if len(shown) > 1 else key + drawn
    return card("What robots did", "Robots in each state, over simulated time.", content)


def _most_robots(run: Run) -> float:
    total, before, most = sum(run.states.values()), 0.0, 1.0
    # Sums are robot-seconds; divided by the length of a stretch they are robots.
    for time, sum_ in zip(run.times.tolist(), total.tolist() if not isinstance(total, int) else [], strict=False):
        most = max(most, sum_ / (time - before) if time > before else 0.0)
        before = time
    # A little less, so that rounding does not add a step to the axis.
    return most * (1.0 - 1e-9)


def _subheading(name: str, among: Sequence[object]) -> str:
    return f"<h4>{escape(name)}</h4>" if len(among) > 1 else ""


def _levels(runs: Sequence[Run], has: Callable[..., bool], draw: Callable[[str, str], str]) -> str:
    """Return what changes over time of which the runs have some: `any` of them, or `all`."""
    return _pair(
        card(heading, text, draw(key, what))
        for key, (heading, text, what) in LEVELS.items()
        if has(key in run.levels for run in runs)
    )


def _pair(cards: Iterable[str]) -> str:
    content = "".join(cards)
    return f'<div class="pair">{content}</div>' if content else ""


def _heat(runs: Sequence[Run], names: Sequence[str]) -> str:
    """Return the maps of passages and of waiting, with one scale for both runs."""
    shown = [(run, name) for run, name in zip(runs, names, strict=True) if run.heat is not None and len(run.times)]
    if not shown:
        return ""
    cards = []
    for ramp, heading, text, unit in (
        ("passages", "Where robots drove", "Passages of robots over each square, per hour.", "per hour"),
        ("waited", "Where robots waited", "Robots that stand on a square on their way, on average.", "robots"),
    ):
        maps = []
        for run, _ in shown:
            assert run.heat is not None
            # Per hour, as runs of different lengths are compared.
            hours = float(run.times[-1]) / 3600.0
            maps.append(run.heat.passages / hours if ramp == "passages" else run.heat.waited / (hours * 3600.0))
        peak = peak_of(maps)
        drawn = "".join(
            f"<div>{_subheading(name, shown)}"
            + _chart(
                picture(values, run.heat.free_mask, peak, ramp), values.shape, run.heat.marks, f"{heading}: {name}"
            )
            + "</div>"
            for (run, name), values in zip(shown, maps, strict=True)
            if run.heat is not None
        )
        most = f"{number(peak, 2 if peak < 10 else 0)} {unit} and more"
        scale = f'<div class="ramp">0<i style="background:{gradient(ramp)}"></i>{most}</div>'
        cards.append(card(heading, text, f'<div class="inner">{drawn}</div>{scale}'))
    # Wide buildings get the whole width; for others two maps fit beside each other.
    # Much wider than tall, as halls are.
    wide = any(
        run.heat is not None and run.heat.free_mask.shape[1] > 1.6 * run.heat.free_mask.shape[0] for run, _ in shown
    )
    return "".join(cards) if wide or len(shown) > 1 else f'<div class="pair">{"".join(cards)}</div>'


def _chart(picture: str, shape: tuple[int, ...], marks: Sequence[RunMark], label: str) -> str:
    """Return a map of `shape` squares with the names of stations that can be read, and those of robots that are stuck.

    A name that would be drawn over another one is left to the tip of its dot, and so are those of large families.
    """
    height, width = shape
    size = max(width, height) / 70.0
    families = Counter(name.rstrip(DIGITS) for name, _, _, _ in marks)
    dots, texts, taken = [], [], list[tuple[float, float, float]]()
    for name, kind, x, y in sorted(marks, key=lambda mark: mark.kind != "stuck"):
        is_one_of_many = kind != "stuck" and families[name.rstrip(DIGITS)] > FEW
        radius = (0.12 if is_one_of_many else 0.3) * size
        title = f"<title>{escape(name)}</title>"
        dots.append(f'<circle class="{escape(kind)}" cx="{x}" cy="{y}" r="{radius:.2f}">{title}</circle>')
        length = 0.6 * size * len(name)
        # To the left of its dot where there is no room on the other side.
        left = x + 0.5 * size if x + 0.5 * size + length < width else x - 0.5 * size - length
        if not is_one_of_many and all(
            left > end or begin > left + length or abs(y - line) > size for begin, end, line in taken
        ):
            taken.append((left, left + length, y))
            style = f'style="font-size:{size:.2f}px"'
            texts.append(f'<text x="{left:.2f}" y="{y + 0.35 * size:.2f}" {style}>{escape(name)}</text>')
    return (
        f'<svg class="map" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(label)}">'
        f'<image width="{width}" height="{height}" href="{picture}"/>{"".join(dots + texts)}</svg>'
    )


def _tables(runs: Sequence[Run], names: Sequence[str]) -> str:
    """Return the tables of the runs; long ones are shown when they are opened."""
    cards = []
    for heading in dict.fromkeys(table.heading for run in runs for table in run.tables):
        shown = [(table, name) for run, name in zip(runs, names, strict=True) for table in run.tables]
        parts = []
        for table, name in shown:
            if table.heading != heading:
                continue
            content = table_of(map(escape, table.columns), (map(_cell, row) for row in table.rows))
            if len(table.rows) > LONG:
                content = f"<details><summary>{number(len(table.rows))} rows</summary>{content}</details>"
            parts.append(_subheading(name, runs) + content)
        cards.append(card(heading, "", "".join(parts)))
    return "".join(cards)


def _cell(value: str | float | None) -> str:
    if isinstance(value, str):
        return escape(value)
    return NONE if value is None else number(value, 0 if float(value).is_integer() else 1)


def _lateness(runs: Sequence[Run], names: Sequence[str]) -> list[str]:
    """Return the card of when orders were done; none where no run has due times."""
    if not any("past_due_s" in run.quantiles for run in runs):
        return []
    text = "The share of orders done so long after their due time; those left of 0 were in time."
    return [card("When orders were done", text, plots.histogram(runs, names, "past_due_s", "s"))]


def _distributions(runs: Sequence[Run], has: Callable[..., bool], draw: Callable[[str, str], str]) -> list[str]:
    """Return the cards of distributions that the runs have: `any` of them, or `all`."""
    return [
        card(heading, text, draw(key, unit))
        for key, (heading, text, unit) in DISTRIBUTIONS.items()
        if has(key in run.quantiles for run in runs)
    ]


def _origin(text: str) -> str:
    """Return how a run was made as HTML; what has several lines is shown when it is opened."""
    if "\n" not in text:
        return escape(text)
    return f"<details><summary>{number(text.count(chr(10)))} lines</summary><pre>{escape(text)}</pre></details>"


def _origins(runs: Sequence[Run], names: Sequence[str]) -> str:
    """Return how each run was made."""
    keys = list(dict.fromkeys(key for run in runs for key in run.about))
    if not keys:
        return ""
    rows = ([escape(key), *(_origin(run.about.get(key, NONE)) for run in runs)] for key in keys)
    return card("How it was run", "", table_of(("", *map(escape, names)), rows))

"""The page of a report: HTML that needs nothing beside itself."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from fleet_sim.errors import InvalidValueError
from fleet_sim.reports import heat_maps, plots
from fleet_sim.reports.comparison import figures_table, tiles
from fleet_sim.reports.scales import NONE, number
from fleet_sim.reports.style import CSS, SCRIPT
from fleet_sim.reports.svg import legend
from fleet_sim.traffic.figures import Run

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

LEVELS = {
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
        tiles(runs, names),
        card("Throughput", "Tasks done per hour, over simulated time.", plots.throughput(runs, names)),
        _orders(runs, names),
        _states(runs, names),
        _heat(runs, names),
        _distributions(runs, names),
        card("All figures", "", figures_table(runs, names)),
        _origins(runs, names),
    ]
    return whole_page(" and ".join(names), parts, "Made by fleet-sim report.")


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
    width = plots.WIDE if len(shown) == 1 else 540
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


def _orders(runs: Sequence[Run], names: Sequence[str]) -> str:
    """Return how orders piled up over time."""
    cards = [
        card(heading, text, plots.level(runs, names, key, what))
        for key, (heading, text, what) in LEVELS.items()
        if any(key in run.levels for run in runs)
    ]
    return f'<div class="pair">{"".join(cards)}</div>' if cards else ""


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
        peak = heat_maps.peak_of(maps)
        drawn = "".join(
            f'<div>{_subheading(name, shown)}<img class="map" alt="{escape(heading)}: {escape(name)}"'
            f' src="{heat_maps.picture(values, run.heat.free_mask, peak, ramp)}"></div>'
            for (run, name), values in zip(shown, maps, strict=True)
            if run.heat is not None
        )
        most = f"{number(peak, 2 if peak < 10 else 0)} {unit} and more"
        scale = f'<div class="ramp">0<i style="background:{heat_maps.gradient(ramp)}"></i>{most}</div>'
        cards.append(card(heading, text, f'<div class="inner">{drawn}</div>{scale}'))
    # Wide buildings get the whole width; for others two maps fit beside each other.
    # Much wider than tall, as halls are.
    wide = any(
        run.heat is not None and run.heat.free_mask.shape[1] > 1.6 * run.heat.free_mask.shape[0] for run, _ in shown
    )
    return "".join(cards) if wide or len(shown) > 1 else f'<div class="pair">{"".join(cards)}</div>'


def _distributions(runs: Sequence[Run], names: Sequence[str]) -> str:
    """Return the cards of distributions that any run has; "" where none has one."""
    cards = [
        card(heading, text, plots.distribution(runs, names, key, unit))
        for key, (heading, text, unit) in DISTRIBUTIONS.items()
        if any(key in run.quantiles for run in runs)
    ]
    if any("past_due_s" in run.quantiles for run in runs):
        text = "The share of orders done so long after their due time; those left of 0 were in time."
        cards.insert(0, card("When orders were done", text, plots.histogram(runs, names, "past_due_s", "s")))
    return f'<div class="pair">{"".join(cards)}</div>' if cards else ""


def _origins(runs: Sequence[Run], names: Sequence[str]) -> str:
    """Return how each run was made."""
    keys = list(dict.fromkeys(key for run in runs for key in run.about))
    if not keys:
        return ""
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    rows = "".join(
        f"<tr><td>{escape(key)}</td>"
        + "".join(f"<td>{escape(run.about.get(key, NONE))}</td>" for run in runs)
        + "</tr>"
        for key in keys
    )
    return card(
        "How it was run",
        "",
        f'<div class="scroll"><table><thead><tr><th></th>{head}</tr></thead><tbody>{rows}</tbody></table></div>',
    )

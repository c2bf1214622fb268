"""What people read of a lab: the sequence chart of a case, a text for an issue tracker, and the page of a night."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from fleet_sim.apps.cli.summary import counted
from fleet_sim.apps.lab.bus import MANAGER, Message
from fleet_sim.apps.lab.run import Note, Outcome, described
from fleet_sim.apps.reports.page import card, table_of, whole_page

MOST_LINES = 250
"""In a chart: of longer runs, the last ones, and all that was disturbed."""
ROW, LEFT, COLUMN, TOP = 22, 80, 170, 46
COLORS = {"order": "#2563eb", "instantActions": "#7c3aed", "state": "#64748b", "connection": "#0d9488"}
BAD, ODD = "#dc2626", "#d97706"


class Line(NamedTuple):
    """A line of a chart: a message from one column to another one, or a note in a column."""

    at: float
    text: str
    begin: str
    end: str = ""
    fate: str = ""
    color: str = "#64748b"


def lines_of(outcome: Outcome) -> list[Line]:
    """Return what happened, in order: messages but for states that say nothing new, and everything else."""
    found: list[Line] = []
    told: dict[str, str] = {}
    for message in outcome.messages:
        line = _line(message, told)
        if line is not None:
            found.append(line)
    for note in outcome.notes:
        color = BAD if note.what in ("failure", "kill") else ODD if note.what == "disturbed" else "#111827"
        found.append(Line(note.at, note.text.splitlines()[0], _column(note), color=color))
    found.sort(key=lambda line: line.at)
    if len(found) > MOST_LINES:
        begin = len(found) - MOST_LINES
        found = [line for line in found[:begin] if line.color in (BAD, ODD)] + found[begin:]
    return found


def _column(note: Note) -> str:
    return note.who if note.who and note.who != "broker" else MANAGER


def _line(message: Message, told: dict[str, str]) -> Line | None:
    """Return a message as a line; None for a state that says what the one before it said, and came well."""
    to_vehicle = message.sender == MANAGER or (message.sender == "stranger" and message.topic == "order")
    ends = (MANAGER, message.vehicle or MANAGER) if to_vehicle else (message.vehicle, MANAGER)
    try:
        values = json.loads(message.text)
    except (ValueError, RecursionError):
        values = None
    text = summary_of(message.topic, values) if isinstance(values, dict) else f"{message.topic}: no message"
    if message.topic in ("factsheet", "visualization"):
        return None
    if message.topic == "state" and message.sender == message.vehicle:
        same = told.get(message.vehicle) == text
        told[message.vehicle] = text
        if same and not message.fate:
            return None
    fate = message.fate
    if not fate and message.came and message.came[0] - message.at > 0.35:
        fate = "late"
    return Line(message.at, text, *ends, fate, COLORS.get(message.topic, "#64748b"))


def summary_of(topic: str, values: Mapping[str, Any]) -> str:
    """Return a message in a few words."""
    try:
        if "command" in values:
            return str(values["command"])
        if topic == "order":
            return f"order {values['orderId']} update {values['orderUpdateId']}: {_way(values['nodes'])}"
        if topic == "instantActions":
            return ", ".join(f"{action['actionType']} {action['actionId']}" for action in values["actions"])
        if topic == "connection":
            return str(values["connectionState"])
        if topic == "state":
            ended = [f"{one['actionType']} {one['actionStatus'].lower()}" for one in values["actionStates"][-2:]]
            errors = [error["errorType"] for error in values["errors"]]
            at = f"at {values['lastNodeId']}" if values["lastNodeId"] else ""
            order = f"{values['orderId'] or 'no order'}/{values['orderUpdateId']}"
            return ", ".join(part for part in (order, at, *ended, *errors) if part)
    except (KeyError, TypeError):
        pass
    return topic


def _way(nodes: Sequence[Mapping[str, Any]]) -> str:
    base = [str(node["nodeId"]) for node in nodes if node["released"]]
    ahead = [str(node["nodeId"]) for node in nodes if not node["released"]]
    return " ".join(base) + (f" ({' '.join(ahead[:1] + ['...'] * (len(ahead) > 1))})" if ahead else "")


def chart_of(outcome: Outcome) -> str:
    """Return a sequence chart as SVG: a column for the manager and for each vehicle, time downwards."""
    lines = lines_of(outcome)
    columns = [MANAGER, *outcome.case.vehicles]
    x = {name: LEFT + COLUMN // 2 + index * COLUMN for index, name in enumerate(columns)}
    width, height = LEFT + COLUMN * len(columns) + 420, TOP + ROW * (len(lines) + 1)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        ' font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="white"/><defs><marker id="tip"'
        ' viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto-start-reverse">'
        '<path d="M0 0L8 4L0 8z" fill="context-stroke"/></marker></defs>'
    ]
    for name in columns:
        parts.append(f'<text x="{x[name]}" y="18" text-anchor="middle" font-weight="bold">{escape(name)}</text>')
        parts.append(f'<line x1="{x[name]}" y1="26" x2="{x[name]}" y2="{height}" stroke="#cbd5e1"/>')
    for index, line in enumerate(lines):
        parts += _drawn(line, TOP + ROW * index, x, width)
    return "".join(parts) + "</svg>"


def _drawn(line: Line, y: int, x: Mapping[str, int], width: int) -> list[str]:
    begin, end = x.get(line.begin, x[MANAGER]), x.get(line.end)
    parts = [f'<text x="4" y="{y + 4}" style="fill:#475569">{line.at:.1f} s</text>']
    label, color = line.text[:110], line.color
    if end is None or end == begin:
        weight = ' font-weight="bold"' if color in (BAD, ODD) else ""
        parts.append(f'<circle cx="{begin}" cy="{y}" r="4" fill="{color}"/>')
        parts.append(f'<text x="{begin + 9}" y="{y + 4}" style="fill:{color}"{weight}>{escape(label)}</text>')
        return parts
    lost = line.fate in ("lost", "no connection", "nobody listens")
    dash = ' stroke-dasharray="4 3"' if line.fate else ""
    stop = begin + (end - begin) * (0.6 if lost else 1.0)
    tip = "" if lost else ' marker-end="url(#tip)"'
    parts.append(f'<line x1="{begin}" y1="{y}" x2="{stop:g}" y2="{y}" stroke="{color}" stroke-width="1.4"{dash}{tip}/>')
    if lost:
        parts.append(
            f'<text x="{stop:g}" y="{y + 5}" text-anchor="middle" style="fill:{BAD}" font-size="15">&#215;</text>'
        )
    fate = f' <tspan style="fill:{BAD}">{escape(line.fate)}</tspan>' if line.fate else ""
    parts.append(f'<text x="{max(begin, end) + 8}" y="{y + 4}" style="fill:{color}">{escape(label)}{fate}</text>')
    return parts


def case_page(outcome: Outcome, command: str, came: str = "") -> str:
    """Return the page of a case: what broke, what it needs, and the chart."""
    failure, case = outcome.failure, outcome.case
    title = "Nothing broke" if failure is None else failure.sentence
    said = (
        ""
        if failure is None
        else f"<p><b>{escape(failure.cause)}</b>, at {failure.at:.1f} s</p><pre>{escape(failure.text)}</pre>"
    )
    rows = [[f"{event['at']:.1f}", described(event)] for event in case.events]
    orders = [[f"{one['at']:.1f}", one["id"], one["from"], one["to"], _cell(one["cancel"])] for one in case.orders]
    about = f"<p>{escape(came)}</p>" if came else ""
    parts = [
        card("What broke", title, said + about + f"<p>Replay it: <code>{escape(command)}</code></p>"),
        card("What was disturbed", _size(len(rows), len(case.vehicles)), _table(["s", "event"], rows)),
        card("Orders", "", _table(["s", "order", "from", "to", "taken back, s"], orders)),
        card(
            "Who sent what",
            "Dashed: disturbed. Cross: it never came. States that say nothing new are left out.",
            f'<div class="scroll">{chart_of(outcome)}</div>',
        ),
    ]
    return _page(title, parts)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return table_of([escape(cell) for cell in head], [[escape(cell) for cell in row] for row in rows])


def _cell(value: object) -> str:
    return "" if value is None else str(value)


def issue_text(outcome: Outcome, command: str, came: str = "") -> str:
    """Return a text that can be put into an issue tracker."""
    failure, case = outcome.failure, outcome.case
    head = "Nothing broke" if failure is None else f"{failure.sentence.rstrip('.')}: {failure.cause}"
    lines = [f"# {head}", ""]
    if failure is not None:
        lines += [f"At {failure.at:.1f} s: {failure.text}", ""]
    lines += [f"{counted(len(case.vehicles), 'vehicle')} ({', '.join(case.vehicles)}), orders:", ""]
    for one in case.orders:
        back = f", taken back at {one['cancel']} s" if one["cancel"] is not None else ""
        lines.append(f"- {one['at']} s: {one['id']}, from {one['from']} to {one['to']}{back}")
    lines += ["", "What went wrong on purpose:", ""]
    lines += [f"- {event['at']} s: {described(event)}" for event in case.events] or ["- nothing"]
    lines += ["", "The last messages:", "", "```"]
    for line in lines_of(outcome)[-25:]:
        arrow = f"{line.begin} -> {line.end}" if line.end else line.begin
        lines.append(f"{line.at:8.1f}  {arrow:<18} {line.text}{f' [{line.fate}]' if line.fate else ''}")
    lines += ["```", "", f"Replay: `{command}`", *([came] if came else []), ""]
    return "\n".join(lines)


class Group(NamedTuple):
    """Failures of one cause: how often it was seen, and the smallest case."""

    oracle: str
    cause: str
    sentence: str
    seen: int
    first: int
    file: str
    events: int
    vehicles: int
    came: str


def night_page(
    figures: Mapping[str, str], groups: Sequence[Group], states: Mapping[str, int], moves: Mapping[str, int]
) -> str:
    """Return the page of many runs."""
    rows = [[group.sentence, group.cause, str(group.seen), str(group.first), *_case(group)] for group in groups]
    head = ["sentence", "cause", "seen", "first run", "smallest case", "came back", "file"]
    told = "Nothing broke." if not groups else f"{counted(len(groups), 'cause')}, the most frequent first."
    parts = [
        card("Runs", "", _table(["", ""], list(figures.items()))),
        card("What broke", told, _table(head, rows) if rows else ""),
        card("States of vehicles", f"{len(states)} reached", _counts(states)),
        card("Changes of state", f"{len(moves)} reached", _counts(moves)),
    ]
    return _page(f"{figures['runs']} runs", parts)


def _case(group: Group) -> tuple[str, str, str]:
    return _size(group.events, group.vehicles) if group.file else "", group.came, group.file


def _page(title: str, parts: Sequence[str]) -> str:
    header = f'<header><div class="brand">fleet_sim lab</div><h1>{escape(title)}</h1></header>'
    return whole_page(f"Crash lab: {title}", [header, *parts], "fleet-sim lab")


def _size(events: int, vehicles: int) -> str:
    return f"{counted(events, 'event')}, {counted(vehicles, 'vehicle')}"


def _counts(counts: Mapping[str, int]) -> str:
    most = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:300]
    return _table(["", "times"], [[name, str(number)] for name, number in most])

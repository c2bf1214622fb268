"""Orders from files: CSV with a line per order, and tasks of the League of Robot Runners."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.errors import ConfigError, did_you_mean
from fleet_sim.orders.order import Order
from fleet_sim.settings import read
from fleet_sim.settings.fields import fields_of
from fleet_sim.sites.formats.robot_runners import read_tasks
from fleet_sim.sites.formats.site_format import fail, read_text
from fleet_sim.sites.grid import Grid

SEPARATOR = "|"
_POINT = re.compile(r"\(\s*(\S+)\s+(\S+)\s*\)")
_TEXTS = ("id", "pick", "drop")
_MOST_COLUMNS = 100


def read_orders(path: Path) -> Iterator[tuple[str, Order]]:
    """Yield the orders in `path` with their places in it, such as "line 3"; raises ConfigError naming file and line.

    The first line has the names of settings; empty fields keep the defaults. `stops` are separated by `|`, and points
    are written as `(x y)`. `lines` are written as `sku:items`, separated by `|`.
    """
    lines = csv.reader(read_text(path).splitlines(), strict=True)
    try:
        header = [name.strip() for name in next(lines, [])]
        _check_header(path, header)
        for values in lines:
            # A line of nothing, as editors leave at the end.
            if not any(value.strip() for value in values):
                continue
            where = f"line {lines.line_num}"
            if len(values) != len(header):
                fail(path, f"has {len(values)} fields, the first line names {len(header)}", where)
            given = {name: value.strip() for name, value in zip(header, values, strict=True) if value.strip()}
            entry = {name: _value(path, name, text, where) for name, text in given.items()}
            yield where, read(Order, entry, source=str(path), path=where)
    except csv.Error as error:
        raise ConfigError(f"is not valid CSV: {error}", source=str(path), path=f"line {lines.line_num}") from error


def _check_header(path: Path, header: list[str]) -> None:
    """Raise ConfigError for columns that are no settings of orders, or are there twice."""
    if not header or len(header) > _MOST_COLUMNS:
        fail(path, "the first line must have the names of settings of orders, such as id,pick,drop", "line 1")
    known = fields_of(Order)
    for name in header:
        if name not in known:
            fail(path, f"unknown column {name!r}.{did_you_mean(name, known)}", "line 1")
    if len(set(header)) < len(header):
        fail(path, f"two columns have the same name: {', '.join(header)}", "line 1")


def _value(path: Path, name: str, text: str, where: str) -> Any:
    """Return the value of one cell of the column `name`; raises ConfigError that names line and column."""
    if name == "stops":
        return [_place(stop.strip()) for stop in text.split(SEPARATOR)]
    if name == "lines":
        return [_line(path, item.strip(), f"{where}.{name}") for item in text.split(SEPARATOR)]
    if name in _TEXTS:
        return text if name == "id" else _place(text)
    try:
        return int(text) if name == "priority" else float(text)
    except ValueError:
        fail(path, f"must be a number, got {text[:60]!r}", f"{where}.{name}")


def _line(path: Path, text: str, where: str) -> tuple[str, int]:
    sku, _, count = text.rpartition(":")
    if not sku or not count.strip().isdecimal():
        fail(path, f"must be skus with numbers of items, such as sku_1:2|sku_7:1, got {text[:60]!r}", where)
    return sku.strip(), int(count)


def _place(text: str) -> object:
    """Return a point [x, y] in m, or the text as the name of a station."""
    point = _POINT.fullmatch(text)
    if point is None:
        return text
    try:
        return [float(number) for number in point.groups()]
    except ValueError:
        # No point, so the name of a station; where there is none, the order is refused with that.
        return text


def read_task_orders(path: Path, grid: Grid) -> Iterator[tuple[str, Order]]:
    """Yield the tasks of the problem in `path` as orders "task_0" and on, with their places, such as "task 0".

    Their stops are the middles of the cells of `grid`; there is no service time, as in the League. A cell that comes
    twice in a row is one stop. Raises ConfigError, also for tasks of one cell, which take nothing anywhere.
    """
    for number, cells in enumerate(read_tasks(path, grid)):
        stops = [cell for cell, _ in groupby(cells)]
        if len(stops) < 2:
            fail(path, f"task {number} goes to one cell only; an order goes from one to another")
        points = grid.positions(np.array(stops)).tolist()
        order = Order(
            id=f"task_{number}",
            stops=tuple((x, y) for x, y in points),
            pick_time=0.0,
            stop_time=0.0,
            drop_time=0.0,
        )
        yield f"task {number}", order

"""Orders from the tasks of a problem of the League of Robot Runners: errands from cell to cell."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import numpy as np

from fleet_sim.orders.order import Order
from fleet_sim.sites.formats.robot_runners import read_tasks
from fleet_sim.sites.formats.site_format import fail
from fleet_sim.sites.grid import Grid


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

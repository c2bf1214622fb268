"""Small networks and plans made by hand, and a simulation of nothing but the graph and the law."""

from __future__ import annotations

from typing import get_type_hints

import numpy as np

from fleet_sim.base.arrays import Floats, Ints
from fleet_sim.warehouse.traffic.columns import TrafficColumns
from fleet_sim.warehouse.traffic.dependency_graph import ActionDependencyGraph, marks_of, tracks_of
from fleet_sim.warehouse.traffic.driving import NO_STAYS, Drivers, Limits, Plans, Roads, advance, stride_of, trace_of
from fleet_sim.warehouse.traffic.network import Network


def lattice(width: int, height: int) -> Network:
    """Nodes 1 m apart; node `y * width + x`."""
    nodes = np.arange(width * height)
    x, y = nodes % width, nodes // width
    columns = [
        np.where((x + dx >= 0) & (x + dx < width) & (y + dy >= 0) & (y + dy < height), nodes + dx + dy * width, -1)
        for dx, dy in ((1, 0), (0, 1), (-1, 0), (0, -1))
    ]
    return Network(np.stack((x, y), axis=1).astype(float), np.stack(columns, axis=1))


class Runs:
    """Robots of `radius` on a network: the columns, the graph and the law, without a world."""

    def __init__(
        self,
        network: Network,
        starts: Ints,
        *,
        radius: float = 0.3,
        speed: float = 2.0,
        accel: float = 2.0,
        turns: bool = True,
        dt: float = 0.1,
    ) -> None:
        count = len(starts)
        self.dt, self.radius, self.rows = dt, radius, np.arange(count)
        self.tracks = tracks_of(network, 2.0 * radius)
        self.table = table = TrafficColumns(count)
        self.graph = ActionDependencyGraph(self.tracks, count)
        table.present[:] = True
        table.turns[:] = turns
        table.place[:] = network.positions[starts]
        self.graph.place(table, self.rows, self.rows, np.asarray(starts))
        axes = np.full((count, 3), np.inf)
        self.speeds, self.accels = np.full(count, speed), np.full(count, accel)
        self.limits = Limits(self.speeds, axes, self.accels, axes, np.full(count, 2.0), axes, np.full(count, 4.0), axes)
        self.open_mask = np.ones(len(network), bool)
        self.barred = np.zeros(len(network), bool)

    @property
    def drivers(self) -> Drivers:
        return Drivers(*(getattr(self.table, name) for name in get_type_hints(Drivers)))

    def append(self, paths: Ints, rows: Ints | None = None) -> None:
        self.graph.append(self.table, self.rows, self.rows if rows is None else rows, np.asarray(paths))

    def step(self) -> Floats:
        """Make a step; return the places (N, 2)."""
        advance(
            self.rows,
            self.dt,
            Roads(self.tracks, self.open_mask, self.barred),
            Plans(marks_of(self.table), self.graph.ways, self.graph.uses, self.graph.rounds),
            self.drivers,
            self.limits,
            NO_STAYS,
            0,
            stride_of(len(self.rows)),
            trace_of(self.rows, 1),
        )
        return self.table.place.copy()

    def run(self, steps: int) -> Floats:
        """Return the places (steps, N, 2)."""
        return np.array([self.step() for _ in range(steps)])

    def nodes(self) -> list[int]:
        """Where the robots stand or were last."""
        return self.graph.ways.nodes[self.rows, self.table.at[self.rows]].tolist()


def closest(places: Floats) -> float:
    """Return the least distance of two robots in places (steps, N, 2), by looking at all pairs."""
    gaps = places[:, :, None] - places[:, None]
    squares = (gaps**2).sum(axis=3)
    count = places.shape[1]
    squares[:, np.arange(count), np.arange(count)] = np.inf
    return float(np.sqrt(squares.min()))

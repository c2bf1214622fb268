"""Sizes: robots that take more than one cell of a grid, by nodes of their own that hold the cells which they cover.

A cell belongs to one body at a time, so bodies of all sizes stay apart. A long robot covers other cells along a row
than along a column, and more while it turns. So it has a node in each cell for each direction, from which it drives
straight on, and one at which it turns. Moves between nodes of one cell have no length.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints
from fleet_sim.base.registry import saved
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.robots.attachments import footprint_box, footprint_radius
from fleet_sim.warehouse.sites.grid import Grid
from fleet_sim.warehouse.sites.site import Site
from fleet_sim.warehouse.traffic.columns import EITHER, TrafficColumns
from fleet_sim.world.world import World

TOUCH = 1e-9
"""Bodies and cells that share less than this (in m) only touch."""
ALIGNED = 1e-3
"""How far (rad) a large robot may be turned out of the rows and columns; it is turned into them."""
DIRECTIONS = ((1, 0), (0, 1), (-1, 0), (0, -1))
"""Moves as (columns, rows), in the order of the neighbours of a cell; rows count downwards."""
NO_NODE = -1


@saved
class Kind(NamedTuple):
    """Robots that cover the same cells: half of the `length` and the `width` of the footprint in m, margins included.

    `ways` is how many directions of driving differ: 4, 2 where a robot drives forward and backward alike, 1 where it
    covers the same cells however it is turned, or never turns. `zones` hold for them beside those that hold for all.
    """

    length: float
    width: float
    ways: int
    zones: tuple[str, ...] = ()

    @property
    def radius(self) -> float:
        """Radius in m of the disc that it covers while it turns."""
        return trig.hypot_of(self.length, self.width)


def zones_for(world: World, site: Site, row: int) -> tuple[str, ...]:
    """Return the names of the zones of a site that hold for the robot in `row`, and not for all."""
    name = world.label(row)
    return tuple(zone.name for zone in site.zones if any(fnmatchcase(name, pattern) for pattern in zone.robots))


def kind_of(world: World, table: TrafficColumns, row: int, site: Site, margin: float) -> Kind:
    """Return the kind of the robot in `row`, which keeps `margin` m around it."""
    return _size_of(world, table, row, site.grid, margin)._replace(zones=zones_for(world, site, row))


def _size_of(world: World, table: TrafficColumns, row: int, grid: Grid, margin: float) -> Kind:
    radius = footprint_radius(world, row) + margin
    length, width = (half + margin for half in footprint_box(world, row))
    if not table.turns[row]:
        along = trig.sin_cos_of(float(table.yaw[row]) - grid.origin[2])
        # It keeps its heading, and covers what the box around it does.
        sine, cosine = (abs(part) for part in along)
        return Kind(cosine * length + sine * width, sine * length + cosine * width, 1)
    # Round, or nearly: it covers the same cells whatever its heading.
    if set(_disc(radius, grid.cell)) <= set(_block(length, width, grid.cell)) & set(_block(width, length, grid.cell)):
        return Kind(radius, radius, 1)
    return Kind(length, width, 2 if table.lead[row] == EITHER else 4)


def _reach(half: float, cell: float) -> int:
    """Return over how many cells on each side of its own something of `half` m reaches."""
    return max(math.ceil((half - TOUCH) / cell - 0.5), 0)


def _block(length: float, width: float, cell: float) -> list[tuple[int, int]]:
    """Return the offsets (columns, rows) of the cells under a box that lies along a row."""
    along, across = _reach(length, cell), _reach(width, cell)
    return [(right, down) for down in range(-across, across + 1) for right in range(-along, along + 1)]


def _disc(radius: float, cell: float) -> list[tuple[int, int]]:
    """Return the offsets of the cells under a disc."""
    reach = _reach(radius, cell)
    around = [(right, down) for down in range(-reach, reach + 1) for right in range(-reach, reach + 1)]
    gaps = [[max(abs(part) - 0.5, 0.0) * cell for part in offset] for offset in around]
    return [offset for offset, gap in zip(around, gaps, strict=True) if trig.hypot_of(*gap) < radius - TOUCH]


class Layers(NamedTuple):
    """The nodes of a grid, those of single cells first, then those of each kind.

    `bases` (N,) are the nodes of the cells that they are in, `kinds` (N,) whose they are, by number, -1 for those of
    single cells, `facings` (N,) the directions in rad in which robots stand
    there, nan for any. Node n holds `ids[begins[n] : begins[n + 1]]` beside itself. `own` (cells, ways) are by kind its
    nodes in a cell by direction, NO_NODE where it has no room.
    """

    neighbours: Ints
    bases: Ints
    kinds: Ints
    facings: Floats
    begins: Ints
    ids: Ints
    own: dict[Kind, Ints]


def layers_of(
    grid: Grid,
    cells: Ints,
    neighbours: Ints,
    kinds: tuple[Kind, ...],
    moves_of: Sequence[Ints],
    free_of: Sequence[Bools],
) -> Layers:
    """Return the nodes of `cells` (B,) with `neighbours` (B, 4), and those of `kinds`.

    Each of these has `moves_of` (B, 4), and `free_of` (H, W): the cells that it may cover.
    """
    count = len(cells)
    node_at = np.full((grid.height, grid.width), NO_NODE)
    node_at.ravel()[cells] = np.arange(count)
    rows, columns = np.divmod(cells, grid.width)
    moves, bases, facings, owners = [neighbours], [np.arange(count)], [np.full(count, np.nan)], [np.full(count, -1)]
    held: list[list[int]] = [[] for _ in range(count)]
    own: dict[Kind, Ints] = {}

    def add(offsets: list[tuple[int, int]], facing: float) -> Ints:
        """Add a node for each cell around which the cells at all offsets are free; return their numbers (B,)."""
        around = np.stack([_at(own_at, columns + right, rows + down) for right, down in offsets], axis=1)
        fits = np.flatnonzero((around >= 0).all(axis=1))
        numbers = np.full(count, NO_NODE)
        numbers[fits] = len(held) + np.arange(len(fits))
        bases.append(fits)
        facings.append(np.full(len(fits), facing))
        held.extend(around[fits].tolist())
        return numbers

    for number, kind in enumerate(kinds):
        length, across, ways, _ = kind
        own_at = np.where(free_of[number], node_at, NO_NODE)
        first = len(held)
        along_row, along_column = _block(length, across, grid.cell), _block(across, length, grid.cell)
        # Rows count downwards, angles upwards.
        yaws = [np.nan if ways == 1 else grid.origin[2] - 0.5 * math.pi * way for way in range(ways)]
        straight = [add(along_column if way % 2 else along_row, yaw) for way, yaw in enumerate(yaws)]
        turning = np.full(count, NO_NODE) if ways == 1 else add(_disc(kind.radius, grid.cell), np.nan)
        table = np.full((len(held) - first, len(DIRECTIONS)), NO_NODE)
        around = np.flatnonzero(turning >= 0)
        for way, numbers in enumerate(straight):
            there = np.flatnonzero(numbers >= 0)
            # Along its own direction, or both ways along its own axis.
            for column in range(way, len(DIRECTIONS), ways):
                ends = moves_of[number][there, column]
                table[numbers[there] - first, column] = np.where(ends >= 0, numbers[ends], NO_NODE)
            # Where it has room to turn it has room to stand.
            table[numbers[around] - first, (way + 1) % len(DIRECTIONS)] = turning[around]
            table[turning[around] - first, way] = numbers[around]
        moves.append(table)
        owners.append(np.full(len(table), number))
        own[kind] = np.stack(straight, axis=1)
    begins = np.cumsum([0, *map(len, held)])
    ids = np.array([cell for cells_held in held for cell in cells_held], np.int64)
    whole, places, numbers, yaws_of = (np.concatenate(pieces) for pieces in (moves, bases, owners, facings))
    return Layers(whole, places, numbers, yaws_of, begins, ids, own)


def _at(node_at: Ints, columns: Ints, rows: Ints) -> Ints:
    height, width = node_at.shape
    inside = (columns >= 0) & (columns < width) & (rows >= 0) & (rows < height)
    return np.where(inside, node_at[np.clip(rows, 0, height - 1), np.clip(columns, 0, width - 1)], NO_NODE)


def way_of(yaw: float, grid: Grid) -> tuple[int, float]:
    """Return the number of the direction that is nearest to `yaw` in rad, and how far (rad) it is from that."""
    quarters = (grid.origin[2] - yaw) / (0.5 * math.pi)
    nearest = round(quarters)
    return nearest % len(DIRECTIONS), abs(quarters - nearest) * 0.5 * math.pi

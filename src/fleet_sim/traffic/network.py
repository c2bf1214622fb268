"""Network: the places where robots of some size may stand, and the moves between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import RLock

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints, as_floats
from fleet_sim.errors import InvalidValueError
from fleet_sim.sites.grid import Grid
from fleet_sim.sites.site import Site
from fleet_sim.traffic.claims import Claims, claims_of
from fleet_sim.traffic.guidance import entry_costs
from fleet_sim.traffic.rules import Rules
from fleet_sim.traffic.sight import Sight
from fleet_sim.traffic.steps import Steps
from fleet_sim.traffic.tables import DistanceTables, Links, flood

NO_NODE = -1
STRAIGHT = 4
"""Of the steps on a grid those along rows and columns; diagonal ones would take longer than a step."""
TOUCH = 1e-9


@dataclass(frozen=True, eq=False)
class Network:
    """Nodes at `positions` (N, 2) m; `neighbours` (N, K), -1 padded, are the nodes that one move leads to.

    Moves are directed, and each takes one step of a plan; waiting is no move. `cells` (N,) are the cells of the site's
    grid that the nodes are in, NO_CELL without a grid. Two robots are never at one node, nor do they swap their nodes;
    what else they must not do at once is in `claims`.
    """

    positions: Floats
    neighbours: Ints
    cells: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    claims: Claims = field(default_factory=Claims)
    grid: Grid | None = None
    reach: float = 0.0
    """How far from a node a point may be that is counted as there, in m, where nodes are not cells of `grid`."""
    lock: RLock = field(init=False, repr=False, default_factory=RLock)
    """Held by who uses the tables: a planner that was given up as late may still be at work in its thread."""
    links: Links = field(init=False, repr=False)
    tables: DistanceTables = field(init=False, repr=False)
    _guided: dict[int, DistanceTables] = field(init=False, repr=False, default_factory=dict)
    _node_of: Ints = field(init=False, repr=False)
    _joined: list[tuple[Bools, Bools, Bools]] = field(init=False, repr=False, default_factory=list)

    def __post_init__(self) -> None:
        # Copies, which are made read-only: planners keep them, and a network never changes.
        positions = as_floats(self.positions, (None, 2), "positions of the nodes").copy()
        count = len(positions)
        neighbours = np.array(self.neighbours, np.int64)
        if neighbours.ndim != 2 or len(neighbours) != count:
            raise InvalidValueError(f"neighbours: expected a row per node ({count}), got shape {neighbours.shape}")
        if neighbours.size and not (neighbours.min() >= NO_NODE and neighbours.max() < count):
            raise InvalidValueError(f"neighbours: nodes are numbered from 0 to {count - 1}, -1 is none")
        if (neighbours == np.arange(count)[:, None]).any():
            raise InvalidValueError("neighbours: a node is not its own neighbour; waiting is always allowed")
        # Without cells, as of a network made by hand.
        cells = np.array(self.cells, np.int64) if len(self.cells) else np.full(count, NO_NODE)
        if cells.shape != (count,):
            raise InvalidValueError(f"cells: expected one per node ({count}), got shape {cells.shape}")
        self.claims.check(count, neighbours.shape[1])
        for name, value in (("positions", positions), ("neighbours", neighbours), ("cells", cells)):
            value.flags.writeable = False
            object.__setattr__(self, name, value)
        # Kernels read these as int32, half as long; the other one is for users.
        object.__setattr__(self, "links", neighbours.astype(np.int32))
        # One entry more, for cells outside of the map: NO_CELL is -1, the last entry.
        node_of = np.full(1 if self.grid is None else self.grid.count + 1, NO_NODE)
        if self.grid is not None:
            node_of[cells] = np.arange(count)
        object.__setattr__(self, "_node_of", node_of)
        object.__setattr__(self, "tables", DistanceTables(self.sources()))

    def __len__(self) -> int:
        return len(self.positions)

    # ---- from sites --------------------------------------------------------------------------------------------------

    @classmethod
    def of_grid(cls, site: Site, radius: float) -> Network:
        """Return the free cells of `site` for robots with a disc of `radius` m, each next to up to four others.

        The disc touches nothing in a cell's middle and between two; no-go and one-way zones are kept. Raises
        InvalidValueError for robots that would touch each other in neighbouring cells, and where nothing is free.
        """
        grid = site.open_grid
        # Two robots on neighbouring cells must not touch.
        if 2.0 * radius > grid.cell * (1.0 + TOUCH):
            raise InvalidValueError(
                f"robots with a radius of {radius:g} m touch each other on cells of {grid.cell:g} m;"
                f" give the site cells of at least {2.0 * radius:g} m"
            )
        steps = Steps(grid, Rules(site), radius)
        cells = steps.grid.free_cells
        if not len(cells):
            raise InvalidValueError(f"site {site.name!r} has no cell with room for a radius of {radius:g} m")
        # Steps have a frame of one cell around the grid, so that no step leads out of the array.
        framed = (cells // grid.width + 1) * steps.width + cells % grid.width + 1
        node_of = np.full(len(steps.clear_mask), NO_NODE)
        node_of[framed] = np.arange(len(cells))
        ends = [framed + offset for offset in steps.offsets[:STRAIGHT]]
        neighbours = [np.where(steps.enters[way][end], node_of[end], NO_NODE) for way, end in enumerate(ends)]
        return cls(grid.positions(cells), np.stack(neighbours, axis=1), cells, grid=grid)

    @classmethod
    def of_roadmap(cls, site: Site, radius: float) -> Network:
        """Return the nodes and lanes of the roadmap of `site` for robots with a disc of `radius` m.

        Lanes on which the disc touches something or that lead against a one-way zone are left out. Raises
        InvalidValueError without a roadmap.
        """
        if site.roadmap is None:
            raise InvalidValueError(f"site {site.name!r} has no roadmap; plan on its grid")
        grid, positions = site.open_grid, site.roadmap.positions
        own = grid.to_own(positions) / grid.cell
        places = np.stack((own[:, 0], grid.height - own[:, 1]), axis=1)
        sight, rules = Sight(~grid.free_mask), Rules(site)
        following: list[list[int]] = [[] for _ in positions]
        for begin, end in site.roadmap.lanes.tolist():
            # Steps and rules count in columns and rows from the upper left corner.
            at, to = tuple(places[begin].tolist()), tuple(places[end].tolist())
            way = (to[0] - at[0], to[1] - at[1])
            fits = sight.is_clear(at, to, max(radius / grid.cell, TOUCH))
            if end not in following[begin] and fits and rules.allows(rules.touched(at, to), way):
                following[begin].append(end)
        width = max(map(len, following), default=0)
        # Ragged lists become an array, with -1 where there is no further lane.
        rows = [ends + [NO_NODE] * (width - len(ends)) for ends in following]
        neighbours = np.array(rows, np.int64).reshape(len(positions), width)
        claims = claims_of(positions, neighbours, 2.0 * radius)
        return cls(positions, neighbours, grid.cells_at(positions), claims, reach=max(radius, 0.5 * grid.cell))

    # ---- look-ups ----------------------------------------------------------------------------------------------------

    def node_at(self, points: Floats) -> Ints:
        """Return the nodes (M,) at `points` (M, 2) m: the cell that holds each, or a node within `reach`; -1: none."""
        places = as_floats(points, (None, 2), "points")
        if self.grid is not None:
            # NO_CELL finds the last entry, which is none.
            return self._node_of[self.grid.cells_at(places)]
        if not len(self):
            return np.full(len(places), NO_NODE)
        # Few nodes are in a roadmap, so all of them are looked at.
        gaps = np.square(places[:, None, :] - self.positions[None, :, :]).sum(axis=2)
        nearest = gaps.argmin(axis=1)
        near_mask = gaps[np.arange(len(places)), nearest] <= self.reach * self.reach + TOUCH
        return np.where(near_mask, nearest, NO_NODE)

    def distances(self, goal: int) -> Ints:
        """Return the steps (N,) from each node to `goal`, -1 from where it cannot be reached."""
        return self.tables.to(goal)

    def reached_from(self, node: int, blocked: Bools) -> Bools:
        """Return the nodes (N,) to which a way leads from `node` that enters none that is `blocked` (N,)."""
        reached_mask = np.empty(len(self), bool)
        flood(self.links, blocked, node, reached_mask, np.empty(len(self), np.int32))
        return reached_mask

    def joined_by(self, hub: int, blocked: Bools) -> tuple[Bools, Bools]:
        """Return the nodes (N,) that lead to `hub`, and those that it leads to, without entering `blocked` ones (N,).

        They are kept as long as the same nodes are blocked, see `joined`. The tables know what is blocked.
        """
        # Leading there is asked of the tables, which count blocked goals as reached.
        found = self.tables.leading_to(hub), self.reached_from(hub, blocked)
        self._joined[:] = [(blocked, *found)]
        return found

    def joined(self, starts: Ints, goals: Ints, blocked: Bools) -> Bools:
        """Return which `starts` (R,) surely lead to `goals` (R,): through the last hub that was asked for."""
        if not self._joined or not np.array_equal(self._joined[0][0], blocked):
            return np.zeros(len(starts), bool)
        _, leading_mask, reached_mask = self._joined[0]
        return np.asarray(leading_mask[starts] & reached_mask[goals])

    def guided_tables(self, against: int) -> DistanceTables:
        """Return tables in which a move against the roads of the grid counts as `against` steps, see `entry_costs`.

        Off a grid all moves count as one.
        """
        if self.grid is None or against == 1:
            return self.tables
        if against not in self._guided:
            sources = self.sources()
            costs = entry_costs(self.cells, self.grid.width, self.links, sources, against)
            self._guided[against] = DistanceTables(sources, costs=costs)
        return self._guided[against]

    def sources(self) -> Links:
        """Return the nodes (N, L) from which each node is entered, ascending, -1 padded."""
        begins, columns = np.nonzero(self.neighbours >= 0)
        ends = self.neighbours[begins, columns]
        # By end and then by begin, so that equal networks give equal tables.
        order = np.lexsort((begins, ends))
        begins, ends = begins[order], ends[order]
        firsts = np.searchsorted(ends, np.arange(len(self)))
        columns = np.arange(len(ends)) - firsts[ends]
        entering = np.full((len(self), int(columns.max(initial=-1)) + 1), NO_NODE, np.int32)
        entering[ends, columns] = begins
        return entering

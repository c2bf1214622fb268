"""Network: the places where robots of some size may stand, their moves, and tables of distances to goals."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from threading import RLock
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from fleet_sim.base.arrays import Bools, Floats, Ints, as_floats
from fleet_sim.base.errors import InvalidValueError, brief
from fleet_sim.base.kernels import compiled
from fleet_sim.warehouse.sites.grid import Grid
from fleet_sim.warehouse.sites.site import Site, Zone, ZoneKind
from fleet_sim.warehouse.traffic.free_space import Rules, Sight
from fleet_sim.warehouse.traffic.free_space import Steps as AcrossSteps
from fleet_sim.warehouse.traffic.policies import Claims, claims_of
from fleet_sim.warehouse.traffic.sizes import Kind, layers_of

# Repairs of distance tables where nodes are blocked or free again: only nodes whose distance changes are looked at.


Links: TypeAlias = npt.NDArray[np.int32]
"""Nodes by number, as kernels read them: half the memory of Ints."""
Steps: TypeAlias = npt.NDArray[np.signedinteger[Any]]
"""Numbers of steps (goals, N), -1 where the goal cannot be reached: int16, or int32 where ways are longer."""
FAR = 1 << 40


def turned(links: Ints | Links, costs: Links | None = None) -> tuple[Links, Links]:
    """Return the nodes (N, L) that have each node among their `links` (N, K), ascending, -1 padded, and these `costs`.

    Of the ends of moves that is where they begin, and the other way round; without `costs` they are 1.
    """
    origins, columns = np.nonzero(links >= 0)
    tos = links[origins, columns]
    # Sorted, those of a node lie together, and equal networks give equal tables; the place among them is the column.
    order = np.lexsort((origins, tos))
    origins, tos, columns = origins[order], tos[order], columns[order]
    places = np.arange(len(tos)) - np.searchsorted(tos, tos)
    shape = len(links), int(places.max(initial=-1)) + 1
    found, found_costs = np.full(shape, -1, np.int32), np.ones(shape, np.int32)
    found[tos, places] = origins
    if costs is not None:
        found_costs[tos, places] = costs[origins, columns]
    return found, found_costs


class Moves(NamedTuple):
    """The moves of a network: `sources` (N, L) and `ends` (N, K) of each node, and what those to `ends` cost (N, K)."""

    sources: Links
    ends: Links
    costs: Links


class RepairScratch(NamedTuple):
    """Nodes that wait in a ring, who waits there, and those that a repair began with, each once."""

    ring: Links
    waits_mask: Bools
    seeds: Links
    seed_mask: Bools


def scratch_of(count: int) -> RepairScratch:
    """Return scratch for a network of `count` nodes."""
    return RepairScratch(
        np.empty(count, np.int32), np.zeros(count, bool), np.empty(count, np.int32), np.zeros(count, bool)
    )


@compiled
def repair_rows(
    moves: Moves, scratch: RepairScratch, blocked: Bools, changed: Ints, steps: Steps, goals: Ints, longest: int
) -> bool:
    """Make the first rows of `steps` (rows, N), those to `goals` (R,), right for `blocked` (N,).

    `changed` are the nodes that are blocked or free other than before. Returns whether no number is over `longest`;
    otherwise rows are wrong.
    """
    for row in range(len(goals)):
        count = _cut(moves, scratch, blocked, changed, steps[row], goals[row])
        if not _mend(moves, scratch, blocked, steps[row], goals[row], count, longest):
            return False
    return True


@compiled
def _best(moves: Moves, blocked: Bools, own: Steps, node: int) -> int:
    """Return the least that a way from `node` costs, as those beside it have it; FAR for none."""
    best = FAR
    for column in range(moves.ends.shape[1]):
        end = moves.ends[node, column]
        if end >= 0 and not blocked[end] and own[end] >= 0:
            best = min(best, np.int64(own[end]) + moves.costs[node, column])
    return best


@compiled
def _cut(moves: Moves, scratch: RepairScratch, blocked: Bools, changed: Ints, own: Steps, goal: int) -> int:
    """Write -1 for nodes all of whose ways led through what is blocked now.

    Returns how many seeds there are: these, and those beside nodes that changed, which may have shorter ways.
    """
    count, first, waiting = 0, 0, 0
    for node in changed:
        for column in range(moves.sources.shape[1]):
            source = moves.sources[node, column]
            if source >= 0 and not scratch.seed_mask[source]:
                count = _sow(scratch, source, count)
                waiting = _wait(scratch, source, first, waiting)
    while waiting > 0:
        node = scratch.ring[first]
        scratch.waits_mask[node] = False
        first, waiting = (first + 1) % len(own), waiting - 1
        # Another way that is as short is left, so the number stays, and those of all that lead here.
        if node == goal or own[node] < 0 or _best(moves, blocked, own, node) <= own[node]:
            continue
        own[node] = -1
        if not scratch.seed_mask[node]:
            count = _sow(scratch, node, count)
        for column in range(moves.sources.shape[1]):
            source = moves.sources[node, column]
            if source >= 0 and not blocked[node] and own[source] >= 0 and not scratch.waits_mask[source]:
                waiting = _wait(scratch, source, first, waiting)
    return count


@compiled
def _mend(
    moves: Moves, scratch: RepairScratch, blocked: Bools, own: Steps, goal: int, count: int, longest: int
) -> bool:
    """Write the least costs of the `count` seeds, and of all for whom that changes it; returns whether they fit."""
    first, waiting = 0, 0
    for number in range(count):
        scratch.seed_mask[scratch.seeds[number]] = False
        waiting = _wait(scratch, scratch.seeds[number], first, waiting)
    while waiting > 0:
        node = scratch.ring[first]
        scratch.waits_mask[node] = False
        first, waiting = (first + 1) % len(own), waiting - 1
        # As Bellman and Ford do: who gets less tells those before it, until nobody gets less. Nobody waits in the ring
        # twice, so it is never too short.
        best = _best(moves, blocked, own, node)
        if node == goal or best >= FAR or 0 <= own[node] <= best:
            continue
        # It does not fit into the type of the table; all of it has to be made anew.
        if best > longest:
            scratch.waits_mask[:] = False
            return False
        own[node] = best
        for column in range(moves.sources.shape[1]):
            source = moves.sources[node, column]
            if source >= 0 and not blocked[node] and not scratch.waits_mask[source]:
                waiting = _wait(scratch, source, first, waiting)
    return True


@compiled
def _sow(scratch: RepairScratch, node: int, count: int) -> int:
    """Add a seed; returns how many there are."""
    scratch.seed_mask[node] = True
    scratch.seeds[count] = node
    return count + 1


@compiled
def _wait(scratch: RepairScratch, node: int, first: int, waiting: int) -> int:
    """Add a node to those that wait; returns how many do."""
    scratch.waits_mask[node] = True
    scratch.ring[(first + waiting) % len(scratch.ring)] = node
    return waiting + 1


# Distance tables: steps from every node of a network to some goals, by breadth-first search.


Words: TypeAlias = npt.NDArray[np.uint64]
"""States of random numbers in kernels."""

MOST_MEMORY = 1_500_000_000
"""Of the tables of one network, in bytes: those of 19,000 goals on 38,600 nodes. Only what is used is taken."""
LONGEST_SHORT = 32_767
LONGEST = 2**31 - 1
RECENT = 32
"""Calls: tables not asked for in so many are made anew when they are, once there are more of them than of others."""
MOST_REPAIRED = 0.05
"""Of all nodes: where more are blocked or free other than before, tables are made anew when they are asked for."""


class DistanceTables:
    """Tables of the goals asked for last, in rows of one array that kernels read.

    `sources` (N, K) has the nodes from which each node is entered, -1 padded. Nodes that are blocked are walked out of,
    never into: they have a distance themselves, but no way leads through them. Barred ones are so for wide robots,
    except as their goals; distances to goal g for wide robots are known by the key N + g, for others by g.
    """

    def __init__(self, sources: Links, most_memory: int = MOST_MEMORY, costs: Links | None = None) -> None:
        """`costs` (N, K) are the steps that moves from `sources` count as: 1, or one other number.

        They count as 1 without.
        """
        self._sources = sources
        self._costs = np.ones_like(sources) if costs is None else costs
        self._even = costs is None
        self._most_memory = most_memory
        self._blocked: Bools = np.zeros(len(sources), bool)
        self._barred: Bools = np.zeros(len(sources), bool)
        # By key: its row, and when it was asked for last; by row: its key.
        self._row_of = np.full(2 * len(sources), -1, np.int64)
        self._asked = np.zeros(2 * len(sources), np.int64)
        self._goal_of = np.empty(0, np.int64)
        self._calls = 0
        # For repairs, made at the first.
        self._moves: Moves | None = None
        self._queues = np.empty((4, len(sources)), np.int32)
        self._full = np.empty(len(sources), np.int32)
        self.steps: Steps = self._empty(np.int16)

    def _empty(self, kind: type[np.signedinteger[Any]]) -> Steps:
        count = len(self._sources)
        # Never more rows than there may be goals; memory is taken when a row is written.
        most = min(max(self._most_memory // (max(count, 1) * np.dtype(kind).itemsize), 1), max(2 * count, 1))
        return np.empty((most, count), kind)

    @property
    def shut(self) -> tuple[Bools, Bools]:
        """The nodes that are blocked, and those that are barred, as given to `block`."""
        return self._blocked.copy(), self._barred.copy()

    def block(self, blocked: Bools, barred: Bools | None = None) -> None:
        """Let these nodes (N,) be blocked from now on, and barred; tables are mended where that changes a distance."""
        given = np.zeros(len(blocked), bool) if barred is None else barred
        changed = np.flatnonzero(blocked != self._blocked)
        rebarred = not np.array_equal(given, self._barred)
        if not len(changed) and not rebarred:
            return
        self._blocked, self._barred = blocked.copy(), given.copy()
        # Repairs know one set of nodes, and wide robots have another.
        wide = rebarred or bool((self._goal_of >= len(blocked)).any())
        if wide or len(changed) > MOST_REPAIRED * len(blocked) or not self._repair(changed):
            self._forget()

    def _repair(self, changed: Ints) -> bool:
        """Mend the tables where `changed` nodes lie on ways; returns whether steps fit the numbers."""
        self._forget_old()
        if not len(self._goal_of):
            return True
        if self._moves is None:
            self._moves = Moves(self._sources, *turned(self._sources, self._costs))
        longest = LONGEST_SHORT if self.steps.dtype == np.int16 else LONGEST
        scratch = scratch_of(len(self._blocked))
        return repair_rows(self._moves, scratch, self._blocked, changed, self.steps, self._goal_of, longest)

    def rows_of(self, goals: Ints, wide: Bools | None = None) -> Ints:
        """Return for each of `goals` (R,) the row of `steps` that has the distances to it, made where it is missing.

        `wide` (R,) are robots that keep off barred nodes. Rows stay valid until the next call. Raises InvalidValueError
        for more goals than memory may be taken for.
        """
        keys = goals if wide is None else goals + len(self._sources) * wide
        self._calls += 1
        self._asked[keys] = self._calls
        missing = np.unique(keys[self._row_of[keys] < 0])
        if len(missing) and not self._add_all(missing):
            # The first way that is too long for small numbers.
            self.steps = self._empty(np.int32)
            self._forget()
            return self.rows_of(goals, wide)
        return self._row_of[keys]

    def leading_to(self, goal: int) -> Bools:
        """Return the nodes (N,) from which a way leads to `goal`; no table is kept for that."""
        spread(self._sources, self._blocked, goal, self._full, self._queues[0])
        return np.asarray(self._full >= 0)

    def _forget_old(self) -> None:
        """Forget the tables that nobody has asked for of late: to mend them all takes longer the longer a run is."""
        recent_mask = self._asked[self._goal_of] > self._calls - RECENT
        kept = np.flatnonzero(recent_mask)
        if 2 * len(kept) >= len(self._goal_of):
            return
        self._row_of[self._goal_of[~recent_mask]] = -1
        self._goal_of = self._goal_of[kept]
        self.steps[: len(kept)] = self.steps[kept]
        self._row_of[self._goal_of] = np.arange(len(kept))

    def _forget(self) -> None:
        self._row_of.fill(-1)
        self._goal_of = np.empty(0, np.int64)

    def to(self, goal: int) -> Ints:
        """Return the steps (N,) from each node to `goal`, -1 from where it cannot be reached."""
        # Before the steps are looked up: it may replace them.
        row = self.rows_of(np.array([goal]))[0]
        return self.steps[row].astype(np.int64)

    def _add_all(self, goals: Ints) -> bool:
        """Make the tables of `goals`, given by keys, in place of those not asked for longest.

        Returns whether the steps fit the numbers.
        """
        used, most = len(self._goal_of), len(self.steps)
        fresh = np.arange(used, min(used + len(goals), most))
        # Those asked for in this call are the last ones.
        oldest = np.argsort(self._asked[self._goal_of], kind="stable")[: len(goals) - len(fresh)]
        kept = int(np.count_nonzero(self._asked[self._goal_of] == self._calls))
        if kept + len(goals) > most:
            raise InvalidValueError(
                f"distances to {kept + len(goals)} goals on {len(self._sources)} nodes take more than"
                f" {self._most_memory / 1e9:g} GB; use fewer robots, or larger cells"
            )
        # Their rows are taken over by new goals.
        self._row_of[self._goal_of[oldest]] = -1
        rows = np.concatenate((fresh, oldest))
        self._goal_of = np.concatenate((self._goal_of, goals[: len(fresh)]))
        shut = self._blocked | self._barred
        for key, row in zip(goals.tolist(), rows.tolist(), strict=True):
            wide, goal = divmod(key, len(self._sources))
            blocked = shut if wide else self._blocked
            shut[goal] = self._blocked[goal]
            if self._even:
                farthest = spread(self._sources, blocked, goal, self._full, self._queues[0])
            else:
                farthest = spread_costs(self._sources, self._costs, blocked, goal, self._full, self._queues)
            shut[goal] |= self._barred[goal]
            # Written up to here, but given up: the caller starts again with wider numbers.
            if farthest > LONGEST_SHORT and self.steps.dtype == np.int16:
                return False
            self.steps[row] = self._full
            self._goal_of[row] = key
            self._row_of[key] = row
        return True


@compiled
def flood(links: Links, blocked: Bools, start: int, reached_mask: Bools, queue: Links) -> None:
    """Write which nodes (N,) can be reached from `start`; `queue` (N,) is scratch."""
    reached_mask[:] = False
    reached_mask[start], queue[0] = True, start
    begin, end = 0, 1
    while begin < end:
        node = queue[begin]
        begin += 1
        for column in range(links.shape[1]):
            other = links[node, column]
            if other >= 0 and not blocked[other] and not reached_mask[other]:
                reached_mask[other], queue[end] = True, other
                end += 1


@compiled
def spread(sources: Links, blocked: Bools, goal: int, steps: Links, queue: Links) -> int:
    """Write the steps (N,) of each node to `goal`, -1 without a way; `queue` (N,) is scratch. Returns the largest."""
    steps[:] = -1
    steps[goal] = 0
    queue[0] = goal
    begin, end = 0, 1
    while begin < end:
        # Breadth first: the first way to a node is a shortest one.
        node = queue[begin]
        begin += 1
        if blocked[node]:
            # A blocked goal can be reached, as somebody may stand on it; from there nobody goes on.
            continue
        for column in range(sources.shape[1]):
            source = sources[node, column]
            if source >= 0 and steps[source] < 0:
                steps[source] = steps[node] + 1
                queue[end] = source
                end += 1
    return int(steps[queue[end - 1]])


@compiled
def spread_costs(sources: Links, costs: Links, blocked: Bools, goal: int, steps: Links, queues: Links) -> int:
    """Do what `spread` does where moves from `sources` count as `costs` (N, K) steps: 1, or one other number.

    Nodes found by moves of one kind come in the order of their steps, so there is a queue for each kind; `queues`
    (4, N) is scratch for nodes and steps of both.
    """
    ones, their_steps, others, other_steps = queues[0], queues[1], queues[2], queues[3]
    steps[:] = -1
    steps[goal], ones[0], their_steps[0] = 0, goal, 0
    begin, end, begin_other, end_other, away = 0, 1, 0, 0, 0
    while begin < end or begin_other < end_other:
        if begin_other == end_other or (begin < end and their_steps[begin] <= other_steps[begin_other]):
            node, away = ones[begin], their_steps[begin]
            begin += 1
        else:
            node, away = others[begin_other], other_steps[begin_other]
            begin_other += 1
        # It may have been found by a shorter way since.
        if away > steps[node] or blocked[node]:
            continue
        for column in range(sources.shape[1]):
            source, further = sources[node, column], away + costs[node, column]
            if source < 0 or 0 <= steps[source] <= further:
                continue
            steps[source] = further
            if costs[node, column] == 1:
                ones[end], their_steps[end] = source, further
                end += 1
            else:
                others[end_other], other_steps[end_other] = source, further
                end_other += 1
    return int(away)


# Guidance: the rows and columns of a grid as one-way roads in turns, which robots prefer to keep to.


ROAD = 0.5
"""Of the moves of the longest row: a row with so many is a road, and turns the direction of those that follow."""


def entry_costs(cells: Ints, width: int, links: Links, sources: Links, against: int) -> Links:
    """Return how many steps (N, L) the moves from `sources` (N, L) count as: 1, or `against` the road that many.

    `cells` (N,) are those of the nodes on a grid of `width` columns. Roads lead one way and the other in turns. What is
    between two, such as the cells between shelves, has the direction of the road before it.
    """
    rows, columns = np.divmod(cells, width)
    ends = np.where(links >= 0, links, np.arange(len(cells))[:, None])
    onward, upward = _in_turns(rows, columns, ends), _in_turns(columns, rows, ends)
    begins = np.where(sources >= 0, sources, np.arange(len(cells))[:, None])
    along, across = columns[:, None] - columns[begins], rows[:, None] - rows[begins]
    wrong_mask = np.where(along != 0, (along > 0) != onward[rows][:, None], (across > 0) != upward[columns][:, None])
    # Moves within a cell have no direction.
    wrong_mask &= (along != 0) | (across != 0)
    return np.where(wrong_mask, against, 1).astype(np.int32)


def _in_turns(lines: Ints, places: Ints, ends: Ints) -> Bools:
    """Return of each line whether it leads to higher places; `lines` and `places` (N,) of nodes, `ends` of moves."""
    moves = np.bincount(lines, weights=(places[ends] != places[:, None]).sum(axis=1))
    return np.asarray(np.cumsum(moves >= ROAD * max(moves.max(initial=0.0), 1.0)) % 2 == 0)


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
    stands: Claims = field(default_factory=Claims)
    """By node: the other nodes that a robot holds while it is at that one, or on the move to it."""
    bases: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    """The node (N,) of the place that each is at: itself, but for nodes of large robots, see `sizes.py`."""
    facings: Floats = field(default_factory=lambda: np.empty(0))
    """The direction (N,) in rad in which robots stand at nodes that others of the same place are joined to; or nan."""
    kinds: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    """The kind of the robots whose nodes (N,) these are, by number; -1: those that take a cell each."""
    own: dict[Kind, Ints] = field(default_factory=dict)
    """The nodes (places, ways) of robots of a kind by direction; -1 where there are none."""
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
        bases = np.array(self.bases) if len(self.bases) else np.arange(count)
        for name, value in (("positions", positions), ("neighbours", neighbours), ("cells", cells), ("bases", bases)):
            value.flags.writeable = False
            object.__setattr__(self, name, value)
        # Kernels read these as int32, half as long; the other one is for users.
        object.__setattr__(self, "links", neighbours.astype(np.int32))
        # One entry more, for cells outside of the map: NO_CELL is -1, the last entry.
        node_of = np.full(1 if self.grid is None else self.grid.count + 1, NO_NODE)
        if self.grid is not None:
            places = np.flatnonzero(bases == np.arange(count))
            node_of[cells[places]] = places
        object.__setattr__(self, "_node_of", node_of)
        object.__setattr__(self, "tables", DistanceTables(self.sources()))

    def __len__(self) -> int:
        return len(self.positions)

    # ---- from sites --------------------------------------------------------------------------------------------------

    @classmethod
    def of_grid(cls, site: Site, radius: float, kinds: tuple[Kind, ...] = ()) -> Network:
        """Return the free cells of `site` for robots with a disc of `radius` m, each next to up to four others.

        The disc touches nothing in a cell's middle and between two; no-go and one-way zones are kept. Robots of `kinds`
        have nodes of their own, which hold all cells that they cover. Raises InvalidValueError for robots that would
        touch each other in neighbouring cells, and where nothing is free.
        """
        # Zones of some robots are in the graphs of these alone.
        whole, special = site, {zone.name: zone for zone in site.zones if zone.robots}
        site = replace(site, zones=tuple(zone for zone in site.zones if not zone.robots))
        grid = site.open_grid
        # Two robots on neighbouring cells must not touch.
        if 2.0 * radius > grid.cell * (1.0 + TOUCH):
            raise InvalidValueError(
                f"robots with a radius of {radius:g} m touch each other on cells of {grid.cell:g} m;"
                f" give the site cells of at least {2.0 * radius:g} m"
            )
        steps = AcrossSteps(grid, Rules(site), radius)
        cells = steps.grid.free_cells
        if not len(cells):
            raise InvalidValueError(f"site {site.name!r} has no cell with room for a radius of {radius:g} m")
        # Steps have a frame of one cell around the grid, so that no step leads out of the array.
        framed = (cells // grid.width + 1) * steps.width + cells % grid.width + 1
        node_of = np.full(len(steps.clear_mask), NO_NODE)
        node_of[framed] = np.arange(len(cells))
        ends = [framed + offset for offset in steps.offsets[:STRAIGHT]]

        def moves(steps: AcrossSteps) -> Ints:
            found = [np.where(steps.enters[way][end], node_of[end], NO_NODE) for way, end in enumerate(ends)]
            return np.stack(found, axis=1)

        neighbours, own, free = moves(steps), list[Ints](), list[Bools]()
        if not kinds:
            return cls(grid.positions(cells), neighbours, cells, grid=grid)
        for kind in kinds:
            theirs = replace(whole, zones=(*site.zones, *(special[name] for name in kind.zones)))
            around = AcrossSteps(theirs.open_grid, Rules(theirs), radius) if kind.zones else steps
            own.append(moves(around))
            free.append(around.grid.free_mask)
        layers = layers_of(grid, cells, neighbours, kinds, own, free)
        stands, cells = Claims(layers.begins, layers.ids), cells[layers.bases]
        return cls(
            grid.positions(cells),
            layers.neighbours,
            cells,
            grid=grid,
            stands=stands,
            bases=layers.bases,
            facings=layers.facings,
            kinds=layers.kinds,
            own=layers.own,
        )

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

    def meeting(self, nodes_mask: Bools) -> Bools:
        """Return the nodes (N,) of `nodes_mask` (N,), and those that share with one of them what robots hold there."""
        if not self.stands:
            return nodes_mask
        owners = np.repeat(np.arange(len(self)), np.diff(self.stands.begins))
        held_mask = nodes_mask.copy()
        held_mask[self.stands.ids[nodes_mask[owners]]] = True
        met_mask = held_mask.copy()
        met_mask[owners[held_mask[self.stands.ids]]] = True
        return met_mask

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
        return turned(self.neighbours)[0]


# Places in a network: stations, nodes and points.


Place: TypeAlias = str | int | tuple[float, ...]
"""The name of a station, the number of a node, or a point (x, y) in m that is at a node; in a building (x, y, z)."""
Area: TypeAlias = tuple[tuple[float, float], ...]
"""The corners ((x, y), ...) of a polygon, at least three, in m."""
ManyPlaces: TypeAlias = Place | Area | list[Place | Area] | Ints
"""A place, an area, or several in a list, or the numbers of nodes in an array; the name of a zone is an area too."""


class Chart(Protocol):
    """The plane of a network: that of a site, or of the floors of a building side by side (`Storeys`)."""

    @property
    def site(self) -> Site:
        """The site on the chart."""

    @property
    def several(self) -> bool:
        """Whether places need a height."""

    def on_chart(self, places: Floats) -> Floats:
        """Return where on the chart places of the world are."""

    def in_world(self, places: Floats) -> Floats:
        """Return where in the world (K, 2) places (K, 2) of the chart are."""


def point_of(chart: Chart, place: object) -> Floats:
    """Return where on the chart (1, 2) a point of the world is; raises InvalidValueError for what is no point."""
    if chart.several and (not isinstance(place, tuple) or len(place) != 3):
        raise InvalidValueError(f"the point {brief(place)} has no height, by which its storey is found")
    return chart.on_chart(as_floats(place, (3 if chart.several else 2,), "place")[None])


def node_of(network: Network, chart: Chart, place: Place) -> int:
    """Return the node at a place; raises InvalidValueError where there is none, UnknownNameError for no station."""
    if isinstance(place, (int, np.integer)):
        # True would be node 1.
        if isinstance(place, bool) or not 0 <= place < len(network):
            raise InvalidValueError(f"node {place!r}: nodes are numbered from 0 to {len(network) - 1}")
        return int(place)
    if isinstance(place, str):
        station = chart.site.station(place)
        point = np.array([[station.x, station.y]])
    else:
        point = point_of(chart, place)
    node = int(network.node_at(point)[0])
    if node < 0:
        raise InvalidValueError(f"{place!r} is at no node: in a wall, outside, or too narrow for the robots")
    return node


def nodes_of(network: Network, chart: Chart, places: ManyPlaces) -> Ints:
    """Return the nodes (K,) at places; raises as `node_of` does."""
    if isinstance(places, np.ndarray):
        return np.array([node_of(network, chart, int(node)) for node in places], np.int64)
    # A point is a tuple, and several places are a list.
    given = places if isinstance(places, list) else [places]
    return np.concatenate([np.empty(0, np.int64), *(_nodes_at(network, chart, place) for place in given)])


def _nodes_at(network: Network, chart: Chart, place: Place | Area) -> Ints:
    """Return the nodes (K,) in an area, or the one at a place."""
    area = area_of(chart.site, place)
    if area is None:
        return np.array([node_of(network, chart, place)], np.int64)  # type: ignore[arg-type]  # no area
    nodes = np.flatnonzero(_inside(chart, area, place, network.positions))
    if not len(nodes):
        raise InvalidValueError(f"no node is in the area {brief(place)}")
    return nodes


def _inside(chart: Chart, area: Zone, place: Place | Area, points: Floats) -> Bools:
    """Return which points (K, 2) of the chart are in an area: zones are on the chart, corners are of all storeys."""
    return area.contains(points if isinstance(place, str) else chart.in_world(points))


def area_of(site: Site, place: Place | Area) -> Zone | None:
    """Return the area that a zone's name or corners say, None for another place; raises InvalidValueError."""
    if isinstance(place, str):
        zones = {zone.name: zone for zone in site.zones}
        # A station of that name comes first.
        return None if any(station.name == place for station in site.stations) else zones.get(place)
    if isinstance(place, tuple) and place and not isinstance(place[0], (int, float, np.number)):
        return Zone("area", ZoneKind.NO_GO, as_floats(place, (None, 2), "corners of an area"))
    return None


def cells_of(network: Network, chart: Chart, places: ManyPlaces) -> Ints:
    """Return the cells (K,) of the site's grid at places; raises InvalidValueError for those that are no free space."""
    grid = chart.site.grid
    chosen: list[Ints] = []
    for place in places if isinstance(places, (list, np.ndarray)) else [places]:
        area = area_of(chart.site, place)
        if area is not None:
            cells = np.flatnonzero(_inside(chart, area, place, grid.middles) & grid.free_mask.ravel())
        elif isinstance(place, tuple):
            cells = grid.cells_at(point_of(chart, place))
        else:
            cells = grid.cells_at(network.positions[node_of(network, chart, place)][None])
        if not len(cells) or not grid.is_free(cells).all():
            raise InvalidValueError(f"{brief(place)}: there is no free space of the site, whose walls stay as they are")
        chosen.append(cells)
    return np.unique(np.concatenate([np.empty(0, np.int64), *chosen]))

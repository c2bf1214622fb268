"""LaCAM: lazy constraints addition search, with large neighbourhood search after it.

Okumura, "LaCAM: search-based algorithm for quick multi-agent pathfinding" (AAAI 2023). Where a step leads to places
that the search has seen, it is repeated with robots that are told where to go, one more with each repetition.
`guides.py` spreads the ways of the first plan; `Refinement` makes a plan cheaper.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from fleet_sim.base.arrays import Floats, Ints
from fleet_sim.base.errors import InvalidValueError, PlanError
from fleet_sim.base.kernels import compiled
from fleet_sim.base.settings import setting
from fleet_sim.warehouse.sites.grid import Grid
from fleet_sim.warehouse.traffic.network import Links, Network, Steps, Words
from fleet_sim.warehouse.traffic.planners.guides import apart, guides_of, no_guides, work_of_guides
from fleet_sim.warehouse.traffic.planners.pibt_step import Guidance, PibtStep, next_places
from fleet_sim.warehouse.traffic.planners.planner import TO_THE_END, Planner, PlannerSettings, plan_nothing
from fleet_sim.warehouse.traffic.planners.reserved import (
    NOBODY,
    GridWords,
    Reservations,
    Reserved,
    Timetable,
    empty_timetable,
    find_path,
    fits_words,
    no_words,
    put,
    reserve,
    take,
    words_of,
)
from fleet_sim.warehouse.traffic.problem import Problem, steps_to_rest

# Random numbers in kernels.


@compiled
def below(words: Words, count: int) -> int:
    """Return a random number from 0 to `count` - 1; `words` (1,) is the state."""
    word = words[0]
    word ^= word << np.uint64(13)
    word ^= word >> np.uint64(7)
    word ^= word << np.uint64(17)
    words[0] = word
    # Signed, so that it stays a whole number when it is added to others.
    return np.int64((word >> np.uint64(11)) % np.uint64(count))  # type: ignore[return-value]


# Groups of robots that are in each other's way, which rounds of refinement plan anew; compiled.


@compiled
def choose_group(
    links: Links, held: Links, steps: Steps, rows: Ints, paths: Ints, costs: Ints, words: Words, group: Ints
) -> None:
    """Write a group of robots that are in each other's way, in an order by chance: around one that loses much time."""
    robots, size = len(paths), len(group)
    first, worst = 0, -1
    for _ in range(4):
        robot = below(words, robots)
        late = costs[robot] - steps[rows[robot], paths[robot, 0]]
        if late > worst:
            first, worst = robot, late
    group[0] = first
    count = 1
    kind = below(words, 3)
    if kind == 0:
        # Who passes its goal after it could be there keeps it from staying.
        path, step = paths[first], len(held) - 1
        soonest = steps[rows[first], path[0]]
        while step > soonest and count < size:
            other = held[step, path[-1]]
            if other != NOBODY:
                count = _add(group, count, other)
            step -= 1
    for _ in range(8):
        if count == size:
            break
        count = _follow(links, held, steps[rows[first]], paths[first], costs[first], kind < 2, words, group, count)
        # Around those who are in the way, too.
        first = group[below(words, count)] if kind == 2 else first
    while count < size:
        count = _add(group, count, below(words, robots))
    for number in range(size - 1, 0, -1):
        other = below(words, number + 1)
        group[number], group[other] = group[other], group[number]


@compiled
def _follow(
    links: Links, held: Links, steps: Steps, path: Ints, cost: int, along: bool, words: Words, group: Ints, count: int
) -> int:
    """Add to `group` who is met on a random walk from a place on `path`: with `along` only on ways that save time."""
    step = below(words, max(cost, 1))
    node = path[step]
    while step < len(path) - 1 and step < cost and count < len(group):
        tries, end = 0, -1
        offset = below(words, links.shape[1] + 1)
        while tries <= links.shape[1]:
            column = (offset + tries) % (links.shape[1] + 1)
            end = node if column == links.shape[1] else links[node, column]
            if end >= 0 and steps[end] >= 0 and (not along or step + 1 + steps[end] < cost):
                break
            end = -1
            tries += 1
        if end < 0:
            return count
        if held[step + 1, end] != NOBODY:
            count = _add(group, count, held[step + 1, end])
        if count < len(group) and held[step, end] != NOBODY and held[step + 1, node] == held[step, end]:
            count = _add(group, count, held[step, end])
        node = end
        step += 1
    return count


@compiled
def _add(group: Ints, count: int, robot: int) -> int:
    """Add `robot` to the first `count` of `group` unless it is there; returns how many there are now."""
    for number in range(count):
        if group[number] == robot:
            return count
    group[count] = robot
    return count + 1


# Cheapest paths of one robot in a timetable: all cells that it can be on are moved on together, step by step. A word
# of bits holds 64 cells, so that a step on a map of 32 x 32 cells takes 20 ns, where a search that looks at places
# one by one needs a thousand times that for them all.


@compiled
def find_way(
    words: GridWords, table: Timetable, start: int, goal: int, least: int, most: int, chances: Words, path: Ints
) -> int:
    """Write one of the cheapest ways (T + 1,) from `start` to `goal`, to stay there, to `path`; returns its cost.

    The cost is the steps until it is there for good. -1 stands for no way that costs at most `most`, at most T;
    `least` are the steps from `start` to `goal` if nobody were in the way.
    """
    # Before the last other robot has left it, it cannot be at its goal to stay.
    free_after = len(table.held) - 1
    while free_after >= 0 and table.held[free_after, goal] == NOBODY:
        free_after -= 1
    soonest = max(free_after + 1, least)
    if soonest > most:
        return -1
    cost = _spread(words, table, start, goal, soonest, most)
    if cost >= 0:
        path[cost:] = goal
        _trace(words, table, cost, chances, path)
    return cost


@compiled
def _spread(words: GridWords, table: Timetable, start: int, goal: int, soonest: int, most: int) -> int:
    """Write the cells that can be reached at each step; returns the step from `soonest` on at which `goal` is, or -1.

    Rows from which the goal cannot be reached in time are left out.
    """
    pitch, size = words.pitch, words.may.shape[1]
    rows, first, last = size // pitch, words.word[start] // pitch, words.word[goal] // pitch
    table.reached[0, :] = 0
    table.reached[0, words.word[start]] = words.bit[start]
    step = 0
    while step < soonest or table.reached[step, words.word[goal]] & words.bit[goal] == 0:
        if step == most:
            return -1
        step += 1
        low = max(1, first - step, last - (most - step))
        high = min(rows - 1, first + step + 1, last + (most - step) + 1)
        reached = table.reached[step]
        move_on(
            table.reached[step - 1], table.free[step], table.open[step - 1], pitch, low * pitch, high * pitch, reached
        )
        # The next step looks at one row more, and at one more beside it.
        reached[max(low - 2, 0) * pitch : low * pitch] = 0
        reached[high * pitch : min(high + 2, rows) * pitch] = 0
    return step


@compiled
def move_on(here: Words, free: Words, opened: Words, pitch: int, low: int, high: int, there: Words) -> None:
    """Write words `low` to `high` of `there`: the free cells that can be reached from `here`, by a move or none."""
    right, left, down, up = opened[0], opened[1], opened[2], opened[3]
    if pitch == 1:
        for at in range(low, high):
            beside = ((here[at] & right[at]) << 1) | ((here[at] & left[at]) >> 1)
            across = (here[at - 1] & down[at - 1]) | (here[at + 1] & up[at + 1])
            there[at] = free[at] & (here[at] | beside | across)
        return
    for at in range(low, high):
        beside = ((here[at] & right[at]) << 1) | ((here[at - 1] & right[at - 1]) >> 63)
        beside |= ((here[at] & left[at]) >> 1) | ((here[at + 1] & left[at + 1]) << 63)
        across = (here[at - pitch] & down[at - pitch]) | (here[at + pitch] & up[at + pitch])
        there[at] = free[at] & (here[at] | beside | across)


@compiled
def _trace(words: GridWords, table: Timetable, cost: int, chances: Words, path: Ints) -> None:
    """Write the steps before `cost` to `path`, backwards; where there are several ways one by chance."""
    node = path[cost]
    for step in range(cost - 1, -1, -1):
        reached, opened = table.reached[step], table.open[step]
        before, count = node, 0
        if reached[words.word[node]] & words.bit[node]:
            count = 1
        for column in range(words.sources.shape[1]):
            source = words.sources[node, column]
            if source < 0 or reached[words.word[source]] & words.bit[source] == 0:
                continue
            if opened[words.inward[node, column], words.word[source]] & words.bit[source] == 0:
                continue
            count += 1
            if below(chances, count) == 0:
                before = source
        node = before
        path[step] = node


# Rounds of large neighbourhood search: a group of robots is planned anew among the paths of all others; compiled. Li,
# Chen, Harabor, Stuckey and Koenig, "Anytime multi-agent path finding via large neighborhood search" (IJCAI 2021).
# Sizes of groups are chosen by what they have saved so far for the searches that they took. A group whose new paths
# would cost more gets its old ones back, so the cost never grows.


FADING = 0.999
"""What gains of the past count as after each round."""
CURIOUS = 4
"""One round in so many has a group of any size, the others the size that has gained most."""


class HeldSteps(NamedTuple):
    """Who is where at each step: as bits in `table` if `words` has nodes, that is on grids, else in `reserved`."""

    reserved: Reserved
    words: GridWords
    table: Timetable


class RobotPaths(NamedTuple):
    """`paths` (R, T + 1) of robots to their `goals`, and their `costs`; `rows` are those of `steps` to the goals."""

    steps: Steps
    rows: Ints
    goals: Ints
    paths: Ints
    costs: Ints


@compiled
def improve(board: HeldSteps, robots: RobotPaths, gains: Floats, rounds: int, rotate: bool, chances: Words) -> int:
    """Plan `rounds` groups anew, in the paths and costs of `robots`; returns the steps saved.

    `gains` (2, S + 1) has by the size of groups, up to S, the steps saved and the searches made for that.
    """
    steps, rows, _, paths, costs = robots
    most, length = min(gains.shape[1] - 1, len(paths)), paths.shape[1]
    old_paths, old_costs = np.empty((most, length), np.int64), np.empty(most, np.int64)
    saved = 0
    for _ in range(rounds):
        group = np.empty(_size(gains, most, chances), np.int64)
        choose_group(board.reserved.links, board.reserved.held, steps, rows, paths, costs, chances, group)
        before = 0
        # The paths of the group are given back first, so that it can be planned through them.
        for number in range(len(group)):
            robot = group[number]
            old_paths[number], old_costs[number] = paths[robot], costs[robot]
            before += costs[robot]
            hold(board, paths, robot, rotate, NOBODY)
        planned, left = _plan(board, robots, group, before, rotate, chances)
        # Old gains count less, as what pays off changes with the plan.
        gains *= FADING
        gains[1, len(group)] += planned + 1
        if planned == len(group):
            gains[0, len(group)] += left
            saved += left
            continue
        # It costs more, or somebody has no path: give back what was planned, and hold the old paths again.
        for number in range(planned):
            hold(board, paths, group[number], rotate, NOBODY)
        _put_back(board, paths, costs, group, old_paths, old_costs, rotate)
    return saved


@compiled
def _put_back(
    board: HeldSteps, paths: Ints, costs: Ints, group: Ints, old_paths: Ints, old_costs: Ints, rotate: bool
) -> None:
    """Give the robots of `group` the paths that they had."""
    for number in range(len(group)):
        robot = group[number]
        paths[robot], costs[robot] = old_paths[number], old_costs[number]
        hold(board, paths, robot, rotate, robot)


@compiled
def _size(gains: Floats, most: int, chances: Words) -> int:
    """Return how many robots to plan anew."""
    if below(chances, CURIOUS) == 0:
        return 1 + below(chances, most)
    best = 1
    for size in range(2, most + 1):
        # Compares gain per search, without dividing by 0.
        if gains[0, size] * gains[1, best] > gains[0, best] * gains[1, size]:
            best = size
    return best


@compiled
def _plan(
    board: HeldSteps, robots: RobotPaths, group: Ints, left: int, rotate: bool, chances: Words
) -> tuple[int, int]:
    """Plan the robots of `group` in turn, at the cost `left` together at most; returns how many have a path, and what
    is left of the cost."""
    steps, rows, goals, paths, costs = robots
    least, planned = 0, 0
    # The least that all of them can cost together.
    for robot in group:
        least += steps[rows[robot], paths[robot, 0]]
    for robot in group:
        own = steps[rows[robot]]
        least -= own[paths[robot, 0]]
        # What those after it need at least is kept for them.
        most = min(left - least, paths.shape[1] - 1)
        cost = _search(board, own, paths[robot, 0], goals[robot], most, rotate, chances, paths[robot])
        if cost < 0:
            break
        costs[robot] = cost
        left -= cost
        hold(board, paths, robot, rotate, robot)
        planned += 1
    return planned, left


@compiled
def _search(
    board: HeldSteps, steps: Steps, start: int, goal: int, most: int, rotate: bool, chances: Words, path: Ints
) -> int:
    """Write the cheapest way among all others to `path`; returns its cost, -1 where there is none up to `most`."""
    if len(board.words.word):
        return find_way(board.words, board.table, start, goal, int(steps[start]), most, chances, path)
    return find_path(board.reserved, steps, start, goal, True, most, rotate, path)


@compiled
def hold(board: HeldSteps, paths: Ints, robot: int, rotate: bool, holder: int) -> None:
    """Hold what the path of `robot` needs for it as `holder`; with NOBODY, give it back."""
    if not len(board.words.word):
        reserved = board.reserved
        reserve(reserved.links, reserved.begins, reserved.ids, reserved.held, paths[robot], holder)
    elif holder == NOBODY:
        take(board.words, board.table, paths, robot, rotate)
    else:
        put(board.words, board.table, paths, robot, rotate)


# Large neighbourhood search: small groups of robots are planned anew among the paths of all others.


AT_ONCE = 64
"""Rounds between two looks at the clock."""
MOST_STATES = 200_000_000
"""Nodes by steps that are searched: more take more than 3 GB."""
SPARE = 8
"""Steps that a path may be longer than the longest one, when tables are made anew as paths have become shorter."""


class Refinement:
    """Makes `paths` (R, T + 1) to `goals` (R,) cheaper, never longer; `saved` counts the steps."""

    def __init__(self, problem: Problem, goals: Ints, paths: Ints, allow_rotations: bool, group: int) -> None:
        """Groups have up to `group` robots: as many as have gained most so far."""
        network = problem.network
        if (paths.shape[1] - 1) * len(network) > MOST_STATES:
            raise InvalidValueError(f"refinements: {paths.shape[1]} steps on {len(network)} nodes are too many; use 0")
        self.costs = steps_to_rest(paths)
        self.saved = 0
        self._problem, self._goals, self._rotate = problem, goals, allow_rotations
        network.tables.block(problem.blocked)
        self._rows = network.tables.rows_of(goals)
        self._steps = network.tables.steps
        self._chances = np.array([(problem.seed * 2 + 0x9E3779B97F4A7C15) % 2**64], np.uint64)
        self._gains = np.ones((2, group + 1))
        self._lay_out(np.array(paths, np.int64, order="C"))

    def run(self, rounds: int | None, late: float) -> int:
        """Make `rounds` rounds, or as many as there is time for. Returns how many."""
        made = 0
        while (rounds is None or made < rounds) and time.monotonic() < late and self.costs.any():
            some = AT_ONCE if rounds is None else min(AT_ONCE, rounds - made)
            robots = RobotPaths(self._steps, self._rows, self._goals, self._paths, self.costs)
            self.saved += improve(self._held, robots, self._gains, some, self._rotate, self._chances)
            made += some
            if self.costs.max() + 2 * SPARE < self._paths.shape[1]:
                self._lay_out(self._paths[:, : self.costs.max() + SPARE].copy())
        return made

    @property
    def paths(self) -> Ints:
        """The paths (R, T + 1), until all robots are at their goals to stay."""
        return self._paths[:, : max(int(self.costs.max(initial=0)), 1) + 1].copy()

    def _lay_out(self, paths: Ints) -> None:
        """Enter `paths` (R, T + 1) in tables of their length."""
        self._paths = paths
        problem, length = self._problem, paths.shape[1] - 1
        network = problem.network
        on_grid = fits_words(network)
        words = words_of(network, problem.blocked) if on_grid else no_words()
        table = empty_timetable(words, length)
        kept = Reservations(network, 0 if on_grid else length)
        reserved = kept.arrays(problem.blocked)
        self._held = HeldSteps(reserved._replace(held=table.held) if on_grid else reserved, words, table)
        for robot in range(len(paths)):
            hold(self._held, paths, robot, self._rotate, robot)


@dataclass
class LacamSettings(PlannerSettings):
    """Settings of LaCAM."""

    allow_rotations: bool = setting(
        False, doc="Whether robots may move round in a circle at once; their discs need room: 0.7 of a cell at most."
    )
    guides: bool = setting(True, doc="Whether robots prefer ways that keep apart, which are some steps longer.")
    refinements: int | None = setting(
        0,
        low=0,
        high=1_000_000_000,
        doc="Rounds that make the first plan cheaper; null: until the time limit, and so not reproducible.",
    )
    group: int = setting(3, low=1, high=1000, doc="Robots at most that a round plans anew.")
    most_visited: int = setting(1_000_000, low=1, high=1_000_000_000, doc="Places of all robots that are looked at.")


FARTHEST = 1e9
"""More steps than any goal is away, so that distances count less than one step of waiting."""


@dataclass(eq=False)
class Visited:
    """Places of all robots that the search has seen: how it came there, and what it has not tried from there yet."""

    places: Ints
    before: Visited | None
    waited: Floats
    order: Ints
    # Each: moves (C, 2) that robots must make, by number and column.
    untried: deque[Ints] = field(default_factory=lambda: deque([np.empty((0, 2), np.int64)]))


class Lacam(Planner):
    """Searches over places of all robots at once, step by step with PIBT; where that leads nowhere new, robot after
    robot is told where to go, until all ways on are tried (Okumura, 2023).

    A plan to the end is found wherever there is one, if time and `most_visited` allow. Robots with a common goal: the
    nearest has it, others go as near as they can. Then rounds of large neighbourhood search (Li et al., 2021) plan
    small groups anew, and keep what is cheaper: the sum of the steps until each robot is at its goal to stay.
    """

    settings_class = LacamSettings
    settings: LacamSettings

    def __init__(self, network: Network, **settings: Any) -> None:
        super().__init__(network, **settings)
        self._step = PibtStep(network)
        self._figures = {"visited": 0.0, "refinements": 0.0, "refined_steps": 0.0}

    def prepare(self) -> None:
        """Compile the kernels."""
        plan_nothing(self)

    def work(self, robots: int, window: int) -> float:
        """Return how many nodes one plan looks at: it is to the end, and every round makes parts of it again."""
        rounds = self.settings.refinements
        # Without a number of rounds each plan takes all the time there is.
        if rounds is None:
            return math.inf
        searched = (robots + rounds * self.settings.group) * TO_THE_END
        return float(searched) + (work_of_guides(robots, len(self.network)) if self.settings.guides else 0.0)

    def figures(self) -> Mapping[str, float]:
        """Return how many places of all robots were visited, rounds of refinement made, and steps saved by them."""
        return dict(self._figures)

    def plan(self, problem: Problem) -> Ints:
        """Return a plan to the goals, cut to `window` steps if that is not 0."""
        _compile()
        with self.network.lock:
            return self._solved(problem)

    def _solved(self, problem: Problem) -> Ints:
        """Return paths (robots, steps) of nodes, all to the goals and refined as set, or cut to the problem's window.

        Raises PlanError where a goal cannot be reached, or where the time limit ends the search before a plan is found.
        """
        late = time.monotonic() + problem.time_limit
        problem.require_ways()
        goals = apart(problem)
        paths = PlaceSearch(self, problem, goals, late).run()
        if self.settings.refinements != 0:
            refinement = Refinement(problem, goals, paths, self.settings.allow_rotations, self.settings.group)
            rounds = refinement.run(self.settings.refinements, late)
            paths = refinement.paths
            self._figures["refinements"] += rounds
            self._figures["refined_steps"] += refinement.saved
        if problem.window:
            length = problem.window + 1
            paths = paths[:, :length]
            # Robots that are there stay there.
            missing = np.repeat(paths[:, -1:], length - paths.shape[1], axis=1)
            return np.concatenate((paths, missing), axis=1)
        return paths


@cache
def _compile() -> None:
    """Let all kernels be compiled, or loaded, before a clock runs: it may take longer than the time limit."""
    grid = Grid(np.ones((1, 2), bool))
    for cells, grid_or_none in ((np.array([0, 1]), grid), (np.empty(0, np.int64), None)):
        network = Network(np.zeros((2, 2)), np.array([[1], [0]]), cells, grid=grid_or_none)
        problem = Problem(network, np.array([0]), np.array([1]), time_limit=1e6)
        Lacam(network, refinements=1)._solved(problem)


class PlaceSearch:
    """One search, depth first: from the places seen last to the next ones that PIBT proposes."""

    def __init__(self, planner: Lacam, problem: Problem, goals: Ints, late: float) -> None:
        self._planner, self._problem, self._goals, self._late = planner, problem, goals, late
        self._network = planner.network
        tables = self._network.tables
        tables.block(problem.blocked)
        self._rows = tables.rows_of(goals)
        self._steps = tables.steps
        self._guides = guides_of(problem, goals) if planner.settings.guides else no_guides()
        self._count = 0

    def run(self) -> Ints:
        """Return paths from the starts to the goals; raises PlanError where there are none, or not found in time."""
        goal_key = self._goals.tobytes()
        distances = self._steps[self._rows, self._problem.starts].astype(np.float64)
        first = self._visited(self._problem.starts, None, distances / FARTHEST)
        stack, known = [first], {first.places.tobytes(): first}
        while stack:
            here = stack[-1]
            if here.places.tobytes() == goal_key:
                return self._traced(here)
            if not here.untried:
                stack.pop()
                continue
            self._check_limits(len(known))
            fixed = here.untried.popleft()
            self._branch(here, fixed)
            places = self._next(here, fixed)
            if places is None:
                continue
            seen = known.get(places.tobytes())
            if seen is None:
                seen = known[places.tobytes()] = self._visited(places, here, here.waited)
                self._planner._figures["visited"] += 1.0
            # Also places that were seen before: the search goes on from there, with what is untried.
            stack.append(seen)
        raise PlanError("there is no plan: all places that the robots can get to were tried")

    def _visited(self, places: Ints, before: Visited | None, waited: Floats) -> Visited:
        home = places == self._goals
        # Who has farther to go plans first, until others have been on their way for longer.
        ranks = waited if before is None else np.where(home, waited - np.floor(waited), waited + 1.0)
        return Visited(places, before, ranks, np.argsort(-ranks, kind="stable"))

    def _branch(self, here: Visited, fixed: Ints) -> None:
        """Add to what is untried from `here` all moves of one robot more than `fixed` has."""
        if len(fixed) == len(here.places):
            return
        robot = here.order[len(fixed)]
        links = self._network.links
        ends = np.concatenate((links[here.places[robot]], here.places[robot : robot + 1]))
        columns = np.flatnonzero(ends >= 0)
        self._count += 1
        chance = np.random.default_rng((self._problem.seed, 1, self._count))
        for column in chance.permutation(columns):
            here.untried.append(np.concatenate((fixed, [[robot, column]])))

    def _next(self, here: Visited, fixed: Ints) -> Ints | None:
        """Return the next nodes of all robots, with some `fixed`, or None where the others cannot be placed.

        Each call draws other numbers for robots that are equally urgent.
        """
        self._count += 1
        then = np.empty(len(here.places), np.int64)
        found = next_places(
            self._planner._step.arrays(self._problem),
            here.places.copy(),  # the starts cannot be written to, which would be another form of the kernel
            Guidance(self._steps, self._rows, self._guides),
            here.order,
            fixed,
            np.uint64(self._problem.seed + self._count),
            self._planner.settings.allow_rotations,
            not self._network.claims,
            then,
        )
        return then if found else None

    def _check_limits(self, count: int) -> None:
        if count > self._planner.settings.most_visited:
            raise PlanError(f"LaCAM has found no plan among {count} places of all robots")
        if self._count * len(self._goals) > self._problem.most_work:
            raise PlanError(
                f"LaCAM has found no plan among {self._problem.most_work:,.0f} nodes; a message may ask for no more"
            )
        if time.monotonic() > self._late:
            raise PlanError(f"LaCAM has found no plan in {self._problem.time_limit:g} s")

    def _traced(self, last: Visited) -> Ints:
        columns = [last.places]
        at = last.before
        while at is not None:
            columns.append(at.places)
            at = at.before
        columns.reverse()
        # A plan has two columns at least, also where all are at their goals.
        return np.stack(columns if len(columns) > 1 else columns * 2, axis=1)

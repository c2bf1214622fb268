"""Figures of a run: what robots do, added up step by step, and how near they came to each other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints, Rows
from fleet_sim.base.kernels import compiled, compiled_step
from fleet_sim.base.registry import saved
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.warehouse.sites.grid import Grid
from fleet_sim.warehouse.traffic.traffic import Traffic
from fleet_sim.world.schema import NO_ROW
from fleet_sim.world.world import World

# Closest: how near two robots ever came to each other, from middle to middle and from rim to rim.


FLAT = 1e-3
"""Half the height in m of what has no shape, and still is on its floor."""


class RobotOutlines(NamedTuple):
    """Where robots are, seen from above, and how high: `places` (K, 2) in m, and the range of heights (K, 2).

    An outline is a rectangle about its place with half its sides in `halves` (K, 2), turned by the angle with the
    cosine and the sine in `turns` (K, 2), and `rims` (K,) m around that: a disc has no sides, and a box no rim. Places
    and turns may be those in several ticks: (T, K, 2).
    """

    places: Floats
    heights: Floats
    halves: Floats
    turns: Floats
    rims: Floats


def outlines_of(world: World, rows: Rows, radii: Floats) -> RobotOutlines:
    """Return the outlines of robots in `rows` (K,): of upright boxes that carry nothing these, of others their discs.

    `radii` (K,) in m are those of the discs around all of each.
    """
    count = len(rows)
    places, turns = world.position[rows, :2].copy(), np.tile((1.0, 0.0), (count, 1))
    middles = world.position[rows, 2] + world.shape_position[rows, 2]
    half = np.maximum(world.half_extents[rows, 2], FLAT)
    halves, rims = np.zeros((count, 2)), np.array(radii, np.float64)
    boxes = np.flatnonzero(world.shape_kind[rows] == ShapeKind.BOX)
    if len(boxes):
        own = rows[boxes]
        # Of a box the sides are known as long as it stands upright and carries nothing.
        flat = (np.abs(world.orientation[own, :2]) < 1e-9).all(axis=1)
        flat &= (np.abs(world.shape_orientation[own, :3]) < 1e-9).all(axis=1)
        flat &= (np.abs(world.shape_position[own, :2]) < 1e-9).all(axis=1)
        carried = world.parent[world.rows]
        flat &= ~np.isin(own, carried[carried != NO_ROW])
        boxes = boxes[flat]
        halves[boxes], rims[boxes] = world.half_extents[rows[boxes], :2], 0.0
        sines, cosines = trig.sin_cos(quaternions.yaws(world.orientation[rows[boxes]]))
        turns[boxes, 0], turns[boxes, 1] = cosines, sines
    return RobotOutlines(places, np.column_stack((middles - half, middles + half)), halves, turns, rims)


def discs_of(points: Floats) -> RobotOutlines:
    """Return outlines without extent at `points` (K, 2) m, all at one height."""
    count = len(points)
    zeros = np.zeros((count, 2))
    return RobotOutlines(
        points, np.tile((0.0, 1.0), (count, 1)), zeros, np.tile((1.0, 0.0), (count, 1)), np.zeros(count)
    )


@saved
class Closest:
    """Keeps the smallest distance between two robots at one height. Exact at each call, and cheap for small moves."""

    def __init__(self) -> None:
        self.distance = np.inf
        """From middle to middle, in m; inf while there were never two robots."""
        self.gap = np.inf
        """From rim to rim, in m; below 0 where outlines overlap by as much."""
        self._order: Ints = np.empty(0, np.int64)

    def look(self, outlines: RobotOutlines) -> None:
        """Take the distances of robots from each other into account."""
        count = len(outlines.rims)
        if count < 2:
            return
        places, turns = outlines.places.reshape(-1, count, 2), outlines.turns.reshape(-1, count, 2)
        # Sorted anew only when robots came or went; else the order of the last step is nearly right.
        if len(self._order) != count:
            self._order = np.argsort(places[0, :, 0], kind="stable")
        seen = outlines._replace(places=places, turns=turns)
        self.distance, self.gap = nearest(seen, self._order, self.distance, self.gap)


@compiled
def nearest(outlines: RobotOutlines, order: Ints, distance: float, gap: float) -> tuple[float, float]:
    """Return the smallest distance and gap of two of the outlines, or `distance` and `gap` where these are smaller.

    Places are (T, N, 2), turns of as many ticks or of one. `order` (N,) is a permutation, in which the places are
    nearly sorted along x; it is sorted in place.
    """
    places, heights, halves, turns, rims = outlines
    xs, ys, reaches, largest = np.empty(len(order)), np.empty(len(order)), np.empty(len(order)), 0.0
    for one in range(len(order)):
        reaches[one] = rims[one] + np.sqrt(halves[one, 0] ** 2 + halves[one, 1] ** 2)
        largest = max(largest, reaches[one])
    for tick in range(len(places)):
        now, turned = places[tick], turns[min(tick, len(turns) - 1)]
        for place in range(len(order)):
            # Insertion sort: of what is nearly sorted it takes one look at each.
            one, to = order[place], place
            x = now[one, 0]
            while to > 0 and xs[to - 1] > x:
                order[to], xs[to], ys[to] = order[to - 1], xs[to - 1], ys[to - 1]
                to -= 1
            order[to], xs[to], ys[to] = one, x, now[one, 1]
        for place in range(len(order)):
            one = order[place]
            most = max(distance, gap + reaches[one] + largest)
            # Sorted along x: those behind the first that is too far away are farther still.
            for after in range(place + 1, len(order)):
                across, along = xs[after] - xs[place], ys[after] - ys[place]
                if across >= most:
                    break
                if abs(along) >= most:
                    continue
                other = order[after]
                # One above the other are on two floors.
                if heights[one, 0] >= heights[other, 1] or heights[other, 0] >= heights[one, 1]:
                    continue
                apart = np.sqrt(across * across + along * along)
                distance = min(distance, apart)
                if apart - reaches[one] - reaches[other] < gap:
                    gap = min(gap, _between(across, along, halves, turned, one, other) - rims[one] - rims[other])
    return distance, gap


@compiled
def _between(dx: float, dy: float, halves: Floats, turns: Floats, one: int, other: int) -> float:
    """Return the distance of two rectangles; below 0 where they overlap: how far one must move to be clear."""
    least, nearest = -np.inf, np.inf
    for mine, theirs, sign in ((one, other, 1.0), (other, one, -1.0)):
        cosine, sine = turns[mine, 0], turns[mine, 1]
        # The middle of the other one, and its sides, as this one sees them.
        x, y = sign * (cosine * dx + sine * dy), sign * (cosine * dy - sine * dx)
        ahead = turns[theirs, 0] * cosine + turns[theirs, 1] * sine
        aside = turns[theirs, 1] * cosine - turns[theirs, 0] * sine
        long, wide = halves[theirs, 0], halves[theirs, 1]
        # Two convex outlines are apart along one of their sides, or they overlap.
        least = max(least, abs(x) - halves[mine, 0] - long * abs(ahead) - wide * abs(aside))
        least = max(least, abs(y) - halves[mine, 1] - long * abs(aside) - wide * abs(ahead))
        # And nearest at a corner of one of them.
        for first, second in ((1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)):
            corner_x = x + first * long * ahead - second * wide * aside
            corner_y = y + first * long * aside + second * wide * ahead
            off_x, off_y = max(abs(corner_x) - halves[mine, 0], 0.0), max(abs(corner_y) - halves[mine, 1], 0.0)
            nearest = min(nearest, np.sqrt(off_x * off_x + off_y * off_y))
    return nearest if least > 0.0 else least


@saved
class Role(Enum):
    """What a state means for the flow of traffic; who is in a queue waits for his turn, and for nobody's mistake."""

    MOVES = "moves"
    WAITS = "waits"
    WORKS = "works"
    RESTS = "rests"
    QUEUES = "queues"


@saved
class StateKind(NamedTuple):
    """A state of robots: its name in tables and plots, and what it means."""

    name: str
    role: Role


DRIVING, WAITING, BLOCKED, SERVING, IDLE = range(5)

STATES = (
    StateKind("driving", Role.MOVES),
    StateKind("waiting", Role.WAITS),
    StateKind("blocked", Role.WAITS),
    StateKind("serving", Role.WORKS),
    StateKind("idle", Role.RESTS),
)
"""Driving: it moves or turns on its way. Waiting: it stands on its way, for others to pass first. Blocked: it stands on
its way and may not go on at all. Serving: it stands at its goal for as long as that takes. Idle: it has no goal."""


class HeatSquares(NamedTuple):
    """A heat map as kernels see it: its sums (H * W,), and by robot (N,) the square `last` seen on, -1 beside the map.

    `frame` (4,) is its lower left corner x, y in m, and sine and cosine of how it is turned.
    """

    passages: Floats
    waited: Floats
    last: Ints
    frame: Floats
    cell: float
    width: int
    height: int


class Logs(NamedTuple):
    """Sums of robots (N,): m `driven` since they were at `points` (N, 2), if they were `present`; s `waited` at a
    stretch, and `in_state` (S, N)."""

    driven: Floats
    points: Floats
    present: Bools
    waited: Floats
    in_state: Floats


@compiled_step
def tally(
    dt: float,
    robots: Ints,
    points: Floats,
    codes: Ints,
    waits: Bools,
    squares: HeatSquares,
    logs: Logs,
    counts: Ints,
    longest: Floats,
    starved: Ints,
    after: float,
) -> int:
    """Add up ticks (T,) of `robots` (K,) at `points` (T, K, 2) in states `codes` (T, K), some of which `waits` (S,).

    Writes how many were in each state to `counts` (T, S), and to `longest` (T,) for how long one of them has waited in
    s. Returns how many have waited for `after` s by now, and had not before, whom it writes to `starved`.
    """
    found, scale, sine, cosine = 0, 1.0 / squares.cell, squares.frame[2], squares.frame[3]
    for tick in range(len(codes)):
        longest[tick] = 0.0
        for code in range(len(waits)):
            counts[tick, code] = 0
    for place in range(len(robots)):
        robot = robots[place]
        square, waited, driven = squares.last[robot], logs.waited[robot], logs.driven[robot]
        # A robot that was not there before would seem to have driven from its last place, or from the origin.
        there, before_x, before_y = logs.present[robot], logs.points[robot, 0], logs.points[robot, 1]
        for tick in range(len(codes)):
            x, y, code = points[tick, place, 0], points[tick, place, 1], codes[tick, place]
            if not there or x != before_x or y != before_y:
                east, north = x - squares.frame[0], y - squares.frame[1]
                # Shifted by one, so that cutting off the fraction is rounding down just below the map, too.
                column = int((cosine * east + sine * north) * scale + 1.0) - 1
                up = int((cosine * north - sine * east) * scale + 1.0) - 1
                now = -1
                if 0 <= column < squares.width and 0 <= up < squares.height:
                    now = (squares.height - 1 - up) * squares.width + column
                if now != square and now >= 0:
                    squares.passages[now] += 1.0
                square = now
                if there:
                    across, along = x - before_x, y - before_y
                    driven += np.sqrt(across * across + along * along)
                there, before_x, before_y = True, x, y
            if waits[code]:
                if square >= 0:
                    squares.waited[square] += dt
                waited += dt
                longest[tick] = max(longest[tick], waited)
                if waited >= after and waited - dt < after:
                    starved[found] = robot
                    found += 1
            else:
                waited = 0.0
            logs.in_state[code, robot] += dt
            counts[tick, code] += 1
        squares.last[robot], logs.waited[robot], logs.driven[robot] = square, waited, driven
        logs.points[robot, 0], logs.points[robot, 1] = before_x, before_y
    for robot in range(len(logs.present)):
        logs.present[robot] = False
    for robot in robots:
        logs.present[robot] = True
    return found


SMALLEST = 0.5
"""Length in m of the squares that are counted in, at least: finer maps would show tracks, not traffic."""
MOST_SQUARES = 250_000


@saved
class HeatMap:
    """Counts over the squares of a site: its cells, or several cells together where those are small.

    `passages` (H * W,) are robots that came onto a square, `waited` (H * W,) seconds that robots stood there on their
    way. `free_mask` (H, W) tells where any robot can be; the first row is the one with the largest y.
    """

    def __init__(self, grid: Grid) -> None:
        cells = max(1, math.ceil(SMALLEST / grid.cell - 1e-9), math.ceil(math.sqrt(grid.count / MOST_SQUARES)))
        rows, columns = -(-grid.height // cells), -(-grid.width // cells)
        fine = np.zeros((rows * cells, columns * cells), bool)
        # The origin is at the lower left, so what is added is above and to the right.
        fine[rows * cells - grid.height :, : grid.width] = grid.free_mask
        free: Bools = np.asarray(fine.reshape(rows, cells, columns, cells).any(axis=(1, 3)))
        self.grid = Grid(free, cells * grid.cell, grid.origin)
        self.passages: Floats = np.zeros(self.grid.count)
        self.waited: Floats = np.zeros(self.grid.count)
        self._last: Ints = np.full(0, -1, np.int64)
        x, y, yaw = grid.origin
        # As numbers with a fraction, whatever a file has: each type would be machine code of its own.
        self._frame: Floats = np.array((x, y, *trig.sin_cos_of(yaw)), np.float64)

    @property
    def free_mask(self) -> Bools:
        """Which squares (H, W) have free space."""
        return self.grid.free_mask

    def squares(self, count: int) -> HeatSquares:
        """Return this map as `tally` adds to it, which counts `count` robots."""
        if count > len(self._last):
            self._last = np.append(self._last, np.full(count - len(self._last), -1))
        grid = self.grid
        return HeatSquares(self.passages, self.waited, self._last, self._frame, grid.cell, grid.width, grid.height)


_ROLES = list(Role)
MOVES, WAITS, WORKS = (_ROLES.index(role) for role in (Role.MOVES, Role.WAITS, Role.WORKS))


STARVED = 4.0
"""A robot is starved that has stood on its way for so many times as long as a deadlock takes."""
MOST_REASONS = 20


@saved
class Standstill:
    """Counts deadlocks: for `after` s robots stood on their way, and none moved or was at work at a goal.

    Each such standstill counts once, however long it lasts. `longest` is the longest time in s that any robot stood on
    its way without moving: what a deadlock of a few robots shows in while others drive. `starved` counts how often one
    stood there for STARVED times `after`; `reasons` are the first ones in words.
    """

    def __init__(self, after: float) -> None:
        self.after = after
        self.deadlocks = self.starved = 0
        self.reasons: list[str] = []
        self.longest = 0.0
        self._still = self._longest_now = 0.0
        self._waited: Floats = np.zeros(0)

    def waited(self, count: int) -> Floats:
        """Return how long each of at least `count` robots (N,) has stood by now, in s, for `tally` to go on with."""
        if count > len(self._waited):
            self._waited = np.pad(self._waited, (0, count - len(self._waited)))
        return self._waited

    def judge(self, dt: float, longest: float, by_role: Sequence[int]) -> None:
        """Take into account that so many (5,) were in each role for `dt` s, and one has stood for `longest` s."""
        self.longest, self._longest_now = max(self.longest, longest), longest
        if not by_role[WAITS] or by_role[MOVES] or by_role[WORKS]:
            self._still = 0.0
            return
        before = self._still
        self._still += dt
        # Only when the time is reached, so that one standstill is one deadlock.
        if before < self.after - 1e-9 <= self._still:
            self.deadlocks += 1

    def stuck_ones(self) -> Ints:
        """Return the robots that stand on their way now, and have for at least `after` s."""
        return np.flatnonzero(self._waited >= self.after - 1e-9)

    @property
    def starves_after(self) -> float:
        """For how long in s a robot stands on its way until it counts as starved."""
        return STARVED * self.after - 1e-9

    def is_calm(self, ahead: float) -> bool:
        """Return whether nobody can come to be starved in the next `ahead` s."""
        after, waited = self.starves_after, self._waited
        return self._longest_now + ahead < after or not ((waited < after) & (waited + ahead >= after)).any()

    def explain(self, reason: str) -> None:
        """Keep why a robot is starved, of the first ones."""
        if len(self.reasons) < MOST_REASONS:
            self.reasons.append(reason)


MOST = 600
"""Stretches that are kept; even, as two become one when there are more."""


@saved
class Series:
    """Sums of the quantities `names` in stretches of `period` s, which double whenever MOST of them are full."""

    def __init__(self, names: Sequence[str], period: float = 1.0) -> None:
        self.names = tuple(names)
        self._period = period
        self._sums = np.zeros((MOST, len(self.names)))
        self._lengths = np.zeros(MOST)
        self._count = 0
        self._open = np.zeros(len(self.names))
        self._open_length = 0.0

    def add(self, dt: float, amounts: Floats) -> None:
        """Add what `amounts` (K,) were in the last `dt` s."""
        # Added up here first: most steps only add to the stretch under way.
        self._open += amounts
        self._open_length += dt
        # Steps need not divide a stretch, and their sum is not exact.
        if self._open_length >= self._period - 1e-9:
            self._close()

    def _close(self) -> None:
        """End the stretch under way; when MOST are full, join neighbors, so that a run of any length fits."""
        self._sums[self._count] = self._open
        self._lengths[self._count] = self._open_length
        self._count += 1
        self._open[:] = 0.0
        self._open_length = 0.0
        if self._count == MOST:
            # Two neighbours become one, so all stretches stay equally long.
            half = MOST // 2
            self._sums[:half] = self._sums[::2] + self._sums[1::2]
            self._lengths[:half] = self._lengths[::2] + self._lengths[1::2]
            self._count = half
            self._period *= 2.0

    def table(self) -> tuple[Floats, Floats]:
        """Return the ends (B,) of the stretches in s, and the sums (B, K) of each; the last may be a shorter one."""
        sums, lengths = self._sums[: self._count], self._lengths[: self._count]
        # The stretch under way counts, or the sums would miss the end of a run.
        if self._open_length > 0.0:
            sums, lengths = np.vstack((sums, self._open)), np.append(lengths, self._open_length)
        return np.cumsum(lengths), sums.copy()


TASKS = "tasks_done"


class FigureCollector:
    """Figures of robots numbered from 0, each in one of `states` at a time.

    `deadlock_after` is the time in s after which a standstill of all counts as a deadlock, see `Standstill`. Robots may
    come and go: those of a step are the ones that `observe` is given. `levels` are names of further quantities that
    change over time, such as how many orders wait.
    """

    def __init__(
        self,
        grid: Grid,
        *,
        states: Sequence[StateKind] = STATES,
        deadlock_after: float = 30.0,
        levels: Sequence[str] = (),
    ) -> None:
        self.states = tuple(states)
        self.levels = tuple(levels)
        self.heat = HeatMap(grid)
        self.closest = Closest()
        self.standstill = Standstill(deadlock_after)
        self.series = Series([TASKS, *(state.name for state in self.states), *self.levels])
        self.simulated = 0.0
        self.tasks_done = 0
        self._waits = np.array([state.role is Role.WAITS for state in self.states])
        # Which states (S, 4) have which role.
        self._roles = np.array([[state.role is role for role in Role] for state in self.states], np.int64)
        self._in_state: Floats = np.zeros((len(self.states), 0))
        self._driven: Floats = np.zeros(0)
        self._points: Floats = np.zeros((0, 2))
        self._present: Bools = np.zeros(0, bool)
        self._flow: list[Floats] = []
        self._done_now = 0

    # ---- while it runs -----------------------------------------------------------------------------------------------

    def begin(self, robots: Ints, points: Floats, outlines: RobotOutlines | None = None) -> None:
        """Say where robots (K,), ascending, are before the first step: they drive from these `points` (K, 2).

        `outlines` are theirs in the world; without them they have no extent.
        """
        if len(robots):
            self._grow(max(int(robots[-1]) + 1, len(self._driven)))
        self.closest.look(discs_of(points) if outlines is None else outlines)
        self._points[robots] = points
        self._present[robots] = True

    def carried(self, robots: Ints, points: Floats) -> None:
        """Say that robots (K,), seen before, are at `points` (K, 2) by now without having driven there."""
        self._points[robots] = points
        self._present[robots] = False

    def observe(
        self,
        dt: float,
        robots: Ints,
        points: Floats,
        codes: Ints,
        levels: Sequence[float] = (),
        outlines: RobotOutlines | None = None,
    ) -> Ints:
        """Look at `robots` (K,), ascending, at `points` (K, 2), in the states `codes` (K,) for the last `dt` s.

        `levels` are what the quantities of that name were; `outlines` as for `begin`. Returns who is starved by now and
        was not before.
        """
        seen = discs_of(points) if outlines is None else outlines
        return self.observe_ticks(dt, robots, points[None], codes[None], levels, seen)

    def observe_ticks(
        self,
        dt: float,
        robots: Ints,
        points: Floats,
        codes: Ints,
        levels: Sequence[float],
        outlines: RobotOutlines,
        done: Ints | None = None,
    ) -> Ints:
        """Look at robots as `observe` does in each of some ticks: `points` (T, K, 2), `codes` (T, K) and `outlines`.

        `done` (T,) is how many tasks ended in each tick; None: all in the first.
        """
        # Numbers are ascending, so the last one tells how many there are.
        if len(robots) and int(robots[-1]) >= len(self._driven):
            self._grow(int(robots[-1]) + 1)
        self.closest.look(outlines)
        ticks, most, after = len(codes), len(self._driven), self.standstill.starves_after
        counts, longest = np.empty((ticks, len(self.states)), np.int64), np.empty(ticks)
        starved: Ints = np.empty(len(robots), np.int64)
        logs = Logs(self._driven, self._points, self._present, self.standstill.waited(most), self._in_state)
        seen = self._waits, self.heat.squares(most), logs, counts, longest, starved, after
        found = starved[: tally(dt, robots, points, codes, *seen)]
        self.standstill.starved += len(found)
        by_role, amounts = counts @ self._roles, np.empty((ticks, len(self.series.names)))
        amounts[:, 0] = done if done is not None else 0
        amounts[0, 0] = self._done_now if done is None else amounts[0, 0]
        amounts[:, 1 : 1 + counts.shape[1]] = counts * dt
        amounts[:, 1 + counts.shape[1] :] = np.multiply(levels, dt)
        for tick in range(ticks):
            self.standstill.judge(dt, float(longest[tick]), by_role[tick].tolist())
            self.series.add(dt, amounts[tick])
            self.simulated += dt
        self._done_now = 0
        return found

    def tasks_ended(self, times: Floats) -> None:
        """Count tasks that ended in this step; `times` (K,) in s is how long each took since a robot had it."""
        if len(times):
            self._flow.append(np.array(times))
            self._done_now += len(times)
            self.tasks_done += len(times)

    def _grow(self, count: int) -> None:
        more = count - len(self._driven)
        self._in_state = np.pad(self._in_state, ((0, 0), (0, more)))
        self._driven = np.pad(self._driven, (0, more))
        self._points = np.pad(self._points, ((0, more), (0, 0)))
        self._present = np.pad(self._present, (0, more))

    # ---- afterwards --------------------------------------------------------------------------------------------------

    @property
    def flow_times(self) -> Floats:
        """How long each task took (K,) in s, from when a robot had it until it was done."""
        return np.concatenate(self._flow) if self._flow else np.zeros(0)

    @property
    def driven(self) -> Floats:
        """How far each robot (N,) drove, in m."""
        return self._driven

    def seconds_in(self, state: str) -> Floats:
        """Return how long each robot (N,) was in the state of that name, in s."""
        return self._in_state[[known.name for known in self.states].index(state)]

    def shares(self) -> dict[str, float]:
        """Return the share of all robots' time in each state, by name."""
        total = float(self._in_state.sum())
        sums = self._in_state.sum(axis=1).tolist()
        return {state.name: sum_ / total if total else 0.0 for state, sum_ in zip(self.states, sums, strict=True)}

    def waiting_times(self) -> Floats:
        """Return how long each robot (N,) stood on its way, waiting or blocked, in s."""
        return np.asarray(self._in_state[self._waits].sum(axis=0))


# Summary: what a collector saw and a traffic planned, as the figures of a run file.


def summary_of(found: FigureCollector, count: int) -> dict[str, float | None]:
    """Return the figures of `count` robots so far; None for a distance of robots where no two were at one height."""
    # Without robots all sums are 0, and so are the shares; 1 only avoids the division.
    robots = max(count, 1)
    simulated = found.simulated
    closest = float(found.closest.distance)
    rate = found.tasks_done / simulated if simulated else 0.0
    driven = float(found.driven.sum())
    lone = not np.isfinite(closest)
    return {
        "robots": count,
        "simulated_s": round(simulated, 6),
        "tasks_done": found.tasks_done,
        "throughput_per_s": rate,
        "throughput_per_h": rate * 3600.0,
        "closest_m": None if lone else closest,
        # From rim to rim, as people measure what is left between two robots.
        "closest_gap_m": None if lone else float(found.closest.gap),
        "deadlocks": found.standstill.deadlocks,
        "starved": found.standstill.starved,
        "stuck_robots": len(found.standstill.stuck_ones()),
        "longest_wait_s": round(found.standstill.longest, 6),
        "waiting_s_mean": float(found.waiting_times().sum()) / robots,
        **percentiles("flow_time_s", found.flow_times, mean=True),
        "driven_m": driven,
        "driven_per_task_m": driven / found.tasks_done if found.tasks_done else None,
        "speed_mean": driven / (robots * simulated) if simulated else 0.0,
        **{f"share_{name}": share for name, share in found.shares().items()},
    }


def tell_starved(found: FigureCollector, world: World, traffic: Traffic | None, rows: Rows) -> None:
    """Keep why each of `rows`, which are starved, stands; emits `robot_starved` with the robot and the reason."""
    for agent in [world.handles[row] for row in rows.tolist()]:
        joins = traffic is not None and traffic.takes_part(agent)
        reason = traffic.explain(agent) if traffic is not None and joins else f"{world.label(agent.row)} stands"
        found.standstill.explain(f"{world.clock.time:g} s: {reason}")
        world.events.emit("robot_starved", agent=agent, reason=reason)


def planning_of(traffic: Traffic) -> dict[str, float | None]:
    """Return the figures of plans: how many, how many failed, and how long they took in ms."""
    told: Mapping[str, Any] = traffic.figures()
    times = traffic.planning_times * 1e3
    return {
        "plans": told["plans"],
        "failed_plans": told["refusals"],
        **percentiles("planning_ms", times),
        "planning_ms_max": float(times.max()) if len(times) else None,
    }


def percentiles(name: str, values: Floats, *, mean: bool = False) -> dict[str, float | None]:
    """Return the percentiles 50, 90 and 99 of `values` as figures, None where there are no values."""
    there = len(values) > 0
    found: dict[str, float | None] = {f"{name}_mean": float(values.mean()) if there else None} if mean else {}
    found.update({f"{name}_p{part}": float(np.percentile(values, part)) if there else None for part in (50, 90, 99)})
    return found

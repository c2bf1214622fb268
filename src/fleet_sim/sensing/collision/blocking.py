"""Swept blocking: how far bodies may move before they touch something. Fast bodies do not tunnel through thin ones.

Each mover goes from its present pose to its next one in a straight line, at a constant rotation rate. First it is
stopped at whatever stands at its present pose, other movers included; then movers that would meet each other on their
way are stopped where they meet. All move at once, so the result does not depend on the order of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints, Rows
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.base.spatial.quaternions import turned, turns_between
from fleet_sim.base.spatial.shapes import ShapeArrays, ShapeKind
from fleet_sim.sensing.collision.bounds import world_aabbs
from fleet_sim.sensing.collision.broad import candidate_pairs, cross_pairs
from fleet_sim.sensing.collision.distances import distances_between, upright_mask

# Conservative advancement: bodies move on by what is surely clear, until they are too near or at the end.


# Tolerance of the contact time, as a distance in metres.
EXACT = 1e-7
# In metres. A body already in contact may get closer by this much in a step, so that rounding does not hold it.
CREEP = 1e-9
# Bodies near each other are measured again after one moved this share of the smallest half extent, or `_LEAST_STRIDE`
# of the whole motion if that is longer.
_STRIDE = 0.25
_LEAST_STRIDE = 1e-5
# Bodies that are near each other for more measurements than these, moving hundreds of their sizes in a step, get no
# farther.
_MOST_STRIDES = 1000

A = TypeVar("A", bound="MovingPairs")


class MovingPairs(Protocol):
    """Pairs of bodies whose distances at any time can be measured."""

    def take(self: A, places: Rows) -> A:
        """Return the pairs at `places`."""

    def distances(self, times: Floats, reach: float) -> Floats:
        """Return signed distances (K,), each pair at its own time; beyond `reach` they may be infinite."""


def advanced(
    pairs: MovingPairs, travels: Floats, gap: Floats, limits: Floats, sizes: Floats, ends: Floats, reach: float
) -> Floats:
    """Return the last times (K,) before pairs are nearer than their `limits`, 1 where they are not until `ends`.

    `gap` is what is between them and their limits now, and `travels` the most by which it can close until time 1;
    `sizes` are the smallest half extents of bodies that must not be passed through.
    """
    # Advancing by the gap can never pass the contact, but slows down near it; a stride of at least `strides` keeps
    # the number of rounds bounded. The first time that is too close brackets the contact for the bisection.
    times = np.ones(len(travels))
    strides = np.maximum(_STRIDE * sizes / travels, _LEAST_STRIDE)
    safe, ahead = np.zeros(len(travels)), np.ones(len(travels))
    hit_mask = np.zeros(len(travels), bool)
    live = np.arange(len(travels))
    for _ in range(_MOST_STRIDES):
        if not len(live):
            break
        following = np.minimum(safe[live] + np.maximum(gap / travels[live], strides[live]), ends[live])
        gap = pairs.take(live).distances(following, reach) - limits[live]
        hit = gap < 0.0
        hit_mask[live[hit]] = True
        ahead[live[hit]] = following[hit]
        safe[live[~hit]] = following[~hit]
        keep = np.flatnonzero(~hit & (following < ends[live]))
        live, gap = live[keep], gap[keep]
    hits = np.flatnonzero(hit_mask)
    times[live] = safe[live]
    if len(hits):
        times[hits] = halved(pairs.take(hits), safe[hits], ahead[hits], travels[hits], limits[hits], reach)
    return times


def halved(pairs: MovingPairs, safe: Floats, ahead: Floats, travels: Floats, limits: Floats, reach: float) -> Floats:
    """Return times (K,) of contact between `safe`, which are clear, and `ahead`, which are too near, by bisection."""
    safe, ahead = safe.copy(), ahead.copy()
    live = np.arange(len(safe))
    while len(live := live[(ahead[live] - safe[live]) * travels[live] > EXACT]):
        middle = 0.5 * (safe[live] + ahead[live])
        clear_mask = pairs.take(live).distances(middle, reach) >= limits[live]
        safe[live[clear_mask]] = middle[clear_mask]
        ahead[live[~clear_mask]] = middle[~clear_mask]
    return safe


# Moving bodies, and pairs of one and a standing obstacle, measured at any time of the motion.


Poses: TypeAlias = tuple[Floats, Floats]
# Given pairs (K, 2) of (mover row, obstacle row), poses of the collision shapes of the movers, (K, 3) and (K, 4), and
# of the obstacles, and a distance, return signed distances (K,); anything above the given distance may be infinite.
PosedDistanceSolver: TypeAlias = Callable[[Ints, Poses, Poses, float], Floats]


@dataclass(frozen=True)
class Motion:
    """K bodies that each go in a straight line, turning at a constant rate, from time 0 to time 1."""

    start: ShapeArrays
    end_positions: Floats
    end_orientations: Floats
    travels: Floats
    """The farthest (K,) any point of each body can move."""
    turns: Bools
    """Whether each (K,) turns at all."""
    spins: Floats
    """Axis times angle (K, 3) in rad by which each turns."""

    @classmethod
    def between(cls, start: ShapeArrays, end_positions: Floats, end_orientations: Floats) -> Motion:
        """Return the motion of bodies at `start` to positions (K, 3) and orientations (K, 4)."""
        turns = (end_orientations != start.orientations).any(axis=1)
        travels, spins = _travels(start, end_positions, end_orientations), np.zeros((len(turns), 3))
        turning = np.flatnonzero(turns)
        if len(turning):
            spins[turning] = turns_between(start.orientations[turning], end_orientations[turning])
        return cls(start, end_positions, end_orientations, travels, turns, spins)

    def take(self, places: Rows) -> Motion:
        """Return the bodies at `places`."""
        return Motion(*self.columns(places))

    def columns(self, places: Rows) -> tuple[ShapeArrays, Floats, Floats, Floats, Bools, Floats]:
        """Return the fields of the bodies at `places`."""
        return (
            self.start.take(places),
            self.end_positions.take(places, axis=0),
            self.end_orientations.take(places, axis=0),
            self.travels.take(places),
            self.turns.take(places),
            self.spins.take(places, axis=0),
        )

    def at(self, times: Floats) -> ShapeArrays:
        """Return the bodies, each at its own time (K,)."""
        start = self.start
        positions = start.positions + (self.end_positions - start.positions) * times[:, None]
        orientations = start.orientations
        turning = np.flatnonzero(self.turns)
        if len(turning):
            orientations = orientations.copy()
            orientations[turning] = turned(start.orientations[turning], self.spins[turning], times[turning])
        return start.at(positions, orientations)


def _travels(start: ShapeArrays, end_positions: Floats, end_orientations: Floats) -> Floats:
    half, shift = start.half_extents, end_positions - start.positions
    length = np.sqrt(shift[:, 0] ** 2 + shift[:, 1] ** 2 + shift[:, 2] ** 2)
    radius = np.sqrt(half[:, 0] ** 2 + half[:, 1] ** 2 + half[:, 2] ** 2)
    # No point moves farther than the centre does plus the rotation angle times the radius of the bounding ball.
    products = start.orientations * end_orientations
    same = np.abs(products[:, 0] + products[:, 1] + products[:, 2] + products[:, 3])
    return np.asarray(length + 2.0 * trig.arccos(np.minimum(same, 1.0)) * radius)


@dataclass(frozen=True)
class Measure:
    """Measures pairs of bodies, by compiled code if that is in use; what has no formula is measured by `solve`."""

    solve: PosedDistanceSolver | None
    compiled: bool

    def __call__(self, first: ShapeArrays, second: ShapeArrays, rows: Ints, reach: float) -> Floats:
        """Return signed distances (K,) of pairs of bodies of `rows` (K, 2); beyond `reach` they may be infinite."""
        distances, open_mask = distances_between(first, second, reach=reach, compiled=self.compiled)
        rest = np.flatnonzero(open_mask)
        if len(rest):
            distances[rest] = np.inf
            if self.solve is not None:
                poses = [(shapes.positions[rest], shapes.orientations[rest]) for shapes in (first, second)]
                distances[rest] = self.solve(rows[rest], poses[0], poses[1], reach)
        return distances


@dataclass(frozen=True)
class Sweep(Motion):
    """K pairs of a moving body and a standing obstacle."""

    obstacles: ShapeArrays
    rows: Ints
    measure: Measure

    def take(self, places: Rows) -> Sweep:
        """Return the pairs at `places`."""
        return Sweep(*self.columns(places), self.obstacles.take(places), self.rows[places], self.measure)

    def distances(self, times: Floats, reach: float) -> Floats:
        """Return signed distances (K,), each mover at its own time; beyond `reach` they may be infinite."""
        return self.measure(self.at(times), self.obstacles, self.rows, reach)

    def convex_mask(self) -> Bools:
        """Return which pairs (K,) have a distance that is convex in time."""
        # The signed distance of two convex shapes is a convex function of their relative translation. Rotation does
        # not change a sphere, nor an upright cylinder or capsule that turns about its axis.
        start, obstacle = self.start, self.obstacles
        convex = (start.kinds <= ShapeKind.PLANE) & (obstacle.kinds <= ShapeKind.PLANE)
        still = ~self.turns
        round_mask = (start.kinds == ShapeKind.CYLINDER) | (start.kinds == ShapeKind.CAPSULE)
        upright = upright_mask(start) & upright_mask(start.at(self.end_positions, self.end_orientations))
        return np.asarray(convex & (still | (start.kinds == ShapeKind.SPHERE) | (round_mask & upright)))


# When a moving body first touches a standing one: exact for convex distances, in strides for turning boxes.


_MAX_ROUNDS = 200
# First probe of the secant search, in metres: long compared with rounding errors, shorter than any obstacle.
_FIRST_STEP = 1e-4


@dataclass(frozen=True)
class FirstContacts:
    """The first contact of each of K pairs."""

    times: Floats
    """1 where there is none."""
    limits: Floats
    """Distances at which contact begins."""
    turning: Rows
    """Pairs whose distance is not convex in time; those in between their strides may be nearer than seen."""
    reach: float


class KnownContacts:
    """The contacts of the pairs of one step, for the next: a pair that begins it again is not measured again.

    Robots that stand before something try the same motion in each step.
    """

    def __init__(self) -> None:
        self._codes: Ints = np.zeros(0, np.int64)
        self._states = np.zeros((0, 0))
        self._found = np.zeros((3, 0))

    def recall(self, codes: Ints, states: Floats, found: Floats) -> Rows:
        """Write what is known of pairs to `found` (3, K), and return the places of the others.

        `codes` (K,) tell pairs apart, and `states` (K, S) are all that their contacts follow from.
        """
        if not len(self._codes) or states.shape[1] != self._states.shape[1]:
            return np.arange(len(codes))
        places = np.minimum(np.searchsorted(self._codes, codes), len(self._codes) - 1)
        same = (self._codes[places] == codes) & (self._states[places] == states).all(axis=1)
        found[:, same] = self._found[:, places[same]]
        return np.flatnonzero(~same)

    def keep(self, codes: Ints, states: Floats, found: Floats) -> None:
        """Keep these pairs, and no others."""
        order = np.argsort(codes)
        self._codes, self._states, self._found = codes[order], states[order], found[:, order]


def first_contacts(sweep: Sweep, skin: float, known: KnownContacts, identities: Floats) -> FirstContacts:
    """Return the first contacts of the pairs.

    `identities` (N, I) of all rows are equal as long as a row has the same shape.
    """
    travels = sweep.travels
    # Twice: a pair that is near enough to be searched may also move apart by its travel, and its gaps must stay finite.
    reach = skin + 2.0 * float(travels.max())
    codes = sweep.rows[:, 0] * len(identities) + sweep.rows[:, 1]
    states = np.column_stack(
        [
            *(sweep.start.positions, sweep.start.orientations, sweep.end_positions, sweep.end_orientations),
            *(sweep.obstacles.positions, sweep.obstacles.orientations),
            *(identities[sweep.rows[:, 0]], identities[sweep.rows[:, 1]]),
        ]
    )
    found = np.empty((3, len(travels)))
    new = known.recall(codes, states, found)
    if len(new):
        found[:, new] = _contacts(sweep if len(new) == len(travels) else sweep.take(new), skin, reach)
    known.keep(codes, states, found)
    gaps, limits, times = found
    near = _may_meet(gaps, limits, travels)
    # Copied: who is stopped by another one has an earlier contact in this step.
    return FirstContacts(times.copy(), limits, near[~sweep.take(near).convex_mask()], reach)


def _may_meet(gaps: Floats, limits: Floats, travels: Floats) -> Rows:
    """Return the pairs that may meet: the gap of others is larger than the farthest travel."""
    return np.flatnonzero((gaps - limits <= travels) & (travels > 0.0))


def _contacts(sweep: Sweep, skin: float, reach: float) -> tuple[Floats, Floats, Floats]:
    """Return gaps, limits and times (K,) of the first contacts of pairs."""
    travels = sweep.travels
    times = np.ones(len(travels))
    gaps = sweep.distances(np.zeros(len(travels)), reach)
    # Contact begins at the skin, or, for a pair that is already nearer, when it gets any closer.
    limits = np.minimum(skin, gaps - CREEP)
    near = _may_meet(gaps, limits, travels)
    convex_mask = sweep.take(near).convex_mask()
    for rows, search in ((near[convex_mask], _convex_times), (near[~convex_mask], _turning_times)):
        if len(rows):
            times[rows] = search(sweep.take(rows), travels[rows], gaps[rows], limits[rows], reach)
    # A pair in contact that may move less than `EXACT` does not move at all: it would creep closer step by step.
    times[(gaps <= skin) & (times * travels < EXACT)] = 0.0
    return gaps, limits, times


def stop_earlier(contacts: FirstContacts, sweep: Sweep, fractions: Floats) -> bool:
    """Give pairs that are too near where their mover (K,) is stopped an earlier contact; return whether any are."""
    ends = fractions[contacts.turning]
    # At its own contact a pair was measured, and at time 1 too.
    unseen = contacts.turning[(ends < contacts.times[contacts.turning]) & (ends > 0.0)]
    if not len(unseen):
        return False
    pairs, ahead = sweep.take(unseen), fractions[unseen]
    near_mask = pairs.distances(ahead, contacts.reach) < contacts.limits[unseen]
    near = np.flatnonzero(near_mask)
    if not len(near):
        return False
    rows = unseen[near]
    contacts.times[rows] = halved(
        sweep.take(rows), np.zeros(len(rows)), ahead[near], sweep.travels[rows], contacts.limits[rows], contacts.reach
    )
    return True


def _convex_times(sweep: Sweep, travels: Floats, gaps: Floats, limits: Floats, reach: float) -> Floats:
    """Return the first zeros of gaps that are convex in time, by the secant method from the left."""
    # Right of two points a convex function lies above their secant. So the secant's zero never passes the function's
    # first zero, and a secant that does not fall proves that there is no contact.
    times = np.ones(len(travels))
    live = np.arange(len(travels))
    before, before_gap = np.zeros(len(live)), gaps - limits
    # No point travels faster than `travels` per step, so the gap cannot close before this time.
    sure = np.minimum(before_gap / travels, 1.0)
    # The first step is long enough that rounding does not spoil the slope. A pair that touches within it is stopped
    # at `sure`.
    now = np.maximum(sure, np.minimum(_FIRST_STEP / travels, 1.0))
    for round_number in range(_MAX_ROUNDS):
        gap = sweep.take(live).distances(now, reach) - limits[live]
        slopes = (gap - before_gap) / (now - before)
        falling = slopes < 0.0
        following = np.where(falling, now - gap / np.where(falling, slopes, -1.0), np.inf)
        passed = gap < (0.0 if round_number == 0 else -EXACT)
        touching = passed | ((gap <= EXACT) & (following < 1.0))
        ended = touching | (following >= 1.0) | (now >= 1.0)
        times[live[ended]] = np.where(passed, np.maximum(before, np.minimum(sure[live], now)), now)[ended]
        times[live[ended & ~touching]] = 1.0
        keep = np.flatnonzero(~ended)
        live, before, before_gap, now = live[keep], now[keep], gap[keep], following[keep]
        if not len(live):
            break
    times[live] = now
    return times


def _turning_times(sweep: Sweep, travels: Floats, gaps: Floats, limits: Floats, reach: float) -> Floats:
    """Return contact times by conservative advancement, then bisection."""
    sizes = sweep.start.half_extents.min(axis=1)
    return advanced(sweep, travels, gaps - limits, limits, sizes, np.ones(len(travels)), reach)


# Bodies that move at once: where each must stop so that no two of them come too near each other.


# Contacts that follow from one another in one step, robots in a queue say: after so many all that still meet are held.
_MOST_ROUNDS = 50
# How far a body moves on to see whether it is the one that comes nearer, in metres.
_PROBE = 1e-4


@dataclass(frozen=True)
class Meetings:
    """K pairs of bodies on their way; each follows its motion until its time in `until` (K, 2), and then stands."""

    one: Motion
    other: Motion
    until: Floats
    rows: Ints
    measure: Measure

    def take(self, places: Rows) -> Meetings:
        """Return the pairs at `places`."""
        return Meetings(
            self.one.take(places), self.other.take(places), self.until[places], self.rows[places], self.measure
        )

    def ending(self, until: Floats) -> Meetings:
        """Return the same pairs with other times at which they stop."""
        return Meetings(self.one, self.other, until, self.rows, self.measure)

    def distances(self, times: Floats, reach: float) -> Floats:
        """Return signed distances (K,), each pair at its own time; beyond `reach` they may be infinite."""
        return self.apart(np.minimum(times[:, None], self.until), reach)

    def apart(self, times: Floats, reach: float) -> Floats:
        """Return signed distances (K,), each body at its own time (K, 2); beyond `reach` they may be infinite."""
        return self.measure(self.one.at(times[:, 0]), self.other.at(times[:, 1]), self.rows, reach)

    def travels(self) -> Floats:
        """Return the farthest (K, 2) any point of each body can move in the whole step."""
        return np.stack((self.one.travels, self.other.travels), axis=1)

    def strides(self) -> Floats:
        """Return the smallest half extents (K,) of the pairs."""
        return np.minimum(self.one.start.half_extents.min(axis=1), self.other.start.half_extents.min(axis=1))


def shorten(
    meetings: Meetings, places: Ints, skin: float, fractions: Floats, blockers: Rows, whole_mask: Bools | None
) -> bool:
    """Lower `fractions` (M,) of movers until no pair comes nearer than `skin`, or than it is; return whether any was.

    `places` (K, 2) are those of the pairs in `fractions` and `blockers`. Who would come nearer stops where the two
    meet; who drives on without coming nearer drives on. Movers in `whole_mask` (M,) stop where they began.
    """
    near = _near(meetings, skin)
    meetings, places = meetings.take(near), places[near]
    if not len(places):
        return False
    limits = np.minimum(skin, meetings.distances(np.zeros(len(places)), _reach(meetings, skin)) - CREEP)
    before = fractions.copy()
    checked: Bools = np.ones(len(places), bool)
    times = np.ones(len(places))
    for number in range(_MOST_ROUNDS + len(fractions) + 1):
        late = np.flatnonzero(checked)
        now = meetings.take(late).ending(fractions[places[late]])
        times[late] = _meeting_times(now, limits[late], skin)
        met = np.flatnonzero(times < fractions[places].max(axis=1))
        if not len(met):
            break
        if number < _MOST_ROUNDS:
            met = _first_of_all(met, times, places, len(fractions))
            stops = _stops(meetings.take(met).ending(fractions[places[met]]), times[met], skin)
        else:
            times[met] = 0.0
            stops = np.ones((len(met), 2), bool)
        changed = _stop(places[met], meetings.rows[met], times[met], stops, whole_mask, fractions, blockers)
        checked = np.asarray(changed[places].any(axis=1))
    return bool((fractions < before).any())


def _reach(meetings: Meetings, skin: float) -> float:
    # Twice: pairs may also move apart by their travels, and their gaps must stay finite.
    return skin + 2.0 * float(meetings.travels().sum(axis=1).max())


def _near(meetings: Meetings, skin: float) -> Rows:
    """Return the pairs that might meet at all."""
    if not len(meetings.rows):
        return np.empty(0, np.int64)
    travels = (meetings.travels() * meetings.until).sum(axis=1)
    # Where all are held, as in a jam, nobody is left to look at.
    moving = np.flatnonzero(travels > 0.0)
    if not len(moving):
        return moving
    gaps = meetings.take(moving).distances(np.zeros(len(moving)), _reach(meetings, skin))
    return moving[gaps - np.minimum(skin, gaps - CREEP) <= travels[moving]]


def _meeting_times(meetings: Meetings, limits: Floats, skin: float) -> Floats:
    """Return the last times (K,) before the pairs are too near each other, 1 where they never are."""
    reach, travels = _reach(meetings, skin), meetings.travels().sum(axis=1)
    gaps = meetings.distances(np.zeros(len(travels)), reach)
    ends = meetings.until.max(axis=1)
    times = advanced(meetings, travels, gaps - limits, limits, meetings.strides(), ends, reach)
    # Who touches and may move next to nothing does not move: it would creep nearer step by step.
    times[(gaps <= skin) & (times * travels < EXACT)] = 0.0
    return times


def _first_of_all(met: Rows, times: Floats, places: Ints, count: int) -> Rows:
    """Return those of the pairs `met` before which neither of the two meets another one."""
    earliest = np.ones(count)
    np.minimum.at(earliest, places[met], times[met, None])
    return met[times[met] <= earliest[places[met]].min(axis=1)]


def _stops(meetings: Meetings, times: Floats, skin: float) -> Bools:
    """Return which (K, 2) bodies of pairs that meet at `times` have to stop: those that come nearer."""
    reach = _reach(meetings, skin)
    here = np.minimum(times[:, None], meetings.until)
    gaps = meetings.apart(here, reach)
    stops = np.zeros(here.shape, bool)
    ahead = np.minimum(times[:, None] + _PROBE / np.maximum(meetings.travels(), _PROBE), meetings.until)
    for body in range(2):
        probe = here.copy()
        probe[:, body] = ahead[:, body]
        stops[:, body] = meetings.apart(probe, reach) < gaps - CREEP
    moving = meetings.until > times[:, None]
    stops &= moving
    # Where neither alone comes nearer, but both together do.
    either = np.flatnonzero(~stops.any(axis=1))
    stops[either] = moving[either]
    return stops


def _stop(
    places: Ints, rows: Ints, times: Floats, stops: Bools, whole_mask: Bools | None, fractions: Floats, blockers: Rows
) -> Bools:
    """Write where bodies of pairs stop, and at what; returns which movers (M,) stop earlier than they did."""
    who, others = places[stops], rows[:, ::-1][stops]
    when = np.repeat(times[:, None], 2, axis=1)[stops]
    if whole_mask is not None:
        when = np.where(whole_mask[who], 0.0, when)
    order = np.lexsort((others, when, who))
    first = np.ones(len(order), bool)
    first[1:] = who[order[1:]] != who[order[:-1]]
    chosen = order[first]
    chosen = chosen[when[chosen] < fractions[who[chosen]]]
    changed = np.zeros(len(fractions), bool)
    changed[who[chosen]] = True
    fractions[who[chosen]], blockers[who[chosen]] = when[chosen], others[chosen]
    return changed


# Given pairs (K, 2) of rows, return which (K,) may collide.
PairMask: TypeAlias = Callable[[Ints], Bools]

DEFAULT_SKIN = 1e-3
# Where one body stops a rotating one, it may be inside a third whose corner it cut: so often it is stopped earlier.
_MOST_STOPS = 50


def allowed_fractions(
    shapes: ShapeArrays,
    movers: Rows,
    end_positions: Floats,
    end_orientations: Floats,
    *,
    obstacle_mask: Bools | None = None,
    may_collide: PairMask | None = None,
    whole_mask: Bools | None = None,
    groups: Ints | None = None,
    skin: float = DEFAULT_SKIN,
    solve: PosedDistanceSolver | None = None,
    compiled: bool = False,
    known: KnownContacts | None = None,
    identities: Floats | None = None,
) -> tuple[Floats, Rows]:
    """Return (fractions, blockers), (M,) each: the fraction of its motion each mover may make, and what stops it.

    `shapes` are all N rows at their present poses; `movers` (M,) rows, each once, go to `end_positions` (M,
    3) and `end_orientations` (M, 4). Rows in `obstacle_mask` (N,), all by default, may block if `may_collide`
    allows the pair; a mover never blocks itself. A mover stops `skin` metres short of contact; one that is
    already nearer may move along or away but not closer. The blocker is the row that stops the mover first (the
    lowest row if several do), or -1 with fraction 1. Movers in `whole_mask` (M,) make all of their motion or none, and
    those of one number in `groups` (M,) all stop where the first of them does: they are a robot and its load.

    Pure translations are exact, and so are shapes that are round about z and rotate about z. A rotating box is checked
    in strides of a quarter of its smallest half extent and may cut a corner by less than that on its way, but not where
    it stops; at most a thousand of them, after which it is held. Pairs without a closed form (tilted boxes, meshes) are
    measured by `solve`; without it they do not block. `compiled` code gives the same bits. What is `known` from the
    last call is not measured again, where the `identities` (N, I) of both rows are as they were then. Raises
    InvalidValueError when `skin` is not a finite number >= 0.
    """
    if not (np.isfinite(skin) and skin >= 0.0):
        raise InvalidValueError(f"skin: expected a finite number >= 0 in metres, got {skin!r}")
    fractions, blockers = np.ones(len(movers)), np.full(len(movers), -1, np.int64)
    if not len(movers):
        return fractions, blockers
    obstacle_mask = np.ones(len(shapes.kinds), bool) if obstacle_mask is None else obstacle_mask
    motion = Motion.between(shapes.take(movers), end_positions, end_orientations)
    measure = Measure(solve, compiled)
    boxes = world_aabbs(*shapes, compiled=compiled)
    swept = _swept_boxes(motion, boxes[0][movers], boxes[1][movers], compiled)
    obstacles = np.flatnonzero(obstacle_mask)
    places, rows = _standing_pairs(swept, boxes, movers, obstacles, skin, may_collide, compiled)
    sweep = Sweep(*motion.columns(places), shapes.take(rows[:, 1]), rows, measure)
    both = _moving_pairs(swept, movers, obstacle_mask, skin, may_collide, compiled)
    until = np.ones(both.shape)
    meetings = Meetings(motion.take(both[:, 0]), motion.take(both[:, 1]), until, movers[both], measure)
    contacts = None
    if len(rows):
        identities = np.zeros((len(shapes.kinds), 0)) if identities is None else identities
        contacts = first_contacts(sweep, skin, known or KnownContacts(), identities)
    for _ in range(_MOST_STOPS):
        if contacts is not None:
            _find_stops(contacts, sweep, places, fractions, blockers)
        if whole_mask is not None:
            fractions[whole_mask & (fractions < 1.0)] = 0.0
        _stop_together(groups, fractions, blockers)
        if not shorten(meetings.ending(fractions[both]), both, skin, fractions, blockers, whole_mask):
            return fractions, blockers
        # Others may have counted on who is stopped now with the rest of its group.
        more = _stop_together(groups, fractions, blockers)
        if (contacts is None or not stop_earlier(contacts, sweep, fractions[places])) and not more:
            return fractions, blockers
    # Held, as those that are near another for too many strides.
    fractions[blockers >= 0] = 0.0
    _stop_together(groups, fractions, blockers)
    return fractions, blockers


def _stop_together(groups: Ints | None, fractions: Floats, blockers: Rows) -> bool:
    """Stop all of a group where the first of it is stopped, and by what stops that; return whether any was."""
    if groups is None:
        return False
    order = np.lexsort((fractions, groups))
    first_mask = np.ones(len(order), bool)
    first_mask[1:] = groups[order[1:]] != groups[order[:-1]]
    leaders = order[first_mask][np.searchsorted(groups[order[first_mask]], groups)]
    late = np.flatnonzero(fractions > fractions[leaders])
    fractions[late], blockers[late] = fractions[leaders[late]], blockers[leaders[late]]
    return len(late) > 0


def _find_stops(contacts: FirstContacts, sweep: Sweep, places: Rows, fractions: Floats, blockers: Rows) -> None:
    """Write where the movers of a sweep stop, and at what; `places` (P,) are those of its pairs in the results."""
    others = sweep.rows[:, 1]
    for _ in range(_MOST_STOPS):
        stopped = _first_of_each(places, contacts.times)
        stopped = stopped[contacts.times[stopped] < fractions[places[stopped]]]
        fractions[places[stopped]] = contacts.times[stopped]
        blockers[places[stopped]] = others[stopped]
        if not stop_earlier(contacts, sweep, fractions[places]):
            return
    # Held, as one that is near another for too many strides.
    held = places[contacts.turning]
    fractions[held[blockers[held] >= 0]] = 0.0


def _first_of_each(places: Rows, times: Floats) -> Rows:
    """Return the index of the earliest contact before time 1 of each place, the first listed among equals."""
    contacts = np.flatnonzero(times < 1.0)
    # lexsort is stable and pairs come sorted: equal times go to the lowest row.
    order = contacts[np.lexsort((times[contacts], places[contacts]))]
    first_mask = np.ones(len(order), bool)
    first_mask[1:] = places[order[1:]] != places[order[:-1]]
    return np.asarray(order[first_mask])


def _swept_boxes(motion: Motion, lower: Floats, upper: Floats, compiled: bool) -> tuple[Floats, Floats]:
    """Return corners of boxes around all that moving bodies pass; `lower` and `upper` (M, 3) are where they begin."""
    start = motion.start
    ends = start.at(motion.end_positions, motion.end_orientations)
    end_lower, end_upper = world_aabbs(*ends, compiled=compiled)
    swept_lower, swept_upper = np.minimum(lower, end_lower), np.maximum(upper, end_upper)
    turning = np.flatnonzero(motion.turns)
    if len(turning):
        # Between its end poses a rotating shape may leave both end boxes, but not the ball around its centre.
        half = start.half_extents[turning]
        ball = np.sqrt(half[:, 0] ** 2 + half[:, 1] ** 2 + half[:, 2] ** 2)[:, None]
        both = start.positions[turning], motion.end_positions[turning]
        swept_lower[turning] = np.minimum(swept_lower[turning], np.minimum(*both) - ball)
        swept_upper[turning] = np.maximum(swept_upper[turning], np.maximum(*both) + ball)
    return swept_lower, swept_upper


def _standing_pairs(
    swept: tuple[Floats, Floats],
    boxes: tuple[Floats, Floats],
    movers: Rows,
    obstacles: Rows,
    skin: float,
    may_collide: PairMask | None,
    compiled: bool,
) -> tuple[Rows, Ints]:
    """Return which movers (P,), by place, pass near which rows (P, 2), their own first, and may collide; sorted."""
    pairs = cross_pairs(*swept, boxes[0][obstacles], boxes[1][obstacles], margin=skin, compiled=compiled)
    rows = np.stack((movers[pairs[:, 0]], obstacles[pairs[:, 1]]), axis=1)
    others = np.flatnonzero(rows[:, 0] != rows[:, 1])
    places, rows = pairs[others, 0], rows[others]
    # Asked last, of the few pairs that are near each other: rules may call user code.
    if len(rows) and may_collide is not None:
        allowed = np.flatnonzero(may_collide(rows))
        places, rows = places[allowed], rows[allowed]
    return places, rows


def _moving_pairs(
    swept: tuple[Floats, Floats],
    movers: Rows,
    obstacle_mask: Bools,
    skin: float,
    may_collide: PairMask | None,
    compiled: bool,
) -> Ints:
    """Return the pairs (K, 2) of movers, by place, that pass near each other and may collide."""
    pairs = candidate_pairs(*swept, margin=skin, active_mask=obstacle_mask[movers], compiled=compiled)
    if len(pairs) and may_collide is not None:
        pairs = pairs[may_collide(movers[pairs])]
    return pairs

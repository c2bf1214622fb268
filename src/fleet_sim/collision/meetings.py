"""Bodies that move at once: where each must stop so that no two of them come too near each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints, Rows
from fleet_sim.collision.advancement import CREEP, EXACT, advanced
from fleet_sim.collision.sweep import Measure, Motion

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

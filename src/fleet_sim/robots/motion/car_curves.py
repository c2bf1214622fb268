"""The shortest curves of cars: up to five pieces, of cars that do not reverse (Dubins) or may (Reeds and Shepp)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from fleet_sim.base.arrays import Bools, Floats
from fleet_sim.base.spatial import trigonometry as trig

PIECES = 5
"""Most pieces of a shortest curve."""
LEFT, STRAIGHT, RIGHT = 1.0, 0.0, -1.0
ROUNDING = 1e-9
"""Pieces this much (in radii) on the wrong side of zero are zero: rounding must not send a car once round."""

_TURN = 2.0 * np.pi


class Curves(NamedTuple):
    """Curves of N cars, in units of the smallest radius: `lengths` (N, 5), negative where driven back, and `turns`.

    `turns` (N, 5) are 1 to the left, -1 to the right, 0 straight on. Pieces that are not used have length 0.
    """

    lengths: Floats
    turns: Floats

    def totals(self) -> Floats:
        """Return the lengths (N,) of the whole curves."""
        sizes = np.abs(self.lengths)
        # Added piece by piece: a sum over an axis would depend on the number of rows.
        return np.asarray(sizes[:, 0] + sizes[:, 1] + sizes[:, 2] + sizes[:, 3] + sizes[:, 4])


class Word(NamedTuple):
    """One kind of curve for N cars: where there is one, the lengths, an array or number for each piece, and turns."""

    mask: Bools
    lengths: Sequence[Floats | float]
    turns: Sequence[float]


def shortest(words: Sequence[Word], count: int) -> Curves:
    """Return the shortest of `words` for each of `count` cars, the first listed among equals."""
    tables = np.zeros((PIECES, len(words), count))
    turns = np.zeros((len(words), PIECES))
    totals = np.zeros((len(words), count))
    for number, word in enumerate(words):
        turns[number, : len(word.turns)] = word.turns
        for piece, lengths in enumerate(word.lengths):
            tables[piece, number] = lengths
            totals[number] += np.abs(lengths)
        totals[number][~word.mask] = np.inf
    best = np.argmin(totals, axis=0)
    lengths = np.ascontiguousarray(tables[:, best, np.arange(count)].T)
    return Curves(lengths, turns[best])


def once_round(angles: Floats) -> Floats:
    """Return `angles` wrapped to [0, 2 pi), with 0 for what only rounding keeps from it."""
    angles = angles - _TURN * np.floor(angles / _TURN)
    return np.where((angles > _TURN - ROUNDING) | (angles < 0.0), 0.0, angles)


def half_round(angles: Floats) -> Floats:
    """Return `angles` wrapped to [-pi, pi]."""
    return angles - _TURN * np.rint(angles / _TURN)


def polar(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return lengths and angles (N,) of vectors."""
    return np.sqrt(x * x + y * y), trig.arctan2(y, x)


# The shortest curves of cars that do not reverse, and of cars that may arrive with any heading.


def dubins(x: Floats, y: Floats, heading: Floats) -> Curves:
    """Return the shortest curves, ahead all the way, to goals (N,) in the frame of the car, in radii.

    L. E. Dubins, American Journal of Mathematics 79 (1957): one of six words, three and their mirror images.
    """
    words: list[Word] = []
    sine, cosine = trig.sin_cos(heading)
    for mirror in (1.0, -1.0):
        for formula in _FORMULAS:
            word = formula(x, y * mirror, heading * mirror, sine * mirror, cosine)
            words.append(Word(word.mask, word.lengths, [turn * mirror for turn in word.turns]))
    return shortest(words, len(x))


def to_point(x: Floats, y: Floats, ways: tuple[float, ...]) -> Curves:
    """Return the shortest curve of one arc and one straight line to points (N,) in the frame of the car, in radii.

    `ways` are the signs in which pieces may be driven: 1 ahead, -1 back. Every point can be reached: none is inside of
    both circles that the car can drive.
    """
    words: list[Word] = []
    for mirror in (1.0, -1.0):
        across, up = x, y * mirror - 1.0
        square = across * across + up * up
        reached_mask = square >= 1.0
        leg = np.sqrt(np.maximum(square - 1.0, 0.0))
        angle = trig.arctan2(up, across)
        for last in ways:
            turned = once_round(angle + trig.arctan2(np.ones(len(x)), leg * last))
            for first in ways:
                arc = turned if first > 0.0 else np.where(turned > 0.0, turned - _TURN, 0.0)
                words.append(Word(reached_mask, (arc, leg * last), (LEFT * mirror, STRAIGHT)))
    return shortest(words, len(x))


def _left_straight_left(x: Floats, y: Floats, heading: Floats, sine: Floats, cosine: Floats) -> Word:
    u, angle = polar(x - sine, y - 1.0 + cosine)
    t = once_round(angle)
    v = once_round(heading - t)
    return Word(u >= 0.0, (t, u, v), (LEFT, STRAIGHT, LEFT))


def _left_straight_right(x: Floats, y: Floats, heading: Floats, sine: Floats, cosine: Floats) -> Word:
    distance, angle = polar(x + sine, y - 1.0 - cosine)
    u = np.sqrt(np.maximum(distance * distance - 4.0, 0.0))
    t = once_round(angle + trig.arctan2(np.full(len(u), 2.0), u))
    v = once_round(t - heading)
    return Word(distance >= 2.0, (t, u, v), (LEFT, STRAIGHT, RIGHT))


def _left_right_left(x: Floats, y: Floats, heading: Floats, sine: Floats, cosine: Floats) -> Word:
    distance, angle = polar(x - sine, y - 1.0 + cosine)
    share = np.minimum(0.25 * distance, 1.0)
    # The long way round the circle in the middle: the short one is never the shortest curve.
    u = _TURN - 2.0 * trig.arcsin(share)
    t = once_round(angle + trig.arccos(share) + 0.5 * np.pi)
    v = once_round(heading - t + u)
    return Word(distance <= 4.0, (t, u, v), (LEFT, RIGHT, LEFT))


_FORMULAS: tuple[Callable[[Floats, Floats, Floats, Floats, Floats], Word], ...] = (
    _left_straight_left,
    _left_straight_right,
    _left_right_left,
)


# The shortest curves of cars that may reverse. J. A. Reeds and L. A. Shepp, "Optimal paths for a car that goes both
# forwards and backwards", Pacific Journal of Mathematics 145 (1990): the shortest curve is one of 48 words. Nine
# formulas give them; the others follow by driving a formula's curve back instead of ahead, by its mirror image, and
# by driving it from the goal.


_HALF_PI = 0.5 * np.pi


class _Goal(NamedTuple):
    """Goals in the frame of the car at its start, in radii, with the sine and the cosine of their headings."""

    x: Floats
    y: Floats
    heading: Floats
    sine: Floats
    cosine: Floats

    def same_side(self) -> tuple[Floats, Floats]:
        """Return the vectors between the centres of the first left and the last left turn."""
        return self.x - self.sine, self.y - 1.0 + self.cosine

    def other_side(self) -> tuple[Floats, Floats]:
        """Return the vectors between the centres of the first left and the last right turn."""
        return self.x + self.sine, self.y - 1.0 - self.cosine


def reeds_shepp(x: Floats, y: Floats, heading: Floats) -> Curves:
    """Return the shortest curves to goals (N,) given in the frame of the car, in units of its smallest radius.

    Exact to rounding, about 1e-9 radii. The bits of a curve do not depend on which others are asked for with it.
    """
    sine, cosine = trig.sin_cos(heading)
    words: list[Word] = []
    # The curve driven back, mirrored, and both: formulas are for one of the four.
    for back in (1.0, -1.0):
        for mirror in (1.0, -1.0):
            # Each of the two turns a heading the other way.
            side = back * mirror
            goal = _Goal(x * back, y * mirror, half_round(heading * side), sine * side, cosine)
            words += [_turned(formula(goal), back, mirror) for formula in _REEDS_SHEPP_FORMULAS]
            # From the goal: the pieces in reverse order.
            home = goal._replace(x=goal.x * cosine + goal.y * goal.sine, y=goal.x * goal.sine - goal.y * cosine)
            words += [_turned(_reversed(formula(home)), back, mirror) for formula in _TWO_ENDED]
    return shortest(words, len(x))


def _turned(word: Word, back: float, mirror: float) -> Word:
    """Return a word driven back, or mirrored, where these are -1."""
    return Word(word.mask, [length * back for length in word.lengths], [turn * mirror for turn in word.turns])


def _reversed(word: Word) -> Word:
    return Word(word.mask, word.lengths[::-1], word.turns[::-1])


def _positive(*values: Floats) -> Bools:
    # Lengths of 0 count, whatever rounding has made of them.
    mask = values[0] >= -ROUNDING
    for value in values[1:]:
        mask = mask & (value >= -ROUNDING)
    return np.asarray(mask)


def _reeds_shepp_left_straight_left(goal: _Goal) -> Word:
    u, t = polar(*goal.same_side())
    v = half_round(goal.heading - t)
    return Word(_positive(t, v), (t, u, v), (LEFT, STRAIGHT, LEFT))


def _reeds_shepp_left_straight_right(goal: _Goal) -> Word:
    distance, angle = polar(*goal.other_side())
    # A line that crosses between two circles: their centres are 2 radii apart, or more.
    u = np.sqrt(np.maximum(distance * distance - 4.0, 0.0))
    t = half_round(angle + trig.arctan2(np.full(len(u), 2.0), u))
    v = half_round(t - goal.heading)
    return Word(_positive(distance - 2.0, t, v), (t, u, v), (LEFT, STRAIGHT, RIGHT))


def _reeds_shepp_left_right_left(goal: _Goal) -> Word:
    distance, angle = polar(*goal.same_side())
    # The circle in the middle touches the two others: their centres are 4 radii apart, or less.
    u = -2.0 * trig.arcsin(np.minimum(0.25 * distance, 1.0))
    t = half_round(angle + 0.5 * u + np.pi)
    v = half_round(goal.heading - t + u)
    return Word(_positive(4.0 - distance, t), (t, u, v), (LEFT, RIGHT, LEFT))


def _ends(goal: _Goal, first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Return the first and the last turn of left, right, left, right with the two in the middle given."""
    x, y = goal.other_side()
    delta = half_round(first - second)
    sine, cosine = trig.sin_cos(first)
    other_sine, other_cosine = trig.sin_cos(delta)
    a, b = sine - other_sine, cosine - other_cosine - 1.0
    angle = trig.arctan2(y * a - x * b, x * a + y * b)
    # The angle is known but for half a turn, which the sign of this sum decides.
    turned_mask = 2.0 * (other_cosine - trig.cos(second) - cosine) + 3.0 < 0.0
    t = half_round(np.where(turned_mask, angle + np.pi, angle))
    return t, half_round(t - first + second - goal.heading)


def _four_turns_one_cusp(goal: _Goal) -> Word:
    distance, _ = polar(*goal.other_side())
    share = 0.25 * (2.0 + distance)
    u = trig.arccos(np.minimum(share, 1.0))
    t, v = _ends(goal, u, -u)
    return Word(_positive(1.0 - share, t, -v), (t, u, -u, v), (LEFT, RIGHT, LEFT, RIGHT))


def _four_turns_two_cusps(goal: _Goal) -> Word:
    x, y = goal.other_side()
    share = (20.0 - x * x - y * y) / 16.0
    u = -trig.arccos(np.minimum(np.maximum(share, 0.0), 1.0))
    t, v = _ends(goal, u, u)
    return Word(_positive(share, 1.0 - share, t, v), (t, u, u, v), (LEFT, RIGHT, LEFT, RIGHT))


def _left_right_straight_left(goal: _Goal) -> Word:
    distance, angle = polar(*goal.same_side())
    leg = np.sqrt(np.maximum(distance * distance - 4.0, 0.0))
    u = 2.0 - leg
    t = half_round(angle + trig.arctan2(leg, np.full(len(leg), -2.0)))
    v = half_round(goal.heading - _HALF_PI - t)
    return Word(_positive(distance - 2.0, t, -u, -v), (t, -_HALF_PI, u, v), (LEFT, RIGHT, STRAIGHT, LEFT))


def _left_right_straight_right(goal: _Goal) -> Word:
    x, y = goal.other_side()
    distance, t = polar(-y, x)
    u = 2.0 - distance
    v = half_round(t + _HALF_PI - goal.heading)
    return Word(_positive(distance - 2.0, t, -u, -v), (t, -_HALF_PI, u, v), (LEFT, RIGHT, STRAIGHT, RIGHT))


def _five_pieces(goal: _Goal) -> Word:
    x, y = goal.other_side()
    distance, _ = polar(x, y)
    u = 4.0 - np.sqrt(np.maximum(distance * distance - 4.0, 0.0))
    t = half_round(trig.arctan2((4.0 - u) * x - 2.0 * y, -2.0 * x + (u - 4.0) * y))
    v = half_round(t - goal.heading)
    lengths = (t, -_HALF_PI, u, -_HALF_PI, v)
    return Word(_positive(distance - 2.0, -u, t, v), lengths, (LEFT, RIGHT, STRAIGHT, LEFT, RIGHT))


# Their words are others when they are driven from the goal.
_TWO_ENDED: tuple[Callable[[_Goal], Word], ...] = (
    _reeds_shepp_left_right_left,
    _left_right_straight_left,
    _left_right_straight_right,
)
_REEDS_SHEPP_FORMULAS: tuple[Callable[[_Goal], Word], ...] = (
    *_TWO_ENDED,
    _reeds_shepp_left_straight_left,
    _reeds_shepp_left_straight_right,
    _four_turns_one_cusp,
    _four_turns_two_cusps,
    _five_pieces,
)

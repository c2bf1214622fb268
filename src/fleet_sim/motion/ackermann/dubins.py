"""The shortest curves of cars that do not reverse, and of cars that may arrive with any heading."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.motion.ackermann.curves import (
    LEFT,
    RIGHT,
    STRAIGHT,
    Curves,
    Word,
    once_round,
    polar,
    shortest,
)
from fleet_sim.spatial import trigonometry as trig

_TURN = 2.0 * np.pi


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

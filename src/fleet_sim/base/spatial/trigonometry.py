"""Sines, arctangents, logarithms and powers of e with the same bits on every machine.

Those of NumPy and of the C library are accurate to the last bit or two, and which bits those are depends on their
version and on the processor: with AVX-512 NumPy takes other code than without. One different bit is another run after
some steps. The functions here use only operations that IEEE 754 rounds in one way (sums, products, quotients, square
roots), in a fixed order. State that a run depends on is computed with them; pictures need not be.

The polynomials are those of Sun's fdlibm and of Moshier's Cephes. Results are within three units in the last place,
those near zeros of sine and cosine within 2e-16, for angles up to LARGEST; beyond it the error grows with the angle.
Arguments are finite; others give nan. Functions named `..._of` take and return one float, bit-identical to the others.
"""

from __future__ import annotations

import math
from contextlib import nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt

from fleet_sim.base.arrays import Floats

Numbers = npt.NDArray[np.floating[Any]] | float

LARGEST = 1e5
"""Angle in rad up to which the reduction to a quarter turn is exact."""

FEW = 12
"""Size of arrays up to which the functions of one number, one after the other, are faster."""

_TURN = 2.0 * math.pi
_QUARTERS = 2.0 / math.pi
# Half of pi in three parts. The first two have 33 bits: their products with a count of quarters are exact.
_HALF_PI = (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)
# Of sine and of cosine, highest power first.
_SINE = (
    1.58969099521155010221e-10,
    -2.50507602534068634195e-08,
    2.75573137070700676789e-06,
    -1.98412698298579493134e-04,
    8.33333333332248946124e-03,
    -1.66666666666666324348e-01,
)
_COSINE = (
    -1.13596475577881948265e-11,
    2.08757232129817482790e-09,
    -2.75573143513906633035e-07,
    2.48015872894767294178e-05,
    -1.38888888888741095749e-03,
    4.16666666666666019037e-02,
)
_BOTH = np.array([_SINE, _COSINE]).T[:, :, None]
_ATAN_ABOVE = (
    -8.750608600031904122785e-1,
    -1.615753718733365076637e1,
    -7.500855792314704667340e1,
    -1.228866684490136173410e2,
    -6.485021904942025371773e1,
)
_ATAN_BELOW = (
    2.485846490142306297962e1,
    1.650270098316988542046e2,
    4.328810604912902668951e2,
    4.853903996359136964868e2,
    1.945506571482613964425e2,
)
_ATAN_SPLIT = 0.66
"""Above this, arctan(a) is a quarter of pi and arctan((a - 1) / (a + 1)), which the polynomials are good for."""
_LOG = (
    1.479819860511658591e-01,
    1.531383769920937332e-01,
    1.818357216161805012e-01,
    2.222219843214978396e-01,
    2.857142874366239149e-01,
    3.999999999940941908e-01,
    6.666666666666735130e-01,
)
_LN2 = (6.93147180369123816490e-01, 1.90821492927058770002e-10)
_EXP = (
    4.13813679705723846039e-08,
    -1.65339022054652515390e-06,
    6.61375632143793436117e-05,
    -2.77777777770155933842e-03,
    1.66666666666666019037e-01,
)
_SQRT_HALF = math.sqrt(0.5)


def sin_cos(angles: Numbers) -> tuple[Floats, Floats]:
    """Return the sines and the cosines of `angles` (...), two new arrays of that shape."""
    x = np.ascontiguousarray(angles, np.float64).reshape(-1)
    if len(x) <= FEW:
        both = np.array([sin_cos_of(angle) for angle in x.tolist()]).reshape(-1, 2)
        return both[:, 0].reshape(np.shape(angles)), both[:, 1].reshape(np.shape(angles))
    usual = -LARGEST <= x.min() <= x.max() <= LARGEST
    if not usual:
        with np.errstate(invalid="ignore"):
            x = np.where(np.abs(x) > LARGEST, np.fmod(x, _TURN), x)
    counts = np.rint(x * _QUARTERS)
    rest = x - counts * _HALF_PI[0]
    rest -= counts * _HALF_PI[1]
    rest -= counts * _HALF_PI[2]
    square = rest * rest
    # Both polynomials at once: for small arrays the calls are what takes time.
    sums = np.empty((2, len(x)))
    sums[:] = _BOTH[0]
    for factors in _BOTH[1:]:
        sums *= square
        sums += factors
    sine, cosine = sums
    sine *= square
    sine *= rest
    sine += rest
    half = 0.5 * square
    most = 1.0 - half
    cosine *= square * square
    cosine += (1.0 - most) - half
    cosine += most
    # Casting NaN would warn; switching warnings off costs more than the cast, so only where there may be one.
    with nullcontext() if usual else np.errstate(invalid="ignore"):
        quarters = counts.astype(np.int64)
    swapped_mask = (quarters & 1).astype(np.bool_)
    sines, cosines = np.where(swapped_mask, cosine, sine), np.where(swapped_mask, sine, cosine)
    sines *= 1.0 - (quarters & 2)
    cosines *= 1.0 - ((quarters + 1) & 2)
    shape = np.shape(angles)
    return sines.reshape(shape), cosines.reshape(shape)


def sin(angles: Numbers) -> Floats:
    """Return the sines of `angles` (...)."""
    return sin_cos(angles)[0]


def cos(angles: Numbers) -> Floats:
    """Return the cosines of `angles` (...)."""
    return sin_cos(angles)[1]


def arctan2(y: Numbers, x: Numbers) -> Floats:
    """Return the angles (...) of the vectors (x, y) from the x axis, in [-pi, pi], with the signs of numpy.arctan2."""
    y, x = np.asarray(y, np.float64), np.asarray(x, np.float64)
    if y.size <= FEW and y.shape == x.shape:
        one_by_one = map(atan2_of, y.reshape(-1).tolist(), x.reshape(-1).tolist())
        return np.array(list(one_by_one)).reshape(y.shape)
    up, across = np.abs(y), np.abs(x)
    steep_mask = up > across
    small, large = np.minimum(up, across), np.maximum(up, across)
    split_mask = small > _ATAN_SPLIT * large
    # Of the zero vector the angle is that of its signs: 0 / 1.
    below = np.where(split_mask, small + large, np.where(large == 0.0, 1.0, large))
    a = np.where(split_mask, small - large, small) / below
    square = a * a
    above, under = np.full(np.shape(a), _ATAN_ABOVE[0]), square + _ATAN_BELOW[0]
    for factor in _ATAN_ABOVE[1:]:
        above = above * square + factor
    for factor in _ATAN_BELOW[1:]:
        under = under * square + factor
    angles = a + a * (square * above / under)
    angles = np.where(split_mask, 0.25 * math.pi + angles, angles)
    angles = np.where(steep_mask, 0.5 * math.pi - angles, angles)
    angles = np.where(np.signbit(x), math.pi - angles, angles)
    return np.asarray(np.copysign(angles, y))


def arcsin(sines: Numbers) -> Floats:
    """Return the angles (...) of `sines` in [-1, 1]."""
    return arctan2(sines, np.sqrt((1.0 - sines) * (1.0 + sines)))


def arccos(cosines: Numbers) -> Floats:
    """Return the angles (...) of `cosines` in [-1, 1]."""
    return arctan2(np.sqrt((1.0 - cosines) * (1.0 + cosines)), cosines)


def hypot(x: Numbers, y: Numbers) -> Floats:
    """Return the lengths (...) of the vectors (x, y), which must be below 1e150."""
    return np.asarray(np.sqrt(x * x + y * y))


def hypot_of(x: float, y: float) -> float:
    """Return the length of (`x`, `y`); squares beyond the range of floats are inf."""
    return math.sqrt(x * x + y * y)


def log(values: Numbers) -> Floats:
    """Return the natural logarithms of `values` (...), normal numbers above 0."""
    parts, powers = np.frexp(values)
    low_mask = parts < _SQRT_HALF
    f = np.where(low_mask, 2.0 * parts, parts) - 1.0
    exponents = powers - low_mask.astype(np.float64)
    s = f / (2.0 + f)
    square = s * s
    total = np.full(np.shape(f), _LOG[0])
    for factor in _LOG[1:]:
        total = total * square + factor
    total *= square
    half = 0.5 * f * f
    return np.asarray(exponents * _LN2[0] - ((half - (s * (half + total) + exponents * _LN2[1])) - f))


def exp(values: Numbers) -> Floats:
    """Return e to the power of `values` (...), from -700 to 700."""
    counts = np.rint(np.asarray(values, np.float64) / (_LN2[0] + _LN2[1]))
    high, low = values - counts * _LN2[0], counts * _LN2[1]
    rest = high - low
    square = rest * rest
    total = np.full(np.shape(rest), _EXP[0])
    for factor in _EXP[1:]:
        total = total * square + factor
    share = rest - square * total
    return np.asarray(np.ldexp(1.0 - ((low - rest * share / (2.0 - share)) - high), counts.astype(np.int64)))


def sin_cos_of(angle: float) -> tuple[float, float]:
    """Return the sine and the cosine of one angle."""
    if not -LARGEST <= angle <= LARGEST:
        if not math.isfinite(angle):
            return math.nan, math.nan
        # Of NumPy: numba has no other, and what it compiles are these lines.
        angle = float(np.fmod(angle, _TURN))
    count = round(angle * _QUARTERS)
    rest = angle - count * _HALF_PI[0]
    rest -= count * _HALF_PI[1]
    rest -= count * _HALF_PI[2]
    square = rest * rest
    # Written out: a loop takes twice as long.
    a, b, c, d, e, f = _SINE
    sine = ((((a * square + b) * square + c) * square + d) * square + e) * square + f
    sine = sine * square * rest + rest
    a, b, c, d, e, f = _COSINE
    cosine = ((((a * square + b) * square + c) * square + d) * square + e) * square + f
    half = 0.5 * square
    most = 1.0 - half
    cosine = cosine * (square * square) + ((1.0 - most) - half) + most
    if count & 1:
        sine, cosine = cosine, sine
    return sine * (1 - (count & 2)), cosine * (1 - ((count + 1) & 2))


def atan2_of(y: float, x: float) -> float:
    """Return the angle of one vector (x, y), in [-pi, pi]."""
    up, across = abs(y), abs(x)
    small, large = (across, up) if up > across else (up, across)
    # Not a number, or no finite one: as `arctan2` does, without a warning.
    if not small <= large < math.inf:
        return math.nan
    split = small > _ATAN_SPLIT * large
    a = (small - large) / (small + large) if split else small / (large or 1.0)
    square = a * a
    b, c, d, e, f = _ATAN_ABOVE
    above = (((b * square + c) * square + d) * square + e) * square + f
    b, c, d, e, f = _ATAN_BELOW
    under = ((((square + b) * square + c) * square + d) * square + e) * square + f
    angle = a + a * (square * above / under)
    if split:
        angle = 0.25 * math.pi + angle
    if up > across:
        angle = 0.5 * math.pi - angle
    if math.copysign(1.0, x) < 0.0:
        angle = math.pi - angle
    return math.copysign(angle, y)

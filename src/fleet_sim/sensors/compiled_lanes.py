"""Drawing discs and edges ray by ray, by compiled code, with the bits of `raster` and `edges`."""

from __future__ import annotations

import math

from fleet_sim.arrays import Floats, Ints
from fleet_sim.kernels import compiled_step


@compiled_step
def draw_disc_rays(
    pairs: Ints,
    starts: Ints,
    counts: Ints,
    bases: Ints,
    x: Floats,
    y: Floats,
    squares: Floats,
    cosines: Floats,
    sines: Floats,
    ranges: Floats,
) -> None:
    """Draw `counts` (S,) rays from `starts` (S,) on for each span of a pair of a sensor and a disc.

    Pairs (P,) have their centre at `x`, `y` in the sensor's frame, the square of their radius, and in `bases` the place
    of the sensor's first ray in `ranges`, whose directions have `cosines` and `sines` (M,).
    """
    for span in range(len(pairs)):
        pair = pairs[span]
        dx, dy, square, base = x[pair], y[pair], squares[pair], bases[pair]
        for ray in range(starts[span], starts[span] + counts[span]):
            offset = dx * sines[ray] - dy * cosines[ray]
            rest = square - offset * offset
            depth = math.sqrt(rest if rest > 0.0 else 0.0)
            _keep_nearer(ranges, base + ray, dx * cosines[ray] + dy * sines[ray] - depth)


@compiled_step
def draw_edge_rays(
    pairs: Ints,
    starts: Ints,
    counts: Ints,
    bases: Ints,
    crossed: Floats,
    x: Floats,
    y: Floats,
    cosines: Floats,
    sines: Floats,
    ranges: Floats,
) -> None:
    """Draw the same for edges that run along `x`, `y` (P,); `crossed` (P,) is a point of theirs times this."""
    for span in range(len(pairs)):
        pair = pairs[span]
        ex, ey, cross, base = x[pair], y[pair], crossed[pair], bases[pair]
        for ray in range(starts[span], starts[span] + counts[span]):
            _keep_nearer(ranges, base + ray, cross / (cosines[ray] * ey - sines[ray] * ex))


@compiled_step
def _keep_nearer(ranges: Floats, place: int, found: float) -> None:
    known = ranges[place]
    # As `np.minimum`: a number that is none stays.
    if known == known and not found >= known:
        ranges[place] = found

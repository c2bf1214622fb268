"""Smoothing: from a way along cells to few straight lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Point = tuple[float, float]


def pulled(points: Sequence[Point], sees: Callable[[Point, Point], bool]) -> list[Point]:
    """Return the first, the last and as few of the `points` between as sight allows, pulled tight from the first on.

    Lines between neighbours are taken as they are; any other line is in the result only if `sees(begin, end)`.
    """
    kept, at, last = [points[0]], 0, len(points) - 1
    while at < last:
        at = _farthest(points, at, sees)
        kept.append(points[at])
    return kept


def _farthest(points: Sequence[Point], at: int, sees: Callable[[Point, Point], bool]) -> int:
    """Return the index of a point that is seen from that at `at`, far ahead: by doubling, then by halving the range."""
    last, best, stride = len(points) - 1, at + 1, 2
    while best < last:
        ahead = min(at + stride, last)
        if not sees(points[at], points[ahead]):
            break
        best, stride = ahead, 2 * stride
    else:
        return best
    low, high = best, min(at + stride, last)
    while high - low > 1:
        middle = (low + high) // 2
        if sees(points[at], points[middle]):
            low = middle
        else:
            high = middle
    return low

"""Rectangles that cover a mask: the walls and shelves of a site as few boxes."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Ints


def rectangles(mask: Bools) -> Ints:
    """Return rectangles (K, 4) of top, left, bottom, right that cover the true cells of `mask` (H, W) exactly once.

    `bottom` and `right` are the first row and column outside. Runs of cells in a row are joined with equal runs below
    them: shelves and walls along an axis become one rectangle each.
    """
    height = mask.shape[0]
    edges = np.diff(np.pad(mask, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    rows, lefts = np.nonzero(edges > 0)
    # Both lists are in the order of rows, then columns, so that they belong together.
    rights = np.nonzero(edges < 0)[1]
    found: list[tuple[int, int, int, int]] = []
    open_runs: dict[tuple[int, int], int] = {}
    starts = np.searchsorted(rows, np.arange(height + 1)).tolist()
    runs = list(zip(lefts.tolist(), rights.tolist(), strict=True))
    for row in range(height + 1):
        here = dict.fromkeys(runs[starts[row] : starts[row + 1]] if row < height else ())
        ended = [run for run in open_runs if run not in here]
        found += [(open_runs.pop(run), run[0], row, run[1]) for run in ended]
        for run in here:
            open_runs.setdefault(run, row)
    return np.array(sorted(found), np.int64).reshape(-1, 4)

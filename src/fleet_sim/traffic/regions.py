"""Regions: which nodes of a network are connected at all."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Ints
from fleet_sim.kernels import compiled


def regions_of(neighbours: Ints) -> Ints:
    """Return the number of the region (N,) of each node; nodes of different regions have no lanes between them.

    Lanes count in both directions: within a region a way may still be missing.
    """
    begins, slots = np.nonzero(neighbours >= 0)
    ends = neighbours[begins, slots]
    # Both ways: a region is what hangs together, whatever the direction of its lanes.
    origins, tos = np.concatenate((begins, ends)), np.concatenate((ends, begins))
    order = np.argsort(origins, kind="stable")
    firsts = np.searchsorted(origins[order], np.arange(len(neighbours) + 1))
    return _labelled(firsts, tos[order])


@compiled
def _labelled(firsts: Ints, ends: Ints) -> Ints:
    """Return the number of the region of each node (N,); `ends[firsts[n] : firsts[n + 1]]` are the neighbors of n.

    Regions are numbered by their first nodes, from 0.
    """
    count = len(firsts) - 1
    labels = np.full(count, -1)
    stack = np.empty(count, np.int64)
    label = 0
    for start in range(count):
        if labels[start] >= 0:
            continue
        # A stack of its own: recursion would be as deep as the region is large.
        labels[start], stack[0], depth = label, start, 1
        while depth:
            depth -= 1
            node = stack[depth]
            for at in range(firsts[node], firsts[node + 1]):
                if labels[ends[at]] < 0:
                    labels[ends[at]] = label
                    stack[depth] = ends[at]
                    depth += 1
        label += 1
    return labels

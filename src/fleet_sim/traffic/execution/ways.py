"""The arrays of the dependency graph, as kernels take them."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fleet_sim.arrays import Bools, Ints

Small: TypeAlias = npt.NDArray[np.int32]


class Ways(NamedTuple):
    """The ways of robots, by row: `nodes` and `lanes` (into each node) (rows, W), `needs` (rows, W, 1 + C).

    A node may be entered when it was left `needs[..., 0]` times since the last plan, and the c-th claim of the lane
    into it `needs[..., 1 + c]` times. Those are the uses that the plan puts before this one. Where `bends`
    (rows, W), the lane into the node is not straight on from the lane before. `rounds` (rows, W) are the numbers of the
    rotations in which nodes are entered, 0 for none; `leaders` (rows, W) the rows of those who use the nodes directly
    before, -1 for nobody.
    """

    nodes: Small
    lanes: Small
    needs: Small
    bends: Bools
    rounds: Small
    leaders: Ints


class Rounds(NamedTuple):
    """Rotations of the latest plan by number, from 1 on: robots that move round in a circle at once.

    `sizes` are how many robots each has; 0: it need not be at once, as one of them is gone. `ready` and `leaders`, the
    least rows, are scratch.
    """

    sizes: Small
    ready: Small
    leaders: Ints


class Uses(NamedTuple):
    """Uses of each resource, nodes and crossings, since the last plan: how many ended (`left`) and are known (`given`).

    `last` is the row of the latest known one, -1 for none, and `first` its need.
    """

    left: Small
    given: Small
    last: Ints
    first: Small


class Marks(NamedTuple):
    """The columns of TrafficColumns that say where on their ways robots are."""

    behind: Ints
    at: Ints
    granted: Ints
    length: Ints
    digest: Ints

"""Policies: when to plan."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from fleet_sim.base.arrays import Floats, Ints
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.registry import Registry, subclasses_of
from fleet_sim.base.spatial.shapes import distances_to_lines


@dataclass(frozen=True)
class Situation:
    """What a policy decides by.

    `changed` says that a goal, a closed place, an obstacle or the robots themselves changed since the last plan;
    `standing` that no robot moves; `spent` that some robot has driven all that was planned for it and is not at its
    goal.
    """

    changed: bool
    standing: bool
    spent: bool


class Policy(ABC):
    """Decides whether to plan now; asked in each step when the period has passed since the last plan."""

    @abstractmethod
    def plans(self, situation: Situation) -> bool:
        """Return whether to plan before this step."""


class Period(Policy):
    """Plans each period, whatever happens."""

    def plans(self, situation: Situation) -> bool:
        """Return True."""
        return True


class AllStopped(Policy):
    """Plans when all robots stand and there is something to plan for."""

    def plans(self, situation: Situation) -> bool:
        """Return whether all robots stand, and there is something to plan for."""
        return situation.standing and (situation.changed or situation.spent)


class OnDemand(Policy):
    """Plans when something changed, or a robot has driven all that was planned for it."""

    def plans(self, situation: Situation) -> bool:
        """Return whether there is something to plan for."""
        return situation.changed or situation.spent


class Given(Policy):
    """Never plans: robots drive the paths that they are given, see `Traffic.drive_rows`."""

    def plans(self, situation: Situation) -> bool:
        """Return False."""
        return False


POLICIES: Registry[type[Policy]] = Registry(
    "traffic policy",
    subclasses_of(Policy),
    group="fleet_sim.traffic_policy",
    built_in={"period": Period, "all_stopped": AllStopped, "on_demand": OnDemand, "given": Given},
)
"""Classes of policies by name; `find` takes dotted paths, too."""


# Claims: what else a move needs for itself, where nodes and lanes are nearer to each other than two footprints.


TOUCH = 1e-9
"""Robots that are less than this nearer than they may be, in m, only touch."""


@dataclass(frozen=True, eq=False)
class Claims:
    """Resources that moves hold beside the node that they lead to; empty on a grid of cells that hold a robot each.

    Resources 0 to N - 1 are the nodes, further ones crossings of two lanes. The move from node u to its k-th neighbour
    holds `ids[begins[u * K + k] : begins[u * K + k + 1]]` while it lasts. A robot that waits holds its own node. No two
    robots hold one resource in the same step; and who needs a node that another one leaves moves after that one.
    """

    begins: Ints = field(default_factory=lambda: np.zeros(1, np.int64))
    ids: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    def __bool__(self) -> bool:
        return bool(len(self.ids))

    def check(self, nodes: int, moves: int) -> None:
        """Raise InvalidValueError unless these fit a network of `nodes` with up to `moves` from each."""
        begins, ids = self.begins, self.ids
        # None at all, which is the usual network.
        if not len(ids) and len(begins) == 1:
            return
        if begins.shape != (nodes * moves + 1,) or (np.diff(begins) < 0).any():
            raise InvalidValueError(f"claims: expected {nodes * moves + 1} ascending begins, got shape {begins.shape}")
        if begins[0] != 0 or begins[-1] != len(ids) or ids.min(initial=0) < 0:
            raise InvalidValueError("claims: begins must lead from 0 to the number of ids, which are not negative")

    def resources(self, nodes: int) -> int:
        """Return how many resources there are in a network of `nodes`."""
        return max(nodes, int(self.ids.max(initial=-1)) + 1)

    def of(self, move: int) -> Ints:
        """Return what the move number `move`, u * K + k, holds beside its end."""
        return self.ids[self.begins[move] : self.begins[move + 1]] if self else self.ids


def claims_of(positions: Floats, neighbours: Ints, room: float) -> Claims:
    """Return the claims of straight lanes between `positions` (N, 2) for robots that stay `room` m apart, centre to
    centre.

    A lane claims the nodes that are too near to it, other than its own ends, and its crossings: pairs of lanes that
    come too near to each other, none of which claims an end of the other. With such a claim one follows the other.
    """
    # All moves that exist, lane by lane.
    begins, columns = np.nonzero(neighbours >= 0)
    ends = neighbours[begins, columns]
    starts, stops = positions[begins], positions[ends]
    moves = begins * neighbours.shape[1] + columns
    lanes = np.arange(len(moves))
    near = np.array([distances_to_lines(positions, starts[lane], stops[lane]) < room - TOUCH for lane in lanes])
    near = near.reshape(len(lanes), len(positions))
    # Its own ends are no claim: a move holds them anyway.
    near[lanes, begins] = near[lanes, ends] = False
    claimed: list[list[int]] = [[] for _ in range(neighbours.size)]
    crossing = len(positions)
    for lane in range(len(moves)):
        claimed[moves[lane]] += np.flatnonzero(near[lane]).tolist()
        later = lanes[lane + 1 :]
        meets = _gaps_to_lanes(starts[lane], stops[lane], starts[later], stops[later]) < room - TOUCH
        # Lanes that share a node, or of which one passes the other's end, are kept apart by that node already.
        for one in (begins[lane], ends[lane]):
            meets &= (begins[later] != one) & (ends[later] != one) & ~near[later, one]
        meets &= ~near[lane, begins[later]] & ~near[lane, ends[later]]
        for other in later[meets].tolist():
            claimed[moves[lane]].append(crossing)
            claimed[moves[other]].append(crossing)
            crossing += 1
    counts = np.array([len(ids) for ids in claimed], np.int64)
    return Claims(
        np.concatenate(([0], np.cumsum(counts))), np.array([number for ids in claimed for number in ids], np.int64)
    )


def _gaps_to_lanes(start: Floats, stop: Floats, starts: Floats, stops: Floats) -> Floats:
    """Return the distances (M,) between one line and those from `starts` to `stops` (M, 2)."""
    # The nearest point may be an end of either lane.
    ends = [distances_to_lines(points, start, stop) for points in (starts, stops)]
    ends += [distances_to_lines(point, starts, stops) for point in (start, stop)]
    gaps = np.min(ends, axis=0)
    # Lines that cross have a distance of zero, though no end is near.
    sides = _sides(start, stop, starts) * _sides(start, stop, stops) < 0.0
    across = _sides(starts, stops, start) * _sides(starts, stops, stop) < 0.0
    return np.where(sides & across, 0.0, gaps)


def _sides(start: Floats, stop: Floats, points: Floats) -> Floats:
    along, to = stop - start, points - start
    return np.asarray(along[..., 0] * to[..., 1] - along[..., 1] * to[..., 0])

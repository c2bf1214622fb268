"""Recipients of a command: the named entities that accept it, and the reasons for rejecting others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fleet_sim.arrays import AnyArray, Bools, Floats, Ints, Rows
from fleet_sim.core.addresses import NamedRows
from fleet_sim.core.schema import KIND_AGENT, NO_ROW
from fleet_sim.core.world import World
from fleet_sim.entities import drive
from fleet_sim.errors import InvalidValueError
from fleet_sim.gate.bounds import LARGEST_SPEED, beyond, inside_mask
from fleet_sim.spatial import quaternions


class Recipients:
    """The entities named by a command: `rows` and `indices` (into the command's arrays) of the accepted ones.

    Names are converted to rows here, once, and all checks use columns: only rejected entities cost time one by one. If
    a name is given several times, the first entry counts and the others are rejected: the name is then among the
    accepted `names` and, as "duplicate target", among the `rejected`.
    """

    rows: Rows
    indices: Ints

    def __init__(self, world: World, names: Sequence[str]) -> None:
        """Raises InvalidValueError if `names` are not strings."""
        self._world = world
        self._given = names
        self._reasons: dict[int, str] = {}
        known = names.rows_in(world) if isinstance(names, NamedRows) else None
        rows = world.index.rows_named(names) if known is None else known
        self.rows, self.indices = rows, np.arange(len(rows))
        # Before duplicates are looked for: as rows all unknown names are the same.
        if known is None:
            self.reject(rows == NO_ROW, "unknown robot")
        self._reject_duplicates()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the accepted entities, in the given order."""
        if len(self.indices) == len(self._given):
            return tuple(self._given)
        return tuple([self._given[index] for index in self.indices.tolist()])

    @property
    def rejected(self) -> dict[str, str]:
        """The reasons for rejecting the others, by name, in the given order."""
        rejected: dict[str, str] = {}
        for index in sorted(self._reasons):
            # The first reason counts, where a name was given several times.
            rejected.setdefault(self._given[index], self._reasons[index])
        return rejected

    def reject(self, bad_mask: AnyArray, reason: str | Callable[[int], str]) -> None:
        """Reject those in `bad_mask`, aligned with `rows`; `reason` is a text, or called with each one's row."""
        if not bad_mask.any():
            return
        for index, row in zip(self.indices[bad_mask].tolist(), self.rows[bad_mask].tolist(), strict=True):
            self._reasons[index] = reason if isinstance(reason, str) else reason(row)
        self.rows, self.indices = self.rows[~bad_mask], self.indices[~bad_mask]

    def reject_for(self, reasons: Mapping[int, str]) -> None:
        """Reject, by row, those that have a reason other than ""."""
        bad = [row for row, reason in reasons.items() if reason]
        if bad:
            self.reject(np.isin(self.rows, bad), reasons.__getitem__)

    def _reject_duplicates(self) -> None:
        rows = self.rows
        order = np.arange(len(rows))
        # Never filled: only the entries of given rows are read. Faster than sorting the rows.
        first = np.empty(self._world.capacity, np.int64)
        # Written in reverse order, so that for repeated rows the first entry is written last and wins.
        first[rows[::-1]] = order[::-1]
        self.reject(first[rows] != order, "duplicate target")

    # ---- checks ------------------------------------------------------------------------------------------------------

    def reject_others_than_robots(self) -> None:
        """Reject entities that are not robots."""
        self.reject(self._world.kind[self.rows] != KIND_AGENT, "not a robot")

    def reject_immovable(self) -> None:
        """Reject entities that cannot drive: objects, robots with a fixed base, and carried ones."""
        self.reject_others_than_robots()
        self.reject(self._world.motion.law[self.rows] == 0, "it has a fixed base and cannot move")
        self.reject_carried()
        for rule in self._world.drive_rules:
            self.reject(rule.refuses(self.rows), rule.reason)

    def reject_carried(self) -> None:
        """Reject entities that are carried, as they follow their carrier."""
        world = self._world
        self.reject(
            world.parent[self.rows] != NO_ROW, lambda row: f"it is carried by {world.label(int(world.parent[row]))!r}"
        )

    def reject_jointless(self) -> None:
        """Reject entities without joints."""
        self.reject(self._world.robots.joint_count[self.rows] == 0, "it has no joints that move")

    def keep(self, good_mask: Bools, reason: str) -> None:
        """Reject those outside `good_mask`, aligned with `rows`."""
        self.reject(~good_mask, reason)

    # ---- values ------------------------------------------------------------------------------------------------------

    def poses(self, positions: Any, orientations: Any) -> tuple[Floats, Floats]:
        """Return the poses of the accepted ones, (K, 3) and unit (K, 4), out of those given for all names.

        Rejects poses that are not finite, are outside the world's extent or have a zero quaternion. Raises
        InvalidValueError for arrays of another shape.
        """
        count = len(self._given)
        points = shaped(positions, (count, 3), "positions")[self.indices]
        turns = shaped(orientations, (count, 4), "orientations")[self.indices]
        good_mask: Bools = np.logical_and(np.isfinite(points).all(axis=1), np.isfinite(turns).all(axis=1))
        # Zeros have no direction, so they cannot be normalised; NaN is already left out here.
        good_mask[good_mask] = np.abs(turns[good_mask]).max(axis=1, initial=0.0) > 1e-6
        self.keep(good_mask, "pose is not finite, or its quaternion is zero")
        points, turns = points[good_mask], turns[good_mask]
        inside = inside_mask(points, self._world.extent)
        self.keep(inside, beyond(self._world.extent))
        return points[inside], quaternions.normalized(turns[inside])

    def free_poses(self, positions: Floats, orientations: Floats) -> tuple[Floats, Floats]:
        """Reject those that stop at obstacles and are sent into a static body; return the poses of the others."""
        ones = np.ones(len(self.rows), np.int64)
        inside = drive.goals_inside(self._world, self.rows, ones, positions, orientations)
        if not inside:
            return positions, orientations
        free_mask = ~np.isin(self.rows, list(inside))
        self.reject_for({row: drive.inside_text(self._world, *where) for row, where in inside.items()})
        return positions[free_mask], orientations[free_mask]


def shaped(values: Any, shape: tuple[int, int], what: str) -> Floats:
    """Return `values` as floats of `shape`, finite or not; raises InvalidValueError."""
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidValueError(f"{what}: expected numbers of shape {shape}, got {values!r}") from error
    if array.shape != shape:
        raise InvalidValueError(f"{what}: expected shape {shape}, got {array.shape}")
    return array


def keep_sane(world: World, to: Recipients, linear: Floats, angular: Floats) -> tuple[Floats, Floats]:
    """Reject those of `to` whose velocity is none that they can have; return the velocities (K, 3) of the others."""
    linear, angular = _keep_finite(to, linear, angular)
    lifted_mask = drive.out_of_plane(world, to.rows, linear, angular)
    if not np.count_nonzero(lifted_mask):
        return linear, angular
    to.reject(lifted_mask, lambda row: drive.out_of_plane_text(world, row))
    return linear[~lifted_mask], angular[~lifted_mask]


def _keep_finite(to: Recipients, linear: Floats, angular: Floats) -> tuple[Floats, Floats]:
    """Reject those of `to` whose velocity is not a number or too large; return the velocities (K, 3) of the others."""
    # The usual case. Looking at rows of three numbers takes several times as long as looking at all of them.
    # Of a number that is none, comparisons are false.
    if np.abs(linear).max(initial=0.0) <= LARGEST_SPEED and np.abs(angular).max(initial=0.0) <= LARGEST_SPEED:
        return linear, angular
    good_mask: Bools = np.logical_and(np.isfinite(linear).all(axis=1), np.isfinite(angular).all(axis=1))
    # `keep` drops the others from the recipients, so the arrays must be cut by the same mask.
    to.keep(good_mask, "velocity is not finite")
    linear, angular = linear[good_mask], angular[good_mask]
    bounded_mask: Bools = inside_mask(linear, LARGEST_SPEED) & inside_mask(angular, LARGEST_SPEED)
    to.keep(bounded_mask, f"velocity is beyond {LARGEST_SPEED:g} m/s or rad/s")
    return linear[bounded_mask], angular[bounded_mask]

"""Moving bodies, and pairs of one and a standing obstacle, measured at any time of the motion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints, Rows
from fleet_sim.collision.distances import distances_between, upright_mask
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.spatial.quaternions import turned, turns_between
from fleet_sim.spatial.shapes import ShapeArrays, ShapeKind

Poses: TypeAlias = tuple[Floats, Floats]
# Given pairs (K, 2) of (mover row, obstacle row), poses of the collision shapes of the movers, (K, 3) and (K, 4), and
# of the obstacles, and a distance, return signed distances (K,); anything above the given distance may be infinite.
PosedDistanceSolver: TypeAlias = Callable[[Ints, Poses, Poses, float], Floats]


@dataclass(frozen=True)
class Motion:
    """K bodies that each go in a straight line, turning at a constant rate, from time 0 to time 1."""

    start: ShapeArrays
    end_positions: Floats
    end_orientations: Floats
    travels: Floats
    """The farthest (K,) any point of each body can move."""
    turns: Bools
    """Whether each (K,) turns at all."""
    spins: Floats
    """Axis times angle (K, 3) in rad by which each turns."""

    @classmethod
    def between(cls, start: ShapeArrays, end_positions: Floats, end_orientations: Floats) -> Motion:
        """Return the motion of bodies at `start` to positions (K, 3) and orientations (K, 4)."""
        turns = (end_orientations != start.orientations).any(axis=1)
        travels, spins = _travels(start, end_positions, end_orientations), np.zeros((len(turns), 3))
        turning = np.flatnonzero(turns)
        if len(turning):
            spins[turning] = turns_between(start.orientations[turning], end_orientations[turning])
        return cls(start, end_positions, end_orientations, travels, turns, spins)

    def take(self, places: Rows) -> Motion:
        """Return the bodies at `places`."""
        return Motion(*self.columns(places))

    def columns(self, places: Rows) -> tuple[ShapeArrays, Floats, Floats, Floats, Bools, Floats]:
        """Return the fields of the bodies at `places`."""
        return (
            self.start.take(places),
            self.end_positions.take(places, axis=0),
            self.end_orientations.take(places, axis=0),
            self.travels.take(places),
            self.turns.take(places),
            self.spins.take(places, axis=0),
        )

    def at(self, times: Floats) -> ShapeArrays:
        """Return the bodies, each at its own time (K,)."""
        start = self.start
        positions = start.positions + (self.end_positions - start.positions) * times[:, None]
        orientations = start.orientations
        turning = np.flatnonzero(self.turns)
        if len(turning):
            orientations = orientations.copy()
            orientations[turning] = turned(start.orientations[turning], self.spins[turning], times[turning])
        return start.at(positions, orientations)


def _travels(start: ShapeArrays, end_positions: Floats, end_orientations: Floats) -> Floats:
    half, shift = start.half_extents, end_positions - start.positions
    length = np.sqrt(shift[:, 0] ** 2 + shift[:, 1] ** 2 + shift[:, 2] ** 2)
    radius = np.sqrt(half[:, 0] ** 2 + half[:, 1] ** 2 + half[:, 2] ** 2)
    # No point moves farther than the centre does plus the rotation angle times the radius of the bounding ball.
    products = start.orientations * end_orientations
    same = np.abs(products[:, 0] + products[:, 1] + products[:, 2] + products[:, 3])
    return np.asarray(length + 2.0 * trig.arccos(np.minimum(same, 1.0)) * radius)


@dataclass(frozen=True)
class Measure:
    """Measures pairs of bodies, by compiled code if that is in use; what has no formula is measured by `solve`."""

    solve: PosedDistanceSolver | None
    compiled: bool

    def __call__(self, first: ShapeArrays, second: ShapeArrays, rows: Ints, reach: float) -> Floats:
        """Return signed distances (K,) of pairs of bodies of `rows` (K, 2); beyond `reach` they may be infinite."""
        distances, open_mask = distances_between(first, second, reach=reach, compiled=self.compiled)
        rest = np.flatnonzero(open_mask)
        if len(rest):
            distances[rest] = np.inf
            if self.solve is not None:
                poses = [(shapes.positions[rest], shapes.orientations[rest]) for shapes in (first, second)]
                distances[rest] = self.solve(rows[rest], poses[0], poses[1], reach)
        return distances


@dataclass(frozen=True)
class Sweep(Motion):
    """K pairs of a moving body and a standing obstacle."""

    obstacles: ShapeArrays
    rows: Ints
    measure: Measure

    def take(self, places: Rows) -> Sweep:
        """Return the pairs at `places`."""
        return Sweep(*self.columns(places), self.obstacles.take(places), self.rows[places], self.measure)

    def distances(self, times: Floats, reach: float) -> Floats:
        """Return signed distances (K,), each mover at its own time; beyond `reach` they may be infinite."""
        return self.measure(self.at(times), self.obstacles, self.rows, reach)

    def convex_mask(self) -> Bools:
        """Return which pairs (K,) have a distance that is convex in time."""
        # The signed distance of two convex shapes is a convex function of their relative translation. Rotation does
        # not change a sphere, nor an upright cylinder or capsule that turns about its axis.
        start, obstacle = self.start, self.obstacles
        convex = (start.kinds <= ShapeKind.PLANE) & (obstacle.kinds <= ShapeKind.PLANE)
        still = ~self.turns
        round_mask = (start.kinds == ShapeKind.CYLINDER) | (start.kinds == ShapeKind.CAPSULE)
        upright = upright_mask(start) & upright_mask(start.at(self.end_positions, self.end_orientations))
        return np.asarray(convex & (still | (start.kinds == ShapeKind.SPHERE) | (round_mask & upright)))

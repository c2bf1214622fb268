"""Rows that move in the plane, as arrays."""

from __future__ import annotations

from typing import TypeVar

from fleet_sim.arrays import AnyArray, Floats, Rows
from fleet_sim.core.world import World
from fleet_sim.spatial import quaternions

Copied = TypeVar("Copied", bound=AnyArray)


def read_only(copy: Copied) -> Copied:
    """Return a copy of columns such that writing into it, which would change nothing, raises ValueError."""
    copy.flags.writeable = False
    return copy


class PlanarRows:
    """How rows of a world look and move in the plane: arrays of the shape of `rows`, read again at each access.

    They cannot be written: they are copies.

    Headings are in (-pi, pi] rad from the x axis, counter-clockwise.
    """

    def __init__(self, columns: World, rows: Rows) -> None:
        self.columns = columns
        self.rows = rows

    @property
    def headings(self) -> Floats:
        """Which way they look, in rad."""
        # Of a list: quaternions are the last axis of what is read.
        return read_only(quaternions.yaws(self.columns.orientation[self.rows.reshape(-1)]).reshape(self.rows.shape))

    @property
    def linear(self) -> Floats:
        """Speeds along their headings, in m/s."""
        speeds: Floats = self.columns.motion.body_linear[self.rows, 0]
        return read_only(speeds)

    @property
    def angular(self) -> Floats:
        """Turning speeds, in rad/s, counter-clockwise."""
        turns: Floats = self.columns.motion.body_angular[self.rows, 2]
        return read_only(turns)

    @property
    def velocities(self) -> Floats:
        """Velocities (..., 2) in the world frame, in m/s."""
        velocities: Floats = self.columns.velocity[self.rows, :2]
        return read_only(velocities)

"""Axis-aligned boxes inflated by the margin, in a memory layout for fast comparison of pairs."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from fleet_sim.arrays import Bools, Floats, Rows

RowPairs = tuple[Rows, Rows]

# In metres. A box that reaches farther is compared with all others: a cell index would no longer locate it.
FAR = 1e12


class Boxes:
    """N boxes; the upper corners already include the margin.

    Two boxes pair when, on every axis, the lower corner of each is <= the (inflated) upper corner of the
    other. `plane` (N, 4) is lower x, lower y, upper x, upper y: gathering a row of four numbers costs no more
    than gathering one number. `lower_z` and `upper_z` (N,) are compared only for pairs that overlap in x and y.
    """

    def __init__(self, plane: Floats, lower_z: Floats, upper_z: Floats) -> None:
        self.plane = plane
        self.lower_z = lower_z
        self.upper_z = upper_z

    @classmethod
    def from_corners(cls, lower: Floats, upper: Floats, margin: float) -> Boxes:
        """Return boxes from corners (N, 3)."""
        # Only upper corners get the margin: one rounding, so that the test is the documented one to the last bit.
        plane = np.empty((len(lower), 4))
        plane[:, 0] = lower[:, 0]
        plane[:, 1] = lower[:, 1]
        np.add(upper[:, 0], margin, out=plane[:, 2])
        np.add(upper[:, 1], margin, out=plane[:, 3])
        return cls(plane, np.ascontiguousarray(lower[:, 2]), upper[:, 2] + margin)

    def __len__(self) -> int:
        return len(self.plane)

    def take(self, rows: Rows) -> Boxes:
        """Return the boxes of `rows`, in that order."""
        return Boxes(self.plane.take(rows, axis=0), self.lower_z.take(rows), self.upper_z.take(rows))

    def lower(self, axis: int) -> Floats:
        """Return the lower corners (N,) along an axis."""
        return self.plane[:, axis] if axis < 2 else self.lower_z

    def upper(self, axis: int) -> Floats:
        """Return the inflated upper corners (N,) along an axis."""
        return self.plane[:, axis + 2] if axis < 2 else self.upper_z

    @cached_property
    def low(self) -> tuple[float, float]:
        """The least lower corners along x and y."""
        return float(np.minimum.reduce(self.plane[:, 0])), float(np.minimum.reduce(self.plane[:, 1]))

    @cached_property
    def high(self) -> tuple[float, float]:
        """The largest upper corners along x and y."""
        return float(np.maximum.reduce(self.plane[:, 2])), float(np.maximum.reduce(self.plane[:, 3]))

    @cached_property
    def widths(self) -> tuple[float, float]:
        """The largest extents along x and y, margin included."""
        plane = self.plane
        return (
            float(np.maximum.reduce(plane[:, 2] - plane[:, 0])),
            float(np.maximum.reduce(plane[:, 3] - plane[:, 1])),
        )

    @cached_property
    def one_floor(self) -> bool:
        """Whether all boxes overlap in height, so that z need not be compared."""
        return bool(np.maximum.reduce(self.lower_z) <= np.minimum.reduce(self.upper_z))

    @property
    def all_near(self) -> bool:
        """Whether all corners in x and y are finite and within `FAR`."""
        (low_x, low_y), (high_x, high_y) = self.low, self.high
        return low_x >= -FAR and low_y >= -FAR and high_x <= FAR and high_y <= FAR

    @property
    def near_mask(self) -> Bools:
        """Which boxes (N,) have all corners in x and y within `FAR`."""
        plane = self.plane
        mask = (plane[:, 0] >= -FAR) & (plane[:, 1] >= -FAR)
        mask &= plane[:, 2] <= FAR
        mask &= plane[:, 3] <= FAR
        return mask

    @property
    def plane_extents(self) -> Floats:
        """The larger extent (N,) in the plane, margin included."""
        return np.maximum(self.plane[:, 2] - self.plane[:, 0], self.plane[:, 3] - self.plane[:, 1])


def near_in_plane(a: Floats, first: Rows, b: Floats, second: Rows) -> RowPairs:
    """Return the candidates (M,) whose row first[k] of plane `a` pairs in x and y with second[k] of `b`."""
    one, other = a.take(first, axis=0), b.take(second, axis=0)
    # Comparisons with NaN are False, so a box with NaN pairs with nothing.
    mask = other[:, 0] <= one[:, 2]
    mask &= other[:, 1] <= one[:, 3]
    mask &= one[:, 0] <= other[:, 2]
    mask &= one[:, 1] <= other[:, 3]
    left = np.flatnonzero(mask)
    return first.take(left), second.take(left)


def near_in_height(a: Boxes, first: Rows, b: Boxes, second: Rows) -> RowPairs:
    """Return the candidates (M,) whose box first[k] of `a` pairs in height with second[k] of `b`."""
    if a is b and a.one_floor:
        return first, second
    mask = b.lower_z.take(second) <= a.upper_z.take(first)
    mask &= a.lower_z.take(first) <= b.upper_z.take(second)
    return first[mask], second[mask]


def one_against_all(a: Boxes, row: int, b: Boxes) -> Rows:
    """Return the indices of all boxes of `b` that pair with box `row` of `a`."""
    mask = np.ones(len(b), bool)
    for axis in range(3):
        mask &= b.lower(axis) <= a.upper(axis)[row]
        mask &= a.lower(axis)[row] <= b.upper(axis)
    return np.flatnonzero(mask)

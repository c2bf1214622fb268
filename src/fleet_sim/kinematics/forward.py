"""Forward kinematics: the frames of the bodies of many robots of one model.

Arrays are laid out by component, then body, then robot. All values of a robot are computed from its own values alone,
in a fixed order: its result is the same bit for bit, however many robots are computed together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.kinematics.tree import Tree
from fleet_sim.spatial import trigonometry as trig

ORIGIN = 3
"""The column of a frame that holds its origin; the columns before it are its axes."""
CHUNK = 1024
"""Robots computed at once, few enough that the temporary arrays stay in the processor's cache."""


class _Level(NamedTuple):
    """Bodies of one depth: views of their frames, of their parents' frames, and of the steps from parent to body.

    `gathered` is the buffer for the frames of several parents, None for a single parent, whose frame is a view.
    `products` is the buffer for all products of steps with the parents' frames.
    """

    parents: Ints
    gathered: Floats | None
    axes: Floats
    origin: Floats
    steps: Floats
    frames: Floats
    origins: Floats
    products: Floats


class Forward:
    """The forward kinematics of one tree.

    It keeps its work arrays, and views of them: with a thousand robots, allocation would take longer than the
    arithmetic; with one robot, making the views would.
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._capacity = self._viewed = 0
        self._levels: list[_Level] = []

    def frames(self, q: Floats) -> Floats:
        """Return the frames (3, 4, B + 1, N) of all bodies in the base, for joint values `q` (N, B).

        The base is the last body. The next call overwrites the returned array.
        """
        robots = len(q)
        if robots > self._capacity:
            # At least doubled, so that a growing fleet does not allocate anew for each robot.
            self._reserve(max(robots, 2 * self._capacity))
        values = q.T
        for start in range(0, robots, CHUNK):
            stop = min(start + CHUNK, robots)
            self._compute(values[:, start:stop])
            if robots > CHUNK:
                self._frames[:, :, :, start:stop] = self._part_frames[..., : stop - start]
        return (self._frames if robots > CHUNK else self._part_frames)[..., :robots]

    def _compute(self, values: Floats) -> None:
        """Compute the frames of up to CHUNK robots."""
        robots = values.shape[1]
        # Views are kept as long as the number of robots stays: making them costs as much as one robot.
        if robots != self._viewed:
            self._view(robots)
        np.take(values, self.tree.slots, axis=0, out=self._turned)
        self._step()
        for depth, (parents, gathered, axes, origin, steps, frames, origins, products) in enumerate(self._levels):
            if depth == 0:
                frames[:] = steps
                continue
            if gathered is not None:
                # Parent -1 is the base, the last body. NumPy buffers `out` in its default mode, but not with "wrap".
                np.take(self._placed, parents, axis=2, out=gathered, mode="wrap")
            np.multiply(axes, steps, out=products)
            np.add.reduce(products, axis=1, out=frames)
            np.add(origins, origin, out=origins)

    def _step(self) -> None:
        """Compute the frame of each body in its parent body."""
        tree, axes, work = self.tree, self._steps[:, :ORIGIN], self._work[:, :ORIGIN]
        sines, cosines = trig.sin_cos(self._turned)
        np.multiply(tree.sine[:, :ORIGIN], sines, out=axes)
        np.multiply(tree.cosine[:, :ORIGIN], cosines, out=work)
        np.add(axes, work, out=axes)
        np.add(axes, tree.still[:, :ORIGIN], out=axes)
        # Without prismatic joints the origins are constant, as set in `_view`.
        if tree.slides:
            origins = self._steps[:, ORIGIN]
            np.multiply(tree.slide[:, ORIGIN], self._turned, out=origins)
            np.add(origins, tree.still[:, ORIGIN], out=origins)

    def _view(self, robots: int) -> None:
        """Make the views for a chunk of `robots`."""
        self._viewed = robots
        self._turned = self._all_values[:, :robots]
        self._work, self._steps = self._all_work[..., :robots]
        self._placed = self._part_frames[..., :robots]
        self._steps[:, ORIGIN] = self.tree.still[:, ORIGIN]
        self._levels = []
        for level in self.tree.levels:
            parents = self.tree.parents[level]
            several = len(parents) > 1
            gathered = np.empty((3, 4, len(parents), robots)) if several else None
            above = gathered if gathered is not None else self._placed[:, :, parents[0], None]
            step, here = self._steps[:, :, level], self._placed[:, :, level]
            self._levels.append(
                _Level(
                    parents,
                    gathered,
                    above[:, :3, None],
                    above[:, ORIGIN],
                    step,
                    here,
                    here[:, ORIGIN],
                    np.empty((3, 3, 4, len(parents), robots)),
                )
            )

    def _reserve(self, robots: int) -> None:
        """Make room for the frames of `robots` robots of the model, CHUNK of which are computed at once."""
        bodies, chunk = len(self.tree.parents), min(robots, CHUNK)
        self._capacity, self._viewed = robots, 0
        self._part_frames = np.zeros((3, 4, bodies + 1, chunk))
        # The base is the identity in its own frame, and no step writes to it.
        self._part_frames[[0, 1, 2], [0, 1, 2], bodies] = 1.0
        if robots > CHUNK:
            self._frames = np.zeros((3, 4, bodies + 1, robots))
        self._all_values = np.empty((bodies, chunk))
        self._all_work = np.empty((2, 3, 4, bodies, chunk))


def orientations(frames: Floats) -> Floats:
    """Return the unit quaternions (N, 4) of frames (3, 3 or 4, N), each with its largest component positive."""
    squares = np.empty((4, frames.shape[2]))
    xx, yy, zz = frames[0, 0], frames[1, 1], frames[2, 2]
    squares[0] = 1.0 + xx - yy - zz
    squares[1] = 1.0 - xx + yy - zz
    squares[2] = 1.0 - xx - yy + zz
    squares[3] = 1.0 + xx + yy + zz
    # Each component times the largest one, all times 4: dividing by the largest loses no accuracy (Shepperd's method).
    products = np.empty((4, 4, frames.shape[2]))
    products[[0, 1, 2, 3], [0, 1, 2, 3]] = squares
    products[0, 1] = products[1, 0] = frames[0, 1] + frames[1, 0]
    products[0, 2] = products[2, 0] = frames[0, 2] + frames[2, 0]
    products[1, 2] = products[2, 1] = frames[1, 2] + frames[2, 1]
    products[0, 3] = products[3, 0] = frames[2, 1] - frames[1, 2]
    products[1, 3] = products[3, 1] = frames[0, 2] - frames[2, 0]
    products[2, 3] = products[3, 2] = frames[1, 0] - frames[0, 1]
    largest = squares.argmax(axis=0)
    robots = np.arange(frames.shape[2])
    chosen: Floats = products[largest, :, robots]
    chosen /= 2.0 * np.sqrt(squares[largest, robots])[:, None]
    return chosen

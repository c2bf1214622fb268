"""A compiled model of MuJoCo for certain rows of a world, with data of its own."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import NO_ROWS, Floats, Ints, Rows, span_of
from fleet_sim.core.world import World
from fleet_sim.mujoco.compiled import DAMPING, Compiled
from fleet_sim.mujoco.module import mujoco_module


class _Spans(NamedTuple):
    """Indices as slices where they can be: rows of free bodies and of seats, and of joints their slots and places."""

    free: Ints | slice
    seats: Ints | slice
    slots: Ints | slice
    joint_q: Ints | slice
    joint_v: Ints | slice


class Bound:
    """A compiled model whose places are `rows` (N,) of the world, with data of its own.

    All index arrays are of rows: `free` (F,), `seats` (S,) and `slots` (J,) of joints in the table of joints.
    """

    def __init__(self, world: World, compiled: Compiled, rows: Rows) -> None:
        self.compiled = compiled
        self.model = compiled.model
        self.data = mujoco_module().MjData(compiled.model)
        self.rows = rows
        self.ids: Ints = world.object_id[rows]
        place = compiled.free[:, 0]
        self.free: Rows = rows[place]
        self.free_q: Ints = compiled.free[:, 1][:, None] + np.arange(7)
        self.free_v: Ints = compiled.free[:, 2][:, None] + np.arange(6)
        # Mostly they follow each other: slices give views, which are cheaper than copies.
        self.free_span = span_of(self.free_v.ravel())
        self.free_q_span = span_of(self.free_q.ravel())
        self.free_inertia: Floats = _inertias(compiled)
        """Masses and inertias (F, 6) that their velocities have."""
        self.free_damping: Floats = self.model.dof_damping[self.free_span].reshape(-1, 2, 3)
        """The damping (F, 2, 3) of their linear and angular velocities."""
        self.drag_rate = float((self.free_damping.reshape(-1, 6) / self.free_inertia).max(initial=0.0))
        """The largest part of a velocity, at a speed of 1, that their drag takes away in a second."""
        self.links, self.link_damping = _links(world, compiled, rows)
        """Bodies (L,) of the links of dynamic robots, without bases, and their linear and angular damping (L, 2)."""
        self.seats: Rows = rows[compiled.seats[:, 0]]
        self.slots: Ints = world.robots.joint_start[rows[compiled.joints[:, 0]]] + compiled.joints[:, 1]
        self.joint_q, self.joint_v = compiled.joints[:, 2], compiled.joints[:, 3]
        self.spans = _Spans(*map(span_of, (self.free, self.seats, self.slots, self.joint_q, self.joint_v)))
        self.dynamic: Rows = np.unique(np.concatenate((self.free, self.seats)))
        robots: Rows = rows[compiled.joints[:, 0]]
        self.with_joints: Rows = np.unique(robots)
        self.joint_row: Rows = robots
        self.warnings: Ints = self.data.warning.number
        """How often MuJoCo has warned of each kind."""
        self.waking: set[int] = set()
        """Trees of bodies that wake up in the next substep, should they sleep."""

    def wake(self, trees: Ints | range) -> None:
        """Wake up `trees` in the next substep; what is written, pushed or touched wakes up by itself."""
        self.waking.update(trees if isinstance(trees, range) else trees.tolist())

    def take_waking(self) -> Ints:
        """Return the first velocity (K,) of each tree that is to wake up, which then need not be told again."""
        if not self.waking:
            return NO_ROWS
        # What is awake needs no waking.
        trees = [tree for tree in self.waking if self.data.tree_asleep[tree] >= 0]
        self.waking.clear()
        return np.asarray(self.model.tree_dofadr[trees], np.int64)

    def rows_of_bodies(self, world: World, bodies: Ints) -> Rows:
        """Return the rows (any shape) of bodies; -1 for the floor, -2 for entities that are gone."""
        places = self.compiled.body_place[bodies]
        rows = np.where(places >= 0, self.rows[places], -1)
        # The row may be of another entity by now.
        gone_mask = (places >= 0) & ((world.object_id[rows] != self.ids[places]) | ~world.alive[rows])
        return np.where(gone_mask, -2, rows)


def _links(world: World, compiled: Compiled, rows: Rows) -> tuple[Ints, Floats]:
    linked = np.flatnonzero(compiled.body_link >= 0)
    linked = linked[world.dynamic[rows[compiled.body_place[linked]]]]
    owners, material = rows[compiled.body_place[linked]], world.material
    given = np.stack((material.linear_damping[owners], material.angular_damping[owners]), axis=1)
    return linked, np.where(given >= 0.0, given, DAMPING)


def _inertias(compiled: Compiled) -> Floats:
    model, bodies = compiled.model, compiled.base[compiled.free[:, 0]]
    masses = np.repeat(model.body_subtreemass[bodies][:, None], 3, axis=1)
    return np.concatenate((masses, model.body_inertia[bodies]), axis=1)

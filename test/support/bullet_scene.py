"""A world with bodies, built from columns alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fleet_sim.base.arrays import Rows
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.engines.bullet.client import BulletClient
from fleet_sim.engines.bullet.mirror import BulletMirror
from fleet_sim.world.clock import Clock
from fleet_sim.world.shapes import BodyShape, Geometry
from fleet_sim.world.world import World

BOX = Geometry(ShapeKind.BOX, half_extents=(0.2, 0.2, 0.1))
BOX_SHAPE = BodyShape(BOX, BOX)


class Scene:
    """A world, its mirror, and a way to spawn."""

    def __init__(self, policy: str = "demand", *, visuals: bool = True, **client: Any) -> None:
        self.world = World(Clock(0.1))
        self.client = BulletClient(**client)
        self.mirror = BulletMirror(self.world, self.client, policy, visuals=visuals)

    def spawn(self, positions: Any, shape: BodyShape = BOX_SHAPE, **columns: Any) -> Rows:
        """Spawn one entity per position with equal shape; other columns by name."""
        places = np.asarray(positions, float).reshape(-1, 3)
        rows = self.world.allocate([None] * len(places))
        self.world.position[rows] = places
        self.world.shape_id[rows] = self.world.shapes.intern(shape)
        for name, values in columns.items():
            getattr(self.world, name)[rows] = values
        self.world.announce(rows)
        return rows

    def put(self, rows: Rows, positions: Any) -> None:
        """Write positions as set_pose does."""
        self.world.position[rows] = positions
        self.world.touch(rows)
        self.mirror.pose_written(rows)

    def step(self, phase_1: Callable[[], None] = lambda: None) -> None:
        """Run one step with `phase_1` as its user code."""
        self.world.moved[:] = False
        self.world.in_step = True
        self.mirror.begin_step()
        phase_1()
        self.mirror.flush()
        self.mirror.end_step()
        self.world.in_step = False
        self.world.end_step()

"""All conveyors of a simulation: they carry what lies on them."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Rows, as_float
from fleet_sim.core.acknowledgement import CommandAck
from fleet_sim.core.schema import NO_ROW
from fleet_sim.core.world import World
from fleet_sim.entities.recipients import Recipients
from fleet_sim.equipment.conveyor_columns import ConveyorColumns
from fleet_sim.equipment.conveyor_commands import RunConveyors
from fleet_sim.equipment.fittings import STATIC, fittings_mask
from fleet_sim.gate.bounds import LARGEST_SPEED
from fleet_sim.spatial import quaternions
from fleet_sim.spatial import trigonometry as trig

NEAR = 0.05
"""A body whose lowest point is this near in m to the top of a belt lies on it."""


class Conveyors:
    """Moves in each step what lies on running belts, by its origin; robots that stand there too."""

    def __init__(self, world: World, table: ConveyorColumns) -> None:
        self._world = world
        self._table = table

    def run(self, order: RunConveyors) -> CommandAck:
        """Carry out a RunConveyors; raises InvalidValueError for a speed beyond all bounds."""
        table = self._table
        speed = None if order.speed is None else as_float(order.speed, "speed", low=-LARGEST_SPEED, high=LARGEST_SPEED)
        to = Recipients(self._world, order.names)
        to.keep(table.present[to.rows], "it is not a conveyor")
        table.running[to.rows] = bool(order.running)
        if speed is not None:
            table.speed[to.rows] = speed
        return CommandAck(order.command_id, order.source, self._world.clock.time, to.names, to.rejected)

    def step(self, dt: float) -> None:
        """Carry what lies on belts by one step."""
        world, table = self._world, self._table
        belts = table.among(world.rows)
        belts = belts[table.running[belts] & (table.speed[belts] != 0.0)]
        if not len(belts):
            return
        bodies = self._bodies()
        # The first belt counts where two meet: a body is carried once in a step.
        for belt in belts.tolist():
            on_mask = self._lies_on(bodies, belt)
            carried, bodies = bodies[on_mask], bodies[~on_mask]
            if len(carried):
                self._carry(carried, belt, dt)

    def _bodies(self) -> Rows:
        world = self._world
        rows = world.rows
        mask = (world.parent[rows] == NO_ROW) & (world.collision_mode[rows] != STATIC) & ~world.dynamic[rows]
        return np.asarray(rows[mask & ~self._table.present[rows] & ~fittings_mask(world)[rows]])

    def _lies_on(self, bodies: Rows, belt: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        world = self._world
        offsets = world.position[bodies] - world.position[belt]
        sine, cosine = trig.sin_cos_of(quaternions.yaw_of(world.orientation, belt))
        x, y = offsets[:, 0] * cosine + offsets[:, 1] * sine, offsets[:, 1] * cosine - offsets[:, 0] * sine
        half = world.half_extents[belt]
        gaps = offsets[:, 2] - world.half_extents[bodies, 2] - half[2]
        return np.asarray((np.abs(x) <= half[0]) & (np.abs(y) <= half[1]) & (np.abs(gaps) <= NEAR))

    def _carry(self, rows: Rows, belt: int, dt: float) -> None:
        world = self._world
        sine, cosine = trig.sin_cos_of(quaternions.yaw_of(world.orientation, belt))
        way = float(self._table.speed[belt]) * dt
        positions = world.position[rows].copy()
        positions[:, 0] += way * cosine
        positions[:, 1] += way * sine
        world.place(rows, positions, world.orientation[rows])

"""Conveyors: belts that carry what lies on them.

The key `conveyor` of an object's entry, which `setup.cfg` declares as a feature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Rows, as_float
from fleet_sim.base.limits import LARGEST_SPEED
from fleet_sim.base.settings import Checked, setting
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.robots.drive import Recipients
from fleet_sim.warehouse.equipment.fittings import STATIC, fittings_mask
from fleet_sim.world.columns import FeatureColumns, column
from fleet_sim.world.commands import Command, command
from fleet_sim.world.features import Feature, FeatureHost
from fleet_sim.world.pipeline import Phase, System
from fleet_sim.world.schema import NO_ROW
from fleet_sim.world.world import FeatureRows


@dataclass
class ConveyorSettings(Checked):
    """A conveyor: whatever lies on top of the object is carried along its own x axis."""

    speed: float = setting(
        0.5, low=-LARGEST_SPEED, high=LARGEST_SPEED, unit="m/s", doc="Of its belt; negative: against its x axis."
    )
    running: bool = setting(True, doc="Whether it runs at first.")


@command("run_conveyors")
class RunConveyors(Command):
    """Let conveyors run, or stand (`running=False`); `speed` in m/s, None: as before."""

    feature: ClassVar[str] = "conveyor"

    names: tuple[str, ...]
    running: bool = True
    speed: float | None = None


class ConveyorColumns(FeatureColumns):
    """What each belt does."""

    speed: Floats = column(float, unit="m/s", frame="body", writer="spawning, RunConveyors", doc="along x")
    running: Bools = column(bool, writer="spawning, RunConveyors")


NEAR = 0.05
"""A body whose lowest point is this near in m to the top of a belt lies on it."""


class Conveyors(FeatureRows[ConveyorColumns]):
    """Moves in each step what lies on running belts, by its origin; robots that stand there too."""

    def run(self, order: RunConveyors) -> Recipients:
        """Carry out a RunConveyors; raises InvalidValueError for a speed beyond all bounds."""
        table = self.table
        speed = None if order.speed is None else as_float(order.speed, "speed", low=-LARGEST_SPEED, high=LARGEST_SPEED)
        to = Recipients(self.world, order.names)
        to.keep(table.present[to.rows], "it is not a conveyor")
        table.running[to.rows] = bool(order.running)
        if speed is not None:
            table.speed[to.rows] = speed
        return to

    def step(self, dt: float) -> None:
        """Carry what lies on belts by one step."""
        table, belts = self.table, self.rows
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
        world = self.world
        rows = world.rows
        mask = (world.parent[rows] == NO_ROW) & (world.collision_mode[rows] != STATIC) & ~world.dynamic[rows]
        return np.asarray(rows[mask & ~self.table.present[rows] & ~fittings_mask(world)[rows]])

    def _lies_on(self, bodies: Rows, belt: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        world = self.world
        offsets = world.position[bodies] - world.position[belt]
        sine, cosine = trig.sin_cos_of(quaternions.yaw_of(world.orientation, belt))
        x, y = offsets[:, 0] * cosine + offsets[:, 1] * sine, offsets[:, 1] * cosine - offsets[:, 0] * sine
        half = world.half_extents[belt]
        gaps = offsets[:, 2] - world.half_extents[bodies, 2] - half[2]
        return np.asarray((np.abs(x) <= half[0]) & (np.abs(y) <= half[1]) & (np.abs(gaps) <= NEAR))

    def _carry(self, rows: Rows, belt: int, dt: float) -> None:
        world = self.world
        sine, cosine = trig.sin_cos_of(quaternions.yaw_of(world.orientation, belt))
        way = float(self.table.speed[belt]) * dt
        positions = world.position[rows].copy()
        positions[:, 0] += way * cosine
        positions[:, 1] += way * sine
        world.place(rows, positions, world.orientation[rows])


class ConveyorFeature(Feature[ConveyorSettings, ConveyorColumns]):
    """Conveyors: `conveyor:` in an object's entry, `sim.features.use("conveyor")` is the Conveyors."""

    doc = "Makes its top a belt that carries what lies on it."
    settings = ConveyorSettings
    table = ConveyorColumns

    def start(self, host: FeatureHost, table: ConveyorColumns) -> Conveyors:
        """Carry before robots move."""
        conveyors = Conveyors(host.world, table)
        host.pipeline.add(System("conveyors", Phase.UPDATE, conveyors.step), before="motion")
        host.dispatcher.handle(RunConveyors, conveyors.run)
        return conveyors

    def details(self, table: ConveyorColumns, row: int) -> Sequence[tuple[str, str]]:
        """Say how fast the belt is."""
        return [("belt", f"{table.speed[row]:.2f} m/s" if table.running[row] else "stands")]


FEATURE = ConveyorFeature()

"""All batteries of a simulation: draining, charging, and stopping robots whose battery is empty."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Floats, Rows
from fleet_sim.battery.columns import BatteryColumns
from fleet_sim.battery.commands import SetCharging
from fleet_sim.battery.settings import BatterySectionSettings
from fleet_sim.config.modes import ActionCause
from fleet_sim.core.acknowledgement import CommandAck
from fleet_sim.core.drive_rules import DriveRule
from fleet_sim.core.feature_rows import FeatureRows
from fleet_sim.core.schema import NO_ROW
from fleet_sim.core.steering import IDLE
from fleet_sim.core.world import World
from fleet_sim.entities import drive
from fleet_sim.entities.recipients import Recipients
from fleet_sim.facade.step_events import StepEvents


class EmptyBattery(DriveRule):
    """A robot whose battery is empty does not drive."""

    reason = "its battery is empty"

    def __init__(self, table: BatteryColumns) -> None:
        self._table = table

    def refuses(self, rows: Rows) -> Bools:
        """Return which of `rows` have an empty battery and stop for it."""
        table = self._table
        refused: Bools = table.present[rows] & table.stops_when_empty[rows] & (table.energy[rows] <= 0.0)
        return refused


class Batteries(FeatureRows[BatteryColumns]):
    """Drains and charges all batteries in each step. `section` holds the scenario's settings for all of them."""

    def __init__(self, world: World, table: BatteryColumns) -> None:
        super().__init__(world, table)
        self.section = BatterySectionSettings()
        self._rule = EmptyBattery(table)
        self._events = StepEvents(world)
        world.drive_rules.add(self._rule)

    def hold(self) -> None:
        """Stop robots that would drive with an empty battery, and cancel their actions; note how fast the others are.

        Before they move: actions and controllers steer a robot without asking whether it may drive.
        """
        world = self._world
        # Few robots have batteries; the others are not looked at.
        having = self.rows
        rows = having[self._rule.refuses(having)]
        # Who stands already has nothing to stop, and would lose actions of its arm.
        rows = rows[world.motion.control[rows] != IDLE]
        if len(rows):
            for row in world.actions.busy(rows).tolist():
                world.actions.cancel_base(row, EmptyBattery.reason, ActionCause.BATTERY_EMPTY)
            drive.stop(world, rows)
        self._table.begin_speed[having] = self._speeds(having)

    def flow(self, dt: float) -> None:
        """Drain and charge by one step, then emit the events of batteries that became low, empty or full."""
        table = self._table
        rows = table.among(self._world.rows)
        if not len(rows):
            return
        # The mean of a step times its duration is the way, also while a robot speeds up.
        speeds = 0.5 * (table.begin_speed[rows] + self._speeds(rows))
        power = -table.idle_power[rows] - table.drive_energy[rows] * speeds
        # The masses of loads are added up only where somebody pays for carrying them.
        if table.load_energy[rows].any():
            power -= table.load_energy[rows] * self._loads(rows) * speeds
        power += np.where(table.charging[rows], table.charge_power[rows], 0.0)
        before, capacity, low = table.energy[rows], table.full_energy[rows], table.low_energy[rows]
        after = np.clip(before + power * dt, 0.0, capacity)
        # A full battery takes nothing more and an empty one gives nothing more, whatever the load or the charger.
        table.power[rows] = np.where(after == before + power * dt, power, (after - before) / dt)
        table.energy[rows] = after
        # Crossing the mark, not being beyond it: each is told once.
        for event, mask in (
            ("battery_low", (before > low) & (after <= low)),
            ("battery_empty", (before > 0.0) & (after <= 0.0)),
            ("battery_full", (before < capacity) & (after >= capacity)),
        ):
            self._events.to_agents(event, rows[mask])

    def _loads(self, rows: Rows) -> Floats:
        """Return the mass (N,) in kg that `rows` carry, directly or on what they carry."""
        world = self._world
        carried = np.flatnonzero((world.parent != NO_ROW) & world.alive)
        bearers, masses = world.parent[carried], np.zeros(len(world.parent))
        # One carrier up per round; it ends because nothing carries itself.
        while len(carried):
            np.add.at(masses, bearers, world.mass[carried])
            above = world.parent[bearers]
            carried, bearers = carried[above != NO_ROW], above[above != NO_ROW]
        loads: Floats = masses[rows]
        return loads

    def _speeds(self, rows: Rows) -> Floats:
        """Return how fast `rows` drive, (N,) in m/s; 0 for robots that are carried."""
        velocity = self._world.velocity[rows]
        # By components: a sum over an axis depends on the size of the array, and so would the run.
        x, y, z = velocity[:, 0], velocity[:, 1], velocity[:, 2]
        speeds: Floats = np.sqrt(x * x + y * y + z * z)
        return np.where(self._world.parent[rows] == NO_ROW, speeds, 0.0)

    def set_charging(self, command: SetCharging) -> CommandAck:
        """Carry out a SetCharging: connect batteries to a charger, or disconnect them."""
        to = Recipients(self._world, command.names)
        to.keep(self._table.present[to.rows], "it has no battery")
        self._table.charging[to.rows] = command.charging
        time = self._world.clock.time
        return CommandAck(command.command_id, command.source, time, to.names, to.rejected)

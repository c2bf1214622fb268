"""<robot>/battery_state and <robot>/set_charging, of the robots that have a battery."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from sensor_msgs.msg import BatteryState

from fleet_sim.base.arrays import Floats
from fleet_sim.base.cdr import STAMP, MessagePart
from fleet_sim.ros import messages as qos
from fleet_sim.ros.interface import Bridge, Endpoints, Interface, publishers, serve_switch
from fleet_sim.ros.messages import MessageTemplate, Roster
from fleet_sim.warehouse.battery import battery
from fleet_sim.world.conditions import told_charge
from fleet_sim.world.world import World


def with_battery(roster: Roster, world: World) -> Roster:
    """Return the robots of `roster` that have a battery."""
    table = world.tables.get("battery")
    present = np.zeros(world.capacity, np.bool_) if table is None else _battery_columns(world).present
    return roster.where(present[roster.rows])


def battery_state_template(capacities: Floats, voltages: Floats) -> MessageTemplate:
    """Return the template of one BatteryState for each robot, given capacities (N,) in Ah and voltages (N,) in V.

    Groups sec, nanosec; flow (N, 2), current in A and charge in Ah; percentage (N, 1), 0 to 1; status (N, 1).
    """
    messages = [
        BatteryState(
            voltage=voltage,
            temperature=math.nan,  # not simulated
            capacity=capacity,
            design_capacity=capacity,
            present=True,
        )
        for capacity, voltage in zip(capacities.tolist(), voltages.tolist(), strict=True)
    ]
    numbers = {
        "flow": ("f4", ("current", "charge")),
        "percentage": ("f4", ("percentage",)),
        "status": ("u1", ("power_supply_status",)),
    }
    return MessageTemplate(messages, [MessagePart(STAMP), MessagePart(numbers)])


class BatteryInterface(Interface):
    """Publishes the state of batteries and connects them to chargers."""

    rate = "battery_state"

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self.own_rate = battery.BatterySectionSettings().publish_rate
        if "battery" in bridge.sim.features.used:
            batteries: battery.Batteries = bridge.sim.features.use("battery")
            self.own_rate = batteries.section.publish_rate
        self._publishers = publishers(bridge, "state", BatteryState, "battery_state", qos.STATE)
        self._services = Endpoints(bridge, "commands", self._serve, bridge.end_service)

    def on_fleet_changed(self, roster: Roster) -> None:
        """Make publishers and services for the robots that have a battery now, and the messages for them.

        Called in the thread of the simulation; the services are changed later, by the executor.
        """
        world = self.bridge.sim.world
        having = with_battery(roster, world)
        # Services belong to the executor's thread.
        self.bridge.mailbox.post(partial(self._services.follow, having))
        self._publishers.on_fleet_changed(having)
        rows = self._publishers.rows
        if len(rows):
            table = _battery_columns(world)
            voltages = table.voltage[rows]
            self._template = battery_state_template(
                table.full_energy[rows] / (battery.JOULES_PER_WATT_HOUR * voltages), voltages
            )

    def publish(self, now: int) -> None:
        """Publish a BatteryState of every robot with a battery, stamped `now` in ns.

        Energies (J) and powers (W) become charges (Ah) and currents (A) at the nominal voltage of each battery.
        """
        rows = self._publishers.rows
        if not len(rows):
            return
        table, template = _battery_columns(self.bridge.sim.world), self._template
        energy, capacity, voltages = table.energy[rows], table.full_energy[rows], table.voltage[rows]
        # BatteryState counts in Ah: the energy at the nominal voltage.
        energy = told_charge(self.bridge.sim.world, rows, energy, capacity)
        charge = energy / (battery.JOULES_PER_WATT_HOUR * voltages)
        template.write_stamp(now)
        template.write("flow", np.column_stack([table.power[rows] / voltages, charge]))
        template.write("percentage", (energy / capacity)[:, None])
        charging = np.where(energy >= capacity, BatteryState.POWER_SUPPLY_STATUS_FULL, _CHARGING)
        template.write("status", np.where(table.charging[rows], charging, _DISCHARGING)[:, None])
        for row, publisher, piece in zip(rows.tolist(), self._publishers.items, template.pieces(), strict=True):
            self.bridge.send_from(row, "battery_state", partial(publisher.publish, piece))

    def _serve(self, name: str) -> Any:
        def command(charging: bool) -> battery.SetCharging:
            return battery.SetCharging(names=(name,), charging=charging, source="set_charging")

        return serve_switch(self.bridge, f"{name}/set_charging", command)


_CHARGING = BatteryState.POWER_SUPPLY_STATUS_CHARGING
_DISCHARGING = BatteryState.POWER_SUPPLY_STATUS_DISCHARGING


def _battery_columns(world: World) -> battery.BatteryColumns:
    table = world.tables["battery"]
    assert isinstance(table, battery.BatteryColumns)
    return table

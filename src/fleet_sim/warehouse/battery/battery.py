"""All batteries of a simulation: draining, charging, and stopping robots whose battery is empty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fleet_sim.base.arrays import AnyArray, Bools, Bytes, Floats, Ints, Rows, as_float
from fleet_sim.base.kernels import compiled_step
from fleet_sim.base.params import ActionCause
from fleet_sim.base.scenario import SettingsSection
from fleet_sim.base.settings import Checked, setting
from fleet_sim.facade.update import StepEvents
from fleet_sim.robots import drive
from fleet_sim.robots.drive import Recipients
from fleet_sim.robots.sim_object import FeatureHandle
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.world.columns import FeatureColumns, column, named_columns
from fleet_sim.world.commands import Command, command
from fleet_sim.world.conditions import conditions_of
from fleet_sim.world.features import FAULTS, Feature, FeatureHost
from fleet_sim.world.pipeline import ANY, Phase, System, any_span, each_step
from fleet_sim.world.schema import NO_ROW
from fleet_sim.world.steering import IDLE
from fleet_sim.world.world import DriveRule, FeatureRows, World

# The columns of batteries.


class BatteryColumns(FeatureColumns):
    """State and properties of each battery."""

    energy: Floats = column(float, unit="J", writer="spawning, Batteries", doc="stored, 0 to full_energy")
    charging: Bools = column(bool, writer="SetCharging, Battery", doc="is connected to a charger")
    power: Floats = column(float, unit="W", writer="Batteries", doc="into it in the last step, negative: discharges")
    begin_speed: Floats = column(
        float, unit="m/s", writer="Batteries", doc="speed at which the step began", hashed=False
    )

    full_energy: Floats = column(float, unit="J", writer="spawning")
    low_energy: Floats = column(float, unit="J", writer="spawning", doc="falling to it emits battery_low")
    idle_power: Floats = column(float, unit="W", writer="spawning", doc="drawn all the time")
    drive_energy: Floats = column(float, unit="J/m", writer="spawning", doc="drawn by driving")
    load_energy: Floats = column(float, unit="J/m/kg", writer="spawning", doc="drawn besides by driving with a load")
    charge_power: Floats = column(float, unit="W", writer="spawning", doc="what a charger gives")
    stops_when_empty: Bools = column(bool, writer="spawning")
    voltage: Floats = column(float, unit="V", writer="spawning", doc="nominal")


# Battery: the battery of one robot or object.


class Battery(FeatureHandle[BatteryColumns]):
    """A handle of the battery of one entity. Raises StaleHandleError once the entity was removed."""

    feature = "battery"

    @property
    def battery_soc(self) -> float:
        """State of charge, 0 to 1. Can be set."""
        return self.energy / self.capacity

    @battery_soc.setter
    def battery_soc(self, level: float) -> None:
        # Named in the error as users know it.
        share = as_float(level, "battery_soc", low=0.0, high=1.0)
        self._part.energy[self._owner.row] = share * self.capacity

    @property
    def energy(self) -> float:
        """Stored energy in J."""
        return float(self._part.energy[self._owner.row])

    @property
    def capacity(self) -> float:
        """Stored energy in J when it is full."""
        return float(self._part.full_energy[self._owner.row])

    @property
    def power(self) -> float:
        """Power in W into the battery in the last step; negative while it discharges."""
        return float(self._part.power[self._owner.row])

    @property
    def is_charging(self) -> bool:
        """Whether it is connected to a charger."""
        return bool(self._part.charging[self._owner.row])

    @property
    def is_empty(self) -> bool:
        """Whether no energy is left."""
        return self.energy <= 0.0

    def set_charging(self, charging: bool = True) -> None:
        """Connect it to a charger, or disconnect it."""
        self._part.charging[self._owner.row] = bool(charging)

    def __repr__(self) -> str:
        charging = ", charging" if self.is_charging else ""
        return f"<Battery of {self._owner.name!r}: {100.0 * self.battery_soc:.1f} %{charging}>"


# Commands to batteries.


@command("set_charging")
class SetCharging(Command):
    """Connect batteries to a charger, or disconnect them (`charging=False`)."""

    feature: ClassVar[str] = "battery"

    names: tuple[str, ...]
    charging: bool = True


# The settings under `battery:`, in the entry of a robot and as a section of a scenario.


JOULES_PER_WATT_HOUR = 3600.0

LARGEST = 1e9
"""Upper limit of every number here. Entries come over ROS too, and products of larger ones could be infinite."""


@dataclass
class BatterySettings(Checked):
    """The battery of a robot: power is drawn all the time, and by driving, at the mean speed of each step."""

    capacity_wh: float = setting(100.0, low=1e-6, high=LARGEST, unit="Wh", doc="What it holds when full.")
    level: float = setting(1.0, low=0, high=1, doc="How full it is at first.")
    idle_power: float = setting(10.0, low=0, high=LARGEST, unit="W", doc="Drawn all the time.")
    drive_energy: float = setting(50.0, low=0, high=LARGEST, unit="J/m", doc="Drawn for each metre driven: W at 1 m/s.")
    load_energy: float = setting(
        0.0, low=0, high=LARGEST, unit="J/m/kg", doc="Drawn besides for each metre and kg of mass that it carries."
    )
    charge_power: float = setting(200.0, low=0, high=LARGEST, unit="W", doc="What a charger gives.")
    charging: bool = setting(False, doc="Whether it is being charged at first.")
    low_level: float = setting(0.2, low=0, high=1, doc="Falling to it is the event battery_low.")
    stops_when_empty: bool = setting(True, doc="Whether the robot stands still and cannot be driven while empty.")
    voltage: float = setting(24.0, low=1e-3, high=LARGEST, unit="V", doc="Nominal; messages in ROS count in Ah.")


@dataclass
class BatterySectionSettings(Checked):
    """Settings that hold for all batteries of a simulation."""

    publish_rate: float | None = setting(
        1.0, low=0, unit="Hz", doc="Of <robot>/battery_state, per simulated second; null: at each step, 0: never."
    )


class EmptyBattery(DriveRule):
    """A robot whose battery is empty does not drive."""

    reason = "its battery is empty"
    ends_steps = True

    def __init__(self, table: BatteryColumns) -> None:
        self._table = table

    def refuses(self, rows: Rows) -> Bools:
        """Return which of `rows` have an empty battery and stop for it."""
        table = self._table
        refused: Bools = table.present[rows] & table.stops_when_empty[rows] & (table.energy[rows] <= 0.0)
        return refused


EVENTS = ("battery_low", "battery_empty", "battery_full")


class Cells(NamedTuple):
    """The columns of batteries that change in each step, and what that depends on."""

    energy: Floats
    power: Floats
    begin_speed: Floats
    charging: Bools
    full_energy: Floats
    low_energy: Floats
    idle_power: Floats
    drive_energy: Floats
    load_energy: Floats
    charge_power: Floats


LOW, EMPTY, FULL, CAN_DRIVE = 1, 2, 4, 8
"""What became of a battery in a step: bits in the order of EVENTS, and one that it is not empty any more."""


@compiled_step
def drain(
    rows: Rows, dt: float, cells: Cells, velocity: Floats, parent: Ints, uncharged: Bools, loads: Floats, news: Bytes
) -> int:
    """Drain and charge the batteries of `rows` (N,) for `dt` s; write what became of each, and return all of it.

    By row: `uncharged` who takes no charge, if there is somebody. By place in `rows`: the kg that each bears in
    `loads`, if somebody pays for carrying them. The next step begins at the speeds at which this one ends.
    """
    found = 0
    for place in range(len(rows)):
        row = rows[place]
        # What is carried does not drive.
        x, y, z = velocity[row, 0], velocity[row, 1], velocity[row, 2]
        now = np.sqrt(x * x + y * y + z * z) if parent[row] == NO_ROW else 0.0
        # The mean of a step times its duration is the way, also while a robot speeds up.
        speed = 0.5 * (cells.begin_speed[row] + now)
        power = -cells.idle_power[row] - cells.drive_energy[row] * speed
        if len(loads):
            power -= cells.load_energy[row] * loads[place] * speed
        if cells.charging[row] and not (len(uncharged) and uncharged[row]):
            power += cells.charge_power[row]
        before, capacity, low = cells.energy[row], cells.full_energy[row], cells.low_energy[row]
        asked = before + power * dt
        after = min(max(asked, 0.0), capacity)
        # A full battery takes nothing more and an empty one gives nothing more, whatever the load or the charger.
        cells.power[row] = power if after == asked else (after - before) / dt
        cells.energy[row], cells.begin_speed[row] = after, now
        # Crossing the mark, not being beyond it: each is told once.
        bits = LOW if before > low and after <= low else 0
        bits |= EMPTY if before > 0.0 and after <= 0.0 else 0
        bits |= FULL if before < capacity and after >= capacity else 0
        bits |= CAN_DRIVE if before <= 0.0 and after > 0.0 else 0
        news[place] = bits
        found |= bits
    return found


class Batteries(FeatureRows[BatteryColumns]):
    """Drains and charges all batteries in each step. `section` holds the scenario's settings for all of them."""

    def __init__(self, world: World, table: BatteryColumns) -> None:
        super().__init__(world, table)
        self.section = BatterySectionSettings()
        self._rule = EmptyBattery(table)
        self._events = StepEvents(world)
        self._cells = named_columns(Cells, table)
        world.drive_rules.append(self._rule)

    def hold(self) -> None:
        """Stop robots that would drive with an empty battery, and cancel their actions; note how fast the others are.

        Before they move: actions and controllers steer a robot without asking whether it may drive.
        """
        world = self.world
        # Few robots have batteries; the others are not looked at.
        having = self.rows
        rows = having[self._rule.refuses(having)]
        # Who stands already has nothing to stop, and would lose actions of its arm.
        rows = rows[world.motion.control[rows] != IDLE]
        if len(rows):
            for row in world.actions.busy(rows).tolist():
                world.actions.cancel_base(row, EmptyBattery.reason, ActionCause.BATTERY_EMPTY)
            drive.stop(world, rows)
        self.table.begin_speed[having] = self._speeds(having)

    def span(self) -> int:
        """Return for how many ticks nobody is told of batteries: any, where nobody listens who may do something."""
        world = self.world
        told = world.events.may_act(*EVENTS) or len(world.entity_events) or conditions_of(world) is not None
        return 1 if told else ANY

    def end_tick(self, dt: float) -> bool:
        """Do what `flow` does; return whether a robot may drive no more in the next tick, or again."""
        return bool(self.flow(dt) & (EMPTY | CAN_DRIVE))

    def flow(self, dt: float) -> int:
        """Drain and charge by one step, then emit the events of batteries that became low, empty or full.

        Returns the bits of all that became of them.
        """
        world, table, rows = self.world, self.table, self.rows
        if not len(rows):
            return 0
        if self._cells.energy is not table.energy:
            self._cells = named_columns(Cells, table)
        # The masses of loads are added up only where somebody pays for carrying them.
        loads = self._loads(rows) if table.load_energy[rows].any() else np.empty(0)
        conditions, news = conditions_of(world), np.empty(len(rows), np.uint8)
        uncharged = np.empty(0, np.bool_) if conditions is None else conditions.uncharged
        found = drain(rows, dt, self._cells, world.velocity, world.parent, uncharged, loads, news)
        for bit, event in enumerate(EVENTS):
            if found & (1 << bit):
                self._events.to_agents(event, rows[news & (1 << bit) != 0])
        return found

    def _loads(self, rows: Rows) -> Floats:
        """Return the mass (N,) in kg that `rows` carry, directly or on what they carry."""
        world = self.world
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
        velocity = self.world.velocity[rows]
        # By components: a sum over an axis depends on the size of the array, and so would the run.
        x, y, z = velocity[:, 0], velocity[:, 1], velocity[:, 2]
        speeds: Floats = np.sqrt(x * x + y * y + z * z)
        return np.where(self.world.parent[rows] == NO_ROW, speeds, 0.0)

    def set_charging(self, command: SetCharging) -> Recipients:
        """Carry out a SetCharging: connect batteries to a charger, or disconnect them."""
        to = Recipients(self.world, command.names)
        to.keep(self.table.present[to.rows], "it has no battery")
        self.table.charging[to.rows] = command.charging
        return to


# The entry point of the feature, which `setup.cfg` declares: it connects batteries to a simulation.


class BatteryFeature(Feature[BatterySettings, BatteryColumns]):
    """Batteries: `battery:` in a spawn entry, `agent.feature("battery")`, `sim.features.use("battery")`."""

    doc = "The battery it runs on."
    settings = BatterySettings
    table = BatteryColumns

    def values(self, settings: BatterySettings) -> Mapping[str, Any]:
        """Return the columns of a battery with `settings`."""
        capacity = settings.capacity_wh * JOULES_PER_WATT_HOUR
        return {
            "energy": settings.level * capacity,
            "charging": settings.charging,
            # Both in J: the columns compare them in every step.
            "full_energy": capacity,
            "low_energy": settings.low_level * capacity,
            "idle_power": settings.idle_power,
            "drive_energy": settings.drive_energy,
            "load_energy": settings.load_energy,
            "charge_power": settings.charge_power,
            "stops_when_empty": settings.stops_when_empty,
            "voltage": settings.voltage,
        }

    def start(self, host: FeatureHost, table: BatteryColumns) -> Batteries:
        """Hold empty robots before they move; drain after all motion of a step, that of the engine included."""
        batteries = Batteries(host.world, table)
        holding = System("battery_hold", Phase.UPDATE, each_step(batteries.hold), span=any_span)
        host.pipeline.add(holding, before="motion")
        flowing = System("battery", Phase.OBSERVE, batteries.flow, span=batteries.span, each=batteries.end_tick)
        host.pipeline.add(flowing, before="sensors")
        host.dispatcher.handle(SetCharging, batteries.set_charging)
        return batteries

    def handle(self, entity: Any, table: BatteryColumns) -> Battery:
        """Return the Battery of `entity`."""
        return Battery(entity, table)

    def details(self, table: BatteryColumns, row: int) -> Sequence[tuple[str, str]]:
        """Say how full it is, and whether it is charged."""
        charging = ", charging" if table.charging[row] else ""
        return [("battery", f"{100.0 * table.energy[row] / table.full_energy[row]:.0f} %{charging}")]

    def report(self, columns: Mapping[str, AnyArray]) -> Mapping[str, AnyArray]:
        """Return how full they are, which are charged, and which are empty."""
        present = columns["present"]
        return {
            "battery": np.where(present, self.levels(columns), np.nan),
            "charging": present & columns["charging"],
            "faults": FAULTS["battery_empty"] * (present & (columns["energy"] <= 0.0)),
        }

    def levels(self, columns: Mapping[str, AnyArray]) -> Floats:
        """Return how full they are."""
        energy, capacity = columns["energy"], columns["full_energy"]
        # Rows without a battery have no capacity.
        levels: Floats = np.divide(energy, capacity, out=np.zeros_like(energy), where=columns["present"])
        return levels


FEATURE = BatteryFeature()


# The section `battery` of a scenario: settings common to all batteries.


def _set_section(sim: MultiRobotSimulationCore, settings: BatterySectionSettings, source: str) -> None:
    sim.features.use("battery").section = settings


SECTION = SettingsSection(
    "battery",
    BatterySectionSettings,
    _set_section,
    "Settings common to all batteries; those of one robot are in its entry.",
)

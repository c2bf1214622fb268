"""Disturbances of robots: what each of them does to a robot, and what that tells its fleet manager."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fleet_sim.base.params import ActionCause
from fleet_sim.base.settings import setting
from fleet_sim.warehouse.disturbances.kind import DisturbanceKind, Disturbed, Effect, Event
from fleet_sim.world.conditions import CONDITIONS, ConditionColumns, EmergencyStop, OperatingMode, RobotError
from fleet_sim.world.world import energy_columns_with


def _error(kind: str, level: str, description: str, event: Event) -> RobotError:
    return RobotError(kind, level, description, (("disturbance", event.id),))


def _columns(at: Disturbed) -> ConditionColumns:
    table = at.sim.features.table(CONDITIONS)
    assert isinstance(table, ConditionColumns)
    return table


@dataclass
class Breakdown(DisturbanceKind):
    """Robots break down where they are, until they are repaired."""

    level: Literal["warning", "fatal"] = setting("fatal", doc="Of the error that they tell.")
    description: str = setting("it has broken down", doc="The text of that error.")

    def effect(self, event: Event) -> Effect:
        """A robot that stands, and says why."""
        error = _error("breakdown", self.level, self.description, event)
        return Effect(self.description, ActionCause.BREAKDOWN, faults=("breakdown",), errors=(error,))


@dataclass
class Slow(DisturbanceKind):
    """Robots drive slower than they could, and do not know it."""

    pace: float = setting(0.5, above=0.0, high=1.0, doc="Of their speed limits.")

    def effect(self, event: Event) -> Effect:
        """A lower speed, of which nothing is told."""
        return Effect(pace=self.pace)


@dataclass
class EmergencyStopped(DisturbanceKind):
    """An emergency stop holds robots: somebody pressed the button, or something is in their protective field."""

    release: Literal["autoack", "manual", "remote"] = setting("manual", doc="How it is released: eStop of VDA 5050.")
    field_violation: bool = setting(False, doc="Whether something is in the protective field.")

    def effect(self, event: Event) -> Effect:
        """A robot that stands, and says so in its safety state."""
        faults = ("emergency_stop", "field_violation") if self.field_violation else ("emergency_stop",)
        error = _error("emergency_stop", "urgent", "an emergency stop holds it", event)
        return Effect(
            error.description,
            ActionCause.EMERGENCY_STOP,
            faults=faults,
            emergency_stop=EmergencyStop(self.release),
            errors=(error,),
        )


@dataclass
class Manual(DisturbanceKind):
    """Somebody takes robots out of the hands of their fleet manager: they lose their orders and take no goals."""

    mode: Literal["semiautomatic", "manual", "service", "teachin"] = setting(
        "manual", doc="What they tell. In semiautomatic they keep their orders, and drive at `pace`."
    )
    pace: float = setting(0.5, above=0.0, high=1.0, doc="In semiautomatic, of their speed limits.")

    def effect(self, event: Event) -> Effect:
        """A robot in this mode."""
        mode = OperatingMode(self.mode)
        if mode is OperatingMode.SEMIAUTOMATIC:
            return Effect(mode=mode, pace=self.pace)
        return Effect("it is driven by hand and takes no goals", ActionCause.MANUAL_MODE, mode=mode)


@dataclass
class ActionFailure(DisturbanceKind):
    """What robots do at a stop fails: Pick and Drop, the stops of orders, actions of VDA 5050."""

    probability: float = setting(1.0, above=0.0, high=1.0, doc="That an action fails.")
    next: int | None = setting(None, low=1, high=10**6, doc="So many fail, and then it is over; null: without end.")

    steps = True

    def effect(self, event: Event) -> Effect:
        """Actions that may fail."""
        return Effect(failure=self.probability)

    def begin(self, at: Disturbed) -> None:
        """Say how many may fail."""
        at.memory["until"] = -1 if self.next is None else int(_columns(at).failures[at.row]) + self.next
        self._allow(at, [at.memory["until"]])

    def end(self, at: Disturbed) -> None:
        """Let only those fail that others say."""
        if at.row >= 0:
            self._allow(at, [])

    def _allow(self, at: Disturbed, ends: list[int]) -> None:
        """Let actions fail until all have had theirs that disturb the robot, and those that end with `ends`."""
        active = at.sim.features.use(CONDITIONS).active_of(ActionFailure)
        ends = ends + [one.memory["until"] for one, _ in active if one.row == at.row and one.event is not at.event]
        _columns(at).failures_until[at.row] = -1 if -1 in ends else max(ends, default=-1)

    def step(self, all_of_it: Sequence[Disturbed], dt: float) -> None:
        """End it where the last one has failed."""
        for at in all_of_it:
            if at.row >= 0 and 0 <= at.memory["until"] <= _columns(at).failures[at.row]:
                at.sim.features.use(CONDITIONS).finish(at.event)


@dataclass
class BatteryFault(DisturbanceKind):
    """A battery is empty at once, tells a wrong charge, or takes none."""

    level: float | None = setting(None, low=0.0, high=1.0, doc="How full it is from then on, 0: empty; null: as it is.")
    charge_error: float = setting(0.0, low=-1.0, high=1.0, doc="By which the charge that is told is wrong.")
    charges: bool = setting(True, doc="Whether it can be charged.")

    def effect(self, event: Event) -> Effect:
        """A wrong charge, and a battery that takes none."""
        errors = () if self.charges else (_error("battery_fault", "warning", "its battery takes no charge", event),)
        return Effect(charge_error=self.charge_error, uncharged=not self.charges, errors=errors)

    def begin(self, at: Disturbed) -> None:
        """Set the energy of the battery, if the robot has one."""
        battery = energy_columns_with(at.sim.world, at.row)
        if battery is not None and self.level is not None:
            battery.energy[at.row] = self.level * battery.full_energy[at.row]


@dataclass
class Silent(DisturbanceKind):
    """Robots send nothing, and nothing reaches them; what is to become of them is up to their fleet manager."""

    drives_on: bool = setting(True, doc="Whether they go on with what they were told; otherwise they stand.")

    def effect(self, event: Event) -> Effect:
        """A robot that is not heard of."""
        return Effect("" if self.drives_on else "it has lost its fleet manager", silent=True)


@dataclass
class Reboot(DisturbanceKind):
    """Robots are switched off and on again: they stand, silent, lose their orders, and count their messages anew."""

    def effect(self, event: Event) -> Effect:
        """A robot that is off."""
        return Effect("it is switched off", silent=True)

    def begin(self, at: Disturbed) -> None:
        """Forget what it had to do."""
        world = at.sim.world
        _columns(at).boots[at.row] += 1
        for row in world.actions.busy(np.array([at.row])).tolist():
            world.actions.cancel(row, "it was switched off", ActionCause.DISTURBED)

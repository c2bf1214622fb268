"""PowerHandle: the part of a robot's handle for its battery, by the documented names."""

from __future__ import annotations

from typing import Any

from fleet_sim.entities.sim_object import SimObject
from fleet_sim.errors import StaleHandleError, StateError


class PowerHandle(SimObject):
    """A robot that may have a battery: the feature of that name, given as `battery` when it is spawned."""

    __slots__ = ()

    @property
    def battery_plugin(self) -> Any:
        """The battery, as `feature("battery")` returns it; None without one."""
        try:
            return self.feature("battery")
        except StaleHandleError:
            raise
        except StateError:
            # The same error for a robot without a battery and for a run in which nobody has one.
            return None

    @property
    def battery_soc(self) -> float | None:
        """The battery's state of charge, 0 to 1; None without a battery."""
        battery = self.battery_plugin
        return None if battery is None else float(battery.battery_soc)

    @property
    def is_charging(self) -> bool:
        """Whether the robot has a battery that is connected to a charger."""
        battery = self.battery_plugin
        return battery is not None and bool(battery.is_charging)

    def set_charging(self, charging: bool = True) -> None:
        """Connect the battery to a charger, or disconnect it; raises StateError for a robot without a battery."""
        self.feature("battery").set_charging(charging)

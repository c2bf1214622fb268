"""Battery: the battery of one robot or object."""

from __future__ import annotations

from fleet_sim.arrays import as_float
from fleet_sim.battery.columns import BatteryColumns
from fleet_sim.entities.feature_handle import FeatureHandle


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

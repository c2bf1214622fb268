"""Sensors as users add and find them."""

from __future__ import annotations

from typing import Any

from fleet_sim.core.schema import NO_ROW
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.facade.base import SimulationParts
from fleet_sim.sensors.base import Sensor


class SensorFacade(SimulationParts):
    """Adding, finding and removing sensors."""

    def add_sensor(self, spec: Any, owner: SimObject | str | None = None, **settings: Any) -> Sensor:
        """Add a sensor to the entity `owner` (a handle or a name), or fixed in the world, and return it.

        `spec` is the name of a kind with its parameters as `settings`, a mapping as in a scenario file, or the
        parameters of a kind, such as LidarParams. Raises ConfigError for what cannot be read, UnknownNameError for an
        unknown owner or link, and DuplicateNameError for a name its owner has a sensor of already.
        """
        holder = self._entity_named(owner) if isinstance(owner, str) else owner
        return self.sensors.add(spec, holder, **settings)

    def get_sensor(self, name: str) -> Sensor:
        """Return a sensor by its label: `<owner>/<name>`, or the name of one fixed in the world.

        Raises UnknownNameError.
        """
        owner, _, own = name.rpartition("/")
        return self.sensors.named(self.world.row_named(owner) if owner else NO_ROW, own)

    def remove_sensor(self, sensor: Sensor) -> None:
        """Take a sensor away; raises StateError if it is gone."""
        self.sensors.remove([sensor])

    def _entity_named(self, name: str) -> SimObject:
        handle: SimObject = self.world.handles[self.world.row_named(name)]
        return handle

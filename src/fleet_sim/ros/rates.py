"""When interfaces are due."""

from __future__ import annotations

from dataclasses import fields

from fleet_sim.config.ros_params import RateParams
from fleet_sim.core.clock import Clock, Schedule


class Rates:
    """Schedules of all rates, in simulation time. To be used in the simulation's thread only."""

    def __init__(self, clock: Clock, params: RateParams) -> None:
        self._clock = clock
        self._schedules: dict[str, Schedule | None] = {}
        for field in fields(RateParams):
            self.change(field.name, getattr(params, field.name))

    def change(self, name: str, rate: float | None) -> None:
        """Change one rate, in Hz; None is each step, 0 never."""
        self._schedules[name] = None if rate == 0.0 else self._clock.schedule(rate)

    def add(self, name: str, rate: float | None) -> None:
        """Add the rate of an interface that has no field in RateParams; a known rate does not change."""
        if name not in self._schedules:
            self.change(name, rate)

    def due(self) -> set[str]:
        """Return the names of the interfaces that are due; to be called once per step."""
        return {
            name for name, schedule in self._schedules.items() if schedule is not None and schedule.poll() is not None
        }

"""What may be assigned to a simulation that is built."""

from __future__ import annotations

from fleet_sim.config.params import SimulationParams
from fleet_sim.errors import did_you_mean
from fleet_sim.settings.fields import fields_of

_PACKAGE = __name__.partition(".")[0]


class Assignments:
    """Refuses assignments that nothing would read: slips of names, settings, and parts that other parts hold already.

    Classes that users derive may have attributes of their own.
    """

    _parts: frozenset[str] = frozenset()

    def _settle(self) -> None:
        """Everything is built; its names are taken from now on."""
        self._parts = frozenset(vars(self))

    def __setattr__(self, name: str, value: object) -> None:
        """Raises AttributeError that says what to do instead."""
        cls = type(self)
        if self._parts and not name.startswith("_") and not hasattr(cls, name):
            if name in self._parts:
                raise AttributeError(f"{name!r} is made when a simulation is built, and other parts use it: it stays")
            if name in fields_of(SimulationParams):
                raise AttributeError(f"a simulation has no attribute {name!r}; it is a setting: sim.params.{name}")
            if cls.__module__.partition(".")[0] == _PACKAGE:
                public = [key for key in dir(self) if not key.startswith("_")]
                hint = did_you_mean(name, public).partition(" Known:")[0]
                own = "Values of your own belong in variables, or in a class derived from it"
                raise AttributeError(f"a simulation has no attribute {name!r}.{hint} {own}")
        super().__setattr__(name, value)

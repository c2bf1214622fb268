"""DeclaredMetric: the base of metrics whose parameters are declared once, as settings."""

from __future__ import annotations

from dataclasses import dataclass

from fleet_sim.errors import StateError
from fleet_sim.settings import setting
from fleet_sim.swarm.metric import HISTORY_SIZE, Metric
from fleet_sim.swarm.parameters import Configured, documented
from fleet_sim.swarm.swarm_state import SwarmState


def read_name(value: object) -> str | None:
    """Return a name, or None for that of the class; raises ValueError."""
    if value is None or isinstance(value, str):
        return value
    raise ValueError(f"must be text, got {value!r}")


@documented
@dataclass(eq=False, repr=False)
class DeclaredMetric(Configured, Metric):
    """Base of metrics with settings: a name and a history, and what a subclass adds. Override `calculate`."""

    name: str = setting(
        None,
        reader=read_name,
        schema={"type": ["string", "null"]},
        doc="Name, unique in the world; null: that of the class.",
    )
    history_size: int | None = setting(
        HISTORY_SIZE, low=1, high=10**9, aliases=("history",), doc="Number of values to keep; null: all."
    )

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        Metric.__init__(self, self.name, self.history_size)

    @property
    def watched(self) -> SwarmState:
        """The world; raises StateError before `attach_world`."""
        if self.world is None:
            raise StateError(f"metric {self.name}: attach_world() comes before calculate()")
        return self.world

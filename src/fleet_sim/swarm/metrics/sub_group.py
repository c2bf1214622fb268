"""A metric of some of the agents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fleet_sim.errors import InvalidValueError
from fleet_sim.settings import setting
from fleet_sim.swarm.metrics.crowd_metric import CrowdMetric
from fleet_sim.swarm.metrics.selection import SelectiveMetric
from fleet_sim.swarm.parameters import documented
from fleet_sim.swarm.swarm_state import SwarmState


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class SubGroup(SelectiveMetric):
    """The value of another metric of the population, measured of the selected agents only; NaN where there are none."""

    metric: Any = setting(doc="The metric: a name, or a mapping with type and parameters.")

    def attach_world(self, world: SwarmState) -> None:
        """Observe `world` from now on. Raises InvalidValueError for a metric that is not of the population."""
        super().attach_world(world)
        inner = world.contents.make_metric(self.metric)
        if not isinstance(inner, CrowdMetric):
            kind = type(inner).__name__
            raise InvalidValueError(f"metric: must be one of the population such as average_speed, got {kind}")
        inner.look_at(self.selection)
        self._inner = inner

    @property
    def inner(self) -> tuple[CrowdMetric]:
        """The other metric, once it observes a world."""
        return (self._inner,)

    def calculate(self) -> None:
        """Take an observation."""
        # Raises before the world is attached, with the same words as other metrics do.
        _ = self.watched
        self._inner.calculate()
        self.set_value(self._inner.value)

    def reset(self) -> None:
        """Forget the history, and that of the inner metric."""
        super().reset()
        if self.world is not None:
            self._inner.reset()

"""Wait: wait for simulated time to pass."""

from __future__ import annotations

from dataclasses import dataclass

from fleet_sim.actions.base import Until
from fleet_sim.actions.declared import DeclaredAction
from fleet_sim.config.modes import ActionStatus
from fleet_sim.entities.agent import Agent
from fleet_sim.settings import setting


@dataclass(eq=False, repr=False)
class WaitAction(DeclaredAction):
    """Wait for `duration` s of simulation time, to the tick: 1 s at a step of 0.1 s takes 10 steps."""

    duration: float = setting(low=0.0, unit="s", doc="Duration in simulation time.")
    action_type: str = setting("idle", doc='A label of the user\'s own, such as "charging".')

    def __post_init__(self) -> None:
        super().__post_init__()
        self._executed = 0

    def start(self, agent: Agent) -> Until | None:
        """Begin to wait."""
        return self.update(agent, 0.0)

    def update(self, agent: Agent, dt: float) -> Until | None:
        """Check whether the time has passed."""
        end = (self.start_time or 0.0) + self.duration
        # The time of a tick may be short of the sum by rounding.
        if agent.world.clock.time >= end - 1e-9:
            self.complete()
        return Until(time=end)

    def execute(self, agent: Agent, dt: float) -> bool:
        """Count this call as `dt` of waiting."""
        if self.status is ActionStatus.NOT_STARTED:
            self._executed = 0
            if super().execute(agent, dt):
                return True
        self._executed += 1
        # Calls are counted, as somebody who executes it by hand need not step the clock.
        if not self.is_complete() and self._executed * dt >= self.duration - 1e-9:
            self.complete()
            self.stop(agent)
        return self.is_complete()


class Wait(WaitAction):
    """Wait for `duration` s of simulation time."""

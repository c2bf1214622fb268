"""Wait: let simulated time pass."""

from __future__ import annotations

from fleet_sim.actions.base import Action, Until
from fleet_sim.arrays import as_float
from fleet_sim.config.modes import ActionStatus
from fleet_sim.entities.agent import Agent


class WaitAction(Action):
    """Wait for `duration` s of simulation time, to the tick: 1 s at a step of 0.1 s takes 10 steps.

    `action_type` is a label of the user's own, such as "charging".
    """

    def __init__(self, duration: float, action_type: str = "idle", timeout: float | None = None) -> None:
        super().__init__(timeout)
        self.duration = as_float(duration, "duration in s", low=0.0)
        self.action_type = action_type
        self._executed = 0

    def start(self, agent: Agent) -> Until | None:
        """Begin to wait."""
        return self.update(agent, 0.0)

    def update(self, agent: Agent, dt: float) -> Until | None:
        """See whether the time is over."""
        end = (self.start_time or 0.0) + self.duration
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
        if not self.is_complete() and self._executed * dt >= self.duration - 1e-9:
            self.complete()
            self.stop(agent)
        return self.is_complete()


class Wait(WaitAction):
    """Wait for `duration` s of simulation time."""

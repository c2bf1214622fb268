"""GoalController: drives one agent from goal to goal, with waits in between."""

from __future__ import annotations

import logging
from abc import abstractmethod

from fleet_sim.core.steering import IDLE
from fleet_sim.entities import drive
from fleet_sim.entities.agent import Agent
from fleet_sim.errors import InvalidValueError, StateError
from fleet_sim.geometry import Pose
from fleet_sim.motion.controller import AgentController

log = logging.getLogger("fleet_sim.motion")


class GoalController(AgentController):
    """Sends its agent to the next goal when it has arrived at one and waited.

    It holds back while the agent works on actions, follows somebody else's goal or velocity, or is carried, and goes
    on afterwards. A goal inside of a static body, or one that the agent gives up as such a body blocks it, is left out.
    An agent that was stopped on the way stays where it is until `resume()`. One controller steers one agent.
    """

    def __init__(self) -> None:
        self._agent: Agent | None = None
        self._underway = False
        self._suspended = False
        self._gives_up = False
        self._wait_until: float | None = None

    @abstractmethod
    def next_goal(self, agent: Agent) -> Pose | None:
        """Return the next goal, or None after the last one."""

    @abstractmethod
    def wait_after(self, agent: Agent) -> float:
        """Return how long to wait at the goal just reached, in s of simulation time."""

    def resume(self) -> None:
        """Go on after the agent was stopped."""
        self._suspended = False

    def compute(self, agent: Agent, dt: float) -> None:
        """Set the next goal when it is time to; raises StateError for a second agent."""
        if self._agent is None:
            self._agent = agent
        elif self._agent != agent:
            raise StateError(f"{type(self).__name__} steers {self._agent!r} already; give {agent!r} one of its own")
        world, row = agent.world, agent.row
        if world.actions.queued(row) or agent.is_attached():
            self._underway = False
            return
        if world.motion.control[row] != IDLE or not agent.can_move:
            # Asked while it still drives: in the motion of this step it gives its goal up.
            self._gives_up = drive.is_blocked_too_long(world, row)
            return
        if self._underway and not self._arrived(agent):
            return
        if not self._suspended and not self._waiting(agent):
            self._set_off(agent)

    def _arrived(self, agent: Agent) -> bool:
        """Note an arrival, or that the agent was stopped; returns whether it arrived."""
        self._underway = False
        if agent.is_goal_reached():
            self._wait_until = agent.world.clock.time + self.wait_after(agent)
            return True
        if self._gives_up:
            return True
        # It neither drives nor has arrived: somebody has stopped it.
        self._suspended = True
        return False

    def _waiting(self, agent: Agent) -> bool:
        # The tolerance, as a sum of steps may fall short of the time by rounding.
        return self._wait_until is not None and agent.world.clock.time < self._wait_until - 1e-9

    def _set_off(self, agent: Agent) -> None:
        self._wait_until = None
        goal = self.next_goal(agent)
        if goal is None:
            return
        try:
            agent.set_goal_pose(goal)
        except InvalidValueError as error:
            # The next one in the next step, so that goals without end cannot keep this one from ending.
            log.info("%r leaves a goal out: %s", agent.world.label(agent.row), error)
            return
        self._underway, self._gives_up = True, False

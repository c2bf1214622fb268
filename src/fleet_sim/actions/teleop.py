"""Teleop: let somebody else drive, until told that this is done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fleet_sim.actions.base import Until
from fleet_sim.actions.conveyed import immovable
from fleet_sim.actions.declared import DeclaredAction
from fleet_sim.config.modes import ActionCause
from fleet_sim.entities import drive
from fleet_sim.entities.agent import Agent


@dataclass(eq=False, repr=False)
class TeleopAction(DeclaredAction):
    """Wait while velocity commands drive the robot; COMPLETED by the command FinishActions, and the robot then stops.

    FAILED at once, with the cause, for an agent that cannot move or that the traffic drives.
    """

    # Velocities are what it waits for, so they must not end it.
    moves_base: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._is_done = False
        self._began = False

    def start(self, agent: Agent) -> Until | None:
        """Begin to wait, with a robot that stands."""
        hindrance = immovable(agent)
        if hindrance is not None:
            self.fail(*hindrance)
        elif agent.world.routes.conveys(agent.row):
            self.fail("the traffic of the site drives this robot", ActionCause.UNREACHABLE)
        else:
            self._began = True
            drive.stop(agent.world, np.array([agent.row]))
        return None

    def update(self, agent: Agent, dt: float) -> Until | None:
        """Look whether it is done."""
        if self._is_done:
            self.complete()
        return None

    def finish(self) -> bool:
        """End with success, as soon as the actions of this step are run."""
        self._is_done = True
        return True

    def stop(self, agent: Agent) -> None:
        """Stop the robot, however the action ended."""
        if self._began:
            drive.stop(agent.world, np.array([agent.row]))

    def reset(self) -> None:
        """Make the action ready to start again."""
        super().reset()
        self._is_done = self._began = False

    def progress(self, agent: Agent) -> dict[str, Any]:
        """Return phase and duration."""
        return {"phase": "moving", "duration": self.get_duration()}

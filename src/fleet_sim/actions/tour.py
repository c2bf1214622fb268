"""Tour: drive to poses, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fleet_sim.actions.base import BLOCKED_DOC, Action, Until
from fleet_sim.actions.declared import DeclaredAction
from fleet_sim.actions.move_along import read_path
from fleet_sim.actions.move_to import MoveTo
from fleet_sim.config.modes import ActionCause, ActionStatus, RouteMode
from fleet_sim.entities.agent import Agent
from fleet_sim.gate.bounds import LONGEST_TIME
from fleet_sim.geometry import Path, Pose
from fleet_sim.settings import setting


@dataclass(eq=False, repr=False)
class TourAction(DeclaredAction):
    """Drive to each pose of `path` in turn and stop there; COMPLETED after the last.

    A pose that cannot be reached ends it with that cause; with `skip_missed` it goes on to the next, and `missed` says
    which, by number, and why. FAILED at once for an empty path.
    """

    path: Path | Sequence[Pose] = setting(reader=read_path, doc="Where to, world frame.")
    route: RouteMode | str | bool = setting(
        RouteMode.NONE, reader=RouteMode.parse, doc="How to get to each pose, as of a MoveAction."
    )
    skip_missed: bool = setting(False, doc="Go on to the next pose where one cannot be reached.")
    keep_height: bool = setting(False, doc="Keep the robot's height, as of a MoveAction.")
    blocked_timeout: float | None = setting(None, low=0.0, high=LONGEST_TIME, unit="s", doc=BLOCKED_DOC)
    straight_last: bool = setting(False, doc="Drive straight to the last pose, as into a dock.")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.missed: list[tuple[int, ActionCause]] = []
        self._index = -1
        self._leg: MoveTo | None = None

    @property
    def index(self) -> int:
        """Number of the pose that it drives to, or drove to last."""
        return max(self._index, 0)

    def start(self, agent: Agent) -> Until | None:
        """Start to drive to the first pose."""
        if len(self.path) == 0:
            self.fail("the path is empty", ActionCause.INVALID_GOAL)
            return None
        return self._next(agent)

    def update(self, agent: Agent, dt: float) -> Until | None:
        """Go on to the next pose, where this one is reached."""
        if self._leg is None:
            return self._next(agent)
        return self._after(self._leg, agent, self._leg.proceed(agent, dt))

    def stop(self, agent: Agent) -> None:
        """End the way to the present pose, however the tour ended."""
        if self._leg is not None:
            self._leg.cancel(self.error_message or "the tour ended")
            self._leg.stop(agent)

    def parts(self) -> list[Action]:
        """Return the way to the present pose."""
        return [] if self._leg is None else [self._leg]

    def reset(self) -> None:
        """Make the action ready to start again, from the first pose."""
        super().reset()
        self.missed, self._index, self._leg = [], -1, None

    def progress(self, agent: Agent) -> dict[str, Any]:
        """Return the progress to the present pose, and `waypoint`, its number."""
        leg = {} if self._leg is None else self._leg.progress(agent)
        return {"phase": "moving", **leg, "duration": self.get_duration(), "waypoint": self.index}

    def _next(self, agent: Agent) -> Until | None:
        self._index += 1
        last = self._index == len(self.path) - 1
        route = RouteMode.NONE if self.straight_last and last else self.route
        leg = self._leg = MoveTo(
            self.path[self._index], route=route, keep_height=self.keep_height, blocked_timeout=self.blocked_timeout
        )
        return self._after(leg, agent, leg.begin(agent))

    def _after(self, leg: MoveTo, agent: Agent, until: Until | None) -> Until | None:
        """Return what the tour waits for, after `leg` was called and waits `until`."""
        if not leg.is_complete():
            return until
        leg.stop(agent)
        if leg.status is not ActionStatus.COMPLETED:
            cause = leg.cause or ActionCause.FAILED
            if not self.skip_missed:
                self._blocked_by = leg.blocked_by
                self.fail(f"pose {self._index}: {leg.error_message}", cause)
                return None
            # A new list: the old one may be part of a saved state.
            self.missed = [*self.missed, (self._index, cause)]
        # The next one begins in the next step: poses that are reached at once must not make one step endless.
        self._leg = None
        if self._index == len(self.path) - 1:
            self._finish()
        return None

    def _finish(self) -> None:
        if len(self.missed) == len(self.path):
            self.fail("no pose could be reached", self.missed[-1][1])
        else:
            self.complete()

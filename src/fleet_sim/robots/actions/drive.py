"""Actions that drive to poses: MoveAction along a path or a route, MoveTo to one pose, Tour to several."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.geometry import Path, Pose
from fleet_sim.base.limits import LONGEST_TIME
from fleet_sim.base.params import ActionCause, ActionStatus, MovementDirection, RouteMode
from fleet_sim.base.settings import setting
from fleet_sim.robots.actions import action, routing
from fleet_sim.robots.agent import Agent, checked_approach
from fleet_sim.world.schema import NO_ROW


def _read_direction(value: object) -> MovementDirection | None:
    return None if value is None else MovementDirection.parse(value)


def read_path(value: object) -> Path:
    """Return a Path; raises InvalidValueError."""
    if isinstance(value, Path):
        return value
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise InvalidValueError(f"must be a list of poses, got {value!r}")
    return Path(value)


@dataclass(eq=False, repr=False)
class MoveAction(routing.OnRoute):
    """Follow `path`; COMPLETED at its last waypoint.

    FAILED at once, with the cause, for an empty path, one beyond the world, or an agent that cannot move, and where a
    route is asked for and there is none. A robot that is to take a route while it moves brakes first. A robot in the
    traffic of a site is sent by the traffic: with a route only, and to nodes, within the tolerance.
    """

    path: Path | Sequence[Pose] = setting(reader=read_path, doc="Waypoints, world frame.")
    auto_approach: bool = setting(True, reader=checked_approach, doc="Drive to the first waypoint first: always true.")
    final_orientation_align: bool = setting(True, doc="Turn to the last waypoint's orientation at the end.")
    direction: MovementDirection | str | None = setting(
        None, reader=_read_direction, doc="End of a differential base that leads; None: the robot's default."
    )
    tolerance: float = setting(
        0.0, low=0.0, unit="m", doc="Distance to the last waypoint at which to end; 0: arrive exactly."
    )
    route: RouteMode | str | bool = setting(
        RouteMode.NONE,
        reader=RouteMode.parse,
        doc="Between waypoints: none is straight; roadmap, grid and auto, or true, lead around the walls of the site.",
    )
    keep_height: bool = setting(
        False, doc="Keep the robot's height, roll and pitch, as goals in a plane mean it; robots of navigation_2d do."
    )
    blocked_timeout: float | None = setting(None, low=0.0, high=LONGEST_TIME, unit="s", doc=action.BLOCKED_DOC)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._routed = False
        """Whether a route was found."""
        self._legs: list[routing.Leg] = []
        """What is left of the route: each ends where the robot may have to wait for a door or a lift."""
        self._lifts: list[int] = []
        """Lifts that the robot waits for or rides in, by row, in the order of the route."""
        self._drives = False
        """Whether the robot drives the first of them."""
        self._held_since = math.inf
        """From when on it has stood before another robot, in s."""
        self._aside: routing.SteppedAside | None = None
        """Where it lets others pass, before it goes on along its route."""
        self._leg = -1
        """Pose of the path that the traffic brings the robot to; -1: the traffic does not drive it."""

    def start(self, agent: Agent) -> action.Until | None:
        """Start driving."""
        if len(self.path) == 0:
            self.fail("the path is empty", ActionCause.INVALID_GOAL)
            return None
        hindrance = action.immovable(agent)
        if hindrance is not None:
            self.fail(*hindrance)
            return None
        # Robots in a traffic are driven by it, and by nothing else.
        if action.is_conveyed(agent):
            return self._ride(agent, 0)
        if self.route is not RouteMode.NONE:
            return self._depart(agent)
        path, direction = self._path(agent), self.direction
        if self.fail_inside(agent, path, self.final_orientation_align, self.tolerance):
            return None
        try:
            agent.begin_path(
                path, self.final_orientation_align, direction, self.tolerance, blocked_timeout=self.blocked_timeout
            )
        except InvalidValueError as error:
            # As beyond the end of the world: what was asked for is wrong, and no code is.
            self.fail(str(error), ActionCause.INVALID_GOAL)
            return None
        return action.Until(arrival=True)

    def _depart(self, agent: Agent) -> action.Until | None:
        """Start to drive along a route, as soon as the robot stands."""
        # A robot that moves would leave the line to its first waypoint, and may meet a wall.
        if routing.brakes(agent):
            return None
        path = Path(self._path(agent)[-self._poses_left(agent) :])
        self._aside = None
        parts = routing.routed(agent, path, RouteMode.parse(self.route))
        if isinstance(parts, action.Failure):
            self.fail(*parts)
            return None
        self._lifts = routing.lifts_of(parts)
        legs = routing.legs_of(agent, parts)
        if isinstance(legs, action.Failure):
            self.fail(*legs)
            return None
        self._routed, self._legs, self._drives = True, legs, False
        return self._set_out(agent)

    def _set_out(self, agent: Agent) -> action.Until | None:
        """Drive the next piece of the route, or wait until the lift is there and doors on it are open."""
        leg, last = self._legs[0], len(self._legs) == 1
        try:
            self._drives = routing.is_free(agent, leg)
        except InvalidValueError as error:
            # As a lift that was removed meanwhile.
            self.fail(str(error), ActionCause.UNREACHABLE)
            return None
        if not self._drives:
            return None
        direction = None if self.direction is None else MovementDirection.parse(self.direction)
        align, tolerance = (self.final_orientation_align, self.tolerance) if last else (False, 0.0)
        routing.follow(agent, leg.way, align, direction, tolerance, self.blocked_timeout)
        return self._on_the_way(agent)

    def _on_the_way(self, agent: Agent) -> action.Until:
        """Wait for the end of the piece; meanwhile doors that it leads through are asked to stay open."""
        leg, time = self._legs[0], None
        if routing.may_detour(agent):
            time = agent.world.clock.time + routing.LOOKED_EACH
        if len(leg.passages) and len(routing.ask(agent, leg, routing.distance_left(agent, leg.way))):
            time = agent.world.clock.time + routing.ASKED_EACH
        return action.Until(arrival=True, time=time)

    def _detour(self, agent: Agent) -> action.Until | None:
        """Drive around the robots that stand on the route; where there is no way, out of theirs, or wait for them."""
        self._held_since = math.inf
        path, mode = Path(self._path(agent)[-self._poses_left(agent) :]), RouteMode.parse(self.route)
        parts = routing.routed(agent, path, mode, detour=True)
        legs = parts if isinstance(parts, action.Failure) else routing.legs_of(agent, parts)
        if isinstance(parts, action.Failure) or isinstance(legs, action.Failure):
            return self._give_way(agent)
        self._leave_lifts(agent, lifts := routing.lifts_of(parts))
        self._legs, self._lifts, self._drives = legs, lifts, False
        return self._set_out(agent)

    def _give_way(self, agent: Agent) -> action.Until | None:
        """Leave the route to others if that is for this robot to do."""
        aside = routing.step_aside(agent, self._poses_left(agent)) if self._drives else None
        if aside is None:
            return self._on_the_way(agent) if self._drives else None
        self._leave_lifts(agent, ())
        self._aside, self._legs, self._drives = aside, [], False
        return self._wait_aside(agent)

    def _wait_aside(self, agent: Agent) -> action.Until | None:
        """Go on along the route when the others have passed."""
        if self._aside is not None:
            self._aside = self._aside.after(agent)
            if self._aside.over:
                return self._depart(agent)
        return action.Until(arrival=True, time=agent.world.clock.time + routing.LOOKED_EACH)

    def further(self) -> Floats:
        """Return the points (K, 3) in m where the route leads after the path that the robot drives now."""
        legs = self._legs[self._drives :] if self._aside is None else self._aside.legs[self._aside.drives :]
        return np.concatenate([np.empty((0, 3)), *(leg.way.positions for leg in legs)])

    def may_step_aside(self, agent: Agent) -> bool:
        """Return whether the robot drives on the route now."""
        return self._drives and bool(self._legs) and routing.may_detour(agent)

    def _ride(self, agent: Agent, leg: int) -> action.Until | None:
        """Let the traffic bring the robot to a pose of the path."""
        self._leg = leg
        failure = self._sent(agent, leg)
        if failure is not None:
            self.fail(*failure)
            return None
        return action.Until(arrival=True)

    def _sent(self, agent: Agent, leg: int, *, only_check: bool = False) -> action.Failure | None:
        """Send the robot by the traffic to a pose of the path, or check that; return why it is not sent, or None."""
        if self.route is RouteMode.NONE:
            return action.Failure(action.reason_not_to_drive(agent), ActionCause.UNREACHABLE)
        if self.direction is not None:
            return action.Failure("direction: in the traffic it is the robot's default", ActionCause.INVALID_GOAL)
        align = self.final_orientation_align
        return action.set_out(agent, self._path(agent), leg, align, self.tolerance, only_check=only_check)

    def refusal(self, agent: Agent) -> action.Failure | None:
        """Return why it would fail at once where no route is searched for, or None: whoever commands it can know."""
        hindrance = action.immovable(agent)
        if hindrance is not None or not action.is_conveyed(agent):
            return hindrance
        return self._sent(agent, 0, only_check=True)

    def _ride_on(self, agent: Agent) -> action.Until | None:
        """Check whether the robot is where the traffic brings it, and go on to the next pose."""
        there = action.is_there(agent)
        if isinstance(there, action.Failure):
            self.fail(*there)
        elif there and self._leg == len(self.path) - 1:
            self.complete()
        elif there:
            return self._ride(agent, self._leg + 1)
        return action.Until(arrival=True)

    def reset(self) -> None:
        """Make the action ready to start again, from wherever its robot is then."""
        super().reset()
        # Whether there is a route is asked again: the robot starts from somewhere else now.
        self._routed, self._legs, self._drives, self._lifts = False, [], False, []
        self._leg, self._aside = -1, None

    def stop(self, agent: Agent) -> None:
        """Leave lifts to others, however the drive ended."""
        self._leave_lifts(agent, ())

    def _leave_lifts(self, agent: Agent, needed: Collection[int]) -> None:
        """Leave the lifts to others that are not among those `needed`."""
        lifts = agent.world.routes.lifts
        for lift in self._lifts:
            if lift not in needed and lifts is not None:
                lifts.leave(lift, agent.row)
        self._lifts = [lift for lift in self._lifts if lift in needed]

    def update(self, agent: Agent, dt: float) -> action.Until | None:
        """Check whether the robot has arrived."""
        if self.fail_blocked(agent):
            return None
        if self._leg >= 0:
            return self._ride_on(agent)
        if self._aside is not None:
            return self._wait_aside(agent)
        if not self._routed and self.route is not RouteMode.NONE:
            return self._depart(agent)
        if self._legs:
            self._held_since, detours = routing.patience(agent, self._legs[0], self._drives, self._held_since)
            if detours or not self._drives:
                return self._detour(agent) if detours else self._set_out(agent)
        if agent.is_goal_reached():
            if len(self._legs) > 1:
                # A new list: the old one may be part of a saved state.
                self._legs = self._legs[1:]
                if self._lifts:
                    self._leave_lifts(agent, [leg.stop.lift for leg in self._legs if leg.stop is not None])
                return self._set_out(agent)
            self.complete()
        elif agent.goal_pose is None:
            self.fail("the robot no longer drives to the goal")
        elif self._legs:
            return self._on_the_way(agent)
        return action.Until(arrival=True)

    def _distance_left(self, agent: Agent) -> float:
        first, *others = self._legs
        # Before a door or a lift all of the leg is still to be driven.
        here = routing.distance_left(agent, first.way) if self._drives else first.length
        return here + sum(leg.length for leg in others)

    def progress(self, agent: Agent) -> dict[str, Any]:
        """Return phase, duration, remaining distance (m, along the route or in a straight line), waypoint, poses."""
        # Straight, as long as no route is known.
        straight = agent.get_pose().distance_to(self._path(agent)[-1]) if len(self.path) else 0.0
        return {
            "phase": self._phase(agent),
            "blocked_by": self.blocked_by or "",
            "duration": self.get_duration(),
            "distance_left": self._distance_left(agent) if self._legs else straight,
            "waypoint": agent.current_waypoint_index if self._leg < 0 else self._leg,
            "poses_left": self._poses_left(agent),
        }

    def _phase(self, agent: Agent) -> str:
        if self._aside is not None:
            return "giving way"
        if self.hinderer(agent) == NO_ROW:
            return "moving"
        return "blocked" if math.isfinite(agent.world.motion.blocked_since[agent.row]) else "waiting"

    def hinderer(self, agent: Agent) -> int:
        """Return the row of what stands before the robot, or of the lift or door that it waits for; or NO_ROW."""
        if self._legs and not self._drives:
            return routing.awaited(agent, self._legs[0])
        return super().hinderer(agent)

    def _path(self, agent: Agent) -> Path:
        """Return the waypoints, at the robot's height above the floor where it is kept."""
        if not self.keep_height:
            return Path(self.path)
        return routing.at_heights(agent, self.path, storeys=self.route is not RouteMode.NONE)

    def _poses_left(self, agent: Agent) -> int:
        """Return how many poses of the path are still to be reached."""
        if self._leg >= 0:
            return len(self.path) - self._leg
        if not self._routed and self.route is not RouteMode.NONE:
            return len(self.path)
        if self._aside is not None:
            return self._aside.poses_left
        # Who has arrived has no waypoints any more, until the action hears of it.
        index = None if agent.is_goal_reached() else agent.current_waypoint_index
        if not self._routed:
            return 0 if index is None else len(self.path) - index
        further = sum(len(leg.way.ends) for leg in self._legs[self._drives :])
        if not self._drives or index is None:
            return further
        return further + int((self._legs[0].way.ends >= index).sum())


# MoveTo: drive to a pose.


@dataclass(eq=False, repr=False, init=False)
class MoveTo(MoveAction):
    """Drive to `target_pose`: a path of one waypoint."""

    path: Path = field(init=False)
    auto_approach: bool = field(init=False, default=True)
    target_pose: Pose = setting(doc="Where to, world frame.")

    # Written by hand: a dataclass would put inherited parameters first, and users pass the tolerance by position.
    def __init__(
        self,
        target_pose: Pose,
        tolerance: float = 0.0,
        final_orientation_align: bool = True,
        direction: MovementDirection | str | None = None,
        *,
        route: RouteMode | str | bool = RouteMode.NONE,
        keep_height: bool = False,
        blocked_timeout: float | None = None,
        timeout: float | None = None,
    ) -> None:
        self.keep_height, self.blocked_timeout = keep_height, blocked_timeout
        self.target_pose, self.tolerance, self.timeout = target_pose, tolerance, timeout
        self.route = route
        self.final_orientation_align, self.direction = final_orientation_align, direction
        # A dataclass would call it; this constructor is written by hand.
        self.__post_init__()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.path = Path([self.target_pose])


# Tour: drive to poses, one after the other.


@dataclass(eq=False, repr=False)
class TourAction(action.DeclaredAction):
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
    blocked_timeout: float | None = setting(None, low=0.0, high=LONGEST_TIME, unit="s", doc=action.BLOCKED_DOC)
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

    def start(self, agent: Agent) -> action.Until | None:
        """Start to drive to the first pose."""
        if len(self.path) == 0:
            self.fail("the path is empty", ActionCause.INVALID_GOAL)
            return None
        return self._next(agent)

    def update(self, agent: Agent, dt: float) -> action.Until | None:
        """Go on to the next pose, where this one is reached."""
        if self._leg is None:
            return self._next(agent)
        return self._after(self._leg, agent, self._leg.proceed(agent, dt))

    def stop(self, agent: Agent) -> None:
        """End the way to the present pose, however the tour ended."""
        if self._leg is not None:
            self._leg.cancel(self.error_message or "the tour ended")
            self._leg.stop(agent)

    def parts(self) -> list[action.Action]:
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

    def _next(self, agent: Agent) -> action.Until | None:
        self._index += 1
        last = self._index == len(self.path) - 1
        route = RouteMode.NONE if self.straight_last and last else self.route
        leg = self._leg = MoveTo(
            self.path[self._index], route=route, keep_height=self.keep_height, blocked_timeout=self.blocked_timeout
        )
        return self._after(leg, agent, leg.begin(agent))

    def _after(self, leg: MoveTo, agent: Agent, until: action.Until | None) -> action.Until | None:
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

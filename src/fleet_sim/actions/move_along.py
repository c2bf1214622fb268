"""MoveAction: drive along a path, straight or on a route."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fleet_sim.actions.base import BLOCKED_DOC, Failure, Until
from fleet_sim.actions.conveyed import immovable, is_conveyed, is_there, reason_not_to_drive, set_out
from fleet_sim.actions.detours import LOOKED_EACH, may_detour, patience
from fleet_sim.actions.doorways import ASKED_EACH, Leg, ask, awaited, is_free, legs_of
from fleet_sim.actions.giving_way import OnRoute, SteppedAside, step_aside
from fleet_sim.actions.routing import at_heights, brakes, distance_left, follow, lifts_of, routed
from fleet_sim.arrays import Floats
from fleet_sim.config.modes import ActionCause, MovementDirection, RouteMode
from fleet_sim.core.schema import NO_ROW
from fleet_sim.entities.agent import Agent, checked_approach
from fleet_sim.errors import InvalidValueError
from fleet_sim.gate.bounds import LONGEST_TIME
from fleet_sim.geometry import Path, Pose
from fleet_sim.settings import setting


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
class MoveAction(OnRoute):
    """Follow `path`; COMPLETED at its last waypoint.

    FAILED at once, with the cause, for an empty path, one beyond the world, or an agent that cannot move, and where a
    route is asked for and there is none. A robot that is to take a route while it moves brakes first. A robot in the
    traffic of a site is sent by the traffic: with a route only, and to nodes, within the tolerance.
    """

    path: Path | Sequence[Pose] = setting(reader=read_path, doc="Waypoints, world frame.")
    auto_approach: bool = setting(
        True,
        reader=checked_approach,
        doc="Drive to the first waypoint first: always true.",
    )
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
    blocked_timeout: float | None = setting(None, low=0.0, high=LONGEST_TIME, unit="s", doc=BLOCKED_DOC)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._routed = False
        """Whether a route was found."""
        self._legs: list[Leg] = []
        """What is left of the route: each ends where the robot may have to wait for a door or a lift."""
        self._lifts: list[int] = []
        """Lifts that the robot waits for or rides in, by row, in the order of the route."""
        self._drives = False
        """Whether the robot drives the first of them."""
        self._held_since = math.inf
        """From when on it has stood before another robot, in s."""
        self._aside: SteppedAside | None = None
        """Where it lets others pass, before it goes on along its route."""
        self._leg = -1
        """Pose of the path that the traffic brings the robot to; -1: the traffic does not drive it."""

    def start(self, agent: Agent) -> Until | None:
        """Start driving."""
        if len(self.path) == 0:
            self.fail("the path is empty", ActionCause.INVALID_GOAL)
            return None
        hindrance = immovable(agent)
        if hindrance is not None:
            self.fail(*hindrance)
            return None
        # Robots in a traffic are driven by it, and by nothing else.
        if is_conveyed(agent):
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
        return Until(arrival=True)

    def _depart(self, agent: Agent) -> Until | None:
        """Start to drive along a route, as soon as the robot stands."""
        # A robot that moves would leave the line to its first waypoint, and may meet a wall.
        if brakes(agent):
            return None
        path = Path(self._path(agent)[-self._poses_left(agent) :])
        self._aside = None
        parts = routed(agent, path, RouteMode.parse(self.route))
        if isinstance(parts, Failure):
            self.fail(*parts)
            return None
        self._lifts = lifts_of(parts)
        legs = legs_of(agent, parts)
        if isinstance(legs, Failure):
            self.fail(*legs)
            return None
        self._routed, self._legs, self._drives = True, legs, False
        return self._set_out(agent)

    def _set_out(self, agent: Agent) -> Until | None:
        """Drive the next piece of the route, or wait until the lift is there and doors on it are open."""
        leg, last = self._legs[0], len(self._legs) == 1
        try:
            self._drives = is_free(agent, leg)
        except InvalidValueError as error:
            # As a lift that was removed meanwhile.
            self.fail(str(error), ActionCause.UNREACHABLE)
            return None
        if not self._drives:
            return None
        direction = None if self.direction is None else MovementDirection.parse(self.direction)
        align, tolerance = (self.final_orientation_align, self.tolerance) if last else (False, 0.0)
        follow(agent, leg.way, align, direction, tolerance, self.blocked_timeout)
        return self._on_the_way(agent)

    def _on_the_way(self, agent: Agent) -> Until:
        """Wait for the end of the piece; meanwhile doors that it leads through are asked to stay open."""
        leg, time = self._legs[0], None
        if may_detour(agent):
            time = agent.world.clock.time + LOOKED_EACH
        if len(leg.passages) and len(ask(agent, leg, distance_left(agent, leg.way))):
            time = agent.world.clock.time + ASKED_EACH
        return Until(arrival=True, time=time)

    def _detour(self, agent: Agent) -> Until | None:
        """Drive around the robots that stand on the route; where there is no way, out of theirs, or wait for them."""
        self._held_since = math.inf
        path, mode = Path(self._path(agent)[-self._poses_left(agent) :]), RouteMode.parse(self.route)
        parts = routed(agent, path, mode, detour=True)
        legs = parts if isinstance(parts, Failure) else legs_of(agent, parts)
        if isinstance(parts, Failure) or isinstance(legs, Failure):
            return self._give_way(agent)
        self._leave_lifts(agent, lifts := lifts_of(parts))
        self._legs, self._lifts, self._drives = legs, lifts, False
        return self._set_out(agent)

    def _give_way(self, agent: Agent) -> Until | None:
        """Leave the route to others if that is for this robot to do."""
        aside = step_aside(agent, self._poses_left(agent)) if self._drives else None
        if aside is None:
            return self._on_the_way(agent) if self._drives else None
        self._leave_lifts(agent, ())
        self._aside, self._legs, self._drives = aside, [], False
        return self._wait_aside(agent)

    def _wait_aside(self, agent: Agent) -> Until | None:
        """Go on along the route when the others have passed."""
        if self._aside is not None:
            self._aside = self._aside.after(agent)
            if self._aside.over:
                return self._depart(agent)
        return Until(arrival=True, time=agent.world.clock.time + LOOKED_EACH)

    def further(self) -> Floats:
        """Return the points (K, 3) in m where the route leads after the path that the robot drives now."""
        legs = self._legs[self._drives :] if self._aside is None else self._aside.legs[self._aside.drives :]
        return np.concatenate([np.empty((0, 3)), *(leg.way.positions for leg in legs)])

    def may_step_aside(self, agent: Agent) -> bool:
        """Return whether the robot drives on the route now."""
        return self._drives and bool(self._legs) and may_detour(agent)

    def _ride(self, agent: Agent, leg: int) -> Until | None:
        """Let the traffic bring the robot to a pose of the path."""
        self._leg = leg
        failure: Failure | None
        if self.route is RouteMode.NONE:
            failure = Failure(reason_not_to_drive(agent), ActionCause.UNREACHABLE)
        elif self.direction is not None:
            failure = Failure("direction: in the traffic it is the robot's default", ActionCause.INVALID_GOAL)
        else:
            failure = set_out(agent, self._path(agent), leg, self.final_orientation_align, self.tolerance)
        if failure is not None:
            self.fail(*failure)
            return None
        return Until(arrival=True)

    def _ride_on(self, agent: Agent) -> Until | None:
        """Check whether the robot is where the traffic brings it, and go on to the next pose."""
        there = is_there(agent)
        if isinstance(there, Failure):
            self.fail(*there)
        elif there and self._leg == len(self.path) - 1:
            self.complete()
        elif there:
            return self._ride(agent, self._leg + 1)
        return Until(arrival=True)

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

    def update(self, agent: Agent, dt: float) -> Until | None:
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
            self._held_since, detours = patience(agent, self._legs[0], self._drives, self._held_since)
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
        return Until(arrival=True)

    def _distance_left(self, agent: Agent) -> float:
        first, *others = self._legs
        return distance_left(agent, first.way) + sum(leg.length for leg in others)

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
            return awaited(agent, self._legs[0])
        return super().hinderer(agent)

    def _path(self, agent: Agent) -> Path:
        """Return the waypoints, at the robot's height above the floor where it is kept."""
        if not self.keep_height:
            return Path(self.path)
        return at_heights(agent, self.path, storeys=self.route is not RouteMode.NONE)

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

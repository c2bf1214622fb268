"""MoveTo: drive to a pose."""

from __future__ import annotations

from dataclasses import dataclass, field

from fleet_sim.actions.move_along import MoveAction
from fleet_sim.config.modes import MovementDirection, RouteMode
from fleet_sim.geometry import Path, Pose
from fleet_sim.settings import setting


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

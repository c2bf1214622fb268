"""smooth_path: paths with curves for corners, compatible with Nav2's smoother server."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped
from nav2_msgs.action import SmoothPath
from nav_msgs.msg import Path as PathMsg

from fleet_sim.arrays import Bools, Floats
from fleet_sim.entities.footprint import footprint_radius
from fleet_sim.errors import FleetSimError
from fleet_sim.gate.bounds import check_extent
from fleet_sim.ros.conversions import duration_from_msg, duration_to_msg, poses_from_msgs, row_to_pose_msg, time_to_msg
from fleet_sim.ros.interface import Bridge
from fleet_sim.ros.nav2.costmaps import INSCRIBED, Costs
from fleet_sim.ros.nav2.looking import LookingServers, RefusedGoal, aborted
from fleet_sim.ros.nav2.maps import RobotMaps
from fleet_sim.ros.nav2.smoothing import IsFree, Smoothed, dense, headings, is_clear, smoothed
from fleet_sim.sensors import OccupancyGrid
from fleet_sim.sites import Site, Zone, ZoneKind
from fleet_sim.spatial import quaternions
from fleet_sim.spatial import trigonometry as trig

SMOOTHER_ID = "simple_smoother"
"""As Nav2's configuration calls its only one."""
MOST_POSES = 10_000
"""Of a path to be smoothed."""
_AROUND = trig.sin_cos(np.arange(8) * (np.pi / 4.0))
_RING: Floats = np.stack((*_AROUND,), axis=1)
"""Points (8, 2) of a circle of the radius 1."""


class SmootherServer(LookingServers):
    """The smoother of a robot. Paths are computed by `pool`, so that services go on meanwhile."""

    def __init__(self, bridge: Bridge, maps: RobotMaps, pool: ThreadPoolExecutor, robot: str) -> None:
        super().__init__(bridge, robot)
        self._maps = maps
        self._pool = pool
        self.serve(SmoothPath, "smooth_path", self._execute)

    async def _execute(self, handle: Any) -> Any:
        """Smooth a path in a thread of the pool, within the time of the goal; what is done then is the result."""
        goal, result, gateway = handle.request, SmoothPath.Result(), self._bridge.gateway
        begin = time.perf_counter()
        try:
            points, orientations, is_free = await gateway.wait(gateway.between_steps(partial(self._read, goal)))
            # The time of the goal begins when its path was read.
            end = time.perf_counter() + duration_from_msg(goal.max_smoothing_duration)
            found = await gateway.wait(self._pool.submit(_smooth, points, is_free, end))
            # Also a path that is not completed is better than none.
            result.path = self._message(found.points, points, orientations)
            result.was_completed = found.is_complete
            self._check(goal, found, is_free)
        except (RefusedGoal, FleetSimError) as error:
            return aborted(handle, result, error)
        finally:
            result.smoothing_duration = duration_to_msg(time.perf_counter() - begin)
        handle.succeed()
        return result

    def _check(self, goal: Any, found: Smoothed, is_free: IsFree) -> None:
        """Raise RefusedGoal where the path is not what was asked for."""
        if not found.is_complete:
            allowed = duration_from_msg(goal.max_smoothing_duration)
            raise RefusedGoal("TIMEOUT", f"max_smoothing_duration: not smooth after {allowed:g} s")
        if goal.check_for_collisions and not is_clear(found.points, is_free):
            raise RefusedGoal("SMOOTHED_PATH_IN_COLLISION", "the path leads into an obstacle; plan another one")

    # ---- between two steps -------------------------------------------------------------------------------------------

    def _read(self, goal: Any) -> tuple[Floats, Floats, IsFree]:
        """Return positions (K, 3) and orientations (K, 4) of a path, and what tells where the robot may be."""
        if goal.smoother_id not in ("", SMOOTHER_ID):
            reason = f"smoother_id: only {SMOOTHER_ID!r} is here, got {goal.smoother_id[:80]!r}"
            raise RefusedGoal("INVALID_SMOOTHER", reason)
        if not 0 < len(goal.path.poses) <= MOST_POSES:
            raise RefusedGoal("INVALID_PATH", f"path: 1 to {MOST_POSES} poses, got {len(goal.path.poses)}")
        try:
            points, orientations = self._poses(goal.path)
        except FleetSimError as error:
            raise RefusedGoal("INVALID_PATH", f"path: {error}") from error
        world = self._bridge.sim.world
        row = world.index.row_named(self._robot)
        free = partial(_free, *self._maps.costs(self._robot, "global"), footprint_radius(world, row), self._zones())
        return points, orientations, free

    def _poses(self, path: Any) -> tuple[Floats, Floats]:
        """Return the poses of a path in the frame of the map; raises FleetSimError."""
        # Poses without a frame are in that of the path.
        frames = [pose.header.frame_id or path.header.frame_id for pose in path.poses]
        points, orientations = poses_from_msgs([stamped.pose for stamped in path.poses])
        for frame in dict.fromkeys(frames):
            here_mask = np.array([name == frame for name in frames])
            moved = self._bridge.transforms.to_map(frame, points[here_mask], orientations[here_mask])
            points[here_mask], orientations[here_mask] = moved
        check_extent(points, self._bridge.sim.world.extent, "positions")
        return points, quaternions.normalized(orientations)

    def _zones(self) -> Sequence[Zone]:
        """Return where robots must not go."""
        site: Site | None = self._bridge.sim.extensions.find_manager("site")
        return [zone for zone in site.zones if zone.kind is ZoneKind.NO_GO] if site else ()

    # ---- results -----------------------------------------------------------------------------------------------------

    def _message(self, points: Floats, given: Floats, orientations: Floats) -> PathMsg:
        """Return the path through `points` (N, 2), with the heights of the path that was given."""
        message = PathMsg()
        message.header.frame_id = self._bridge.frames.map
        message.header.stamp = time_to_msg(self._bridge.time.last)
        first, last = quaternions.yaws(orientations[[0, -1]]).tolist()
        turns = quaternions.from_yaws(headings(points, first, last))
        turns[-1] = orientations[-1]
        # Heights by shares of the way, as the smooth one is shorter.
        heights = np.interp(_shares(points), _shares(given[:, :2]), given[:, 2])
        message.poses = [
            PoseStamped(header=message.header, pose=row_to_pose_msg((x, y, z), turn))
            for (x, y), z, turn in zip(points.tolist(), heights.tolist(), turns.tolist(), strict=True)
        ]
        return message


def _smooth(points: Floats, is_free: IsFree, end: float) -> Smoothed:
    """Return the smooth path; `end` is when to end, as time.perf_counter() tells it."""
    return smoothed(dense(points[:, :2]), is_free, lambda: time.perf_counter() < end)


def _shares(points: Floats) -> Floats:
    """Return how far along its path each point (N,) is, from 0 to 1."""
    ways = np.concatenate(([0.0], np.cumsum(trig.hypot(*np.diff(points, axis=0).T))))
    return np.asarray(ways / max(ways[-1], 1e-9))


def _free(grid: OccupancyGrid, costs: Costs, radius: float, zones: Sequence[Zone], points: Floats) -> Bools:
    """Return at which `points` (N, 2) the robot touches no obstacle and no zone; beyond the map nothing is known."""
    cells = grid.cells_at(points)
    # Beyond the map nothing is known to be in the way.
    inside_mask = grid.inside_mask(cells)
    free_mask = np.ones(len(points), bool)
    columns, lines = cells[inside_mask].T
    free_mask[inside_mask] = costs[lines, columns] < INSCRIBED
    for zone in zones:
        # A disc touches a zone where its middle or a point of its rim is in it.
        ring = (points[:, None] + radius * _RING).reshape(-1, 2)
        free_mask &= ~(zone.contains(points) | zone.contains(ring).reshape(-1, len(_RING)).any(axis=1))
    return free_mask

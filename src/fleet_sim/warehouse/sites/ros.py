"""The interface of sites in ROS 2: their stations as named poses, where simulation_interfaces is installed."""

from __future__ import annotations

import math
from importlib.util import find_spec
from typing import Any

import numpy as np
from geometry_msgs.msg import Vector3

from fleet_sim.base.errors import UnknownNameError
from fleet_sim.base.geometry import Pose
from fleet_sim.base.spatial.trigonometry import sin_cos
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim.ros.messages import pose_to_msg
from fleet_sim.warehouse.sites import Site, Station

# Not every ROS 2 has this package.
IS_SERVED = find_spec("simulation_interfaces") is not None
if IS_SERVED:
    from simulation_interfaces.msg import Bounds, NamedPose
    from simulation_interfaces.srv import GetNamedPoseBounds, GetNamedPoses

    from fleet_sim.ros.simulation_answers import has_tags, serve


class NamedPoses(Interface):
    """Tells where the stations of the site are, and how much room is around them.

    Below sim/: get_named_poses, which tags filter by the kind of station, and get_named_pose_bounds. Without a site
    there are no poses.
    """

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        if IS_SERVED:
            serve(bridge, GetNamedPoses, "get_named_poses", self._poses)
            serve(bridge, GetNamedPoseBounds, "get_named_pose_bounds", self._bounds)

    async def _poses(self, request: Any, response: Any) -> None:
        site = await self._site()
        stations = site.stations if site is not None else ()
        response.poses = [_named(one) for one in stations if has_tags([one.kind.value], request.tags)]

    async def _bounds(self, request: Any, response: Any) -> None:
        site = await self._site()
        if site is None:
            raise UnknownNameError(f"unknown named pose {request.name!r}: the scenario has no site")
        response.bounds = room_around(site, site.station(request.name))

    async def _site(self) -> Site | None:
        """Return the site of the simulation, or None without one."""
        return await self.bridge.read(self._find)

    def _find(self) -> Site | None:
        site: Site | None = self.bridge.sim.extensions.find_manager("site")
        return site


def room_around(site: Site, station: Station) -> Bounds:
    """Return the largest ball around a station that meets no wall, relative to its pose; unbounded without walls."""
    boxes = site.boxes()
    if not len(boxes):
        return Bounds(type=Bounds.TYPE_EMPTY)
    away = np.array([station.x, station.y]) - boxes[:, :2]
    sin, cos = sin_cos(boxes[:, 2])
    along = np.abs(np.stack((cos * away[:, 0] + sin * away[:, 1], cos * away[:, 1] - sin * away[:, 0]), axis=1))
    gaps = np.maximum(along - boxes[:, 3:5], 0.0)
    radius = float(np.sqrt((gaps * gaps).sum(axis=1)).min())
    return Bounds(type=Bounds.TYPE_SPHERE, points=[Vector3(), Vector3(x=radius)])


def _named(station: Station) -> NamedPose:
    pose = Pose.from_euler(station.x, station.y, 0.0, 0.0, 0.0, math.remainder(station.yaw, 2.0 * math.pi))
    kind = station.kind.value
    return NamedPose(name=station.name, description=f"{kind} station", tags=[kind], pose=pose_to_msg(pose))

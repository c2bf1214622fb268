"""follow_gps_waypoints, compatible with Nav2: waypoints in degrees, of maps whose place on the earth is known."""

from __future__ import annotations

from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped
from nav2_msgs.action import FollowGPSWaypoints

from fleet_sim.base.errors import InvalidValueError, StateError
from fleet_sim.base.scenario import RosParams
from fleet_sim.base.spatial.trigonometry import sin_cos_of
from fleet_sim.robots.actions.action import Action
from fleet_sim.ros.actions import GoalReader
from fleet_sim.warehouse.nav2.navigate import MOST_WAYPOINTS, tour_of, waypoints_kind
from fleet_sim.warehouse.sites.mercator import Mercator


def _stamped(goal: Any, params: RosParams) -> list[PoseStamped]:
    """Return the poses of a goal in the frame of the map; their orientations are in that frame already, as in Nav2."""
    datum = params.nav2.datum
    if datum is None:
        raise StateError("ros.nav2.datum: not set, so where the map is on the earth is not known")
    if len(goal.gps_poses) > MOST_WAYPOINTS:
        raise InvalidValueError(f"gps_poses: at most {MOST_WAYPOINTS}, got {len(goal.gps_poses)}")
    latitude, longitude, heading = datum
    degrees = [(pose.position.longitude, pose.position.latitude) for pose in goal.gps_poses]
    east, north = Mercator(latitude, longitude, 1.0, 0.0, 0.0).to_metres(np.array(degrees).reshape(-1, 2)).T
    sine, cosine = sin_cos_of(heading)
    stamped = []
    for x, y, pose in zip(
        (cosine * east + sine * north).tolist(), (cosine * north - sine * east).tolist(), goal.gps_poses, strict=True
    ):
        one = PoseStamped()
        one.header.frame_id = params.map_frame
        one.pose.position.x, one.pose.position.y, one.pose.orientation = x, y, pose.orientation
        stamped.append(one)
    return stamped


def _tour(goal: Any, reader: GoalReader) -> Action:
    return tour_of(goal, _stamped(goal, reader.params), reader)


FOLLOW_GPS_WAYPOINTS = waypoints_kind("follow_gps_waypoints", FollowGPSWaypoints, _tour)

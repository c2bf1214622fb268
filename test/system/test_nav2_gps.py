"""follow_gps_waypoints, as BasicNavigator.followGpsWaypoints calls it."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from action_msgs.msg import GoalStatus
from geographic_msgs.msg import GeoPose
from nav2_fleet import WALL, Navigator, action, nav2_fleet
from nav_msgs.msg import Odometry

from fleet_sim.base.errors import ConfigError
from fleet_sim.base.scenario import RosParams

SUCCEEDED = GoalStatus.STATUS_SUCCEEDED
LATITUDE, LONGITUDE = 48.0, 11.0


def place(north: float, east: float) -> GeoPose:
    """Return the place so many metres from the datum, by the radii of the ellipsoid there."""
    squash = 0.00669437999014 * math.sin(math.radians(LATITUDE)) ** 2
    across = 6378137.0 / math.sqrt(1.0 - squash)
    along = across * (1.0 - 0.00669437999014) / (1.0 - squash)
    geo = GeoPose()
    geo.position.latitude = LATITUDE + math.degrees(north / along)
    geo.position.longitude = LONGITUDE + math.degrees(east / (across * math.cos(math.radians(LATITUDE))))
    return geo


def test_waypoints_in_degrees_are_places_of_the_map(tmp_path: Path) -> None:
    # The map's x axis points north, so its y axis points west.
    settings = {"datum": [LATITUDE, LONGITUDE, math.pi / 2.0]}
    with nav2_fleet(tmp_path, 1, settings) as (_, client):
        robot = Navigator(client, "robot_0")
        odom = client.listen(Odometry, "/robot_0/odom")
        goals = [place(3.0, -4.0), place(WALL, -5.0), place(4.0, -3.0)]
        sent = robot.send("FollowGPSWaypoints", "follow_gps_waypoints", gps_poses=goals, number_of_loops=1)
        status, result = sent.result()
        # The second one is in the wall, both times.
        assert (status, [one.index for one in result.missed_waypoints]) == (SUCCEEDED, [1, 1])
        missed = result.missed_waypoints[0]
        assert missed.error_code == action.ComputePathToPose.Result.GOAL_OCCUPIED
        assert missed.goal.pose.position.x == pytest.approx(WALL, abs=1e-4)
        assert {one.current_waypoint for one in sent.feedback} <= {0, 1, 2}
        # The last known place is the first one that is told after the end.
        odom.clear()
        client.until(lambda: odom, "odometry")
        position = odom[-1].pose.pose.position
        assert (position.x, position.y) == pytest.approx((4.0, 3.0), abs=1e-4)
        away = place(0.0, 0.0)
        away.position.longitude += 50.0
        for pose in (away, place(0.0, math.nan), place(1e7, 0.0)):
            sent = robot.send("FollowGPSWaypoints", "follow_gps_waypoints", gps_poses=[pose])
            assert not sent.handle.accepted


def test_a_datum_that_is_no_place_is_an_error() -> None:
    assert RosParams.from_scenario({"ros": {"nav2": {"datum": [1, 2]}}}).nav2.datum == (1.0, 2.0, 0.0)
    for datum in ([1.0], "here", [90.0, 0.0], [0.0, 181.0], [0.0, 0.0, 99.0], [math.nan, 0.0]):
        with pytest.raises(ConfigError, match="datum"):
            RosParams.from_scenario({"ros": {"nav2": {"datum": datum}}})

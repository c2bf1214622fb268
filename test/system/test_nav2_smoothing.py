"""smooth_path, as BasicNavigator.smoothPath calls it: paths of the planner, and paths that cannot be smoothed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from nav2_fleet import WALL, Navigator, action, nav2_fleet, pose, srv
from nav_msgs.msg import Odometry, Path

from fleet_sim.base.arrays import Floats
from fleet_sim.warehouse.sites import Zone, ZoneKind

SUCCEEDED, ABORTED = GoalStatus.STATUS_SUCCEEDED, GoalStatus.STATUS_ABORTED
CODES = action.SmoothPath.Result
NO_GO = Zone("wet floor", ZoneKind.NO_GO, np.array([[10.0, 3.0], [13.0, 3.0], [13.0, 6.0], [10.0, 6.0]]))


@pytest.fixture(scope="module")
def robot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Navigator]:
    with nav2_fleet(tmp_path_factory.mktemp("nav2"), 1, zones=(NO_GO,)) as (_, client):
        yield Navigator(client, "robot_0")


def path_of(*points: tuple[float, float], frame: str = "map") -> Path:
    path = Path()
    path.header.frame_id = frame
    # Poses without a frame are in that of the path.
    path.poses = [pose(x, y, "") for x, y in points]
    return path


def ask(robot: Navigator, path: Path, seconds: int = 20, **fields: Any) -> tuple[int, Any]:
    """Return (status, result) of smoothing `path`."""
    goal = action.SmoothPath.Goal(path=path, **fields)
    goal.max_smoothing_duration.sec = seconds
    status, result = robot.client.send_goal(action.SmoothPath, f"/{robot.robot}/smooth_path", goal).result()
    return int(status), result


def points_of(path: Path) -> Floats:
    return np.array([(one.pose.position.x, one.pose.position.y) for one in path.poses])


def sharpest(points: Floats) -> float:
    """Return the sharpest turn of a path in degrees."""
    steps = np.diff(points, axis=0)
    yaws = np.arctan2(steps[:, 1], steps[:, 0])
    return float(np.degrees(np.abs(np.remainder(np.diff(yaws) + np.pi, 2 * np.pi) - np.pi)).max())


def test_the_path_of_the_planner_stays_clear_of_walls_and_zones(robot: Navigator) -> None:
    status, planned = robot.send("ComputePathToPose", "compute_path_to_pose", goal=pose(13.5, 2.0)).result()
    assert status == SUCCEEDED
    status, result = ask(robot, planned.path, check_for_collisions=True)
    assert (status, result.error_msg) == (SUCCEEDED, "")
    points = points_of(result.path)
    assert sharpest(points) < sharpest(points_of(planned.path))
    assert not NO_GO.contains(points).any()
    costs = robot.call(srv.GetCostmap, "global_costmap/get_costmap").map
    grid = np.frombuffer(bytes(costs.data), np.uint8).reshape(costs.metadata.size_y, costs.metadata.size_x)
    origin = costs.metadata.origin.position
    columns, lines = ((points - (origin.x, origin.y)) / costs.metadata.resolution).astype(int).T
    assert grid[lines, columns].max() < 253
    # As example_follow_path of nav2_simple_commander does: it is driven as a curve, not from pose to pose.
    odom = robot.client.listen(Odometry, "/robot_0/odom")
    sent = robot.send("FollowPath", "follow_path", path=result.path)
    status, result = sent.result()
    assert (status, result.error_code) == (SUCCEEDED, 0)
    assert odom[-1].pose.pose.position.x == pytest.approx(13.5, abs=0.05)
    speeds = np.array([one.twist.twist.linear.x for one in odom])
    driven = speeds[np.flatnonzero(speeds)[0] : np.flatnonzero(speeds)[-1]]
    assert np.median(driven) > 1.5
    left = [one.distance_to_goal for one in sent.feedback]
    assert left[0] > 15.0 and left[-1] < 1.0


def test_what_cannot_be_smoothed_is_refused_with_the_reason(robot: Navigator) -> None:
    through = path_of((2.0, 2.0), (WALL, 2.5), (8.0, 2.0))
    wall = path_of((5.0, 5.0), (8.0, 5.0))
    for path, seconds, fields, code, reason in (
        (through, 20, {"smoother_id": "mine"}, CODES.INVALID_SMOOTHER, "simple_smoother"),
        (wall, 20, {"check_for_collisions": True}, CODES.SMOOTHED_PATH_IN_COLLISION, "obstacle"),
        (path_of(), 20, {}, CODES.INVALID_PATH, "poses"),
        (path_of((1.0, float("nan"))), 20, {}, CODES.INVALID_PATH, "nan"),
        (path_of((1.0, 1.0), frame="moon"), 20, {}, CODES.INVALID_PATH, "moon"),
    ):
        status, result = ask(robot, path, seconds, **fields)
        assert (status, result.error_code, result.was_completed) == (ABORTED, code, False), fields
        assert reason in result.error_msg
    # Without the check it is smoothed as it is: where it leads is up to who asked.
    assert ask(robot, wall, smoother_id="simple_smoother")[0] == SUCCEEDED
    # A path of a single pose is as smooth as can be.
    status, result = ask(robot, path_of((3.0, 3.0)))
    assert (status, points_of(result.path).tolist()) == (SUCCEEDED, [[3.0, 3.0]])

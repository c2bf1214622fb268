"""Nav2 as its clients see it: what BasicNavigator calls, in its order, with ten robots in their namespaces."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from geographic_msgs.msg import GeoPose
from geometry_msgs.msg import PoseWithCovarianceStamped
from nav2_fleet import WALL, Navigator, action, nav2_fleet, pose, srv
from nav_msgs.msg import OccupancyGrid
from nav_msgs.srv import GetMap
from node_program import LATCHED, Client, NodeProcess

SUCCEEDED, CANCELED, ABORTED = GoalStatus.STATUS_SUCCEEDED, GoalStatus.STATUS_CANCELED, GoalStatus.STATUS_ABORTED
FLEET = [f"robot_{i}" for i in range(10)]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[NodeProcess, Client]]:
    with nav2_fleet(tmp_path_factory.mktemp("nav2")) as both:
        yield both


@pytest.fixture
def fleet(node: tuple[NodeProcess, Client]) -> list[Navigator]:
    return [Navigator(node[1], robot) for robot in FLEET]


def test_ten_robots_are_driven_in_their_namespaces(fleet: list[Navigator]) -> None:
    client = fleet[0].client
    for navigator in fleet[:2]:
        assert navigator.state("amcl") == "active"
        poses = client.listen(PoseWithCovarianceStamped, f"/{navigator.robot}/amcl_pose", LATCHED)
        initial = PoseWithCovarianceStamped()
        client.publisher(PoseWithCovarianceStamped, f"/{navigator.robot}/initialpose").publish(initial)
        client.until(lambda poses=poses: poses, "amcl_pose")
        # The true one: localisation is perfect, and where a client believes the robot to be moves nothing.
        assert poses[-1].pose.pose.position.x == pytest.approx(2.0)
        assert navigator.state("bt_navigator") == "active"
    sent = [navigator.drive(4.0, 2.0 + i) for i, navigator in enumerate(fleet)]
    for one in sent:
        status, result = one.result()
        assert (status, result.error_code, result.error_msg) == (SUCCEEDED, 0, "")
    assert all(one.feedback for one in sent)
    feedback = sent[0].feedback
    assert feedback[0].distance_remaining > feedback[-1].distance_remaining
    assert feedback[-1].navigation_time.sec + feedback[-1].navigation_time.nanosec > 0
    # The height of the robot is its own, whatever the goal says.
    assert feedback[-1].current_pose.pose.position.z == pytest.approx(0.15)


def test_waypoints_and_poses_on_the_way(fleet: list[Navigator]) -> None:
    robot = fleet[0]
    goals = [pose(4.0, 1.5), pose(WALL, 2.0), pose(3.0, 1.5)]
    sent = robot.send("FollowWaypoints", "follow_waypoints", poses=goals)
    status, result = sent.result()
    # The second one is in the wall: it is missed, and the robot goes on.
    assert (status, [one.index for one in result.missed_waypoints]) == (SUCCEEDED, [1])
    assert result.missed_waypoints[0].error_code == action.ComputePathToPose.Result.GOAL_OCCUPIED
    assert [one.current_waypoint for one in sent.feedback] == sorted(one.current_waypoint for one in sent.feedback)
    sent = robot.send("FollowWaypoints", "follow_waypoints", poses=goals[1:2])
    assert sent.result()[0] == ABORTED
    sent = robot.send("NavigateThroughPoses", "navigate_through_poses", poses=[pose(4.0, 1.5), pose(2.0, 1.5)])
    assert sent.result()[0] == SUCCEEDED
    left = [one.number_of_poses_remaining for one in sent.feedback]
    assert left[0] == 2 and set(left) <= {1, 2} and left == sorted(left, reverse=True)
    assert not robot.send("NavigateToPose", "navigate_to_pose", pose=pose(1.0, 1.0), behavior_tree="x").handle.accepted
    # Where the map is on the earth is not known.
    assert not robot.send("FollowGPSWaypoints", "follow_gps_waypoints", gps_poses=[GeoPose()]).handle.accepted


def test_behaviours_end_as_those_of_nav2(fleet: list[Navigator]) -> None:
    robot = fleet[1]
    sent = robot.send("Spin", "spin", target_yaw=1.57)
    status, result = sent.result()
    assert (status, result.error_code) == (SUCCEEDED, 0)
    assert result.total_elapsed_time.sec + result.total_elapsed_time.nanosec > 0
    robot.send("Spin", "spin", target_yaw=-1.57).result()
    back = action.BackUp.Goal(speed=0.5)
    back.target.x = 0.5
    sent = robot.client.send_goal(action.BackUp, "/robot_1/backup", back)
    assert sent.result()[0] == SUCCEEDED
    traveled = [one.distance_traveled for one in sent.feedback]
    assert traveled == sorted(traveled) and traveled[-1] <= 0.5 + 1e-3
    ahead = action.DriveOnHeading.Goal(speed=0.5)
    ahead.target.x = 0.5
    assert robot.client.send_goal(action.DriveOnHeading, "/robot_1/drive_on_heading", ahead).result()[0] == SUCCEEDED
    codes = action.DriveOnHeading.Result
    ahead.target.y = 1.0
    status, result = robot.client.send_goal(action.DriveOnHeading, "/robot_1/drive_on_heading", ahead).result()
    assert (status, result.error_code) == (ABORTED, codes.INVALID_INPUT)
    ahead.target.y, ahead.target.x, ahead.speed = 0.0, 1.0, 0.1
    ahead.time_allowance.sec = 1
    status, result = robot.client.send_goal(action.DriveOnHeading, "/robot_1/drive_on_heading", ahead).result()
    assert (status, result.error_code) == (ABORTED, codes.TIMEOUT)
    wait = action.Wait.Goal()
    wait.time.sec = 2
    sent = robot.client.send_goal(action.Wait, "/robot_1/wait", wait)
    status, result = sent.result()
    assert (status, result.total_elapsed_time.sec) == (SUCCEEDED, 2)
    assert all(one.time_left.sec <= 2 for one in sent.feedback)


def test_goals_are_cancelled_and_preempted(fleet: list[Navigator]) -> None:
    robot = fleet[2]
    sent = robot.drive(14.0, 12.0)
    robot.client.until(lambda: sent.feedback, "motion")
    sent.cancel()
    status, result = sent.result()
    assert (status, result.error_code) == (CANCELED, 0)
    first = robot.drive(14.0, 12.0)
    second = robot.drive(3.0, 4.0)
    assert (first.result()[0], second.result()[0]) == (ABORTED, SUCCEEDED)
    status, result = robot.send("NavigateToPose", "navigate_to_pose", pose=pose(1.0, 1.0, "moon")).result()
    assert (status, result.error_code) == (ABORTED, action.ComputePathToPose.Result.TF_ERROR)
    status, result = robot.drive(WALL, 2.0).result()
    assert (status, result.error_code) == (ABORTED, action.ComputePathToPose.Result.GOAL_OCCUPIED)


def test_paths_are_computed_and_followed(fleet: list[Navigator]) -> None:
    robot, codes = fleet[3], action.ComputePathToPose.Result
    status, result = robot.send("ComputePathToPose", "compute_path_to_pose", goal=pose(8.0, 5.0)).result()
    points = [(one.pose.position.x, one.pose.position.y) for one in result.path.poses]
    assert (status, result.error_code, points[-1]) == (SUCCEEDED, 0, (8.0, 5.0))
    # Around the upper end of the wall, which leaves a gap there.
    assert max(y for _, y in points) > 11.0
    for fields, code in (
        ({"goal": pose(40.0, 5.0)}, codes.GOAL_OUTSIDE_MAP),
        ({"goal": pose(WALL, 5.0)}, codes.GOAL_OCCUPIED),
        # In each corner of the map there is a wall, and beyond it nothing.
        *(({"goal": pose(x, y)}, codes.GOAL_OCCUPIED) for x in (0.05, 15.95) for y in (0.05, 13.95)),
        *(
            ({"goal": pose(*at)}, codes.GOAL_OUTSIDE_MAP)
            for at in ((-0.05, 7.0), (16.05, 7.0), (5.0, -0.05), (5.0, 14.05))
        ),
        ({"goal": pose(8.0, 5.0), "start": pose(WALL, 5.0), "use_start": True}, codes.START_OCCUPIED),
        ({"goal": pose(8.0, 5.0), "planner_id": "mine"}, codes.INVALID_PLANNER),
        ({"goal": pose(8.0, 5.0, "moon")}, codes.TF_ERROR),
    ):
        status, result = robot.send("ComputePathToPose", "compute_path_to_pose", **fields).result()
        assert (status, result.error_code) == (ABORTED, code), fields
    kind = "ComputePathThroughPoses"
    status, result = robot.send(kind, "compute_path_through_poses", goals=[]).result()
    assert (status, result.error_code) == (ABORTED, action.ComputePathThroughPoses.Result.NO_VIAPOINTS_GIVEN)
    goals = [pose(3.0, 4.5), pose(4.0, 5.5)]
    status, result = robot.send(kind, "compute_path_through_poses", goals=goals).result()
    assert status == SUCCEEDED
    sent = robot.send("FollowPath", "follow_path", path=result.path)
    assert sent.result()[0] == SUCCEEDED
    assert any(one.speed > 0.0 for one in sent.feedback)
    status, result = robot.send("FollowPath", "follow_path").result()
    assert (status, result.error_code) == (ABORTED, action.FollowPath.Result.INVALID_PATH)


def test_maps_and_costmaps(node: tuple[NodeProcess, Client], fleet: list[Navigator]) -> None:
    robot = fleet[4]
    grid = robot.call(GetMap, "map_server/map").map
    shown = robot.client.listen(OccupancyGrid, f"/{robot.robot}/global_costmap/costmap", LATCHED)
    map_ = robot.client.listen(OccupancyGrid, f"/{robot.robot}/map", LATCHED)
    robot.client.until(lambda: shown and map_, "both")
    assert map_[-1].info.width == grid.info.width == shown[-1].info.width
    found = robot.call(srv.GetCostmap, "global_costmap/get_costmap").map
    costs = np.frombuffer(bytes(found.data), np.uint8).reshape(found.metadata.size_y, found.metadata.size_x)

    def cost(x: float, y: float) -> int:
        column = int((x - found.metadata.origin.position.x) / found.metadata.resolution)
        line = int((y - found.metadata.origin.position.y) / found.metadata.resolution)
        return int(costs[line, column])

    # The wall, where a robot of 0.2 m would touch it, where it is only near, and where it is far.
    assert [cost(WALL, 5.0), cost(WALL - 0.3, 5.0)] == [254, 253]
    assert 0 < cost(WALL - 0.6, 5.0) < 253 and cost(3.0, 7.5) == 0
    local = robot.call(srv.GetCostmap, "local_costmap/get_costmap").map
    assert local.metadata.size_x * local.metadata.resolution == pytest.approx(3.0)
    # The robots beside this one are in its local costmap.
    assert 254 in bytes(local.data)
    for name, kind in (
        ("global_costmap/clear_entirely_global_costmap", srv.ClearEntireCostmap),
        ("local_costmap/clear_entirely_local_costmap", srv.ClearEntireCostmap),
        ("local_costmap/clear_costmap_except_region", srv.ClearCostmapExceptRegion),
        ("local_costmap/clear_costmap_around_robot", srv.ClearCostmapAroundRobot),
    ):
        robot.call(kind, name)
    for place in ("global_costmap", "local_costmap"):
        for name in ("clear_costmap_around_pose", f"clear_around_pose_{place}"):
            robot.call(srv.ClearCostmapAroundPose, f"{place}/{name}", pose=pose(2.0, 2.0), reset_distance=1.0)
    name = "local_costmap/clear_costmap_around_pose"
    robot.call(srv.ClearCostmapAroundPose, name, pose=pose(2.0, 2.0, "moon"), reset_distance=1.0)
    assert "clear_costmap_around_pose: refused: unknown frame 'moon'" in node[0].output()
    refused = robot.call(srv.LoadMap, "map_server/load_map", map_url="/etc/passwd")
    assert refused.result == srv.LoadMap.Response.RESULT_UNDEFINED_FAILURE
    hall = node[0].log.with_name("hall.yaml")
    loaded = robot.call(srv.LoadMap, "map_server/load_map", map_url=hall.as_uri())
    assert loaded.result == srv.LoadMap.Response.RESULT_SUCCESS and loaded.map.info.width == grid.info.width


def test_a_robot_that_was_shut_down_takes_no_goals(fleet: list[Navigator]) -> None:
    robot, codes = fleet[5], srv.ManageLifecycleNodes.Request
    sent = robot.drive(14.0, 12.0)
    assert robot.manage(codes.SHUTDOWN)
    assert sent.result()[0] == ABORTED
    assert (robot.state("bt_navigator"), fleet[6].state("bt_navigator")) == ("inactive", "active")
    assert not robot.drive(3.0, 7.0).handle.accepted
    assert not robot.send("ComputePathToPose", "compute_path_to_pose", goal=pose(3.0, 7.0)).handle.accepted
    assert robot.manage(codes.STARTUP) and robot.state("bt_navigator") == "active"
    assert robot.drive(3.0, 7.0).result()[0] == SUCCEEDED
    assert not robot.manage(200)

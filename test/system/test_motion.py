"""Robots driven by topics: they start, stop, arrive, and refuse what is wrong."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
from geometry_msgs.msg import Point, PoseStamped, TransformStamped, Twist, Vector3
from nav_msgs.msg import Odometry, Path
from node_program import Running, SharedNode, shared_node
from rosgraph_msgs.msg import Clock
from tf2_msgs.msg import TFMessage
from tf2_ros import StaticTransformBroadcaster, TransformBroadcaster

from fleet_sim_msgs.msg import FleetCommand

ARGUMENTS = ["-p", "robots:=3", "-p", "target_rtf:=5.0"]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedNode]:
    with shared_node(tmp_path_factory.mktemp("node"), *ARGUMENTS) as node:
        yield node


@pytest.fixture
def fleet(node: SharedNode) -> Iterator[Running]:
    with node.visited() as both:
        yield both


def seconds(stamp: object) -> float:
    return stamp.sec + 1e-9 * stamp.nanosec  # type: ignore[attr-defined]


def test_a_velocity_moves_a_robot_until_it_times_out(fleet: Running) -> None:
    _, client = fleet
    odoms = client.listen(Odometry, "/robot_0/odom")
    commands = client.publisher(Twist, "/robot_0/cmd_vel")
    commands.publish(Twist(linear=Vector3(x=0.5)))
    client.until(lambda: odoms and odoms[-1].twist.twist.linear.x > 0.4, "motion")
    assert odoms[-1].header.frame_id == "robot_0/odom"
    assert odoms[-1].child_frame_id == "robot_0/base_link"
    moving = seconds(next(odom for odom in odoms if odom.twist.twist.linear.x > 0.0).header.stamp)
    client.until(lambda: odoms[-1].twist.twist.linear.x == 0.0, "the end of the motion")
    assert seconds(odoms[-1].header.stamp) - moving == pytest.approx(0.5, abs=0.25)
    assert 0.1 < odoms[-1].pose.pose.position.x < 0.4


def test_a_goal_in_the_frame_of_the_robot_is_reached(fleet: Running) -> None:
    _, client = fleet
    odoms = client.listen(Odometry, "/robot_1/odom")
    goals = client.publisher(PoseStamped, "/robot_1/goal_pose")
    start = client.until(lambda: odoms and odoms[-1].pose.pose.position)
    goal = PoseStamped()
    goal.header.frame_id = "robot_1/base_link"
    goal.pose.position.x = 1.0
    goals.publish(goal)
    client.until(lambda: math.isclose(odoms[-1].pose.pose.position.x, start.x + 1.0, abs_tol=1e-6), "arrival")
    assert odoms[-1].pose.pose.position.z == start.z


def transform(parent: str, child: str, x: float, yaw: float = 0.0) -> TransformStamped:
    stamped = TransformStamped(child_frame_id=child)
    stamped.header.frame_id = parent
    stamped.transform.translation.x = x
    stamped.transform.rotation.z, stamped.transform.rotation.w = math.sin(yaw / 2), math.cos(yaw / 2)
    return stamped


@pytest.mark.slow
def test_goals_are_taken_in_frames_other_nodes_publish(fleet: Running) -> None:
    _, client = fleet
    static, dynamic = StaticTransformBroadcaster(client.node), TransformBroadcaster(client.node)
    static.sendTransform(
        [transform("map", "dock", 4.0, math.pi / 2), transform("hall", "map", 2.0), transform("hall", "desk", 5.0)]
    )
    odoms = client.listen(Odometry, "/robot_0/odom")
    goals = client.publisher(PoseStamped, "/robot_0/goal_pose")
    # A goal 1 m ahead in a frame, and where that is in the map: below the map, below a robot, beside the map, above it.
    for frame, x, y in (("dock", 4.0, 1.0), ("eye", 2.5, 2.0), ("desk", 4.0, 0.0), ("hall", -1.0, 0.0)):
        goal = PoseStamped()
        goal.header.frame_id = frame
        goal.pose.position.x, goal.pose.orientation.w = 1.0, 1.0

        def arrived(goal: PoseStamped = goal, x: float = x, y: float = y) -> bool:
            # The node hears of a new publisher within a moment; until then the goal is refused.
            dynamic.sendTransform([transform("robot_2/base_link", "mast", 0.5), transform("mast", "eye", 1.0)])
            goals.publish(goal)
            here = odoms[-1].pose.pose.position if odoms else Point()
            return math.isclose(here.x, x, abs_tol=1e-6) and math.isclose(here.y, y, abs_tol=1e-6)

        client.until(arrived, f"the arrival at {frame}")


def test_bytes_that_are_no_message_are_refused_and_survived(fleet: Running) -> None:
    process, client = fleet
    odoms = client.listen(Odometry, "/robot_0/odom")
    endless_text = b"\0\1\0\0" + b"\x01\0\0\0" + b"\xff" * 72
    kinds = {
        "robot_0/goal_pose": PoseStamped,
        "robot_0/path": Path,
        "robot_0/cmd_vel": Twist,
        "/tf": TFMessage,
        "fleet/command": FleetCommand,
    }
    publishers = {name: client.node.create_publisher(kind, name, 10) for name, kind in kinds.items()}

    def refused() -> bool:
        for publisher in publishers.values():
            publisher.publish(endless_text)
        return all(f"{name}: refused" in process.output() for name in kinds)

    client.until(refused, "the refusals")
    twist = Twist()
    twist.linear.x = 0.5
    publishers["robot_0/cmd_vel"].publish(twist)
    client.until(lambda: odoms and odoms[-1].twist.twist.linear.x > 0.4, "motion")


def test_a_frame_that_is_not_connected_with_the_map_is_refused(fleet: Running) -> None:
    process, client = fleet
    broadcaster = StaticTransformBroadcaster(client.node)
    broadcaster.sendTransform([transform("moon", "crater", 1.0)])
    goals = client.publisher(PoseStamped, "/robot_0/goal_pose")
    goal = PoseStamped()
    goal.header.frame_id = "crater"

    def told() -> bool:
        goals.publish(goal)
        return "frame 'crater' is below 'moon', which no transform connects with 'map'" in process.output()

    client.until(told, "a reason")


def test_a_path_is_followed_and_shown(fleet: Running) -> None:
    _, client = fleet
    odoms = client.listen(Odometry, "/robot_2/odom")
    plans = client.listen(Path, "/robot_2/plan", 10)
    paths = client.publisher(Path, "/robot_2/path")
    path = Path()
    path.header.frame_id = "map"
    for x, y in ((1.0, 3.0), (2.0, 3.0)):
        pose = PoseStamped()
        pose.pose.position.x, pose.pose.position.y = x, y
        path.poses.append(pose)
    paths.publish(path)
    start = client.until(lambda: odoms and odoms[-1].pose.pose.position)
    client.until(lambda: plans and len(plans[-1].poses) == 3, "the plan, from where the robot is")
    first = plans[0].poses[0].pose.position
    assert math.hypot(first.x - start.x, first.y - start.y) < 3.0
    assert [(pose.pose.position.x, pose.pose.position.y) for pose in plans[0].poses[1:]] == [(1.0, 3.0), (2.0, 3.0)]
    client.until(lambda: odoms and math.isclose(odoms[-1].pose.pose.position.y, 3.0, abs_tol=1e-6), "arrival")
    client.until(lambda: len(plans[-1].poses) == 0, "the end of the plan")


def test_what_is_wrong_moves_nothing_and_says_why(fleet: Running) -> None:
    process, client = fleet
    odoms = client.listen(Odometry, "/robot_0/odom")
    clocks = client.listen(Clock, "/clock", 1)
    commands = client.publisher(Twist, "/robot_0/cmd_vel")
    goals = client.publisher(PoseStamped, "/robot_0/goal_pose")
    start = client.until(lambda: odoms and odoms[-1].pose.pose.position)
    command = Twist()
    command.linear.x = math.nan
    commands.publish(command)
    client.until(lambda: "velocity is not finite" in process.output(), "a reason")
    goal = PoseStamped()
    goal.header.frame_id = "maps"
    goal.pose.position.x = 5.0
    goals.publish(goal)
    client.until(lambda: "unknown frame 'maps'. Did you mean 'map'" in process.output(), "a reason")
    now = seconds(clocks[-1].clock)
    client.until(lambda: seconds(odoms[-1].header.stamp) > now + 1.0)
    assert odoms[-1].pose.pose.position == start

"""Robots driven by topics: they start, stop, arrive, and refuse what is wrong."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
from geometry_msgs.msg import PoseStamped, TransformStamped, Twist
from nav_msgs.msg import Odometry, Path
from node_program import Running, SharedNode, shared_node
from rosgraph_msgs.msg import Clock
from tf2_msgs.msg import TFMessage
from tf2_ros import StaticTransformBroadcaster

from fleet_sim_msgs.msg import FleetCommand

ARGUMENTS = ["-p", "robots:=3", "-p", "target_rtf:=5.0"]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedNode]:
    with shared_node(tmp_path_factory.mktemp("node"), *ARGUMENTS) as node:
        yield node


def seconds(stamp: object) -> float:
    return stamp.sec + 1e-9 * stamp.nanosec  # type: ignore[attr-defined]


def transform(parent: str, child: str, x: float, yaw: float = 0.0) -> TransformStamped:
    stamped = TransformStamped(child_frame_id=child)
    stamped.header.frame_id = parent
    stamped.transform.translation.x = x
    stamped.transform.rotation.z, stamped.transform.rotation.w = math.sin(yaw / 2), math.cos(yaw / 2)
    return stamped


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

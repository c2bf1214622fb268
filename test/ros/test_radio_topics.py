"""Radio and localization of robots on their ROS interfaces: what comes late, and frames that say what is believed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rclpy
from geometry_msgs.msg import Twist
from heard_node import HeardNode, heard_node, stamp_of
from plain_geometry import matrix, vector

from fleet_sim_msgs.action import MoveTo

DT_NS = 100_000_000
LATE = 3


def scenario(*disturbances: dict[str, Any]) -> dict[str, Any]:
    return {
        "simulation": {"timestep": 0.1, "monitor": False, "gui": False},
        "robots": [
            {"name": name, "pose": [0.0, 5.0 * index, 0.0], "controller": {"type": "omni", "max_linear_vel": 1.0}}
            for index, name in enumerate("ab")
        ],
        "ros": {"rates": dict.fromkeys(("odom", "tf", "fleet_states", "joint_states", "feedback"), 10.0)},
        "disturbances": [{"kind": "radio", "robots": ["a"], **entry} for entry in disturbances],
    }


def drive(node: HeardNode) -> int:
    """Send both robots a velocity; return the step in which it was received."""
    for name in "ab":
        publisher = node.listener.create_publisher(Twist, f"/{name}/cmd_vel", 1)
        node.until(lambda publisher=publisher: publisher.get_subscription_count())
        twist = Twist()
        twist.linear.x = 0.5
        publisher.publish(twist)
    end = rclpy.clock.Clock().now().nanoseconds + 500_000_000
    node.until(lambda: rclpy.clock.Clock().now().nanoseconds > end)
    return int(node.sim.clock.tick)


def test_a_velocity_is_carried_out_exactly_so_many_steps_later(tmp_path: Path) -> None:
    given = scenario({"latency": LATE * 0.1, "direction": "to_robot"})
    with heard_node(tmp_path, given) as node:
        node.step(2)
        begin, began = drive(node), {}
        for _ in range(8):
            node.step()
            for row, name in enumerate("ab"):
                if node.sim.world.velocity[row, 0] > 0.0:
                    began.setdefault(name, node.sim.clock.tick - 1)
        assert began == {"a": begin + LATE, "b": begin}


def stamps(node: HeardNode, topic: str, after: int) -> list[int]:
    return [stamp for message in node.heard[topic] if (stamp := stamp_of(message)) is not None and stamp > after]


def test_what_a_robot_tells_comes_so_many_steps_later_and_that_of_others_at_once(tmp_path: Path) -> None:
    given = scenario({"latency": LATE * 0.1, "direction": "from_robot", "at": 0.5})
    with heard_node(tmp_path, given) as node:
        node.step(20)
        told = {name: stamps(node, f"/{name}/odom", 0)[-1] for name in "ab"}
        assert told["b"] - told["a"] == LATE * DT_NS
        # No stamp is missing, and none comes twice.
        for name in "ab":
            all_of_it = stamps(node, f"/{name}/odom", 0)
            assert all_of_it == list(range(all_of_it[0], all_of_it[-1] + 1, DT_NS))
        frames: dict[str, list[int]] = {}
        for message in node.heard["/tf"]:
            for transform in message.transforms:
                frames.setdefault(transform.child_frame_id, []).append(stamp_of(transform) or 0)
        assert frames["b/base_link"][-1] - frames["a/base_link"][-1] == LATE * DT_NS
        drive(node)
        node.step(8)
        last = node.heard["/fleet/states"][-1]
        a, b = ({state.name: state for state in last.robots}[name] for name in "ab")
        assert a.pose.position.x == node.poses[stamp_of(last) - LATE * DT_NS]["a"].position[0]
        assert b.pose.position.x == node.poses[stamp_of(last)]["b"].position[0] > a.pose.position.x > 0.0


def test_an_outage_keeps_goals_and_results_and_freezes_what_is_known(tmp_path: Path) -> None:
    given = scenario({"outage": True, "at": 1.0, "lasts": 2.0})
    with heard_node(tmp_path, given) as node:
        node.step(5)
        goal = MoveTo.Goal()
        goal.pose.header.frame_id = "map"
        goal.pose.pose.position.x, goal.pose.pose.position.y, goal.pose.pose.orientation.w = 1.0, 0.0, 1.0
        node.step(10)
        quiet = len(node.heard["/a/odom"])
        ended = node.send_goal(MoveTo, "/a/move_to", goal, most=100)
        assert ended.result is not None and ended.result.success
        began = next(stamp for stamp in stamps(node, "/a/odom", 15 * DT_NS))
        assert began >= 30 * DT_NS
        xs = {stamp_of(message): message.pose.pose.position.x for message in node.heard["/a/odom"][quiet:]}
        assert all(x == 0.0 for stamp, x in xs.items() if (stamp or 0) <= 30 * DT_NS)
        assert max(xs.values()) > 0.5


def test_a_result_from_within_an_outage_comes_after_it(tmp_path: Path) -> None:
    with heard_node(tmp_path, scenario({"outage": True, "at": 1.0, "lasts": 3.0})) as node:
        node.step(2)
        goal = MoveTo.Goal()
        goal.pose.pose.position.x, goal.pose.pose.orientation.w = 1.0, 1.0
        ended = node.send_goal(MoveTo, "/a/move_to", goal, most=100)
        assert ended.result is not None and ended.result.success
        # It was there in the middle of the outage, and nobody was told.
        there = next(stamp for stamp, poses in node.poses.items() if poses["a"].position[0] == 1.0)
        assert 10 * DT_NS < there < 25 * DT_NS
        assert node.sim.clock.time >= 4.0


def test_frames_and_states_of_the_fleet_have_what_is_believed_and_odometry_what_is_true(tmp_path: Path) -> None:
    given = scenario()
    given["disturbances"] = [
        {"kind": "localization", "robots": ["a"], "bias": 0.3, "heading_noise": 0.1, "noise": 0.02, "at": 0.5}
    ]
    with heard_node(tmp_path, given) as node:
        node.step(4)
        drive(node)
        node.step(12)
        stamp = stamp_of(node.heard["/fleet/states"][-1])
        frames = {
            transform.child_frame_id: transform.transform
            for message in node.heard["/tf"]
            for transform in message.transforms
            if stamp_of(transform) == stamp
        }
        states = {state.name: state for state in node.heard["/fleet/states"][-1].robots}
        for name in "ab":
            odom, base = frames[f"{name}/odom"], frames[f"{name}/base_link"]
            turned, there = matrix(odom.rotation), vector(base.translation)
            told = states[name].pose
            assert turned @ there + vector(odom.translation) == pytest.approx(vector(told.position), abs=1e-9)
            assert turned @ matrix(base.rotation) == pytest.approx(matrix(told.orientation), abs=1e-9)
            true = np.array(node.poses[stamp][name].position)
            assert there == pytest.approx(true, abs=1e-12), "odometry does not err"
            odometry = node.heard[f"/{name}/odom"][-1].pose.pose
            assert vector(odometry.position) == pytest.approx(true, abs=1e-12)
            off = float(np.linalg.norm(vector(told.position) - true))
            assert off == pytest.approx(0.3, abs=0.1) if name == "a" else off == 0.0
        static = {transform.child_frame_id for message in node.heard["/tf_static"] for transform in message.transforms}
        assert not static & {"a/odom", "b/odom"}

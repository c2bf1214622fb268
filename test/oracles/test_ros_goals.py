"""Goals over DDS: what a Drop and a Pick do with each field, what feedback says, and the causes of results."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from oracle_rows import holds

pytest.importorskip("rclpy")

from heard_node import HeardNode, heard_node
from plain_geometry import vector, yawed
from ros_domain import use_own_domain

import fleet_sim as fs
from fleet_sim_msgs.action import Drop, Execute, MoveTo, Pick
from fleet_sim_msgs.msg import Cause, FleetCommand

use_own_domain()

HOME = (-1.25, 3.1, 0.2)
YAW = 0.7
HELD = (0.05, -0.03, 0.37)
"""Where a load is, in the frame of its robot."""
CRATE = (-0.4, 3.3, 0.15)


def scenario() -> dict[str, Any]:
    crate = {"shape_type": "box", "half_extents": [0.1, 0.12, 0.15]}
    robot = {"shape": {"shape_type": "cylinder", "radius": 0.2, "height": 0.4}, "pose": [*HOME, YAW]}
    wall = {"shape": {"shape_type": "box", "half_extents": [0.1, 2.0, 0.5]}, "pose": [3.0, -6.0, 0.5, 0.3]}
    return {
        "simulation": {"gui": False, "timestep": 0.05, "seed": 1, "block_on_collision": True},
        "ros": {"rates": {"clock": None, "feedback": None, "fleet_states": None}, "groups": ["actions"]},
        "robots": [
            {"name": "cart", **robot, "motion_mode": "omnidirectional", "max_linear_vel": 1.3},
            {"name": "tug", **robot, "pose": [0.0, -6.0, 0.2, 0.1], "motion_mode": "omnidirectional"},
        ],
        "objects": [
            {"name": "load", "shape": crate, "pose": [9.0, 9.0, 0.15]},
            {"name": "crate", "shape": crate, "pose": [*CRATE]},
            {"name": "high", "shape": crate, "pose": [CRATE[0] - 0.3, CRATE[1], 1.9]},
            {"name": "wall", **wall, "collision_mode": "static", "pickable": False},
        ],
    }


@pytest.fixture(scope="module")
def node(tmp_path_factory: Any) -> Iterator[HeardNode]:
    with heard_node(tmp_path_factory.mktemp("goals"), scenario()) as heard:
        yield heard


@pytest.fixture
def cart(node: HeardNode) -> Any:
    """The robot at home with its load, whatever tests before did."""
    cart, load = node.sim.get_object("cart"), node.sim.get_object("load")
    for carried in cart.get_attached_objects():
        cart.detach_object(carried)
    cart.stop()
    cart.set_pose(fs.Pose.from_euler(*HOME, 0.0, 0.0, YAW))
    cart.attach_object(load, relative_pose=fs.Pose(HELD))
    node.sim.get_object("crate").set_pose(fs.Pose(CRATE))
    return cart


def place(node: HeardNode, name: str = "load") -> Any:
    return np.array(node.sim.get_object(name).get_pose().position)


HELD_AT = np.array(HOME) + yawed(YAW) @ np.array(HELD)


def before(target: Any, seen_from: Any, distance: float) -> Any:
    """Return the place at a distance before a target in the plane."""
    away = np.array(seen_from[:2]) - np.array(target[:2])
    return np.array(target[:2]) + distance * away / np.linalg.norm(away)


def check_feedback(node: HeardNode, outcome: Any, targets: Any, robot: str = "cart") -> None:
    """Check distances in the plane to the target of each phase, progress, poses and the duration in the result."""
    node.check_poses(robot, outcome.feedback)
    farthest = 0.0
    for told in outcome.feedback:
        place = vector(told.pose.pose.position)
        farthest = max(farthest, told.distance_left)
        target = targets.get(told.phase, targets["moving"]) if "moving" in targets else targets[told.phase]
        assert told.distance_left == pytest.approx(math.dist(place[:2], target[:2]), abs=1e-6)
        assert told.progress == pytest.approx(1.0 - told.distance_left / farthest, abs=1e-9)
    assert outcome.result.duration == pytest.approx(0.05 * len(outcome.feedback), abs=0.11)


ENDS = "success", "cause", "duration"
TOLD = "distance_left", "progress", "pose.*"


@holds(
    *(f"ros:fleet_sim_msgs/{kind}.{field}" for kind in ("Drop", "Pick") for field in ENDS),
    *(f"ros:fleet_sim_msgs/{kind}_Feedback.{field}" for kind in ("Drop", "Pick", "Execute") for field in TOLD),
    fault="ros/action_kinds.py: a pose that nobody set is the origin of the map",
)
def test_a_drop_without_a_pose_lets_go_of_the_load_where_it_is(node: HeardNode, cart: Any) -> None:
    goal = node.send_goal(Drop, "/cart/drop", Drop.Goal(use_approach=False))
    assert goal.accepted and goal.result.success and goal.result.cause == Cause.NONE
    assert place(node) == pytest.approx(HELD_AT, abs=1e-9)
    assert not cart.get_attached_objects()


def test_a_drop_that_would_drive_needs_to_know_where_to(node: HeardNode, cart: Any) -> None:
    start = np.array(cart.position)
    assert not node.send_goal(Drop, "/cart/drop", Drop.Goal()).accepted
    assert np.array(cart.position).tolist() == start.tolist() and cart.get_attached_objects()


@pytest.mark.parametrize(
    ("pose", "use_pose", "expected"),
    [((0.3, 2.2, 0.4), False, (0.3, 2.2, 0.4)), ((0.0, 0.0, 0.0), True, (0.0, 0.0, 0.0))],
)
def test_a_drop_puts_the_load_at_a_pose_that_is_given(
    node: HeardNode, cart: Any, pose: Any, use_pose: bool, expected: Any
) -> None:
    goal = Drop.Goal(use_approach=False, use_pose=use_pose)
    goal.pose.pose.position.x, goal.pose.pose.position.y, goal.pose.pose.position.z = pose
    assert node.send_goal(Drop, "/cart/drop", goal).result.success
    assert place(node) == pytest.approx(expected, abs=1e-9)


def test_a_drop_moves_the_load_relative_to_where_it_is_held(node: HeardNode, cart: Any) -> None:
    goal = Drop.Goal(use_approach=False)
    goal.relative_pose.position.x, goal.relative_pose.position.z = 0.1, -0.23
    assert node.send_goal(Drop, "/cart/drop", goal).result.success
    assert place(node) == pytest.approx(HELD_AT + yawed(YAW) @ [0.1, 0.0, -0.23], abs=1e-9)


def test_a_drop_can_drive_and_let_go_without_moving_the_load(node: HeardNode, cart: Any) -> None:
    """A relative pose of nothing is given by its flag: the load stays on the height at which it is held."""
    goal = Drop.Goal(use_relative_pose=True, approach_offset=0.6, drop_offset=0.5, blocked_timeout=3.0)
    goal.pose.pose.position.x, goal.pose.pose.position.y = 1.5, 2.5
    outcome = node.send_goal(Drop, "/cart/drop", goal)
    assert outcome.result.success and {told.phase for told in outcome.feedback} >= {"approaching", "moving_to_drop"}
    assert place(node)[2] == pytest.approx(HELD_AT[2], abs=1e-9)
    assert math.hypot(*(place(node)[:2] - [1.5, 2.5])) == pytest.approx(0.5, abs=0.06)
    away = before((1.5, 2.5), HOME, 0.6)
    near = before((1.5, 2.5), away, 0.5)
    check_feedback(node, outcome, {"approaching": away, "moving_to_drop": near, "dropping": near, "retreating": away})


def test_what_is_given_without_its_flag_is_rejected(node: HeardNode, cart: Any) -> None:
    position = Pick.Goal(use_approach=False)
    position.position.point.x = 1.0
    target = Drop.Goal(use_approach=False)
    target.ee_target.pose.position.z = 0.5
    away = Drop.Goal(use_approach=False)
    away.approach_pose.pose.position.x = 1.0
    both = Pick.Goal(use_approach=False, keep_pose=True)
    both.attach_pose.position.z = 0.3
    several = Pick.Goal(use_approach=False, joint_targets=[0.1, 0.2], joint_tolerance=[0.1, 0.1])
    for kind, goal in ((Pick, position), (Drop, target), (Drop, away), (Pick, both), (Pick, several)):
        assert not node.send_goal(kind, f"/cart/{kind.__name__.lower()}", goal).accepted, goal


@pytest.mark.parametrize(("flat", "found"), [(True, "high"), (False, "crate")])
def test_a_pick_searches_with_or_without_heights(node: HeardNode, cart: Any, flat: bool, found: str) -> None:
    goal = Pick.Goal(use_approach=False, search_radius=0.6, use_2d_search=flat, use_position=True)
    goal.position.point.x, goal.position.point.y, goal.position.point.z = CRATE[0] - 0.3, CRATE[1], 0.2
    node.sim.get_object("high").set_pose(fs.Pose((CRATE[0] - 0.3, CRATE[1], 1.9)))
    assert node.send_goal(Pick, "/cart/pick", goal).result.object == found


def test_a_pick_reaches_no_farther_than_asked(node: HeardNode, cart: Any) -> None:
    away = math.dist(cart.position, CRATE)
    for reach, cause in ((away - 0.01, Cause.UNREACHABLE), (away + 0.01, Cause.NONE)):
        outcome = node.send_goal(Pick, "/cart/pick", Pick.Goal(object="crate", use_approach=False, reach=reach))
        assert outcome.accepted and outcome.result.cause == cause


def test_a_pick_goes_by_the_approach_pose(node: HeardNode, cart: Any) -> None:
    cart.detach_object(node.sim.get_object("load"), drop_pose=fs.Pose((9.0, 9.0, 0.15)))
    goal = Pick.Goal(object="crate", pick_offset=0.4)
    goal.approach_pose.pose.position.x, goal.approach_pose.pose.position.y = -0.5, 4.6
    goal.approach_pose.pose.position.z = HOME[2]
    outcome = node.send_goal(Pick, "/cart/pick", goal)
    assert outcome.result.success
    assert outcome.result.cause == Cause.NONE
    away = np.array([-0.5, 4.6])
    near = before(CRATE, away, 0.4)
    check_feedback(node, outcome, {"approaching": away, "moving_to_pick": near, "picking": near, "retreating": away})
    seen = np.array([vector(told.pose.pose.position) for told in outcome.feedback])
    # There and back: it ends where it came from.
    assert np.linalg.norm(seen - [-0.5, 4.6, HOME[2]], axis=1).min() < 0.07
    assert np.array(cart.position) == pytest.approx([-0.5, 4.6, HOME[2]], abs=0.06)


@holds(
    *(f"ros:fleet_sim_msgs/{kind}.{field}" for kind in ("MoveTo", "Execute") for field in ENDS),
    *(f"ros:fleet_sim_msgs/MoveTo_Feedback.{field}" for field in TOLD),
    "ros:fleet_sim_msgs/FleetState.robots.last_cause",
    fault="ros/actions.py: the share that is left as progress; ros/fleet.py: causes one too high",
)
def test_feedback_says_how_far_it_is_and_a_result_what_blocked(node: HeardNode) -> None:
    goal = MoveTo.Goal(blocked_timeout=1.5)
    goal.pose.pose.position.x, goal.pose.pose.position.y, goal.pose.pose.position.z = 6.0, -6.0, 0.2
    outcome = node.send_goal(MoveTo, "/tug/move_to", goal)
    whole = outcome.feedback[0].distance_left
    assert whole == pytest.approx(6.0, abs=0.05)
    check_feedback(node, outcome, {"moving": (6.0, -6.0)}, "tug")
    assert (outcome.feedback[-1].phase, outcome.feedback[-1].blocked_by) == ("blocked", "wall")
    assert not outcome.result.success and outcome.result.cause == Cause.BLOCKED and "wall" in outcome.result.text
    standing = sum(told.blocked_by == "wall" for told in outcome.feedback) * 0.05
    assert standing == pytest.approx(1.5, abs=0.2)
    node.step()
    state = node.heard["/fleet/states"][-1].robots[1]
    assert (state.name, state.last_cause, state.last_error) == ("tug", Cause.BLOCKED, outcome.result.text)
    assert not state.has_goal
    back = MoveTo.Goal()
    back.pose.pose.position.x, back.pose.pose.position.y, back.pose.pose.position.z = 0.5, -6.0, 0.2
    assert node.send_goal(MoveTo, "/tug/move_to", back).result.success
    node.step()
    state = node.heard["/fleet/states"][-1].robots[1]
    assert (state.last_cause, state.last_error) == (Cause.NONE, "")


@holds(
    *(f"ros:fleet_sim_msgs/CommandResult.stamp.{part}" for part in ("sec", "nanosec")), fault="ros/fleet.py: no time"
)
def test_navigate_takes_routes_only_where_there_are_some(node: HeardNode) -> None:
    """A route where the scenario has no site ends the action: nothing drives through walls instead."""
    publisher = node.listener.create_publisher(FleetCommand, "/fleet/command", 10)
    node.until(publisher.get_subscription_count)
    command = FleetCommand(kind=FleetCommand.NAVIGATE, names=["tug"], route=True)
    command.poses.append(Drop.Goal().pose.pose)
    start = np.array(node.sim.get_object("tug").position)
    node.step()
    sent = round(node.sim.sim_time * 1e9)
    known = len(node.heard["/fleet/command_result"])
    publisher.publish(command)
    for _ in range(40):
        node.step()
        if len(node.heard["/fleet/command_result"]) > known:
            break
    node.step(3)
    answer = node.heard["/fleet/command_result"][-1]
    # With the time at which it was applied.
    assert list(answer.accepted) == ["tug"]
    assert sent <= answer.stamp.sec * 10**9 + answer.stamp.nanosec <= round(node.sim.sim_time * 1e9)
    state = node.heard["/fleet/states"][-1].robots[1]
    assert state.last_cause != Cause.NONE and state.last_error
    assert np.array(node.sim.get_object("tug").position) == pytest.approx(start)


def test_execute_tells_what_blocks(node: HeardNode) -> None:
    parameters = '{"path": [{"position": [6.0, -6.0, 0.2]}], "blocked_timeout": 0.5}'
    outcome = node.send_goal(Execute, "/tug/execute", Execute.Goal(action="move", parameters=parameters))
    assert outcome.result.cause == Cause.BLOCKED and outcome.feedback[-1].blocked_by == "wall"
    assert not outcome.result.success
    check_feedback(node, outcome, {"moving": (6.0, -6.0)}, "tug")


@holds("ros:rosgraph_msgs/Clock.clock.*", fault="world/clock.py: a reset continues at the time of the last message")
def test_no_stamp_is_used_twice_around_a_reset(node: HeardNode) -> None:
    node.step(3)
    for _ in range(2):
        node.sim.reset()
        node.step(3)
    for topic in ("/clock", "/fleet/states"):
        stamps = [(s := getattr(m, "clock", None) or m.header.stamp).sec * 10**9 + s.nanosec for m in node.heard[topic]]
        assert np.diff(stamps).min() > 0, topic

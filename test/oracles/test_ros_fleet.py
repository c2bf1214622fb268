"""What /fleet/states and /fleet/orders say of faults, batteries and orders, against events, figures and positions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle_rows import holds

pytest.importorskip("rclpy")

from geometry_msgs.msg import Pose
from heard_node import HeardNode, heard_node
from ros_domain import use_own_domain

from fleet_sim.warehouse.sites import Grid, Site, Station, StationKind, write_site
from fleet_sim_msgs.action import MoveTo
from fleet_sim_msgs.msg import Cause, FleetCommand, OrderStatus, RobotState

use_own_domain()

pytestmark = pytest.mark.slow

SERVED = (OrderStatus.ASSIGNED, OrderStatus.DRIVING, OrderStatus.PICKING, OrderStatus.CARRYING, OrderStatus.DROPPING)
ORDERS = [
    {"id": "late", "pick": "shelf", "drop": "desk", "load": 12.5, "due": 9.0, "priority": 1},
    {"id": "second", "pick": "desk", "drop": "shelf", "load": 7.0, "release": 1.3},
]
BREAK, REPAIR = 0.05, 2.2
"""Probability in each second, and how long it lasts."""


@pytest.fixture(scope="module")
def node(tmp_path_factory: Any) -> Iterator[HeardNode]:
    folder: Path = tmp_path_factory.mktemp("hall")
    stations = (
        Station("shelf", StationKind.WORKSTATION, 2.5, 1.5, 0.0),
        Station("desk", StationKind.WORKSTATION, 8.5, 4.5, 0.0),
    )
    write_site(Site("hall", Grid(np.ones((7, 12), bool), 1.0), stations=stations), folder / "hall.yaml")
    body = {"shape": {"shape_type": "cylinder", "radius": 0.3, "height": 0.3}, "controller": {"type": "differential"}}
    scenario = {
        "simulation": {"gui": False, "timestep": 0.05, "seed": 5},
        "site": "hall.yaml",
        "traffic": {"planner": "pibt", "disturbances": {"breakdowns": {"probability": BREAK, "after": REPAIR}}},
        "robots": [
            {"name": "a", "pose": [1.5, 5.5, 0.15], **body, "battery": {"level": 0.4}, "orders": {}},
            {"name": "b", "pose": [10.5, 1.5, 0.15], **body, "orders": {}},
            {"name": "flat", "pose": [5.5, -8.3, 0.15, 0.7], **body, "traffic": {"takes_part": False}}
            | {"battery": {"capacity_wh": 0.02, "idle_power": 41.0, "drive_energy": 3.0}},
        ],
        "orders": {"list": ORDERS, "robot": None},
        "ros": {"rates": {"clock": None, "fleet_states": None, "diagnostics": None}, "groups": ["actions"]},
    }
    with heard_node(folder, scenario) as heard:
        yield heard


def seconds(stamp: Any) -> float:
    return float(stamp.sec + stamp.nanosec * 1e-9)


def states(node: HeardNode) -> dict[str, RobotState]:
    return {robot.name: robot for robot in node.heard["/fleet/states"][-1].robots}


@holds(
    *(f"ros:fleet_sim_msgs/FleetState.robots.{field}" for field in ("faults", "last_cause", "battery")),
    fault=(
        "warehouse/battery/battery.py: full batteries as empty ones; "
        "warehouse/battery/battery.py: ends actions as preempted"
    ),
)
def test_an_empty_battery_is_a_fault_and_the_cause_that_a_goal_fails_for(node: HeardNode) -> None:
    goal = MoveTo.Goal()
    goal.pose.pose.position.x, goal.pose.pose.position.y, goal.pose.pose.position.z = 5.5, -80.0, 0.15
    outcome = node.send_goal(MoveTo, "/flat/move_to", goal, most=100)
    assert outcome.result.cause == Cause.BATTERY_EMPTY and "empty" in outcome.result.text
    # 72 J at 41 W while it stands: gone after less than 1.76 s.
    assert node.sim.sim_time < 72.0 / 41.0 + 0.06
    node.step()
    state = states(node)["flat"]
    assert (state.faults, state.battery, state.last_cause) == (RobotState.FAULT_BATTERY_EMPTY, 0.0, Cause.BATTERY_EMPTY)
    assert state.last_error == outcome.result.text and state.operating_mode == RobotState.AUTOMATIC
    assert states(node)["a"].faults & RobotState.FAULT_BATTERY_EMPTY == 0


@holds(
    *(f"ros:fleet_sim_msgs/FleetState.robots.{field}" for field in ("faults", "operating_mode")),
    *(f"ros:fleet_sim_msgs/OrderStatus.{field}" for field in ("stamp.sec", "stamp.nanosec", "state")),
    *(f"ros:fleet_sim_msgs/OrderStatus.{field}" for field in ("released", "due", "assigned", "picked", "ended")),
    fault=(
        "warehouse/traffic/traffic.py: all that stand as broken; warehouse/orders/orders.py: the "
        "order before the one served"
    ),
)
def test_breakdowns_and_orders_are_those_of_the_traffic_and_of_the_events(node: HeardNode) -> None:
    traffic, told = node.sim.get_manager("traffic"), node.heard["/fleet/orders"]
    broken_steps, seen, bound = 0, len(told), 0
    changes: dict[tuple[str, int], float] = {}
    for _ in range(1200):
        node.step()
        figures, now = traffic.figures(), node.sim.sim_time
        robots = states(node)
        broken = [name for name, robot in robots.items() if robot.faults & RobotState.FAULT_BREAKDOWN]
        assert len(broken) == figures["breakdowns"] - figures["repairs"]
        broken_steps += len(broken)
        latest: dict[str, OrderStatus] = {}
        for status in told:
            latest[status.id] = status
        for status in told[seen:]:
            assert seconds(status.stamp) == pytest.approx(now)
        seen = len(told)
        for name in ("a", "b"):
            served = [status.id for status in latest.values() if status.robot == name and status.state in SERVED]
            assert robots[name].order == (served[0] if served else "")
            agent = node.sim.get_object(name)
            assert list(robots[name].loads) == [load.name for load in agent.get_attached_objects()]
            goal = traffic.goal_of(agent)
            if goal is not None and not traffic.has_arrived(agent):
                # Not where its plan ends, and also while it stands and waits.
                point = (robots[name].goal.position.x, robots[name].goal.position.y)
                assert robots[name].has_goal and robots[name].moving and traffic.node_of(point) == goal
                left = math.dist(point, agent.get_pose().position[:2])
                assert robots[name].distance_left == pytest.approx(left, abs=1e-9)
                bound += 1
        if all(status.state == OrderStatus.DONE for status in latest.values()) and broken_steps:
            break
    assert {status.state for status in latest.values()} == {OrderStatus.DONE} and broken_steps > 10 and bound > 100
    for status in told:
        changes.setdefault((status.id, status.state), seconds(status.stamp))
    for entry in ORDERS:
        status = latest[entry["id"]]
        assert status.released == entry.get("release", 0.0)
        assert status.due == entry.get("due", math.inf) or math.isnan(status.due)
        # Told in the step in which it happened.
        for time, state in ((status.picked, OrderStatus.CARRYING), (status.ended, OrderStatus.DONE)):
            assert time == pytest.approx(changes[entry["id"], state], abs=0.051)
        assert status.released <= status.assigned < status.picked < status.ended


def test_robots_that_have_broken_down_stand(node: HeardNode) -> None:
    stood = 0
    messages = node.heard["/fleet/states"]
    for before, after in pairwise(messages):
        for one, next_one in zip(before.robots[:2], after.robots[:2], strict=True):
            speed = math.hypot(one.twist.linear.x, one.twist.linear.y)
            if one.faults & next_one.faults & RobotState.FAULT_BREAKDOWN and speed == 0.0:
                assert next_one.pose.position == one.pose.position
                stood += 1
    assert stood > 10


def test_navigate_sends_robots_of_the_traffic_by_routes_only(node: HeardNode) -> None:
    """As the fleet's command to robots that the traffic drives; it says why one is rejected."""
    publisher = node.listener.create_publisher(FleetCommand, "/fleet/command", 10)
    node.until(publisher.get_subscription_count)
    command = FleetCommand(kind=FleetCommand.NAVIGATE, names=["b"])
    command.poses.append(Pose())
    command.poses[0].position.x, command.poses[0].position.y, command.poses[0].position.z = 5.5, 2.5, 0.15
    for route in (False, True):
        command.route = route
        known = len(node.heard["/fleet/command_result"])
        publisher.publish(command)
        while len(node.heard["/fleet/command_result"]) == known:
            node.step()
        answer = node.heard["/fleet/command_result"][-1]
        assert (list(answer.accepted), list(answer.rejected)) == ((["b"], []) if route else ([], ["b"]))
        assert route or "route" in answer.reasons[0]
    robot = node.sim.get_object("b")
    for _ in range(600):
        node.step()
        if math.dist(robot.position[:2], (5.5, 2.5)) < 1e-3:
            break
    assert robot.position[:2] == pytest.approx([5.5, 2.5], abs=1e-3)
    assert states(node)["b"].last_cause == Cause.NONE

"""What topics of Open-RMF say of slotcars, doors, lifts and workcells, against where things are and what they take."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle_rows import holds

pytest.importorskip("rclpy")
pytest.importorskip("rmf_fleet_msgs")

from heard_node import NS_PER_S, HeardNode, heard_node
from plain_geometry import matrix
from rmf_charger_msgs.msg import ChargerRequest, ChargerState
from rmf_dispenser_msgs.msg import DispenserRequest, DispenserResult, DispenserState
from rmf_door_msgs.msg import DoorMode, DoorRequest
from rmf_fleet_msgs.msg import Location, PathRequest, RobotMode
from rmf_lift_msgs.msg import LiftRequest, LiftState
from ros_domain import use_own_domain

use_own_domain()

pytestmark = pytest.mark.slow

BUILDING = Path(__file__).parents[2] / "config" / "sites" / "maps" / "two_floors.building.yaml"
DT, DOOR_TIME = 0.05, 2.3


@pytest.fixture(scope="module")
def node(tmp_path_factory: Any) -> Iterator[HeardNode]:
    rates = dict.fromkeys(("robot_state", "door_states", "lift_states", "charger_states", "workcell_states"), 1.0 / DT)
    scenario = {
        "simulation": {"gui": False, "timestep": DT, "ignore_static_collision": False},
        "building": {"map": str(BUILDING), "wall_height": 2.0, "door_time": DOOR_TIME},
        "ros": {"groups": ["state"], "rmf": {"enabled": True, **rates}, "rates": {"clock": None}},
    }
    with heard_node(tmp_path_factory.mktemp("rmf"), scenario) as heard:
        heard.step(3)
        yield heard


def send(node: HeardNode, message: Any, topic: str) -> None:
    """Publish a message when the node listens, and once only."""
    publisher = node.listener.create_publisher(type(message), topic, 10)
    node.until(publisher.get_subscription_count)
    publisher.publish(message)
    for _ in range(20):
        node.spin()


def nanoseconds(time: Any) -> int:
    return int(time.sec * NS_PER_S + time.nanosec)


@holds(
    *(f"ros:rmf_fleet_msgs/RobotState.location.{field}" for field in ("x", "y", "yaw", "t.*")),
    *(f"ros:rmf_fleet_msgs/RobotState.{field}" for field in ("seq", "mode.mode", "battery_percent")),
    *(f"ros:rmf_fleet_msgs/RobotState.path.{field}" for field in ("x", "y", "yaw", "t.*", "index")),
    fault="warehouse/rmf/topics.py: x and y exchanged; charges rounded down, half a percent more",
)
def test_a_slotcar_tells_where_it_is_and_where_it_goes(node: HeardNode) -> None:
    corners = [(2.9, 4.3, 0.4), (3.4, 5.6, 1.1)]
    now = node.sim.sim_time
    request = PathRequest(robot_name="porter_1", task_id="errand")
    for index, (x, y, yaw) in enumerate([(2.0, 4.0, 0.0), *corners]):
        place = Location(x=x, y=y, yaw=yaw, level_name="L1", index=index)
        place.t.sec = int(now) + 1 + index
        request.path.append(place)
    send(node, request, "/robot_path_requests")
    known = len(node.heard["/robot_state"])
    robot = node.sim.get_object("porter_1")
    for _ in range(400):
        node.step()
        if math.dist(robot.position[:2], corners[-1][:2]) < 0.05:
            break
    assert robot.position[:2] == pytest.approx(corners[-1][:2], abs=0.06)
    told = [state for state in node.heard["/robot_state"][known:] if state.name == "porter_1"]
    assert np.diff([state.seq for state in told]).tolist() == [1] * (len(told) - 1)
    moved = 0
    before = None
    for state in told:
        stamp = nanoseconds(state.location.t)
        pose = node.poses[stamp]["porter_1"]
        assert (state.location.x, state.location.y) == pytest.approx(pose.position[:2], abs=1e-5)
        turn = matrix(pose.orientation)
        assert state.location.yaw == pytest.approx(math.atan2(turn[1, 0], turn[0, 0]), abs=1e-5)
        assert state.location.level_name == "L1" and 0.0 < state.battery_percent <= 100.0
        # In whole numbers, rounded up, as slotcars tell it.
        assert state.battery_percent == math.ceil(state.battery_percent)
        left = [(one.index, one.x, one.y, one.yaw, one.t.sec) for one in state.path]
        asked = [(one.index, one.x, one.y, one.yaw, one.t.sec) for one in request.path]
        assert np.array(left) == pytest.approx(np.array(asked[len(asked) - len(left) :])) if left else True
        if before is not None and math.dist(before.position, pose.position) > 1e-3:
            assert state.mode.mode == RobotMode.MODE_MOVING and state.task_id == "errand"
            moved += 1
        before = pose
    assert moved > 20


@holds(
    *(f"ros:rmf_door_msgs/DoorState.{field}" for field in ("door_time.*", "current_mode.value")),
    fault="warehouse/rmf/topics.py: open while it moves",
)
def test_a_door_is_open_as_long_as_it_takes_after_it_was_asked(node: HeardNode) -> None:
    request = DoorRequest(door_name="lobby_door")
    request.requested_mode.value = DoorMode.MODE_OPEN
    known = len(node.heard["/door_states"])
    send(node, request, "/door_requests")
    node.step(round((DOOR_TIME + 1.0) / DT))
    told = [state for state in node.heard["/door_states"][known:] if state.door_name == "lobby_door"]
    modes = [state.current_mode.value for state in told]
    assert [mode for index, mode in enumerate(modes) if index == 0 or mode != modes[index - 1]] in (
        [DoorMode.MODE_CLOSED, DoorMode.MODE_MOVING, DoorMode.MODE_OPEN],
        [DoorMode.MODE_MOVING, DoorMode.MODE_OPEN],
    )
    assert modes.count(DoorMode.MODE_MOVING) * DT == pytest.approx(DOOR_TIME, abs=2.1 * DT)
    places = [node.poses[nanoseconds(state.door_time)]["lobby_door"].position for state in told]
    for place, after, mode in zip(places[:-1], places[1:], modes[:-1], strict=True):
        # It stands in the modes in which it does not move.
        assert mode == DoorMode.MODE_MOVING or math.dist(place, after) < 1e-9 or mode == DoorMode.MODE_CLOSED
    assert math.dist(places[0], places[-1]) > 0.5


@holds(
    *(
        f"ros:rmf_lift_msgs/LiftState.{field}"
        for field in ("lift_time.*", "door_state", "motion_state", "current_mode")
    ),
    fault="warehouse/rmf/topics.py: up and down exchanged",
)
def test_a_lift_goes_up_while_its_cabin_does(node: HeardNode) -> None:
    def ride(floor: str) -> list[Any]:
        known = len(node.heard["/lift_states"])
        request = LiftRequest(lift_name="Lift1", destination_floor=floor, session_id="rider")
        request.request_type, request.door_state = LiftRequest.REQUEST_AGV_MODE, LiftRequest.DOOR_OPEN
        send(node, request, "/lift_requests")
        for _ in range(600):
            node.step()
            last = node.heard["/lift_states"][-1]
            if (last.current_floor, last.door_state, last.motion_state) == (floor, LiftState.DOOR_OPEN, 0):
                break
        node.step(3)
        assert last.session_id == "rider" and last.current_mode == LiftState.MODE_AGV
        return list(node.heard["/lift_states"][known:])

    for floor, motion, sign in (("L2", LiftState.MOTION_UP, 1.0), ("L1", LiftState.MOTION_DOWN, -1.0)):
        told, seen = ride(floor), 0
        stamps = [nanoseconds(state.lift_time) for state in told]
        heights = [node.poses[stamp]["Lift1"].z for stamp in stamps]
        for state, height, after in zip(told[:-1], heights[:-1], heights[1:], strict=True):
            if abs(after - height) > 1e-6:
                assert (after - height) * sign > 0.0 and state.motion_state == motion
                assert state.door_state == LiftState.DOOR_CLOSED and state.destination_floor == floor
                seen += 1
        assert seen > 20 and sign * (heights[-1] - heights[0]) == pytest.approx(4.0, abs=0.03)
        assert {state.door_state for state in told} >= {LiftState.DOOR_CLOSED, LiftState.DOOR_OPEN}
    request = LiftRequest(lift_name="Lift1", destination_floor="L1", session_id="rider")
    request.request_type = LiftRequest.REQUEST_END_SESSION
    send(node, request, "/lift_requests")
    node.step(3)
    assert node.heard["/lift_states"][-1].session_id == ""


@holds(
    *(f"ros:rmf_charger_msgs/ChargerState.{field}" for field in ("charger_time.*", "state", "time_to_fully_charged.*")),
    fault="warehouse/rmf/topics.py: 1.05 times the time",
)
def test_a_charger_tells_how_long_the_rest_takes(node: HeardNode) -> None:
    battery = node.sim.get_object("porter_2").feature("battery")
    battery.battery_soc = 0.63
    known = len(node.heard["/rmf_charger/state"])
    request = ChargerRequest(charger_name="porter_2_charger", robot_name="porter_2", fleet_name="f", request_id="c1")
    send(node, request, "/rmf_charger/requests")
    levels = {}
    for _ in range(30):
        node.step()
        levels[round(node.sim.sim_time * NS_PER_S)] = battery.battery_soc
    told = [state for state in node.heard["/rmf_charger/state"][known:] if state.charger_name == "porter_2_charger"]
    charging = [state for state in told if state.state == ChargerState.CHARGER_CHARGING]
    assert len(charging) > 15 and charging[-1].robot_name == "porter_2" and charging[-1].request_id == "c1"
    stamps = list(levels)
    rate = (levels[stamps[-1]] - levels[stamps[-11]]) / (10 * DT)
    assert rate > 0.0
    for state in charging[-10:]:
        left = nanoseconds(state.time_to_fully_charged) * 1e-9
        assert left == pytest.approx((1.0 - levels[nanoseconds(state.charger_time)]) / rate, rel=0.02)


@holds(
    *(f"ros:rmf_dispenser_msgs/DispenserState.{field}" for field in ("time.*", "mode")),
    *(f"ros:rmf_dispenser_msgs/DispenserResult.{field}" for field in ("time.*", "status")),
    fault="warehouse/rmf/topics.py: never busy",
)
def test_a_dispenser_is_busy_in_the_step_in_which_it_serves(node: HeardNode) -> None:
    guid = node.heard["/dispenser_states"][-1].guid
    known = len(node.heard["/dispenser_states"])
    send(node, DispenserRequest(request_guid="r1", target_guid=guid), "/dispenser_requests")
    for _ in range(400):
        node.step()
        if node.heard["/dispenser_results"]:
            break
    node.step(2)
    told = [state for state in node.heard["/dispenser_states"][known:] if state.guid == guid]
    acknowledged, ended = node.heard["/dispenser_results"]
    assert acknowledged.request_guid == ended.request_guid == "r1"
    # Nobody is there to take anything.
    assert (acknowledged.status, ended.status) == (DispenserResult.ACKNOWLEDGED, DispenserResult.FAILED)
    times = [nanoseconds(state.time) for state in told]
    assert times == [round((k + 1) * DT * 1e9) for k in range(times[0] // 50_000_000 - 1, times[-1] // 50_000_000)]
    assert [nanoseconds(state.time) for state in told if state.mode == DispenserState.BUSY] == [nanoseconds(ended.time)]
    assert nanoseconds(acknowledged.time) == nanoseconds(ended.time)


@holds(
    "ros:rmf_building_map_msgs/BuildingMap.levels.elevation",
    *(f"ros:rmf_building_map_msgs/BuildingMap.levels.doors.{field}" for field in ("v1_x", "v1_y", "v2_x", "v2_y")),
    *(f"ros:rmf_building_map_msgs/BuildingMap.levels.wall_graph.{field}" for field in ("vertices.x", "vertices.y")),
    *(f"ros:rmf_building_map_msgs/BuildingMap.levels.wall_graph.edges.{field}" for field in ("v1_idx", "v2_idx")),
    *(f"ros:rmf_building_map_msgs/BuildingMap.levels.nav_graphs.vertices.{axis}" for axis in "xy"),
    *(f"ros:rmf_building_map_msgs/BuildingMap.lifts.ref_{axis}" for axis in "xy"),
    fault="warehouse/rmf/topics.py: y in place of x at the end of a door",
)
def test_the_map_of_the_building_is_where_its_bodies_are(node: HeardNode) -> None:
    message, poses = node.heard["/map"][-1], next(iter(node.poses.values()))
    (lift,) = message.lifts
    assert (lift.ref_x, lift.ref_y) == pytest.approx(poses["Lift1"].position[:2], abs=1e-6)
    assert [level.name for level in message.levels] == ["L1", "L2"]
    for level in message.levels:
        walls = [pose for name, pose in poses.items() if name.startswith(f"two_floors_{level.name}_wall")]
        # Walls of 2 m stand on the floor.
        assert {round(pose.z - 1.0, 6) for pose in walls} == {level.elevation}
        corners = np.array([(vertex.x, vertex.y) for vertex in level.wall_graph.vertices])
        middles = np.array([(corners[edge.v1_idx] + corners[edge.v2_idx]) / 2.0 for edge in level.wall_graph.edges])
        for pose in walls:
            assert np.linalg.norm(middles - pose.position[:2], axis=1).min() < 1e-6
        assert len(walls) == len(middles)
        for door in level.doors:
            leaves = [np.array(poses[name].position[:2]) for name in (door.name, f"{door.name}_b")]
            assert np.mean(leaves, axis=0) == pytest.approx(
                [0.5 * (door.v1_x + door.v2_x), 0.5 * (door.v1_y + door.v2_y)], abs=1e-6
            )
            # Each leaf is half as wide as the doorway, so their middles are as far apart as that.
            assert math.dist(*leaves) == pytest.approx(
                0.5 * math.hypot(door.v2_x - door.v1_x, door.v2_y - door.v1_y), rel=0.05
            )
    places = [(vertex.x, vertex.y) for graph in message.levels[0].nav_graphs for vertex in graph.vertices]
    for name in ("porter_1", "porter_2"):
        assert min(math.dist(place, poses[name].position[:2]) for place in places) < 1e-6

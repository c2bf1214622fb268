"""What the node publishes: TF, time, latched topics, fleet states, markers, collisions, diagnostics."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import Pose, PoseStamped, Twist
from nav_msgs.msg import Odometry
from node_program import LATCHED, THREE_ROBOTS, Running, SharedNode, running, shared_node
from rosgraph_msgs.msg import Clock
from shape_msgs.msg import SolidPrimitive
from std_msgs.msg import String

from fleet_sim_msgs.msg import Collisions, FleetCommand, FleetState
from fleet_sim_msgs.srv import Load, Save, SendFleetCommand, Spawn


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedNode]:
    with shared_node(tmp_path_factory.mktemp("node"), scenario=THREE_ROBOTS) as node:
        yield node


@pytest.fixture
def alone(node: SharedNode) -> None:
    """For tests that start a node of their own: two would be heard together."""
    node.close()


def test_late_joiners_get_what_is_latched(fleet: Running) -> None:
    _, client = fleet
    descriptions = client.listen(String, "/amr_2/robot_description", LATCHED)
    collisions = client.listen(Collisions, "/fleet/collisions", LATCHED)
    client.until(lambda: descriptions and collisions, "latched messages")
    assert descriptions[0].data.startswith('<robot name="amr_2"><link name="base_link">')
    assert 'box size="0.6 0.4 0.3"' in descriptions[0].data
    assert list(collisions[0].active) == []


def test_collisions_begin_and_end(fleet: Running) -> None:
    _, client = fleet
    collisions = client.listen(Collisions, "/fleet/collisions", LATCHED)
    for y, field in ((0.1, "started"), (20.0, "ended")):
        pose = Pose()
        pose.position.y, pose.position.z = y, 0.15
        command = FleetCommand(kind=FleetCommand.SET_POSES, names=["amr_2"], poses=[pose])
        client.call(SendFleetCommand, "/fleet/command", SendFleetCommand.Request(command=command))
        client.until(lambda field=field: collisions and getattr(collisions[-1], field), f"a collision that {field}")
        pair = getattr(collisions[-1], field)[0]
        assert (pair.first, pair.second) == ("amr_0", "amr_2")
    assert list(collisions[-1].active) == []


def test_collisions_of_what_a_restore_removes_end(fleet: Running) -> None:
    _, client = fleet
    collisions = client.listen(Collisions, "/fleet/collisions", LATCHED)
    assert client.call(Save, "/sim/save", Save.Request(name="alone")).success
    box = SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[0.3, 0.3, 0.3])
    pose = PoseStamped()
    pose.pose.position.z = 0.15
    request = Spawn.Request(kind=Spawn.Request.OBJECT, name="crate", shape=box, pose=pose)
    assert client.call(Spawn, "/sim/spawn", request).success

    def pairs(field: str) -> set[tuple[str, str]]:
        return {(pair.first, pair.second) for message in collisions for pair in getattr(message, field)}

    client.until(lambda: ("amr_0", "crate") in pairs("started"), "the collision")
    assert client.call(Load, "/sim/load", Load.Request(name="alone")).success
    client.until(lambda: ("amr_0", "crate") in pairs("ended"), "its end")


def test_diagnostics_count_the_steps_that_begin_late(tmp_path: Path, alone: None) -> None:
    with running(tmp_path / "node.log", "-p", "robots:=1", "-p", "target_rtf:=1e9") as (_, client):
        arrays = client.listen(DiagnosticArray, "/diagnostics", 1)
        client.until(lambda: len(arrays) >= 3, "diagnostics")
        status = arrays[-1].status[0]
        values = {entry.key: float(entry.value) for entry in status.values}
        assert 0 < values["late_steps"] <= values["steps"] + 1
        assert values["worst_delay_ms"] > 0.0
        assert (status.level, status.message[:13]) == (DiagnosticStatus.WARN, "falls behind:")


@pytest.mark.slow
def test_a_hundred_robots_commanded_at_once_all_move(tmp_path: Path, alone: None) -> None:
    with running(tmp_path / "node.log", "-p", "robots:=100") as (_, client):
        states = client.listen(FleetState, "/fleet/states")
        publishers = [client.node.create_publisher(Twist, f"/robot_{index}/cmd_vel", 1) for index in range(100)]
        client.until(lambda: all(p.get_subscription_count() for p in publishers), "subscriptions")
        command = Twist()
        command.linear.x = 0.5
        for publisher in publishers:
            publisher.publish(command)
        client.until(lambda: states and all(robot.moving for robot in states[-1].robots), "all to move")


@pytest.mark.slow
def test_a_namespace_keeps_two_simulations_apart(tmp_path: Path, alone: None) -> None:
    with running(tmp_path / "node.log", "-p", "robots:=1", "-r", "__ns:=/left") as (_, client):
        odoms = client.listen(Odometry, "/left/robot_0/odom")
        client.until(lambda: odoms, "odometry")
        assert odoms[0].header.frame_id == "left/robot_0/odom"
        assert math.isclose(odoms[0].pose.pose.orientation.w, 1.0)
        with running(tmp_path / "right.log", "-p", "robots:=1", "-r", "__ns:=/right"):
            clocks = {side: client.listen(Clock, f"/{side}/clock") for side in ("left", "right")}
            client.until(lambda: all(len(times) > 20 for times in clocks.values()), "both clocks")
            for times in clocks.values():
                stamps = [time.clock.sec * 10**9 + time.clock.nanosec for time in times]
                assert stamps == sorted(stamps)
            assert client.node.count_publishers("/clock") == 0


def test_an_empty_world_has_a_fleet_of_none_until_robots_come(tmp_path: Path, alone: None) -> None:
    (tmp_path / "empty.yaml").write_text("ros: {per_robot: [late]}\nsimulation: {timestep: 0.05}\n")
    with running(tmp_path / "node.log", "-p", f"config:={tmp_path / 'empty.yaml'}") as (process, client):
        states = client.listen(FleetState, "/fleet/states")
        client.until(lambda: states, "the fleet")
        assert list(states[-1].robots) == []
        assert "there is no robot 'late' yet" in process.output()
        for name in ("late", "other", "not-ros"):
            shape = SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[0.2])
            assert client.call(Spawn, "/sim/spawn", Spawn.Request(name=name, shape=shape)).success
        odoms = client.listen(Odometry, "/late/odom")
        client.until(lambda: odoms and len(states[-1].robots) == 3, "the robots")
        assert client.node.count_publishers("/other/odom") == 0

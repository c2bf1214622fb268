"""Services and parameters: pause, step, reset, spawning, fleet commands, and values that are refused."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
from geometry_msgs.msg import Pose, Twist
from node_program import Client, Running, SharedNode, shared_node
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import GetParameters, SetParameters
from rosgraph_msgs.msg import Clock
from shape_msgs.msg import SolidPrimitive
from std_srvs.srv import Trigger

from fleet_sim_msgs.action import MoveTo
from fleet_sim_msgs.msg import Cause, CommandResult, FleetCommand, FleetState
from fleet_sim_msgs.srv import Attach, Delete, List, Load, Save, SendFleetCommand, Spawn, Step, TakePicture


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedNode]:
    with shared_node(tmp_path_factory.mktemp("node"), "-p", "robots:=2", "-p", "target_rtf:=5.0") as node:
        yield node


def seconds(stamp: object) -> float:
    return stamp.sec + 1e-9 * stamp.nanosec  # type: ignore[attr-defined]


def set_parameter(client: Client, name: str, value: float | str) -> tuple[bool, str]:
    kind = {float: ParameterType.PARAMETER_DOUBLE, str: ParameterType.PARAMETER_STRING}[type(value)]
    field = {float: "double_value", str: "string_value"}[type(value)]
    parameter = Parameter(name=name, value=ParameterValue(type=kind, **{field: value}))
    request = SetParameters.Request(parameters=[parameter])
    result = client.call(SetParameters, "/fleet_sim/set_parameters", request).results[0]
    return result.successful, result.reason


def test_pause_step_and_resume(fleet: Running) -> None:
    _, client = fleet
    refused = client.call(Step, "/sim/step", Step.Request(steps=5))
    assert (refused.success, refused.message) == (False, "the simulation runs; call /sim/pause first")
    assert client.call(Trigger, "/sim/pause").success
    first = client.call(Step, "/sim/step", Step.Request(steps=1))
    second = client.call(Step, "/sim/step", Step.Request(steps=48))
    assert (first.success, second.success) == (True, True)
    assert seconds(second.stamp) - seconds(first.stamp) == pytest.approx(48 / 240, abs=1e-6)
    clocks = client.listen(Clock, "/clock", 1)
    assert client.call(Trigger, "/sim/resume").success
    client.until(lambda: clocks and seconds(clocks[-1].clock) > seconds(second.stamp), "time to go on")


def test_a_reset_brings_robots_back_and_time_goes_on(fleet: Running) -> None:
    _, client = fleet
    states = client.listen(FleetState, "/fleet/states")
    twist = Twist()
    twist.linear.x = 1.0
    command = FleetCommand(kind=FleetCommand.VELOCITY, names=["robot_0"], twists=[twist], timeout=0.0)
    client.call(SendFleetCommand, "/fleet/command", SendFleetCommand.Request(command=command))
    client.until(lambda: states and states[-1].robots[0].pose.position.x > 1.0, "motion")
    before = seconds(states[-1].header.stamp)
    assert client.call(Trigger, "/sim/reset").success
    client.until(lambda: states[-1].robots[0].pose.position.x == 0.0, "the initial state")
    stamps = [seconds(state.header.stamp) for state in states]
    assert stamps == sorted(stamps)
    client.until(lambda: seconds(states[-1].header.stamp) > before, "time to go on")
    assert not states[-1].robots[0].moving


def test_a_saved_moment_comes_back_with_its_goals_and_time_goes_on(fleet: Running) -> None:
    _, client = fleet
    states = client.listen(FleetState, "/fleet/states")
    goal = MoveTo.Goal()
    goal.pose.pose.position.x = 6.0
    sent = client.send_goal(MoveTo, "/robot_0/move_to", goal)
    client.until(lambda: states and states[-1].robots[0].pose.position.x > 2.0, "motion")
    saved = client.call(Save, "/sim/save", Save.Request(name="half_way"))
    assert (saved.success, saved.message, saved.names) == (True, "", ["half_way"])
    late = client.send_goal(MoveTo, "/robot_1/move_to", goal)
    client.call(Delete, "/sim/delete", Delete.Request(names=["robot_0"]))
    assert sent.result()[1].cause == Cause.UNKNOWN_ROBOT

    loaded = client.call(Load, "/sim/load", Load.Request(name="half_way"))
    assert (loaded.success, loaded.message, loaded.names) == (True, "", ["half_way"])
    assert seconds(loaded.stamp) >= seconds(saved.stamp)
    assert late.result()[1].cause == Cause.SHUTDOWN
    # The goal is answered, but what it told the robot to do was saved with it.
    client.until(lambda: len(states[-1].robots) == 2 and states[-1].robots[0].pose.position.x == 6.0, "the arrival")
    stamps = [seconds(state.header.stamp) for state in states]
    assert stamps == sorted(stamps)


def test_what_cannot_be_saved_or_loaded_is_told(fleet: Running) -> None:
    _, client = fleet
    assert client.call(Save, "/sim/save").names[-1] == "default"
    assert client.call(Save, "/sim/save", Save.Request(name="half_way")).names == ["default", "half_way"]
    assert client.call(Save, "/sim/save").names == ["half_way", "default"]
    for name in ("", "a/b", "../up", "x" * 65):
        refused = client.call(Save, "/sim/save", Save.Request(name=name))
        assert (refused.success, refused.names) == (False, ["half_way", "default"])
        assert "kept in memory" in refused.message
    refused = client.call(Load, "/sim/load", Load.Request(name="half_awy"))
    assert (refused.success, refused.message) == (False, "unknown saved moment 'half_awy'. Did you mean 'half_way'?")
    assert client.call(Load, "/sim/load").success
    refused = client.call(Save, "/sim/save", Save.Request(file="a.state"))
    assert (refused.success, "state_folder" in refused.message) == (False, True)


def test_entities_are_spawned_listed_attached_and_deleted(fleet: Running) -> None:
    _, client = fleet
    box = SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[0.4, 0.4, 0.2])
    request = Spawn.Request(kind=Spawn.Request.OBJECT, name="crate", shape=box)
    request.pose.header.frame_id = "robot_1/base_link"
    request.pose.pose.position.x = 0.5
    response = client.call(Spawn, "/sim/spawn", request)
    assert (response.success, response.message) == (True, "")
    again = client.call(Spawn, "/sim/spawn", request)
    assert not again.success
    assert "'crate' is already taken" in again.message
    assert client.call(Attach, "/sim/attach", Attach.Request(robot="robot_1", object="crate")).success
    robot = Spawn.Request(name="new", shape=box, options="{motion_mode: omnidirectional}")
    assert client.call(Spawn, "/sim/spawn", robot).success
    listed = client.call(List, "/sim/list")
    assert list(listed.names) == ["robot_0", "robot_1", "crate", "new"]
    assert list(listed.robots) == [True, True, False, True]
    assert listed.poses[2].position.x == pytest.approx(listed.poses[1].position.x + 0.5)
    client.until(client.publisher(Twist, "/new/cmd_vel").get_subscription_count, "the new robot's topics")
    result = client.call(Delete, "/sim/delete", Delete.Request(names=["new", "old"])).result
    assert (list(result.accepted), list(result.rejected)) == (["new"], ["old"])
    assert list(client.call(List, "/sim/list", List.Request(kind=List.Request.ROBOTS)).names) == ["robot_0", "robot_1"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"name": ""}, "name"),
        ({"kind": 7}, "kind: expected ROBOT (0) or OBJECT (1), got 7"),
        ({"model": "nowhere.urdf"}, "nowhere.urdf"),
        ({"options": "{wheals: 4}"}, "wheals: unknown key"),
        ({"options": "[1"}, "not valid YAML"),
        ({"shape": SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[math.nan])}, "each above 0 m"),
    ],
)
def test_what_is_wrong_with_a_spawn_is_told(fleet: Running, change: dict[str, object], reason: str) -> None:
    _, client = fleet
    request = Spawn.Request(name="thing", shape=SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[0.2]))
    for field, value in change.items():
        setattr(request, field, value)
    response = client.call(Spawn, "/sim/spawn", request)
    assert not response.success
    assert reason in response.message


def test_a_fleet_command_says_who_takes_it_and_why_not(fleet: Running) -> None:
    _, client = fleet
    good, bad = Pose(), Pose()
    good.position.x, bad.position.x = 2.0, math.inf
    command = FleetCommand(command_id="7", source="test", names=["robot_0", "robot_1", "ghost"])
    command.poses = [good, bad, good]
    result = client.call(SendFleetCommand, "/fleet/command", SendFleetCommand.Request(command=command)).result
    assert (result.command_id, result.source, result.error) == ("7", "test", "")
    assert list(result.accepted) == ["robot_0"]
    reasons = dict(zip(result.rejected, result.reasons, strict=True))
    assert reasons == {"robot_1": "pose is not finite, or its quaternion is zero", "ghost": "unknown robot"}
    results = client.listen(CommandResult, "/fleet/command_result")
    client.publisher(FleetCommand, "/fleet/command").publish(FleetCommand(command_id="8", names=["robot_0"]))
    client.until(lambda: results, "a result")
    assert results[0].command_id == "8"
    assert results[0].error == "poses: expected one for each of the 1 names, got 0"


def test_parameters_are_checked_and_applied(fleet: Running) -> None:
    _, client = fleet
    assert set_parameter(client, "rates.clock", 0.0) == (True, "")
    assert set_parameter(client, "target_rtf", 2.0) == (True, "")
    accepted, reason = set_parameter(client, "target_rtf", -1.0)
    assert (accepted, reason) == (False, "target_rtf: must be a number at least 1e-06, or 0, got -1.0")
    accepted, reason = set_parameter(client, "rates.odom", "fast")
    assert not accepted
    assert "a number" in reason
    accepted, reason = set_parameter(client, "config", "other.yaml")
    assert not accepted
    values = client.call(GetParameters, "/fleet_sim/get_parameters", GetParameters.Request(names=["target_rtf"])).values
    assert values[0].double_value == 2.0


def test_a_picture_is_taken_and_absurd_ones_are_refused(fleet: Running) -> None:
    pytest.importorskip("pybullet")
    _, client = fleet
    taken = client.call(TakePicture, "/sim/take_picture", TakePicture.Request(width=80, height=60, view="top_down"))
    assert (taken.success, taken.message, taken.image.format) == (True, "", "png")
    assert bytes(taken.image.data[:4]) == b"\x89PNG"
    for wrong in ({"width": 0}, {"height": 100_000}, {"view": "from_below"}):
        refused = client.call(TakePicture, "/sim/take_picture", TakePicture.Request(**wrong))
        assert not refused.success and next(iter(wrong)) in refused.message

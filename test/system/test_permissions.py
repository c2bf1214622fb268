"""A node that is read only, or that lets nobody spawn: every service, topic, action and parameter."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from geometry_msgs.msg import PoseStamped, Twist
from nav_msgs.msg import Path as PathMsg
from node_program import Client, NodeProcess, running
from rcl_interfaces.msg import Parameter, ParameterValue
from rcl_interfaces.srv import SetParameters
from sensor_msgs.msg import JointState
from shape_msgs.msg import SolidPrimitive
from trajectory_msgs.msg import JointTrajectory

from fleet_sim.ros.main import with_flags
from fleet_sim_msgs.msg import FleetCommand
from fleet_sim_msgs.srv import List, Spawn

SCENARIO = """
simulation: {timestep: 0.05, target_rtf: 5.0}
robots:
  - {name: arm, urdf_path: arm6, use_fixed_base: true, battery: {capacity_wh: 10.0}}
  - {name: amr, pose: [3, 0, 0.15], shape: {shape_type: box, half_extents: [0.3, 0.2, 0.15]}}
objects:
  - {name: crate, pose: [9, 0, 0.25], shape: {shape_type: box, half_extents: [0.3, 0.2, 0.15]}}
"""
READING = {
    *("list", "take_picture", "get_simulator_features", "get_entities", "get_entities_states", "get_entity_state"),
    *("get_simulation_state", "get_entity_info", "get_entity_bounds", "get_named_poses", "get_named_pose_bounds"),
    *("get_spawnables", "get_available_worlds", "get_current_world"),
}
ROOTS = {"arm", "amr", "fleet", "sim"}
"""First parts of the names of all that this scenario's node offers."""
BOX = SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[0.3, 0.3, 0.3])


def all_services(client: Client) -> dict[str, str]:
    """Return what this scenario's node offers, by name; a node that was killed stays in the graph for some seconds."""
    found = {name: kinds[0] for name, kinds in client.node.get_service_names_and_types()}
    return {name: kind for name, kind in found.items() if name.split("/")[1] in ROOTS}


def services(client: Client) -> dict[str, str]:
    """Return the services of the node and their types, without those that every node and action has."""
    return {
        name: kind
        for name, kind in all_services(client).items()
        if "/_action/" not in name and not kind.startswith(("rcl_interfaces", "type_description_interfaces"))
    }


def filled(request: Any) -> Any:
    """Return `request` with what it needs to be accepted by a node that allows everything."""
    if hasattr(request, "shape"):
        request.name, request.shape = "new", BOX
    if hasattr(request, "names"):
        request.names = ["crate"]
    if hasattr(request, "entity"):
        request.entity = "crate"
    if hasattr(request, "command"):
        request.command = FleetCommand(kind=FleetCommand.STOP, names=["amr"])
    if hasattr(request, "steps"):
        request.steps = 1
    if hasattr(request, "fail_on_unsupported_element"):
        getattr(request, "world_resource", request).uri = "warehouse.yaml"
    elif hasattr(request, "allow_renaming"):
        request.name, getattr(request, "entity_resource", request).uri = "new", "simple_cube"
    if hasattr(request, "spawn_requests"):
        spawned = import_module("simulation_interfaces.msg").SpawnEntity(name="new")
        spawned.entity_resource.uri = "simple_cube"
        request.spawn_requests = [spawned]
    return request


def service_type(kind: str) -> Any:
    package, _, short = kind.split("/")
    return getattr(import_module(f"{package}.srv"), short)


def refused(response: Any) -> str:
    """Return the text of a response, which must not say that it was done."""
    text = str(response)
    assert "success=True" not in text and "result=1," not in text, text
    return text


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("permissions") / "scenario.yaml"
    path.write_text(SCENARIO)
    return path


# First: the node of the other tests lives until their end.
def test_messages_spawn_nothing_where_that_is_not_allowed(tmp_path: Path, scenario: Path) -> None:
    with running(tmp_path / "node.log", "-p", f"config:={scenario}", "-p", "remote_spawn:=false") as (_, client):
        client.until(lambda: "/sim/spawn" in services(client), "the service")
        for name, kind in services(client).items():
            if ("spawn" in name or name == "/sim/load_world") and name.rpartition("/")[2] not in READING:
                service = service_type(kind)
                assert "remote_spawn" in refused(client.call(service, name, filled(service.Request())))
        assert list(client.call(List, "/sim/list").names) == ["arm", "amr", "crate"]
        assert client.call(Spawn, "/sim/spawn", Spawn.Request(kind=0, name="new", shape=BOX)).success is False


@pytest.fixture(scope="module")
def read_only(scenario: Path) -> Iterator[tuple[NodeProcess, Client]]:
    with running(scenario.with_name("node.log"), "-p", f"config:={scenario}", "-p", "read_only:=true") as both:
        both[1].until(lambda: "/arm/set_charging" in services(both[1]), "all services")
        yield both


def poses(client: Client) -> Any:
    answer = client.call(List, "/sim/list")
    return answer.names, answer.poses


def test_services_of_a_read_only_node_change_nothing(read_only: tuple[NodeProcess, Client]) -> None:
    _, client = read_only
    before = poses(client)
    offered = services(client)
    assert len(offered) > len(READING)
    for name, kind in offered.items():
        if name.rpartition("/")[2] not in READING:
            service = service_type(kind)
            assert "read only" in refused(client.call(service, name, filled(service.Request()))), name
    assert poses(client) == before


def test_actions_of_a_read_only_node_are_refused(read_only: tuple[NodeProcess, Client]) -> None:
    _, client = read_only
    goals = {name: kind for name, kind in all_services(client).items() if name.endswith("/_action/send_goal")}
    assert len(goals) > 8
    for name, kind in goals.items():
        package, _, short = kind.removesuffix("_SendGoal").split("/")
        action = getattr(import_module(f"{package}.action"), short)
        goal = action.Goal(**({"robot": "amr"} if name.startswith("/fleet/") else {}))
        assert not client.send_goal(action, name.removesuffix("/_action/send_goal"), goal).handle.accepted, name


def test_topics_of_a_read_only_node_move_nobody(read_only: tuple[NodeProcess, Client]) -> None:
    process, client = read_only
    before = poses(client)
    pose, twist = PoseStamped(), Twist()
    pose.pose.orientation.w = twist.linear.x = 1.0
    for message, topic in (
        (twist, "/amr/cmd_vel"),
        (pose, "/amr/goal_pose"),
        (PathMsg(poses=[pose]), "/amr/path"),
        (FleetCommand(kind=FleetCommand.VELOCITY, names=["amr"], twists=[twist]), "/fleet/command"),
        (JointState(name=["joint_1"], position=[0.5]), "/arm/joint_commands"),
        (JointTrajectory(), "/arm/joint_trajectory"),
    ):
        publisher, what = client.publisher(type(message), topic), topic.rpartition("/")[2]

        def refused(publisher: Any = publisher, message: Any = message, what: str = what) -> bool:
            # Again and again: what is published before the node has found the publisher is lost.
            publisher.publish(message)
            return any(what in line and "read only" in line for line in process.output().splitlines())

        client.until(refused, f"the refusal of {topic}")
    assert poses(client) == before


def test_parameters_of_a_read_only_node_stay(read_only: tuple[NodeProcess, Client]) -> None:
    _, client = read_only
    for name in ("target_rtf", "rates.odom"):
        parameter = Parameter(name=name, value=ParameterValue(type=3, double_value=2.0))
        request = SetParameters.Request(parameters=[parameter])
        answer = client.call(SetParameters, "/fleet_sim/set_parameters", request).results[0]
        assert not answer.successful and "read only" in answer.reason


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ([], []),
        (["--read-only"], ["--ros-args", "-p", "read_only:=true"]),
        (
            ["--no-remote-spawn", "--ros-args", "-p", "robots:=2"],
            ["--ros-args", "-p", "robots:=2", "--ros-args", "-p", "remote_spawn:=false"],
        ),
    ],
)
def test_options_of_the_program_are_parameters(given: list[str], wanted: list[str]) -> None:
    assert with_flags(given) == wanted


@pytest.mark.parametrize("option", ["--readonly", "--read-onl", "--no-spawn", "x"])
def test_an_option_that_is_misspelt_ends_the_program(option: str) -> None:
    with pytest.raises(SystemExit):
        with_flags([option])

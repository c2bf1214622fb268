"""One message from any peer must neither stop the node nor make it wait: the attacks that did, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from geometry_msgs.msg import PoseStamped
from node_program import Client, SharedNode, shared_node
from rcl_interfaces.msg import Parameter, ParameterValue
from rcl_interfaces.srv import SetParameters
from shape_msgs.msg import SolidPrimitive

from fleet_sim_msgs.srv import List, Spawn

BOX = SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[0.3, 0.3, 0.3])
BOMB = "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 40))
OPTIONS = [
    "controller: {class: this.X}",
    "controller: {class: unittest.__main__.X}",
    "[" * 90_000,
    BOMB,
    "grid: {count: 300000}",
    "mass: 1.0e+308",
    "urdf_path: /etc/passwd",
    "!!int abc",
]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedNode]:
    with shared_node(tmp_path_factory.mktemp("node"), "-p", "robots:=2") as node:
        yield node


@pytest.fixture
def client(node: SharedNode) -> Iterator[Client]:
    with node.visited() as (_, client):
        yield client


def spawn(client: Client, **fields: Any) -> Any:
    return client.call(Spawn, "/sim/spawn", Spawn.Request(kind=0, name="x1", **fields))


def test_hostile_requests_are_refused_and_the_node_answers_on(client: Client) -> None:
    for options in OPTIONS:
        answer = spawn(client, shape=BOX, options=options)
        assert not answer.success
        assert 0 < len(answer.message) < 1000
    assert not spawn(client, model="/etc/hostname").success
    far = PoseStamped()
    far.pose.position.x = 1e155
    assert "position" in spawn(client, shape=BOX, pose=far).message
    odd = Parameter(name="target_rtf", value=ParameterValue(type=255))
    # rclpy raises for this type where it is called, and sends no answer.
    parameters = client.node.create_client(SetParameters, "/fleet_sim/set_parameters")
    client.until(parameters.service_is_ready, "the service of the parameters")
    parameters.call_async(SetParameters.Request(parameters=[odd]))
    assert list(client.call(List, "/sim/list", List.Request()).names) == ["robot_0", "robot_1"]
    assert spawn(client, shape=BOX).success


def test_a_filter_that_backtracks_is_answered(client: Client) -> None:
    srv = pytest.importorskip("simulation_interfaces.srv")
    msg = pytest.importorskip("simulation_interfaces.msg")
    name = "a" * 60
    assert client.call(Spawn, "/sim/spawn", Spawn.Request(kind=0, name=name, shape=BOX)).success
    request = srv.GetEntities.Request(filters=msg.EntityFilters(filter="^(a+)+b$"))
    answer = client.call(srv.GetEntities, "/sim/get_entities", request)
    assert (answer.result.result, list(answer.entities)) == (msg.Result.RESULT_OK, [])

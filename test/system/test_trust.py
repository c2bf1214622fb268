"""One message from any peer must neither stop the node nor make it wait: the attacks that did, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from geometry_msgs.msg import PoseStamped
from node_program import Client, SharedNode, shared_node
from rcl_interfaces.msg import Parameter, ParameterValue
from rcl_interfaces.srv import SetParameters
from rosgraph_msgs.msg import Clock
from shape_msgs.msg import SolidPrimitive
from std_srvs.srv import Trigger

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
    assert answer.result.result == msg.Result.RESULT_OPERATION_FAILED
    assert "takes too long to match" in answer.result.error_message


FREEZING = {
    "a filter of nested repetitions": ("GetEntities", "get_entities", {"filter": "((((){1000}){1000}){1000}){1000}"}),
    "a camera of 67 million pixels": (
        "",
        "",
        {"options": "sensors: [{type: camera, width: 8192, height: 8192, rate: null}]"},
    ),
    "a swarm of 100,000": (
        "LoadWorld",
        "load_world",
        {
            "resource_string": "swarm: {type: RectangularWorld, size: [900, 900], spawners: "
            "[{type: GridAgentSpawner, n: 100000, agent: MazeAgent}]}"
        },
    ),
}


@pytest.mark.parametrize("name", FREEZING)
def test_the_clock_goes_on_after_a_message_that_asks_for_too_much(client: Client, name: str) -> None:
    kind, service, fields = FREEZING[name]
    seen: list[float] = []
    clock = client.node.create_subscription(
        Clock, "/clock", lambda message: seen.append(message.clock.sec + message.clock.nanosec * 1e-9), 10
    )
    if not kind:
        answer = spawn(client, shape=BOX, **fields)
        refused, reason = not answer.success, answer.message
    else:
        srv = pytest.importorskip("simulation_interfaces.srv")
        request = getattr(srv, kind).Request()
        if "filter" in fields:
            request.filters.filter = fields["filter"]
        else:
            getattr(request, "world_resource", request).resource_string = fields["resource_string"]
        result = client.call(getattr(srv, kind), f"/sim/{service}", request).result
        refused, reason = result.result != 1, result.error_message
    assert refused
    assert "at most" in reason or "more than" in reason, "with the figure"
    seen.clear()
    client.until(lambda: len(seen) > 1 and seen[-1] - seen[0] > 0.3, "simulated time")
    client.node.destroy_subscription(clock)


HUNDREDS = "shape: {shape_type: sphere, radius: 0.1}\ngrid: {count: 500, columns: 25, spacing: [1, 1, 1]}"


def test_many_requests_that_take_long_hold_up_neither_others_nor_the_clock(client: Client) -> None:
    make = client.node.create_client(Spawn, "/sim/spawn")
    ask = client.node.create_client(List, "/sim/list")
    client.until(lambda: make.service_is_ready() and ask.service_is_ready(), "the services")
    requests = [Spawn.Request(kind=1, name=f"h{number}", options=HUNDREDS) for number in range(30)]
    made = [make.call_async(request) for request in requests]
    client.until(made[0].done, "the first of them")
    asked = ask.call_async(List.Request())
    client.until(asked.done, "an answer")
    assert not all(one.done() for one in made), "not after all that came before"
    client.until(lambda: all(one.done() for one in made), "the last of them")
    assert all(one.result().success for one in made)
    assert client.call(Trigger, "/sim/reset").success


@pytest.mark.parametrize("name", ["n" * 300, "n" * 900_000, "a\nb", "\x1b[31mred"])
def test_a_name_that_is_long_or_not_printable_is_refused_in_a_short_answer(client: Client, name: str) -> None:
    answer = client.call(Spawn, "/sim/spawn", Spawn.Request(kind=1, name=name, shape=BOX))
    assert not answer.success
    assert "at most 255 printable characters" in answer.message
    assert len(answer.message) < 500

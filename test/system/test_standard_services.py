"""simulation_interfaces: what is advertised works, with the result codes its definitions name."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from node_program import Client, running

msg = pytest.importorskip("simulation_interfaces.msg")
srv = pytest.importorskip("simulation_interfaces.srv")

OK = msg.Result.RESULT_OK
URDF = """<robot name="box"><link name="base_link">
<visual><geometry><box size="0.4 0.4 0.2"/></geometry></visual>
<collision><geometry><box size="0.4 0.4 0.2"/></geometry></collision>
</link></robot>"""


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    (tmp_path / "box.urdf").write_text(URDF)
    scenario = tmp_path / "world.yaml"
    scenario.write_text(f"simulation: {{model_paths: [{tmp_path}]}}\n")
    with running(tmp_path / "node.log", "-p", "robots:=2", "-p", f"config:={scenario}") as (_, client):
        yield client


def call(client: Client, service: str, /, **fields: Any) -> tuple[int, Any]:
    kind = getattr(srv, "".join(word.capitalize() for word in service.split("_")))
    response = client.call(kind, f"/sim/{service}", kind.Request(**fields))
    return response.result.result, response


def test_pausing_and_stepping(client: Client) -> None:
    paused, playing = (msg.SimulationState(state=state) for state in (2, 1))
    code, _ = call(client, "step_simulation", steps=3)
    assert code == msg.Result.RESULT_INCORRECT_STATE
    assert call(client, "set_simulation_state", state=paused)[0] == OK
    assert call(client, "set_simulation_state", state=paused)[0] == 101
    assert call(client, "get_simulation_state")[1].state.state == 2
    before = call(client, "get_entity_state", entity="robot_0")[1].state.header.stamp
    assert call(client, "step_simulation", steps=24)[0] == OK
    after = call(client, "get_entity_state", entity="robot_0")[1].state.header.stamp
    passed = (after.sec - before.sec) + (after.nanosec - before.nanosec) * 1e-9
    assert passed == pytest.approx(0.1, abs=1e-3)
    assert call(client, "set_simulation_state", state=playing)[0] == OK
    assert call(client, "set_simulation_state", state=msg.SimulationState(state=3))[0] == 0


def test_entities_are_listed_placed_and_deleted(client: Client) -> None:
    assert list(call(client, "get_entities")[1].entities) == ["robot_0", "robot_1"]
    filters = msg.EntityFilters(filter="_1$")
    assert list(call(client, "get_entities_states", filters=filters)[1].entities) == ["robot_1"]
    state = msg.EntityState()
    state.pose.position.x = 7.0
    assert call(client, "set_entity_state", entity="robot_1", state=state)[0] == OK
    assert call(client, "get_entity_state", entity="robot_1")[1].state.pose.position.x == 7.0
    state.pose.position.x = math.nan
    assert call(client, "set_entity_state", entity="robot_1", state=state)[0] == 101
    assert call(client, "delete_entity", entity="robot_1")[0] == OK
    assert call(client, "delete_entity", entity="robot_1")[0] == msg.Result.RESULT_NOT_FOUND
    assert call(client, "get_entities", filters=msg.EntityFilters(filter="("))[0] == msg.Result.RESULT_OPERATION_FAILED


def test_a_robot_is_spawned_from_its_description(client: Client, tmp_path: Path) -> None:
    pytest.importorskip("pybullet")
    uri = (tmp_path / "box.urdf").as_uri()
    code, response = call(client, "spawn_entity", name="box", uri=uri)
    assert (code, response.entity_name) == (OK, "box")
    assert call(client, "spawn_entity", name="box", uri=uri)[0] == 101
    assert call(client, "spawn_entity", name="box", uri=uri, allow_renaming=True)[1].entity_name == "box_0"
    assert call(client, "spawn_entity", name="no-name", uri=uri)[0] == 102
    assert call(client, "spawn_entity", name="none")[0] == 104
    assert call(client, "spawn_entity", name="none", uri="file:///nowhere.urdf")[0] == 106
    assert call(client, "reset_simulation")[0] == OK
    assert list(call(client, "get_entities")[1].entities) == ["robot_0", "robot_1"]
    assert call(client, "reset_simulation", scope=1)[0] == 0


def test_what_is_advertised_is_there(client: Client) -> None:
    response = client.call(srv.GetSimulatorFeatures, "/sim/get_simulator_features")
    assert msg.SimulatorFeatures.SIMULATION_STATE_PAUSE in response.features.features
    assert list(response.features.spawn_formats) == ["urdf"]

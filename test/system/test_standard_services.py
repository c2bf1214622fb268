"""simulation_interfaces: every service and the action, with the result codes that the definitions name."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from geometry_msgs.msg import Twist, Vector3
from node_program import Client, NodeProcess, running
from rclpy.action import ActionClient
from rclpy.qos import HistoryPolicy, QoSProfile

from fleet_sim.warehouse.sites import Site, Station, StationKind, write_site
from fleet_sim.warehouse.sites.grid import Grid

msg = pytest.importorskip("simulation_interfaces.msg")
srv = pytest.importorskip("simulation_interfaces.srv")
action = pytest.importorskip("simulation_interfaces.action")

RESULT = msg.Result
ALL = QoSProfile(history=HistoryPolicy.KEEP_ALL)
OK, UNSUPPORTED, NOT_FOUND = RESULT.RESULT_OK, RESULT.RESULT_FEATURE_UNSUPPORTED, RESULT.RESULT_NOT_FOUND
WRONG_STATE, FAILED = RESULT.RESULT_INCORRECT_STATE, RESULT.RESULT_OPERATION_FAILED
STOPPED, PLAYING, PAUSED, QUITTING, NO_WORLD = range(5)
URDF = """<robot name="box"><link name="base_link">
<visual><geometry><box size="0.4 0.4 0.2"/></geometry></visual>
<collision><geometry><box size="0.4 0.4 0.2"/></geometry></collision>
</link></robot>"""
SDF = """<sdf version="1.7"><model name="crate"><link name="base_link">
<collision name="c"><geometry><box><size>0.4 0.4 0.2</size></box></geometry></collision>
<visual name="v"><geometry><box><size>0.4 0.4 0.2</size></box></geometry></visual>
</link></model></sdf>"""
BOX = {"shape_type": "box", "half_extents": [0.3, 0.2, 0.15]}
SCENARIO = {
    "simulation": {"gui": False, "timestep": 0.05},
    "site": "room.yaml",
    "robots": [{"name": f"robot_{i}", "shape": BOX, "pose": [2.0 + 2.0 * i, 3.0, 0.15]} for i in range(2)],
    "objects": [
        {"name": "crate", "shape": BOX, "pose": [3.0, 5.0, 0.15], "pickable": True},
        {"name": "post", "shape": BOX, "pose": [7.0, 5.0, 0.15], "pickable": False},
    ],
}


class World:
    """The node that all tests here share, with its client and folder."""

    def __init__(self, process: NodeProcess, client: Client, folder: Path) -> None:
        self.process, self.client, self.folder = process, client, folder

    def ask(self, service: str, /, **fields: Any) -> tuple[int, Any]:
        """Return the result code and the response of a service."""
        kind = getattr(srv, "".join(word.capitalize() for word in service.split("_")))
        response = self.client.call(kind, f"/sim/{service}", kind.Request(**fields))
        return response.result.result, response

    def code(self, service: str, /, **fields: Any) -> int:
        """Return the result code only."""
        return self.ask(service, **fields)[0]

    def go_to(self, state: int) -> int:
        """Ask for a state of the simulation; return the result code."""
        return self.code("set_simulation_state", state=msg.SimulationState(state=state))

    @property
    def state(self) -> int:
        """The state of the simulation."""
        return int(self.ask("get_simulation_state")[1].state.state)

    def names(self, **filters: Any) -> list[str]:
        """Return the entities that match, walls left out."""
        entities = self.ask("get_entities", filters=msg.EntityFilters(**filters))[1].entities
        return [name for name in entities if not name.startswith("room")]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("worlds")
    (folder / "box.urdf").write_text(URDF)
    (folder / "crate.sdf").write_text(SDF)
    write_site(room(), folder / "room.yaml")
    content = {**SCENARIO, "simulation": {**SCENARIO["simulation"], "model_paths": [str(folder)]}}  # type: ignore[dict-item]
    for name, world in (("hall", content), ("other", {"robots": SCENARIO["robots"][:1], "simulation": {"seed": 5}})):  # type: ignore[index]
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(world))
    (folder / "broken.yaml").write_text(yaml.safe_dump({"robots": [{"name": "x", "shape": 7}]}))
    log = tmp_path_factory.mktemp("log") / "node.log"
    with running(log, "-p", f"config:={folder / 'hall.yaml'}") as (process, client):
        yield World(process, client, folder)


def room() -> Site:
    """Return a room of 10 m by 8 m, with two stations."""
    free = np.zeros((16, 20), bool)
    free[1:-1, 1:-1] = True
    stations = (Station("dock", StationKind.CHARGE, 2.0, 4.0, 1.0), Station("shelf", StationKind.PICK, 8.0, 6.0))
    return Site("room", Grid(free, 0.5), stations=stations)


@pytest.fixture
def world(shared: World) -> World:
    """Return the shared node, playing, at its initial state."""
    if shared.state == NO_WORLD or shared.ask("get_current_world")[1].world.name != "hall":
        assert shared.code("load_world", uri=(shared.folder / "hall.yaml").as_uri()) == OK
    shared.code("reset_simulation")
    shared.go_to(PLAYING)
    return shared


def test_pausing_stopping_and_stepping(world: World) -> None:
    assert world.code("step_simulation", steps=3) == FAILED
    assert (world.go_to(PAUSED), world.go_to(PAUSED), world.state) == (OK, 101, PAUSED)
    before = world.ask("get_entity_state", entity="robot_0")[1].state.header.stamp
    assert world.code("step_simulation", steps=2) == OK
    assert world.code("step_simulation", steps=0) == FAILED
    after = world.ask("get_entity_state", entity="robot_0")[1].state.header.stamp
    assert (after.sec - before.sec) + (after.nanosec - before.nanosec) * 1e-9 == pytest.approx(0.1, abs=1e-3)
    moved = msg.EntityState()
    moved.pose.position.x = 1.0
    assert world.code("set_entity_state", entity="robot_0", state=moved) == OK
    assert (world.go_to(STOPPED), world.state) == (OK, STOPPED)
    assert world.ask("get_entity_state", entity="robot_0")[1].state.pose.position.x == 2.0
    assert (world.go_to(PAUSED), world.state) == (OK, PAUSED)
    assert (world.go_to(PLAYING), world.state) == (OK, PLAYING)
    assert world.go_to(9) == FAILED
    assert (world.code("reset_simulation", scope=1), world.code("reset_simulation", scope=255)) == (UNSUPPORTED, OK)


def test_steps_are_simulated_with_feedback(world: World) -> None:
    status, result = world.client.send_goal(
        action.SimulateSteps, "/sim/simulate_steps", action.SimulateSteps.Goal(steps=2)
    ).result()
    assert (status, result.result.result) == (6, FAILED)
    world.go_to(PAUSED)
    sent = world.client.send_goal(action.SimulateSteps, "/sim/simulate_steps", action.SimulateSteps.Goal(steps=5))
    status, result = sent.result()
    assert (status, result.result.result) == (4, OK)
    world.client.until(lambda: len(sent.feedback) == 5, "all feedback")
    assert [(one.completed_steps, one.remaining_steps) for one in sent.feedback] == [(i, 5 - i) for i in range(1, 6)]
    assert not world.client.send_goal(
        action.SimulateSteps, "/sim/simulate_steps", action.SimulateSteps.Goal()
    ).handle.accepted
    sent = world.client.send_goal(action.SimulateSteps, "/sim/simulate_steps", action.SimulateSteps.Goal(steps=10**6))
    world.client.until(lambda: sent.feedback, "a step")
    sent.cancel()
    assert sent.result()[0] == 5


def test_of_many_goals_at_once_each_has_an_answer(world: World) -> None:
    world.go_to(PAUSED)
    # Its answers come at once, too: of more than ten the default of a client keeps the last ones.
    keeps_all = {"goal_service_qos_profile": ALL, "result_service_qos_profile": ALL}
    client = ActionClient(world.client.node, action.SimulateSteps, "/sim/simulate_steps", **keeps_all)
    world.client.until(client.server_is_ready, "the action")
    sent = [client.send_goal_async(action.SimulateSteps.Goal(steps=2)) for _ in range(60)]
    world.client.until(lambda: all(future.done() for future in sent), "60 answers")
    accepted = [future.result() for future in sent if future.result().accepted]
    # One at a time: a goal that comes while another one runs is rejected, which is an answer.
    results = [handle.get_result_async() for handle in accepted]
    world.client.until(lambda: all(future.done() for future in results), "results")
    assert accepted
    client.destroy()


def test_entities_are_found_by_name_category_tags_and_bounds(world: World) -> None:
    assert world.names() == ["robot_0", "robot_1", "crate", "post"]
    assert world.names(filter="_1$") == ["robot_1"]
    category = {name: world.ask("get_entity_info", entity=name)[1].info.category.category for name in world.names()}
    assert category == {"robot_0": 1, "robot_1": 1, "crate": 0, "post": 5}
    info = msg.EntityInfo(category=msg.EntityCategory(category=2), description="walks", tags=["red", "fast"])
    assert world.code("set_entity_info", entity="crate", info=info) == OK
    assert world.ask("get_entity_info", entity="crate")[1].info == info
    assert (
        world.code("set_entity_info", entity="crate", info=msg.EntityInfo(category=msg.EntityCategory(category=3)))
        == FAILED
    )
    assert world.code("set_entity_info", entity="nobody") == NOT_FOUND
    assert world.names(categories=[msg.EntityCategory(category=2)]) == ["crate"]
    assert world.names(tags=msg.TagsFilter(tags=["red", "slow"])) == ["crate"]
    assert world.names(tags=msg.TagsFilter(tags=["red", "slow"], filter_mode=1)) == []
    ball = msg.Bounds(type=3, points=[Vector3(x=2.0, y=3.0), Vector3(x=1.0)])
    box = msg.Bounds(type=1, points=[Vector3(x=4.5, y=5.5, z=1.0), Vector3(x=1.0, y=2.0)])
    assert world.names(bounds=ball) == ["robot_0"]
    assert world.names(bounds=box, filter="^(crate|robot)") == ["robot_0", "robot_1", "crate"]
    for bounds, code in ((msg.Bounds(type=2), UNSUPPORTED), (msg.Bounds(type=1), FAILED)):
        assert world.code("get_entities", filters=msg.EntityFilters(bounds=bounds)) == code
    assert world.code("get_entities", filters=msg.EntityFilters(filter="(")) == FAILED
    code, response = world.ask("get_entity_bounds", entity="robot_1")
    assert (code, response.bounds.type) == (OK, 1)
    assert [(round(p.x, 6), round(p.y, 6), round(p.z, 6)) for p in response.bounds.points] == [
        (0.3, 0.2, 0.15),
        (-0.3, -0.2, -0.15),
    ]


def test_states_are_told_and_set(world: World) -> None:
    world.go_to(PAUSED)
    world.code("get_entity_state", entity="robot_0")
    publisher = world.client.publisher(Twist, "/robot_0/cmd_vel")
    publisher.publish(Twist(linear=Vector3(x=0.5)))

    def state() -> Any:
        assert world.code("step_simulation", steps=1) == OK
        code, response = world.ask("get_entities_states", filters=msg.EntityFilters(filter="^robot_0$"))
        assert (code, list(response.entities)) == (OK, ["robot_0"])
        return response.states[0]

    seen = [state()]
    world.client.until(lambda: seen[-1].twist.linear.x > 0.0 or seen.append(state()), "motion")
    assert seen[-1].header.frame_id == "map"
    assert seen[-1].acceleration.linear.x == pytest.approx(seen[-1].twist.linear.x / 0.05)

    placed = msg.EntityState()
    placed.pose.position.x = 7.0
    assert world.code("set_entity_state", entity="robot_1", state=placed) == OK
    assert world.ask("get_entity_state", entity="robot_1")[1].state.pose.position.x == 7.0
    placed.pose.position.x = math.nan
    assert world.code("set_entity_state", entity="robot_1", state=placed) == 101
    for name, code in (("robot_1", UNSUPPORTED), ("post", FAILED), ("nobody", NOT_FOUND)):
        pushed = msg.EntityState(twist=Twist(linear=Vector3(x=1.0)))
        assert world.code("set_entity_state", entity=name, state=pushed) == code
    assert world.code("get_entity_state", entity="nobody") == NOT_FOUND
    assert (world.code("delete_entity", entity="robot_1"), world.code("delete_entity", entity="robot_1")) == (
        OK,
        NOT_FOUND,
    )


def test_robots_are_spawned_from_descriptions_and_by_name(world: World) -> None:
    uri = (world.folder / "box.urdf").as_uri()
    code, response = world.ask("spawn_entity", name="box", uri=uri)
    assert (code, response.entity_name) == (OK, "box")
    assert world.ask("spawn_entity", name="box", uri=uri, allow_renaming=True)[1].entity_name == "box_0"
    assert world.code("spawn_entity", name="from_sdf", uri=(world.folder / "crate.sdf").as_uri()) == OK
    for fields, expected in (
        ({"name": "box", "uri": uri}, 101),
        ({"name": "no-name", "uri": uri}, 102),
        ({"name": "none", "uri": "file:///some.usd"}, 103),
        ({"name": "none"}, 104),
        ({"name": "none", "uri": uri, "entity_namespace": "elsewhere"}, 105),
        ({"name": "none", "uri": "file:///nowhere.urdf"}, 106),
        ({"name": "none", "resource_string": URDF}, UNSUPPORTED),
    ):
        assert world.code("spawn_entity", **fields) == expected, fields
    requests = [
        msg.SpawnEntity(name=name, entity_resource=msg.Resource(uri=uri)) for name in ("more", "no-name", "most")
    ]
    code, response = world.ask("spawn_entities", spawn_requests=requests)
    assert (code, [one.result.result for one in response.results]) == (150, [OK, 102, OK])
    assert response.result.error_message.startswith("1 of 3 could not be spawned")
    assert world.code("spawn_entities", spawn_requests=[]) == OK
    code, response = world.ask("get_spawnables", sources=["http://somewhere"])
    found = {one.uri for one in response.spawnables}
    assert code == OK and {"diff_base", uri} <= found and "http://somewhere" in response.result.error_message
    assert world.code("spawn_entity", name="known", uri="diff_base") == OK
    assert world.code("reset_simulation", scope=4) == OK
    assert world.names() == ["robot_0", "robot_1", "crate", "post"]


def test_stations_are_named_poses(world: World) -> None:
    code, response = world.ask("get_named_poses")
    assert (code, [one.name for one in response.poses]) == (OK, ["dock", "shelf"])
    poses = [one.pose for one in response.poses]
    assert [(pose.position.x, pose.position.y) for pose in poses] == [(2.0, 4.0), (8.0, 6.0)]
    turn = poses[0].orientation
    assert (turn.z, turn.w) == pytest.approx((math.sin(0.5), math.cos(0.5)))
    charging = world.ask("get_named_poses", tags=msg.TagsFilter(tags=["charge"]))[1].poses
    assert [one.name for one in charging] == ["dock"]
    # The one is nearest to the left wall, the other as near to the right one as to the upper one.
    for name in ("dock", "shelf"):
        code, response = world.ask("get_named_pose_bounds", name=name)
        assert (code, response.bounds.type, response.bounds.points[1].x) == (OK, 3, 1.5)
    assert world.code("get_named_pose_bounds", name="nowhere") == NOT_FOUND


def test_worlds_are_loaded_and_unloaded(world: World) -> None:
    worlds = {one.name: one for one in world.ask("get_available_worlds")[1].worlds}
    assert {"hall", "other", "warehouse", "office"} <= worlds.keys() and "broken" in worlds
    assert world.code("get_available_worlds", filter=msg.TagsFilter(tags=["indoor"])) == UNSUPPORTED
    assert world.code("get_available_worlds", additional_sources=["http://x"]) == FAILED
    assert world.code("get_available_worlds", additional_sources=["http://x"], continue_on_error=True) == OK
    wrong: list[tuple[dict[str, Any], int]] = [
        ({}, 102),
        ({"uri": "file:///etc/passwd"}, 101),
        ({"uri": "file:///etc/world.yaml"}, 103),
        ({"uri": "no_such_world.yaml"}, NOT_FOUND),
        ({"uri": (world.folder / "broken.yaml").as_uri()}, 103),
        ({"resource_string": "robots: [{"}, 103),
        ({"resource_string": "plugins: [os.system]"}, 103),
        ({"resource_string": "robots: [{shape: {shape_type: mesh, mesh_path: /etc/passwd}}]"}, 103),
        ({"uri": worlds["other"].world_resource.uri, "fail_on_unsupported_element": True}, 106),
    ]
    for fields, expected in wrong:
        assert world.code("load_world", **fields) == expected, fields
    # Nothing of that has moved anything.
    assert (world.names(), world.state) == (["robot_0", "robot_1", "crate", "post"], PLAYING)
    clock = world.ask("get_entity_state", entity="robot_0")[1].state.header.stamp
    code, response = world.ask("load_world", uri=worlds["other"].world_resource.uri)
    assert (code, response.world.name, "seed" in response.result.error_message) == (OK, "other", True)
    assert (world.names(), world.state) == (["robot_0"], STOPPED)
    later = world.ask("get_entity_state", entity="robot_0")[1].state.header.stamp
    assert (later.sec, later.nanosec) >= (clock.sec, clock.nanosec)
    assert world.ask("get_named_poses")[1].poses == []
    assert (
        world.code("load_world", resource_string="objects: [{name: thing, shape: {shape_type: sphere, radius: 1.0}}]")
        == OK
    )
    assert world.names() == ["thing"]
    assert (world.code("unload_world"), world.code("unload_world"), world.state) == (OK, 101, NO_WORLD)
    assert (world.names(), world.code("get_current_world"), world.go_to(PLAYING)) == ([], 101, WRONG_STATE)
    assert world.code("spawn_entity", name="one", uri="diff_base") == WRONG_STATE
    assert world.code("step_simulation", steps=1) == WRONG_STATE


def test_a_swarm_takes_the_place_of_another(world: World) -> None:
    agent = "{type: MazeAgent, position: [3, 3]}"
    for count in (2, 3):
        swarm = f"swarm: {{type: RectangularWorld, size: [20, 20], agents: [{', '.join([agent] * count)}]}}"
        assert world.code("load_world", resource_string=swarm) == OK
        assert [name for name in world.names() if name.startswith("agent")] == [f"agent_{i}" for i in range(count)]


def test_a_world_of_a_stranger_neither_reads_nor_writes_files_of_the_host(world: World, tmp_path: Path) -> None:
    canary, absent = tmp_path / "canary.csv", tmp_path / "absent.csv"
    canary.write_text("root:x:0:0")
    swarm = "{type: RectangularWorld, agents: [{type: MazeAgent, position: [3, 3]}]"
    for text in (
        "{robots: [{name: r, at: free}], site: sites/office.yaml, orders: {file: PATH}}",
        "{robots: [{name: r, at: free}], site: sites/office.yaml, orders: {tasks: PATH}}",
        f"{{swarm: {swarm}, subscribers: [{{type: table, path: PATH}}]}}}}",
    ):
        answers = [world.ask("load_world", resource_string=text.replace("PATH", str(at))) for at in (canary, absent)]
        (code, there), (_, missing) = answers
        assert code == 103
        assert there.result.error_message.replace("canary", "absent") == missing.result.error_message
        assert "root:" not in there.result.error_message
    assert (canary.read_text(), list(tmp_path.iterdir())) == ("root:x:0:0", [canary])
    assert world.names() == ["robot_0", "robot_1", "crate", "post"]


def test_every_service_of_the_definitions_is_offered_and_the_features_are_true(world: World) -> None:
    response = world.client.call(srv.GetSimulatorFeatures, "/sim/get_simulator_features")
    known = {
        name: getattr(msg.SimulatorFeatures, name)
        for name in dir(msg.SimulatorFeatures)
        if name.isupper() and name[0] != "_" and name != "SLOT_TYPES"
    }
    missing = {name for name, number in known.items() if number not in response.features.features}
    left_out = {"ENTITY_BOUNDS_CONVEX", "SPAWNING_RESOURCE_STRING", "WORLD_TAGS", "SIMULATION_RESET_TIME"}
    assert missing == left_out | {"SIMULATION_RESET_STATE"}
    assert list(response.features.spawn_formats) == ["urdf", "sdf", "mjcf"]
    offered = {
        kind[0].split("/")[-1]
        for name, kind in world.client.node.get_service_names_and_types()
        if name.startswith("/sim/")
    }
    assert {name for name in dir(srv) if name[0].isupper() and "_" not in name} <= offered | {"annotations"}


def test_quitting_ends_the_node(world: World) -> None:
    assert world.go_to(QUITTING) == OK
    assert world.process.wait() == 0

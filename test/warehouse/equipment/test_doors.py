"""Doors open and close; a closed one stops robots, rays and traffic, and waits to close while somebody is in it."""

from __future__ import annotations

from typing import Any

import pytest

import fleet_sim as fs
from fleet_sim.warehouse.equipment import DoorHandle, DoorKind, DoorMode, Doors, DoorSettings, MoveDoors, build_door

Sim = fs.MultiRobotSimulationCore
HALL = """\
type octile
height 7
width 16
map
@@@@@@@@@@@@@@@@
@.......@......@
@.......@......@
@..............@
@.......@......@
@.......@......@
@@@@@@@@@@@@@@@@
"""


def door(sim: Sim, name: str = "door", **settings: Any) -> DoorHandle:
    return build_door(sim, DoorSettings(**{"name": name, "begin": (0.0, -1.0), "end": (0.0, 1.0), **settings}))


def robot(sim: Sim, x: float, y: float = 0.0, name: str = "robot") -> fs.Agent:
    body = fs.ShapeParams("cylinder", radius=0.2, height=0.4)
    agent: fs.Agent = sim.spawn(
        fs.AgentSpawnParams(body, body, fs.Pose((x, y, 0.2)), name=name, block_on_collision=True)
    )
    return agent


def steps(sim: Sim, count: int) -> None:
    for _ in range(count):
        sim.step_once()


def place(sim: Sim, name: str) -> list[float]:
    row = sim.get_object(name).row
    return [round(value, 6) for value in sim.world.position[row].tolist()]


def test_leaves_move_between_two_exact_poses_and_say_so(sim: Sim) -> None:
    told: list[tuple[str, str]] = []
    for event in ("door_moving", "door_opened", "door_closed"):
        sim.events.on(event, lambda door, event=event: told.append((event, door.name)))
    way, names = door(sim, kind="double_swing", time=2.0), ("door", "door_b")
    before = [place(sim, name) for name in names]
    way.open()
    steps(sim, 10)
    assert way.mode is DoorMode.MOVING and 0.0 < way.opening < 1.0
    steps(sim, 12)
    assert (way.mode, [place(sim, name) for name in names]) == (DoorMode.OPEN, [[-0.5, -1.0, 1.1], [-0.5, 1.0, 1.1]])
    way.close()
    steps(sim, 22)
    assert (way.mode, [place(sim, name) for name in names]) == (DoorMode.CLOSED, before)
    assert [event for event, _ in told] == ["door_moving", "door_opened", "door_moving", "door_closed"]
    assert {name for _, name in told} == {"door"} and DoorHandle.of(sim.get_object("door_b")).name == "door"


def test_a_closed_door_stops_robots_and_rays_and_an_open_one_lets_them_through(sim: Sim) -> None:
    way = door(sim, time=1.0)
    driver = robot(sim, -2.0)
    driver.set_goal(fs.Pose((2.0, 0.0, 0.2)))

    def sees() -> str | None:
        entity = sim.queries.ray_cast([(-1.5, 0.5, 1.0)], [(1.5, 0.5, 1.0)]).entities[0]
        return None if entity is None else entity.name

    steps(sim, 40)
    assert driver.get_pose().position[0] == pytest.approx(-0.226, abs=0.01) and sees() == "door"
    way.open()
    steps(sim, 50)
    assert driver.get_pose().position[0] == 2.0 and sees() is None


def test_a_door_waits_to_close_while_a_body_is_in_its_way(sim: Sim) -> None:
    way = door(sim, kind=DoorKind.DOUBLE_SWING, open=True, time=1.0)
    driver = robot(sim, -0.3)
    way.close()
    steps(sim, 15)
    assert way.is_held and way.opening == 1.0
    driver.set_goal(fs.Pose((2.0, 0.0, 0.2)))
    steps(sim, 40)
    assert not way.is_held and way.mode is DoorMode.CLOSED


def test_commands_name_doors_and_refuse_what_is_none(sim: Sim) -> None:
    door(sim, kind="double_sliding")
    robot(sim, 5.0)
    answer = sim.inbox.put(MoveDoors(names=("door", "door", "door_b", "robot", "gate")))
    sim.step_once()
    rejected = answer.result().rejected
    assert set(rejected) == {"door", "door_b", "robot", "gate"} and answer.result().accepted_names == ("door",)
    assert rejected["gate"] == "there is no door of that name"
    assert "second leaf" in rejected["door_b"] and rejected["robot"] == "it is not a door"
    doors: Doors = sim.features.use("door")
    assert len(doors.rows) == 1


def test_what_moves_by_itself_is_no_leaf(sim: Sim) -> None:
    with pytest.raises(fs.InvalidValueError, match="moves by itself"):
        sim.spawn(fs.AgentSpawnParams(name="r", features={"door": {"slide": 1.0}}))
    with pytest.raises(fs.InvalidValueError, match="static"):
        sim.spawn(fs.SimObjectSpawnParams(name="w", collision_mode="static", features={"door": {"slide": 1.0}}))
    with pytest.raises(fs.InvalidValueError, match="begin and end"):
        door(sim, end=(0.0, -1.0))
    assert len(sim.world) == 0


def test_a_closed_door_is_an_obstacle_to_the_traffic(tmp_path: Any) -> None:
    (tmp_path / "hall.map").write_text(HALL)
    (tmp_path / "site.yaml").write_text(
        "simulation: {gui: false, target_rtf: 0, timestep: 0.1, monitor: false}\n"
        "site: hall.map\n"
        "robots: [{name: r, pose: [5.5, 3.5, 0.1], shape: {shape_type: cylinder, radius: 0.2, height: 0.2}}]\n"
        "traffic: {planner: pibt}\n"
        "doors: {list: [{name: gate, begin: [8.5, 3.0], end: [8.5, 4.0], time: 1.0}]}\n"
    )
    sim = Sim.from_yaml(tmp_path / "site.yaml")
    try:
        driver, gate = sim.get_object("r"), DoorHandle.of(sim.get_object("gate"))
        traffic = sim.get_manager("traffic")
        traffic.send(driver, (11.5, 3.5))
        steps(sim, 50)
        assert traffic.blocked[1].sum() == 1 and driver.get_pose().position[0] < 8.0
        gate.open()
        for _ in range(150):
            sim.step_once()
            assert abs(driver.get_pose().position[0] - 8.5) > 0.2 or gate.opening > 0.9
        assert driver.get_pose().position[:2] == (11.5, 3.5)
    finally:
        sim.close()

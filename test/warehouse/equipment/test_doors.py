"""Doors open and close; a closed one stops robots, rays and traffic, and waits to close while somebody is in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fleet_sim as fs
from fleet_sim.base.arrays import Bools
from fleet_sim.base.errors import ConfigError, InvalidValueError
from fleet_sim.warehouse.equipment import (
    DoorHandle,
    DoorKind,
    DoorMode,
    Doors,
    DoorSettings,
    MoveDoors,
    SwitchLights,
    build_door,
)
from fleet_sim.warehouse.sites import Grid, Site, write_site
from fleet_sim.warehouse.traffic import Traffic, offer_routes, offer_traffic

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


# ---- Lights are seen lit or dark, and blink in simulation time -------------------------------------------------------


POST = fs.ShapeParams("cylinder", radius=0.05, height=1.0)
RED, DARK_RED = (1.0, 0.0, 0.0, 1.0), (0.25, 0.0, 0.0, 1.0)


def lamp(sim: Sim, name: str = "lamp", **light: Any) -> fs.SimObject:
    features = {"light": {"color": (1.0, 0.0, 0.0), **light}}
    made: fs.SimObject = sim.spawn(
        fs.SimObjectSpawnParams(POST, POST, fs.Pose((0.0, 0.0, 0.5)), name=name, features=features)
    )
    return made


def steps_lights(sim: Sim, light: fs.SimObject, count: int) -> list[bool]:
    """Return whether it is seen lit after each of `count` steps."""
    seen = []
    for _ in range(count):
        sim.step_once()
        color = light.get_color()
        assert color in (RED, DARK_RED)
        seen.append(color == RED)
    return seen


def test_it_blinks_on_when_it_is_restored_and_a_light_that_is_taken_away_is_as_it_was(sim: Sim) -> None:
    light = lamp(sim, blink=0.125 / sim.params.timestep)
    steps_lights(sim, light, 3)
    saved = sim.save_state()
    after = steps_lights(sim, light, 12)
    sim.restore_state(saved)
    assert steps_lights(sim, light, 12) == after and set(after) == {True, False}
    sim.features.take("light", [light.row])
    assert light.get_color() == pytest.approx(POST.rgba_color)


def test_what_is_no_light_or_no_color_is_refused(sim: Sim) -> None:
    light = lamp(sim)
    sim.spawn(fs.SimObjectSpawnParams(POST, POST, fs.Pose((1.0, 0.0, 0.5)), name="post"))
    answer = sim.inbox.put(SwitchLights(names=("lamp", "post", "nobody"), lit=False))
    sim.step_once()
    assert answer.result().rejected == {"post": "it is not a light", "nobody": "unknown robot"}
    for wrong in ({"color": (2.0, 0.0, 0.0)}, {"color": (1.0, 0.0)}, {"blink": -1.0}, {"blink": float("nan")}):
        refused = sim.inbox.put(SwitchLights(names=("lamp",), **wrong))
        sim.step_once()
        assert isinstance(refused.exception(), InvalidValueError)
    assert light.get_color() == DARK_RED


# ---- Doors in traffic: robots ask for them, wait until they are open, and no leaf meets a robot ----------------------


RADIUS = 0.3
BODY = (fs.ShapeParams("cylinder", radius=RADIUS, height=0.4),) * 2
KINDS = ("sliding", "double_sliding", "swing", "double_swing")


def two_rooms() -> Site:
    """Rooms of 5 x 7 cells of 1 m beside a wall of one cell, with an opening of three cells in its middle."""
    free: Bools = np.ones((7, 11), bool)
    free[:2, 5] = free[5:, 5] = False
    return Site("rooms", Grid(free))


def with_door(robots: int, seed: int, **values: object) -> tuple[fs.MultiRobotSimulationCore, Traffic, DoorHandle]:
    """Return the rooms with a door in the opening, and `robots` in them."""
    params = fs.SimulationParams(gui=False, monitor=False, target_rtf=0, timestep=0.1, seed=seed)
    sim = fs.MultiRobotSimulationCore(params)
    site = two_rooms()
    settings = {"kind": "sliding", "automatic": 0.2, "hold": 0.5, "time": 1.5, **values}
    # Sliding leaves go into the wall; the opening is three cells wide, the robots pass in its middle.
    door = build_door(sim, DoorSettings(name="door", begin=(5.5, 2.0), end=(5.5, 5.0), **settings))
    rooms = [cell for cell in np.flatnonzero(site.grid.free_mask.ravel()).tolist() if abs(cell % 11 - 5) > 4]
    cells = np.random.default_rng(seed).permutation(rooms)[:robots]
    agents = [
        sim.spawn(
            fs.AgentSpawnParams(
                *BODY,
                initial_pose=fs.Pose((x, y, 0.2)),
                controller={"type": "differential", "max_linear_vel": 1.0, "max_linear_accel": 1.0},
                name=f"robot_{number}",
            )
        )
        for number, (x, y) in enumerate(site.grid.positions(cells).tolist())
    ]
    traffic = offer_traffic(sim, site, planner="pibt")
    traffic.enroll(agents)
    return sim, traffic, door


def least_gap(sim: fs.MultiRobotSimulationCore, robots: list[fs.Agent], leaves: list[fs.SimObject]) -> float:
    """Return how near any robot is to any leaf, from their poses alone."""
    gaps = []
    for leaf in leaves:
        pose = leaf.get_pose()
        yaw, half = pose.as_euler()[2], sim.world.half_extents[leaf.row]
        for robot in robots:
            x, y = np.subtract(robot.get_pose().position[:2], pose.position[:2])
            along, across = x * np.cos(yaw) + y * np.sin(yaw), y * np.cos(yaw) - x * np.sin(yaw)
            beside = np.maximum(np.abs([along, across]) - half[:2], 0.0)
            gaps.append(float(np.hypot(*beside)) - RADIUS)
    return min(gaps)


@pytest.mark.parametrize("kind", KINDS)
def test_robots_pass_a_door_both_ways(kind: str) -> None:
    """All get to the other room, no leaf ever touches one, though somebody shuts the door at bad moments."""
    sim, traffic, door = with_door(6, 1, kind=kind, guarded=False)
    with sim:
        robots = traffic.robots
        leaves = [sim.get_object("door"), *([sim.get_object("door_b")] if kind.startswith("double") else [])]
        for robot in robots:
            x, y, _ = robot.get_pose().position
            traffic.send(robot, (11.0 - x, 7.0 - y))
        seen, least, random = set(), np.inf, np.random.default_rng(1)
        for _ in range(1500):
            sim.step_once()
            seen.add(door.mode)
            least = min(least, least_gap(sim, robots, leaves))
            if random.random() < 0.1:
                door.close()
            if all(traffic.has_arrived(robot) for robot in robots):
                break
        assert all(traffic.has_arrived(robot) for robot in robots)
        assert least > 0.0
        assert sim.collisions.count == 0
        for _ in range(40):
            sim.step_once()
        assert seen == set(DoorMode) and door.mode is DoorMode.CLOSED


def test_doors_by_command_stay_obstacles() -> None:
    """A door that nobody may open but by command is driven around, or waited for."""
    sim, traffic, door = with_door(1, 3, automatic=0.0)
    with sim:
        (robot,) = traffic.robots
        x, y, _ = robot.get_pose().position
        traffic.send(robot, (11.0 - x, 7.0 - y))
        for _ in range(200):
            sim.step_once()
        assert door.mode is DoorMode.CLOSED and (robot.get_pose().x < 5.0) == (x < 5.0)
        door.open()
        for _ in range(400):
            sim.step_once()
        assert traffic.has_arrived(robot)


def test_a_robot_in_the_swing_of_a_door_is_refused() -> None:
    """Where the leaf would hit it, it cannot take part."""
    sim, traffic, door = with_door(1, 4, kind="swing")
    with sim:
        robot = sim.spawn(
            fs.AgentSpawnParams(
                *BODY,
                initial_pose=fs.Pose((4.5, 3.5, 0.2)),
                controller={"type": "differential", "max_linear_vel": 1.0, "max_linear_accel": 1.0},
            )
        )
        with pytest.raises(InvalidValueError, match="where a door moves that is not open"):
            traffic.enroll(robot)
        assert not traffic.takes_part(robot) and door.mode is DoorMode.CLOSED


@pytest.mark.parametrize("kind", KINDS[:3])
def test_a_robot_on_a_route_passes_a_door(kind: str) -> None:
    """It waits before the door, and the door for it; its way and the distance left are those of the whole route."""
    params = fs.SimulationParams(gui=False, monitor=False, target_rtf=0, timestep=0.1)
    with fs.MultiRobotSimulationCore(params) as sim:
        offer_routes(sim, two_rooms())
        settings = DoorSettings(
            name="door", begin=(5.5, 2.0), end=(5.5, 5.0), kind=kind, automatic=0.1, time=2.0, guarded=False
        )
        door = build_door(sim, settings)
        leaves = [sim.get_object("door"), *([sim.get_object("door_b")] if kind.startswith("double") else [])]
        robot = sim.spawn(fs.AgentSpawnParams(*BODY, initial_pose=fs.Pose((1.5, 3.5, 0.2))))
        move = fs.MoveTo(fs.Pose((9.5, 4.0, 0.2)), route=True)
        robot.execute_action(move)
        least, left, modes = np.inf, [], []
        for _ in range(600):
            sim.step_once()
            least = min(least, least_gap(sim, [robot], leaves))
            modes.append(door.mode)
            if move.is_complete():
                break
            left.append(move.progress(robot)["distance_left"])
            if robot.get_pose().x > 4.0:
                door.close()
        assert move.status is fs.ActionStatus.COMPLETED, move.error_message
        assert np.all(np.diff([rest for rest in left if rest < 7.9]) <= 1e-9)
        assert least > 0.0 and set(modes) >= {DoorMode.MOVING, DoorMode.OPEN}
        for _ in range(60):
            sim.step_once()
        assert door.mode is DoorMode.CLOSED


def test_doors_of_a_scenario_are_there_before_its_traffic(tmp_path: Path) -> None:
    """Wherever the file has them: a robot that was put into a doorway is refused, with the reason."""
    write_site(two_rooms(), tmp_path / "rooms.yaml")
    with pytest.raises(ConfigError, match=r"traffic: 'cart' .* where a door moves that is not open"):
        fs.MultiRobotSimulationCore.from_dict(
            {
                "simulation": {"gui": False, "target_rtf": 0},
                "site": {"map": str(tmp_path / "rooms.yaml")},
                "robots": [{"name": "cart", "urdf_path": "diff_base", "pose": [5.5, 3.5, 0.0]}],
                "traffic": {},
                "doors": {"list": [{"name": "door", "begin": [5.5, 2.0], "end": [5.5, 5.0], "automatic": 0.2}]},
            }
        )

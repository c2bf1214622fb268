"""Doors in traffic: robots ask for them, wait until they are open, and no leaf meets a robot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fleet_sim as fs
from fleet_sim.base.arrays import Bools
from fleet_sim.base.errors import ConfigError, InvalidValueError
from fleet_sim.warehouse.equipment import DoorHandle, DoorMode, DoorSettings, build_door
from fleet_sim.warehouse.sites import Grid, Site, write_site
from fleet_sim.warehouse.traffic import Traffic, offer_routes, offer_traffic

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
@pytest.mark.parametrize("seed", [1, 2])
def test_robots_pass_a_door_both_ways(kind: str, seed: int) -> None:
    """All get to the other room, no leaf ever touches one, though somebody shuts the door at bad moments."""
    sim, traffic, door = with_door(6, seed, kind=kind, guarded=False)
    with sim:
        robots = traffic.robots
        leaves = [sim.get_object("door"), *([sim.get_object("door_b")] if kind.startswith("double") else [])]
        for robot in robots:
            x, y, _ = robot.get_pose().position
            traffic.send(robot, (11.0 - x, 7.0 - y))
        seen, least, random = set(), np.inf, np.random.default_rng(seed)
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

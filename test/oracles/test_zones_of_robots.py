"""Zones of some robots in one traffic: from poses alone these keep to them, all others do not, and none overlap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fleet_sim as fs
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.warehouse.sites import Grid, Site, Zone, ZoneKind, read_site, write_site
from fleet_sim.warehouse.traffic import offer_traffic

STOP = np.array([(4.0, 0.0), (8.0, 0.0), (8.0, 3.0), (4.0, 3.0)])
LANE = np.array([(4.0, 3.0), (8.0, 3.0), (8.0, 6.0), (4.0, 6.0)])
RADIUS = 0.35


def hall(robots: tuple[str, ...] = ("heavy_*",)) -> Site:
    """A hall of 12 x 7 m: heavy robots keep out of a corner, and pass by it to the right only, but for one row."""
    zones = (
        Zone("light_only", ZoneKind.NO_GO, STOP, robots=robots),
        Zone("lane", ZoneKind.ONE_WAY, LANE, direction=0.0, robots=robots),
    )
    return Site("hall", Grid(np.ones((7, 12), bool)), zones=zones)


def spawn(sim: fs.MultiRobotSimulationCore, count: int) -> None:
    """Spawn as many heavy robots as light ones, at the left side."""
    shape = fs.ShapeParams("cylinder", radius=RADIUS, height=0.3)
    drive = {"type": "differential", "max_linear_vel": 1.3, "max_linear_accel": 1.1, "max_angular_vel": 1.9}
    for number in range(2 * count):
        name = f"{('heavy', 'light')[number % 2]}_{number // 2}"
        pose = fs.Pose.from_yaw(0.5 + number // 6, 0.5 + number % 6, 0.15, 0.7)
        sim.spawn(fs.AgentSpawnParams(shape, shape, pose, name=name, controller=drive))


def drive(site: Site, seconds: float, **settings: Any) -> tuple[list[str], np.ndarray]:
    """Send robots here and there; return their names and where they were (T, R, 2)."""
    with fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, monitor=False, timestep=0.1)) as sim:
        spawn(sim, 4)
        traffic, random, found = offer_traffic(sim, site, **settings), np.random.default_rng(3), []
        traffic.enroll(sim.agents)
        rows = np.array([robot.row for robot in sim.agents])
        arrivals = 0
        for step in range(round(10 * seconds)):
            for robot in sim.agents:
                if step == 0 or traffic.has_arrived(robot):
                    arrivals += step > 0
                    # Light ones go into the corner, too.
                    places = [(x + 0.5, y + 0.5) for x in (0, 5, 6, 11) for y in (1, 4, 5)]
                    chosen = [place for place in places if robot.name.startswith("light") or not 4 < place[0] < 8]
                    traffic.send(robot, chosen[int(random.integers(len(chosen)))])
            sim.step_once()
            found.append(sim.world.position[rows, :2].copy())
        assert arrivals > 20 and traffic.figures()["refusals"] == 0
        return [robot.name for robot in sim.agents], np.array(found)


def within(places: np.ndarray, corners: np.ndarray) -> np.ndarray:
    low, high = corners.min(axis=0), corners.max(axis=0)
    return ((places > low) & (places < high)).all(axis=-1)


@pytest.mark.slow
def test_some_robots_keep_to_zones_of_their_own_and_the_others_do_not() -> None:
    names, places = drive(hall(), 120.0)
    heavy = np.array([name.startswith("heavy") for name in names])
    inside = within(places, STOP).any(axis=0)
    assert not inside[heavy].any() and inside[~heavy].any()
    moves = np.diff(places, axis=0)[..., 0]
    back = within(places[1:], LANE) & (moves < -1e-6)
    assert not back[:, heavy].any() and back[:, ~heavy].any()
    gaps = np.hypot(*(places[:, :, None] - places[:, None]).transpose(3, 0, 1, 2)) + 9.0 * np.eye(len(names))
    assert gaps.min() > 2.0 * RADIUS


def test_files_keep_the_names_and_limits_hold_for_all(tmp_path: Any) -> None:
    write_site(hall(), tmp_path / "hall.yaml")
    assert [zone.robots for zone in read_site(tmp_path / "hall.yaml").zones] == [("heavy_*",)] * 2
    with pytest.raises(InvalidValueError, match="a speed limit holds for all"):
        Zone("slow", ZoneKind.SPEED_LIMIT, STOP, speed=0.5, robots=("heavy_*",))


def test_a_planner_that_does_not_know_zones_of_robots_is_refused() -> None:
    with fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, monitor=False)) as sim:
        spawn(sim, 1)
        traffic = offer_traffic(sim, hall(), planner="lacam")
        with pytest.raises(InvalidValueError, match="zones of their own"):
            traffic.enroll(sim.agents)


@pytest.mark.slow
def test_who_comes_later_needs_zones_that_held_for_one_of_the_first() -> None:
    with fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, monitor=False)) as sim:
        spawn(sim, 1)
        traffic = offer_traffic(sim, hall())
        traffic.enroll([robot for robot in sim.agents if robot.name.startswith("light")])
        with pytest.raises(InvalidValueError, match="hold for it"):
            traffic.enroll([robot for robot in sim.agents if robot.name.startswith("heavy")])


def test_nobody_is_sent_into_a_zone_that_it_may_not_enter_nor_covers_a_part_of_it() -> None:
    with fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, monitor=False)) as sim:
        long = fs.ShapeParams("box", half_extents=(1.2, 0.4, 0.15))
        for number, (name, x, y) in enumerate((("heavy_long", 2.5, 5.5), ("heavy_0", 0.5, 0.5), ("light_0", 0.5, 3.5))):
            shape = fs.ShapeParams("cylinder", radius=RADIUS, height=0.3) if number else long
            pose, drive = fs.Pose.from_yaw(x, y, 0.15, 0.0), {"type": "differential"}
            sim.spawn(fs.AgentSpawnParams(shape, shape, pose, name=name, controller=drive))
        traffic = offer_traffic(sim, hall())
        traffic.enroll(sim.agents)
        # A long one that stands beside the zone, along a row, would be in it.
        for robot, place in ((sim.agents[1], (5.5, 1.5)), (sim.agents[0], (3.5, 1.5)), (sim.agents[0], (5.5, 2.5))):
            with pytest.raises(InvalidValueError, match="no room"):
                traffic.send(robot, place, 0.0)
        traffic.send(sim.agents[0], (2.5, 1.5), 0.0)
        traffic.send(sim.agents[2], (5.5, 1.5))
        # Tasks of all lead elsewhere.
        assert traffic.node_of((5.5, 1.5)) not in traffic.shared_nodes()
        assert traffic.node_of((1.5, 5.5)) in traffic.shared_nodes()

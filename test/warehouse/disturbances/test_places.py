"""Places that are disturbed: closed areas, stations, doors and lifts, seen from poses and from orders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from crowds import Crowd
from depot import depot, orders_of, run_until
from networks import site_of

import fleet_sim as fs
from fleet_sim.base.errors import ConfigError
from fleet_sim.warehouse.disturbances import Disturbances
from fleet_sim.warehouse.equipment import DoorHandle, DoorSettings, LiftSettings, build_door, build_lift
from fleet_sim.warehouse.orders import OrderState
from fleet_sim.warehouse.traffic.traffic import offer_routes
from fleet_sim.world.conditions import action_fails

SITES = Path(fs.__file__).parents[2] / "config" / "sites"
HALL = """
............
............
............
............
............
............
"""
AREA = [[4.0, 0.0], [8.0, 0.0], [8.0, 4.0], [4.0, 4.0]]


def part(sim: fs.MultiRobotSimulationCore) -> Disturbances:
    """Return the disturbances of a simulation."""
    found: Disturbances = sim.features.use("disturbances")
    return found


def inside(sim: fs.MultiRobotSimulationCore) -> Any:
    """Return which robots are in the area, whole steps of a tenth of a metre from its edge."""
    x, y = sim.world.position[sim.world.rows, :2].T
    return (x > 4.1) & (x < 7.9) & (y > 0.1) & (y < 3.9)


def test_the_traffic_keeps_out_of_a_closed_area_as_long_as_it_is_closed(tmp_path: Path) -> None:
    crowd = Crowd(site_of(HALL), 8, seed=6)
    crowd.roam()
    crowd.run(20.0)
    part(crowd.sim).begin("closed", area=AREA, lasts=60)
    crowd.run(20.0)
    # Those that could not stop any more, or stood there, have left it.
    for _ in range(10):
        crowd.run(3.0)
        drives = crowd.sim.world.velocity[crowd.sim.world.rows].any(axis=1)
        assert not (inside(crowd.sim) & drives).any()
    assert crowd.traffic.blocked[0].sum() == 16
    crowd.run(15.0)
    assert not crowd.traffic.blocked[0].any()
    seen = False
    for _ in range(20):
        crowd.run(1.0)
        seen |= bool(inside(crowd.sim).any())
    assert seen


def routed(entries: list[dict[str, Any]], goal: tuple[float, float] = (11.5, 2.5)) -> fs.MultiRobotSimulationCore:
    """Return a robot that finds its own way through an empty hall."""
    scenario = {
        "simulation": {"timestep": 0.1, "gui": False, "raise_on_fault": True},
        "robots": [{"name": "r", "pose": [0.5, 2.5, 0.1]}],
    }
    sim = fs.MultiRobotSimulationCore.from_dict(scenario)
    offer_routes(sim, site_of(HALL))
    for entry in entries:
        part(sim).begin(**entry)
    sim.step_once()
    sim.agents[0].add_action(fs.MoveTo(fs.Pose((*goal, 0.1)), route=True))
    return sim


def places(sim: fs.MultiRobotSimulationCore, steps: int) -> Any:
    """Return where the robot is after each step."""
    found = []
    for _ in range(steps):
        sim.step_once()
        found.append(sim.world.position[sim.agents[0].row, :2].copy())
    return np.array(found)


def test_routes_lead_around_a_closed_area_and_straight_through_it_without_that() -> None:
    free, around = places(routed([]), 150), places(routed([{"kind": "closed", "area": AREA}]), 150)
    within = [((xy[:, 0] > 4) & (xy[:, 0] < 8) & (xy[:, 1] < 4)).any() for xy in (free, around)]
    assert within == [True, False] and np.allclose(around[-1], (11.5, 2.5), atol=0.05)


def test_routes_in_a_building_lead_around_a_closed_area() -> None:
    scenario = {
        "simulation": {"timestep": 0.1, "gui": False, "raise_on_fault": True},
        "building": {"map": str(SITES / "maps" / "two_floors.building.yaml"), "robots": False, "items": False},
        "robots": [{"name": "r", "pose": [1.5, 6.0, 0.1]}],
    }
    crossed = []
    for closed in (False, True):
        sim = fs.MultiRobotSimulationCore.from_dict(scenario)
        if closed:
            part(sim).begin("closed", area=[[3, 2.5], [5, 2.5], [5, 8], [3, 8]])
        sim.step_once()
        sim.agents[0].add_action(fs.MoveTo(fs.Pose((6.5, 6.0, 0.1)), route=True))
        way = places(sim, 250)
        assert np.allclose(way[-1], (6.5, 6.0), atol=0.05)
        crossed.append(bool(((way[:, 0] > 3) & (way[:, 0] < 5) & (way[:, 1] > 2.5)).any()))
    assert crossed == [True, False]


def test_of_two_that_make_actions_of_a_robot_fail_each_ends_by_itself() -> None:
    sim = routed([])
    for order in ((2, None), (None, 2), (2, 4)):
        for count in order:
            part(sim).begin("action_failure", robots="r", **({"next": count} if count else {}))
        sim.step_once()
        failed, active = 0, [len(part(sim).active)]
        for _ in range(5):
            failed += action_fails(sim.world, sim.agents[0].row)
            sim.step_once()
            active.append(len(part(sim).active))
        # The one with the fewer ends after its two; the other one goes on, as long as it says.
        assert active == [2, 2, 1, 1, *((1, 1) if None in order else (0, 0))]
        assert failed == (5 if None in order else 4)
        part(sim).end(*(event.id for event in part(sim).active))
        sim.step_once()
        assert not len(part(sim).active) and not action_fails(sim.world, sim.agents[0].row)


def test_who_is_on_a_route_through_an_area_when_it_closes_is_turned_back_for_that_reason() -> None:
    sim = routed([])
    ended: list[Any] = []
    sim.events.on("action_completed", lambda action, **_: ended.append((str(action.cause), action.error_message)))
    places(sim, 10)
    name = part(sim).begin("closed", area=AREA)
    places(sim, 2)
    assert ended == [("closed", "its way is closed")]
    part(sim).end(name)
    sim.agents[0].add_action(fs.MoveTo(fs.Pose((11.5, 2.5, 0.1)), route=True))
    assert np.allclose(places(sim, 150)[-1], (11.5, 2.5), atol=0.05)


def done_at(folder: Path, *entries: dict[str, Any]) -> float:
    """Return when one order is done, whose pick takes 2 s."""
    one = {"id": "one", "pick": "shelf_c", "drop": "dock"}
    orders = {"list": [one], "service": {"pick_time": 2, "drop_time": 2}, "attempts": 100, "retry_after": 2}
    with depot(folder, orders) as sim:
        for entry in entries:
            part(sim).begin(**entry)
        book = orders_of(sim)
        run_until(sim, lambda: book.counts[OrderState.DONE] == 1)
        assert part(sim).figures().keys() == {str(entry["kind"]) for entry in entries}
        return sim.sim_time


def test_stations_are_slow_closed_and_blocked(tmp_path: Path) -> None:
    usual = done_at(tmp_path)
    slow = done_at(tmp_path, {"kind": "station_slow", "stations": ["shelf_c"], "factor": 4})
    assert slow - usual == pytest.approx(6.0, abs=0.15)
    for kind in ("station_closed", "station_blocked"):
        late = done_at(tmp_path, {"kind": kind, "stations": ["dock"], "lasts": 60})
        assert 60.0 < late < 60.0 + usual + 20.0
    with depot(tmp_path, {}) as sim:
        part(sim).begin("station_blocked", stations="dock", size=2.5)
        sim.step_once()
        (corners,) = sim.world.routes.closed.values()
        assert np.allclose((corners.min(axis=0), corners.max(axis=0)), ((12.25, -0.75), (14.75, 1.75)))
    with depot(tmp_path, {}) as sim, pytest.raises(ConfigError, match=r"stations: .*dock"):
        part(sim).begin("station_closed", stations="dok")


def test_what_robots_do_at_stops_fails_and_is_done_again(tmp_path: Path) -> None:
    usual = done_at(tmp_path)
    failed = done_at(tmp_path, {"kind": "action_failure", "next": 1})
    assert usual + 2.0 < failed < usual + 60.0


def test_a_drop_that_fails_is_done_again(tmp_path: Path) -> None:
    orders = {"list": [{"pick": "shelf_c", "drop": "dock"}], "service": {"pick_time": 2, "drop_time": 2}}
    with depot(tmp_path, {**orders, "attempts": 100, "retry_after": 2}) as sim:
        book = orders_of(sim)
        run_until(sim, lambda: book.counts[OrderState.CARRYING] == 1)
        part(sim).begin("action_failure", next=2)
        run_until(sim, lambda: book.counts[OrderState.DONE] == 1)
        assert not part(sim).active


def test_of_two_that_disturb_a_station_the_other_goes_on_when_one_ends(tmp_path: Path) -> None:
    slow = [{"kind": "station_slow", "stations": "shelf_c", "factor": factor} for factor in (2.5, 4.0)]
    closed = [{"kind": "station_closed", "stations": "dock"} for _ in range(2)]
    with depot(tmp_path, {}) as sim:
        places = orders_of(sim).places
        shelf, dock = places.number("shelf_c"), places.number("dock")
        seen = []
        names = [part(sim).begin(**entry) for entry in (*slow, *closed)]
        for ended in (None, names[1], names[2], names[0], names[3]):
            if ended is not None:
                part(sim).end(ended)
            sim.step_once()
            seen.append((places.slowness.get(shelf, 1.0), dock in places.closed))
        assert seen == [(4.0, True), (2.5, True), (2.5, True), (1.0, True), (1.0, False)]


def test_a_door_sticks_half_open_until_that_is_over() -> None:
    sim = fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, timestep=0.1, raise_on_fault=True))
    door = build_door(sim, DoorSettings(name="door", begin=(0.0, -1.0), end=(0.0, 1.0)))
    door.open()
    for _ in range(8):
        sim.step_once()
    names = [part(sim).begin("door_stuck", doors="door") for _ in range(2)]
    openings = []
    for step in range(40):
        sim.step_once()
        openings.append(door.opening)
        if step == 20:
            part(sim).end(names[0])
    assert 0.0 < openings[0] < 1.0 and len(set(openings[1:])) == 1, "as long as one of the two lasts"
    part(sim).end(names[1])
    for _ in range(60):
        sim.step_once()
    assert door.opening == 1.0
    sim.close()


def test_a_lift_sticks_between_floors_and_with_its_doors_half_open() -> None:
    sim = fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, timestep=0.1, raise_on_fault=True))
    floors = [{"name": "low", "height": 0.3}, {"name": "high", "height": 4.1}]
    given = {"name": "lift", "position": (2.0, 1.0), "yaw": 0.7, "floors": floors, "door_time": 2.0}
    given["doors"] = [{"name": "front", "x": -1.0, "width": 1.2}]
    lift = build_lift(sim, LiftSettings(**given))
    other = build_lift(sim, LiftSettings(**{**given, "name": "other", "position": (9.0, 1.0)}))
    door = DoorHandle.of(sim.get_object("CabinDoor_lift_front"))
    lift.call("high")
    other.call("high")

    def run(until: Any, most: int = 400) -> None:
        for _ in range(most):
            if until():
                return
            sim.step_once()
        raise AssertionError("it did not happen")

    def stick() -> list[tuple[float, float]]:
        name, seen = part(sim).begin("lift_stuck", lifts="lift"), []
        for _ in range(50):
            sim.step_once()
            seen.append((lift.height, door.opening))
        part(sim).end(name)
        return seen

    run(lambda: lift.height > 1.7)
    seen = stick()
    assert len({*seen}) == 1 and 1.7 < seen[0][0] < 4.0 and seen[0][1] == 0.0
    assert other.height == 4.1, "others go on"
    run(lambda: lift.height == 4.1 and 0.3 < door.opening < 0.7)
    seen = stick()
    assert len({*seen}) == 1 and 0.3 < seen[0][1] < 0.9
    run(lambda: door.opening == 1.0 and lift.floor == "high" and not lift.is_busy)
    sim.close()

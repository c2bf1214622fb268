"""A `.building.yaml` is a whole scenario: levels, doors, lifts, work cells and robots, by the names in the file."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from slotcars import spawn_slotcar

import fleet_sim as fs
from fleet_sim.warehouse.equipment import DoorHandle, LiftHandle, MoveDoors, RequestLift, ServeRobot
from fleet_sim.warehouse.rmf import (
    CancelCharge,
    Charger,
    ChargerState,
    FollowWaypoints,
    Pause,
    PauseSlotcar,
    RequestCharge,
    SetSlotcarMode,
    SlotcarMode,
    Slotcars,
    Waypoint,
)
from fleet_sim.warehouse.sites import Building, Grid, Site, read_building
from fleet_sim.warehouse.sites.mercator import projection
from fleet_sim.warehouse.sites.site import Door, Level, LevelGraph, LiftShaft, ShaftDoor

Sim = fs.MultiRobotSimulationCore
FILE = Path(__file__).parents[3] / "config" / "sites" / "maps" / "two_floors.building.yaml"
QUIET = {"gui": False, "monitor": False, "target_rtf": 0}


@pytest.fixture(scope="module")
def sim_building() -> Iterator[Sim]:
    """Return the shipped building."""
    made = Sim.from_dict({"simulation": {**QUIET, "timestep": 0.05}, "building": str(FILE)})
    yield made
    made.close()


def test_all_that_the_file_names_is_there(sim_building: Sim) -> None:
    building: Building = sim_building.get_manager("building")
    assert [(level.name, level.elevation) for level in building.levels] == [("L1", 0.0), ("L2", 4.0)]
    for name in ("lobby_door", "ward_door", "Lift1", "porter_1", "porter_2", "pantry_dispenser", "parcel"):
        assert sim_building.get_object(name).is_alive
    assert DoorHandle.of(sim_building.get_object("ward_door")).mode == "closed"
    assert sim_building.get_object("ward_door").get_pose().position[2] == pytest.approx(5.1)
    assert LiftHandle.of(sim_building.get_object("Lift1")).floors == ("L1", "L2")
    sim_building.step_once()
    slotcars: Slotcars = sim_building.features.use("slotcar")
    assert slotcars.level_names(slotcars.rows) == ["L1", "L1"] and len(slotcars.chargers) == 2
    assert sim_building.get_object("porter_1").feature("battery").is_charging


def test_a_parcel_goes_from_a_dispenser_to_an_ingestor_and_back(sim_building: Sim) -> None:
    told: list[tuple[str, bool]] = []
    sim_building.events.on("robot_served", lambda cell, request, success, reason: told.append((request, success)))
    parcel, porter = sim_building.get_object("parcel"), sim_building.get_object("porter_1")
    begin = parcel.get_pose().position

    def ask(cell: str, request: str, *robots: str) -> dict[str, str]:
        answer = sim_building.inbox.put(ServeRobot(cell=cell, request=request, robots=robots))
        sim_building.step_once()
        return dict(answer.result().rejected)

    assert "no robot" in ask("pantry_dispenser", "a")["pantry_dispenser"]
    assert ask("pantry_dispenser", "b", "porter_1", "unknown") == {} and parcel.attached_to is porter
    assert "nothing to dispense" in ask("pantry_dispenser", "c", "porter_1")["pantry_dispenser"]
    assert ask("ward_ingestor", "d", "porter_1") == {} and parcel.attached_to is None
    # Known requests are answered as before, and nothing else happens.
    assert (
        ask("ward_ingestor", "d", "porter_1") == {}
        and "no robot" in ask("pantry_dispenser", "a", "porter_1").popitem()[1]
    )
    assert "no work cell" in ask("porter_1", "e", "porter_1")["porter_1"]
    assert told == [("a", False), ("b", True), ("c", False), ("d", True), ("d", True), ("a", False)]
    assert parcel.get_pose().position != begin
    for _ in range(120):
        sim_building.step_once()
    assert parcel.get_pose().position == begin
    assert ask("pantry_dispenser", "f", "porter_1") == {}


def test_the_content_of_such_a_file_is_a_scenario(tmp_path: Path) -> None:
    content: dict[str, Any] = yaml.safe_load(FILE.read_text())
    with Sim.from_dict({**content}) as made:
        assert made.get_object("porter_2").is_alive and made.params.timestep == 0.05
    thing = {"name": "thing", "static": False, "x": 5.2, "y": 1.6, "z": 0.3, "yaw": 0.7}
    models = [{**thing, "model_name": "Box"}, {**thing, "model_name": "TeleportIngestor", "name": "cell", "x": 6.1}]
    upper = {**content["levels"]["L2"], "models": models}
    with Sim.from_dict({**content, "levels": {**content["levels"], "L2": upper}}) as made:
        for name, x, half in (("thing", 5.2, 0.06), ("cell", 6.1, 0.15)):
            pose = made.get_object(name).get_pose()
            # On what it stands on, on its level.
            assert (*pose.position, pose.yaw) == pytest.approx((x, 1.6, 4.3 + half, 0.7))
    for change, where in (
        ({"lifts": {"Lift1": {**content["lifts"]["Lift1"], "level_doors": {"L9": ["front"]}}}}, "no level 'L9'"),
        ({"lifts": {"Lift1": {**content["lifts"]["Lift1"], "width": "wide"}}}, "lifts.Lift1.width"),
        ({"coordinate_system": "wgs84"}, "generate_crs"),
        ({"coordinate_system": "moon"}, "coordinate_system"),
    ):
        with pytest.raises(fs.ConfigError, match=where):
            Sim.from_dict({**content, **change})
    with pytest.raises(fs.ConfigError, match="one of map and content"):
        Sim.from_dict({"simulation": QUIET, "building": {"wall_height": 2.0}})


def test_a_campus_in_degrees_becomes_metres(tmp_path: Path) -> None:
    path = tmp_path / "campus.building.yaml"
    levels = {
        "L1": {
            "vertices": [
                [103.7813212199047, 1.299961718639117, 0, "room"],
                [103.7813, 1.3, 0, "road", {"spawn_robot_name": [1, "bot"], "spawn_robot_type": [1, "TinyRobot"]}],
            ],
            "lanes": [[0, 1, {"graph_idx": [2, 0]}]],
        }
    }
    crs = {"generate_crs": [1, "EPSG:3414"], "suggested_offset_x": [3, 22000], "suggested_offset_y": [3, 31500]}
    content = {"coordinate_system": "wgs84", "parameters": crs, "levels": levels}
    path.write_text(yaml.safe_dump(content))
    building = read_building(path)
    # As PROJ computes it.
    assert building.levels[0].graphs[0].positions[0] == pytest.approx((213.159441, -131.259826), abs=1e-5)
    assert building.levels[0].site.roadmap is not None and building.robots[0].name == "bot"
    for change, where in (
        ({"parameters": {"generate_crs": [1, "EPSG:9"]}}, "generate_crs"),
        ({"parameters": {**crs, "suggested_offset_x": [1, "far"]}}, "suggested_offset_x"),
        ({"parameters": {**crs, "generate_crs": [1, "EPSG:32601"]}}, "within 10 degrees"),
    ):
        path.write_text(yaml.safe_dump({**content, **change}))
        with pytest.raises(fs.ConfigError, match=where):
            read_building(path)


@pytest.mark.parametrize(
    ("name", "degrees", "metres"),
    [
        ("EPSG:32632", (11.575, 48.137), (691567.326384, 5334734.330482)),
        ("EPSG:32756", (151.2153, -33.8568), (334900.569652, 6252288.752889)),
    ],
)
def test_projections_agree_with_those_of_others(
    name: str, degrees: tuple[float, float], metres: tuple[float, float]
) -> None:
    assert projection(name).to_metres(np.array([degrees]))[0] == pytest.approx(metres, abs=1e-3)


def test_doors_of_lifts_and_levels_are_from_end_to_end_in_the_frame_of_the_building() -> None:
    """A cabin that is turned, whose door is neither in its middle nor along its side; a leaf that turns to the left."""
    pytest.importorskip("rmf_building_map_msgs")
    from fleet_sim.warehouse.rmf.topics import building_map

    leaf = ShaftDoor("front", 0.4, -1.1, 0.9, 0.3, 2)
    shaft = LiftShaft("lift", 7.3, -2.6, 0.8, 1.7, 2.3, (leaf,), {"L1": ("front",)}, "L1")
    gate = Door("gate", "hinged", (1.2, 0.4), (1.9, 1.3), degrees=70.0, direction=1)
    site = Site("hall", Grid(np.ones((3, 3), bool), 1.0), doors=(gate,))
    walls = LevelGraph("walls", np.empty((0, 2)), (), (), ())
    message = building_map(Building("house", (Level("L1", 3.2, site, (), walls),), (shaft,)))
    (lift,), (level,) = message.lifts, message.levels
    assert (lift.ref_x, lift.ref_y, lift.ref_yaw, lift.width, lift.depth) == pytest.approx((7.3, -2.6, 0.8, 1.7, 2.3))
    (told,) = lift.doors
    for x, y, side in ((told.v1_x, told.v1_y, -0.45), (told.v2_x, told.v2_y, 0.45)):
        end = 7.3 - 2.6j + np.exp(0.8j) * (0.4 - 1.1j + side * np.exp(0.3j))
        assert (x, y) == pytest.approx((end.real, end.imag))
    (told,) = level.doors
    assert (told.v1_x, told.v1_y, told.v2_x, told.v2_y, level.elevation) == pytest.approx((1.2, 0.4, 1.9, 1.3, 3.2))
    # To the right counts as positive there.
    assert (told.motion_range, told.motion_direction) == (pytest.approx(math.radians(70.0)), -1)


# ---- Chargers charge one robot each: the one that a fleet manager asks for, or who comes first -----------------------


IDLE, ASSIGNED, CHARGING, RELEASED = ChargerState


def robot(sim_chargers: Sim, name: str, x: float, y: float = 0.0, **features: Any) -> fs.Agent:
    features = {"slotcar": {"stop_radius": 0.0}, **(features or {"battery": {"level": 0.5}})}
    return spawn_slotcar(sim_chargers, name, x, y, 0.1, features=features)


@pytest.fixture
def sim_chargers(make_sim: Callable[..., Sim]) -> Sim:
    """Return a simulation with a charger at the origin, and a robot 2 m from it."""
    made = make_sim(timestep=0.05)
    robot(made, "car", 2.0)
    chargers(made).set_positions({"dock": (0.0, 0.0, 0.0), "other": (0.0, 5.0, 0.0)})
    return made


def chargers(sim_chargers: Sim) -> Any:
    slotcars: Slotcars = sim_chargers.features.use("slotcar")
    return slotcars.chargers


def dock(sim_chargers: Sim) -> Charger:
    found: Charger = chargers(sim_chargers).get("dock")
    return found


def ask(sim_chargers: Sim, command: Any) -> dict[str, str]:
    """Return why a command is refused, by the name of the charger."""
    answer = sim_chargers.inbox.put(command)
    sim_chargers.step_once()
    return dict(answer.result().rejected)


def drive(sim_chargers: Sim, name: str, start: float, goal: float) -> None:
    answer = sim_chargers.inbox.put(
        FollowWaypoints(robot=name, task=f"to {goal}", path=(Waypoint(start, 0.0), Waypoint(goal, 0.0)))
    )
    sim_chargers.step_once()
    assert answer.result().ok


def wait(sim_chargers: Sim, seconds: float) -> None:
    for _ in range(round(seconds / 0.05)):
        sim_chargers.step_once()


def until(sim_chargers: Sim, state: ChargerState) -> None:
    for _ in range(1000):
        if dock(sim_chargers).state is state:
            return
        sim_chargers.step_once()
    raise AssertionError(f"it is {dock(sim_chargers).state!r}, not {state!r}")


@pytest.mark.slow
def test_a_request_is_assigned_charged_released_and_idle_again(sim_chargers: Sim) -> None:
    request = RequestCharge(charger="dock", robot="car", fleet="porters", request="r1")
    assert ask(sim_chargers, request) == {}
    assert (
        dock(sim_chargers).state,
        dock(sim_chargers).robot,
        dock(sim_chargers).fleet,
        dock(sim_chargers).request,
    ) == (ASSIGNED, "car", "porters", "r1")
    battery = sim_chargers.get_object("car").feature("battery")
    assert not battery.is_charging
    drive(sim_chargers, "car", 2.0, 0.0)
    until(sim_chargers, CHARGING)
    sim_chargers.step_once()
    assert battery.is_charging and dock(sim_chargers).request == "r1"
    left = chargers(sim_chargers).remaining(dock(sim_chargers))
    wait(sim_chargers, left / 2)
    assert 0.5 < battery.battery_soc < 1.0 and dock(sim_chargers).state is CHARGING
    assert chargers(sim_chargers).remaining(dock(sim_chargers)) == pytest.approx(left / 2, rel=0.01)
    assert ask(sim_chargers, request) == {}, "the same request again changes nothing"
    drive(sim_chargers, "car", 0.0, 2.0)
    until(sim_chargers, RELEASED)
    assert not battery.is_charging and dock(sim_chargers).request == "r1"
    until(sim_chargers, IDLE)
    assert (dock(sim_chargers).robot, dock(sim_chargers).request) == ("", "")


def test_who_does_not_come_in_time_loses_the_charger(sim_chargers: Sim) -> None:
    ask(sim_chargers, RequestCharge(charger="dock", robot="car", request="late", timeout=1.0))
    assert dock(sim_chargers).state is ASSIGNED
    wait(sim_chargers, 0.9)
    assert dock(sim_chargers).state is ASSIGNED
    wait(sim_chargers, 0.2)
    assert dock(sim_chargers).state is IDLE
    ask(sim_chargers, RequestCharge(charger="dock", robot="car", request="patient"))
    wait(sim_chargers, 60.0)
    assert dock(sim_chargers).state is ASSIGNED
    sim_chargers.remove_object(sim_chargers.get_object("car"))
    sim_chargers.step_once()
    assert dock(sim_chargers).state is IDLE, "a robot that is gone does not come"


def test_a_charger_that_is_kept_for_one_charges_nobody_else(sim_chargers: Sim) -> None:
    guest = robot(sim_chargers, "guest", 0.1).feature("battery")
    ask(sim_chargers, RequestCharge(charger="dock", robot="car", request="r"))
    wait(sim_chargers, 1.0)
    assert dock(sim_chargers).state is ASSIGNED and not guest.is_charging
    ask(sim_chargers, CancelCharge(charger="dock", request="r"))
    assert (dock(sim_chargers).state, dock(sim_chargers).robot) == (CHARGING, "guest") and guest.is_charging


def test_cancelling_ends_a_charge_until_the_robot_has_left(sim_chargers: Sim) -> None:
    ask(sim_chargers, RequestCharge(charger="dock", robot="car", request="one"))
    assert ask(sim_chargers, CancelCharge(charger="dock", request="one")) == {} and dock(sim_chargers).state is IDLE
    drive(sim_chargers, "car", 2.0, 0.0)
    until(sim_chargers, CHARGING)
    assert dock(sim_chargers).request == "", "who comes by itself is charged without a request"
    ask(sim_chargers, RequestCharge(charger="dock", robot="car", request="two"))
    assert dock(sim_chargers).state is CHARGING and dock(sim_chargers).request == "two"
    assert ask(sim_chargers, CancelCharge(charger="dock", request="two")) == {}
    battery = sim_chargers.get_object("car").feature("battery")
    wait(sim_chargers, 5.0)
    assert dock(sim_chargers).state is IDLE and not battery.is_charging
    assert ask(sim_chargers, RequestCharge(charger="dock", robot="car", request="three")) == {}
    wait(sim_chargers, 0.1)
    assert dock(sim_chargers).state is CHARGING and battery.is_charging


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (RequestCharge(charger="doc", robot="car"), "unknown charger 'doc'"),
        (RequestCharge(charger="dock", robot="nobody"), "there is no slotcar of that name"),
        (RequestCharge(charger="dock", robot="bare"), "'bare' has no battery"),
        (RequestCharge(charger="dock", robot="car", timeout=-1.0), "start_timeout"),
        (RequestCharge(charger="dock", robot="car", request="x" * 2000), "request_id"),
        (RequestCharge(charger="other", robot="car"), "it is busy with 'guest'"),
        (CancelCharge(charger="other", request="never sent"), "it serves no request 'never sent'"),
        (CancelCharge(charger="", request="r"), "unknown charger ''"),
    ],
)
def test_what_makes_no_sense_is_refused_and_counted(sim_chargers: Sim, command: Any, reason: str) -> None:
    robot(sim_chargers, "guest", 0.0, 5.0)
    robot(sim_chargers, "bare", 8.0, slotcar={})
    sim_chargers.step_once()
    before = sim_chargers.features.use("slotcar").refused
    (told,) = ask(sim_chargers, command).values()
    assert reason in told
    assert sim_chargers.features.use("slotcar").refused == before + 1
    assert dock(sim_chargers).state is IDLE


def test_others_may_connect_a_robot_away_from_chargers(sim_chargers: Sim) -> None:
    battery = sim_chargers.get_object("car").feature("battery")
    battery.set_charging()
    wait(sim_chargers, 1.0)
    assert battery.is_charging and battery.battery_soc > 0.5


def test_chargers_are_restored(sim_chargers: Sim) -> None:
    ask(sim_chargers, RequestCharge(charger="dock", robot="car", fleet="f", request="r", timeout=30.0))
    saved = sim_chargers.save_state()
    before = chargers(sim_chargers).save()
    drive(sim_chargers, "car", 2.0, 0.0)
    until(sim_chargers, CHARGING)
    sim_chargers.restore_state(saved)
    assert chargers(sim_chargers).save() == before and dock(sim_chargers).state is ASSIGNED
    sim_chargers.reset()
    assert dock(sim_chargers).state is IDLE and len(chargers(sim_chargers)) == 2


# ---- Slotcars follow paths as those of Open-RMF's simulation do, and refuse what they cannot follow ------------------


BODY = fs.ShapeParams("cylinder", radius=0.2, height=0.4)


def slotcar(sim_slotcars: Sim, name: str = "car", x: float = 0.0, y: float = 0.0, **settings: Any) -> fs.Agent:
    features = {"slotcar": settings, "battery": {}}
    return spawn_slotcar(sim_slotcars, name, x, y, 0.2, max_linear_vel=2.0, max_angular_vel=2.0, features=features)


def send(sim_slotcars: Sim, *path: Waypoint, task: str = "task", robot: str = "car") -> dict[str, str]:
    answer = sim_slotcars.inbox.put(FollowWaypoints(robot=robot, task=task, path=path))
    sim_slotcars.step_once()
    return dict(answer.result().rejected)


def mode(sim_slotcars: Sim, name: str = "car") -> SlotcarMode:
    slotcars: Slotcars = sim_slotcars.features.use("slotcar")
    return SlotcarMode(slotcars.table.mode[sim_slotcars.get_object(name).row])


def run(sim_slotcars: Sim, condition: Callable[[], bool], most: int = 1000) -> int:
    for count in range(most):
        if condition():
            return count
        sim_slotcars.step_once()
    raise AssertionError("it did not happen")


@pytest.fixture
def sim_slotcars(make_sim: Callable[..., Sim]) -> Sim:
    """Return a simulation with the steps of buildings."""
    return make_sim(timestep=0.05)


def test_a_path_is_driven_within_its_limits_and_ends_at_the_last_yaw(sim_slotcars: Sim) -> None:
    car = slotcar(sim_slotcars, speed=0.5)
    assert (
        send(sim_slotcars, Waypoint(0.0, 0.0), Waypoint(2.0, 0.0, limit=0.2, obeys=True), Waypoint(2.0, 2.0, math.pi))
        == {}
    )
    speeds: dict[bool, float] = {True: 0.0, False: 0.0}

    def there() -> bool:
        _, y, _ = car.get_pose().position
        speed = float(math.hypot(*sim_slotcars.world.velocity[car.row, :2]))
        speeds[y < 0.05] = max(speeds[y < 0.05], speed)
        return abs(y - 2.0) < 0.03 and abs(abs(car.get_pose().yaw) - math.pi) < 0.01

    run(sim_slotcars, there)
    assert speeds[True] == pytest.approx(0.2, abs=1e-6) and 0.4 < speeds[False] <= 0.5 + 1e-6
    slotcars: Slotcars = sim_slotcars.features.use("slotcar")
    assert slotcars.tasks(car.row).told == [] and slotcars.tasks(car.row).task == "task"


@pytest.mark.parametrize(("speed", "usual", "way"), [(0.5, 2.0, 1.0), (0.7, 0.25, 1.3), (1.9, 3.0, 2.7)])
def test_a_way_takes_the_time_of_its_trapezoid(sim_slotcars: Sim, speed: float, usual: float, way: float) -> None:
    car = slotcar(sim_slotcars, speed=speed, acceleration=usual, max_acceleration=2.0 * usual)
    assert send(sim_slotcars, Waypoint(0.0, 0.0), Waypoint(-way * 0.8, way * 0.6)) == {}
    speeds: list[float] = []

    def stands() -> bool:
        speeds.append(float(math.hypot(*sim_slotcars.world.velocity[car.row, :2])))
        return max(speeds) > 0.0 and speeds[-1] == 0.0

    run(sim_slotcars, stands)
    # It turns first.
    top = min(speed, math.sqrt(usual * way))
    assert max(speeds) <= top * 1.02 and max(speeds) == pytest.approx(top, rel=0.1)
    changes = np.diff(speeds) / 0.05
    assert changes.max() == pytest.approx(usual, rel=1e-6) and changes.min() >= -2.0 * usual - 1e-9
    assert sum(one > 0.0 for one in speeds) * 0.05 == pytest.approx(way / top + top / usual, rel=0.1, abs=0.1)
    assert car.get_pose().position[:2] == pytest.approx((-way * 0.8, way * 0.6), abs=0.01)


def test_the_same_task_again_and_requests_without_sense_change_nothing(sim_slotcars: Sim) -> None:
    car = slotcar(sim_slotcars)
    send(sim_slotcars, Waypoint(0.0, 0.0), Waypoint(3.0, 0.0))
    assert send(sim_slotcars, Waypoint(0.0, 0.0), Waypoint(-3.0, 0.0)) == {}
    slotcars: Slotcars = sim_slotcars.features.use("slotcar")
    left = list(slotcars.tasks(car.row).left)
    for path, reason in (
        ((), "no waypoints"),
        ((Waypoint(0.0, math.nan),), "nowhere"),
        ((Waypoint(0.0, 1e300),), "nowhere"),
        ((Waypoint(0.0, 0.0, limit=math.inf, obeys=True),), "nowhere"),
    ):
        assert reason in send(sim_slotcars, *path, task=reason)["car"]
    assert "no slotcar" in send(sim_slotcars, Waypoint(0.0, 0.0), robot="bus")["bus"]
    for command in (
        SetSlotcarMode(robot="car", mode=99),
        SetSlotcarMode(robot="car", request=-1),
        PauseSlotcar(robot="car", pause=7),
    ):
        answer = sim_slotcars.inbox.put(command)
        sim_slotcars.step_once()
        assert "car" in answer.result().rejected
    assert slotcars.refused == 8 and slotcars.tasks(car.row).left == left == [Waypoint(3.0, 0.0)]
    with pytest.raises(fs.InvalidValueError, match="not a slotcar"):
        sim_slotcars.spawn(fs.SimObjectSpawnParams(name="box", features={"slotcar": {}}))


def test_a_path_that_begins_far_away_is_an_error_and_the_old_one_is_told(sim_slotcars: Sim) -> None:
    car = slotcar(sim_slotcars)
    slotcars: Slotcars = sim_slotcars.features.use("slotcar")
    send(sim_slotcars, Waypoint(0.0, 0.0), Waypoint(9.0, 0.0))
    run(sim_slotcars, lambda: mode(sim_slotcars) is SlotcarMode.MOVING)
    send(sim_slotcars, Waypoint(5.0, 5.0), Waypoint(6.0, 5.0), task="far")
    (row,) = slotcars.rows.tolist()
    assert slotcars.shown_modes(slotcars.rows) == [SlotcarMode.ADAPTER_ERROR]
    assert slotcars.tasks(row).told == [Waypoint(9.0, 0.0)]
    run(sim_slotcars, lambda: not sim_slotcars.world.velocity[car.row].any())
    assert car.get_pose().position[0] < 1.0
    x, y, _ = car.get_pose().position
    send(sim_slotcars, Waypoint(x, y), Waypoint(2.0, 0.0), task="near")
    run(sim_slotcars, lambda: car.get_pose().position[0] > 1.95)
    assert slotcars.shown_modes(slotcars.rows) != [SlotcarMode.ADAPTER_ERROR]


def test_pauses_at_once_and_at_a_waypoint(sim_slotcars: Sim) -> None:
    car = slotcar(sim_slotcars)
    send(sim_slotcars, Waypoint(0.0, 0.0, number=0), Waypoint(1.0, 0.0, 1.0, number=1), Waypoint(3.0, 0.0, number=2))
    sim_slotcars.inbox.put(PauseSlotcar(robot="car", pause=Pause.AT_CHECKPOINT, request=3, checkpoint=1))
    run(sim_slotcars, lambda: mode(sim_slotcars) is SlotcarMode.PAUSED)
    run(sim_slotcars, lambda: abs(car.get_pose().yaw - 1.0) < 0.01)
    assert car.get_pose().position[0] == pytest.approx(1.0, abs=0.03)
    sim_slotcars.inbox.put(PauseSlotcar(robot="car", pause=Pause.RESUME, request=4))
    run(sim_slotcars, lambda: car.get_pose().position[0] > 1.5)
    sim_slotcars.inbox.put(PauseSlotcar(robot="car", pause=Pause.IMMEDIATELY, request=5))
    run(
        sim_slotcars,
        lambda: mode(sim_slotcars) is SlotcarMode.PAUSED and not sim_slotcars.world.velocity[car.row].any(),
    )
    stood = car.get_pose().position
    for _ in range(20):
        sim_slotcars.step_once()
    assert car.get_pose().position == stood


def test_it_waits_for_what_moves_before_it_and_goes_on(sim_slotcars: Sim) -> None:
    car, other = slotcar(sim_slotcars), slotcar(sim_slotcars, "other", 1.53, 1.29)
    # Beside the way, and behind at first.
    slotcar(sim_slotcars, "beside", 1.5, -0.8), slotcar(sim_slotcars, "behind", -0.6, -0.5)
    send(sim_slotcars, Waypoint(0.0, 0.0), Waypoint(3.06, 2.58))
    run(
        sim_slotcars,
        lambda: mode(sim_slotcars) is SlotcarMode.WAITING and not sim_slotcars.world.velocity[car.row].any(),
    )
    # What is before it is less than 0.75 m away from a point 0.75 m ahead.
    stood = math.hypot(*car.get_pose().position[:2])
    assert 0.5 < stood < 0.71 and math.dist(car.get_pose().position, other.get_pose().position) == pytest.approx(
        2.0 - stood, abs=0.01
    )
    other.set_pose(fs.Pose((1.0, 5.0, 0.2)))
    run(sim_slotcars, lambda: car.get_pose().position[1] > 2.5)


def test_it_charges_at_chargers_and_drops_unknown_actions(sim_slotcars: Sim) -> None:
    car = slotcar(sim_slotcars)
    slotcars: Slotcars = sim_slotcars.features.use("slotcar")
    battery = car.feature("battery")
    battery.battery_soc = 0.5
    sim_slotcars.step_once()
    assert not battery.is_charging
    slotcars.chargers.set_positions({"dock": (0.1, 0.0, 0.0)})
    run(sim_slotcars, lambda: mode(sim_slotcars) is SlotcarMode.CHARGING and battery.battery_soc > 0.5)
    slotcars.chargers.set_positions({})
    for wanted, seen in (("juggle", SlotcarMode.IDLE), ("detach_cart", SlotcarMode.ACTION_COMPLETED)):
        sim_slotcars.inbox.put(
            SetSlotcarMode(robot="car", mode=SlotcarMode.PERFORMING_ACTION, request=2, action=wanted)
        )
        sim_slotcars.step_once()
        assert mode(sim_slotcars) is seen
    sim_slotcars.inbox.put(SetSlotcarMode(robot="car", mode=SlotcarMode.PERFORMING_ACTION, action="attach_cart"))
    sim_slotcars.step_once()
    assert mode(sim_slotcars) is SlotcarMode.IDLE
    cart = sim_slotcars.spawn(fs.SimObjectSpawnParams(BODY, BODY, fs.Pose((0.6, 0.0, 0.2)), name="dispensable_cart"))
    sim_slotcars.inbox.put(SetSlotcarMode(robot="car", mode=SlotcarMode.PERFORMING_ACTION, action="attach_cart"))
    sim_slotcars.step_once()
    assert mode(sim_slotcars) is SlotcarMode.ACTION_COMPLETED and cart.attached_to is car
    assert cart.get_pose().position == pytest.approx((0.6, 0.0, 0.2))


def test_who_follows_a_path_is_not_driven_by_others_and_a_stop_ends_it(sim_slotcars: Sim) -> None:
    car = slotcar(sim_slotcars)
    send(sim_slotcars, Waypoint(0.0, 0.0), Waypoint(3.0, 0.0))
    answer = sim_slotcars.inbox.put(fs.SetVelocity(names=("car",), linear=[[1.0, 0, 0]], angular=[[0, 0, 0]]))
    sim_slotcars.step_once()
    assert "path of its fleet manager" in answer.result().rejected["car"]
    car.stop()
    run(sim_slotcars, lambda: mode(sim_slotcars) is SlotcarMode.IDLE)
    assert car.get_pose().position[0] < 1.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_requests_in_any_order_are_answered_and_the_building_goes_on(seed: int) -> None:
    """Ends before beginnings, answers to nobody, resets in between: each is carried out or refused, and none fails."""
    draw = random.Random(seed)
    robots, tasks = ("porter_1", "porter_2", "nobody"), ("a", "b", "c")
    lifts = ("Lift1", "porter_1")
    with Sim.from_dict({"simulation": {**QUIET, "timestep": 0.05}, "building": str(FILE)}) as sim:
        slotcars: Slotcars = sim.features.use("slotcar")
        docks = (*(charger.name for charger in slotcars.chargers), "x")

        def path() -> tuple[Waypoint, ...]:
            here = sim.get_object(draw.choice(robots[:2])).get_pose().position
            begin = [Waypoint(here[0], here[1])] * draw.randrange(2)
            return (*begin, *(Waypoint(draw.uniform(0, 20), draw.uniform(0, 12)) for _ in range(draw.randrange(4))))

        requests: tuple[Callable[[str, str], Any], ...] = (
            lambda robot, task: FollowWaypoints(robot=robot, task=task, path=path()),
            lambda robot, task: SetSlotcarMode(robot=robot, mode=draw.randrange(12), action=task),
            lambda robot, task: PauseSlotcar(robot=robot, pause=draw.randrange(4), checkpoint=draw.randrange(6)),
            lambda robot, task: RequestCharge(
                charger=draw.choice(docks), robot=robot, request=task, timeout=draw.choice((0.0, 0.5))
            ),
            lambda robot, task: CancelCharge(charger=draw.choice(docks), request=task),
            lambda robot, task: ServeRobot(
                cell=draw.choice(("pantry_dispenser", "Lift1")), robots=(robot,), request=task
            ),
            lambda robot, task: MoveDoors(names=(draw.choice(("lobby_door", "x")),), open=draw.random() < 0.5),
            lambda robot, task: RequestLift(
                lift=draw.choice(lifts),
                floor=draw.choice(("L1", "L2", "L9")),
                session=task,
                kind=draw.randrange(4),
                end=draw.random() < 0.3,
            ),
        )
        answers = []
        for _ in range(150):
            answers.append(sim.inbox.put(draw.choice(requests)(draw.choice(robots), draw.choice(tasks))))
            for _ in range(draw.choice((0, 1, 5, 40))):
                sim.step_once()
            if draw.random() < 0.03:
                sim.reset()
        sim.step_once()
        accepted = [answer.result().ok for answer in answers]
        assert 20 < sum(accepted) < 130
        assert sim.guard.total == 0, sim.guard.counts
        # It serves as before.
        sim.reset()
        porter = sim.get_object("porter_1")
        begin = porter.get_pose().position
        sim.inbox.put(
            FollowWaypoints(
                robot="porter_1", task="last", path=(Waypoint(begin[0], begin[1]), Waypoint(begin[0] + 1, begin[1]))
            )
        )
        for _ in range(200):
            sim.step_once()
        assert porter.get_pose().position[0] == pytest.approx(begin[0] + 1, abs=0.05)

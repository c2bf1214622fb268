"""A lift closes its doors, takes whoever stands in it to another floor, and opens them there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fleet_sim as fs
from fleet_sim.base.params import RouteMode
from fleet_sim.warehouse.equipment import (
    CallLift,
    DoorHandle,
    DoorMode,
    LiftHandle,
    Lifts,
    LiftSettings,
    RequestLift,
    build_lift,
)
from fleet_sim.world.routes import NoRoute

Sim = fs.MultiRobotSimulationCore
LIFT: dict[str, Any] = {
    "name": "lift",
    "position": (4.0, 0.0),
    "floors": [{"name": "L1", "height": 0.0}, {"name": "L2", "height": 5.0, "doors": ["back"]}],
    "doors": [{"name": "front", "x": -1.0, "width": 1.2}, {"name": "back", "x": 1.0, "width": 1.2}],
    "door_time": 1.0,
}


def lift(sim: Sim, **settings: Any) -> LiftHandle:
    return build_lift(sim, LiftSettings(**{**LIFT, **settings}))


def robot(sim: Sim, x: float, z: float = 0.0, name: str = "robot") -> fs.Agent:
    body = fs.ShapeParams("cylinder", radius=0.2, height=0.4)
    params = fs.AgentSpawnParams(body, body, fs.Pose((x, 0.0, z + 0.2)), name=name, block_on_collision=True)
    params.controller = fs.ControllerParams(navigation_2d=True)
    agent: fs.Agent = sim.spawn(params)
    return agent


def run(sim: Sim, condition: Any, most: int = 400) -> None:
    for _ in range(most):
        if condition():
            return
        sim.step_once()
    raise AssertionError("it did not happen")


def test_a_robot_rides_to_another_floor_and_drives_on(sim: Sim) -> None:
    told: list[str] = []
    sim.events.on("lift_arrived", lambda lift, floor: told.append(floor))
    way, driver, other = lift(sim), robot(sim, 0.0), robot(sim, 7.0, name="other")
    driver.set_goal(fs.Pose((4.0, 0.0, 0.2)))
    run(sim, lambda: sim.world.motion.blocked_by[driver.row] >= 0)
    way.call("L1")
    run(sim, lambda: driver.get_pose().position[0] == 4.0)
    way.call("L2")
    way.call("L2")
    assert way.calls == ("L2",) and not way.is_busy
    run(sim, lambda: way.floor == "L2" and not way.is_busy)
    assert told == ["L1", "L2"] and way.height == 5.0
    assert driver.get_pose().position == pytest.approx((4.0, 0.0, 5.2), abs=1e-12)
    assert other.get_pose().position[2] == 0.2
    # One door opens upstairs, the others stay closed.
    modes = {name: DoorHandle.of(sim.get_object(name)).mode for name in ("CabinDoor_lift_back", "CabinDoor_lift_front")}
    assert modes == {"CabinDoor_lift_back": DoorMode.OPEN, "CabinDoor_lift_front": DoorMode.CLOSED}
    driver.set_goal(fs.Pose((8.0, 0.0, 0.2)))
    run(sim, lambda: driver.get_pose().position == pytest.approx((8.0, 0.0, 5.2)))


def test_doors_of_a_lift_and_unknown_floors_are_refused(sim: Sim) -> None:
    way = lift(sim)
    robot(sim, 0.0)
    from fleet_sim.warehouse.equipment import MoveDoors

    answers = [
        sim.inbox.put(CallLift(lift="robot", floor="L1")),
        sim.inbox.put(CallLift(lift="lift", floor="L3")),
        sim.inbox.put(CallLift(lift="nowhere", floor="L1")),
        sim.inbox.put(MoveDoors(names=("ShaftDoor_lift_L1_front",))),
    ]
    sim.step_once()
    reasons = [next(iter(answer.result().rejected.values())) for answer in answers]
    assert reasons[0] == reasons[2] == "it is not a lift" and "L3" in reasons[1] and "door of a lift" in reasons[3]
    lifts: Lifts = sim.features.use("lift")
    assert lifts.refused == 3 and not way.is_busy
    with pytest.raises(fs.InvalidValueError, match="build_lift"):
        sim.spawn(fs.SimObjectSpawnParams(name="box", features={"lift": {}}))
    with pytest.raises(fs.InvalidValueError, match="no door 'side'"):
        lift(sim, name="b", floors=[{"name": "L1", "height": 0.0, "doors": ["side"]}])


def test_a_session_has_the_lift_until_it_is_there(sim: Sim) -> None:
    way = lift(sim)

    def ask(floor: str, session: str, **more: Any) -> dict[str, str]:
        answer = sim.inbox.put(RequestLift(lift="lift", floor=floor, session=session, **more))
        sim.step_once()
        return dict(answer.result().rejected)

    assert ask("L2", "a") == {} and ask("L2", "a") == {}
    assert "busy going to 'L2' for 'a'" in ask("L1", "b")["lift"]
    saved = sim.save_state()
    run(sim, lambda: not way.is_busy)
    ended = sim.state_hash()
    sim.restore_state(saved)
    run(sim, lambda: not way.is_busy)
    assert sim.state_hash() == ended and way.floor == "L2"
    assert ask("L2", "a", kind=0, end=True, open=False) == {}
    run(sim, lambda: not way.is_busy)
    assert DoorHandle.of(sim.get_object("CabinDoor_lift_back")).mode is DoorMode.CLOSED
    assert ask("L1", "b") == {} and way.destination == "L1"


@pytest.mark.parametrize("gone", ["the cabin", "all of it", "its doors", "a leaf", "a wall"])
def test_a_lift_that_was_removed_comes_back_by_a_reset_and_works(gone: str) -> None:
    settings = {"gui": False, "monitor": False, "timestep": 0.05}
    with Sim.from_dict({"simulation": settings, "lifts": {"list": [LIFT]}}) as sim:
        every = [one.name for one in sim.sim_objects]
        doors = [name for name in every if "Door" in name]
        removed = {"the cabin": ["lift"], "all of it": every, "its doors": doors, "a leaf": doors[-1:]}
        names = removed.get(gone, ["lift_wall_0"])
        sim.inbox.put(CallLift(lift="lift", floor="L2"))
        sim.step_once()
        sim.inbox.put(fs.Remove(names=tuple(names)))
        for _ in range(5):
            sim.step_once()
        if "lift" not in names:
            assert not sim.inbox.put(CallLift(lift="lift", floor="L1")).done()
            sim.step_once()
        sim.reset()
        way, back = LiftHandle.of(sim.get_object("lift")), DoorHandle.of(sim.get_object("CabinDoor_lift_back"))
        assert (way.floor, way.calls, back.mode) == ("L1", (), DoorMode.CLOSED)
        way.call("L2")
        run(sim, lambda: way.floor == "L2" and not way.is_busy)
        assert way.height == 5.0 and back.mode is DoorMode.OPEN
        assert sim.get_object("CabinDoor_lift_back").get_pose().z > 5.0


def test_lifts_are_sections_of_scenarios(make_sim: Any) -> None:
    sim = Sim.from_dict({"simulation": {"gui": False, "monitor": False}, "lifts": {"list": [LIFT]}})
    assert LiftHandle.of(sim.get_object("lift")).floors == ("L1", "L2")
    sim.close()
    with pytest.raises(fs.ConfigError, match=r"lifts\.list\[0\].*floor"):
        Sim.from_dict({"simulation": {"gui": False}, "lifts": {"list": [{**LIFT, "initial": "L9"}]}})


# ---- Robots on routes take lifts to other storeys of a building, one after the other ---------------------------------


MAP = Path(fs.__file__).parents[2] / "config" / "sites" / "maps" / "two_floors.building.yaml"
UP, DOWN = (3.0, 6.0, 4.2), (6.0, 2.0, 0.2)


@pytest.fixture
def building() -> Any:
    scenario = {
        "simulation": {"gui": False, "target_rtf": 0, "monitor": False, "timestep": 0.1},
        "building": {"map": str(MAP), "robots": False, "automatic": 1.5},
    }
    with Sim.from_dict(scenario) as sim:
        yield sim


def robot_storeys(
    sim: Sim, name: str, place: tuple[float, float, float], radius: float = 0.3, **settings: Any
) -> fs.Agent:
    body = fs.ShapeParams("cylinder", radius=radius, height=0.4)
    settings = {"motion_mode": "differential", "block_on_collision": True, **settings}
    agent: fs.Agent = sim.spawn(fs.AgentSpawnParams(body, body, fs.Pose(place), name=name, **settings))
    return agent


def send(agent: fs.Agent, place: tuple[float, float, float], mode: str | bool = True) -> fs.MoveTo:
    move = fs.MoveTo(fs.Pose(place), route=mode)
    agent.execute_action(move)
    return move


def run_storeys(sim: Sim, *moves: fs.MoveTo, most: int = 4000) -> None:
    for _ in range(most):
        if all(move.is_complete() for move in moves):
            return
        sim.step_once()
    raise AssertionError([(move.status,) for move in moves])


def test_robots_of_both_storeys_ride_one_after_the_other_and_never_touch(building: Sim) -> None:
    touched: list[object] = []
    building.events.on("collision_started", lambda obj_a, obj_b: touched.append((obj_a, obj_b)))
    places = {"a": (12.0, 1.5, 0.2), "b": (12.0, 6.5, 0.2), "c": (12.0, 1.5, 4.2)}
    agents = {name: robot_storeys(building, name, place) for name, place in places.items()}
    goals = {"a": (9.0, 6.0, 4.2), "b": (9.0, 4.5, 4.2), "c": (9.0, 6.5, 0.2)}
    moves = {name: send(agent, goals[name], mode="grid") for name, agent in agents.items()}
    lift = LiftHandle.of(building.get_object("Lift1"))
    inside = 0
    for _ in range(4000):
        building.step_once()
        here = np.array([agent.get_pose().position for agent in agents.values()])
        inside = max(inside, int((np.abs(here[:, :2] - [14.3, 4.0]).max(axis=1) < 1.2).sum()))
        if all(move.is_complete() for move in moves.values()):
            break
    for name, agent in agents.items():
        assert moves[name].status is fs.ActionStatus.COMPLETED, moves[name].error_message
        assert agent.get_pose().position == pytest.approx(goals[name], abs=1e-9)
    assert inside == 1 and not touched
    # Who has left it leaves it to others.
    assert not lift.is_busy and building.features.use("lift").session(building.get_object("Lift1").row).name == ""


def test_a_cancel_leaves_the_lift(building: Sim) -> None:
    first = robot_storeys(building, "first", (11.0, 4.0, 0.2))
    run_storeys(building, send(first, UP))
    # Between two floors it is cancelled: the lift is free, and the next one to ask is who stands in the cabin.
    back = send(first, (10.0, 2.0, 0.2))
    while not 1.0 < first.get_pose().z < 3.0:
        building.step_once()
    back.cancel()
    second = robot_storeys(building, "second", (10.0, 6.0, 0.2))
    other = send(second, (3.0, 2.0, 4.2))
    for _ in range(400):
        building.step_once()
    assert not other.is_complete() and second.get_pose().z == 0.2
    run_storeys(building, send(first, (6.0, 2.0, 0.2)), other)
    assert (first.get_pose().z, second.get_pose().z) == pytest.approx((0.2, 4.2))


def test_what_cannot_ride_is_told_why_and_stays(building: Sim) -> None:
    wide, small = (
        robot_storeys(building, "wide", (3.0, 2.0, 0.2), radius=0.7),
        robot_storeys(building, "small", (3.0, 6.0, 0.2)),
    )
    refused = {"room": send(wide, (3.0, 2.0, 4.2)), "wall": send(small, (0.0, 2.0, 4.2))}
    run_storeys(building, *refused.values())
    assert "1.2 m of room" in str(refused["room"].error_message)
    assert refused["room"].cause is fs.ActionCause.UNREACHABLE
    assert "is in a wall" in str(refused["wall"].error_message)
    assert refused["wall"].cause is fs.ActionCause.INVALID_GOAL
    into = send(small, (14.3, 4.0, 0.2))
    run_storeys(building, into)
    assert "is in a lift" in str(into.error_message)
    router = building.get_manager("router")
    found = router.find(np.array([3, 6, 0.2]), np.array([3, 6, 4.2]), 0.3, speed=1.0, mode=RouteMode.AUTO)
    assert isinstance(found, NoRoute) and "'L2'" in found.reason
    assert wide.get_pose().position == (3.0, 2.0, 0.2)


def test_a_fleet_manager_and_a_route_share_a_lift(building: Sim) -> None:
    session = RequestLift(lift="Lift1", floor="L2", session="theirs")
    building.inbox.put(session)
    rider = robot_storeys(building, "rider", (11.0, 4.0, 0.2))
    move = send(rider, (10.0, 2.0, 4.2))
    for _ in range(600):
        building.step_once()
    assert rider.get_pose().z == 0.2 and not move.is_complete()
    building.inbox.put(RequestLift(lift="Lift1", floor="L1", session="theirs", end=True))
    while rider.get_pose().z < 1.0:
        building.step_once()
    answer = building.inbox.put(session)
    building.step_once()
    assert "taken by 'rider'" in answer.result().rejected["Lift1"]
    run_storeys(building, move)
    assert move.status is fs.ActionStatus.COMPLETED


@pytest.mark.parametrize(
    ("up", "down", "delay"),
    [
        # Who gets out meets who waits beside the doors, on the upper storey.
        (((12.0, 4.0), (7.0, 2.0)), ((11.0, 4.0), (11.0, 6.5)), 100),
        # They meet on the lower one: who comes for the lift, and who has left it.
        (((7.0, 1.5), (12.0, 1.5)), ((10.0, 4.0), (10.0, 1.5)), 100),
        # One waits for the lift where the other one wants to stay.
        (((9.0, 6.0), (12.0, 5.0)), ((11.0, 6.0), (12.0, 4.0)), 50),
        # Both for the lift at once, straight before it.
        (((10.0, 4.0), (10.0, 4.0)), ((10.0, 4.0), (10.0, 4.0)), 0),
    ],
)
@pytest.mark.slow
def test_robots_that_want_to_go_opposite_ways_get_past_each_other(
    building: Sim,
    up: tuple[tuple[float, float], tuple[float, float]],
    down: tuple[tuple[float, float], tuple[float, float]],
    delay: int,
) -> None:
    first, second = robot_storeys(building, "first", (*up[0], 0.2)), robot_storeys(building, "second", (*down[0], 4.2))
    rises = send(first, (*up[1], 4.2), mode="grid")
    for _ in range(delay):
        building.step_once()
    run_storeys(building, rises, send(second, (*down[1], 0.2), mode="grid"), most=2500)
    assert first.get_pose().position == pytest.approx((*up[1], 4.2), abs=1e-9)
    assert second.get_pose().position == pytest.approx((*down[1], 0.2), abs=1e-9)


def test_two_that_meet_on_a_route_go_around_each_other_and_one_in_a_dead_end_waits(building: Sim) -> None:
    east, west = robot_storeys(building, "east", (9.0, 3.0, 0.2)), robot_storeys(building, "west", (12.0, 3.0, 0.2))
    moves = send(east, (12.0, 3.0, 0.2), mode="grid"), send(west, (9.0, 3.0, 0.2), mode="grid")
    run_storeys(building, *moves, most=2500)
    assert (east.get_pose().x, west.get_pose().x) == pytest.approx((12.0, 9.0))
    # Its goal is taken: it waits there, however long that takes, and arrives when the other one has left.
    late = send(west, (12.0, 3.0, 0.2), mode="grid")
    while west.blocked_by is not east:
        building.step_once()
    assert not late.is_complete()
    run_storeys(building, late, send(east, (12.0, 6.0, 0.2), mode="grid"), most=2500)
    assert late.status is fs.ActionStatus.COMPLETED

"""A lift closes its doors, takes whoever stands in it to another floor, and opens them there."""

from __future__ import annotations

from typing import Any

import pytest

import fleet_sim as fs
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

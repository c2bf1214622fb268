"""Slotcars follow paths as those of Open-RMF's simulation do, and refuse what they cannot follow."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from slotcars import spawn_slotcar

import fleet_sim as fs
from fleet_sim.warehouse.rmf import (
    FollowWaypoints,
    Pause,
    PauseSlotcar,
    SetSlotcarMode,
    SlotcarMode,
    Slotcars,
    Waypoint,
)

Sim = fs.MultiRobotSimulationCore
BODY = fs.ShapeParams("cylinder", radius=0.2, height=0.4)


def slotcar(sim: Sim, name: str = "car", x: float = 0.0, y: float = 0.0, **settings: Any) -> fs.Agent:
    features = {"slotcar": settings, "battery": {}}
    return spawn_slotcar(sim, name, x, y, 0.2, max_linear_vel=2.0, max_angular_vel=2.0, features=features)


def send(sim: Sim, *path: Waypoint, task: str = "task", robot: str = "car") -> dict[str, str]:
    answer = sim.inbox.put(FollowWaypoints(robot=robot, task=task, path=path))
    sim.step_once()
    return dict(answer.result().rejected)


def mode(sim: Sim, name: str = "car") -> SlotcarMode:
    slotcars: Slotcars = sim.features.use("slotcar")
    return SlotcarMode(slotcars.table.mode[sim.get_object(name).row])


def run(sim: Sim, condition: Callable[[], bool], most: int = 1000) -> int:
    for count in range(most):
        if condition():
            return count
        sim.step_once()
    raise AssertionError("it did not happen")


@pytest.fixture
def sim(make_sim: Callable[..., Sim]) -> Sim:
    """Return a simulation with the steps of buildings."""
    return make_sim(timestep=0.05)


def test_a_path_is_driven_within_its_limits_and_ends_at_the_last_yaw(sim: Sim) -> None:
    car = slotcar(sim, speed=0.5)
    assert send(sim, Waypoint(0.0, 0.0), Waypoint(2.0, 0.0, limit=0.2, obeys=True), Waypoint(2.0, 2.0, math.pi)) == {}
    speeds: dict[bool, float] = {True: 0.0, False: 0.0}

    def there() -> bool:
        _, y, _ = car.get_pose().position
        speed = float(math.hypot(*sim.world.velocity[car.row, :2]))
        speeds[y < 0.05] = max(speeds[y < 0.05], speed)
        return abs(y - 2.0) < 0.03 and abs(abs(car.get_pose().yaw) - math.pi) < 0.01

    run(sim, there)
    assert speeds[True] == pytest.approx(0.2, abs=1e-6) and 0.4 < speeds[False] <= 0.5 + 1e-6
    slotcars: Slotcars = sim.features.use("slotcar")
    assert slotcars.tasks(car.row).told == [] and slotcars.tasks(car.row).task == "task"


def test_the_same_task_again_and_requests_without_sense_change_nothing(sim: Sim) -> None:
    car = slotcar(sim)
    send(sim, Waypoint(0.0, 0.0), Waypoint(3.0, 0.0))
    assert send(sim, Waypoint(0.0, 0.0), Waypoint(-3.0, 0.0)) == {}
    slotcars: Slotcars = sim.features.use("slotcar")
    left = list(slotcars.tasks(car.row).left)
    for path, reason in (
        ((), "no waypoints"),
        ((Waypoint(0.0, math.nan),), "nowhere"),
        ((Waypoint(0.0, 1e300),), "nowhere"),
        ((Waypoint(0.0, 0.0, limit=math.inf, obeys=True),), "nowhere"),
    ):
        assert reason in send(sim, *path, task=reason)["car"]
    assert "no slotcar" in send(sim, Waypoint(0.0, 0.0), robot="bus")["bus"]
    for command in (
        SetSlotcarMode(robot="car", mode=99),
        SetSlotcarMode(robot="car", request=-1),
        PauseSlotcar(robot="car", pause=7),
    ):
        answer = sim.inbox.put(command)
        sim.step_once()
        assert "car" in answer.result().rejected
    assert slotcars.refused == 8 and slotcars.tasks(car.row).left == left == [Waypoint(3.0, 0.0)]
    with pytest.raises(fs.InvalidValueError, match="not a slotcar"):
        sim.spawn(fs.SimObjectSpawnParams(name="box", features={"slotcar": {}}))


def test_a_path_that_begins_far_away_is_an_error_and_the_old_one_is_told(sim: Sim) -> None:
    car = slotcar(sim)
    slotcars: Slotcars = sim.features.use("slotcar")
    send(sim, Waypoint(0.0, 0.0), Waypoint(9.0, 0.0))
    run(sim, lambda: mode(sim) is SlotcarMode.MOVING)
    send(sim, Waypoint(5.0, 5.0), Waypoint(6.0, 5.0), task="far")
    (row,) = slotcars.rows.tolist()
    assert slotcars.shown_modes(slotcars.rows) == [SlotcarMode.ADAPTER_ERROR]
    assert slotcars.tasks(row).told == [Waypoint(9.0, 0.0)]
    run(sim, lambda: not sim.world.velocity[car.row].any())
    assert car.get_pose().position[0] < 1.0
    x, y, _ = car.get_pose().position
    send(sim, Waypoint(x, y), Waypoint(2.0, 0.0), task="near")
    run(sim, lambda: car.get_pose().position[0] > 1.95)
    assert slotcars.shown_modes(slotcars.rows) != [SlotcarMode.ADAPTER_ERROR]


def test_pauses_at_once_and_at_a_waypoint(sim: Sim) -> None:
    car = slotcar(sim)
    send(sim, Waypoint(0.0, 0.0, number=0), Waypoint(1.0, 0.0, 1.0, number=1), Waypoint(3.0, 0.0, number=2))
    sim.inbox.put(PauseSlotcar(robot="car", pause=Pause.AT_CHECKPOINT, request=3, checkpoint=1))
    run(sim, lambda: mode(sim) is SlotcarMode.PAUSED)
    run(sim, lambda: abs(car.get_pose().yaw - 1.0) < 0.01)
    assert car.get_pose().position[0] == pytest.approx(1.0, abs=0.03)
    sim.inbox.put(PauseSlotcar(robot="car", pause=Pause.RESUME, request=4))
    run(sim, lambda: car.get_pose().position[0] > 1.5)
    sim.inbox.put(PauseSlotcar(robot="car", pause=Pause.IMMEDIATELY, request=5))
    run(sim, lambda: mode(sim) is SlotcarMode.PAUSED and not sim.world.velocity[car.row].any())
    stood = car.get_pose().position
    for _ in range(20):
        sim.step_once()
    assert car.get_pose().position == stood


def test_it_waits_for_what_moves_before_it_and_goes_on(sim: Sim) -> None:
    car, other = slotcar(sim), slotcar(sim, "other", 2.0)
    send(sim, Waypoint(0.0, 0.0), Waypoint(4.0, 0.0))
    run(sim, lambda: mode(sim) is SlotcarMode.WAITING and not sim.world.velocity[car.row].any())
    assert car.get_pose().position[0] < 1.0
    other.set_pose(fs.Pose((2.0, 5.0, 0.2)))
    run(sim, lambda: car.get_pose().position[0] > 3.95)


def test_it_charges_at_chargers_and_drops_unknown_actions(sim: Sim) -> None:
    car = slotcar(sim)
    slotcars: Slotcars = sim.features.use("slotcar")
    battery = car.feature("battery")
    battery.battery_soc = 0.5
    sim.step_once()
    assert not battery.is_charging
    slotcars.chargers.set_positions({"dock": (0.1, 0.0, 0.0)})
    run(sim, lambda: mode(sim) is SlotcarMode.CHARGING and battery.battery_soc > 0.5)
    slotcars.chargers.set_positions({})
    for wanted, seen in (("juggle", SlotcarMode.IDLE), ("detach_cart", SlotcarMode.ACTION_COMPLETED)):
        sim.inbox.put(SetSlotcarMode(robot="car", mode=SlotcarMode.PERFORMING_ACTION, request=2, action=wanted))
        sim.step_once()
        assert mode(sim) is seen
    sim.inbox.put(SetSlotcarMode(robot="car", mode=SlotcarMode.PERFORMING_ACTION, action="attach_cart"))
    sim.step_once()
    assert mode(sim) is SlotcarMode.IDLE
    cart = sim.spawn(fs.SimObjectSpawnParams(BODY, BODY, fs.Pose((0.6, 0.0, 0.2)), name="dispensable_cart"))
    sim.inbox.put(SetSlotcarMode(robot="car", mode=SlotcarMode.PERFORMING_ACTION, action="attach_cart"))
    sim.step_once()
    assert mode(sim) is SlotcarMode.ACTION_COMPLETED and cart.attached_to is car
    assert cart.get_pose().position == pytest.approx((0.6, 0.0, 0.2))


def test_who_follows_a_path_is_not_driven_by_others_and_a_stop_ends_it(sim: Sim) -> None:
    car = slotcar(sim)
    send(sim, Waypoint(0.0, 0.0), Waypoint(3.0, 0.0))
    answer = sim.inbox.put(fs.SetVelocity(names=("car",), linear=[[1.0, 0, 0]], angular=[[0, 0, 0]]))
    sim.step_once()
    assert "path of its fleet manager" in answer.result().rejected["car"]
    car.stop()
    run(sim, lambda: mode(sim) is SlotcarMode.IDLE)
    assert car.get_pose().position[0] < 1.0

"""Settings of doors, lifts, work cells, conveyors and slotcars, each changed: bodies are elsewhere afterwards."""

from __future__ import annotations

from typing import Any

import pytest

import fleet_sim as fs
from fleet_sim.warehouse.equipment import CallLift, LiftSettings, MoveDoors, ServeRobot, build_lift
from fleet_sim.warehouse.rmf import FollowWaypoints, Pause, PauseSlotcar, Waypoint

Sim = fs.MultiRobotSimulationCore
Places = list[list[list[float]]]
CAR = {"shape_type": "cylinder", "radius": 0.2, "height": 0.4}


def places(commands: dict[int, Any], steps: int = 160, lift: dict[str, Any] | None = None, **sections: Any) -> Places:
    """Return where everything is in each step of a scenario, with commands by step."""
    settings = {"gui": False, "monitor": False, "target_rtf": 0, "timestep": 0.05}
    found = []
    with Sim.from_dict({"simulation": settings, **sections}) as sim:
        if lift is not None:
            build_lift(sim, LiftSettings(**lift))
        for step in range(steps):
            for command in commands.get(step, ()):
                sim.inbox.put(command)
            sim.step_once()
            found.append(sim.world.position[sim.world.rows].round(9).tolist())
    return found


DRIVE = {
    0: [FollowWaypoints(robot="car", task="t", path=(Waypoint(0, 0), Waypoint(-0.5, 0.2), Waypoint(2, 0, 1.5)))],
    90: [PauseSlotcar(robot="car", pause=Pause.IMMEDIATELY)],
    100: [PauseSlotcar(robot="car", pause=Pause.RESUME)],
}
SLOTCAR: dict[str, Any] = {
    "speed": 0.3,
    "acceleration": 0.1,
    "max_acceleration": 0.05,
    "turn_speed": 0.3,
    "turn_acceleration": 0.3,
    "max_turn_acceleration": 0.01,
    "stop_distance": 1.2,
    "stop_radius": 1.2,
    "reversible": False,
}


def driven(**slotcar: Any) -> Places:
    limits = {"max_linear_vel": 2.0, "max_linear_accel": 10.0, "max_angular_vel": 3.0, "max_angular_accel": 20.0}
    car = {"name": "car", "pose": [0, 0, 0.2], "shape": CAR, "motion_mode": "differential", **limits}
    other = {"name": "other", "pose": [2.3, 0, 0.2], "shape": CAR}
    return places(DRIVE, 240, robots=[{**car, "slotcar": slotcar}, other])


@pytest.fixture(scope="module")
def usual_drive() -> Places:
    return driven()


@pytest.mark.parametrize("name", SLOTCAR)
def test_settings_of_slotcars(name: str, usual_drive: Places) -> None:
    assert driven(**{name: SLOTCAR[name]}) != usual_drive


DOOR: dict[str, Any] = {
    "begin": [0, -1.5],
    "end": [0, 1.5],
    "kind": "double_sliding",
    "floor": 1.0,
    "height": 3.0,
    "degrees": 45.0,
    "direction": -1,
    "ratio": 2.0,
    "time": 1.0,
    "open": True,
    "automatic": 2.0,
    "hold": 0.5,
    "guarded": False,
}
"""Thickness and colour are seen in pictures only."""


def opened(**door: Any) -> Places:
    usual = {"name": "door", "begin": [0, -1], "end": [0, 1], "kind": "double_swing", "time": 2.0}
    commands = {10: [MoveDoors(names=("door",))], 60: [MoveDoors(names=("door",), open=False)]}
    # Somebody stands in its way, as long as it opens, and leaves.
    standing = {"name": "r", "pose": [-0.5, 0.5, 0.2], "shape": CAR, "motion_mode": "omnidirectional"}
    leave = fs.SetVelocity(names=("r",), linear=[[-1.0, 0, 0]], angular=[[0, 0, 0]])
    commands[90] = [leave]
    return places(commands, 220, robots=[standing], doors={"list": [{**usual, **door}]})


@pytest.mark.parametrize("name", DOOR)
def test_settings_of_doors(name: str) -> None:
    more = {"automatic": 2.0} if name == "hold" else {}
    assert opened(**more, **{name: DOOR[name]}) != opened(**more)


LIFT: dict[str, Any] = {
    "speed": 0.5,
    "accel": 0.2,
    "dwell": 0.1,
    "yaw": 0.5,
    "width": 3.0,
    "depth": 3.0,
    "height": 3.0,
    "initial": "L2",
    "door_time": 0.5,
    "position": (1.0, 1.0),
}


def lifted(**lift: Any) -> Places:
    floors = [{"name": "L1", "height": 0.0}, {"name": "L2", "height": 3.0}]
    usual = {"name": "lift", "position": (0.0, 0.0), "floors": floors, "doors": [{"name": "front", "x": -1.0}]}
    calls = [CallLift(lift="lift", floor=floor) for floor in ("L2", "L1")]
    return places({0: calls}, 400, lift={**usual, "door_time": 1.0, **lift})


@pytest.mark.parametrize("name", LIFT)
@pytest.mark.slow
def test_settings_of_lifts(name: str) -> None:
    assert lifted(**{name: LIFT[name]}) != lifted()


def served(name: str, **cell: Any) -> Places:
    box = {"shape_type": "box", "half_extents": [0.1, 0.1, 0.1]}
    cells = [
        {"name": "giver", "pose": [0, 0, 0.5], "shape": box, "workcell": {"kind": "dispenser"}},
        {"name": "taker", "pose": [3, 0, 0.5], "shape": box, "workcell": {"kind": "ingestor"}},
        {"name": "thing", "pose": [0.5, 0, 0.5], "shape": box},
    ]
    next(one for one in cells if one["name"] == name)["workcell"].update(cell)  # type: ignore[attr-defined]
    ask = {
        step: [ServeRobot(cell=asked, robots=("car",), request=asked)] for step, asked in ((5, "giver"), (20, "taker"))
    }
    return places(ask, robots=[{"name": "car", "pose": [1, 1, 0.2], "shape": CAR}], objects=cells)


def test_settings_of_work_cells() -> None:
    usual = served("giver")
    assert served("giver", reach=0.1) != usual
    assert served("giver", kind="ingestor") != usual
    assert served("taker", keep=1.0) != usual


def test_settings_of_conveyors() -> None:
    def carried(**conveyor: Any) -> Places:
        belt = {"shape_type": "box", "half_extents": [2, 0.3, 0.2]}
        box = {"shape_type": "box", "half_extents": [0.1, 0.1, 0.1]}
        things = [
            {"name": "belt", "pose": [0, 0, 0.2], "shape": belt, "conveyor": conveyor},
            {"name": "box", "pose": [0, 0, 0.5], "shape": box},
        ]
        return places({}, 20, objects=things)

    usual = carried()
    assert carried(speed=0.2) != usual and carried(running=False) != usual

"""Concave meshes and terrains: things rest in them, on them and under their roofs, alike with each engine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from things import run, thing

from fleet_sim import InvalidValueError, MultiRobotSimulationCore, Pose, ShapeParams, SimObject, SimulationParams

MakeSim = Callable[..., MultiRobotSimulationCore]
CORNERS = [(x, y, z) for z in (0.0, 0.5) for y in (-1.0, 1.0) for x in (-1.0, 1.0)]
# A floor and four walls, seen from outside: from inside they are met from behind.
SIDES = [(0, 2, 1), (1, 2, 3), (0, 1, 5), (0, 5, 4), (1, 3, 7), (1, 7, 5), (3, 2, 6), (3, 6, 7), (2, 0, 4), (2, 4, 6)]
ROOM = ShapeParams("mesh", vertices=CORNERS, indices=SIDES, concave=True)
LYING = Pose((0.0, 0.0, 0.0), (0.5**0.5, 0.0, 0.0, 0.5**0.5))
THINGS = {
    "box": (ShapeParams("box", half_extents=(0.1, 0.1, 0.1)), 0.1),
    "ball": (ShapeParams("sphere", radius=0.1), 0.1),
    "can": (ShapeParams("cylinder", radius=0.1, height=0.2), 0.1),
    "pill": (ShapeParams("capsule", radius=0.1, height=0.2, frame_pose=LYING), 0.1),
    "die": (ShapeParams("box", half_extents=(0.02, 0.02, 0.02)), 0.02),
}
"""Shapes, and how high their centres rest."""


def fill(sim: MultiRobotSimulationCore) -> SimObject:
    """Put things above the floor of a room that stands 1 m high; return the room."""
    room = thing(sim, ROOM, 0.0, 0.0, 1.0, pickable=False, name="room")
    for index, (name, (shape, height)) in enumerate(THINGS.items()):
        thing(sim, shape, 0.4 * (index - 2), 0.05, 1.05 + height, mass=0.5, name=name)
    return room


def heights(sim: MultiRobotSimulationCore) -> list[float]:
    return [sim.get_object(name).get_pose().z for name in THINGS]


def resting(floor: float) -> list[object]:
    return [pytest.approx(floor + height, abs=2e-3) for _, height in THINGS.values()]


def test_things_rest_on_the_floor_of_a_room_and_its_walls_hold_them(make_sim: MakeSim) -> None:
    sim = make_sim(physics=True, timestep=0.02)
    room = fill(sim)
    thrown = thing(sim, THINGS["ball"][0], 0.0, -0.5, 1.2, mass=0.5, name="thrown")
    thrown.apply_force((150.0, -75.0, 0.0))
    run(sim, 100)
    assert heights(sim) == resting(1.0)
    x, y, z = thrown.get_pose().position
    assert abs(x) < 0.91 and abs(y) < 0.91 and z == pytest.approx(1.1, abs=2e-3)
    assert {contact.other for contact in thrown.get_contacts()} >= {room}
    # Pulled away from under them: they fall to the ground, and the room is met where it is now.
    room.set_pose(Pose.from_xyz(0.0, 5.0, 0.3))
    under = thing(sim, THINGS["box"][0], 0.0, 5.0, 0.5, mass=0.5)
    # The pill stands on its end first.
    run(sim, 100)
    assert heights(sim) == resting(0.0)
    assert under.get_pose().z == pytest.approx(0.4, abs=2e-3)
    room.set_pose(Pose.from_xyz(0.0, 5.0, 0.2))
    run(sim, 60)
    assert under.get_pose().z == pytest.approx(0.3, abs=2e-3)


def test_a_room_that_was_put_elsewhere_is_in_the_state(make_sim: MakeSim, tmp_path: Path) -> None:
    sim = make_sim(physics=True, timestep=0.02)
    room = fill(sim)
    run(sim, 5)
    room.set_pose(Pose.from_xyz(0.0, 0.0, 0.9))
    run(sim, 5)
    file = tmp_path / "room.state"
    sim.save_state(file)
    saved = sim.save_state()
    run(sim, 40)
    after = sim.state_hash()
    assert heights(sim) == resting(0.9)
    sim.restore_state(saved)
    run(sim, 40)
    assert sim.state_hash() == after
    with MultiRobotSimulationCore.from_state(file) as loaded:
        run(loaded, 40)
        assert loaded.state_hash() == after


def test_a_terrain_carries_what_lies_on_it(make_sim: MakeSim) -> None:
    sim = make_sim(physics=True, timestep=0.02)
    # Steps of a stair, 0.4 m deep and 0.1 m high, with a hollow in the third.
    line = np.floor(np.arange(40) / 8) * 0.1
    rows = np.repeat(line[None], 24, axis=0)
    rows[8:16, 18:22] -= 0.1
    field = ShapeParams("heightfield", heights=rows.tolist(), field_size=(1.95, 1.15))
    thing(sim, field, 0.0, 0.0, 0.5, pickable=False)
    die = THINGS["die"][0]
    on_steps = [thing(sim, die, -0.8 + 0.4 * step, 0.4, 0.6 + 0.1 * step, mass=0.1) for step in range(5)]
    hollow = thing(sim, die, 0.0, 0.0, 0.8, mass=0.1)
    run(sim, 100)
    found = [thing.get_pose().z - 0.02 for thing in (*on_steps, hollow)]
    assert found == pytest.approx([0.5, 0.6, 0.7, 0.8, 0.9, 0.6], abs=2e-3)


def test_a_surface_of_too_many_parts_names_the_engine_that_takes_it() -> None:
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    x = np.linspace(0.0, 20.0, 105)
    field = ShapeParams("heightfield", heights=(0.1 * np.sin(x)[None] * np.cos(x)[:, None]).tolist())
    with MultiRobotSimulationCore(SimulationParams(gui=False, physics=True, engine="mujoco")) as sim:
        thing(sim, field, 0.0, 0.0, 0.0, pickable=False)
        thing(sim, THINGS["box"][0], 0.0, 0.0, 2.0, mass=1.0)
        with pytest.raises(InvalidValueError, match=r"21632 flat parts, and MuJoCo takes 20000.*engine: bullet"):
            sim.step_once()

"""Lights are seen lit or dark, and blink in simulation time."""

from __future__ import annotations

from typing import Any

import pytest

import fleet_sim as fs
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.warehouse.equipment import SwitchLights

Sim = fs.MultiRobotSimulationCore
POST = fs.ShapeParams("cylinder", radius=0.05, height=1.0)
RED, DARK_RED = (1.0, 0.0, 0.0, 1.0), (0.25, 0.0, 0.0, 1.0)


def lamp(sim: Sim, name: str = "lamp", **light: Any) -> fs.SimObject:
    features = {"light": {"color": (1.0, 0.0, 0.0), **light}}
    made: fs.SimObject = sim.spawn(
        fs.SimObjectSpawnParams(POST, POST, fs.Pose((0.0, 0.0, 0.5)), name=name, features=features)
    )
    return made


def steps(sim: Sim, light: fs.SimObject, count: int) -> list[bool]:
    """Return whether it is seen lit after each of `count` steps."""
    seen = []
    for _ in range(count):
        sim.step_once()
        color = light.get_color()
        assert color in (RED, DARK_RED)
        seen.append(color == RED)
    return seen


def switch(sim: Sim, **order: Any) -> dict[str, str]:
    answer = sim.inbox.put(SwitchLights(names=("lamp",), **order))
    sim.step_once()
    return dict(answer.result().rejected)


def test_it_is_on_off_and_takes_another_color(sim: Sim) -> None:
    light, off = lamp(sim), lamp(sim, "off", lit=False)
    assert steps(sim, light, 3) == [True] * 3 and steps(sim, off, 1) == [False]
    assert switch(sim, lit=False) == {} and light.get_color() == DARK_RED
    assert switch(sim, color=(0.0, 1.0, 0.0)) == {} and light.get_color() == (0.0, 1.0, 0.0, 1.0)


def test_it_blinks_on_when_it_is_restored_and_a_light_that_is_taken_away_is_as_it_was(sim: Sim) -> None:
    light = lamp(sim, blink=0.125 / sim.params.timestep)
    steps(sim, light, 3)
    saved = sim.save_state()
    after = steps(sim, light, 12)
    sim.restore_state(saved)
    assert steps(sim, light, 12) == after and set(after) == {True, False}
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

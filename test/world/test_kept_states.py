"""States that are kept, by hand and by name; and what else a simulation refuses: names twice, and strangers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fleet_sim import Agent, AgentSpawnParams, MultiRobotSimulationCore, SimObject
from fleet_sim.base.errors import InvalidValueError, StateError, UnknownNameError
from fleet_sim.world.checkpoint import MOST, Moments


@pytest.fixture
def moments(sim: MultiRobotSimulationCore) -> Moments:
    made = Moments()
    made.keep("first", sim.save_state())
    return made


def test_moments_have_names_and_the_newest_is_last(sim: MultiRobotSimulationCore, moments: Moments) -> None:
    moments.keep("a.b-c_1", sim.save_state())
    state = sim.save_state()
    moments.keep("first", state)
    assert moments.names == ["a.b-c_1", "first"]
    assert moments.named("first") is state
    with pytest.raises(UnknownNameError, match=r"unknown saved moment 'frist'\. Did you mean 'first'"):
        moments.named("frist")


@pytest.mark.parametrize("name", ["", "a b", "a/b", "x" * 65, "\n", "a\n", None, 3])
def test_moments_are_no_files(moments: Moments, name: Any) -> None:
    with pytest.raises(InvalidValueError, match="moments are kept in memory, not in files"):
        moments.check_name(name)


def test_there_are_so_many_moments_at_most(sim: MultiRobotSimulationCore, moments: Moments) -> None:
    state = sim.save_state()
    for number in range(1, MOST):
        moments.keep(f"m{number}", state)
    with pytest.raises(InvalidValueError, match=f"{MOST} moments are kept already; save under one of their names"):
        moments.keep("another", state)
    moments.keep("first", state)
    assert len(moments.names) == MOST


def test_an_entity_does_not_collide_with_itself(
    sim: MultiRobotSimulationCore, robot: Agent, crate: SimObject, make_sim: Callable[..., MultiRobotSimulationCore]
) -> None:
    with pytest.raises(InvalidValueError, match="'robot' cannot collide with itself; name two entities"):
        sim.set_collision_pair("robot", robot, False)
    with pytest.raises(InvalidValueError, match="enabled: expected True, False or None"):
        sim.set_collision_pair(robot, crate, 1)  # type: ignore[arg-type]
    stranger: Any = make_sim().spawn(AgentSpawnParams(name="stranger"))
    for wrong in (stranger, 3):
        with pytest.raises(InvalidValueError, match="expected an entity of this simulation, or its name, got"):
            sim.set_collision_pair(robot, wrong, False)
    with pytest.raises(UnknownNameError, match="Did you mean 'crate'"):
        sim.set_collision_pair("robot", "crates", False)


def test_sensors_are_added_to_entities_and_removed_once(sim: MultiRobotSimulationCore, robot: Agent) -> None:
    sensor = sim.add_sensor("imu", robot)
    with pytest.raises(InvalidValueError, match="owner: expected an entity, its name, or None for the world, got"):
        sim.add_sensor("imu", 3)  # type: ignore[arg-type]
    with pytest.raises(InvalidValueError, match="expected a sensor, got"):
        sim.remove_sensor("imu")  # type: ignore[arg-type]
    sim.remove_sensor(sensor)
    assert not sensor.is_alive
    assert "removed" in repr(sensor)
    with pytest.raises(StateError, match="was removed; this handle can no longer be used"):
        sim.remove_sensor(sensor)

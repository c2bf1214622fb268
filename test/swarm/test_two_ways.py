"""What controllers and sensors remember, written per agent and on arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fleet_sim.base.arrays import AnyArray, Floats
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.swarm.agents import Controller, Group, Sensor, SwarmAgent
from fleet_sim.swarm.world import RectangularWorld


class PerAgent(Controller):
    def __init__(self) -> None:
        self.turns = 0

    def get_actions(self, agent: SwarmAgent) -> tuple[float, float]:
        self.turns += 1
        return (0.2, 0.5) if agent.sensors[0].current_state else (0.1, -0.02 * self.turns)


class OnArrays(Controller):
    def act(self, group: Group) -> Floats:
        turns = self.column(group, "turns", dtype=int)
        turns += 1
        seen_mask = group.readings[0].astype(bool)
        return np.stack((np.where(seen_mask, 0.2, 0.1), np.where(seen_mask, 0.5, -0.02 * turns)), axis=1)


class RightHalf(Sensor):
    def step(self, agent: SwarmAgent) -> bool:
        return agent.x_pos > 2.5


class RightHalfOnArrays(Sensor):
    def sense(self, group: Group) -> AnyArray:
        return np.asarray(group.positions[:, 0] > 2.5)


WAYS = [(c, s) for c in (PerAgent, OnArrays) for s in (RightHalf, RightHalfOnArrays)]


def world_of(update: str, controller: Any, sensor: Any) -> RectangularWorld:
    shared = {"type": "MazeAgent", "agent_radius": 0.1, "controller": controller, "sensors": [sensor]}
    agents = [{**shared, "position": [2.3 + 0.15 * index, 2.5], "angle": 0.4 * index} for index in range(4)]
    world = RectangularWorld({"agents": agents, "update": update, "time_step": 0.05})
    world.setup()
    return world


@pytest.mark.parametrize(("controller", "sensor"), WAYS)
def test_going_back_brings_back_what_components_remember(controller: type, sensor: type) -> None:
    world = world_of("together", controller, sensor)
    world.evaluate(60)
    first = world.sim.state_hash()
    world.reset()
    assert world.steps == 0
    world.evaluate(60)
    assert world.sim.state_hash() == first


def test_memory_per_agent_stays_with_the_agent_when_others_leave_and_join() -> None:
    world = world_of("together", OnArrays, RightHalfOnArrays)
    world.evaluate(3)
    first, second, third, fourth = world.population
    world.remove([second])
    joined = world.spawn(
        {"type": "MazeAgent", "agent_radius": 0.1, "controller": OnArrays, "sensors": [RightHalfOnArrays]}
    )
    assert joined.group is first.group
    assert first.group.state["controller.turns"].tolist() == [3, 3, 3, 0]
    world.step()
    assert first.group.state["controller.turns"].tolist() == [4, 4, 4, 1]
    assert world.population == [first, third, fourth, joined]


def test_a_component_that_does_nothing_is_refused() -> None:
    class Nothing(Controller):
        pass

    with pytest.raises(InvalidValueError, match=r"Nothing must define act\(self, group\) or get_actions"):
        RectangularWorld().spawn({"type": "MazeAgent", "controller": Nothing})

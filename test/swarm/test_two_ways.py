"""What controllers and sensors remember, written per agent and on arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fleet_sim.base.arrays import AnyArray, Floats
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.swarm.agents import Controller, Group, Sensor
from fleet_sim.swarm.world import RectangularWorld


class OnArrays(Controller):
    def act(self, group: Group) -> Floats:
        turns = self.column(group, "turns", dtype=int)
        turns += 1
        seen_mask = group.readings[0].astype(bool)
        return np.stack((np.where(seen_mask, 0.2, 0.1), np.where(seen_mask, 0.5, -0.02 * turns)), axis=1)


class RightHalfOnArrays(Sensor):
    def sense(self, group: Group) -> AnyArray:
        return np.asarray(group.positions[:, 0] > 2.5)


def world_of(update: str, controller: Any, sensor: Any) -> RectangularWorld:
    shared = {"type": "MazeAgent", "agent_radius": 0.1, "controller": controller, "sensors": [sensor]}
    agents = [{**shared, "position": [2.3 + 0.15 * index, 2.5], "angle": 0.4 * index} for index in range(4)]
    world = RectangularWorld({"agents": agents, "update": update, "time_step": 0.05})
    world.setup()
    return world


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


class LateHalves(Sensor):
    """The steps that an agent has seen; from the third on, on the right, and a half."""

    def sense(self, group: Group) -> AnyArray:
        steps = self.column(group, "steps", dtype=int)
        steps += 1
        right_mask = group.positions[:, 0] > 2.55
        return steps + 0.5 if (right_mask & (steps > 2)).all() else steps.copy()


def test_readings_of_agents_in_turn_stay_together_when_one_is_of_another_type() -> None:
    world = world_of("in_turn", OnArrays, LateHalves)
    world.evaluate(6)
    group = world.population[0].group
    steps = group.state["sensors[0].steps"]
    assert group.readings[0].tolist() == (steps + [0.0, 0.0, 0.5, 0.5]).tolist()


def test_a_component_that_does_nothing_is_refused() -> None:
    class Nothing(Controller):
        pass

    with pytest.raises(InvalidValueError, match=r"Nothing must define act\(self, group\) or get_actions"):
        RectangularWorld().spawn({"type": "MazeAgent", "controller": Nothing})


# ---- Swarms go with compiled code as their kernels go in Python, to the last bit -------------------------------------

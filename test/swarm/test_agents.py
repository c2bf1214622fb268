"""Types of agents: how they move, what their settings do, their handles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import DuplicateNameError, InvalidValueError, StaleHandleError, UnknownNameError
from fleet_sim.swarm import registry
from fleet_sim.swarm.agents import Controller, DiffDriveAgent, Group, MazeAgent, SwarmAgent, trace_of
from fleet_sim.swarm.world import RectangularWorld


class Fixed(Controller):
    def __init__(self, action: Any = (1.0, 0.5)) -> None:
        self.action = action

    def act(self, group: Group) -> Floats:
        return np.tile(self.action, (len(group), 1))


class Slow(MazeAgent):
    """Goes half as fast."""

    @classmethod
    def twists(cls, config: Any, actions: Floats) -> Floats:
        return 0.5 * actions


def one(action: Any = (1.0, 0.5), steps: int = 1, **settings: Any) -> SwarmAgent:
    controller = {"type": Fixed, "action": action}
    agent = {"type": "MazeAgent", "position": [10, 10], "controller": controller, **settings}
    world = RectangularWorld({"size": [20, 20], "time_step": 0.1, "agents": [agent]})
    world.setup()
    for _ in range(steps):
        world.step()
    return world.population[0]


def test_delay_carries_actions_out_late() -> None:
    class Counting(Controller):
        def act(self, group: Group) -> Floats:
            return np.tile((float(group.world.steps + 1), 0.0), (len(group), 1))

    world = RectangularWorld(
        {"time_step": 0.1, "agents": [{"type": "MazeAgent", "controller": Counting, "delay": 2, "collides": False}]}
    )
    world.setup()
    speeds = []
    for _ in range(5):
        world.step()
        speeds.append(world.population[0].linear)
    assert speeds == [0.0, 0.0, 1.0, 2.0, 3.0]


def test_idiosyncrasies_are_each_agents_own_and_stay() -> None:
    agent = {"type": "MazeAgent", "idiosyncrasies": [0.1, 0.2], "controller": Fixed}
    world = RectangularWorld({"size": [99, 99], "spawners": [{"type": "uniform", "n": 400, "agent": agent}]})
    world.setup()
    world.step()
    speeds, turns = world.everyone.linear, world.everyone.angular
    assert speeds.mean() == pytest.approx(1.0, abs=0.03) and speeds.std() == pytest.approx(0.1, abs=0.02)
    assert turns.std() == pytest.approx(0.5 * 0.2, abs=0.02)
    world.step()
    assert world.everyone.linear.tolist() == speeds.tolist()


def test_a_trace_is_as_long_as_asked_for() -> None:
    agent = one((1.0, 0.0), steps=7, trace_length=4)
    trace = trace_of(agent)
    assert trace is not None
    assert trace[:, 0] == pytest.approx([10.4, 10.5, 10.6, 10.7])
    assert trace_of(one()) is None


def test_handles() -> None:
    agent = one(name="anna", team="red", agent_radius=0.3)
    world = agent.world
    assert (agent.name, agent.team, agent.radius) == ("anna", "red", 0.3)
    assert world.agent_named("anna") is agent and world.agent_of(agent.row) is agent
    assert world.sim.get_object("anna") == agent.handle
    agent.position, agent.angle = (1, 2), 1.0
    assert (agent.x_pos, agent.y_pos, agent.angle) == pytest.approx((1.0, 2.0, 1.0))
    with pytest.raises(UnknownNameError, match="Did you mean 'anna'"):
        world.agent_named("ana")
    with pytest.raises(InvalidValueError, match="position"):
        agent.position = (np.nan, 0)
    agent.remove()
    assert not world.population and not agent.is_alive
    with pytest.raises(StaleHandleError, match="MazeAgent anna was removed"):
        _ = agent.position


def test_polygons_turn_with_their_agent() -> None:
    agent = one(points=[[0, 0], [2, 0], [2, 1]], anchor_point=[1, 0], angle=np.pi / 2, controller=None)
    assert agent.outline == pytest.approx(np.array([[10, 9], [10, 11], [9, 11]]))
    assert agent.radius == pytest.approx(np.sqrt(2))


def test_agents_alike_share_a_group_and_others_do_not() -> None:
    shared = {"type": "MazeAgent", "controller": {"type": Fixed, "action": [1, 0]}}
    entries = [
        {**shared, "position": [1, 1], "name": "a"},
        {**shared, "position": [2, 2], "team": 3, "body_color": [1, 2, 3]},
        {**shared, "controller": {"type": Fixed, "action": [2, 0]}},
        {**shared, "delay": 1},
    ]
    world = RectangularWorld({"agents": entries})
    world.setup()
    groups = [agent.group.index for agent in world.population]
    assert groups == [0, 0, 1, 2]
    assert world.population[0].controller is world.population[1].controller


def test_a_type_of_the_users_own() -> None:
    registry.register_agent_type("slow_for_test", Slow)
    assert one((1.0, 0.0), type="slow_for_test").linear == 0.5
    with pytest.raises(DuplicateNameError, match="the agent 'slow_for_test' exists already"):
        registry.register_agent_type("slow_for_test", DiffDriveAgent)
    with pytest.raises(InvalidValueError, match="expected a class"):
        registry.register_agent_type("other", "Slow")  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match=r"unknown kind of part 'agens'. Did you mean 'agent'"):
        registry.register_dictlike_type("agens", "x", Slow)


@pytest.mark.parametrize("kind", sorted(registry.KINDS))
def test_every_name_in_the_registry_is_a_documented_class(kind: str) -> None:
    known = registry.known_types(kind)
    assert known or kind in ("controller", "sensor", "metric")
    for name, cls in known.items():
        assert registry.find_type(kind, name) is cls
        assert cls.__doc__, f"{kind} {name} says nothing about itself"
        path = f"{cls.__module__}:{cls.__qualname__}"
        assert registry.find_type(kind, path) is cls
        registry.parameters_of(cls)

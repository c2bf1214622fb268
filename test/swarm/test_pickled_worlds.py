"""A world that is pickled between two steps goes on with the same run, in this process and in another one."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from fresh_python import words_of

from fleet_sim.base.errors import StateError
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.swarm import (
    BinaryController,
    Controller,
    MazeAgent,
    MazeAgentConfig,
    RectangularWorld,
    Sensor,
    StaticController,
    World_from_config,
)

LEVY = {"type": "levy", "velocity": 0.2, "angular_velocity": 0.5}
WORLD = {
    "size": [8, 8],
    "time_step": 0.05,
    "seed": 4,
    "stop_at": "steps >= 60 and circliness < 2",
    "goals": [{"type": "circle", "position": [6, 6], "radius": 0.5}],
    "metrics": [{"type": "circliness", "name": "circliness"}, "average_speed"],
    "objects": [{"type": "StaticObject", "points": [[0, 0], [1, 0], [0, 1]], "position": [6, 2]}],
    "spawners": [
        {
            "type": "uniform",
            "n": 12,
            "facing": "random",
            "avoid_overlap": True,
            "agent": {
                "type": "MazeAgent",
                "agent_radius": 0.1,
                "delay": 3,
                "trace_length": 20,
                "idiosyncrasies": [0.1, 0.1],
                "sensors": [{"type": "binary_fov", "theta": 0.4, "distance": 2, "false_negative": 0.2}],
                "controller": {"type": "binary", "a": [0.3, -0.6], "b": [0.3, 0.6], "sense_avg_time": 3},
            },
        },
        {
            "type": "point",
            "n": 1,
            "mode": "repeat",
            "interval": 0.5,
            "agent": {"type": "MazeAgent", "controller": LEVY},
        },
    ],
}


class Counting(Controller):
    """Turns more with every decision."""

    def __init__(self, agent: Any = None) -> None:
        super().__init__(agent)
        self.count = 0

    def get_actions(self, agent: Any) -> tuple[float, float]:
        assert agent is self.agent is self.parent
        self.count += 1
        return 0.2, 0.01 * self.count


class Height(Sensor):
    """Reads y."""

    def step(self, agent: Any) -> float:
        return float(agent.y_pos)


def run(world: RectangularWorld, steps: int) -> RectangularWorld:
    if not world.is_set_up:
        world.setup()
    for _ in range(steps):
        world.step()
    return world


def copied(world: RectangularWorld) -> RectangularWorld:
    copy: RectangularWorld = pickle.loads(pickle.dumps(world))
    assert copy is not world
    return copy


@pytest.mark.parametrize("update", ["together", "in_turn"])
def test_it_goes_on_with_the_same_run(update: str) -> None:
    world = run(World_from_config({**WORLD, "update": update}), 25)
    copy = copied(world)
    assert (copy.steps, copy.time, len(copy.population)) == (world.steps, world.time, len(world.population))
    assert copy.sim.state_hash() == world.sim.state_hash()
    assert [metric.value for metric in copy.metrics] == [metric.value for metric in world.metrics]
    run(world, 40)
    run(copy, 40)
    assert copy.sim.state_hash() == world.sim.state_hash()
    assert (copy.everyone.positions == world.everyone.positions).all()
    assert copy.stopped is world.stopped is True
    # Back at the start, it makes the same run once more.
    world.reset()
    copy.reset()
    assert run(copy, 30).sim.state_hash() == run(world, 30).sim.state_hash()


def test_another_process_goes_on_from_there(tmp_path: Path) -> None:
    world = run(World_from_config(WORLD), 25)
    (tmp_path / "world.pickle").write_bytes(pickle.dumps(world))
    code = (
        "import pickle, pathlib\n"
        f"world = pickle.loads(pathlib.Path({str(tmp_path / 'world.pickle')!r}).read_bytes())\n"
        "for _ in range(30): world.step()\n"
        "print(world.sim.state_hash())"
    )
    assert words_of(code) == [run(world, 30).sim.state_hash()]


def test_what_was_changed_in_code_is_kept() -> None:
    world = run(
        World_from_config({"size": [8, 8], "agents": [{"type": "MazeAgent", "name": "a", "controller": LEVY}]}), 3
    )
    world.population.append(MazeAgent(MazeAgentConfig(position=(2, 2), controller=Counting()), world, name="b"))
    world.population.append(MazeAgent(MazeAgentConfig(position=(2, 4), sensors=[Height]), world, name="c"))
    world.agent_named("a").controller = StaticController((0.5, 0.1))
    world.agent_named("c").controller = BinaryController((0.1, 0.0), (0.2, 0.1))
    world.spawn({"type": "MazeAgent", "position": [1, 1]}).remove()
    run(world, 5)
    copy = copied(world)
    assert [agent.name for agent in copy.population] == ["a", "b", "c"]
    assert isinstance(copy.agent_named("a").controller, StaticController)
    assert copy.agent_named("b").controller.count == 5
    assert copy.agent_named("c").sensors[0].current_state == world.agent_named("c").sensors[0].current_state > 4.0
    for each in (world, copy):
        # It can be changed as before.
        each.agent_named("a").controller = StaticController((0.2, 0.0))
        each.spawn({"type": "MazeAgent", "position": [3, 3], "controller": LEVY})
        del each.population[1]
        run(each, 10)
    assert copy.sim.state_hash() == world.sim.state_hash()
    with pytest.raises(AttributeError, match="cannot be set later"):
        copy.population[0].collides = False


def test_a_world_that_is_not_set_up_yet_is_made_anew() -> None:
    first, second = World_from_config(WORLD), copied(World_from_config(WORLD))
    assert not second.is_set_up
    assert run(first, 5).sim.state_hash() == run(second, 5).sim.state_hash()


def test_what_cannot_be_pickled_says_so() -> None:
    with pytest.raises(StateError, match="no lambda"):
        pickle.dumps(RectangularWorld({"stop_at": lambda world: False}))
    sim = MultiRobotSimulationCore()
    world = RectangularWorld({}, sim)
    with pytest.raises(StateError, match="save_state"):
        pickle.dumps(world)

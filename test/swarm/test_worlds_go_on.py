"""What users' code raises, what they remove, and where they go back to: a world goes on."""

from __future__ import annotations

import gc
import pickle
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fleet_sim.base.arrays import AnyArray, Floats
from fleet_sim.base.errors import InvalidValueError, StateError
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.swarm import Controller, Group, Metric, RectangularWorld, Sensor, SwarmAgent


def test_a_world_is_not_pickled_but_saved() -> None:
    with pytest.raises(StateError, match="save_state"):
        pickle.dumps(RectangularWorld({}))


class Wild(Controller):
    """Goes ahead, and in step 3 it fails."""

    def act(self, group: Group) -> Floats:
        if group.world.steps == 3:
            raise RuntimeError("no idea")
        return np.tile((1.0, 0.0), (len(group), 1))


class Drunk(Controller):
    """Keeps what it remembers in attributes of its own."""

    def __init__(self) -> None:
        self.path: list[float] = []

    def get_actions(self, agent: SwarmAgent) -> tuple[float, float]:
        self.path.append(float(agent.world.rng("drunk").uniform(-1.0, 1.0)))
        return 0.3, sum(self.path[-3:]) + agent.sensors[0].current_state


class Clock(Sensor):
    def __init__(self) -> None:
        self.ticks = 0

    def step(self, agent: SwarmAgent) -> None:
        self.ticks += 1
        self.current_state = 0.01 * self.ticks


class Sum(Metric):
    def calculate(self) -> None:
        assert self.world is not None
        self.set_value(float(self.world.everyone.positions.sum()))


def agent(controller: Any, **more: Any) -> dict[str, Any]:
    return {"type": "MazeAgent", "agent_radius": 0.1, "position": [1, 1], "controller": controller, **more}


def simulation(*agents: dict[str, Any], **config: Any) -> tuple[MultiRobotSimulationCore, RectangularWorld]:
    section = {"time_step": 0.1, "agents": list(agents), **config}
    sim = MultiRobotSimulationCore.from_dict({"simulation": {"gui": False}, "swarm": section})
    return sim, sim.get_manager("swarm")


def test_a_fault_is_raised_in_a_world_of_its_own_and_counted_in_a_simulation() -> None:
    world = RectangularWorld({"agents": [agent(Wild)]})
    with pytest.raises(RuntimeError, match="no idea"):
        world.evaluate(5)
    sim, world = simulation(agent(Wild))
    for _ in range(6):
        sim.step_once()
    # It stands still in the step in which it had no idea.
    assert world.population[0].x_pos == pytest.approx(1.5)
    assert sim.guard.counts == {"controller (Wild.act)": 1}


def test_a_fault_of_one_agent_is_its_own() -> None:
    class Half(Controller):
        def get_actions(self, agent: SwarmAgent) -> tuple[float, float]:
            if agent.name == "bad":
                raise RuntimeError("no idea")
            return 1.0, 0.0

    for update in ("together", "in_turn"):
        sim, world = simulation(agent(Half, name="good"), agent(Half, name="bad", position=[1, 3]), update=update)
        sim.step_once()
        assert world.everyone.linear.tolist() == [1.0, 0.0]
        assert sim.guard.total == 1


def test_a_controller_that_returns_nothing_is_told_so() -> None:
    class Forgetful(Controller):
        def get_actions(self, agent: SwarmAgent) -> Any:
            pass

    world = RectangularWorld({"agents": [agent(Forgetful, name="a")]})
    with pytest.raises(InvalidValueError, match=r"Forgetful.get_actions: expected two numbers for <MazeAgent a>, got"):
        world.evaluate(1)


def test_an_array_of_two_is_an_action() -> None:
    class Numpy(Controller):
        def get_actions(self, agent: SwarmAgent) -> Any:
            return np.array([0.0, 0.0])

    world = RectangularWorld({"agents": [agent(Numpy)]})
    world.evaluate(2)
    assert world.steps == 2


def test_removing_from_the_simulation_removes_from_the_world() -> None:
    sim, world = simulation(agent(Wild, name="a"), agent(Wild, name="b", position=[3, 3]))
    sim.remove_object(sim.get_object("a"))
    assert [member.name for member in world.population] == ["b"]
    assert len(world.population[0].group) == 1
    sim.step_once()
    sim.clear()
    assert not world.population and not len(world.everyone)
    sim.step_once()


def test_going_back_to_a_saved_moment() -> None:
    sim, world = simulation(
        *(agent(Drunk, sensors=[Clock], position=[1 + index, 2]) for index in range(3)), metrics=[Sum]
    )
    for _ in range(7):
        sim.step_once()
    saved = sim.save_state()
    first = world.population[0]
    history = list(world.metrics[0].value_history)

    def go_on() -> tuple[str, list[float]]:
        world.spawn(agent(Drunk, sensors=[Clock], position=[4, 4]))
        for _ in range(9):
            sim.step_once()
        first_now = world.population[0]
        first_now.remove()
        sim.step_once()
        return sim.state_hash(), list(world.metrics[0].value_history)

    once = go_on()
    sim.restore_state(saved)
    assert world.steps == 7 and world.population[0] is first and len(world.population) == 3
    assert list(world.metrics[0].value_history) == history
    assert len(first.controller.path) == first.sensors[0].ticks == 7
    assert go_on() == once


def test_what_cannot_be_copied_stays_as_it_is(tmp_path: Path) -> None:
    class Log(Metric):
        def __init__(self) -> None:
            super().__init__()
            self.stream = (tmp_path / "log.txt").open("w", encoding="utf-8")
            self.count = 0

        def calculate(self) -> None:
            self.count += 1
            print(self.count, file=self.stream)

    world = RectangularWorld({"agents": [agent(Wild)], "metrics": [Log]})
    world.evaluate(2)
    world.reset()
    world.evaluate(3)
    world.metrics[0].stream.close()  # type: ignore[attr-defined]
    assert (tmp_path / "log.txt").read_text() == "1\n2\n1\n2\n3\n"


def test_spawning_goes_on_after_going_back() -> None:
    spawner = {"type": "uniform", "n": 2, "mode": "repeat", "interval": 0.3, "agent": {**agent(Wild), "position": None}}
    world = RectangularWorld({"time_step": 0.1, "spawners": [spawner], "seed": 4})
    world.setup()

    def places() -> Any:
        for _ in range(3):
            world.step()
        return world.everyone.positions.tolist()

    first = places()
    world.reset()
    assert len(world.population) == 2
    assert places() == first


# ---- A world that runs for long needs no more memory -----------------------------------------------------------------


class Wander(Controller):
    def act(self, group: Group) -> Floats:
        return group.rng.uniform(-1.0, 1.0, (len(group), 2))


class Nearest(Sensor):
    def sense(self, group: Group) -> AnyArray:
        return np.asarray(group.positions[:, 0])


class MeanX(Metric):
    def calculate(self) -> None:
        assert self.world is not None
        self.set_value(float(self.world.everyone.positions[:, 0].mean()))


def grown(first: int, then: int) -> int:
    """Bytes that a world holds more after `then` further steps than after `first`."""
    agent = {"type": "MazeAgent", "agent_radius": 0.1, "controller": Wander, "sensors": [Nearest], "trace_length": 20}
    world = RectangularWorld(
        {
            "spawners": [{"type": "uniform", "n": 5, "agent": agent}],
            "metrics": [MeanX],
            "subscribers": [lambda world: None],
        }
    )
    # One comes and one goes: names, rows and groups must not pile up either.
    world.subscribers.append(lambda world: (world.spawn(agent), world.population[0].remove()))
    world.evaluate(first)
    tracemalloc.start()
    try:
        world.evaluate(100)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        world.evaluate(then)
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_memory_is_flat_over_hundreds_of_steps() -> None:
    assert grown(50, 300) < 40_000

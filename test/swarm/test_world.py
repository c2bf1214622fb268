"""The order of document 004, event by event; what a world holds; when it stops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fleet_sim.base.errors import DuplicateNameError, StateError
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.swarm.agents import Controller, MazeAgent, Sensor, SwarmAgent
from fleet_sim.swarm.swarm_state import Metric
from fleet_sim.swarm.swarm_world import Spawner
from fleet_sim.swarm.world import RectangularWorld, World_from_config

EVENTS: list[str] = []


class LoggedController(Controller):
    def __init__(self, label: str) -> None:
        self.label = label
        EVENTS.append(f"make controller {label}")

    def get_actions(self, agent: SwarmAgent) -> tuple[float, float]:
        EVENTS.append(f"controller {agent.name} at {agent.x_pos:.1f}")
        return 1.0, 0.0


class LoggedSensor(Sensor):
    def __init__(self, label: str) -> None:
        self.label = label
        EVENTS.append(f"make sensor {label}")

    def step(self, agent: SwarmAgent) -> int:
        EVENTS.append(f"sensor {self.label} of {agent.name} at {agent.x_pos:.1f}")
        return 1


class LoggedSpawner(Spawner):
    def __init__(self, world: RectangularWorld, oneshot: bool = False, mark: bool = False) -> None:
        super().__init__(world)
        self.oneshot, self.mark = oneshot, mark
        EVENTS.append("make spawner")

    def step(self) -> None:
        EVENTS.append("spawner")
        self.mark_for_deletion = self.mark


class LoggedMetric(Metric):
    def __init__(self, **base: Any) -> None:
        super().__init__(**base)
        EVENTS.append("make metric")

    def calculate(self) -> None:
        assert self.world is not None
        EVENTS.append(f"metric sees {[round(agent.x_pos, 1) for agent in self.world.population]}")
        self.set_value(self.world.steps)


def agent(name: str, x: float) -> dict[str, Any]:
    return {
        "type": "MazeAgent",
        "name": name,
        "position": [x, 2],
        "controller": {"type": LoggedController, "label": name},
        "sensors": [{"type": LoggedSensor, "label": "s0"}, {"type": LoggedSensor, "label": "s1"}],
    }


def logged_world(update: str = "together", **more: Any) -> RectangularWorld:
    EVENTS.clear()
    config = {
        "time_step": 0.1,
        "update": update,
        "agents": [agent("a", 1.0), agent("b", 3.0)],
        "spawners": [{"type": LoggedSpawner}],
        "objects": [{**agent("o", 4.0), "controller": {"type": LoggedController, "label": "o"}}],
        "metrics": [LoggedMetric],
        **more,
    }
    return World_from_config(config)


def test_a_world_is_set_up_in_the_order_of_the_document() -> None:
    world = logged_world()
    assert EVENTS == [] and not world.population
    world.setup()
    sensors = ["make sensor s0", "make sensor s1"]
    assert [
        *("make controller a", *sensors),
        *("make controller b", *sensors),
        "make spawner",
        *("make controller o", *sensors),
        "make metric",
        "spawner",
    ] == EVENTS
    assert [member.name for member in world.population] == ["a", "b"]
    assert [thing.name for thing in world.objects] == ["o"]
    first = world.population[0]
    assert first.world is world and first.controller.agent is first
    assert [sensor.agent for sensor in first.sensors] == [first, first]


def test_stepping_the_spawners_in_setup_can_be_left_out() -> None:
    world = logged_world()
    world.setup(step_spawners=False)
    assert "spawner" not in EVENTS
    with pytest.raises(StateError, match=r"setup\(\) was called already; reset"):
        world.setup()


A_SENSES = ["sensor s0 of a at 1.1", "sensor s1 of a at 1.1"]
B_SENSES = ["sensor s0 of b at 3.1", "sensor s1 of b at 3.1"]
OBJECT = ["controller o at 4.0", "sensor s0 of o at 4.1", "sensor s1 of o at 4.1"]


@pytest.mark.parametrize(
    ("update", "agents"),
    [
        ("together", ["controller a at 1.0", "controller b at 3.0", *A_SENSES, *B_SENSES]),
        ("in_turn", ["controller a at 1.0", *A_SENSES, "controller b at 3.0", *B_SENSES]),
    ],
)
def test_a_step_is_in_the_order_of_the_document(update: str, agents: list[str]) -> None:
    world = logged_world(update)
    world.setup()
    world.subscribers.append(lambda world: EVENTS.append(f"subscriber at {world.steps}"))
    EVENTS.clear()
    world.step()
    assert ["spawner", *agents, *OBJECT, "metric sees [1.1, 3.1]", "subscriber at 1"] == EVENTS
    assert world.metrics[0].value_history[-1] == 0


def test_spawners_go_after_their_first_step_or_when_they_say_so() -> None:
    world = logged_world(spawners=[{"type": LoggedSpawner, "oneshot": True}, {"type": LoggedSpawner, "mark": True}])
    world.setup(step_spawners=False)
    world.spawners.append(LoggedSpawner(world))
    assert len(world.spawners) == 3
    world.step()
    assert len(world.spawners) == 1


def test_in_turn_a_later_agent_sees_where_an_earlier_one_went() -> None:
    class Follower(Controller):
        def get_actions(self, agent: SwarmAgent) -> tuple[float, float]:
            return agent.world.population[0].x_pos, 0.0

    def second_after(update: str) -> float:
        shared = {"type": "MazeAgent", "controller": Follower}
        agents = [{**shared, "position": [1, 1]}, {**shared, "position": [1, 2]}]
        world = RectangularWorld({"time_step": 0.5, "update": update, "agents": agents})
        world.setup()
        world.step()
        return world.population[1].x_pos

    assert second_after("together") == pytest.approx(1.5)
    assert second_after("in_turn") == pytest.approx(1.75)


def test_an_agent_type_with_a_step_of_its_own_is_stepped_by_it() -> None:
    class Jumper(MazeAgent):
        def step(self) -> None:
            super().step()
            self.place((self.x_pos, self.y_pos + 1.0), self.angle)

    world = RectangularWorld({"time_step": 0.1, "agents": [{**agent("a", 1.0), "type": Jumper}]})
    world.setup()
    EVENTS.clear()
    world.step()
    assert EVENTS == ["controller a at 1.0", "sensor s0 of a at 1.1", "sensor s1 of a at 1.1"]
    assert world.population[0].position == pytest.approx([1.1, 3.0])


def test_the_step_of_the_simulation_is_the_step_of_the_world() -> None:
    first, second = logged_world(), logged_world()
    first.setup()
    second.setup()
    for _ in range(5):
        first.step()
        second.sim.step_once()
    assert first.sim.state_hash() == second.sim.state_hash()
    assert first.steps == second.steps == second.sim.step_count == 5
    assert [row.handle.name for row in first.population] == [robot.name for robot in first.sim.agents[:2]]


def test_a_simulation_holds_one_world() -> None:
    sim = MultiRobotSimulationCore()
    world = RectangularWorld({}, sim)
    assert sim.get_manager("swarm") is world
    with pytest.raises(DuplicateNameError):
        RectangularWorld({}, sim)


@pytest.mark.parametrize(
    ("stop_at", "steps"),
    [
        (7, 7),
        ("world.total_steps >= 3", 3),
        ("steps >= 5 and steps_seen > 0", 5),
        ("time > 0.35", 4),
        (lambda world: world.steps == 3, 3),
    ],
)
def test_stop_at(stop_at: Any, steps: int) -> None:
    world = logged_world(stop_at=stop_at, metrics=[{"type": LoggedMetric, "name": "steps_seen"}])
    averages = world.evaluate(100)
    assert world.stopped and world.steps == steps
    assert averages == {"steps_seen": (steps - 1) / 2}


def test_lists_left_empty_hold_nothing(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text("agents:\nspawners:\nobjects:\ngoals:\nmetrics:\nsubscribers:\n", encoding="utf-8")
    world = World_from_config(path)
    world.evaluate(2)
    assert not world.population and world.total_steps == 2


def test_a_running_simulation_ends_where_its_world_stops() -> None:
    world = logged_world(stop_at=6)
    world.setup()
    report = world.sim.run_simulation()
    assert (report.reason, report.steps) == ("stopped", 6)


def test_removing_an_agent_in_the_middle_of_a_step() -> None:
    class Killer(Controller):
        def get_actions(self, agent: SwarmAgent) -> tuple[float, float]:
            victims = [other for other in agent.world.population if other is not agent]
            if agent.name == "a" and victims:
                agent.world.remove(victims)
            return 1.0, 0.0

    for update in ("together", "in_turn"):
        agents = [{**agent(name, 1.0 + index), "controller": Killer} for index, name in enumerate("bac")]
        world = RectangularWorld({"agents": agents, "update": update})
        world.setup()
        first = world.population[0]
        world.evaluate(3)
        assert [member.name for member in world.population] == ["a"]
        assert len(world.everyone) == 1 and not first.is_alive
        assert repr(first) == "<MazeAgent b (removed)>"
        world.reset()
        assert [member.name for member in world.population] == ["b", "a", "c"]

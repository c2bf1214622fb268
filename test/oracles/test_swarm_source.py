"""Swarm worlds against numbers of RobotSwarmSimulator, and its names: what they give, and that they act.

The numbers are those of its sources at version 1.2.5 (commit 8b5cb2f) in the worlds that are described here, made with
its own classes: six agents that mill by one bit each, and two of which one pushes the other.
"""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from oracle_rows import holds

from fleet_sim.base.errors import InvalidValueError
from fleet_sim.swarm import (
    BinaryController,
    BinaryFOVSensor,
    Controller,
    MazeAgent,
    MazeAgentConfig,
    Metric,
    PointAgentSpawner,
    RectangularWorld,
    RectangularWorldConfig,
    StaticController,
    World_from_config,
    run_sim,
)

STARTS = (
    (4.078, 2.779, -1.0),
    (3.35, 3.453, 0.78),
    (2.272, 3.274, 2.56),
    (1.922, 2.421, 4.341),
    (2.65, 1.747, 6.121),
    (3.728, 1.926, 7.901),
)
MILL = """
1 4.085114 2.767527 -1.031500 3.359745 3.462342 0.748500 2.260838 3.281593 2.528500 1.916903 2.408500 -1.973685
2.663286 1.744611 -0.193685 3.727578 1.939493 1.586315 0.01349944 -0.00070407 -0.00307577 0.05878636 0.00587158
0.00000000 0 0 0 0 1 1
120 2.972718 2.031439 3.136685 3.868208 2.557266 -2.213500 3.000353 3.851417 -0.615000 1.287577 2.958483
0.803000 2.921054 3.020825 1.926315 2.268902 2.335066 2.980315 0.01449945 0.00241400 0.00828023 0.05581735
0.16089347 0.00000000 1 0 0 0 0 0
240 1.781158 2.920020 1.534685 2.351077 2.175818 2.649185 3.159637 2.401262 -2.459000 2.804831 3.668139
-0.073000 3.736702 3.155851 -1.732685 2.133177 3.575444 0.591815 0.01416611 0.00283936 0.01399241 0.04252122
0.01755319 0.00000000 0 0 0 0 0 0
420 3.357734 2.949493 -1.715315 3.052157 3.540371 -0.661315 2.409072 3.606160 0.392685 2.355852 2.461977
2.536685 2.066874 3.036862 1.482000 2.982717 2.400825 -2.779185 0.01383278 0.00216577 0.01381220 0.02455574
0.00019189 0.00000000 1 1 0 0 0 0
"""
MEETING = """
25 2.286816 2.341582 0.700000 2.508400 2.452149 0.425000 0.00875000 0.00005392 0.00181251 0.00088505 0.00000000
0.00000000
30 2.294200 2.368191 0.700000 2.519723 2.457445 0.450000 0.00393286 0.00006695 0.00229775 0.00084899 0.00000000
5.00000000
40 2.301630 2.437314 0.700000 2.541953 2.468877 0.500000 0.00546646 0.00010525 0.00361450 0.00084790 0.00000000
15.00000000
"""
"""Each step: its number, x, y and angle of each agent, the values of `NAMES`, and the readings."""

NAMES = (
    "AverageSpeedBehavior",
    "AngularMomentumBehavior",
    "GroupRotationBehavior",
    "ScatterBehavior",
    "RadialVarianceMetric",
    "TotalCollisionsBehavior",
)


SETTINGS = {"size": [6.5, 5.2], "time_step": 0.05, "update": "in_turn", "collide_walls": False}


def compare(world: RectangularWorld, table: str, sensors: int, near: float, most: float) -> None:
    """Step `world` and compare poses to `near` m, metrics to a share of `most`, and readings."""
    world.setup()
    count = len(world.population)
    for row in np.array(table.split(), float).reshape(-1, 1 + 3 * count + len(NAMES) + sensors):
        while world.steps < row[0]:
            world.step()
        poses, values, readings = np.split(row[1:], [3 * count, 3 * count + len(NAMES)])
        np.testing.assert_allclose(world.everyone.positions, poses.reshape(count, 3)[:, :2], atol=near)
        np.testing.assert_allclose(np.exp(1j * (world.everyone.headings - poses[2::3])), 1.0, atol=1e-6)
        assert [metric.value for metric in world.metrics] == pytest.approx(values.tolist(), rel=most, abs=1e-8)
        read = [sensor.current_state for agent in world.population for sensor in agent.sensors]
        assert read == readings.tolist()


@holds(
    "api:SwarmAgent.position",
    "api:BinaryFOVSensor.current_state",
    *(f"api:{name}.value" for name in NAMES),
    fault="swarm/separation.py: the arc's length in place of its chord",
)
def test_a_mill_is_that_of_robot_swarm_simulator() -> None:
    sensor = {"type": "BinaryFOVSensor", "theta": 0.41, "distance": 9.0, "bias": 0.15}
    controller = {"type": "BinaryController", "a": [0.27, -0.63], "b": [0.31, 0.58]}
    agent = {"type": "MazeAgent", "agent_radius": 0.12, "sensors": [sensor], "controller": controller}
    agents = [{**agent, "position": [x, y], "angle": angle} for x, y, angle in STARTS]
    compare(World_from_config({**SETTINGS, "agents": agents, "metrics": list(NAMES)}), MILL, 6, 1e-6, 2e-6)


@holds(
    "api:SwarmAgent.position",
    *(f"api:{name}.value" for name in NAMES),
    fault="swarm/metrics/crowd.py: the commanded velocities in place of the ways that agents came",
)
def test_agents_in_contact_move_as_in_robot_swarm_simulator() -> None:
    starts = ((2.0, 2.1, 0.7, (0.3, 0.0)), (2.45, 2.43, 0.3, (0.05, 0.1)))
    agent = {"type": "MazeAgent", "agent_radius": 0.12}
    agents = [
        {**agent, "position": [x, y], "angle": angle, "controller": {"type": "static", "output": list(output)}}
        for x, y, angle, output in starts
    ]
    # It pushes 0.1 mm farther.
    compare(World_from_config({**SETTINGS, "agents": agents, "metrics": list(NAMES)}), MEETING, 0, 2e-4, 1e-3)


def small_world(update: str = "together", **agent: Any) -> tuple[RectangularWorld, MazeAgent]:
    settings = {"size": [6.5, 5.2], "time_step": 0.05, "update": update}
    config = {"type": "MazeAgent", "position": [2.1, 2.3], "angle": 0.7, "agent_radius": 0.1, **agent}
    world = World_from_config({**settings, "agents": [config]})
    world.setup()
    (one,) = world.population
    assert isinstance(one, MazeAgent)
    return world, one


@pytest.mark.parametrize("name", ["positions", "headings", "velocities", "linear", "angular", "radii", "teams", "ways"])
def test_arrays_of_agents_do_not_take_what_would_have_no_effect(name: str) -> None:
    world, agent = small_world()
    for crowd in (world.everyone, agent.group):
        with pytest.raises(ValueError, match="read-only"):
            getattr(crowd, name)[0] = 3.5


@holds("api:SwarmAgent.pos", fault="swarm/agent_config.py: position returns a plain copy")
@pytest.mark.parametrize("name", ["pos", "position"])
def test_writing_into_a_position_moves_the_agent(name: str) -> None:
    world, agent = small_world(controller={"type": "static", "output": [0.4, 0.0]})
    getattr(agent, name)[0] = 3.5
    assert world.everyone.positions.tolist() == [[3.5, 2.3]]
    kept = getattr(agent, name)
    world.step()
    # Of where it is by now only the second number changes.
    kept[1] = 1.25
    assert world.everyone.positions[0] == pytest.approx([3.5 + 0.02 * np.cos(0.7), 1.25])
    kept += (0.5, 0.25)
    agent.pos -= (0.25, 0.0)
    agent.pos *= 2.0
    agent.pos /= (2.0, 1.0)
    assert agent.position == pytest.approx([3.75 + 0.02 * np.cos(0.7), 3.0])
    for change in (lambda: agent.pos.fill(1.0), lambda: np.add(agent.pos, 1.0, out=agent.pos)):
        with pytest.raises(ValueError, match="read-only"):
            change()
    here = agent.position.copy()
    for other in (agent.pos + 1.0, agent.pos.copy(), copy.deepcopy(agent.pos), pickle.loads(pickle.dumps(agent.pos))):
        other[0] = other[1] = 77.0
        other += 1.0
    assert agent.position.tolist() == here.tolist()
    agent.set_x_pos(1.5)
    agent.set_y_pos(1.75)
    assert agent.getPosition().tolist() == [1.5, 1.75]
    agent.set_pos_vec((2.5, 2.25, -1.1))
    assert [*agent.position, agent.angle] == pytest.approx([2.5, 2.25, -1.1])


@holds(
    "api:SwarmAgent.dead", "api:SwarmAgent.stopped_duration", fault="swarm/stepping.py: stopped agents keep their speed"
)
@pytest.mark.parametrize("update", ["together", "in_turn"])
@pytest.mark.parametrize("count", [1, 40])
def test_stops_act_as_long_as_they_say(count: int, update: str) -> None:
    agent = {"type": "MazeAgent", "controller": {"type": "static", "output": [0.4, 1.3]}, "collides": False}
    agents = [{**agent, "position": [1.0 + 0.1 * index, 2.0]} for index in range(count)]
    world = World_from_config({"size": [9, 9], "time_step": 0.05, "update": update, "agents": agents})
    world.setup()
    first = world.population[0]
    first.stopped_duration = 3
    ways, turns = [], []
    for _ in range(5):
        before = first.angle
        world.step()
        ways.append(float(np.hypot(*first.getVelocity())))
        turns.append(first.angle - before)
    # It turns on, as RobotSwarmSimulator's does.
    chord = 2.0 * np.sin(1.3 * 0.05 / 2.0) * 0.4 / 1.3
    assert ways == pytest.approx([0.0] * 3 + [chord] * 2)
    assert turns == pytest.approx([1.3 * 0.05] * 5)
    assert first.stopped_duration == 0
    first.dead = True
    before = first.angle
    world.step()
    assert (first.dx, first.dy, first.angle, first.halted) == (0.0, 0.0, before, True)
    if count > 1:
        assert np.hypot(*world.population[1].dpos) == pytest.approx(chord)
    first.dead = False
    world.step()
    assert np.hypot(*first.dpos) == pytest.approx(chord)
    for name, value in (("dead", 3), ("stopped_duration", -1), ("stopped_duration", 1.5)):
        with pytest.raises(InvalidValueError, match=name):
            setattr(first, name, value)


def test_a_stop_is_fatal_with_catastrophic_collisions_and_holds_against_other_commands() -> None:
    world, agent = small_world(controller={"type": "static", "output": [0.4, 1.3]}, catastrophic_collisions=True)
    agent.stopped_duration = 5
    world.step()
    assert agent.dead and agent.angle == pytest.approx(0.7)
    world, agent = small_world()
    agent.handle.set_velocity(0.4)
    agent.stopped_duration = 2
    world.step()
    assert agent.dpos.tolist() == [0.0, 0.0]


@holds("api:RectangularWorld.total_steps", fault="swarm/swarm_state.py: total_steps is another name of steps")
@pytest.mark.parametrize("update", ["together", "in_turn"])
def test_the_steps_that_controllers_and_metrics_see_count_the_present_one(update: str) -> None:
    seen: dict[str, list[int]] = {"controller": [], "metric": [], "subscriber": [], "spawner": []}

    class Looking(Controller):
        def get_actions(self, agent: Any) -> tuple[float, float]:
            seen["controller"].append(agent.world.total_steps)
            return 0.0, 0.0

    class Counting(Metric):
        def calculate(self) -> None:
            seen["metric"].append(self.world.total_steps)  # type: ignore[union-attr]

    world, _ = small_world(update, controller=Looking)
    world.add_metric(Counting())
    world.add_metric({"type": "Combination", "name": "late", "expression": "world.total_steps"})
    world.subscribers.append(lambda world: seen["subscriber"].append(world.total_steps))
    for step in range(1, 4):
        world.step()
        assert (world.total_steps, world.steps, world.metric("late").value) == (step, step, step)
    assert [seen[name] for name in ("controller", "metric", "subscriber")] == [[1, 2, 3]] * 3


@holds("api:RectangularWorld.rng", fault="swarm/swarm_state.py: rng is a method")
def test_the_worlds_random_numbers_are_those_of_a_generator() -> None:
    numbers = []
    for _ in range(2):
        world, _ = small_world()
        assert isinstance(world.rng, np.random.Generator)
        numbers.append([*world.rng.integers(0, 2**31, 5).tolist(), world.rng("mine").random(), world.rng.normal()])
    assert numbers[0] == numbers[1] and len(set(numbers[0])) == 7
    before, expected = world.sim.save_state(), world.rng.random(4).tolist()
    world.sim.restore_state(before)
    assert world.rng.random(4).tolist() == expected


def test_the_other_names_act() -> None:
    world, agent = small_world(controller={"type": "BinaryController", "a": [0.1, 0.2], "b": [0.3, 0.4]})
    other = agent.copy()
    assert type(other) is MazeAgent and other.world is world and other.position.tolist() == [2.1, 2.3]
    added, gone = [], []
    world.population.register_add_callback(added.append)
    world.population.register_del_callback(gone.append)
    other.position = (2.1, 2.9)
    world.population.append(other)
    assert (added, gone) == ([other], [])
    assert world.getNeighborsWithinDistance((2.1, 2.3), 0.65) == [agent, other]
    assert world.getNeighborsWithinDistance((2.1, 2.3), 0.65, excluded=agent) == [other]
    assert world.getNeighborsWithinDistance((2.1, 2.3), 0.6) == [agent]
    agent.sensors.append(BinaryFOVSensor(theta=0.5, distance=2))
    action = agent.controller.get_actions(agent)  # type: ignore[union-attr]
    assert isinstance(action, np.ndarray) and action.tolist() == [0.1, 0.2]
    assert not agent.collision_flag
    assert other.controller.as_config_dict()["type"] == "BinaryController"  # type: ignore[union-attr]
    assert agent.sensors[0].sensor.as_config_dict()["type"] == "BinaryFOVSensor"  # type: ignore[union-attr]
    world.remove([agent])
    assert (added, gone) == ([other], [agent])


def test_the_session_of_its_guide_runs_line_by_line() -> None:
    def run(world: RectangularWorld) -> None:
        end = world.total_steps + 30
        run_sim(world, show_gui=False, stop_detection=lambda world: world.total_steps == end)

    world = RectangularWorld(RectangularWorldConfig(size=(10, 10), time_step=1 / 40))
    agent = MazeAgent(MazeAgentConfig(position=(5, 5), agent_radius=0.1), world)
    world.population.append(agent)
    run(world)
    assert agent.position.tolist() == [5.0, 5.0]
    agent.controller = StaticController(output=[0.01, 0.1])
    run(world)
    assert np.hypot(*(agent.position - 5.0)) == pytest.approx(30 * 0.01 / 40, rel=1e-3)
    spawner = PointAgentSpawner(world, n=6, facing="away", avoid_overlap=True, agent=agent, mode="oneshot")
    world.spawners.append(spawner)
    del world.population[-1]
    run(world)
    assert len(world.population) == 6
    agent.sensors.append(BinaryFOVSensor(agent, theta=0.45, distance=2))
    agent.controller = BinaryController((0.02, -0.5), (0.02, 0.5), agent)
    del world.population[:]
    spawner.mark_for_deletion = False
    world.spawners.append(spawner)
    run(world)
    assert [len(one.sensors) for one in world.population] == [1] * 6
    turns = {round(abs(float(turn)), 9) for turn in world.everyone.angular}
    assert turns == {0.5}

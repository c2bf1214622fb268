"""Controllers in Python, made from their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from small_world import complete

from fleet_sim import (
    Agent,
    AgentController,
    AgentManager,
    AgentSpawnParams,
    ControllerParams,
    FleetSimError,
    GridSpawnParams,
    MotionMode,
    MoveTo,
    MultiRobotSimulationCore,
    Patrol,
    Pose,
    RandomWalk,
    ShapeParams,
    SimObjectSpawnParams,
    create_controller,
    list_controllers,
    register_controller,
)

SQUARE = [[1, 0, 0], [1, 1, 0], [0, 1, 0]]


class Nudge(AgentController):
    """Pushes its agent along x."""

    def __init__(self, speed: float = 1.0) -> None:
        self.speed = speed

    def compute(self, agent: Any, dt: float) -> None:
        """Drive."""
        agent.set_velocity(vx=self.speed)


def spawn(sim: MultiRobotSimulationCore, controller: object, **settings: Any) -> Agent:
    """Spawn an omnidirectional robot with `controller`."""
    params = {"motion_mode": "omnidirectional", **settings}
    agent: Agent = sim.spawn(AgentSpawnParams(controller=controller, **params))
    return agent


def test_every_name_can_be_asked_for(sim: MultiRobotSimulationCore) -> None:
    needed = {"patrol": {"waypoints": SQUARE}}
    for name in ["batch_differential", "batch_omni", "differential", "omni", "patrol", "random_walk"]:
        assert name in list_controllers()
        made = create_controller(name, needed.get(name))
        assert isinstance(made, AgentController | ControllerParams)
        agent = spawn(sim, {"type": name, **needed.get(name, {}), "max_linear_vel": 0.7})
        assert agent.max_linear_vel[0] == 0.7


def test_names_of_laws_decide_on_the_motion_mode_and_cost_no_python(sim: MultiRobotSimulationCore) -> None:
    for name, mode in (("differential", MotionMode.DIFFERENTIAL), ("batch_omni", MotionMode.OMNIDIRECTIONAL)):
        other = next(known for known in MotionMode if known is not mode)
        agent = spawn(sim, name, motion_mode=other)
        assert agent.motion_mode is mode
        assert agent.controllers == []


def test_a_patrol_goes_round(sim: MultiRobotSimulationCore) -> None:
    agent = spawn(sim, {"type": "patrol", "waypoints": SQUARE, "wait_time": 0.5})
    arrivals = []
    agent.events.on("arrived", lambda: arrivals.append(agent.get_pose().as_position()[:2]))
    while len(arrivals) < 5:
        assert sim.step_count < 500
        sim.step_once()
    assert [[round(value, 9) for value in place] for place in arrivals] == [[1, 0], [1, 1], [0, 1], [1, 0], [1, 1]]
    for _ in range(4):  # it waits
        sim.step_once()
        assert not agent.is_moving


def test_a_patrol_may_end(sim: MultiRobotSimulationCore) -> None:
    agent = spawn(sim, Patrol(SQUARE, loop=False))
    for _ in range(200):
        sim.step_once()
    assert agent.get_pose().distance_to(Pose((0, 1, 0))) < 1e-9
    assert not agent.is_moving


def test_actions_come_before_the_patrol_and_a_stop_holds(sim: MultiRobotSimulationCore) -> None:
    patrol = Patrol([[5, 0, 0], [0, 0, 0]])
    agent = spawn(sim, patrol)
    for _ in range(5):
        sim.step_once()
    move = MoveTo(Pose((0, 3, 0)))
    agent.execute_action(move)
    complete(sim, move, 100)
    sim.step_once()
    sim.step_once()
    assert agent.is_moving
    agent.stop()
    for _ in range(10):
        sim.step_once()
    assert not agent.is_moving
    patrol.resume()
    sim.step_once()
    assert agent.is_moving


def test_random_walks_stay_in_reach_and_follow_the_seed(make_sim: Callable[..., MultiRobotSimulationCore]) -> None:
    def run(seed: int, *, batch: bool) -> list[list[float]]:
        sim = make_sim(seed=seed)
        spec = {"type": "random_walk", "radius": 2.0, "wait_range": [0.0, 0.5]}
        params = AgentSpawnParams(controller=spec, motion_mode="omnidirectional")
        if batch:
            AgentManager(sim).spawn_agents_grid(3, GridSpawnParams.from_count(3, 3), params, name_prefix="r")
        else:
            for index in (2, 0, 1):
                params.name, params.initial_pose = f"r_{index}", Pose((index, 0, 0))
                sim.spawn(params)
        for _ in range(200):
            sim.step_once()
            for index in range(3):
                assert sim.get_object(f"r_{index}").get_pose().distance_to(Pose((index, 0, 0))) <= 2.0 + 1e-9
        return [sim.get_object(f"r_{index}").get_pose().as_position() for index in range(3)]

    assert run(1, batch=True) == run(1, batch=False)
    assert run(1, batch=True) != run(2, batch=True)


def test_controllers_of_ones_own(sim: MultiRobotSimulationCore) -> None:
    register_controller("nudge_of_the_tests", Nudge)
    for spec in ({"type": "nudge_of_the_tests", "speed": 0.5}, Nudge(0.5), Nudge):
        agent = spawn(sim, spec)
        assert isinstance(agent.controller, Nudge)
        for _ in range(5):
            sim.step_once()
        assert agent.velocity[0] == pytest.approx(agent.controller.speed)
    with pytest.raises(FleetSimError, match="exists already"):
        register_controller("nudge_of_the_tests", Nudge)
    with pytest.raises(FleetSimError, match="derived from AgentController"):
        register_controller("other", int)  # type: ignore[arg-type]


def test_chains_run_from_high_to_low(sim: MultiRobotSimulationCore) -> None:
    base, upper = Nudge(0.5), Nudge(1.5)
    agent = spawn(sim, ["omni", base, upper])
    assert agent.controllers == [base, upper]
    assert agent.get_controller_by_type(Nudge) is base
    for _ in range(10):
        sim.step_once()
    assert agent.velocity[0] == pytest.approx(0.5)  # the base is asked last
    assert agent.remove_controller(base)
    assert not agent.remove_controller(base)
    for _ in range(10):
        sim.step_once()
    assert agent.velocity[0] == pytest.approx(1.5)
    agent.add_controller("random_walk")
    assert isinstance(agent.controllers[-1], RandomWalk)
    agent.set_controller(None)
    assert agent.controllers == []


def test_robots_of_a_grid_have_controllers_of_their_own(sim: MultiRobotSimulationCore) -> None:
    params = AgentSpawnParams(controller="random_walk")
    robots = AgentManager(sim).spawn_agents_grid(3, GridSpawnParams.from_count(3), params, name_prefix="r")
    assert len({id(robot.controller) for robot in robots}) == 3


def test_one_goal_controller_steers_one_agent(make_sim: Callable[..., MultiRobotSimulationCore]) -> None:
    sim = make_sim(raise_on_fault=True)
    patrol = Patrol(SQUARE)
    spawn(sim, patrol)
    spawn(sim, patrol)
    with pytest.raises(FleetSimError, match="one of its own"):
        sim.step_once()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("omnii", "Did you mean 'omni'"),
        (5, "expected a name"),
        ({"type": "patrol"}, "'waypoints' is missing"),
        ({"type": "patrol", "waypoints": []}, "must not be empty"),
        ({"type": "patrol", "waypoints": [[0, 0]]}, "expected 3 or 4 numbers"),
        ({"type": "patrol", "waypoints": SQUARE, "wait": 1}, "unknown parameter 'wait'"),
        ({"type": "patrol", "waypoints": SQUARE, "loop": "no"}, "true or false"),
        ({"type": "random_walk", "radius": -1}, "radius"),
        ({"type": "random_walk", "wait_range": [3, 1]}, "wait_range"),
        ({"type": "omni", "max_linear_vel": -1}, "above 0"),
        ({"type": "omni", "max_linear_val": 1}, "Did you mean 'max_linear_vel'"),
        ({"class": "fleet_sim.nowhere.Nothing"}, "cannot be imported"),
        ({"class": "fleet_sim.base.errors.ConfigError"}, "derived from AgentController"),
        ({"type": "omni", "class": "a.B"}, "either type or class"),
    ],
)
def test_bad_controllers_are_refused_before_anything_is_spawned(
    sim: MultiRobotSimulationCore, spec: object, message: str
) -> None:
    before = sim.state_hash()
    with pytest.raises(FleetSimError, match=message):
        spawn(sim, spec)
    assert (sim.state_hash(), sim.agents) == (before, [])


def test_a_class_is_named_by_its_path(sim: MultiRobotSimulationCore) -> None:
    spec = {"class": "fleet_sim.robots.motion.goal_controllers.Patrol", "waypoints": SQUARE}
    assert isinstance(spawn(sim, spec).controller, Patrol)


@pytest.mark.parametrize("distance", [1.0, 3.0])
def test_a_random_walk_goes_on_where_walls_stand_in_places_and_in_the_way(
    make_sim: Callable[..., MultiRobotSimulationCore], distance: float, caplog: pytest.LogCaptureFixture
) -> None:
    sim = make_sim(block_on_collision=True, blocked_timeout=2.0)
    shape = ShapeParams("box", half_extents=(0.3, 0.2, 0.1))
    wall = ShapeParams("box", half_extents=(1.0, 4.0, 0.5))
    sim.spawn(SimObjectSpawnParams(wall, wall, Pose.from_xyz(distance + 1.0, 0.0, 0.0), collision_mode="static"))
    agent: Agent = sim.spawn(
        AgentSpawnParams(shape, shape, motion_mode="omnidirectional", controller=RandomWalk(6.0, (0.1, 0.2)))
    )
    reached: list[float] = []
    agent.events.on("arrived", lambda **_: reached.append(sim.sim_time))
    sim.run_simulation(duration=100.0)
    assert reached[-1] > 80.0 and "fault" not in caplog.text

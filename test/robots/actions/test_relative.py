"""TourAction, DriveByAction and TurnAction: where they end, how far that is, and why they fail."""

from __future__ import annotations

import pytest

from fleet_sim import (
    Action,
    ActionCause,
    Agent,
    AgentSpawnParams,
    DriveByAction,
    MoveAction,
    MultiRobotSimulationCore,
    Path,
    Pose,
    ShapeParams,
    SimulationParams,
    TourAction,
)
from fleet_sim.base.params import ActionStatus

BODY = ShapeParams("cylinder", radius=0.2, height=0.3)


@pytest.fixture
def sim() -> MultiRobotSimulationCore:
    return MultiRobotSimulationCore(SimulationParams(gui=False, monitor=False, timestep=0.05))


def robot(sim: MultiRobotSimulationCore, **options: object) -> Agent:
    params = AgentSpawnParams(BODY, BODY, Pose((0.0, 0.0, 0.15)), motion_mode="differential", **options)
    agent: Agent = sim.spawn(params)
    return agent


def run(sim: MultiRobotSimulationCore, agent: Agent, action: Action, most: int = 2000) -> Action:
    """Run `action` to its end."""
    agent.add_action(action)
    for _ in range(most):
        sim.step_once()
        if action.is_complete():
            return action
    raise AssertionError("it does not end")


@pytest.mark.parametrize(
    ("target", "speed"), [((1.0, 1.0, 0.0), 1.0), ((1.0, 0.0, 0.0), -1.0), ((1.0, 0.0, 0.0), 0.0), ((1e19, 0, 0), 1.0)]
)
def test_ways_that_mean_nothing_are_refused(
    sim: MultiRobotSimulationCore, target: tuple[float, float, float], speed: float
) -> None:
    agent = robot(sim)
    assert run(sim, agent, DriveByAction(target, speed)).cause is ActionCause.INVALID_GOAL
    assert agent.get_pose().x == 0.0


def test_something_in_the_way_ends_it(sim: MultiRobotSimulationCore) -> None:
    agent = robot(sim, block_on_collision=True)
    sim.spawn(AgentSpawnParams(BODY, BODY, Pose((1.0, 0.0, 0.15)), use_fixed_base=True))
    action = run(sim, agent, DriveByAction((3.0, 0.0, 0.0), 1.0))
    assert action.cause is ActionCause.BLOCKED and action.blocked_by == "#1"
    assert 0.3 < agent.get_pose().x <= 0.6


def test_a_tour_goes_on_where_a_pose_cannot_be_reached(sim: MultiRobotSimulationCore) -> None:
    agent = robot(sim)
    beyond = Pose((1e7, 0.0, 0.0))
    places = [Pose((1.0, 0.0, 0.0)), beyond, Pose((1.0, 1.0, 0.0))]
    tour = TourAction(Path(places), skip_missed=True, keep_height=True)
    assert run(sim, agent, tour).cause is None
    assert tour.missed == [(1, ActionCause.INVALID_GOAL)]
    assert agent.get_pose().position == pytest.approx((1.0, 1.0, 0.15), abs=1e-6)
    assert run(sim, agent, TourAction(Path([beyond]), skip_missed=True)).status is ActionStatus.FAILED
    strict = run(sim, agent, TourAction(Path(places)))
    assert (strict.cause, strict.error_message[:7]) == (ActionCause.INVALID_GOAL, "pose 1:")  # type: ignore[index]
    assert run(sim, agent, TourAction([])).cause is ActionCause.INVALID_GOAL


def test_a_path_tells_how_many_of_its_poses_are_left(sim: MultiRobotSimulationCore) -> None:
    agent = robot(sim)
    action = MoveAction(Path([Pose((1.0, 0.0, 9.0)), Pose((2.0, 0.0, 9.0))]), keep_height=True)
    agent.add_action(action)
    seen = []
    while not action.is_complete():
        sim.step_once()
        seen.append(action.progress(agent)["poses_left"])
    assert list(dict.fromkeys(seen)) == [2, 1, 0]
    assert agent.get_pose().z == 0.15

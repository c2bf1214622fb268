"""MoveTo with a route sends a robot of the traffic by the traffic."""

from __future__ import annotations

import numpy as np
import pytest
from crowds import Crowd
from networks import HALL, site_of

import fleet_sim as fs
from fleet_sim.base.params import ActionCause
from fleet_sim.world.commands import CancelActions, ExecuteAction


def crowd(count: int = 6, seed: int = 2) -> Crowd:
    return Crowd(site_of(HALL), count, seed=seed)


def test_a_move_ends_when_the_robot_stands_there_with_the_heading() -> None:
    many = crowd()
    moves = []
    for number, agent in enumerate(many.agents):
        moves.append(fs.MoveTo(fs.Pose.from_euler(0.5 + number, 0.5, 0.15, 0.0, 0.0, 0.7), route=True))
        agent.execute_action(moves[-1])
    ended: set[int] = set()
    for _ in range(600):
        many.sim.step_once()
        for number, (agent, move) in enumerate(zip(many.agents, moves, strict=True)):
            # Later on it may have to give way to others.
            if number not in ended and move.status is fs.ActionStatus.COMPLETED:
                ended.add(number)
                assert agent.get_pose().position[:2] == (0.5 + number, 0.5)
                assert agent.get_pose().yaw == pytest.approx(0.7)
    assert len(ended) == 6


def test_a_path_is_driven_pose_by_pose() -> None:
    many = crowd(1)
    corners = [(0.5, 0.5), (9.5, 0.5), (9.5, 5.5)]
    move = fs.MoveAction(path=[fs.Pose((x, y, 0.15)) for x, y in corners], route=True)
    many.agents[0].execute_action(move)
    seen = []
    many.sim.events.on(
        "traffic_arrived", lambda agent, node: seen.append(many.traffic.network.positions[node].tolist())
    )
    many.run(60.0)
    assert move.status is fs.ActionStatus.COMPLETED
    assert seen == [list(corner) for corner in corners]


@pytest.mark.parametrize(
    ("action", "cause", "reason"),
    [
        (fs.MoveTo(fs.Pose((2.5, 2.5, 0.15)), route=True), ActionCause.INVALID_GOAL, "at no node"),
        (fs.MoveTo(fs.Pose((9.3, 5.5, 0.15)), route=True), ActionCause.INVALID_GOAL, "0.2 m from the node"),
        (fs.MoveTo(fs.Pose((9.5, 5.5, 0.15))), ActionCause.UNREACHABLE, "takes part in the traffic"),
        (fs.MoveTo(fs.Pose((9.5, 5.5, 0.15)), route=True, direction="backward"), ActionCause.INVALID_GOAL, "direction"),
    ],
)
def test_a_move_that_cannot_be_is_refused_with_the_reason(action: fs.MoveTo, cause: ActionCause, reason: str) -> None:
    many = crowd(1)
    before = many.agents[0].get_pose()
    many.agents[0].execute_action(action)
    many.run(2.0)
    assert action.status is fs.ActionStatus.FAILED
    assert action.cause is cause
    assert reason in str(action.error_message)
    assert many.agents[0].get_pose() == before


def test_a_tolerance_ends_a_move_at_the_node_within_it() -> None:
    many = crowd(1)
    move = fs.MoveTo(fs.Pose((9.3, 5.5, 0.15)), 0.25, route=True)
    many.agents[0].execute_action(move)
    many.run(30.0)
    assert move.status is fs.ActionStatus.COMPLETED
    assert many.agents[0].get_pose().position[:2] == (9.5, 5.5)


def test_a_cancelled_move_stops_at_a_node() -> None:
    many = crowd(1)
    agent = many.agents[0]
    goal = (9.5, 5.5, 0.15) if agent.get_pose().position[0] < 5 else (0.5, 0.5, 0.15)
    command = ExecuteAction(
        names=(agent.name,), actions=(fs.MoveTo(fs.Pose(goal), route=True),), replace=True, command_id="one"
    )
    move = many.sim.dispatcher.dispatch(command).value[agent.name]
    many.run(3.0)
    assert agent.is_moving
    many.sim.dispatcher.dispatch(CancelActions(names=(agent.name,), goal="one"))
    many.run(5.0)
    assert move.status is fs.ActionStatus.CANCELLED
    place = agent.get_pose().position[:2]
    assert np.abs(many.traffic.network.positions - place).max(axis=1).min() == 0.0
    assert place != goal[:2]
    many.run(3.0)
    assert agent.get_pose().position[:2] == place
    assert many.traffic.goal_of(agent) is None


def test_a_send_ends_the_move_of_a_robot_and_leaving_too() -> None:
    many = crowd(2)
    moves = []
    for agent in many.agents:
        moves.append(fs.MoveTo(fs.Pose((9.5, 5.5, 0.15)), route=True))
        agent.execute_action(moves[-1])
    many.run(1.0)
    many.traffic.send(many.agents[0], (0.5, 5.5))
    many.traffic.leave(many.agents[1])
    many.run(1.0)
    assert moves[0].status is fs.ActionStatus.CANCELLED
    assert moves[1].status is fs.ActionStatus.FAILED
    assert "no longer" in str(moves[1].error_message)
    many.run(30.0)
    assert many.traffic.has_arrived(many.agents[0])

"""Problems and plans that robots must not be given."""

from __future__ import annotations

from typing import Any

import networks
import numpy as np
import pytest

from fleet_sim.base.errors import InvalidValueError, PlanError
from fleet_sim.warehouse.traffic import Network, Problem, check_paths

NETWORK = networks.grid_network("....\n....")


def problem(starts: list[int], goals: list[int], **more: Any) -> Problem:
    return Problem(more.pop("network", NETWORK), np.array(starts), np.array(goals), **more)


@pytest.mark.parametrize(
    ("starts", "goals", "more", "error"),
    [
        ([0, -1], [1, 2], {}, "the start of robot 1 is on a wall"),
        ([0, 1], [1, 8], {}, "the goal of robot 1 is on a wall"),
        ([3, 3], [1, 2], {}, "robots 0 and 1 start at the same node 3"),
        ([0, 1], [1], {}, r"goals: expected one per robot \(2\)"),
        ([0], [1], {"window": -1}, "window"),
        ([0], [1], {"window": True}, "window"),
        ([0], [1], {"time_limit": 0.0}, "time_limit"),
        ([0], [1], {"blocked": np.zeros(3, bool)}, r"blocked: expected one per node \(8\)"),
        ([0, 1], [1, 2], {"ids": np.array([4, 4])}, "ids"),
    ],
)
def test_what_is_no_problem_is_refused(starts: list[int], goals: list[int], more: dict[str, Any], error: str) -> None:
    with pytest.raises((PlanError, InvalidValueError), match=error):
        problem(starts, goals, **more)


def test_goals_without_a_way_are_named() -> None:
    islands = networks.grid_network("..#..")
    cut_off = problem([0, 1, 2], [1, 3, 3], network=islands)
    assert cut_off.unreachable().tolist() == [False, True, False]
    with pytest.raises(PlanError, match="no way leads to the goal of robot 1"):
        cut_off.require_ways()


@pytest.mark.parametrize(
    ("paths", "error"),
    [
        ([[0, 1]], r"shape \(2 robots"),
        ([[0], [2]], "at least 2 steps"),
        ([[0.0, 1.0], [2.0, 3.0]], "whole numbers"),
        ([[0, 9], [2, 3]], "robot 0 is at node 9 at step 1"),
        ([[1, 1], [2, 3]], "robot 0 starts at node 0, its path at node 1"),
        ([[0, 5], [2, 3]], "robot 0 moves from node 0 to node 5 at step 1, which are not neighbours"),
        ([[0, 1], [2, 1]], "robots 0 and 1 are both at node 1 at step 1"),
        ([[0, 1, 2], [2, 2, 1]], "need each other's place"),
        ([[0, 1], [2, 2]], "robot 1 is at node 2 at the end and not at its goal"),
    ],
)
def test_plans_that_must_not_be_driven_are_refused(paths: list[list[Any]], error: str) -> None:
    with pytest.raises(PlanError, match=error):
        check_paths(problem([0, 2], [1, 3]), np.array(paths))


def test_a_window_must_be_filled_unless_all_have_arrived() -> None:
    asked = problem([0, 2], [1, 3], window=5)
    assert check_paths(asked, np.array([[0, 1], [2, 3]])).shape == (2, 2)
    with pytest.raises(PlanError, match="the plan has 1 steps, 5 are asked for, and robot 1"):
        check_paths(asked, np.array([[0, 1], [2, 2]]))


def test_circles_are_refused_where_lanes_have_no_room_for_them() -> None:
    # Three lanes in a ring, and a parking place beside one of them, by which the network has claims.
    points = [(5.0, 5.0), (15.0, 5.0), (10.0, 12.0), (10.0, 5.5)]
    ring = networks.roadmap_network(points, [(0, 1), (1, 2), (2, 0), (3, 2)])
    with pytest.raises(PlanError, match="at step 1 robots wait for each other in a circle"):
        check_paths(problem([0, 1, 2], [1, 2, 0], network=ring), np.array([[0, 1], [1, 2], [2, 0]]))
    check_paths(problem([0, 1], [1, 2], network=ring), np.array([[0, 1], [1, 2]]))


def lanes() -> Network:
    """A lane from 0 to 1 that passes the parking place 2 closely, and a lane from 3 over 4 to 5 that crosses it."""
    points = [(5.0, 5.0), (15.0, 5.0), (10.0, 5.5), (12.0, 2.0), (12.0, 8.0), (12.0, 20.0)]
    return networks.roadmap_network(points, [(0, 1), (3, 4), (4, 5), (2, 5)])


@pytest.mark.parametrize(
    ("paths", "sound"),
    [
        ([[0, 1, 1], [2, 2, 2]], False),  # past a robot that stands there
        ([[0, 1, 1], [2, 5, 5]], True),  # after it has left
        ([[0, 1, 1], [3, 4, 5]], False),  # both at the crossing
        ([[0, 0, 1], [3, 4, 5]], True),  # one after the other
    ],
)
def test_lanes_and_nodes_that_are_too_near_are_not_used_at_once(paths: list[list[int]], sound: bool) -> None:
    asked = problem([path[0] for path in paths], [path[-1] for path in paths], network=lanes())
    if sound:
        check_paths(asked, np.array(paths))
    else:
        with pytest.raises(PlanError, match="too near to robot"):
            check_paths(asked, np.array(paths))

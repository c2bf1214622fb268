"""Robots that carry something wide keep off the places where something stands that others pass under."""

from __future__ import annotations

import numpy as np
import pytest
from crowds import Crowd
from hypothesis import given, settings
from hypothesis import strategies as st
from networks import site_of

from fleet_sim.base.errors import InvalidValueError, PlanError
from fleet_sim.warehouse.traffic.network import Network
from fleet_sim.warehouse.traffic.planners.planner import checked_plan
from fleet_sim.warehouse.traffic.planners.registry import PLANNERS, make_planner
from fleet_sim.warehouse.traffic.problem import Problem, check_paths

FLOOR = """
............
............
............
............
............
............
"""
SHELVES = [(2, 1), (2, 2), (2, 3), (3, 1), (3, 2), (3, 3), (6, 1), (6, 2), (6, 3), (7, 1), (7, 2), (7, 3)]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**31))
def test_plans_of_pibt_keep_wide_robots_off_barred_nodes(seed: int) -> None:
    network = Network.of_grid(site_of(FLOOR), 0.3)
    numbers = np.random.default_rng(seed)
    count = len(network)
    places = numbers.permutation(count)
    starts, barred = places[:20], numbers.random(count) < 0.2
    wide = numbers.random(20) < 0.5
    problem = Problem(network, starts, places[20:40], barred=barred, wide=wide, window=12)
    lost = problem.unreachable()
    goals = np.where(lost, starts, places[20:40])
    problem = Problem(network, starts, goals, barred=barred, wide=wide, window=12)
    paths = checked_plan(make_planner("pibt", network), problem)
    for robot in np.flatnonzero(wide).tolist():
        for before, node in zip(paths[robot], paths[robot, 1:], strict=False):
            assert node == before or not barred[node] or node == goals[robot]


def test_ways_of_wide_robots_lead_around_and_into_their_own_place() -> None:
    network = Network.of_grid(site_of("....\n....\n"), 0.3)
    at = network.node_at(np.array([[0.5, 1.5], [1.5, 1.5], [2.5, 1.5], [1.5, 0.5]]))
    barred = np.zeros(len(network), bool)
    barred[at[1]] = barred[at[3]] = True
    ask = {"starts": at[:1], "barred": barred, "wide": np.array([True])}
    assert Problem(network, goals=at[2:3], **ask).unreachable().tolist() == [True]
    assert Problem(network, goals=at[1:2], **ask).unreachable().tolist() == [False]
    assert Problem(network, at[:1], at[2:3], barred=barred).unreachable().tolist() == [False]
    with pytest.raises(PlanError, match=r"robot 0 moves from node .* barred to wide robots"):
        check_paths(Problem(network, goals=at[2:3], **ask), at[None, :3])
    check_paths(Problem(network, goals=at[1:2], **ask), at[None, :2])
    with pytest.raises(InvalidValueError, match="wide: expected one per robot"):
        Problem(network, at[:1], at[:1], wide=np.ones(3, bool))


@pytest.mark.parametrize("name", sorted(set(PLANNERS.registered()) - {"pibt", "external"}))
def test_other_planners_say_that_they_cannot(name: str) -> None:
    network = Network.of_grid(site_of(FLOOR), 0.3)
    barred = np.zeros(len(network), bool)
    barred[5] = True
    start = np.array([0])
    problem = Problem(network, start, np.array([9]), barred=barred, wide=np.ones(1, bool))
    with pytest.raises(PlanError, match=r"something wide .* use pibt"):
        checked_plan(make_planner(name, network), problem)
    crowd = Crowd(site_of(FLOOR), 1, planner=name)
    with pytest.raises(InvalidValueError, match=f"planner '{name}' .* use pibt"):
        crowd.traffic.bars.add((2.5, 2.5))


def test_wide_robots_drive_around_shelves_and_others_under_them() -> None:
    crowd = Crowd(site_of(FLOOR), 10, seed=2)
    traffic, rows = crowd.traffic, crowd.traffic.rows
    shelves = [(x + 0.5, y + 0.5) for x, y in SHELVES]
    wide = np.arange(10) < 5
    traffic.bars.add(list(shelves))
    for agent in crowd.agents[:5]:
        traffic.bars.set_wide(agent)
    barred = np.zeros(len(traffic.network), bool)
    barred[[traffic.node_of(place) for place in shelves]] = True
    crowd.roam()
    under = 0
    before = traffic.nodes(rows)
    for _ in range(600):
        goals = traffic.goals(rows).copy()
        crowd.sim.step_once()
        nodes = traffic.nodes(rows)
        entered = (nodes != before) & barred[nodes]
        under += int(np.count_nonzero(entered & ~wide & (nodes != goals)))
        assert not (entered & wide & (nodes != goals)).any()
        before = nodes
    assert under > 10
    assert traffic.figures()["refusals"] == 0
    driving = next(agent for agent in crowd.agents[5:] if crowd.sim.world.velocity[agent.row].any())
    with pytest.raises(InvalidValueError, match="cannot become wide while it drives"):
        traffic.bars.set_wide(driving)
    # Without bars wide robots are as all others.
    traffic.bars.remove(list(shelves))
    crowd.run(30.0)
    nodes_mask = np.zeros(len(traffic.network), bool)
    for _ in range(300):
        crowd.sim.step_once()
        nodes_mask[traffic.nodes(rows[wide])] = True
    assert (nodes_mask & barred).any()

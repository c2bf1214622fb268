"""What holds for all planners, over random maps and teams."""

from __future__ import annotations

from threading import Thread

import networks
import numpy as np
import pytest
from crowds import Crowd
from hypothesis import given, settings
from hypothesis import strategies as st
from networks import site_of

from fleet_sim.base.arrays import Ints
from fleet_sim.base.errors import ConfigError, InvalidValueError, PlanError
from fleet_sim.warehouse.traffic import PLANNERS, Network, Planner, Problem, checked_plan, make_planner, rotations
from fleet_sim.warehouse.traffic.planners.guides import no_guides
from fleet_sim.warehouse.traffic.planners.pibt_step import Guidance, PibtStep, chance, run_steps

TEAMS = ["lacam", "pibt"]


@st.composite
def problems(draw: st.DrawFn, window: int | None = None) -> Problem:
    """Random maps, teams, goals that may be shared, and blocked nodes that cut nobody off."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    network = networks.random_network(rng, draw(st.integers(1, 9)), draw(st.integers(1, 9)), rng.uniform(0.5, 1.0))
    robots = draw(st.integers(1, max(len(network) * 2 // 3, 1)))
    starts, goals = networks.random_places(rng, network, robots)
    blocked = np.zeros(len(network), bool)
    if window is None:
        goals = rng.integers(0, len(network), robots)
        blocked[rng.integers(0, len(network))] = True
    asked = Problem(network, starts, goals, blocked, window=draw(st.integers(1, 12)) if window is None else window)
    goals = np.where(asked.unreachable(), starts, goals)
    return Problem(network, starts, goals, blocked, window=asked.window, seed=draw(st.integers(0, 5)), time_limit=600.0)


def planner_for(name: str, problem: Problem) -> Planner:
    more = {"most_visited": 3000} if name == "lacam" else {}
    return make_planner(name, problem.network, **more)


def planned(planner: Planner, problem: Problem) -> tuple[Ints | None, str]:
    """Return the plan, or None and why there is none."""
    try:
        return checked_plan(planner, problem), ""
    except PlanError as error:
        return None, str(error)


@pytest.mark.parametrize("name", TEAMS)
@given(problem=problems())
@settings(max_examples=60, deadline=None)
def test_windows_can_always_be_driven(name: str, problem: Problem) -> None:
    planner = planner_for(name, problem)
    paths, refusal = planned(planner, problem)
    if paths is None:
        # A plan to the end there may not be; within a window the others always have one.
        assert name == "lacam" and ("there is no plan" in refusal or "LaCAM has found no plan among" in refusal)
        return
    assert paths.shape == (len(problem), problem.window + 1)
    assert rotations(paths) == []
    again = planner_for(name, problem).plan(problem)
    assert again.tolist() == paths.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("name", TEAMS)
@given(problem=problems(window=0))
@settings(max_examples=60, deadline=None)
def test_plans_to_the_end_arrive_or_are_refused(name: str, problem: Problem) -> None:
    paths, refusal = planned(planner_for(name, problem), problem)
    if paths is None:
        assert any(said in refusal for said in ("PIBT has not", "LaCAM has found", "there is no plan"))
    else:
        assert paths[:, -1].tolist() == problem.goals.tolist() and rotations(paths) == []


def test_of_robots_with_the_same_chance_the_first_goes_first_without_compiled_code_too() -> None:
    with np.errstate(over="ignore"):
        chances = np.array([chance.in_python(np.uint64(0), robot, 0) for robot in range(4000)])
    order = np.argsort(chances, kind="stable")
    equal = np.flatnonzero(np.diff(chances[order]) == 0.0)
    pairs = np.column_stack((order[equal], order[equal + 1]))
    # Both want to the cell between them; all others have one of their own.
    count = len(pairs)
    alone = [(".@" * 2 * count), "@@" * 2 * count] * (2000 // count)
    network = networks.grid_network("\n".join(["...@" * count, "@@@@" * count, *alone]))
    starts = np.full(4000, -1)
    starts[pairs] = 3 * np.arange(count)[:, None] + [0, 2]
    starts[starts < 0] = 3 * count + np.arange(4000 - 2 * count)
    goals, steps = starts.copy(), np.zeros((1, len(network)), np.int32)
    goals[pairs], steps[0, starts[pairs]] = 3 * np.arange(count)[:, None] + 1, 1
    problem = Problem(network, starts, goals, np.zeros(len(network), bool))
    guidance, then = Guidance(steps, np.zeros(4000, int), no_guides()), np.empty((4000, 1), int)
    asked = PibtStep(network).arrays(problem), starts.copy(), goals, guidance, np.zeros(4000, int), np.uint64(3)
    with np.errstate(over="ignore"):
        run_steps.in_python(*asked, False, False, False, then)
    assert count > 10 and (then[pairs, 0] == np.column_stack((goals[pairs[:, 0]], starts[pairs[:, 1]]))).all()


def all_places(network: Network, starts: Ints) -> set[tuple[int, ...]]:
    """Return all places that robots can get to, by trying every move of everyone."""
    seen, waiting = {tuple(starts.tolist())}, [tuple(starts.tolist())]
    ways = [[node, *(end for end in ends if end >= 0)] for node, ends in enumerate(network.neighbours.tolist())]
    while waiting:
        now = waiting.pop()
        choices: list[tuple[int, ...]] = [()]
        for node in now:
            choices = [(*then, end) for then in choices for end in ways[node] if end not in then]
        for then in choices:
            if then not in seen and not rotations(np.array([now, then]).T) and not swaps(now, then):
                seen.add(then)
                waiting.append(then)
    return seen


def swaps(now: tuple[int, ...], then: tuple[int, ...]) -> bool:
    at = {node: robot for robot, node in enumerate(now)}
    return any(end != node and end in at and then[at[end]] == node for node, end in zip(now, then, strict=True))


@pytest.mark.parametrize("seed", range(10))
def test_lacam_finds_a_plan_exactly_where_there_is_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = networks.random_network(rng, 2, 4, 0.7)
    starts, goals = networks.random_places(rng, network, int(rng.integers(1, min(len(network), 5) + 1)))
    problem = Problem(network, starts, goals, time_limit=600.0)
    if tuple(goals.tolist()) in all_places(network, starts):
        assert checked_plan(make_planner("lacam", network), problem)[:, -1].tolist() == goals.tolist()
    else:
        with pytest.raises(PlanError, match="there is no plan"):
            make_planner("lacam", network).plan(problem)


@given(seed=st.integers(0, 2**32))
@settings(max_examples=25, deadline=None)
def test_refined_plans_are_sound_and_cheaper(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = networks.random_network(rng, 7, 7, 0.9)
    starts, goals = networks.random_places(rng, network, len(network) // 3)
    problem = Problem(network, starts, goals, time_limit=600.0)
    rough, fine = make_planner("lacam", network), make_planner("lacam", network, refinements=200)
    first, refined = checked_plan(rough, problem), checked_plan(fine, problem)
    assert rotations(refined) == []
    assert cost(refined) + fine.figures()["refined_steps"] == cost(first)
    assert make_planner("lacam", network, refinements=200).plan(problem).tolist() == refined.tolist()


def cost(paths: Ints) -> int:
    """Return the sum of the steps until each robot is where it stays."""
    return sum(max([step for step in range(1, len(path)) if path[step - 1] != path[-1]], default=0) for path in paths)


def test_refinement_saves_much() -> None:
    rng = np.random.default_rng(2)
    network = networks.random_network(rng, 16, 16, 0.85)
    starts, goals = networks.random_places(rng, network, 70)
    problem = Problem(network, starts, goals, time_limit=600.0)
    least = sum(int(network.distances(int(goal))[start]) for start, goal in zip(starts, goals, strict=True))
    rough = checked_plan(make_planner("lacam", network), problem)
    fine = checked_plan(make_planner("lacam", network, refinements=3000), problem)
    assert least <= cost(fine) < 1.35 * least < cost(rough)


@pytest.mark.parametrize("name", [*TEAMS, "astar"])
def test_goals_without_a_way_are_refused_with_one_error(name: str) -> None:
    network = networks.grid_network("..#..")
    with pytest.raises(PlanError, match="no way leads to the goal of robot 0"):
        make_planner(name, network).plan(Problem(network, np.array([0]), np.array([3]), window=5))


@pytest.mark.parametrize("name", [*TEAMS, "astar"])
def test_every_planner_keeps_the_contract(name: str) -> None:
    network = networks.grid_network()
    planner = make_planner(name, network)
    there = Problem(network, np.array([4]), np.array([4]))
    assert checked_plan(planner, there).tolist() == [[4, 4]]
    for window in (0, 3, 40):
        far = Problem(network, np.array([0]), np.array([39]), window=window)
        paths = checked_plan(planner, far)
        steps = int(network.distances(39)[0])
        assert paths.shape[1] == (window or steps) + 1
        assert paths[0, min(window or steps, steps)] == 39 or window == 3
    assert isinstance(planner.figures(), dict)
    assert set(PLANNERS) == {*TEAMS, "astar", "external"}


def test_astar_is_for_one_robot() -> None:
    network = networks.grid_network()
    with pytest.raises(PlanError, match="astar plans for one robot, not for 2"):
        make_planner("astar", network).plan(Problem(network, np.array([0, 1]), np.array([5, 6])))


def test_plans_are_refined_on_grids_only() -> None:
    network = networks.roadmap_network([(5, 10), (15, 10)], [(0, 1), (1, 0)])
    with pytest.raises(InvalidValueError, match="refinements: paths are refined on grids only"):
        make_planner("lacam", network, refinements=5)


@pytest.mark.parametrize("name", TEAMS)
def test_roadmaps_with_claims_are_planned_on(name: str) -> None:
    # Two parallel lanes nearer than two robots, a crossing, and a parking place beside a lane.
    points = [(5, 10), (15, 10), (10, 5), (10, 15), (7, 10.5), (7, 13), (20, 10), (20, 20), (10, 20), (5, 20)]
    pairs = [(0, 1), (2, 3), (4, 5), (1, 6), (6, 7), (7, 8), (3, 8), (8, 9), (0, 9), (5, 9)]
    network = networks.roadmap_network(points, [lane for a, b in pairs for lane in ((a, b), (b, a))])
    assert network.claims
    starts, goals = np.array([0, 2, 4, 7]), np.array([1, 3, 4, 0])
    planner = make_planner(name, network)
    for _ in range(40):
        starts = checked_plan(planner, Problem(network, starts, goals, window=6, time_limit=600.0))[:, -1]
    assert starts.tolist() == goals.tolist()


@pytest.mark.parametrize("name", [*TEAMS, "astar"])
def test_planners_in_two_threads_use_the_tables_of_a_network_one_after_the_other(name: str) -> None:
    # One that was given up as late is still at work while the next one plans.
    network = networks.grid_network()
    planner, plans = make_planner(name, network), list[Ints]()
    problem = Problem(network, np.array([0]), np.array([39]), window=4, time_limit=600.0)
    expected = planner.plan(problem).tolist()
    thread = Thread(target=lambda: plans.append(make_planner(name, network).plan(problem)))
    with network.lock:
        thread.start()
        thread.join(0.2)
        assert plans == []
    thread.join()
    assert plans[0].tolist() == expected


def test_guides_of_lacam_lead_robots_other_ways() -> None:
    rng = np.random.default_rng(4)
    network = networks.random_network(rng, 16, 16, 0.95)
    starts, goals = networks.random_places(rng, network, 60)
    problem = Problem(network, starts, goals, time_limit=600.0)
    guided, plain = (checked_plan(make_planner("lacam", network, guides=on), problem) for on in (True, False))
    assert guided.tolist() != plain.tolist()


# ---- PIBT: steps that robots may drive, and that bring them to their goals -------------------------------------------


def lifelong(network: Network, robots: int, calls: int, window: int = 1, **settings: object) -> tuple[Ints, list[Ints]]:
    """Let robots get a new goal whenever they arrive; returns how often each did, and all plans."""
    rng = np.random.default_rng(robots)
    starts, goals = networks.random_places(rng, network, robots)
    planner, arrivals, plans = make_planner("pibt", network, **settings), np.zeros(robots, int), []
    for _ in range(calls):
        paths = checked_plan(planner, Problem(network, starts, goals, window=window))
        plans.append(paths)
        starts = paths[:, -1]
        there_mask = starts == goals
        arrivals += there_mask
        goals = np.where(there_mask, rng.integers(0, len(network), robots), goals)
    return arrivals, plans


@pytest.mark.parametrize("allow_rotations", [False, True])
def test_every_robot_arrives_again_and_again(allow_rotations: bool) -> None:
    network = networks.grid_network("\n".join(["." * 12] * 12))
    arrivals, plans = lifelong(network, 70, 300, allow_rotations=allow_rotations)
    assert arrivals.min() >= 3
    assert any(rotations(paths) for paths in plans) == allow_rotations


def corridor(length: int) -> Network:
    """Return nodes in a row."""
    ahead, back = np.arange(1, length + 1), np.arange(-1, length - 1)
    ahead[-1] = -1
    return Network(np.stack((np.arange(length), np.zeros(length)), axis=1), np.stack((ahead, back), axis=1))


def test_a_plan_to_the_end_arrives_or_says_so() -> None:
    network = networks.grid_network()
    starts, goals = networks.random_places(np.random.default_rng(1), network, 8)
    paths = checked_plan(make_planner("pibt", network), Problem(network, starts, goals))
    assert paths[:, -1].tolist() == goals.tolist()
    blocked = networks.grid_network("....")
    with pytest.raises(PlanError, match="PIBT has not brought all robots to their goals in 50 steps"):
        make_planner("pibt", blocked, most_steps=50).plan(Problem(blocked, np.array([0, 1]), np.array([1, 0])))


def test_a_search_of_lacam_ends_after_the_nodes_that_it_may_look_at() -> None:
    network = corridor(9)
    starts, goals = np.arange(4), np.arange(4)[::-1].copy()
    lacam = make_planner("lacam", network)
    for most, reason in ((100.0, "among 100 nodes; a message may ask for no more"), (1e6, "there is no plan")):
        with pytest.raises(PlanError, match=reason):
            lacam.plan(Problem(network, starts, goals, most_work=most, time_limit=600.0))


def test_windows_that_lacam_cannot_solve_are_pibts() -> None:
    network = corridor(9)
    starts, goals = np.arange(4), np.arange(4)[::-1].copy()
    # All places tried, and not tried long enough.
    for limits in ({}, {"tries": 3}):
        lacam = make_planner("lacam", network, **limits)
        for _ in range(2):
            assert checked_plan(lacam, Problem(network, starts, goals, window=5)).shape == (4, 6)
        assert lacam.figures()["fallbacks"] == 2.0
    free = Problem(network, starts, starts + 5, window=5)
    assert checked_plan(lacam, free).shape == (4, 6) and lacam.figures()["fallbacks"] == 3.0
    assert make_planner("lacam", network).plan(free)[:, -1].tolist() == (starts + 5).tolist()


def test_priorities_stay_with_robots_when_rows_change() -> None:
    # In a corridor the one who has waited longer gets his way, whichever row it is in.
    network = corridor(10)
    for patient, row in ((7, 1), (1, 0)):
        planner = make_planner("pibt", network)
        alone = Problem(network, np.array([4 + (row == 0)]), np.array([9 * row]), window=1, ids=np.array([patient]))
        for _ in range(3):
            planner.plan(alone)
        both = Problem(network, np.array([5, 4]), np.array([0, 9]), window=3, ids=np.array([1, 7]))
        first, second = planner.plan(both)[:, -1].tolist()
        assert (second > 4) == (patient == 7) and (first < 5) == (patient == 1)


def test_settings_are_checked() -> None:
    network = corridor(4)
    with pytest.raises(ConfigError, match="allow_rotation"):
        make_planner("pibt", network, allow_rotation=True)
    close = networks.roadmap_network([(5, 5), (15, 5), (10, 5.5)], [(0, 1), (2, 1)])
    with pytest.raises(InvalidValueError, match="too near"):
        make_planner("pibt", close, allow_rotations=True)


# ---- Robots that carry something wide keep off the places where something stands that others pass under --------------


FLOOR = """
............
............
............
............
............
............
"""
SHELVES = [(2, 1), (2, 2), (2, 3), (3, 1), (3, 2), (3, 3), (6, 1), (6, 2), (6, 3), (7, 1), (7, 2), (7, 3)]


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

"""Networks: where robots may stand and move, and how far it is."""

from __future__ import annotations

import heapq
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import networks
import numpy as np
import pytest
from crowds import Crowd
from networks import site_of

from fleet_sim.base.arrays import Bools, Ints
from fleet_sim.base.errors import ConfigError, InvalidValueError, PlanError
from fleet_sim.warehouse.sites import Grid, Roadmap, Site, Zone, ZoneKind
from fleet_sim.warehouse.traffic import Network, Problem, check_paths, checked_plan, make_planner
from fleet_sim.warehouse.traffic.planners.pibt import Pibt
from fleet_sim.warehouse.traffic.planners.planner import Planner
from fleet_sim.warehouse.traffic.planners.refinement import fits_words


def moves(network: Network) -> set[tuple[int, int]]:
    return {(node, end) for node, ends in enumerate(network.neighbours.tolist()) for end in ends if end >= 0}


def test_free_cells_are_nodes_and_next_to_those_beside_them() -> None:
    network = networks.grid_network("..#\n...")
    assert network.cells.tolist() == [0, 1, 3, 4, 5]
    assert moves(network) == {(0, 1), (1, 0), (0, 2), (2, 0), (1, 3), (3, 1), (2, 3), (3, 2), (3, 4), (4, 3)}
    assert network.positions.tolist() == [[0.5, 1.5], [1.5, 1.5], [0.5, 0.5], [1.5, 0.5], [2.5, 0.5]]


def test_zones_are_kept() -> None:
    square = [(1.0, 0.0), (2.0, 0.0), (2.0, 1.0), (1.0, 1.0)]
    grid = Grid(np.ones((1, 4), bool))
    one_way = Network.of_grid(Site("s", grid, zones=(Zone("east", ZoneKind.ONE_WAY, square, direction=0.0),)), 0.4)
    assert moves(one_way) == {(0, 1), (1, 2), (2, 3), (3, 2)}
    no_go = Network.of_grid(Site("s", grid, zones=(Zone("pit", ZoneKind.NO_GO, square),)), 0.4)
    assert no_go.cells.tolist() == [0, 2, 3] and moves(no_go) == {(1, 2), (2, 1)}


def test_robots_larger_than_cells_are_refused() -> None:
    with pytest.raises(InvalidValueError, match=r"cells of at least 1\.2 m"):
        Network.of_grid(networks.site_of("...."), 0.6)
    with pytest.raises(InvalidValueError, match="no cell with room"):
        Network.of_grid(Site("s", Grid(np.zeros((2, 2), bool))), 0.4)


def test_points_find_their_cell_or_a_node_near_them() -> None:
    network = networks.grid_network("..#\n...")
    assert network.node_at(np.array([[0.1, 1.9], [2.5, 1.5], [2.9, 0.2], [9.0, 9.0]])).tolist() == [0, -1, 4, -1]
    lanes = networks.roadmap_network([(5, 5), (10, 5)], [(0, 1)])
    assert lanes.node_at(np.array([[5.2, 5.2], [7.0, 5.0], [10.0, 4.6]])).tolist() == [0, -1, 1]


def test_lanes_claim_the_nodes_and_lanes_that_are_too_near() -> None:
    # A lane that passes a parking place, and one that crosses it.
    points = [(5.0, 5.0), (15.0, 5.0), (10.0, 5.5), (12.0, 2.0), (12.0, 8.0), (12.0, 20.0)]
    network = networks.roadmap_network(points, [(0, 1), (3, 4), (4, 5)])
    width = network.neighbours.shape[1]
    along, across, onward = network.claims.of(0), network.claims.of(3 * width), network.claims.of(4 * width)
    assert along[0] == 2 and along[1] == across[0] >= len(network)
    assert len(onward) == 0


def test_lanes_that_are_too_narrow_are_left_out() -> None:
    free = np.ones((20, 20), bool)
    free[9, 5:15] = False
    roadmap = Roadmap(np.array([(10.0, 5.0), (10.0, 15.0), (2.0, 15.0)]), np.array([(0, 1), (1, 2), (1, 2)]))
    network = Network.of_roadmap(Site("s", Grid(free), roadmap=roadmap), 0.4)
    assert moves(network) == {(1, 2)}
    with pytest.raises(InvalidValueError, match="no roadmap"):
        Network.of_roadmap(Site("s", Grid(free)), 0.4)


@pytest.mark.parametrize("neighbours", [[[1], [5]], [[1]], [[0], [1]], [[-2], [0]]])
def test_neighbours_that_are_none_are_refused(neighbours: list[list[int]]) -> None:
    with pytest.raises(InvalidValueError, match="neighbours"):
        Network(np.zeros((2, 2)), np.array(neighbours))


# ---- roads -----------------------------------------------------------------------------------------------------------


AGAINST = 3
SHELVES = ".........\n.###.###.\n.........\n.###.###.\n........."


def cost(network: Network, begin: int, end: int) -> int:
    """Return what the move between two neighbours counts as."""
    return int(network.guided_tables(AGAINST).to(end)[begin])


def test_rows_of_an_open_floor_lead_to_and_fro_in_turns() -> None:
    network = networks.grid_network("....\n....\n....")
    nodes = np.arange(12).reshape(3, 4)
    onward = [cost(network, row[1], row[2]) for row in nodes.tolist()]
    assert onward in ([1, 3, 1], [3, 1, 3])
    assert [cost(network, row[2], row[1]) for row in nodes.tolist()] == [4 - there for there in onward]
    columns = [cost(network, column[0], column[1]) for column in nodes.T.tolist()]
    assert columns in ([1, 3, 1, 3], [3, 1, 3, 1])


def test_roads_between_shelves_take_turns_and_not_their_rows() -> None:
    network = networks.grid_network(SHELVES)
    # Every second row is a road.
    firsts = network.node_at(network.positions[network.positions[:, 0] == network.positions[:, 0].min()])
    roads = sorted(firsts.tolist(), key=lambda node: float(network.positions[node, 1]))[::2]
    onward = [int(network.node_at(network.positions[[node]] + [1.0, 0.0])[0]) for node in roads]
    costs = [cost(network, node, end) for node, end in zip(roads, onward, strict=True)]
    assert costs in ([1, 3, 1], [3, 1, 3])


def least(count: int, moves: dict[tuple[int, int], int], blocked: Bools, goal: int) -> list[int]:
    """Return the least sums by Dijkstra's algorithm, -1 where there is no way."""
    found = [-1] * count
    queue = [(0, goal)]
    while queue:
        away, node = heapq.heappop(queue)
        if found[node] >= 0:
            continue
        found[node] = away
        if not blocked[node]:
            for (begin, end), more in moves.items():
                if end == node and found[begin] < 0:
                    heapq.heappush(queue, (away + more, begin))
    return found


def test_without_a_grid_or_against_1_all_moves_count_as_one() -> None:
    network = networks.grid_network(SHELVES)
    assert network.guided_tables(1) is network.tables
    lanes = Network(network.positions, network.neighbours)
    assert lanes.guided_tables(AGAINST) is lanes.tables


def test_robots_of_pibt_get_more_done_on_roads() -> None:
    network = networks.grid_network("\n".join((SHELVES, SHELVES)))
    assert done(network, 24, against=3) > done(network, 24, against=1)


def done(network: Network, robots: int, **settings: object) -> int:
    """Return how often robots arrive that get new goals, in 400 steps."""
    rng = np.random.default_rng(1)
    starts, goals = networks.random_places(rng, network, robots)
    planner, arrivals = make_planner("pibt", network, **settings), 0
    for _ in range(400):
        starts = checked_plan(planner, Problem(network, starts, goals, window=1))[:, -1]
        there_mask = starts == goals
        arrivals += int(there_mask.sum())
        goals = np.where(there_mask, rng.integers(0, len(network), robots), goals)
    return arrivals


def test_a_move_counts_as_one_step_at_least() -> None:
    with pytest.raises(ConfigError, match="against"):
        make_planner("pibt", networks.grid_network(".."), against=0)


# ---- first plan ------------------------------------------------------------------------------------------------------


# Kernels tell which forms of their machine code there are, in a process in which none has any at first.
PROGRAM = """
import sys
import numpy as np
from fleet_sim.base.kernels import Kernel, compile_at_first_call
from fleet_sim.warehouse.sites import Grid, Site
from fleet_sim.warehouse.traffic import Network, Problem
from fleet_sim.warehouse.traffic.planning import Planning
from fleet_sim.warehouse.traffic.settings import TrafficSettings

codes = {}
machine_code = Kernel.machine_code

def told(kernel):
    codes[kernel.function.__name__] = machine_code(kernel)
    return codes[kernel.function.__name__]

def forms():
    # The types that each kernel has machine code for.
    return {(name, str(types)) for name, code in codes.items() for types in code.signatures}

Kernel.machine_code = told
compile_at_first_call()
network = Network.of_grid(Site("yard", Grid(np.ones((6, 6), bool))), radius=0.3)
planning = Planning(network, TrafficSettings(planner=sys.argv[1], settings=eval(sys.argv[2])))
before = forms()
assert before
robots = np.arange(1 if sys.argv[1] == "astar" else 6)
paths, took = planning.plan(Problem(network, robots, 35 - robots, window=10, seed=1))
assert paths is not None, planning.last_refusal
print(sorted(forms() - before))
"""
OWN = """
import numpy as np
from fleet_sim.warehouse.traffic import Planner

class Waiting(Planner):
    def plan(self, problem):
        self.network.distances(int(problem.goals[0]))
        return np.repeat(problem.starts[:, None], problem.window + 1, axis=1)
"""


@pytest.mark.parametrize(
    ("planner", "settings"),
    [("pibt", "{}"), ("lacam", "{'refinements': 5}"), ("astar", "{}"), ("my_own:Waiting", "{}")],
)
def test_the_first_plan_compiles_nothing(tmp_path: Path, planner: str, settings: str) -> None:
    (tmp_path / "my_own.py").write_text(OWN)
    command = [sys.executable, "-c", PROGRAM, planner, settings]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


# ---- Where no window is set, plans reach as far as robots drive until the next one -----------------------------------


class Asked(Pibt):
    """Remembers the windows that it is asked for."""

    windows: ClassVar[list[int]] = []

    def plan(self, problem: Problem) -> Ints:
        self.windows.append(problem.window)
        return super().plan(problem)


class AskedAsAny(Asked):
    """The same with the horizon of planners that say nothing about it."""

    window_for = Planner.window_for


@pytest.mark.parametrize(
    ("speed", "period", "settings", "pibt", "others"),
    [
        # Two cells in a second and one to stop, on cells of 1 m.
        (2.0, 1.0, {}, 5, 10),
        (4.0, 3.0, {}, 18, 18),
        (0.5, 0.5, {}, 4, 10),
        (2.0, 1.0, {"policy": "on_demand"}, 10, 10),
        (2.0, 1.0, {"window": 7}, 7, 7),
    ],
)
def test_the_window_follows_from_speed_and_period(
    speed: float, period: float, settings: dict[str, Any], pibt: int, others: int
) -> None:
    for planner, expected in ((Asked, pibt), (AskedAsAny, others)):
        name = f"{__name__}:{planner.__name__}"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(planner, "windows", [])
            crowd = Crowd(
                site_of("......\n......"), 3, robots={"max_linear_vel": speed}, planner=name, period=period, **settings
            )
            crowd.roam()
            crowd.run(2.0 * period + 0.2)
            # The first one is that which loads machine code.
            assert set(planner.windows[1:]) == {expected}


# ---- Problems and plans that robots must not be given ----------------------------------------------------------------


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


# ---- Searches on words of bits find ways exactly as cheap as searches that look at places one by one -----------------


def test_only_grids_with_moves_to_the_cells_beside_are_words() -> None:
    network = networks.grid_network("...\n...")
    assert fits_words(network)
    assert not fits_words(Network(network.positions, network.neighbours))
    far = Network(np.zeros((3, 2)), np.array([[2], [0], [1]]), np.arange(3), grid=Grid(np.ones((1, 3), bool)))
    assert not fits_words(far)

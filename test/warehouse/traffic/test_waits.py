"""Who waits for whom, in words and in figures; and what is driven while a plan is made."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from crowds import Crowd
from networks import site_of

from fleet_sim.base.arrays import Ints
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.warehouse.sites import Grid, Site, Zone, ZoneKind
from fleet_sim.warehouse.traffic import Problem, make_planner
from fleet_sim.warehouse.traffic.figures import FigureCollector
from fleet_sim.warehouse.traffic.network import Network
from fleet_sim.warehouse.traffic.planning import Pace, kept_for

ROBOT = {"shape": {"shape_type": "cylinder", "radius": 0.3, "height": 0.3}, "motion_mode": "differential"}


def row_of(folder: Path, count: int, length: int = 8) -> MultiRobotSimulationCore:
    """Return robots "0", "1" ... in a row of cells, in which none can pass another."""
    (folder / "row.map").write_text(f"type octile\nheight 1\nwidth {length}\nmap\n{'.' * length}\n")
    robots = [{**ROBOT, "name": str(x), "pose": [x + 0.5, 0.5, 0.15]} for x in range(count)]
    simulation = {"gui": False, "timestep": 0.1, "target_rtf": 0}
    return MultiRobotSimulationCore.from_dict(
        {"simulation": simulation, "site": str(folder / "row.map"), "robots": robots, "traffic": {}}
    )


def test_a_chain_of_waits_ends_at_the_one_that_stands(tmp_path: Path) -> None:
    with row_of(tmp_path, 3) as sim:
        traffic, agents = sim.get_manager("traffic"), sim.agents
        traffic.stop(agents[2])
        for agent, node in zip(agents[:2], (6, 7), strict=True):
            traffic.send(agent, (node + 0.5, 0.5))
        for _ in range(30):
            sim.step_once()
        assert traffic.explain(agents[0]) == "0 waits for 1, which waits for 2, which stands at (2.5, 0.5)"
        assert [traffic.waits_for(agent) for agent in agents] == [agents[1], agents[2], None]
        names, blockers = sim.get_snapshot().names, sim.get_snapshot().blockers
        assert [names[index] if index >= 0 else None for index in blockers[:3].tolist()] == ["1", "2", None]
        traffic.send(agents[2], (7.5, 0.5))
        for _ in range(30):
            sim.step_once()
        assert "drives at" in traffic.explain(agents[2]) or "has arrived" in traffic.explain(agents[2])


def test_robots_that_starve_are_counted_once_a_wait() -> None:
    found = FigureCollector(Grid(np.ones((1, 4), bool), 1.0), deadlock_after=5.0)
    robots, points = np.arange(2), np.array([[0.5, 0.5], [2.5, 0.5]])
    found.begin(robots, points)
    told = []
    for step in range(100):
        # The first waits all the time, but for one step; the second drives.
        codes = np.array([0 if step == 50 else 1, 0])
        told += [(step, robot) for robot in found.observe(0.5, robots, points, codes).tolist()]
    # Four times 5 s, of steps of 0.5 s.
    assert told == [(39, 0), (90, 0)] and found.standstill.starved == 2


def test_nobody_is_held_back_on_a_one_way_lane() -> None:
    free = np.ones((3, 9), bool)
    free[0, :] = free[1, 4:] = False
    aisle = Zone("aisle", ZoneKind.ONE_WAY, [(4, 0), (9, 0), (9, 1), (4, 1)], direction=0.0)
    network = Network.of_grid(Site("hall", Grid(free, cell=1.0), zones=(aisle,)), 0.3)
    nodes = network.node_at(np.array([[x + 0.5, 0.5] for x in (5, 6)] + [[1.5, 1.5]]))
    goals = np.full(3, int(network.node_at(np.array([[8.5, 0.5]]))[0]))
    made = make_planner("pibt", network, queue=1)
    paths = made.plan(Problem(network, nodes, goals, window=1))
    # The two on the way drive on, the one in the open waits its turn.
    assert (paths[:, 1] != paths[:, 0]).tolist() == [True, True, False]


def plan_of(crowd: Crowd, steps: int) -> Ints:
    """Return a plan of PIBT for the robots of a crowd to random goals."""
    network, random = crowd.traffic.network, np.random.default_rng(7)
    starts = crowd.traffic.nodes(crowd.traffic.rows)
    return make_planner("pibt", network).plan(
        Problem(network, starts, random.permutation(len(network))[: len(starts)], window=steps)
    )


@pytest.mark.parametrize("seconds", [0.0, 1.5, 3.0, 60.0])
def test_what_is_kept_of_a_plan_can_be_driven_in_its_order(seconds: float) -> None:
    crowd = Crowd(site_of(" ".join(["." * 9] * 9)), 40, seed=5)
    paths = plan_of(crowd, 12)
    count, network = len(paths), crowd.traffic.network
    ready = np.zeros(count)
    ready[:5] = np.inf
    pace = Pace(ready, np.full(count, 0.5), np.full(count, 0.5), np.full(count, 0.4), np.zeros(count))
    kept = kept_for(paths, np.full(count, -1), np.zeros(len(network), bool), network.positions, pace, seconds)
    assert (kept[:5] == paths[:5, :1]).all()
    uses: dict[int, list[int]] = {}
    for step in range(kept.shape[1]):
        # No two at a node, and what is driven is the beginning of what was planned.
        assert len(set(kept[:, step].tolist())) == count
        for robot in range(count):
            if step and kept[robot, step] != kept[robot, step - 1]:
                uses.setdefault(int(kept[robot, step]), []).append(robot)
                assert kept[robot, : step + 1].tolist() == paths[robot, : step + 1].tolist()
    for node, robots in uses.items():
        planned = [r for t in range(1, 13) for r in np.flatnonzero((paths[:, t] == node) & (paths[:, t - 1] != node))]
        assert planned[: len(robots)] == robots
    moves = int((kept[:, 1:] != kept[:, :-1]).sum())
    # At 0.5 s a cell most make a move at once.
    assert moves > 20

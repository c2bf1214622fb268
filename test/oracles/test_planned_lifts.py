"""Planned traffic in a building: from poses alone no robots overlap, and who changes the floor is alone in a cabin."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import two_floors
from oracle_rows import holds
from two_floors import FLOOR, HEIGHT, RADIUS

import fleet_sim as fs
from fleet_sim.warehouse.orders.run_figures import figure_source

STEP = 0.25


def run(config: dict[str, Any], most: float) -> tuple[fs.MultiRobotSimulationCore, np.ndarray, Any]:
    """Run until all orders are done; return the simulation, the poses (T, R, 3) of robots, and the gathered run."""
    sim = fs.MultiRobotSimulationCore.from_dict(config)
    orders, rows = sim.get_manager("orders"), np.array([robot.row for robot in sim.agents])
    gathered, poses = figure_source(sim), [sim.world.position[rows].copy()]
    while sim.sim_time < most and orders.figures()["orders"]["done"] < len(orders):
        sim.step_once()
        poses.append(sim.world.position[rows].copy())
    return sim, np.array(poses), gathered


def least_gap(poses: np.ndarray) -> float:
    """Return the least gap between discs of which one is not a storey above the other, between poses too."""
    found = np.inf
    first, second = np.triu_indices(poses.shape[1], 1)
    for before, after in pairwise(poses):
        begin, end = before[first] - before[second], after[first] - after[second]
        way = end[:, :2] - begin[:, :2]
        share = -(begin[:, :2] * way).sum(axis=1) / np.maximum((way * way).sum(axis=1), 1e-12)
        nearest = begin[:, :2] + np.clip(share, 0.0, 1.0)[:, None] * way
        level = np.minimum(np.abs(begin[:, 2]), np.abs(end[:, 2])) < HEIGHT
        gaps = np.hypot(nearest[:, 0], nearest[:, 1])[level] - 2.0 * RADIUS
        found = min(found, float(gaps.min(initial=np.inf)))
    return found


def rides(poses: np.ndarray, lifts: dict[str, tuple[float, float]]) -> dict[str, int]:
    """Return how often robots changed the floor in each lift; they do it in the middle of a cabin, one at a time."""
    counts, storey = dict.fromkeys(lifts, 0), poses[0, :, 2] > 0.5 * FLOOR
    for at in poses:
        z = at[:, 2] - 0.5 * HEIGHT
        between = np.flatnonzero((z > 1e-6) & (z < FLOOR - 1e-6))
        users = [min(lifts, key=lambda name: float(np.hypot(*(at[robot, :2] - lifts[name])))) for robot in between]
        for robot, name in zip(between, users, strict=True):
            assert at[robot, :2] == pytest.approx(lifts[name], abs=1e-9)
        assert len(set(users)) == len(users)
        for robot, name in zip(between, users, strict=True):
            if storey[robot] != (z[robot] > 0.5 * FLOOR):
                storey[robot] = not storey[robot]
                counts[name] += 1
    assert ((poses[-1, :, 2] > 0.5 * FLOOR) == storey).all()
    return counts


def check(config: dict[str, Any], most: float, stand: float) -> None:
    lifts = {name: (lift["x"], lift["y"]) for name, lift in config["building"]["content"]["lifts"].items()}
    sim, poses, gathered = run(config, most)
    with sim:
        orders = sim.get_manager("orders").figures()["orders"]
        assert orders["done"] == orders["submitted"] and not orders["failed"] and sim.collisions.count == 0
        assert least_gap(poses) >= 0.0
        counted = rides(poses, lifts)
        assert min(counted.values()) > 0
        (table,) = [table for table in gathered.tables() if table.heading == "Lifts"]
        trips = {row[0]: row[1] for row in table.rows}
        # One may have left the cabin a moment ago, or not yet.
        assert all(counted[name] - 1 <= trips[name] <= counted[name] for name in lifts)
        for name, count, mean, longest, use in table.rows:
            assert 0.0 <= mean <= longest < stand and mean * count >= longest * (count > 0) - 0.01
            # Who has a lift cannot be faster than its doors and its cabin: they close, it goes, they open.
            assert 10.0 * trips[name] / sim.sim_time < 0.01 * use <= 1.0


@holds("report:tables.lifts.*", fault="warehouse/equipment/lift.py: a trip is counted when a robot takes a lift, too")
@pytest.mark.slow
def test_robots_of_two_floors_share_two_lifts() -> None:
    check(two_floors.scenario(14, 9, 8, 14, 60.0), 900.0, 300.0)


@pytest.mark.slow
def test_eighty_robots_of_two_floors_serve_all_orders() -> None:
    check(two_floors.scenario(42, 21, 80, 50, 900.0), 2400.0, 300.0)


@pytest.mark.slow
def test_a_state_saved_on_the_way_goes_on_alike(tmp_path: Path) -> None:
    with fs.MultiRobotSimulationCore.from_dict(two_floors.scenario(14, 9, 4, 6, 5.0)) as sim:
        rows = np.array([robot.row for robot in sim.agents])
        heights = sim.world.position[rows, 2]
        # Until one rides.
        while np.isin(np.round(sim.world.position[rows, 2], 6), np.round(heights, 6)).all():
            sim.step_once()
        sim.save_state(tmp_path / "state")
        ends = []
        for _ in range(2):
            sim.load_state(tmp_path / "state")
            for _ in range(200):
                sim.step_once()
            ends.append(sim.world.position[rows].tobytes())
        assert ends[0] == ends[1]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"planner": "lacam"}, "does not keep robots out of the cabins"),
        ({"network": "roadmap"}, "a roadmap cannot be planned"),
        ({"footprint": "square"}, "squares cannot be planned"),
        ({"cell": 0.35}, "whole number of times"),
    ],
)
def test_what_cannot_be_planned_in_a_building_is_refused(change: dict[str, Any], reason: str) -> None:
    config = two_floors.scenario(14, 9, 2, 0, 1.0)
    config["traffic"].update(change)
    with pytest.raises(fs.FleetSimError, match=reason):
        fs.MultiRobotSimulationCore.from_dict(config)


def test_goals_on_other_floors_need_a_height_and_arrive_by_action() -> None:
    with fs.MultiRobotSimulationCore.from_dict(two_floors.scenario(14, 9, 2, 0, 1.0)) as sim:
        robot, traffic = sim.agents[0], sim.get_manager("traffic")
        with pytest.raises(fs.InvalidValueError, match="has no height"):
            traffic.send(robot, (5.4, 3.4))
        ride = fs.MoveTo(fs.Pose((5.4, 3.4, FLOOR + 0.15)), final_orientation_align=False, route=True)
        robot.execute_action(ride)
        explained = ""
        while not ride.is_complete():
            sim.step_once()
            explained = explained or (traffic.explain(robot) if robot.get_pose().z > 1.0 else "")
        assert ride.status is fs.ActionStatus.COMPLETED
        assert robot.get_pose().position == pytest.approx((5.4, 3.4, FLOOR + 0.15), abs=1e-9)
        assert "lift_" in explained
        # In a cabin it gets out before it gives way; then it may ride back.
        robot.execute_action(fs.MoveTo(fs.Pose((5.4, 3.4, 0.15)), final_orientation_align=False, route=True))
        while robot.get_pose().z > FLOOR:
            sim.step_once()
        traffic.withdraw_goal(robot)
        while traffic.floor.rides.trips:
            sim.step_once()
        assert traffic.goal_of(robot) is not None and robot.get_pose().z == pytest.approx(0.15)


def test_places_of_one_floor_are_not_those_of_another_and_nobody_is_sent_into_a_shaft() -> None:
    with fs.MultiRobotSimulationCore.from_dict(two_floors.scenario(14, 9, 2, 0, 1.0)) as sim:
        traffic = sim.get_manager("traffic")
        sim.step_once()
        low, high = (traffic.node_of((5.4, 3.4, height)) for height in (0.0, FLOOR))
        # Robots of both floors are told places without a height in messages of VDA 5050.
        assert [traffic.node_of(traffic.beside(robot.row, 5.4, 3.4)) for robot in sim.agents] == [low, high]
        for node in (low, high):
            traffic.occupy(node)
            assert np.flatnonzero(traffic.blocked[0]).tolist() == [node]
            traffic.free(node)
        for change in (traffic.close, traffic.open, traffic.occupy, traffic.free):
            with pytest.raises(fs.InvalidValueError, match="has no height"):
                change((5.4, 3.4))
        assert traffic.close((5.4, 3.4, FLOOR)).tolist() == [high]
        assert traffic.open(((5, 3), (6, 3), (6, 4), (5, 4))).tolist() == [low, high]
        assert len(traffic.occupy((5.4, 3.4, FLOOR))) == 1
        assert len(traffic.free(((5, 3), (6, 3), (6, 4), (5, 4)))) == 2
        assert not traffic.blocked[0].any()
        # On the chart the next floor begins there.
        box = fs.ShapeParams("box", half_extents=(0.3, 0.3, 0.3))
        sim.spawn(fs.SimObjectSpawnParams(box, box, fs.Pose((22.4, 3.4, 0.3))))
        sim.spawn(fs.SimObjectSpawnParams(box, box, fs.Pose((5.4, 3.4, FLOOR + 0.3))))
        sim.step_once()
        assert np.flatnonzero(traffic.blocked[1]).tolist() == [high]
        for cabin in traffic.floor.rides.nodes.tolist():
            with pytest.raises(fs.InvalidValueError, match="is in a lift"):
                traffic.send(sim.agents[0], cabin)
            assert cabin not in traffic.shared_nodes()


def test_robots_that_ride_reach_no_higher_and_wait_where_it_is_open() -> None:
    with fs.MultiRobotSimulationCore.from_dict(two_floors.scenario(14, 9, 2, 0, 1.0)) as sim:
        robot, traffic = sim.agents[0], sim.get_manager("traffic")
        sim.step_once()
        traffic.send(robot, traffic.node_of((5.4, 3.4, FLOOR)))
        place = int(traffic.table.goal[robot.row])
        # Who waits is not next to a station: those of the building's vertices.
        stations = [traffic.node_of((x + 0.4, y + 0.4, 0.0)) for x in range(2, 12, 3) for y in (2, 4)]
        ways = traffic.network.positions[stations] - traffic.network.positions[place]
        assert np.abs(ways).max(axis=1).min() > 1.5
        traffic.close(place)
        sim.step_once()
        assert int(traffic.table.goal[robot.row]) != place
        while not 1.0 < robot.get_pose().z < FLOOR - 1.0:
            sim.step_once()
            assert sim.sim_time < 120.0
        box = fs.ShapeParams("box", half_extents=(0.3, 0.3, 0.3))
        sim.spawn(fs.SimObjectSpawnParams(box, box, fs.Pose((8.4, 3.4, 2.0))))
        sim.step_once()
        assert not traffic.blocked[1].any()


def test_robots_take_another_lift_where_somebody_stays_in_theirs_and_may_be_sent_elsewhere_before_it() -> None:
    with fs.MultiRobotSimulationCore.from_dict(two_floors.scenario(14, 9, 4, 0, 1.0)) as sim:
        traffic, (stays, _, other, _) = sim.get_manager("traffic"), sim.agents
        traffic.send(stays, traffic.node_of((5.4, 3.4, FLOOR)))
        while not 1.0 < stays.get_pose().z < FLOOR - 1.0:
            sim.step_once()
        # It is in the cabin, and the traffic drives it no more.
        traffic.leave(stays)
        for goal in ((2.4, 3.4, FLOOR), (2.4, 3.4, 0.0)):
            traffic.send(other, traffic.node_of(goal))
            begin = sim.sim_time
            while not traffic.has_arrived(other):
                sim.step_once()
                assert sim.sim_time < begin + 200.0, traffic.explain(other)
        assert sim.collisions.count == 0

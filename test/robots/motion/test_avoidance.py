"""Discs that avoid each other."""

from __future__ import annotations

import numpy as np
import pytest

from fleet_sim.base.arrays import AnyArray
from fleet_sim.robots.motion.orca import MovingDiscs, Obstacles, avoiding_velocities, nearest_ranks

DT = 0.1


def every_pair(count: int) -> tuple[AnyArray, AnyArray]:
    first, second = np.triu_indices(count, 1)
    return first.astype(np.int64), second.astype(np.int64)


def discs(x: AnyArray, y: AnyArray, vx: AnyArray, vy: AnyArray, radius: float = 0.3) -> MovingDiscs:
    return MovingDiscs(x, y, vx, vy, np.full(len(x), radius), np.ones(len(x), bool))


def nearest_gap(x: AnyArray, y: AnyArray) -> float:
    first, second = every_pair(len(x))
    return float(np.hypot(x[first] - x[second], y[first] - y[second]).min())


def run_to_goals(x: AnyArray, y: AnyArray, goal_x: AnyArray, goal_y: AnyArray, steps: int) -> tuple[float, float]:
    """Drive to goals at up to 1 m/s; returns (least distance of two centres ever, largest distance to a goal)."""
    vx, vy = np.zeros(len(x)), np.zeros(len(x))
    speeds, pairs, least = np.ones(len(x)), every_pair(len(x)), np.inf
    for _ in range(steps):
        way_x, way_y = goal_x - x, goal_y - y
        scale = 1.0 / np.maximum(np.hypot(way_x, way_y), 1.0)
        wanted = way_x * scale, way_y * scale
        vx, vy = avoiding_velocities(discs(x, y, vx, vy), pairs, wanted, speeds, horizon=3.0, dt=DT)
        assert (np.hypot(vx, vy) <= 1.0 + 1e-9).all()
        x, y = x + vx * DT, y + vy * DT
        least = min(least, nearest_gap(x, y))
    return least, float(np.hypot(goal_x - x, goal_y - y).max())


def test_discs_on_a_circle_change_places_without_touching() -> None:
    angles = np.linspace(0.0, 2.0 * np.pi, 16, endpoint=False)
    x, y = 5.0 * np.cos(angles), 5.0 * np.sin(angles)
    least, left = run_to_goals(x, y, -x, -y, 400)
    assert least >= 0.6 - 1e-6
    assert left < 0.05


def test_two_that_meet_head_on_pass_each_other() -> None:
    x, y = np.array([-4.0, 4.0]), np.zeros(2)
    least, left = run_to_goals(x, y, -x, y, 150)
    assert least >= 0.6 - 1e-6
    assert left < 0.05


def test_discs_that_overlap_part() -> None:
    x, y, still = np.array([0.0, 0.2, 0.2]), np.array([0.0, 0.0, 0.0]), np.zeros(3)
    vx, vy = still, still
    for _ in range(30):
        vx, vy = avoiding_velocities(discs(x, y, vx, vy), every_pair(3), (still, still), np.ones(3), horizon=2.0, dt=DT)
        x, y = x + vx * DT, y + vy * DT
    assert nearest_gap(x, y) >= 0.6 - 1e-6


def test_discs_that_overlap_need_not_part() -> None:
    x, y, still = np.array([0.0, 0.4]), np.zeros(2), np.zeros(2)
    for wanted, expected in (([1.0, -1.0], [0.0, 0.0]), ([-0.5, 0.3], [-0.5, 0.3])):
        vx, _ = avoiding_velocities(
            discs(x, y, still, still),
            every_pair(2),
            (np.array(wanted), still),
            np.ones(2),
            horizon=2.0,
            dt=DT,
            push_apart=False,
        )
        assert vx.tolist() == pytest.approx(expected, abs=0.01)


def test_who_does_not_yield_goes_on_and_the_other_makes_all_of_the_way() -> None:
    x, y = np.array([0.0, 3.0]), np.zeros(2)
    vx, vy = np.array([1.0, -1.0]), np.zeros(2)
    for _ in range(60):
        group = MovingDiscs(x, y, vx, vy, np.full(2, 0.3), np.array([True, False]))
        wanted = np.array([1.0, -1.0]), np.zeros(2)
        vx, vy = avoiding_velocities(group, every_pair(2), wanted, np.ones(2), horizon=2.0, dt=DT)
        assert (vx[1], vy[1]) == (-1.0, 0.0)
        x, y = x + vx * DT, y + vy * DT
        assert nearest_gap(x, y) >= 0.6 - 1e-6
    assert x[0] > x[1]


def test_without_anything_in_the_way_wishes_are_kept_to_the_bit() -> None:
    x, y, still = np.array([0.0, 50.0]), np.zeros(2), np.zeros(2)
    wanted = np.array([0.3, 0.1]), np.array([0.7, -0.9])
    vx, vy = avoiding_velocities(discs(x, y, still, still), every_pair(2), wanted, np.ones(2), horizon=2.0, dt=DT)
    assert (vx.tolist(), vy.tolist()) == (wanted[0].tolist(), wanted[1].tolist())


@pytest.mark.parametrize(("allowed", "speed"), [(-np.inf, 0.35), (0.2, 0.35), (0.6, 0.6)])
def test_walls_are_not_reached_within_the_horizon(allowed: float, speed: float) -> None:
    x, still = np.zeros(1), np.zeros(1)
    wall = Obstacles(np.array([0]), np.array([1.0]), np.array([0.0]), np.array([allowed]))
    nobody = np.empty(0, np.int64)
    vx, vy = avoiding_velocities(
        discs(x, still, still, still),
        (nobody, nobody),
        (np.ones(1), np.full(1, 0.2)),
        np.full(1, 2.0),
        horizon=2.0,
        dt=DT,
        obstacles=wall,
    )
    assert vx[0] == pytest.approx(speed)
    assert vy[0] == pytest.approx(0.2)


def test_the_same_in_company_far_away() -> None:
    random = np.random.default_rng(5)
    x, y, vx, vy = random.uniform(-1.5, 1.5, (4, 12))
    wanted = random.uniform(-1.0, 1.0, (2, 12))
    alone = avoiding_velocities(
        discs(x, y, vx, vy), every_pair(12), (wanted[0], wanted[1]), np.ones(12), horizon=2.0, dt=DT
    )
    both = [np.concatenate((values, values + (100.0 if at < 2 else 0.0))) for at, values in enumerate((x, y, vx, vy))]
    first, second = every_pair(24)
    near = (second < 12) | (first >= 12)
    twice = np.concatenate((wanted, wanted), axis=1)
    together = avoiding_velocities(
        discs(*both), (first[near], second[near]), (twice[0], twice[1]), np.ones(24), horizon=2.0, dt=DT
    )
    assert together[0][:12].tolist() == alone[0].tolist()
    assert together[1][:12].tolist() == alone[1].tolist()


def test_ranks_go_by_distance_and_then_as_they_come() -> None:
    owner = np.array([1, 0, 1, 1])
    order, ranks = nearest_ranks(owner, np.array([2.0, 1.0, 2.0, 1.5]), 3)
    assert order.tolist() == [1, 3, 0, 2]
    assert ranks.tolist() == [0, 0, 1, 2]

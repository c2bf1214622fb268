"""An independent look: over maps, planners, seeds, sizes, speeds and disturbances no two robots ever touch.

Distances are computed here from recorded places and footprints, not by the collision system.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from crowds import Crowd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from networks import site_of

import fleet_sim as fs
from fleet_sim.base.errors import PlanError
from fleet_sim.warehouse.sites import Grid, Roadmap, Site, Warehouse

HALL = """
..........
.##.##.##.
.##.##.##.
..........
.##.##.##.
..........
"""


def random_site(seed: int) -> Site:
    """A grid with a fifth of its cells blocked, turned and away from the origin."""
    rng = np.random.default_rng(seed)
    mask = rng.random((9, 11)) < 0.8
    mask[0] = True
    return Site("random", Grid(mask, 0.8, (3.0, -2.0, 0.4)))


SITES = {
    "hall": lambda seed: site_of(HALL),
    "warehouse": lambda seed: Warehouse(rows=2, columns=2, shelf_length=4, margin=2, workstations=2, chargers=2).site(),
    "random": random_site,
}
DISTURBANCES: list[dict[str, Any]] = [
    {},
    {"delays": {"probability": 0.15, "shortest": 0.0, "longest": 3.0}},
    {"slow": {"share": 0.5, "pace": 0.2}, "breakdowns": {"probability": 0.01, "after": 8.0}},
]


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 2**31),
    place=st.sampled_from(sorted(SITES)),
    disturbances=st.sampled_from(DISTURBANCES),
    half=st.sampled_from([(0.15, 0.1), (0.25, 0.2), (0.3, 0.21)]),
    speed=st.sampled_from([0.5, 2.0, 4.0]),
    omni=st.booleans(),
    period=st.sampled_from([0.3, 1.0, 2.5]),
    rotations=st.booleans(),
)
@pytest.mark.slow
def test_no_two_robots_touch(
    seed: int,
    place: str,
    disturbances: dict[str, Any],
    half: tuple[float, float],
    speed: float,
    omni: bool,
    period: float,
    rotations: bool,
) -> None:
    robots = {
        "shape": {"shape_type": "box", "half_extents": [*half, 0.15]},
        "max_linear_vel": speed,
        "motion_mode": "omnidirectional" if omni else "differential",
    }
    site = SITES[place](seed)
    # Where robots have room they may move round in circles, too, also while some of these are slow or break down.
    fits = 2.0 * float(np.hypot(*half)) + 0.02 <= site.grid.cell * np.sqrt(0.5)
    planner = {"allow_rotations": rotations and fits}
    crowd = Crowd(site, 14, seed=seed, robots=robots, disturbances=disturbances, period=period, settings=planner)
    crowd.roam()
    crowd.run(25.0)
    assert crowd.closest >= 2.0 * float(np.hypot(*half))
    assert crowd.traffic.figures()["refusals"] == 0


def test_robots_on_lanes_that_cross_and_meet_at_acute_angles_never_touch() -> None:
    points = [(2, 2), (8, 2), (14, 2), (14, 8), (14, 14), (8, 14), (2, 14), (2, 8), (8, 8), (5, 3.2), (11, 5)]
    pairs = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 0), (1, 8), (8, 5), (7, 8), (8, 3)]
    pairs += [(0, 9), (9, 8), (8, 10), (10, 2), (0, 8), (8, 4)]
    lanes = np.array(pairs + [(end, begin) for begin, end in pairs])
    site = Site("lanes", Grid(np.ones((16, 16), bool)), roadmap=Roadmap(np.array(points, float), lanes))
    for seed in range(4):
        crowd = Crowd(site, 5, seed=seed, at=np.array(points, float), disturbances=DISTURBANCES[1])
        crowd.roam()
        crowd.run(60.0)
        assert crowd.closest >= 2.0 * crowd.radius
        assert crowd.done >= 5
        assert crowd.traffic.figures()["refusals"] == 0


@pytest.mark.parametrize("seed", range(3))
def test_robots_that_leave_or_stop_on_the_way_are_never_run_into(seed: int) -> None:
    # Small ones, that follow each other closely and move round at once.
    robots = {"shape": {"shape_type": "cylinder", "radius": 0.3, "height": 0.3}}
    crowd = Crowd(site_of(HALL), 18, seed=seed, robots=robots, settings={"allow_rotations": True})
    crowd.roam()
    rng = np.random.default_rng(seed)
    # In each step no pair collides, those that left included.
    for _ in range(6):
        crowd.run(2.0 + float(rng.uniform(0.0, 1.0)))
        crowd.traffic.leave(crowd.traffic.robots[int(rng.integers(len(crowd.traffic.robots)))])
        crowd.traffic.stop(crowd.traffic.robots[int(rng.integers(len(crowd.traffic.robots)))])
    for agent in [agent for agent in crowd.agents if not crowd.traffic.takes_part(agent)]:
        crowd.sim.remove_object(agent)
    for agent in crowd.traffic.robots:
        crowd.traffic.resume(agent)
    before = crowd.done
    crowd.run(40.0)
    assert crowd.done > before + 5
    assert crowd.closest >= 0.6


# ---- rotations -------------------------------------------------------------------------------------------------------


SITE = "....\n....\n....\n...."


def half_way(**robots: Any) -> tuple[Crowd, np.ndarray, np.ndarray]:
    """Four robots of a square half way to the next one's place; their rows, and where each goes to."""
    places = np.array([(1.5, 1.5), (2.5, 1.5), (2.5, 2.5), (1.5, 2.5)])
    crowd = Crowd(site_of(SITE), 4, at=places, robots=robots, policy="given")
    rows = crowd.traffic.rows
    nodes = crowd.traffic.nodes(rows)
    around = np.array([crowd.traffic.node_of((x, y)) for x, y in places.tolist()])
    goals = np.array([np.roll(around, -1)[around.tolist().index(node)] for node in nodes.tolist()])
    crowd.traffic.drive_rows(rows, np.stack((nodes, goals), axis=1))
    table = crowd.sim.world.tables["traffic"]
    while table.progress[rows[0]] < 0.4:
        crowd.run(0.1)
    return crowd, rows, goals


def test_all_arrive_and_a_stop_on_the_way_holds_all() -> None:
    crowd, rows, goals = half_way()
    saved = crowd.sim.save_state()
    crowd.traffic.stop(crowd.agents[2])
    crowd.run(5.0)
    assert not (crowd.traffic.nodes(rows) == goals).any()
    crowd.traffic.resume(crowd.agents[2])
    crowd.run(5.0)
    assert crowd.traffic.nodes(rows).tolist() == goals.tolist()
    assert all(crowd.traffic.has_arrived(agent) for agent in crowd.agents)
    # The whole state of a rotation is in a checkpoint.
    ends = []
    for _ in range(2):
        crowd.sim.restore_state(saved)
        crowd.run(4.0)
        ends.append(crowd.sim.state_hash())
        assert crowd.traffic.nodes(rows).tolist() == goals.tolist()
    assert ends[0] == ends[1]
    assert crowd.closest >= 2.0 * crowd.radius


def test_the_others_stop_with_one_that_leaves_and_go_on_when_it_is_away() -> None:
    crowd, rows, goals = half_way()
    crowd.traffic.leave(crowd.agents[1])
    left = np.delete(np.arange(4), 1)
    before = crowd.sim.world.position[rows].copy()
    crowd.run(5.0)
    np.testing.assert_array_equal(crowd.sim.world.position[rows], before)
    # Carried away, it is in nobody's way any more.
    crowd.agents[1].set_pose(fs.Pose((0.5, 0.5, 0.15)))
    crowd.run(5.0)
    assert crowd.traffic.nodes(rows[left]).tolist() == goals[left].tolist()
    assert crowd.closest >= 2.0 * crowd.radius


def test_the_others_go_on_where_one_is_removed() -> None:
    crowd, rows, goals = half_way()
    crowd.sim.remove_object(crowd.agents[0])
    crowd.run(5.0)
    assert crowd.traffic.nodes(rows[1:]).tolist() == goals[1:].tolist()


def test_large_robots_are_told_that_they_have_no_room() -> None:
    with pytest.raises(PlanError, match="no room to move round at once"):
        half_way(shape={"shape_type": "cylinder", "radius": 0.35, "height": 0.3})

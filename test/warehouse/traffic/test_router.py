"""Routes keep away from walls: against an independent computation of the distance to every blocked cell."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from buildings import drive, scenario

import fleet_sim as fs
from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.params import ActionCause, RouteMode
from fleet_sim.warehouse.sites import Grid, Roadmap, Site, Warehouse, Zone, ZoneKind
from fleet_sim.warehouse.traffic import Router, free_space
from fleet_sim.world.routes import NoRoute


@pytest.mark.parametrize(
    ("start", "goal"),
    [((0.5, 1.5), (1.5, 0.5)), ((0.5, 1.5), (0.5, 1.0)), ((1.0, 1.5), (0.5, 1.5)), ((0.0, 1.5), (0.5, 1.5))],
    ids=["through the corner of two walls", "to an edge", "from an edge", "from the edge of the map"],
)
def test_a_point_without_extent_slips_through_nothing(start: tuple[float, float], goal: tuple[float, float]) -> None:
    free = np.array([[True, False], [False, True]])
    with pytest.raises(InvalidValueError, match=r"there is no way|too near to a wall|in a wall"):
        Router(Site("corner", Grid(free))).plan(start, goal)


def test_one_field_serves_all_that_go_to_a_goal_and_old_ones_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    site = Warehouse().site()
    places = site.grid.positions(site.grid.free_cells[::7])
    router = Router(site)
    first = [router.plan(place, places[0], 0.4).points.tolist() for place in places[1:]]
    # No room for more than one field: every route is computed anew, and is the same.
    monkeypatch.setattr(free_space, "MOST_MEMORY", 1)
    small = Router(site)
    for place, points in zip(places[1:], first, strict=True):
        small.plan(places[0], place, 0.4)
        assert small.plan(place, places[0], 0.4).points.tolist() == points


# ---- sight -----------------------------------------------------------------------------------------------------------


def away(point: Floats, low: Floats) -> float:
    """Return the distance from a point to a cell."""
    offset = np.maximum(np.maximum(low - point, point - low - 1.0), 0.0)
    return float(np.sqrt(offset @ offset))


# ---- Zones and roadmaps: what is not allowed is not driven, and limits are kept --------------------------------------


def box(x1: float, y1: float, x2: float, y2: float) -> list[list[float]]:
    return [[x1, y1], [x2, y1], [x2, y2], [x1, y2]]


def two_aisles(*zones: Zone, roadmap: Roadmap | None = None) -> Site:
    """A block of 16 x 6 cells between a lower aisle (y 0 to 3) and an upper one (y 9 to 12), open at both ends."""
    free = np.ones((12, 24), bool)
    free[3:9, 4:20] = False
    return Site("aisles", Grid(free, 1.0), roadmap, zones=zones)


def through(route: object, zone: Zone) -> bool:
    """Whether a route leads through a zone."""
    return any(zone.contains(np.linspace(one, two, 400)).any() for one, two in pairwise(route.points))  # type: ignore[attr-defined]


LOWER = box(4, 0, 20, 3)
START, GOAL = (1.5, 1.5), (22.5, 1.5)


def test_no_go_zones_are_driven_around_with_room_for_the_footprint() -> None:
    zone = Zone("wet", ZoneKind.NO_GO, np.array(box(10, 0, 12, 3)))
    assert Router(two_aisles()).plan(START, GOAL, 0.4).points.tolist() == [list(START), list(GOAL)]
    route = Router(two_aisles(zone)).plan(START, GOAL, 0.4)
    assert not through(route, zone)
    assert route.points[:, 1].max() > 9.0
    found = Router(two_aisles(zone)).find(np.array(START), np.array([11.0, 1.0]), 0.4, speed=1.0, mode=RouteMode.AUTO)
    assert isinstance(found, NoRoute) and found.cause is ActionCause.INVALID_GOAL and "no-go zone" in found.reason


def test_one_way_zones_are_not_driven_against() -> None:
    west = Zone("west", ZoneKind.ONE_WAY, np.array(LOWER), direction=np.pi)
    router = Router(two_aisles(west))
    assert router.plan(GOAL, START, 0.4).length == pytest.approx(21.0)
    there = router.plan(START, GOAL, 0.4)
    assert there.length > 30.0
    for one, two in pairwise(there.points):
        middle = west.contains(np.linspace(one, two, 50))
        assert not (middle.any() and (two - one)[0] > 1e-9)
    # Across is allowed, and out of it ahead.
    assert router.plan((10.5, 1.5), (10.5, 2.5), 0.4).length == pytest.approx(1.0)


def test_a_goal_behind_one_way_zones_has_no_route_and_says_why() -> None:
    zones = [
        Zone(f"west_{number}", ZoneKind.ONE_WAY, np.array(corners), direction=np.pi)
        for number, corners in enumerate((LOWER, box(4, 9, 20, 12)))
    ]
    with pytest.raises(InvalidValueError, match="keeps to the one-way zones"):
        Router(two_aisles(*zones)).plan(START, GOAL, 0.4)


def test_a_slow_zone_is_driven_around_where_that_is_faster() -> None:
    slow = Zone("people", ZoneKind.SPEED_LIMIT, np.array(LOWER), speed=0.3)
    route = Router(two_aisles(slow)).plan(START, GOAL, 0.4, speed=1.5)
    assert not through(route, slow)
    assert np.isinf(route.speed_limits).all()
    # For a robot that is as slow anyway, the straight way is the fastest.
    route = Router(two_aisles(slow)).plan(START, GOAL, 0.4, speed=0.3)
    assert route.length == pytest.approx(21.0)
    assert route.speed_limits.min() == 0.3


@pytest.mark.parametrize("motion", ["differential", "omnidirectional"])
def test_robots_keep_the_limit_of_a_zone(tmp_path: Path, motion: str) -> None:
    slow = Zone("people", ZoneKind.SPEED_LIMIT, np.array(box(6, 0, 9, 12)), speed=0.7)
    shape = {"shape_type": "box", "half_extents": [0.3, 0.2, 0.15]}
    robot = {"name": "amr", "motion_mode": motion, "shape": shape, "pose": [*START, 0.15], "max_linear_vel": 2.0}
    with fs.MultiRobotSimulationCore.from_yaml(scenario(tmp_path, two_aisles(slow), [robot])) as sim:
        amr = sim.agents[0]
        amr.execute_action(fs.MoveTo(fs.Pose((*GOAL, 0.15)), route=True))
        places = np.vstack(([START], drive(sim, amr)))
        speeds = np.hypot(*np.diff(places, axis=0).T) / 0.05
        # Steps that begin and end inside.
        inside = slow.contains(places)[1:] & slow.contains(places)[:-1]
        assert inside.sum() > 60
        assert speeds[inside].max() == pytest.approx(0.7)
        assert speeds[~inside].max() == pytest.approx(2.0)


# ---- roadmaps --------------------------------------------------------------------------------------------------------

NODES = [(2.5, 1.5), (21.5, 1.5), (21.5, 10.5), (2.5, 10.5)]
RING = Roadmap(np.array(NODES), np.array([(1, 0), (0, 3), (3, 2), (2, 1)]))
"""A ring around the block, one way: clockwise."""


def test_lanes_are_driven_in_their_direction() -> None:
    router = Router(two_aisles(roadmap=RING))
    for mode in ("auto", "roadmap"):
        route = router.plan(START, GOAL, 0.4, mode=mode)
        assert route.points.tolist() == [list(START), *map(list, (NODES[0], NODES[3], NODES[2], NODES[1])), list(GOAL)]
    assert router.plan(START, GOAL, 0.4, mode="grid").length == pytest.approx(21.0)
    # Between places at one node no lane is needed.
    assert len(router.plan(START, (3.0, 2.0), 0.4).points) == 2


def test_limits_of_lanes_count_for_the_way_and_for_the_robot(tmp_path: Path) -> None:
    lanes = np.array([(0, 1), (0, 3), (3, 2), (2, 1)])
    slow = Roadmap(np.array(NODES), lanes, speed_limits=np.array([0.2, 2.0, 2.0, 0.5]))
    site = two_aisles(roadmap=slow)
    route = Router(site).plan(START, GOAL, 0.4, speed=2.0)
    assert route.speed_limits[1:-1].tolist() == [2.0, 2.0, 0.5]
    shape = {"shape_type": "box", "half_extents": [0.3, 0.2, 0.15]}
    robot = {"name": "amr", "shape": shape, "pose": [*START, 0.15], "max_linear_vel": 2.0}
    with fs.MultiRobotSimulationCore.from_yaml(scenario(tmp_path, site, [robot])) as sim:
        amr = sim.agents[0]
        amr.execute_action(fs.MoveTo(fs.Pose((*GOAL, 0.15)), route="roadmap"))
        places = drive(sim, amr)
        speeds = np.hypot(*np.diff(places, axis=0).T) / 0.05
        last = (np.abs(places[1:, 0] - 21.5) < 0.01) & (places[1:, 1] < 10.4) & (places[1:, 1] > 1.6)
        assert speeds[last].max() == pytest.approx(0.5)
        assert speeds.max() == pytest.approx(2.0)


def test_lanes_through_walls_and_against_zones_are_not_driven() -> None:
    across = Roadmap(np.array([(2.5, 6.0), (21.5, 6.0)]), np.array([(0, 1)]))
    router = Router(two_aisles(roadmap=across))
    with pytest.raises(InvalidValueError, match=r"no lanes lead from \(1.5, 6\)"):
        router.plan((1.5, 6.0), (22.5, 6.0), 0.4, mode="roadmap")
    assert router.plan((1.5, 6.0), (22.5, 6.0), 0.4).length > 21.0
    west = Zone("west", ZoneKind.ONE_WAY, np.array(box(4, 9, 20, 12)), direction=np.pi)
    with pytest.raises(InvalidValueError, match="no lanes lead"):
        Router(two_aisles(west, roadmap=RING)).plan(START, GOAL, 0.4, mode="roadmap")


def test_what_cannot_be_asked_is_refused() -> None:
    router = Router(two_aisles())
    with pytest.raises(InvalidValueError, match="has no roadmap; use grid or auto"):
        router.plan(START, GOAL, mode="roadmap")
    with pytest.raises(InvalidValueError, match="got none, which drives straight"):
        router.plan(START, GOAL, mode="none")
    for wrong in ({"radius": -0.1}, {"radius": float("nan")}, {"speed": 0.0}, {"mode": "fly"}):
        with pytest.raises(InvalidValueError):
            router.plan(START, GOAL, **wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidValueError, match="goal"):
        router.plan(START, (1.0, float("inf")))
    with pytest.raises(InvalidValueError, match="outside of the map"):
        router.plan(START, (1e7, -1e7))

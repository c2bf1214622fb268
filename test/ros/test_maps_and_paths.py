"""Maps and paths of Nav2 by hand: costs by distances, windows on cells, smooth paths, and what is ahead of a twist."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import fleet_sim as fs
from fleet_sim.ros.monitoring import MapTopic
from fleet_sim.sensing.sensors import OccupancyGrid, occupancy
from fleet_sim.warehouse.nav2.maps import INSCRIBED, LETHAL, inflated, problem_with_map, window, with_boxes
from fleet_sim.warehouse.nav2.planning import SPACING, dense, headings, smoothed
from fleet_sim.warehouse.nav2.topics import free_length, projected
from fleet_sim.warehouse.sites import read_site, write_site
from fleet_sim.warehouse.sites.site import Site

pytest.importorskip("nav2_msgs.msg")


def test_costs_follow_from_the_distance_to_the_nearest_occupied_cell() -> None:
    rng = np.random.default_rng(1)
    mask = rng.random((40, 60)) < 0.01
    lines, columns = np.nonzero(mask)
    y, x = np.mgrid[:40, :60]
    away = 0.1 * np.sqrt((y[..., None] - lines) ** 2 + (x[..., None] - columns) ** 2).min(axis=-1)
    expected = np.where(away <= 0.55, (INSCRIBED - 1) * np.exp(-3.0 * (away - 0.2)), 0.0)
    expected[away <= 0.2 + 1e-9] = INSCRIBED
    expected[mask] = LETHAL
    found = inflated(mask, 0.1, 0.2 + 1e-9, 0.55)
    assert np.array_equal(found, expected.astype(np.uint8))
    assert not inflated(np.zeros((5, 5), bool), 0.1, 0.2, 0.55).any()


def test_a_window_is_on_the_cells_of_its_map_and_free_beyond() -> None:
    cells = np.arange(20, dtype=np.int8).reshape(4, 5)
    grid = OccupancyGrid(cells, (1.0, 2.0), 0.5, 0.2)
    part = window(grid, (2.0, 3.0), 1.0)
    assert part.origin == (1.5, 2.5)
    assert part.cells.tolist() == [[6, 7], [11, 12]]
    outside = window(grid, (1.0, 2.0), 1.0)
    assert outside.cells.tolist() == [[0, 0], [0, 0]]
    assert (window(grid, (99.0, 99.0), 1.0).cells == 0).all()
    marked = with_boxes(part, np.array([[1.9, 2.6]]), np.array([[2.1, 2.7]]))
    assert marked.cells.tolist() == [[100, 100], [11, 12]]
    # What is before the map, behind it or across its edge.
    boxes = np.array([[[-3.0, 2.6], [-2.4, 3.1]], [[9.0, 2.6], [9.5, 3.1]], [[2.3, 3.3], [9.0, 9.0]]])
    marked = with_boxes(part, boxes[:, 0], boxes[:, 1])
    assert marked.cells.tolist() == [[6, 7], [11, 100]]
    marked = with_boxes(part, np.array([[1.2, 2.2]]), np.array([[1.7, 2.7]]))
    assert marked.cells.tolist() == [[100, 7], [11, 12]]


def test_a_map_is_published_when_what_stands_has_moved_and_larger_cells_are_warned_of_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    maps: list[Any] = []
    warned: list[str] = []
    publisher = SimpleNamespace(publish=maps.append, get_subscription_count=lambda: 1)
    node = SimpleNamespace(
        create_publisher=lambda *_: publisher, get_logger=lambda: SimpleNamespace(warning=warned.append)
    )
    params = SimpleNamespace(map_resolution=0.1, map_height=0.2, rmf=SimpleNamespace(enabled=False))
    with fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, enable_floor=False)) as sim:
        block = fs.ShapeParams("box", half_extents=(1.05, 0.35, 0.5))
        wall = sim.spawn(fs.SimObjectSpawnParams(block, block, fs.Pose((2.0, -1.0, 0.5)), mass=0.0, pickable=False))
        bridge: Any = SimpleNamespace(sim=sim, params=params, node=node, frames=SimpleNamespace(map="map"))
        topic = MapTopic(bridge)
        for x, count in ((2.0, 1), (2.0, 1), (2.4, 2)):
            wall.set_pose(fs.Pose((x, -1.0, 0.5)))
            topic.publish(0)
            assert (len(maps), warned, maps[-1].info.resolution) == (count, [], pytest.approx(0.1))
            cells = np.array(maps[-1].data).reshape(maps[-1].info.height, maps[-1].info.width)
            taken = np.argwhere(cells == 100)[:, ::-1] * 0.1 + [getattr(maps[-1].info.origin.position, a) for a in "xy"]
            assert taken.min(axis=0) == pytest.approx((x - 1.05, -1.35), abs=0.1)
            assert taken.max(axis=0) == pytest.approx((x + 0.95, -0.75), abs=0.1)
        monkeypatch.setattr(occupancy, "MOST_CELLS", 200)
        monkeypatch.setattr(occupancy, "COARSE_CELLS", 50)
        for x in (2.9, 3.3):
            wall.set_pose(fs.Pose((x, -1.0, 0.5)))
            topic.publish(0)
        assert len(maps) == 4 and len(warned) == 1 and maps[-1].info.resolution > 0.15


ZIGZAG = np.array([(0.3, -0.2), (2.1, 0.9), (2.1, 0.9), (1.4, 2.6), (-0.7, 3.3)])


def test_points_of_a_path_are_even_and_keep_its_corners() -> None:
    points = dense(ZIGZAG)
    corners = ZIGZAG[[0, 1, 3, 4]]
    found = [int(np.flatnonzero((points == corner).all(axis=1))[0]) for corner in corners]
    assert found == sorted(found) and (found[0], found[-1]) == (0, len(points) - 1)
    for (begin, end), (one, other) in zip(pairwise(found), pairwise(corners), strict=True):
        length = math.dist(one, other)
        assert end - begin == math.ceil(length / SPACING)
        wanted = one + np.linspace(0.0, 1.0, end - begin + 1)[:, None] * (other - one)
        assert points[begin : end + 1] == pytest.approx(wanted)
    assert dense(np.array([(0.0, 0.0), (1234.0, 0.0)])).shape == (5001, 2)


def test_a_smooth_path_is_a_mean_of_its_points_where_that_is_free() -> None:
    path = dense(ZIGZAG)
    found = smoothed(ZIGZAG, lambda points: True)
    assert found[[0, -1]].tolist() == path[[0, -1]].tolist()
    assert found[5:-5] == pytest.approx(
        np.stack([path[at - 5 : at + 6].mean(axis=0) for at in range(5, len(path) - 5)])
    )
    assert np.abs(found - path).max() > 0.1
    # As wide as it can be, and the path itself where nothing is free.
    narrow = smoothed(ZIGZAG, lambda points: bool(np.abs(points - path).max() < 0.1))
    assert 0.0 < np.abs(narrow - path).max() < 0.1
    assert smoothed(ZIGZAG, lambda points: False).tolist() == path.tolist()


def test_headings_are_along_a_path_or_back() -> None:
    ways = [math.atan2(b[1] - a[1], b[0] - a[0]) for a, b in pairwise(ZIGZAG[[0, 1, 3, 4]])]
    for first, turn in ((ways[0] + 1.4, 0.0), (ways[0] - 1.4, 0.0), (ways[0] + 1.8, math.pi)):
        found = headings(ZIGZAG[[0, 1, 3, 4]], first, 0.3)
        assert found[-1] == 0.3
        assert [math.remainder(a - b - turn, 2 * math.pi) for a, b in zip(found, ways, strict=False)] == pytest.approx(
            [0.0] * 3
        )
    assert headings(ZIGZAG[:1], 1.0, 0.3).tolist() == [0.3]


def test_the_way_of_a_twist_is_an_arc() -> None:
    start, yaw, (vx, vy), turn, reach = np.array([1.2, -0.7]), 0.7, (0.8, -0.3), 0.9, 2.1
    way = projected(start, yaw, np.array([vx, vy, 0.0]), turn, reach, 400)
    speed = math.hypot(vx, vy)
    for index in (0, 100, 250, 400):
        time = index / 400 * reach / speed
        # The integral of a velocity that turns: v (e^(i w t) - 1) / (i w), turned by the yaw.
        moved = complex(vx, vy) * (np.exp(1j * turn * time) - 1.0) / (1j * turn) * np.exp(1j * yaw)
        assert way[index] == pytest.approx(start + [moved.real, moved.imag], abs=1e-5)
    assert np.linalg.norm(np.diff(way, axis=0), axis=1) == pytest.approx(reach / 400)


def test_a_disc_may_go_until_it_is_near_what_is_occupied() -> None:
    cell, radius, step = 0.05, 0.31, 0.02
    cells = np.zeros((80, 120), np.int8)
    cells[55, 90] = 100
    grid = OccupancyGrid(cells, (-1.0, -2.0), cell, 0.2)
    at = np.array([-1.0 + 90.5 * cell, -2.0 + 55.5 * cell])
    along = np.array([math.cos(0.4), math.sin(0.4)])
    for begin, aside in ((2.5, 0.0), (2.5, 0.2), (2.5, -0.3), (2.5, 0.6)):
        way = at + np.array([-along[1], along[0]]) * aside + (np.arange(150) * step - begin)[:, None] * along
        free = free_length(grid, way, radius, step)
        near = [index for index, place in enumerate(way) if math.dist(place, at) < radius + cell]
        expected = step * (near[0] - 1) if near else step * 149
        # By the middles of the cells that its places are in.
        assert free == pytest.approx(expected, abs=1.5 * cell), aside
        assert bool(near) is (abs(aside) < 0.5)
    # Too near already: away from it is free, towards it is not.
    away = at + (np.arange(60) * step + 0.2)[:, None] * along
    assert free_length(grid, away, radius, step) == pytest.approx(step * 59)
    assert free_length(grid, away[:8:][::-1], radius, step) < 3 * cell


# ---- Maps that clients of Nav2 may load: those of the walls that are there -------------------------------------------


srv = pytest.importorskip("nav2_msgs.srv")


MISSING = srv.LoadMap.Response.RESULT_MAP_DOES_NOT_EXIST
OTHER = srv.LoadMap.Response.RESULT_UNDEFINED_FAILURE


def test_the_map_of_the_walls_can_be_loaded_and_no_other(tmp_path: Path) -> None:
    free = read_site("sites/maps/two_floors.building.yaml", level="L1").grid
    write_site(Site("hall", free), tmp_path / "hall.yaml")
    write_site(Site("hall", free), tmp_path / "other.yaml")
    scenario = {"simulation": {"gui": False}, "site": str(tmp_path / "hall.yaml")}
    with fs.MultiRobotSimulationCore.from_dict(scenario) as sim:
        for url in (tmp_path / "hall.yaml", (tmp_path / "hall.yaml").as_uri()):
            assert problem_with_map(sim, str(url)) is None
        for url, code, reason in (
            ("", MISSING, "expected a path"),
            ("package://maps/floor.yaml", MISSING, "expected a path"),
            (str(tmp_path / "other.yaml"), OTHER, "load another world"),
            # Not told whether it is there.
            ("/etc/passwd", OTHER, "load another world"),
        ):
            problem = problem_with_map(sim, url)
            assert problem is not None and problem[0] == code and reason in problem[1], (url, problem)


def test_the_building_is_the_map_of_its_storeys() -> None:
    building = "sites/maps/two_floors.building.yaml"
    with fs.MultiRobotSimulationCore.from_dict({"simulation": {"gui": False}, "building": {"map": building}}) as house:
        assert problem_with_map(house, building) is None
    with fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False)) as empty:
        assert problem_with_map(empty, building) is not None

"""People against tests of the RiMEA guideline (version 4), and their speeds over density against Weidmann (1993)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fleet_sim as fs
from fleet_sim.base.arrays import Bools, Floats
from fleet_sim.warehouse.people import walking
from fleet_sim.warehouse.sites import Grid, Site, write_site

LENGTH, WIDTH, MARGIN, CELL, RADIUS = 20.0, 4.0, 5.0, 0.25, 0.2


def weidmann(density: float) -> float:
    """Return the mean speed in m/s at so many people per m2."""
    return float(1.34 * (1.0 - np.exp(-1.913 * (1.0 / density - 1.0 / 5.4))))


def speed_at(density: float, seconds: float = 24.0) -> float:
    """Return the mean speed of people in a corridor whose ends are joined, by copies of those near the ends."""
    random, law = np.random.default_rng(1), walking.Law()
    count = round(density * LENGTH * WIDTH)
    lines = int(np.ceil(np.sqrt(count * LENGTH / (WIDTH - 2 * RADIUS))))
    files = int(np.ceil(count / lines))
    steps = np.array([LENGTH / lines, (WIDTH - 2 * RADIUS) / files])
    spots = np.stack(np.meshgrid(np.arange(lines), np.arange(files), indexing="ij"), -1).reshape(-1, 2)
    places = (random.permutation(spots)[:count] + 0.5) * steps + (MARGIN, RADIUS)
    places += random.uniform(-0.5, 0.5, places.shape) * np.maximum(steps - 2 * RADIUS - 0.01, 0.0)
    places[:, 1] = np.clip(places[:, 1], RADIUS, WIDTH - RADIUS)
    blocked = np.zeros((int(WIDTH / CELL), int((LENGTH + 2 * MARGIN) / CELL)), np.bool_)
    ways = np.zeros((1, *blocked.shape, 2), np.float32)
    ground = walking.Ground(blocked, walking.tight_cells(blocked, RADIUS + 0.3, CELL), ways, CELL)
    wanted = np.clip(random.normal(1.34, 0.26, count), 0.5, 2.2)
    none = np.empty((0, 2))
    flat = np.empty(0)
    machines = walking.Machines(none, flat, none, flat, none, flat, none, flat, none)
    found = []
    for step in range(round(10.0 * seconds)):
        low, high = np.flatnonzero(places[:, 0] < 2 * MARGIN), np.flatnonzero(places[:, 0] > LENGTH)
        copies = (places, places[low] + (LENGTH, 0.0), places[high] - (LENGTH, 0.0))
        who = np.concatenate((np.arange(count), low, high))
        total = len(who)
        crowd = walking.Crowd(
            np.concatenate(copies),
            np.full(total, RADIUS),
            wanted[who],
            np.full(total, walking.AIMS, np.uint8),
            np.zeros(total, np.int64),
            np.zeros((total, 2)),
            np.zeros(total),
            np.tile([1.0, 0.0], (total, 1)),
            np.zeros((total, 2)),
        )
        walking.walk(crowd, shelved(crowd.places, 1.7), ground, machines, shelved(none, 3.5), law, 0.1)
        if step >= 5.0 * seconds:
            found.append(crowd.velocities[:count, 0].mean())
        places = crowd.places[:count].copy()
        places[:, 0] = MARGIN + np.mod(places[:, 0] - MARGIN, LENGTH)
    return float(np.mean(found))


def shelved(points: Floats, size: float) -> walking.Shelves:
    """Return points of the corridor in cells."""
    columns, lines = int((LENGTH + 2 * MARGIN) / size), max(int(WIDTH / size), 1)
    found = walking.Shelves(np.zeros(columns * lines + 1, np.int64), np.zeros(len(points), np.int64), columns, size)
    walking.shelve(points, *found)
    return found


@pytest.mark.parametrize("density", [0.5, 1.0, 1.5, 2.0, 3.0, 4.0])
def test_4_speed_over_density_is_within_15_percent_of_weidmann(density: float) -> None:
    assert speed_at(density) == pytest.approx(weidmann(density), rel=0.15)


def building(folder: Path, free: Bools, groups: list[dict[str, Any]], cell: float = 0.5) -> Any:
    """Return a simulation of a building from its free cells, the upper row last."""
    write_site(Site("building", Grid(free[::-1].copy(), cell=cell)), folder / "building.yaml")
    simulation = {"gui": False, "monitor": False, "timestep": 0.1, "target_rtf": 0, "seed": 1}
    content = {"simulation": simulation, "site": str(folder / "building.yaml"), "people": {"groups": groups}}
    return fs.MultiRobotSimulationCore.from_dict(content)


def box(x: float, y: float, width: float, height: float) -> list[list[float]]:
    """Return the corners of a rectangle."""
    return [[x, y], [x + width, y], [x + width, y + height], [x, y + height]]


def times_of_leaving(sim: Any, longest: float, watch: Any = None) -> Floats:
    """Return when people leave, in s; `watch` is called with their places in each step."""
    people, times = sim.get_manager("people"), []
    count = len(people.rows)
    while len(people.rows) and sim.sim_time < longest:
        sim.step_once()
        times += [sim.sim_time] * (count - len(people.rows))
        count = len(people.rows)
        if watch is not None:
            watch(sim.world.position[people.rows, :2])
    assert not len(people.rows), f"{len(people.rows)} people are still there"
    return np.array(times)


def test_1_a_person_walks_40_m_at_its_speed(tmp_path: Path) -> None:
    one = {"count": 1, "at": box(0.5, 0.5, 0.5, 1), "visits": [box(41, 0, 1, 2)], "leaves": True}
    free = np.ones((4, 84), bool)
    with building(tmp_path, free, [{**one, "speed": 1.33, "deviation": 0.0}]) as sim:
        # 40 m at 1.33 m/s, within the limits of the guideline.
        assert 26.0 <= times_of_leaving(sim, 60.0)[0] <= 34.0


def test_6_twenty_people_turn_a_corner_and_touch_no_wall(tmp_path: Path) -> None:
    # A corridor of 2 m that turns to the left after 12 m.
    free = np.zeros((24, 24), bool)
    free[:4], free[:, 20:] = True, True
    group = {"count": 20, "at": box(0, 0, 6, 2), "visits": [box(10, 11, 2, 1)], "leaves": True}
    gaps, apart = [], []

    def watch(places: Floats) -> None:
        outside = np.maximum((0.0, 2.0) - places, places - (10.0, 12.0))
        inner = np.hypot(*np.maximum(outside, 0.0).T)
        gaps.append(min([*inner, *places.min(axis=1), *(12.0 - places).min(axis=1), 1.0]))
        offsets = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1))
        apart.append(offsets[np.triu_indices(len(places), 1)].min(initial=1.0))

    with building(tmp_path, free, [group]) as sim:
        times_of_leaving(sim, 60.0, watch)
    assert min(gaps) >= 0.2 - 1e-6
    assert min(apart) >= 0.4 - 1e-6


def test_8_who_walks_faster_is_out_earlier(tmp_path: Path) -> None:
    free = np.ones((20, 40), bool)
    free[:, 30], free[9:12, 30] = False, True
    ends = []
    for speed in (0.6, 1.0, 1.6):
        group = {"count": 60, "at": box(0, 0, 12, 10), "visits": [box(18, 0, 2, 10)], "leaves": True, "speed": speed}
        with building(tmp_path, free, [group]) as sim:
            ends.append(times_of_leaving(sim, 200.0)[-1])
    assert ends[0] > 1.15 * ends[1] and ends[1] > ends[2]


@pytest.mark.slow
def test_9_with_half_of_the_doors_a_thousand_people_take_twice_as_long(tmp_path: Path) -> None:
    # 30 x 20 m, doors of 1 m in the long walls, and one place outside of all of them.
    outside = [[0, 0], [34, 0], [34, 1], [1, 1], [1, 23], [34, 23], [34, 24], [0, 24]]
    ends = []
    for doors in ((8, 25), (8,)):
        free = np.ones((48, 68), bool)
        free[3:45, 3:65] = False
        free[4:44, 4:64] = True
        for door in doors:
            free[3, 2 * door : 2 * door + 2] = free[44, 2 * door : 2 * door + 2] = True
        group = {"count": 1000, "at": box(2, 2, 30, 20), "visits": [outside], "leaves": True}
        with building(tmp_path, free, [group]) as sim:
            ends.append(times_of_leaving(sim, 1500.0)[-1])
    assert ends[1] / ends[0] == pytest.approx(2.0, rel=0.25)


@pytest.mark.slow
def test_12_people_throng_before_the_corridor_and_not_behind_it(tmp_path: Path) -> None:
    # Two rooms of 10 x 10 m, between them a corridor of 5 m and 1 m wide, and a door as wide in the second one.
    free = np.zeros((20, 54), bool)
    free[:, :20] = free[:, 30:50] = free[:, 52:] = True
    free[9:11, 20:30] = free[9:11, 50:52] = True
    group = {"count": 150, "at": box(0, 0, 6, 10), "visits": [box(26.2, 0, 0.8, 10)], "leaves": True}
    throng = []

    def watch(places: Floats) -> None:
        before = np.count_nonzero(np.hypot(*(places - (10.0, 5.0)).T) < 3.0)
        behind = np.count_nonzero(np.hypot(*(places - (25.0, 5.0)).T) < 3.0)
        throng.append((before, behind))

    with building(tmp_path, free, [group]) as sim:
        times_of_leaving(sim, 400.0, watch)
    before, behind = np.array(throng).max(axis=0)
    assert before > 20 and behind < 0.5 * before

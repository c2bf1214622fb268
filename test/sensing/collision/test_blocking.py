"""Swept motion: nothing is jumped over, nothing is entered, and what touches may leave."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import fleet_sim as fs
from fleet_sim.base.arrays import Floats, Ints, Rows
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.shapes import ShapeArrays, ShapeKind
from fleet_sim.sensing.collision.blocking import DEFAULT_SKIN, allowed_fractions
from fleet_sim.sensing.collision.distances import distances_between

Body = tuple[ShapeKind, list[float], float, list[float], float]


def bodies(*rows: Body) -> ShapeArrays:
    kinds, positions, yaws, half_extents, radii = zip(*rows, strict=True)
    return ShapeArrays(
        np.array(kinds),
        np.array(positions),
        quaternions.from_yaws(np.array(yaws)),
        np.array(half_extents),
        np.array(radii),
    )


def box(x: float, y: float = 0.0, *, yaw: float = 0.0, half: list[float] | None = None) -> Body:
    return ShapeKind.BOX, [x, y, 0.25], yaw, half or [0.25, 0.2, 0.25], 0.0


def cylinder(x: float, y: float = 0.0, *, radius: float = 0.25) -> Body:
    return ShapeKind.CYLINDER, [x, y, 0.25], 0.0, [radius, radius, 0.25], radius


WALL = box(5.0, half=[0.01, 50.0, 0.5])
ONE = np.array([1])


def moved(shapes: ShapeArrays, shift: list[float], turn: float = 0.0, movers: Rows = ONE) -> tuple[Floats, Floats]:
    ends = shapes.positions[movers] + np.array(shift)
    turns = quaternions.from_yaws(np.full(len(movers), turn))
    orientations = shapes.orientations[movers]
    return ends, quaternions.multiply(turns, orientations) if turn else orientations


TOUCHING, DEEP = 4.74 - 0.5 * DEFAULT_SKIN, 4.85


@pytest.mark.parametrize("x", [TOUCHING, DEEP])
@pytest.mark.parametrize(
    ("shift", "allowed"),
    [
        ([-0.1, 0.0, 0.0], True),
        ([0.0, 0.1, 0.0], True),
        ([-0.01, 0.1, 0.0], True),
        ([0.1, 0.0, 0.0], False),
        ([0.001, 0.1, 0.0], False),
    ],
)
def test_what_touches_may_leave_or_slide_but_not_press_on(x: float, shift: list[float], allowed: bool) -> None:
    shapes = bodies(WALL, box(x, 3.0))
    fractions, blockers = allowed_fractions(shapes, ONE, *moved(shapes, shift))
    assert (fractions.tolist(), blockers.tolist()) == (([1.0], [-1]) if allowed else ([0.0], [0]))


def test_repeated_pushing_does_not_creep() -> None:
    shapes = bodies(WALL, box(4.0))
    for _ in range(300):
        ends, orientations = moved(shapes, [0.1, 0.03, 0.0])
        fractions, _ = allowed_fractions(shapes, ONE, ends, orientations)
        shapes.positions[1] += fractions[0] * (ends[0] - shapes.positions[1])
    assert 4.74 - shapes.positions[1, 0] >= DEFAULT_SKIN - 1e-6


def test_a_box_that_turns_against_a_wall_is_held() -> None:
    shapes = bodies(WALL, box(4.7, half=[0.2, 1.0, 0.25]))
    fractions, blockers = allowed_fractions(shapes, ONE, *moved(shapes, [0.0, 0.0, 0.0], 1.5))
    assert blockers.tolist() == [0] and 0.0 < fractions[0] < 0.1
    turn = quaternions.from_yaws(np.array([1.5 * fractions[0]]))
    distance = distances_between(shapes.take(ONE).at(shapes.positions[ONE], turn), shapes.take(np.array([0])))[0]
    assert 0.0 < distance[0] < DEFAULT_SKIN + 1e-4


def test_the_work_for_a_body_of_many_kilometres_is_bounded() -> None:
    """A disc of 200 km turns below a box: near it all the time, and fast at its rim."""
    shapes = bodies(box(0.0), box(0.0, half=[1e5, 1e5, 0.1]))
    shapes.positions[1, 2] = -0.105
    rounds = 0

    def measure(pairs: Ints, positions: Floats, orientations: Floats, reach: float) -> Floats:
        nonlocal rounds
        rounds += 1
        return np.full(len(pairs), 0.005)

    # Tilted a little, so that there is no closed form and each measurement is seen.
    shapes.orientations[0] = [1e-6, 0.0, 0.0, 1.0]
    fractions, blockers = allowed_fractions(shapes, ONE, *moved(shapes, [0.0, 0.0, 0.0], 0.5), solve=measure)
    assert rounds < 1100
    assert blockers.tolist() == [0] and 0.0 < fractions[0] < 1.0, "it goes only as far as it was measured"


def test_a_round_robot_turns_on_the_spot_wherever_it_stands() -> None:
    shapes = bodies(WALL, cylinder(4.7395))
    fractions, _ = allowed_fractions(shapes, ONE, *moved(shapes, [0.0, 0.0, 0.0], 1.5))
    assert fractions.tolist() == [1.0]


def test_movers_that_must_make_all_of_a_step_or_none_make_none_when_they_meet() -> None:
    shapes = bodies(cylinder(0.0), cylinder(2.0))
    ends = shapes.positions + np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]])
    whole = np.array([True, False])
    fractions, _ = allowed_fractions(shapes, np.array([0, 1]), ends, shapes.orientations, whole_mask=whole)
    assert fractions[0] == 0.0 and fractions[1] == pytest.approx(0.5 * (1.5 - DEFAULT_SKIN), abs=1e-6)


def test_the_nearest_obstacle_blocks_and_the_lowest_row_among_equals() -> None:
    shapes = bodies(WALL, box(0.0), cylinder(3.0), cylinder(4.0), cylinder(3.0))
    ends, orientations = moved(shapes, [20.0, 0.0, 0.0])
    assert allowed_fractions(shapes, ONE, ends, orientations)[1].tolist() == [2]
    only_wall = np.array([True, True, False, False, False])
    assert allowed_fractions(shapes, ONE, ends, orientations, obstacle_mask=only_wall)[1].tolist() == [0]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.booleans())
@example(3221, True)  # where one body stops it, it is in another whose corner it cut
@pytest.mark.slow
def test_a_crowd_never_gets_deeper_and_rows_do_not_matter(seed: int, turning: bool) -> None:
    rng = np.random.default_rng(seed)
    count = 40
    rows = [
        box(*rng.uniform(0, 5, 2), yaw=rng.uniform(-3, 3)) if k % 2 else cylinder(*rng.uniform(0, 5, 2))
        for k in range(count)
    ]
    shapes = bodies(*rows)
    movers = np.sort(rng.choice(count, 20, replace=False))
    ends = shapes.positions[movers] + rng.normal(0, 1.0, (20, 3)) * [1, 1, 0]
    turns = quaternions.from_yaws(rng.normal(0, 1.0, 20) * turning)
    orientations = quaternions.multiply(turns, shapes.orientations[movers])
    fractions, blockers = allowed_fractions(shapes, movers, ends, orientations)
    assert ((fractions >= 0.0) & (fractions <= 1.0) & ((blockers >= 0) == (fractions < 1.0))).all()

    start = shapes.take(movers)
    where = start.positions + fractions[:, None] * (ends - start.positions)
    there = start.at(where, quaternions.slerp(start.orientations, orientations, fractions))
    for k, mover in enumerate(movers):
        others = shapes.take(np.flatnonzero(np.arange(count) != mover))
        spot = np.full(count - 1, k)
        before = distances_between(start.take(spot), others)[0]
        after = distances_between(there.take(spot), others)[0]
        assert (after >= np.minimum(before, DEFAULT_SKIN) - 1e-6).all()
        together = distances_between(there.take(np.full(20, k)), there)[0]
        apart = distances_between(start.take(np.full(20, k)), start)[0]
        met = np.flatnonzero(together < np.minimum(apart, DEFAULT_SKIN) - 1e-6)
        assert set(met.tolist()) <= {k}

    order = rng.permutation(count)
    place = np.argsort(order)
    again, other_blockers = allowed_fractions(shapes.take(order), place[movers], ends, orientations)
    assert again == pytest.approx(fractions, abs=1e-6)
    for k in range(20):
        alone, blocker = allowed_fractions(shapes, movers[k : k + 1], ends[k : k + 1], orientations[k : k + 1])
        assert alone[0] >= fractions[k]
        assert alone[0] > fractions[k] or blocker[0] == blockers[k]
    stopped = fractions > 0.0
    assert order[other_blockers[stopped & (blockers >= 0)]].tolist() == blockers[stopped & (blockers >= 0)].tolist()


@pytest.mark.parametrize("skin", [-1.0, np.nan, np.inf])
def test_a_bad_skin_is_refused(skin: float) -> None:
    shapes = bodies(WALL, box(0.0))
    with pytest.raises(InvalidValueError, match="skin"):
        allowed_fractions(shapes, ONE, *moved(shapes, [1.0, 0.0, 0.0]), skin=skin)


def test_no_movers() -> None:
    shapes = bodies(WALL)
    none = np.empty(0, np.int64)
    fractions, blockers = allowed_fractions(shapes, none, np.empty((0, 3)), np.empty((0, 4)))
    assert len(fractions) == len(blockers) == 0


STANDING = """
simulation: {gui: false, target_rtf: 0, timestep: 0.05, block_on_collision: true, blocked_timeout: 0}
objects:
  - {name: crate, pose: [-3, 0.1, 0.2], shape: {shape_type: box, half_extents: [0.2, 0.2, 0.2]}}
  - {name: wall, pose: [2, 0, 0.5, 0.1], collision_mode: static, shape: {shape_type: box, half_extents: [0.1, 3, 0.5]}}
robots:
  - {name: first, urdf_path: diff_base, pose: [0, 0.1, 0], actions: [{type: move_to, target_pose: [6, 0.1, 0]}]}
  - {name: second, urdf_path: diff_base, pose: [0, 1.3, 0], actions: [{type: move_to, target_pose: [6, 1.3, 0]}]}
  - {name: behind, urdf_path: diff_base, pose: [-4, 0, 0], actions: [{type: move_to, target_pose: [6, 0, 0]}]}
"""


@pytest.mark.parametrize(
    "change",
    [
        lambda sim: sim.get_object("wall").set_pose(fs.Pose((3.3, 0.0, 0.5))),
        lambda sim: sim.get_object("wall").set_collision_filter(mask=0),
        lambda sim: sim.remove_object(sim.get_object("wall")),
        lambda sim: sim.set_collision_pair(sim.get_object("wall"), sim.get_object("first"), False),
        lambda sim: sim.get_object("first").set_goal_pose(fs.Pose((-2.0, 0.1, 0.0)), "backward"),
        lambda sim: sim.get_object("first").set_velocity(-1.0),
    ],
    ids=["moved", "masked", "removed", "pair", "goal", "velocity"],
)
def test_robots_that_stand_go_on_as_soon_as_they_can(tmp_path: Path, change: Callable[[Any], object]) -> None:
    """What stands is not measured again; a simulation that goes on from a saved state has nothing to remember."""
    (tmp_path / "stand.yaml").write_text(STANDING)
    with fs.MultiRobotSimulationCore.from_yaml(tmp_path / "stand.yaml") as sim:
        first, second = sim.get_object("first"), sim.get_object("second")
        sim.run_simulation(3.0)
        places = first.position[0], second.position[0]
        sim.run_simulation(1.0)
        assert (first.position[0], second.position[0]) == places
        assert first.blocked_by == second.blocked_by == sim.get_object("wall")
        sim.save_state(tmp_path / "standing.state")
        with fs.MultiRobotSimulationCore.from_state(tmp_path / "standing.state") as other:
            for one in (sim, other):
                change(one)
                one.run_simulation(2.0)
            assert abs(first.position[0] - places[0]) > 0.5
            assert sim.state_hash() == other.state_hash()


def test_who_is_put_back_in_each_step_drives_on_beside_those_that_stand(tmp_path: Path) -> None:
    (tmp_path / "stand.yaml").write_text(STANDING)
    with fs.MultiRobotSimulationCore.from_yaml(tmp_path / "stand.yaml") as sim:
        shape = {"shape_type": "sphere", "radius": 0.2}
        free = {"name": "free", "pose": [0, 9, 0.2], "shape": shape, "block_on_collision": False}
        sim.population.spawn_robots([free])
        robot = sim.get_object("free")
        home = robot.get_pose()
        ways: list[float] = []

        def back(sim: object, dt: float) -> None:
            ways.append(robot.position[0])
            robot.set_pose(home)

        sim.register_callback(back)
        robot.set_velocity(0.4)
        sim.run_simulation(8.0)
        assert robot.position[0] == 0.0
        np.testing.assert_allclose(ways[-100:], 0.4 * 0.05)

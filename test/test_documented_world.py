"""Documented names of a simulation that are about its world: what they return, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

from fleet_sim import CollisionMode, MultiRobotSimulationCore, Pose, ShapeParams, SimObject, SimObjectSpawnParams
from fleet_sim.base.errors import ConfigError, InvalidValueError
from fleet_sim.base.monitor import MonitorFigures

CUBE = ShapeParams(shape_type="box", half_extents=(0.5, 0.5, 0.5))


def put(sim: MultiRobotSimulationCore, name: str, x: float, y: float = 0.0, z: float = 0.0) -> SimObject:
    """Spawn a cube of 1 m."""
    made: SimObject = sim.spawn(SimObjectSpawnParams(CUBE, CUBE, name=name, initial_pose=Pose((x, y, z))))
    return made


# ---- bounds ----------------------------------------------------------------------------------------------------------


def bounds(sim: MultiRobotSimulationCore) -> tuple[list[float], list[float]]:
    lower, upper = sim.compute_scene_bounds()
    return lower.tolist(), upper.tolist()


def test_an_empty_world_has_no_extent(sim: MultiRobotSimulationCore) -> None:
    assert bounds(sim) == ([0.0] * 3, [0.0] * 3)


def test_bounds_hold_all_entities_as_they_are_now(sim: MultiRobotSimulationCore) -> None:
    put(sim, "a", -1.0)
    other = put(sim, "b", 3.0, 2.0, 1.0)
    assert bounds(sim) == ([-1.5, -0.5, -0.5], [3.5, 2.5, 1.5])
    # Between two steps, too.
    other.set_pose(Pose.from_yaw(3.0, 0.0, 0.0, np.pi / 4.0))
    lower, upper = sim.compute_scene_bounds()
    half = np.sqrt(0.5)
    assert lower.tolist() == pytest.approx([-1.5, -half, -0.5])
    assert upper.tolist() == pytest.approx([3.0 + half, half, 0.5])
    sim.remove_object(other)
    assert bounds(sim) == ([-1.5, -0.5, -0.5], [-0.5, 0.5, 0.5])


def test_what_has_no_end_does_not_count(sim: MultiRobotSimulationCore) -> None:
    plane = ShapeParams(shape_type="plane")
    sim.spawn(SimObjectSpawnParams(plane, plane, name="floor", collision_mode=CollisionMode.STATIC))
    assert bounds(sim) == ([0.0] * 3, [0.0] * 3)
    put(sim, "a", 2.0)
    assert bounds(sim) == ([1.5, -0.5, -0.5], [2.5, 0.5, 0.5])


def test_bounds_are_those_of_all_boxes(sim: MultiRobotSimulationCore) -> None:
    rng = np.random.default_rng(3)
    for index, place in enumerate(rng.uniform(-5.0, 5.0, (20, 3)).tolist()):
        put(sim, f"box_{index}", *place)
    boxes = list(sim.get_aabbs().values())
    lower, upper = sim.compute_scene_bounds()
    assert lower.tolist() == np.min([box[0] for box in boxes], axis=0).tolist()
    assert upper.tolist() == np.max([box[1] for box in boxes], axis=0).tolist()


# ---- removal by rows -------------------------------------------------------------------------------------------------


def test_rows_of_the_columns_can_be_removed(sim: MultiRobotSimulationCore) -> None:
    cubes = [put(sim, f"cube_{index}", 2.0 * index) for index in range(5)]
    told: list[str] = []
    sim.events.on("object_removed", lambda obj: told.append(obj.name))
    world = sim.world
    # By what columns say, which is what rows are for.
    sim.remove_rows(world.rows[world.position[world.rows, 0] > 3.0])
    assert told == ["cube_2", "cube_3", "cube_4"]
    assert [cube.is_alive for cube in cubes] == [True, True, False, False, False]
    sim.remove_rows(np.array([cubes[0].row, cubes[0].row]))
    sim.remove_rows(np.empty(0, np.int64))
    assert [obj.name for obj in sim.sim_objects] == ["cube_1"]


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([0, 7], "no entity is in row 7"),
        ([0, -1], "no entity is in row -1"),
        ([0, 10**9], "no entity is in row 1000000000"),
        ([0.0], "whole numbers"),
        ([True], "whole numbers"),
        ([[0]], "whole numbers"),
        (["a"], "whole numbers"),
    ],
)
def test_rows_without_an_entity_are_refused_and_nothing_is_removed(
    sim: MultiRobotSimulationCore, rows: list[object], text: str
) -> None:
    cube = put(sim, "cube", 0.0)
    with pytest.raises(InvalidValueError, match=text):
        sim.remove_rows(np.array(rows))
    assert cube.is_alive


# ---- the grid of collisions ------------------------------------------------------------------------------------------


def test_the_cell_size_changes_no_pair(sim: MultiRobotSimulationCore) -> None:
    rng = np.random.default_rng(8)
    for index, (x, y) in enumerate(rng.uniform(-4.0, 4.0, (40, 2)).tolist()):
        put(sim, f"cube_{index}", x, y)
    found = {}
    for mode, size in (("auto_initial", None), ("constant", 0.3), ("constant", 20.0), ("auto_adaptive", None)):
        answered = sim.set_collision_spatial_hash_cell_size_mode(mode, size)
        assert answered == size
        found[mode, size] = sim.check_collisions()[0]
    first, *others = found.values()
    assert len(first) > 10
    assert all(pairs == first for pairs in others)


@pytest.mark.parametrize("size", [None, 0.0, -1.0, float("nan"), float("inf"), True, "3"])
def test_a_constant_cell_needs_a_size(sim: MultiRobotSimulationCore, size: object) -> None:
    with pytest.raises(InvalidValueError, match="needs a finite number > 0 in metres"):
        sim.set_collision_spatial_hash_cell_size_mode("constant", size)  # type: ignore[arg-type]


def test_modes_and_settings_say_what_to_do(sim: MultiRobotSimulationCore) -> None:
    with pytest.raises(InvalidValueError, match="auto_adaptive, auto_initial, constant"):
        sim.set_collision_spatial_hash_cell_size_mode("auto")
    with pytest.raises(ConfigError, match="set_collision_spatial_hash_cell_size_mode"):
        sim.params.spatial_hash_cell_size = 2.0


# ---- pairs of boxes --------------------------------------------------------------------------------------------------


def names(pairs: list[tuple[SimObject, SimObject]]) -> set[frozenset[str]]:
    return {frozenset((str(first.name), str(second.name))) for first, second in pairs}


def test_near_pairs_can_be_asked_for_some_entities_only(sim: MultiRobotSimulationCore) -> None:
    first, _, third, _ = (put(sim, f"cube_{index}", 0.9 * index) for index in range(4))
    assert names(sim.filter_aabb_pairs()) == {frozenset((f"cube_{i}", f"cube_{i + 1}")) for i in range(3)}
    assert names(sim.filter_aabb_pairs(moved_objects=[first])) == {frozenset(("cube_0", "cube_1"))}
    assert len(sim.filter_aabb_pairs(moved_objects=[first, third])) == 3
    assert sim.filter_aabb_pairs(moved_objects=[]) == []


def test_near_pairs_with_static_entities_on_request(sim: MultiRobotSimulationCore) -> None:
    sim.spawn(SimObjectSpawnParams(CUBE, CUBE, name="wall", collision_mode=CollisionMode.STATIC))
    put(sim, "cube", 0.5)
    assert sim.filter_aabb_pairs() == []
    assert names(sim.filter_aabb_pairs(ignore_static=False)) == {frozenset(("wall", "cube"))}


# ---- the monitor -----------------------------------------------------------------------------------------------------


class Page:
    """Keeps what it is shown."""

    def __init__(self) -> None:
        self.shown: list[MonitorFigures] = []
        self.closed = 0

    def show(self, figures: MonitorFigures) -> bool:
        self.shown.append(figures)
        return True

    def close(self) -> None:
        self.closed += 1


def test_a_monitor_is_shown_figures_until_it_is_closed(sim: MultiRobotSimulationCore) -> None:
    page = Page()
    assert sim.setup_monitor(page) is page
    sim.update_monitor()
    assert len(page.shown) == 1
    sim.close_monitor()
    sim.close_monitor()
    sim.update_monitor()
    assert (len(page.shown), page.closed) == (1, 1)

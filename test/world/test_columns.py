"""Column tables: declared, grown and restored as one."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fleet_sim as fs
from fleet_sim.base.arrays import Floats, Ints
from fleet_sim.base.errors import DuplicateNameError, InvalidValueError
from fleet_sim.world.clock import Clock
from fleet_sim.world.columns import ColumnTable, column, named_columns
from fleet_sim.world.joints import WaypointPool
from fleet_sim.world.schema import BodyColumns, MotionColumns
from fleet_sim.world.world import World, restore_world, save_world


class BatteryColumns(ColumnTable):
    """A feature of the test's own."""

    charge: Floats = column(float, default=1.0, unit="1", writer="test")
    cells: Ints = column(np.int64, (2,), default=(3, 4), writer="test", hashed=False)


def test_defaults_and_growth() -> None:
    table = BatteryColumns(4)
    table.charge[:] = [1, 2, 3, 4]
    table.grow(10)
    assert table.charge.tolist() == [1, 2, 3, 4, *[1.0] * 6]
    assert table.cells[9].tolist() == [3, 4]
    table.grow(5)
    assert len(table.charge) == table.capacity == 10
    table.clear_rows(np.array([0, 1]))
    assert table.charge[:3].tolist() == [1, 1, 3]
    assert table.nbytes == 10 * 8 + 10 * 16


def test_single_numbers_are_those_of_the_arrays_after_every_growth() -> None:
    table = BatteryColumns(2)
    for capacity in (2, 5):
        table.grow(capacity)
        table.scalars.charge[1] = 7.5
        table.cells[1] = 8, 9
        assert table.charge[1] == 7.5
        assert [table.scalars.cells[2], table.scalars.cells[3]] == [8, 9]
    with pytest.raises(AttributeError, match="no column 'charg'"):
        _ = table.scalars.charg


def test_a_table_on_demand_takes_memory_once_it_is_used() -> None:
    class Rare(BatteryColumns):
        on_demand = True

    table = Rare(2)
    table.grow(4)
    table.clear_rows(np.array([0]))
    assert table.cells.tolist() == [[3, 4]] * 4
    assert table.nbytes == 0
    with pytest.raises(ValueError, match="read-only"):
        table.charge[1] = 2.0
    table.use()
    table.charge[1] = 2.0
    table.use()
    table.grow(5)
    assert table.charge.tolist() == [1, 2, 1, 1, 1]
    assert table.nbytes == 5 * 8 + 5 * 16


def test_a_lazy_column_takes_memory_once_it_is_owned() -> None:
    class Carried(BatteryColumns):
        link = column(np.int64, default=-1, lazy=True)

    table, other = Carried(2), Carried(2)
    table.charge[1] = 2.0
    table.grow(4)
    table.clear_rows(np.array([0]))
    assert (table.owns("charge"), table.owns("link")) == (True, False)
    assert table.nbytes == 4 * 8 + 4 * 16
    with pytest.raises(ValueError, match="read-only"):
        table.link[1] = 2
    before = table.copy_arrays()
    table.own("link", "charge")
    table.link[1] = 2
    table.own("link")
    table.grow(5)
    table.clear_rows(np.array([1]))
    table.link[3] = 7
    assert table.link.tolist() == [-1, -1, -1, 7, -1]
    assert table.charge.tolist() == [1, 1, 1, 1, 1]
    assert table.nbytes == 5 * 8 + 5 * 16 + 5 * 8
    # What was saved without it takes it back, and what was saved with it brings it.
    other.grow(5)
    other.restore_arrays(table.copy_arrays())
    assert other.link.tolist() == [-1, -1, -1, 7, -1]
    table.restore_arrays(before)
    assert (table.link == -1).all()


def test_restoring_gives_rows_beyond_the_saved_ones_their_defaults() -> None:
    table = BatteryColumns(2)
    table.charge[:] = 5
    saved = table.copy_arrays()
    table.grow(4)
    table.charge[:] = 9
    table.restore_arrays(saved)
    assert table.charge.tolist() == [5, 5, 1, 1]
    table.charge[:] = 0
    table.restore_arrays(saved)
    assert table.charge.tolist() == [5, 5, 1, 1]


def test_a_feature_table_lives_with_the_world() -> None:
    world = World(Clock(0.1), capacity=2)
    table = world.add_table("battery", BatteryColumns)
    rows = world.allocate(["a", "b", "c"])
    assert len(table.charge) == world.capacity >= 3
    table.charge[rows] = [0.1, 0.2, 0.3]
    saved = save_world(world)
    world.release(rows[1:2])
    reused = world.allocate(["d"])
    assert reused.tolist() == rows[1:2].tolist()
    assert table.charge[reused].tolist() == [1.0]
    restore_world(world, saved)
    assert table.charge[rows].tolist() == [0.1, 0.2, 0.3]
    with pytest.raises(DuplicateNameError, match="battery"):
        world.add_table("battery", BatteryColumns)


@pytest.mark.parametrize("table", [BodyColumns, MotionColumns])
def test_every_column_says_who_writes_it(table: type[ColumnTable]) -> None:
    for name, spec in table.schema.items():
        assert spec.writer, name
        assert spec.shape in ((), (3,), (4,)), name
        assert not spec.reference or spec.dtype == np.int64, name


@pytest.mark.parametrize("name", ["capacity", "grow", "nbytes"])
def test_a_column_is_not_named_as_a_part_of_its_table(name: str) -> None:
    with pytest.raises(InvalidValueError, match=f"a table has '{name}' itself"):
        type("Wrong", (ColumnTable,), {name: column(float)})


class Cells(NamedTuple):
    """Two columns of the table below, in another order than there."""

    cells: Ints
    charge: Floats


def test_columns_are_taken_by_the_names_of_fields() -> None:
    table = BatteryColumns(3)
    taken = named_columns(Cells, table)
    # The arrays themselves: what is written there is in the table.
    taken.charge[1] = 5.0
    assert table.charge.tolist() == [1.0, 5.0, 1.0]
    assert taken.cells is table.cells
    table.grow(8)
    # The table has other arrays now.
    assert len(taken.charge) == 3
    assert len(named_columns(Cells, table).charge) == 8


def test_a_field_that_is_no_column_is_an_error() -> None:
    class Other(NamedTuple):
        voltage: Floats

    with pytest.raises(AttributeError, match="voltage"):
        named_columns(Other, BatteryColumns(1))


# ---- What nobody asked for takes no memory, and is there when somebody does ------------------------------------------


FLEET = 1200


def fleet() -> fs.MultiRobotSimulationCore:
    sim = fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, target_rtf=0, timestep=0.1, compiled_code="never"))
    disc = fs.ShapeParams("cylinder", radius=0.1, height=0.2)
    grid = fs.GridSpawnParams.from_count(FLEET, spacing=(1.0, 1.0, 0.0))
    fs.AgentManager(sim).spawn_agents_grid(FLEET, grid, fs.AgentSpawnParams(disc, disc), name_prefix="robot")
    return sim


def sizes(world: World) -> tuple[int, int]:
    return world.material.nbytes, world.look.nbytes


def test_materials_and_colors_take_memory_from_the_first_one_on() -> None:
    with fleet() as sim:
        world, robot = sim.world, sim.get_object("robot_7")
        assert sizes(world) == (0, 0)
        before = sim.state_hash()
        sim.step_once()
        start = sim.save_state()
        robot.set_material(friction=0.9, restitution=0.1)
        robot.set_color((1.0, 0.0, 0.0, 1.0))
        assert min(sizes(world)) > 0
        assert world.material.friction[robot.row] == 0.9
        assert world.material.friction[robot.row - 1] == -1.0
        given = sim.save_state()
        # What was taken when there were none takes them back, and what was taken with them brings them.
        sim.restore_state(start)
        assert (world.material.friction == -1.0).all()
        assert not world.look.painted_mask(world.rows).any()
        sim.restore_state(given)
        assert world.material.friction[robot.row] == 0.9
        assert world.look.painted_mask(world.rows).sum() == 1
        sim.reset()
        assert sim.state_hash() == before


def test_materials_of_a_state_are_there_in_a_world_that_has_none(tmp_path: Path) -> None:
    with fleet() as one, fleet() as other:
        robot = one.get_object("robot_7")
        robot.set_material(friction=0.9)
        one.step_once()
        other.step_once()
        assert sizes(other.world) == (0, 0)
        one.save_state(tmp_path / "state.npz")
        other.load_state(tmp_path / "state.npz")
        assert other.world.material.friction[robot.row] == 0.9
        assert other.state_hash() == one.state_hash()


def test_a_material_of_spawn_params_is_kept_beside_robots_without_one() -> None:
    with fleet() as sim:
        box = fs.ShapeParams("box", half_extents=(0.1, 0.1, 0.1))
        thing = sim.spawn(fs.SimObjectSpawnParams(box, box, name="thing", friction=0.3))
        friction = sim.world.material.friction
        assert friction[thing.row] == 0.3
        assert (friction[sim.world.rows] == -1.0).sum() == FLEET


def test_how_loads_are_carried_takes_memory_from_the_first_one_on(tmp_path: Path) -> None:
    with fleet() as sim, fleet() as other:
        world, robot, load = sim.world, sim.get_object("robot_7"), sim.get_object("robot_8")
        lazy = ("parent_link", "attach_position", "attach_orientation")
        assert not any(map(world.owns, lazy))
        before = sim.state_hash()
        sim.step_once()
        start = sim.save_state()
        robot.attach_object(load)
        assert all(map(world.owns, lazy))
        sim.save_state(tmp_path / "state.npz")
        other.load_state(tmp_path / "state.npz")
        assert other.state_hash() == sim.state_hash()
        # Nobody carries anything in the state it goes back to.
        sim.restore_state(start)
        assert not load.is_attached()
        sim.reset()
        assert sim.state_hash() == before
        carried = other.get_object("robot_8")
        other.get_object("robot_7").detach_object(carried)
        assert not carried.is_attached()


def test_a_robot_may_be_put_down_in_a_world_where_nothing_says_how_it_was_carried() -> None:
    with fleet() as sim:
        robot, load = sim.get_object("robot_7"), sim.get_object("robot_8")
        load.set_pose(robot.get_pose())
        robot.attach_object(load)
        sim.restore_state(sim.save_state())
        robot.detach_object(load)
        assert not load.is_attached()


# ---- The pool of waypoints: every path stays whole while others come and go ------------------------------------------


ROWS = 6
changes = st.lists(st.tuples(st.integers(0, ROWS - 1), st.integers(0, 90)), max_size=80)


@given(changes)
def test_paths_stay_whole(history: list[tuple[int, int]]) -> None:
    motion, pool = MotionColumns(ROWS), WaypointPool()
    expected: dict[int, list[float]] = {}
    for serial, (row, length) in enumerate(history):
        rows = np.array([row])
        if length:
            points = np.repeat(1000.0 * serial + np.arange(length), 3).reshape(length, 3)
            pool.assign(motion, rows, np.array([length]), points, np.zeros((length, 4)))
            expected[row] = points[:, 0].tolist()
        else:
            pool.discard(motion, rows)
            expected.pop(row, None)
    for row in range(ROWS):
        assert pool.position[pool.of(motion, row), 0].tolist() == expected.get(row, [])
    assert pool.live == sum(map(len, expected.values()))


def test_abandoned_paths_do_not_pile_up() -> None:
    motion, pool = MotionColumns(2), WaypointPool()
    for _ in range(10_000):
        pool.assign(motion, np.array([0, 1]), np.array([1, 2]), np.zeros((3, 3)), np.zeros((3, 4)))
    assert pool.live == 3
    assert len(pool.position) <= 256

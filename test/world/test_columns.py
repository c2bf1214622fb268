"""Column tables: declared, grown and restored as one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from fleet_sim.base.arrays import Floats, Ints
from fleet_sim.base.errors import DuplicateNameError, InvalidValueError
from fleet_sim.world.clock import Clock
from fleet_sim.world.columns import ColumnTable, column, named_columns
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

"""Batteries as other parts see them: columns that are there once something has a battery, known by name only."""

from __future__ import annotations

from typing import Protocol, cast

from fleet_sim.arrays import Bools, Floats
from fleet_sim.core.world import World


class EnergyColumns(Protocol):
    """The columns of batteries that other parts read or write: energies in J, power in W, voltage in V."""

    present: Bools
    energy: Floats
    full_energy: Floats
    low_energy: Floats
    charging: Bools
    power: Floats
    voltage: Floats
    stops_when_empty: Bools


def energy_columns(world: World) -> EnergyColumns | None:
    """Return the columns of batteries; None as long as nothing has one."""
    table = world.tables.get("battery")
    return None if table is None else cast(EnergyColumns, table)


def energy_columns_with(world: World, row: int) -> EnergyColumns | None:
    """Return the columns of batteries; None where the entity in `row` has none."""
    columns = energy_columns(world)
    return columns if columns is not None and columns.present[row] else None

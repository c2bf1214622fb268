"""FeatureRows: the entities of one simulation that have a feature, as what runs the feature knows them."""

from __future__ import annotations

from typing import Generic, TypeVar

from fleet_sim.arrays import Rows
from fleet_sim.core.columns import FeatureColumns
from fleet_sim.core.world import World

Table = TypeVar("Table", bound=FeatureColumns)


class FeatureRows(Generic[Table]):
    """Base of what runs a feature: its columns, and the rows that have it."""

    def __init__(self, world: World, table: Table) -> None:
        self._world = world
        self._table = table

    @property
    def world(self) -> World:
        """The world of the entities."""
        return self._world

    @property
    def table(self) -> Table:
        """The columns of the feature."""
        return self._table

    @property
    def rows(self) -> Rows:
        """The rows of all that have the feature."""
        return self._table.among(self._world.rows)

"""The colors given to entities at run time, over those of their shapes; and the log level."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np

from fleet_sim.base.arrays import AnyArray, Bools, Floats, Ints, Rows
from fleet_sim.base.errors import InvalidValueError, did_you_mean
from fleet_sim.world.columns import ColumnTable, column

Rgba = tuple[float, float, float, float]


class LookColumns(ColumnTable):
    """Colors given at run time, red, green, blue and opacity from 0 to 1; -1: as the shape or description says."""

    on_demand = True

    rgba: Floats = column(float, (4,), default=-1.0, writer="set_color", doc="of the whole entity", hashed=False)
    links: AnyArray = column(
        object, default=None, writer="set_color", doc="a mapping of link to color, before `rgba`", hashed=False
    )
    behind: Bools = column(bool, writer="set_color", doc="PyBullet has older colors", hashed=False)

    def __init__(self, capacity: int = 64) -> None:
        super().__init__(capacity)
        self.version = 0
        """Increases with every change of a color; caches of pictures compare it."""

    def paint(self, row: int, rgba: Rgba | None, link: int | None) -> None:
        """Give `row`, or one link of it, a color; None takes back what was given.

        A color of the whole replaces those of its links.
        """
        self.use()
        if link is None:
            self.rgba[row] = -1.0 if rgba is None else rgba
            self.links[row] = None
        else:
            # A new mapping: checkpoints keep the old one.
            given: dict[int, Rgba] = dict(self.links[row] or {})
            given.pop(link, None)
            self.links[row] = (given if rgba is None else {**given, link: rgba}) or None
        self.behind[row] = True
        self.version += 1

    def colors(self, rows: Rows, links: Ints) -> Floats:
        """Return the color (N, 4) given to each of `links` (N,) of `rows` (N,); -1 where none was given."""
        return colors_given(self.rgba, self.links, rows, links)

    def painted_mask(self, rows: Rows) -> Bools:
        """Return which of `rows` have a color given, or a link with one."""
        mask: Bools = (self.rgba[rows, 0] >= 0.0) | _given_mask(self.links[rows])
        return mask

    def restore_arrays(self, arrays: dict[str, Any]) -> None:
        """Restore arrays from `copy_arrays`; PyBullet has to be told."""
        super().restore_arrays(arrays)
        if self.in_use:
            self.behind[:] = True
        self.version += 1


def colors_given(rgba: Floats, link_rgba: AnyArray, rows: Rows, links: Ints) -> Floats:
    """Return the color (N, 4) of each of `links` (N,) of `rows` (N,), from columns of LookColumns; -1: none given."""
    found = rgba[rows]
    special = link_rgba[rows]
    for index in np.flatnonzero(_given_mask(special)).tolist():
        given: Mapping[int, Rgba] = special[index]
        found[index] = given.get(int(links[index]), found[index])
    return found


def _given_mask(entries: AnyArray) -> Bools:
    # Compared with None, as an empty mapping is never kept.
    mask: Bools = np.asarray(entries != None, np.bool_)  # noqa: E711
    return mask


# The log level of fleet_sim.


LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
}


class LogLevelManager:
    """Sets the level of the package's logger `fleet_sim`; other loggers are not changed."""

    @staticmethod
    def set_log_level(level: str) -> None:
        """Log from `level` on: debug, info, warn, error or critical. Raises InvalidValueError."""
        if level not in LEVELS:
            raise InvalidValueError(f"log level: unknown level {level!r}.{did_you_mean(str(level), LEVELS)}")
        logging.getLogger("fleet_sim").setLevel(LEVELS[level])

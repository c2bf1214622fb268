"""All lights of a simulation: signal lamps that are on, off or blink."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats, Rows, as_float, as_floats
from fleet_sim.core.acknowledgement import CommandAck
from fleet_sim.core.feature_rows import FeatureRows
from fleet_sim.entities.recipients import Recipients
from fleet_sim.equipment.light_columns import LightColumns
from fleet_sim.equipment.light_commands import SwitchLights
from fleet_sim.equipment.light_settings import FASTEST_BLINK
from fleet_sim.errors import InvalidValueError

DARK = 0.25
"""Share of its color in which a light is seen that is not lit."""


class Lights(FeatureRows[LightColumns]):
    """Lights and darkens in each step what blinks, and shows it by the colors of the objects."""

    def switch(self, order: SwitchLights) -> CommandAck:
        """Carry out a SwitchLights; raises InvalidValueError for a color or a frequency that there is not."""
        table, clock = self._table, self._world.clock
        color = None if order.color is None else _checked_color(order.color)
        blink = None if order.blink is None else as_float(order.blink, "blink", low=0.0, high=FASTEST_BLINK)
        to = Recipients(self._world, order.names)
        to.keep(table.present[to.rows], "it is not a light")
        began = bool(order.lit) & ~table.switched_on[to.rows]
        table.switched_on[to.rows] = bool(order.lit)
        if color is not None:
            table.color[to.rows] = color
        if blink is not None:
            began |= table.blink[to.rows] != blink
            table.blink[to.rows] = blink
        table.since[to.rows[began]] = clock.time
        table.shown[to.rows] = False
        return CommandAck(order.command_id, order.source, clock.time, to.names, to.rejected)

    def step(self, dt: float) -> None:
        """Find out what is lit at the end of this step, and show what changed."""
        rows, table = self.rows, self._table
        if not len(rows):
            return
        # At the end of the step; the half of each period that comes first is lit.
        halves = np.floor(2.0 * table.blink[rows] * (self._world.clock.time + dt - table.since[rows]) + 1e-9)
        lit = table.switched_on[rows] & ((table.blink[rows] == 0.0) | (halves % 2.0 == 0.0))
        changed = rows[(lit != table.lit[rows]) | ~table.shown[rows]]
        table.lit[rows] = lit
        self._show(changed)

    def _show(self, rows: Rows) -> None:
        world, table = self._world, self._table
        for row in rows.tolist():
            red, green, blue = (table.color[row] * (1.0 if table.lit[row] else DARK)).tolist()
            world.look.paint(row, (red, green, blue, 1.0), None)
        table.shown[rows] = True


def _checked_color(given: object) -> Floats:
    color = as_floats(given, (3,), "color")
    if not ((color >= 0.0) & (color <= 1.0)).all():
        raise InvalidValueError(f"color: must be 0 to 1, got {color.tolist()}")
    return color

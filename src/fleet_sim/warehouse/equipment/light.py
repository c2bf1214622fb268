"""Lights: signal lamps that are on, off or blink.

The key `light` of an entry, which `setup.cfg` declares as a feature.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Rows, as_float, as_floats
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.settings import Checked, setting
from fleet_sim.robots.drive import Recipients
from fleet_sim.world.columns import FeatureColumns, column
from fleet_sim.world.commands import Command, command
from fleet_sim.world.features import Feature, FeatureHost
from fleet_sim.world.pipeline import Phase, System
from fleet_sim.world.world import FeatureRows

FASTEST_BLINK = 100.0
"""In Hz."""


@dataclass
class LightSettings(Checked):
    """A signal light: the object is bright in its color while it is lit, and dark otherwise."""

    color: tuple[float, float, float] = setting((1.0, 0.7, 0.1), low=0, high=1, doc="Red, green and blue of its light.")
    lit: bool = setting(True, doc="Whether it is switched on at first.")
    blink: float = setting(
        0.0, low=0.0, high=FASTEST_BLINK, unit="Hz", doc="How often it is lit while it is switched on; 0: all the time."
    )


@command("switch_lights")
class SwitchLights(Command):
    """Switch lights on or off (`lit`); `color` (red, green, blue, 0 to 1) and `blink` in Hz, None: as before."""

    feature: ClassVar[str] = "light"

    names: tuple[str, ...]
    lit: bool = True
    color: tuple[float, float, float] | None = None
    blink: float | None = None


class LightColumns(FeatureColumns):
    """What each light is set to, and whether it is lit."""

    color: Floats = column(float, (3,), default=1.0, writer="spawning, SwitchLights", doc="red, green and blue, 0 to 1")
    switched_on: Bools = column(bool, writer="spawning, SwitchLights")
    blink: Floats = column(float, unit="Hz", writer="spawning, SwitchLights", doc="0: lit all the time")
    since: Floats = column(float, unit="s", writer="SwitchLights", doc="when it was switched on; it blinks from then")
    lit: Bools = column(bool, writer="Lights")
    shown: Bools = column(bool, writer="Lights", doc="whether its look is that of `lit` and `color`")


DARK = 0.25
"""Share of its color in which a light is seen that is not lit."""


class Lights(FeatureRows[LightColumns]):
    """Lights and darkens in each step what blinks, and shows it by the colors of the objects."""

    def switch(self, order: SwitchLights) -> Recipients:
        """Carry out a SwitchLights; raises InvalidValueError for an unknown color or frequency."""
        table = self.table
        color = None if order.color is None else _checked_color(order.color)
        blink = None if order.blink is None else as_float(order.blink, "blink", low=0.0, high=FASTEST_BLINK)
        to = Recipients(self.world, order.names)
        to.keep(table.present[to.rows], "it is not a light")
        began = bool(order.lit) & ~table.switched_on[to.rows]
        table.switched_on[to.rows] = bool(order.lit)
        if color is not None:
            table.color[to.rows] = color
        if blink is not None:
            began |= table.blink[to.rows] != blink
            table.blink[to.rows] = blink
        table.since[to.rows[began]] = self.world.clock.time
        table.shown[to.rows] = False
        return to

    def step(self, dt: float) -> None:
        """Find out what is lit at the end of this step, and show what changed."""
        rows, table = self.rows, self.table
        if not len(rows):
            return
        # At the end of the step; the half of each period that comes first is lit.
        halves = np.floor(2.0 * table.blink[rows] * (self.world.clock.time + dt - table.since[rows]) + 1e-9)
        lit = table.switched_on[rows] & ((table.blink[rows] == 0.0) | (halves % 2.0 == 0.0))
        changed = rows[(lit != table.lit[rows]) | ~table.shown[rows]]
        table.lit[rows] = lit
        self._show(changed)

    def _show(self, rows: Rows) -> None:
        world, table = self.world, self.table
        for row in rows.tolist():
            red, green, blue = (table.color[row] * (1.0 if table.lit[row] else DARK)).tolist()
            world.look.paint(row, (red, green, blue, 1.0), None)
        table.shown[rows] = True


def _checked_color(given: object) -> Floats:
    color = as_floats(given, (3,), "color")
    if not ((color >= 0.0) & (color <= 1.0)).all():
        raise InvalidValueError(f"color: must be 0 to 1, got {color.tolist()}")
    return color


class LightFeature(Feature[LightSettings, LightColumns]):
    """Lights: `light:` in an entry, `sim.features.use("light")` is the Lights."""

    doc = "Makes it a signal light that is on, off or blinks."
    settings = LightSettings
    table = LightColumns

    def values(self, settings: LightSettings) -> Mapping[str, Any]:
        """Return the columns of a light with `settings`."""
        values = dict(vars(settings))
        # The column `lit` says whether it is lit now: one that blinks is not, half of the time.
        return values | {"lit": False, "switched_on": values["lit"]}

    def start(self, host: FeatureHost, table: LightColumns) -> Lights:
        """Light them as they are to be at the end of the step."""
        lights = Lights(host.world, table)
        host.pipeline.add(System("lights", Phase.UPDATE, lights.step), before="motion")
        host.dispatcher.handle(SwitchLights, lights.switch)
        return lights

    def leave(self, part: Lights, table: LightColumns, rows: Any) -> None:
        """Take back the colors that showed whether they were lit."""
        for row in rows.tolist():
            if table.present[row]:
                part.world.look.paint(row, None, None)

    def details(self, table: LightColumns, row: int) -> Sequence[tuple[str, str]]:
        """Say whether it is on."""
        if not table.switched_on[row]:
            return [("light", "off")]
        return [("light", f"blinks, {table.blink[row]:g} Hz" if table.blink[row] else "on")]


FEATURE = LightFeature()

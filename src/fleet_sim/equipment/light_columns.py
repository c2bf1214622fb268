"""The columns of lights."""

from __future__ import annotations

from fleet_sim.arrays import Bools, Floats
from fleet_sim.core.columns import FeatureColumns, column


class LightColumns(FeatureColumns):
    """What each light is set to, and whether it is lit."""

    color: Floats = column(float, (3,), default=1.0, writer="spawning, SwitchLights", doc="red, green and blue, 0 to 1")
    switched_on: Bools = column(bool, writer="spawning, SwitchLights")
    blink: Floats = column(float, unit="Hz", writer="spawning, SwitchLights", doc="0: lit all the time")
    since: Floats = column(float, unit="s", writer="SwitchLights", doc="when it was switched on; it blinks from then")
    lit: Bools = column(bool, writer="Lights")
    shown: Bools = column(bool, writer="Lights", doc="whether its look is that of `lit` and `color`")

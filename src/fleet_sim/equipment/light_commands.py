"""Commands to lights."""

from __future__ import annotations

from typing import ClassVar

from fleet_sim.core.commands import Command, command


@command("switch_lights")
class SwitchLights(Command):
    """Switch lights on or off (`lit`); `color` (red, green, blue, 0 to 1) and `blink` in Hz, None: as before."""

    feature: ClassVar[str] = "light"

    names: tuple[str, ...]
    lit: bool = True
    color: tuple[float, float, float] | None = None
    blink: float | None = None

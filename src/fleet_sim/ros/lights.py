"""Lights in ROS 2: <light>/set_light and <light>/light."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from std_msgs.msg import ColorRGBA

from fleet_sim.arrays import Rows
from fleet_sim.equipment import SwitchLights
from fleet_sim.errors import InvalidValueError
from fleet_sim.ros.feature_topics import FeatureCommandTopic, FeatureStateTopic


class LightCommands(FeatureCommandTopic):
    """Switches a light: on in the color that is sent, with an opacity of 1; off with 0. It blinks as before.

    Subscribes to <light>/set_light, a ColorRGBA. An opacity between 0 and 1 is rejected: lights are not dimmed.
    """

    feature = "light"
    message_type = ColorRGBA
    topic = "set_light"

    def command(self, name: str, message: ColorRGBA) -> SwitchLights:
        """Return the command for a color; raises InvalidValueError for an opacity other than 0 and 1."""
        if message.a == 0.0:
            return SwitchLights(names=(name,), lit=False, source=self.topic)
        if message.a != 1.0:
            raise InvalidValueError(f"a: 1 switches it on and 0 off, got {message.a}")
        return SwitchLights(names=(name,), color=(message.r, message.g, message.b), source=self.topic)


class LightStates(FeatureStateTopic):
    """Publishes the color of each light, with an opacity of 1 while it is lit, 0 while it is dark.

    On <light>/light, a ColorRGBA, latched; a light that blinks publishes each change.
    """

    feature = "light"
    message_type = ColorRGBA
    topic = "light"

    def values(self, rows: Rows) -> Sequence[list[float]]:
        table: Any = self.bridge.sim.world.tables[self.feature]
        values: list[list[float]] = np.column_stack([table.color[rows], table.lit[rows]]).tolist()
        return values

    def message(self, value: list[float]) -> ColorRGBA:
        red, green, blue, opacity = value
        return ColorRGBA(r=red, g=green, b=blue, a=opacity)

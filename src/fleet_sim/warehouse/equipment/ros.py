"""Conveyors in ROS 2: <belt>/set_speed, <belt>/set_running, and <belt>/speed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from std_msgs.msg import ColorRGBA, Float64

from fleet_sim.base.arrays import Rows
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.ros.interface import Bridge, Endpoints, FeatureCommandTopic, FeatureStateTopic, having, serve_switch
from fleet_sim.ros.messages import Roster
from fleet_sim.warehouse.equipment import RunConveyors, SwitchLights


class ConveyorCommands(FeatureCommandTopic):
    """Lets a belt run at a speed that is sent to it, in m/s, or run and stand on request.

    The topic <belt>/set_speed, a Float64, negative to run backwards, and the service <belt>/set_running, a SetBool. A
    belt that stands keeps its speed for the next time it runs.
    """

    feature = "conveyor"
    message_type = Float64
    topic = "set_speed"

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._services = Endpoints(bridge, "commands", self._serve, bridge.end_service)

    def on_fleet_changed(self, roster: Roster) -> None:
        """Follow belts that were added and removed, with the topic and the service."""
        super().on_fleet_changed(roster)
        # Services belong to the executor's thread.
        belts = having(self.bridge.sim.world, self.feature)
        self.bridge.mailbox.post(partial(self._services.follow, belts))

    def command(self, name: str, message: Float64) -> RunConveyors:
        """Return the command that sets the speed of a belt; whether it runs stays as it is."""
        return RunConveyors(names=(name,), speed=message.data, source=self.topic)

    def _serve(self, name: str) -> Any:
        def command(running: bool) -> RunConveyors:
            return RunConveyors(names=(name,), running=running, source="set_running")

        return serve_switch(self.bridge, f"{name}/set_running", command)


class ConveyorSpeeds(FeatureStateTopic):
    """Publishes the speed of each belt in m/s along its x axis, 0 while it stands.

    On <belt>/speed, a Float64, latched; only when it changes.
    """

    feature = "conveyor"
    message_type = Float64
    topic = "speed"

    def values(self, rows: Rows) -> Sequence[float]:
        """Return the speeds of the belts in `rows`, in m/s."""
        table: Any = self.bridge.sim.world.tables[self.feature]
        speeds: list[float] = np.where(table.running[rows], table.speed[rows], 0.0).tolist()
        return speeds

    def message(self, value: float) -> Float64:
        return Float64(data=value)


# Lights in ROS 2: <light>/set_light and <light>/light.


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

"""Conveyors in ROS 2: <belt>/set_speed, <belt>/set_running, and <belt>/speed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from std_msgs.msg import Float64

from fleet_sim.arrays import Rows
from fleet_sim.equipment import RunConveyors
from fleet_sim.ros.feature_topics import FeatureCommandTopic, FeatureStateTopic, having, serve_switch
from fleet_sim.ros.interface import Bridge
from fleet_sim.ros.per_robot import Endpoints
from fleet_sim.ros.roster import Roster


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
        self.bridge.mailbox.post(partial(self._services.on_fleet_changed, belts))

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

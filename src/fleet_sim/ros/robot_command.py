"""Topics of single robots of which every message is a command."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from fleet_sim.core.commands import Command
from fleet_sim.ros import qos
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim.ros.polled import PolledTopic
from fleet_sim.ros.roster import Roster


class RobotCommandTopic(Interface):
    """Gives each robot the commands that it is sent on <robot>/<topic>."""

    message_type: ClassVar[type[Any]]
    topic: ClassVar[str]

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._topic = PolledTopic(bridge, self.message_type, self.topic, qos.COMMAND)

    def on_fleet_changed(self, roster: Roster) -> None:
        self._topic.on_fleet_changed(roster)

    def receive(self) -> None:
        for index, message in self._topic.take():
            name = self._topic.names[index]
            self.bridge.gateway.take(f"{name}/{self.topic}", partial(self.command, name, message))

    def command(self, name: str, message: Any) -> Command:
        """Return the command of a message to the robot `name`; raises FleetSimError, which rejects the message."""
        raise NotImplementedError

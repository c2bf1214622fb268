"""Topics of entities with a feature: robots and objects alike, below their names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from std_srvs.srv import SetBool

from fleet_sim.arrays import Rows
from fleet_sim.core.commands import Command
from fleet_sim.core.world import World
from fleet_sim.ros import qos
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim.ros.per_robot import publishers
from fleet_sim.ros.polled import RobotCommandTopic
from fleet_sim.ros.roster import Roster


def having(world: World, feature: str) -> Roster:
    """Return the entities with a feature, in order of spawning."""
    table: Any = world.tables.get(feature)
    rows = np.empty(0, np.int64) if table is None else table.among(world.rows)
    names = tuple(world.label(row) for row in rows.tolist())
    return Roster(world.version, rows, names, frozenset(names))


def serve_switch(bridge: Bridge, name: str, command: Callable[[bool], Command]) -> Any:
    """Serve `name`, a SetBool: it answers once what `command(data)` made is carried out, or refused with the reason."""

    async def switch(request: Any, response: Any) -> Any:
        wanted = command(request.data)
        ack = await bridge.gateway.wait(bridge.gateway.send(lambda: wanted))
        response.success = ack.ok
        response.message = ", ".join(ack.rejected.values())
        return response

    return bridge.serve(SetBool, name, switch)


class FeatureCommandTopic(RobotCommandTopic):
    """Gives each entity with a feature the commands that it is sent on <name>/<topic>."""

    feature: ClassVar[str]

    def on_fleet_changed(self, roster: Roster) -> None:
        super().on_fleet_changed(having(self.bridge.sim.world, self.feature))


class FeatureStateTopic(Interface):
    """Publishes what each entity with a feature does on <name>/<topic>: latched, whenever that changes."""

    feature: ClassVar[str]
    message_type: ClassVar[type[Any]]
    topic: ClassVar[str]

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._publishers = publishers(bridge, "state", self.message_type, self.topic, qos.LATCHED)
        self._told: dict[str, Any] = {}

    def on_fleet_changed(self, roster: Roster) -> None:
        """Publish to new entities' topics at the next step, whatever one of the same name has published."""
        for name in self._publishers.on_fleet_changed(having(self.bridge.sim.world, self.feature)):
            self._told.pop(name, None)

    def publish(self, now: int) -> None:
        """Publish the values that are not those published last."""
        of = self._publishers
        if not of.names:
            return
        for name, publisher, value in zip(of.names, of.items, self.values(of.rows), strict=True):
            if self._told.get(name) != value:
                self._told[name] = value
                publisher.publish(self.message(value))

    def values(self, rows: Rows) -> Sequence[Any]:
        """Return what each of `rows` does, as values that can be compared."""
        raise NotImplementedError

    def message(self, value: Any) -> Any:
        """Return the message that tells `value`."""
        raise NotImplementedError

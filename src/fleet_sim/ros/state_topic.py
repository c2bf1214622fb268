"""Base of topics with the state of one robot each, in messages of a fixed layout."""

from __future__ import annotations

from typing import Any, ClassVar

from fleet_sim.arrays import Rows
from fleet_sim.ros import qos
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim.ros.per_robot import publishers
from fleet_sim.ros.roster import Roster
from fleet_sim.ros.wire import MessageTemplate


class StateTopic(Interface):
    """Publishes a message of `message_type` on <robot>/`topic` for each robot that has topics of its own state."""

    message_type: ClassVar[Any] = None
    topic: ClassVar[str] = ""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._publishers = publishers(bridge, "state", self.message_type, self.topic, qos.STATE)

    def robots_of(self, roster: Roster) -> Roster:
        """Return the robots that have the topic."""
        return roster

    def template_of(self, names: list[str], rows: Rows) -> MessageTemplate:
        """Return the template of one message for each robot; its groups are sec, nanosec, and what `write` sets."""
        raise NotImplementedError

    def write(self, template: MessageTemplate, rows: Rows) -> None:
        """Write the present state of the robots in `rows`, those of `template_of`, to the template."""
        raise NotImplementedError

    def on_fleet_changed(self, roster: Roster) -> None:
        self._publishers.on_fleet_changed(self.robots_of(roster))
        self._template = self.template_of(self._publishers.names, self._publishers.rows)
        # Bound once: looking methods up for each of thousands of messages takes as long as publishing some of them.
        self._publish = [publisher.publish for publisher in self._publishers.items]

    def publish(self, now: int) -> None:
        rows = self._publishers.rows
        if not len(rows):
            return
        self._template.write_stamp(now)
        self.write(self._template, rows)
        for publish, piece in zip(self._publish, self._template.pieces(), strict=True):
            publish(piece)

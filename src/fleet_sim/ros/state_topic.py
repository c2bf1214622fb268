"""Base of topics with the state of one robot each, in messages of a fixed layout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

from fleet_sim.arrays import Rows
from fleet_sim.ros import qos
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim.ros.per_robot import publishers
from fleet_sim.ros.roster import Roster
from fleet_sim.ros.wire import MessageTemplate


def publish_function(publishers: Sequence[Any]) -> Callable[[Sequence[bytes]], None]:
    """Return a function that publishes one message, as bytes, through each of `publishers`."""
    first, *others = publishers or [None]
    if hasattr(first, "publish_each"):
        # Of pocket_ros, whose loop over publishers is in C.
        return partial(first.publish_each, others)
    # Bound once: looking methods up for each of thousands of messages takes as long as publishing some of them.
    functions = [publisher.publish for publisher in publishers]

    def publish(pieces: Sequence[bytes]) -> None:
        for function, piece in zip(functions, pieces, strict=True):
            function(piece)

    return publish


class StateTopic(Interface):
    """Publishes a message of `message_type` on <robot>/`topic` for each robot that has topics of its own state."""

    message_type: ClassVar[Any] = None
    topic: str = ""

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
        """Follow the robots that have this topic, and lay their messages out anew."""
        self._publishers.on_fleet_changed(self.robots_of(roster))
        self._template = self.template_of(self._publishers.names, self._publishers.rows)
        self._publish = publish_function(self._publishers.items)

    def publish(self, now: int) -> None:
        """Write the values of all robots into their messages in one go, and publish each."""
        rows = self._publishers.rows
        if not len(rows):
            return
        self._template.write_stamp(now)
        self.write(self._template, rows)
        self._publish(self._template.pieces())

"""Commands of a master control: its messages, as they came."""

from __future__ import annotations

from typing import ClassVar

from fleet_sim.core.commands import Command, command


@command("vda5050_message")
class VehicleMessage(Command):
    """A message to the robot `name`: its `topic` (order, instantActions, zoneSet, responses) and its `text`.

    `received` is when it came, in s since 1970: leases end so long after that.
    """

    feature: ClassVar[str] = "vda5050"

    name: str
    topic: str
    text: str
    received: float = 0.0

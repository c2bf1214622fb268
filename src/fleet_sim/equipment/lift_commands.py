"""Commands to lifts."""

from __future__ import annotations

from typing import ClassVar

from fleet_sim.core.commands import Command, command


@command("call_lift")
class CallLift(Command):
    """Call a lift to a floor, where it opens its doors, after those who called before."""

    feature: ClassVar[str] = "lift"

    lift: str
    floor: str


@command("request_lift")
class RequestLift(Command):
    """Send a lift to a floor for a session, as a fleet manager does; refused while it does something else.

    `end` ends the session.
    """

    feature: ClassVar[str] = "lift"

    lift: str
    floor: str
    session: str = ""
    kind: int = 1
    open: bool = True
    end: bool = False

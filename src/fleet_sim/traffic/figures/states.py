"""What robots are doing, as figures tell it apart."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from fleet_sim.saved_classes import saved


@saved
class Role(Enum):
    """What a state means for the flow of traffic."""

    MOVES = "moves"
    WAITS = "waits"
    WORKS = "works"
    RESTS = "rests"


@saved
class StateKind(NamedTuple):
    """A state of robots: its name in tables and plots, and what it means."""

    name: str
    role: Role


DRIVING, WAITING, BLOCKED, SERVING, IDLE = range(5)

STATES = (
    StateKind("driving", Role.MOVES),
    StateKind("waiting", Role.WAITS),
    StateKind("blocked", Role.WAITS),
    StateKind("serving", Role.WORKS),
    StateKind("idle", Role.RESTS),
)
"""Driving: it moves or turns on its way. Waiting: it stands on its way, for others to pass first. Blocked: it stands on
its way and may not go on at all. Serving: it stands at its goal for as long as that takes. Idle: it has no goal."""

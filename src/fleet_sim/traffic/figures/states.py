"""What robots are doing, as figures tell it apart."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Role(Enum):
    """What a state means for the flow of traffic."""

    MOVES = "moves"
    WAITS = "waits"
    WORKS = "works"
    RESTS = "rests"


class State(NamedTuple):
    """A state of robots: its name in tables and plots, and what it means."""

    name: str
    role: Role


DRIVING, WAITING, BLOCKED, SERVING, IDLE = range(5)

STATES = (
    State("driving", Role.MOVES),
    State("waiting", Role.WAITS),
    State("blocked", Role.WAITS),
    State("serving", Role.WORKS),
    State("idle", Role.RESTS),
)
"""Driving: it moves or turns on its way. Waiting: it stands on its way, for others to pass first. Blocked: it stands on
its way and may not go on at all. Serving: it stands at its goal for as long as that takes. Idle: it has no goal."""

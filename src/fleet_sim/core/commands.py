"""Commands: frozen requests to robots and to the world, by name, for one or many at once.

Arrays in a command are aligned with `names`. A command is applied in phase 1 of the next step (see Inbox); the last
command to a robot wins and cancels what it was doing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fleet_sim.arrays import Floats


@dataclass(frozen=True, kw_only=True)
class Command:
    """Base of all commands. `command_id` and `source` come back in the acknowledgement."""

    command_id: str = ""
    source: str = ""


@dataclass(frozen=True, kw_only=True)
class Navigate(Command):
    """Drive to goals: `positions` (N, 3) in m, `orientations` (N, 4) xyzw, world frame."""

    names: tuple[str, ...]
    positions: Floats
    orientations: Floats


@dataclass(frozen=True, kw_only=True)
class FollowPath(Command):
    """Follow waypoints, `positions` (M, 3) and `orientations` (M, 4), with one robot."""

    name: str
    positions: Floats
    orientations: Floats


@dataclass(frozen=True, kw_only=True)
class SetVelocity(Command):
    """Drive with body twists: `linear` (N, 3) in m/s, `angular` (N, 3) in rad/s.

    `timeout` in s of simulation time: None takes each robot's own, 0 holds for ever.
    """

    names: tuple[str, ...]
    linear: Floats
    angular: Floats
    timeout: float | None = None


@dataclass(frozen=True, kw_only=True)
class SetJoints(Command):
    """Move joints to `positions` (N, K) in rad or m, or let them keep `velocities` (N, K): one of the two.

    `joint_names` (K,) are the same for all robots; none: all joints that move, in order. `max_force` (N m or N) is for
    motors.
    """

    names: tuple[str, ...]
    joint_names: tuple[str, ...] = ()
    positions: Floats | None = None
    velocities: Floats | None = None
    max_force: float = 500.0


@dataclass(frozen=True, kw_only=True)
class Stop(Command):
    """Stop at once, base and joints, and cancel all actions; no names: the whole fleet."""

    names: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SetPoses(Command):
    """Put objects or robots at poses: `positions` (N, 3), `orientations` (N, 4), world frame."""

    names: tuple[str, ...]
    positions: Floats
    orientations: Floats


@dataclass(frozen=True, kw_only=True)
class ExecuteAction(Command):
    """Run actions, one per robot. `replace`: cancel what runs; else append to the queue."""

    names: tuple[str, ...]
    actions: tuple[Any, ...]
    replace: bool = True


@dataclass(frozen=True, kw_only=True)
class CancelActions(Command):
    """Cancel the running and queued actions and stop."""

    names: tuple[str, ...]
    reason: str = "cancelled by command"


@dataclass(frozen=True, kw_only=True)
class Attach(Command):
    """Attach an object to a robot, or detach it (`attach=False`; empty `object_name`: all it carries).

    `link` is the link that takes it, by name; empty: the base.
    """

    name: str
    object_name: str = ""
    attach: bool = True
    search_radius: float = 1.0
    link: str = ""


@dataclass(frozen=True, kw_only=True)
class Remove(Command):
    """Remove entities."""

    names: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Call(Command):
    """Call `function(sim)` inside phase 1: for what no other command covers."""

    function: Callable[[Any], object]


@dataclass(frozen=True)
class CommandAck:
    """Who a command was accepted for, and why not for the others. `value` is what a Call returned."""

    command_id: str = ""
    source: str = ""
    sim_time: float = 0.0
    accepted_names: tuple[str, ...] = ()
    rejected: dict[str, str] = field(default_factory=dict)
    value: Any = None

    @property
    def ok(self) -> bool:
        """Whether nothing was rejected."""
        return not self.rejected

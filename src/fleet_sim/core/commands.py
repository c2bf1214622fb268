"""Commands: immutable requests to robots and to the world, by name, for one or many robots at once.

Arrays in a command are aligned with `names`. A command is applied in phase 1 of the next step (see Inbox), or, if its
class requires it, between two steps; the last command to a robot wins and cancels its running action.

Commands are values: equal ones compare equal, they can be pickled, and all but `Call` can be written as plain data
(`to_dict`) and read back (`Command.from_dict`), which is what a log of them is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from fleet_sim.arrays import Floats
from fleet_sim.core.command import COMMANDS as COMMANDS
from fleet_sim.core.command import Command as Command
from fleet_sim.core.command import NamedCommand as NamedCommand
from fleet_sim.core.command import command as command
from fleet_sim.core.command import type_of as type_of


@command("navigate")
class Navigate(NamedCommand):
    """Drive to goals: `positions` (N, 3) in m, `orientations` (N, 4) xyzw, world frame."""

    positions: Floats
    orientations: Floats


@command("follow_path")
class FollowPath(Command):
    """Follow waypoints, `positions` (M, 3) and `orientations` (M, 4), with one robot."""

    name: str
    positions: Floats
    orientations: Floats


@command("set_velocity")
class SetVelocity(NamedCommand):
    """Drive with body twists: `linear` (N, 3) in m/s, `angular` (N, 3) in rad/s.

    `timeout` in s of simulation time: None uses each robot's own, 0 means no timeout.
    """

    linear: Floats
    angular: Floats
    timeout: float | None = None


@command("set_joints")
class SetJoints(NamedCommand):
    """Move joints to `positions` (N, K) in rad or m, or at `velocities` (N, K) in rad/s or m/s: one of the two.

    `joint_names` (K,) are the same for all robots; empty: all movable joints, in order. `max_force` (N m or N) limits
    motors.
    """

    joint_names: tuple[str, ...] = ()
    positions: Floats | None = None
    velocities: Floats | None = None
    max_force: float = 500.0


@command("stop")
class Stop(Command):
    """Stop bases and joints at once and cancel all actions; no names: the whole fleet."""

    names: tuple[str, ...] = ()


@command("set_poses")
class SetPoses(NamedCommand):
    """Set poses of objects or robots: `positions` (N, 3), `orientations` (N, 4), world frame.

    Without `preserve_velocity` their velocities become zero.
    """

    positions: Floats
    orientations: Floats
    preserve_velocity: bool = True


@command("execute_action")
class ExecuteAction(NamedCommand):
    """Run actions, one per robot. `replace`: cancel running and queued actions; else append to the queue.

    An action is an Action, or a mapping of its `type` and parameters as in a scenario file; only mappings can be
    written to logs. The acknowledgement's `value` holds the accepted actions by name.
    """

    actions: tuple[Any, ...]
    replace: bool = True

    @property
    def runs_code(self) -> bool:
        """Whether some of the actions may be user-defined."""
        return not all(type(action).__module__.startswith("fleet_sim.") for action in self.actions)


@command("cancel_actions")
class CancelActions(NamedCommand):
    """Cancel the running and queued actions and stop.

    With `goal`, cancel only actions from the ExecuteAction with that `command_id`, if they have not ended; robots that
    run other actions by now continue.
    """

    reason: str = "cancelled by command"
    goal: str = ""


@command("finish_actions")
class FinishActions(NamedCommand):
    """End running actions that wait for this, such as a TeleopAction, with success; robots without one are rejected."""


@command("attach")
class Attach(Command):
    """Attach an object to a robot, or detach it (`attach=False`; empty `object_name`: all objects it carries).

    `link` is the name of the link to attach it to; empty: the base. Without a name it is the nearest free object within
    `search_radius` m of the robot; one with a name is attached from wherever it is, unless `reach` in m limits it.
    """

    name: str
    object_name: str = ""
    attach: bool = True
    search_radius: float = 1.0
    link: str = ""
    reach: float | None = None


@command("remove")
class Remove(NamedCommand):
    """Remove entities."""


@command("spawn")
class Spawn(Command):
    """Spawn robots, then objects; entries are as in a scenario file. On an error, none of them is spawned.

    With `rename` a name that is taken gets a number: robot_0, robot_1. The acknowledgement has the names. `remote`
    entries came from another process: no dotted paths, files only from model folders, and a limited number at once.
    """

    robots: tuple[Mapping[str, Any], ...] = ()
    objects: tuple[Mapping[str, Any], ...] = ()
    rename: bool = False
    remote: bool = False

    @property
    def runs_code(self) -> bool:
        """Entries may have user-defined controllers and actions."""
        return True


@command("reset")
class Reset(Command):
    """Restore the initial state, see `sim.reset()`."""

    between_steps: ClassVar[bool] = True


@command("clear")
class Clear(Command):
    """Remove every entity and go back to time 0, see `sim.clear()`."""

    between_steps: ClassVar[bool] = True


@command("save_state")
class SaveState(Command):
    """Save the current state as `name`, in memory; replaces an earlier state of that name."""

    between_steps: ClassVar[bool] = True
    name: str


@command("restore_state")
class RestoreState(Command):
    """Restore the state saved as `name`."""

    between_steps: ClassVar[bool] = True
    name: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Call(Command):
    """Call `function(sim)` in phase 1: for Python programs, and for requests without a command of their own.

    A function cannot be written as data, so a log with a Call cannot be saved.
    """

    function: Callable[[Any], object]

    @property
    def runs_code(self) -> bool:
        """Always: the function is user code."""
        return True

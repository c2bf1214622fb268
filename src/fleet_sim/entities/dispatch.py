"""FleetCommandDispatcher: executes commands for many robots at once and reports which were rejected, and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial, singledispatchmethod
from typing import Any, Protocol

import numpy as np

from fleet_sim.arrays import as_float, as_floats
from fleet_sim.config.modes import ActionCause
from fleet_sim.core import commands as c
from fleet_sim.core.acknowledgement import CommandAck
from fleet_sim.core.addresses import NamedRows
from fleet_sim.core.checkpoint import Checkpoint
from fleet_sim.core.commands import Command
from fleet_sim.core.joint_steering import hold_joints
from fleet_sim.core.moments import Moments
from fleet_sim.core.schema import KIND_AGENT
from fleet_sim.core.world import World
from fleet_sim.entities import attachments, drive
from fleet_sim.entities.attach_command import attach
from fleet_sim.entities.joint_command import set_joints
from fleet_sim.entities.recipients import Recipients, keep_sane, shaped
from fleet_sim.entities.scenario_host import LoadableSimulation
from fleet_sim.entities.spawn_command import spawn_command
from fleet_sim.entities.spawning import remove
from fleet_sim.entities.world_command import LoadWorld, load_world
from fleet_sim.errors import FleetSimError, InvalidValueError
from fleet_sim.gate.bounds import LONGEST_TIME, check_extent
from fleet_sim.spatial import quaternions


class Commanded(LoadableSimulation, Protocol):
    """The operations of commands on a simulation as a whole."""

    def reset(self) -> None: ...

    def save_state(self) -> Checkpoint: ...

    def restore_state(self, checkpoint: Checkpoint) -> None: ...


Handler = Callable[[Any], CommandAck]


class FleetCommandDispatcher:
    """Applies commands to a simulation. Invalid entries are rejected with a reason and never move anything.

    Emits `fleet_command` with the command before anything changes. `moments` are those that SaveState has saved.
    """

    def __init__(self, sim: Commanded) -> None:
        self._sim = sim
        self._handlers: dict[type[Command], Handler] = {LoadWorld: partial(load_world, sim)}
        self.moments = Moments()

    def handle(self, cls: type[Command], handler: Handler) -> None:
        """Register `handler(command)` for commands of the class `cls`; it must return the acknowledgement."""
        self._handlers[cls] = handler

    def dispatch(self, command: Command) -> CommandAck:
        """Apply `command` now; raises InvalidValueError if it is malformed as a whole."""
        # Before it is carried out: who records commands needs those that fail, too.
        self._sim.world.events.emit("fleet_command", command=command)
        handler = self._handlers.get(type(command))
        if handler is None and isinstance(command, Command) and command.feature:
            # A feature registers the handlers of its commands at its first use.
            self._world.features.use(command.feature)
            handler = self._handlers.get(type(command))
        return self._apply(command) if handler is None else handler(command)

    def described(self, command: Command) -> Command:
        """Return `command` with actions converted to type and parameters; those that cannot be are kept."""
        if not isinstance(command, c.ExecuteAction):
            return command
        return replace(command, actions=tuple(map(self._described, command.actions)))

    def _described(self, action: Any) -> Any:
        if isinstance(action, Mapping):
            return action
        try:
            return self._world.actions.describe(action)
        except FleetSimError:
            # Writing it to a log will raise an error with the reason.
            return action

    # ---- by command --------------------------------------------------------------------------------------------------

    @singledispatchmethod
    def _apply(self, command: Command) -> CommandAck:
        raise InvalidValueError(f"unknown command {command!r}; see fleet_sim.core.commands")

    @_apply.register
    def _(self, command: c.Navigate) -> CommandAck:
        to = Recipients(self._world, command.names)
        to.reject_immovable()
        positions, orientations = to.free_poses(*to.poses(command.positions, command.orientations))
        # After all checks: a rejected command must not end what the robot is doing.
        self._pre_empt_base(to, "a new goal was commanded")
        if len(to.rows):
            drive.start_paths(self._world, to.rows, np.ones(len(to.rows), np.int64), positions, orientations)
        return self._ack(command, to)

    @_apply.register
    def _(self, command: c.FollowPath) -> CommandAck:
        to = Recipients(self._world, [command.name])
        to.reject_immovable()
        points = as_floats(command.positions, (None, 3), "positions")
        orientations = quaternions.normalized(as_floats(command.orientations, (len(points), 4), "orientations"))
        check_extent(points, self._world.extent, "positions")
        if len(points) == 0:
            raise InvalidValueError("a path needs at least one waypoint, got none")
        inside = drive.goals_inside(self._world, to.rows, np.full(len(to.rows), len(points)), points, orientations)
        to.reject_for({row: drive.inside_text(self._world, *where, len(points)) for row, where in inside.items()})
        self._pre_empt_base(to, "a new path was commanded")
        if len(to.rows):
            drive.start_paths(self._world, to.rows, np.array([len(points)]), points, orientations)
        return self._ack(command, to)

    @_apply.register
    def _(self, command: c.SetVelocity) -> CommandAck:
        to = Recipients(self._world, command.names)
        to.reject_immovable()
        shape = (len(command.names), 3)
        # Shapes are checked for all names, values only of those who get one.
        linear, angular = shaped(command.linear, shape, "linear"), shaped(command.angular, shape, "angular")
        timeout = (
            None if command.timeout is None else as_float(command.timeout, "timeout in s", low=0.0, high=LONGEST_TIME)
        )
        linear, angular = keep_sane(self._world, to, linear[to.indices], angular[to.indices])
        self._pre_empt_base(to, "a velocity was commanded")
        if len(to.rows):
            drive.start_velocities(self._world, to.rows, linear, angular, timeout)
        return self._ack(command, to)

    @_apply.register
    def _(self, command: c.SetJoints) -> CommandAck:
        to = Recipients(self._world, command.names)
        to.reject_jointless()
        set_joints(self._world, command, to)
        return self._ack(command, to)

    @_apply.register
    def _(self, command: c.Stop) -> CommandAck:
        to = Recipients(self._world, command.names or self._everyone())
        to.reject_others_than_robots()
        self._stop(to, "stopped by command", stay=True)
        return self._ack(command, to)

    @_apply.register
    def _(self, command: c.SetPoses) -> CommandAck:
        world = self._world
        to = Recipients(world, command.names)
        to.reject_carried()
        positions, orientations = to.poses(command.positions, command.orientations)
        if len(to.rows):
            world.place(to.rows, positions, orientations, preserve_velocity=command.preserve_velocity)
            # Within a step, what is carried follows at the end of phase 1 anyway.
            if not world.in_step:
                attachments.follow_rows(world, to.rows)
        return self._ack(command, to)

    @_apply.register
    def _(self, command: c.ExecuteAction) -> CommandAck:
        if len(command.actions) != len(command.names):
            raise InvalidValueError(f"expected one action per name ({len(command.names)}), got {len(command.actions)}")
        to = Recipients(self._world, command.names)
        to.reject_others_than_robots()
        reasons: dict[int, str] = {}
        added: dict[str, Any] = {}
        book = self._world.actions
        for row, index in zip(to.rows.tolist(), to.indices.tolist(), strict=True):
            try:
                action = self._made(command.actions[index])
                # Before the running action is cancelled, which an invalid new one must not do.
                book.check(action)
                # Goals that wait behind one another are kept unless the command says otherwise.
                if command.replace and book.cancel(row, "preempted by a new action"):
                    drive.stop(self._world, np.array([row]))
                book.add(row, action, command.command_id)
                added[command.names[index]] = action
            except FleetSimError as error:
                reasons[row] = str(error)
        to.reject_for(reasons)
        return replace(self._ack(command, to), value=added)

    def _made(self, action: Any) -> Any:
        """Return the given action, or make it from its type and parameters."""
        if not isinstance(action, Mapping):
            return action
        params = dict(action)
        return self._world.actions.parse(params.pop("type", ""), params)

    @_apply.register
    def _(self, command: c.CancelActions) -> CommandAck:
        to = Recipients(self._world, command.names)
        to.reject_others_than_robots()
        if command.goal:
            # Only of those with actions, and only the actions of this goal: others stay.
            for row in self._world.actions.busy(to.rows).tolist():
                self._world.actions.cancel_goal(row, command.goal, command.reason)
        else:
            self._stop(to, command.reason)
        return self._ack(command, to)

    @_apply.register
    def _(self, command: c.FinishActions) -> CommandAck:
        to = Recipients(self._world, command.names)
        to.reject_others_than_robots()
        running = {row: self._world.actions.current(row) for row in to.rows.tolist()}
        unasked = [row for row, action in running.items() if action is None or not action.finish()]
        to.reject_for(dict.fromkeys(unasked, "no action of it waits to be finished"))
        return self._ack(command, to)

    @_apply.register
    def _(self, command: c.Attach) -> CommandAck:
        to = Recipients(self._world, [command.name])
        to.reject_others_than_robots()
        to.reject_for({row: attach(self._world, self._world.handles[row], command) for row in to.rows.tolist()})
        return self._ack(command, to)

    @_apply.register
    def _(self, command: c.Remove) -> CommandAck:
        to = Recipients(self._world, command.names)
        # All in one go, as rows may be attached to each other.
        if len(to.rows):
            remove(self._world, to.rows)
        return self._ack(command, to)

    @_apply.register
    def _(self, command: c.Spawn) -> CommandAck:
        names = spawn_command(self._world, command)
        return replace(self._done(command), accepted_names=names)

    @_apply.register
    def _(self, command: c.Reset) -> CommandAck:
        self._sim.reset()
        return self._done(command)

    @_apply.register
    def _(self, command: c.Clear) -> CommandAck:
        self._sim.clear()
        return self._done(command)

    @_apply.register
    def _(self, command: c.SaveState) -> CommandAck:
        # Before the state is saved, which copies everything.
        self.moments.check_name(command.name)
        self.moments.keep(command.name, self._sim.save_state())
        return self._done(command)

    @_apply.register
    def _(self, command: c.RestoreState) -> CommandAck:
        self._sim.restore_state(self.moments.named(command.name))
        return self._done(command)

    @_apply.register
    def _(self, command: c.Call) -> CommandAck:
        # Called between steps or in a step, by whoever put it into the inbox.
        value = command.function(self._sim)
        return replace(self._done(command), value=value)

    # ---- helpers -----------------------------------------------------------------------------------------------------

    @property
    def _world(self) -> World:
        return self._sim.world

    def _done(self, command: Command) -> CommandAck:
        return CommandAck(command.command_id, command.source, self._world.clock.time)

    def _ack(self, command: Command, to: Recipients) -> CommandAck:
        time = self._world.clock.time
        return CommandAck(command.command_id, command.source, time, to.names, to.rejected)

    def _everyone(self) -> NamedRows:
        world = self._world
        rows = world.rows[world.kind[world.rows] == KIND_AGENT]
        return NamedRows(world, [world.label(row) for row in rows.tolist()], rows)

    def _pre_empt_base(self, to: Recipients, reason: str) -> None:
        for row in self._world.actions.busy(to.rows).tolist():
            self._world.actions.cancel_base(row, reason)

    def _stop(self, to: Recipients, reason: str, *, stay: bool = False) -> None:
        world = self._world
        for row in world.actions.busy(to.rows).tolist():
            world.actions.cancel(row, reason, ActionCause.CANCELLED)
        if len(to.rows):
            drive.stop(world, to.rows, stay=stay)
            # Stop is for the whole robot: its joints stop, too.
            hold_joints(world, world.joints.slots(world.robots, to.rows))

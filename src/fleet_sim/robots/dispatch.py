"""FleetCommandDispatcher: carries out commands for many robots at once, and reports which were rejected."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import field, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from fleet_sim.base.arrays import Floats, Ints, Rows, as_float, as_floats
from fleet_sim.base.errors import FleetSimError, InvalidValueError
from fleet_sim.base.files import data_roots, discarding, operator_input, remote_input
from fleet_sim.base.limits import LARGEST_FORCE, LARGEST_SPEED, LONGEST_TIME, check_extent
from fleet_sim.base.params import ActionCause, SimulationParams
from fleet_sim.base.request_budget import from_outside
from fleet_sim.base.scenario import check_entries, simulation_in, with_implied_settings
from fleet_sim.base.spatial import quaternions
from fleet_sim.models import model_folders
from fleet_sim.robots import attachments, drive
from fleet_sim.robots.agent import Agent
from fleet_sim.robots.drive import Recipients, keep_sane, shaped
from fleet_sim.robots.joint_arguments import limits_cause, place_of
from fleet_sim.robots.sim_object import SimObject
from fleet_sim.robots.spawning import fill_scenario, remove, spawn_entry_rows
from fleet_sim.world import commands as c
from fleet_sim.world import steering
from fleet_sim.world.checkpoint import NamedCheckpoints
from fleet_sim.world.commands import Command, CommandAck, NamedRows, command
from fleet_sim.world.schema import KIND_AGENT
from fleet_sim.world.shapes import BASE, RobotModel
from fleet_sim.world.steering import hold_joints
from fleet_sim.world.world import World

# The command Attach: attach an object to a robot, or detach what it carries.


def attach(world: World, agent: Any, command: c.Attach) -> str:
    """Execute `command` for `agent`; return the reason for a failure, or ""."""
    if not command.attach:
        return _detach(agent, command.object_name)
    if command.object_name:
        if not world.index.has_name(command.object_name):
            return f"unknown object {command.object_name!r}"
        obj = world.handles[world.index.row_named(command.object_name)]
    else:
        obj = agent.find_nearest_pickable(command.search_radius)
    try:
        # Before anything is attached: an unknown link must not be found out too late.
        link = attachments.link_index(world, agent.row, command.link or BASE)
    except FleetSimError as error:
        return str(error)
    if obj is not None and (reason := attachments.out_of_reach(world, obj.row, agent.row, link, command.reach)):
        return reason
    if obj is None or not agent.pick(obj, link=link):
        return "no free pickable object in reach"
    return ""


def _detach(agent: Any, object_name: str) -> str:
    """Detach the object of that name, or all objects if it is empty."""
    # A list of its own: detaching changes the robot's.
    carried = [obj for obj in agent.get_attached_objects() if object_name in ("", obj.name)]
    for obj in carried:
        agent.detach_object(obj)
    return "" if carried else "nothing to detach"


# Joint commands for many robots: one write per robot model.


def set_joints(world: World, command: c.SetJoints, to: Recipients) -> None:
    """Execute `command` for the robots of `to`, which must all have joints; invalid ones are rejected in `to`.

    Raises InvalidValueError if the command is malformed as a whole.
    """
    values = _values(command)
    force = as_float(command.max_force, "max_force in N m or N", low=0.0, high=LARGEST_FORCE)
    what = "velocity" if command.positions is None else "position"
    # Robots of one model may follow mimic joints or not.
    # One number for model and way of following: rows with the same number are commanded in one write.
    numbers = 2 * world.robots.model[to.rows] + world.robots.mimics[to.rows]
    chosen: dict[int, Ints] = {}
    reasons: dict[int, str] = {}
    for number in np.unique(numbers).tolist():
        members = np.flatnonzero(numbers == number)
        model = world.models[number // 2]
        try:
            chosen[number] = places = _places(model, command.joint_names, values.shape[1])
        except FleetSimError as error:
            # The whole kind is wrong in the same way; the others go on.
            reasons.update(dict.fromkeys(to.rows[members].tolist(), str(error)))
            continue
        given = values[to.indices[members]]
        reasons.update(_reasons(to.rows[members], model, places, given, command.positions is not None))
        if number % 2:
            reasons.update(_mimic_reasons(to.rows[members], model, places, given, what))
    # After all checks: nothing has been written so far.
    to.reject_for(reasons)
    numbers = 2 * world.robots.model[to.rows] + world.robots.mimics[to.rows]
    for number, places in chosen.items():
        rows, indices = to.rows[numbers == number], to.indices[numbers == number]
        for row in world.actions.busy(rows).tolist():
            world.actions.cancel_joints(row, places, "joints were commanded")
        slots = (world.robots.joint_start[rows][:, None] + places).reshape(-1)
        # Velocities have no limits of position to be checked against; each joint clips them to its speed.
        give = steering.give_joint_velocities if command.positions is None else steering.give_joint_targets
        give(world, slots, values[indices].reshape(-1), force)


def _values(command: c.SetJoints) -> Floats:
    """Return the numbers of the command, finite or not."""
    if (command.positions is None) == (command.velocities is None):
        raise InvalidValueError("a joint command has either positions or velocities")
    what = "velocities" if command.positions is None else "positions"
    given: Any = command.velocities if command.positions is None else command.positions
    # Without names, the numbers say how many joints are meant.
    columns = len(command.joint_names) or (np.shape(given)[1] if np.ndim(given) == 2 else 0)
    return shaped(given, (len(command.names), columns), what)


def _places(model: RobotModel, joint_names: tuple[str, ...], count: int) -> Ints:
    if joint_names:
        return np.array([place_of(model, name) for name in joint_names], np.int64)
    if count != len(model.movable):
        raise InvalidValueError(f"{model.name!r} has {len(model.movable)} joints that move, got {count} numbers")
    return np.arange(count)


def _reasons(rows: Rows, model: RobotModel, places: Ints, given: Floats, are_positions: bool) -> dict[int, str]:
    """Return, by row, the reasons for rejecting `rows` whose numbers in `given` (K, M) are not allowed."""
    reasons = {}
    for row, numbers in zip(rows.tolist(), given, strict=True):
        cause = "" if np.isfinite(numbers).all() else "a number is not finite"
        # `not ... <=`, so that NaN is refused too.
        if not cause and not np.abs(numbers).max(initial=0.0) <= LARGEST_SPEED:
            cause = f"a number is beyond {LARGEST_SPEED:g}"
        if not cause and are_positions:
            cause = limits_cause(model, places, numbers)
        if cause:
            reasons[row] = cause
    return reasons


def _mimic_reasons(rows: Rows, model: RobotModel, places: Ints, given: Floats, what: str) -> dict[int, str]:
    """Return, by row, the reasons for rejecting `rows` that command mimic joints apart from their leaders."""
    reasons = {}
    for row, numbers in zip(rows.tolist(), given, strict=True):
        try:
            steering.without_followers(model, places, numbers, what=what)
        except InvalidValueError as error:
            reasons[row] = str(error)
    return reasons


# Spawning by command: entries as in a scenario file, renamed if their names are taken and this is allowed.


def spawn_command(world: World, command: c.Spawn) -> tuple[str, ...]:
    """Spawn the entries of `command`, all or none, and return their names, robots first; raises ConfigError."""
    robots = spawn_entry_rows(world, Agent, _entries(world, command, command.robots), path="robots")
    try:
        objects = spawn_entry_rows(world, SimObject, _entries(world, command, command.objects), path="objects")
    except BaseException:
        # All or nothing, as for entries of one section.
        remove(world, robots)
        raise
    return tuple(map(world.label, np.concatenate((robots, objects)).tolist()))


def _entries(world: World, command: c.Spawn, entries: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Return `entries`, with new names for those whose names are taken, if the command allows renaming."""
    if not command.rename:
        return list(entries)
    taken: set[str] = set()
    renamed = []
    for entry in entries:
        # Numbers begin at 0 for each entry; names that are taken are skipped.
        stem = entry.get("name") or "robot"
        candidates = (f"{stem}_{number}" for number in count())
        name = entry.get("name") or next(candidates)
        while world.index.has_name(name) or name in taken:
            name = next(candidates)
        taken.add(name)
        renamed.append({**entry, "name": name})
    return renamed


# LoadWorld: another scenario in place of the present one, in the same simulation.


LOOKS = ("gui", "monitor", "camera", "target_rtf")
"""Settings of a scenario that change no run: how it is watched, and how fast it goes."""


@command("load_world")
class LoadWorld(Command):
    """Clear the simulation and fill it with `scenario`, which is as in a file; `file` is the one it comes from.

    The settings of the simulation stay. The event `world_loaded` follows.
    """

    between_steps: ClassVar[bool] = True

    scenario: Mapping[str, Any] = field(default_factory=dict)
    file: str = ""

    @property
    def runs_code(self) -> bool:
        """Scenarios may have user-defined parts."""
        return True


def load_world(sim: Any, command: LoadWorld) -> None:
    """Carry out the command in the simulation `sim`; raises FleetSimError, and what was there stays then."""
    # A refused world leaves no file behind, and replaces none.
    with discarding():
        try_world(sim, command.scenario, command.file)
    # What the world before has to finish is its own; and the budget is a new one, as what was tried is gone.
    with operator_input():
        sim.clear()
        sim.world.promised.clear()
    with input_of(sim.world, command):
        fill_scenario(sim, with_implied_settings(command.scenario, source=command.file), source=command.file)
    sim.world.events.emit("world_loaded")


def try_world(sim: Any, scenario: Mapping[str, Any], source: str) -> None:
    """Raise FleetSimError where `sim` cannot be filled with `scenario`: it is built beside it and thrown away."""
    check_entries(scenario, source=source)
    SimulationParams.from_dict(with_implied_settings(scenario, source=source), source=source)
    # With the settings that it will have: those of the simulation stay.
    with type(sim)(replace(sim.params, gui=False, monitor=False)) as trial:
        fill_scenario(trial, with_implied_settings(scenario, source=source), source=source)


def other_settings(params: SimulationParams, scenario: Mapping[str, Any], source: str) -> list[str]:
    """Return the settings of the simulation that `scenario` names with other values than those in use, `params`."""
    settings = with_implied_settings(scenario, source=source)
    wanted = SimulationParams.from_dict(settings, source=source)
    given = simulation_in(settings)
    return sorted(
        name
        for name in given
        if name not in LOOKS and hasattr(params, name) and getattr(wanted, name) != getattr(params, name)
    )


def world_folders(world: World) -> list[Path]:
    """Return the folders that hold what worlds from other processes may be made of."""
    return [*model_folders(world.model_paths), *(root / "config" for root in data_roots())]


@contextmanager
def input_of(world: World, command: Command) -> Iterator[None]:
    """Carry out what is inside as what a `remote` command asks for."""
    if not command.remote or command.of_operator:
        yield
        return
    with ExitStack() as stack:
        rights = remote_input(partial(world_folders, world), output=world.output_folder, promised=world.promised)
        stack.enter_context(rights)
        # A file is the operator's, who may have large ones; a text is as a message brought it.
        if not (isinstance(command, LoadWorld) and command.file):
            stack.enter_context(from_outside())
        yield


Handler = Callable[[Any], CommandAck | Recipients | None]
"""Carries out a command; returns its acknowledgement, or for whom it was, None where it is for nobody by name."""


class FleetCommandDispatcher:
    """Applies commands to a simulation. Invalid entries are rejected with a reason and never move anything.

    Emits `fleet_command` with the command before anything changes. `moments` are those that SaveState has saved.
    """

    def __init__(self, sim: Any) -> None:
        self._sim = sim
        self.moments = NamedCheckpoints()
        self._handlers: dict[type[Command], Handler] = {
            c.Navigate: self._navigate,
            c.FollowPath: self._follow_path,
            c.SetVelocity: self._set_velocity,
            c.SetJoints: self._set_joints,
            c.Stop: self._stop_all,
            c.SetPoses: self._set_poses,
            c.ExecuteAction: self._execute_action,
            c.CancelActions: self._cancel_actions,
            c.FinishActions: self._finish_actions,
            c.Attach: self._attach,
            c.Remove: self._remove,
            c.Spawn: self._spawn,
            c.Reset: lambda _: sim.reset(),
            c.Clear: lambda _: sim.clear(),
            c.SaveState: self._save_state,
            c.RestoreState: lambda command: sim.restore_state(self.moments.named(command.name)),
            c.Call: self._call,
            LoadWorld: partial(load_world, sim),
        }

    def handle(self, cls: type[Command], handler: Handler) -> None:
        """Register `handler(command)` for commands of the class `cls`."""
        self._handlers[cls] = handler

    def dispatch(self, command: Command) -> CommandAck:
        """Apply `command` now; raises InvalidValueError if it is malformed as a whole."""
        # Before it is carried out: who records commands needs those that fail, too.
        self._sim.world.events.emit("fleet_command", command=command)
        handler = self._handler(command)
        if handler is None and isinstance(command, Command) and command.feature:
            # A feature registers the handlers of its commands at its first use.
            self._world.features.use(command.feature)
            handler = self._handler(command)
        if handler is None:
            raise InvalidValueError(f"unknown command {command!r}; see fleet_sim.world.commands")
        with input_of(self._world, command):
            done = handler(command)
        return done if isinstance(done, CommandAck) else self._ack(command, done)

    def _handler(self, command: Command) -> Handler | None:
        """Return what carries out commands of this class, or of the class that it is derived from."""
        return next((self._handlers[cls] for cls in type(command).__mro__ if cls in self._handlers), None)

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

    def _navigate(self, command: c.Navigate) -> Recipients:
        to = Recipients(self._world, command.names)
        to.reject_immovable(by_route=command.route)
        positions, orientations = to.poses(command.positions, command.orientations)
        if command.route:
            self._navigate_by_route(command, to, positions, orientations)
            return to
        positions, orientations = to.free_poses(positions, orientations)
        # After all checks: a rejected command must not end what the robot is doing.
        self._pre_empt_base(to, "a new goal was commanded")
        if len(to.rows):
            drive.start_paths(self._world, to.rows, np.ones(len(to.rows), np.int64), positions, orientations)
        return to

    def _navigate_by_route(self, command: c.Navigate, to: Recipients, positions: Floats, orientations: Floats) -> None:
        world = self._world
        poses = np.concatenate((positions, orientations), axis=1).tolist()
        goals = [{"position": pose[:3], "orientation": pose[3:]} for pose in poses]
        actions = [world.actions.parse("move_to", {"target_pose": goal, "route": True}) for goal in goals]
        failures = {
            row: action.refusal(world.handles[row]) for row, action in zip(to.rows.tolist(), actions, strict=True)
        }
        chosen = [action for row, action in zip(to.rows.tolist(), actions, strict=True) if failures[row] is None]
        to.reject_for({row: failure.message for row, failure in failures.items() if failure is not None})
        self._execute_action(c.ExecuteAction(names=to.names, actions=tuple(chosen), command_id=command.command_id))

    def _follow_path(self, command: c.FollowPath) -> Recipients:
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
        return to

    def _set_velocity(self, command: c.SetVelocity) -> Recipients:
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
        return to

    def _set_joints(self, command: c.SetJoints) -> Recipients:
        to = Recipients(self._world, command.names)
        to.reject_jointless()
        set_joints(self._world, command, to)
        return to

    def _stop_all(self, command: c.Stop) -> Recipients:
        to = Recipients(self._world, command.names or self._everyone())
        to.reject_others_than_robots()
        self._stop(to, "stopped by command", stay=True)
        return to

    def _set_poses(self, command: c.SetPoses) -> Recipients:
        world = self._world
        to = Recipients(world, command.names)
        to.reject_carried()
        positions, orientations = to.poses(command.positions, command.orientations)
        if len(to.rows):
            world.place(to.rows, positions, orientations, preserve_velocity=command.preserve_velocity)
            # Within a step, what is carried follows at the end of phase 1 anyway.
            if not world.in_step:
                attachments.follow_rows(world, to.rows)
        return to

    def _execute_action(self, command: c.ExecuteAction) -> CommandAck:
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

    def _cancel_actions(self, command: c.CancelActions) -> Recipients:
        to = Recipients(self._world, command.names)
        to.reject_others_than_robots()
        if command.goal:
            # Only of those with actions, and only the actions of this goal: others stay.
            for row in self._world.actions.busy(to.rows).tolist():
                self._world.actions.cancel_goal(row, command.goal, command.reason)
        else:
            self._stop(to, command.reason)
        return to

    def _finish_actions(self, command: c.FinishActions) -> Recipients:
        to = Recipients(self._world, command.names)
        to.reject_others_than_robots()
        running = {row: self._world.actions.current(row) for row in to.rows.tolist()}
        unasked = [row for row, action in running.items() if action is None or not action.finish()]
        to.reject_for(dict.fromkeys(unasked, "no action of it waits to be finished"))
        return to

    def _attach(self, command: c.Attach) -> Recipients:
        to = Recipients(self._world, [command.name])
        to.reject_others_than_robots()
        to.reject_for({row: attach(self._world, self._world.handles[row], command) for row in to.rows.tolist()})
        return to

    def _remove(self, command: c.Remove) -> Recipients:
        to = Recipients(self._world, command.names)
        # All in one go, as rows may be attached to each other.
        if len(to.rows):
            remove(self._world, to.rows)
        return to

    def _spawn(self, command: c.Spawn) -> CommandAck:
        names = spawn_command(self._world, command)
        return command.ack(self._world.clock.time, names)

    def _save_state(self, command: c.SaveState) -> None:
        # Before the state is saved, which copies everything.
        size = len(self._sim.world)
        self.moments.check(command.name, size)
        self.moments.keep(command.name, self._sim.save_state(), size)

    def _call(self, command: c.Call) -> CommandAck:
        # Called between steps or in a step, by whoever put it into the inbox.
        value = command.function(self._sim)
        return replace(self._ack(command), value=value)

    # ---- helpers -----------------------------------------------------------------------------------------------------

    @property
    def _world(self) -> World:
        return self._sim.world

    def _ack(self, command: Command, to: Recipients | None = None) -> CommandAck:
        accepted, rejected = ((), {}) if to is None else (to.names, to.rejected)
        return command.ack(self._world.clock.time, accepted, rejected)

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

"""The step of a world, as systems in the pipeline of its simulation.

Spawners; agents: controller, change of state, sensors; objects likewise; metrics; subscribers. `together` does each
part of the agents' step for all of them at once, `in_turn` all parts for one agent before the next one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import numpy as np

from fleet_sim.arrays import NO_ROWS, Rows
from fleet_sim.config.modes import ControllerMode
from fleet_sim.core.pipeline import Phase, System
from fleet_sim.core.world import World
from fleet_sim.errors import FleetSimError
from fleet_sim.motion.laws import motion_law
from fleet_sim.swarm import commands
from fleet_sim.swarm.agents import Controller, Group, Sensor
from fleet_sim.swarm.group_kinds import steps_itself
from fleet_sim.swarm.separation import keep_apart, warn_of_outsiders
from fleet_sim.swarm.swarm_state import SwarmState
from fleet_sim.swarm.swarm_world import Spawner, Subscriber, SwarmWorld
from fleet_sim.swarm.teams import check_teams
from fleet_sim.swarm.traces import follow_traces

IDLE = ControllerMode.IDLE.code

Call = Callable[..., Any]
"""Calls what is named first: (what, function, *arguments)."""


class Stepper:
    """Runs the parts of a world's step."""

    def __init__(self, world: SwarmWorld, ended: Callable[[], None]) -> None:
        """`ended` is called at the end of each step, after the subscribers."""
        self._world = world
        self._ended = ended
        self._guard = world.sim.guard
        self.call: Call = self._guard.call
        """Calls user code; returns None where it raised and faults are survived."""
        self._checked_metrics = -1

    def install(self) -> None:
        """Add the systems to the pipeline, in the order of the step."""
        world, update = self._world, Phase.UPDATE
        self._add("swarm_spawners", update, self._begin, "motion")
        if world.config.update == "together":
            # The simulation's own motion system moves everybody in between.
            self._add("swarm_controllers", update, self._command_all, "motion")
            self._add("swarm_collisions", update, self._keep_apart, "entity_callbacks")
            self._add("swarm_sensors", update, self._sense_all, "entity_callbacks")
        else:
            # Agents move within their turn, and the motion system finds them idle.
            self._add("swarm_agents", update, self._in_turn, "motion")
        self._add("swarm_objects", update, self._run_objects, "entity_callbacks", lambda: world.group_kinds.objects)
        self._add("swarm_metrics", Phase.OBSERVE, self._run_metrics, "snapshot")
        self._add("swarm_subscribers", Phase.OBSERVE, self._run_subscribers, "snapshot")

    def _add(
        self,
        name: str,
        phase: Phase,
        run: Callable[[float], object],
        before: str,
        wanted: Callable[[], object] | None = None,
    ) -> None:
        self._world.sim.pipeline.add(System(name, phase, run, wanted), before=before)

    # ---- spawners ----------------------------------------------------------------------------------------------------

    def _begin(self, dt: float) -> None:
        """Begin the step: note it, and step the spawners."""
        # Past the checks of assignments, which take longer.
        vars(self._world)["in_progress"] = True
        if not self._has_spawners():
            return
        # A copy: user code may add or remove spawners meanwhile.
        for spawner in list(self._world.spawners):
            self.run_spawner(spawner)
        self.drop_spawners()
        self.check_metrics()

    def _has_spawners(self) -> bool:
        return bool(self._world.spawners) or self._checked_metrics != len(self._world.metrics)

    def check_metrics(self) -> None:
        """Refuse metrics of teams that nobody is of, once for each that is added; see also `warn_of_outsiders`."""
        if self._checked_metrics != len(self._world.metrics):
            if self._checked_metrics < 0:
                warn_of_outsiders(self._world)
            check_teams(self._world)
            self._checked_metrics = len(self._world.metrics)

    def start_spawner(self, spawner: Spawner) -> None:
        """Step one spawner at the setup. Raises FleetSimError where it refuses, as where there is no room."""
        refusal = self._refusal_of(spawner)
        if refusal is not None:
            raise refusal

    def run_spawner(self, spawner: Spawner) -> None:
        """Step one spawner. What it refuses, as where there is no room, is counted, and logged once."""
        refusal = self._refusal_of(spawner)
        if refusal is not None and self._guard.raise_on_fault:
            raise refusal
        if refusal is not None:
            self._guard.note("spawner", str(refusal))

    def _refusal_of(self, spawner: Spawner) -> FleetSimError | None:
        """Run a spawner; return the error with which it refuses, which is no fault of its code."""

        @wraps(spawner.step)
        def step() -> FleetSimError | None:
            try:
                spawner.step()
            except FleetSimError as error:
                return error
            return None

        refusal: FleetSimError | None = self.call("spawner", step)
        spawner.mark_for_deletion = spawner.mark_for_deletion or spawner.oneshot
        return refusal

    def drop_spawners(self) -> None:
        """Drop the spawners that are done."""
        spawners = self._world.spawners
        spawners[:] = [spawner for spawner in spawners if not spawner.mark_for_deletion]

    # ---- agents, together --------------------------------------------------------------------------------------------

    def _command_all(self, dt: float) -> None:
        """Give all agents their commands, each from where everybody is at the beginning of the step."""
        world = self._world
        world.refresh()
        kinds = world.group_kinds
        for group in kinds.population:
            if kinds.all_plain or not steps_itself(group):
                command(group, self.call)
            else:
                self._step_each("agent step", group)

    def _step_each(self, place: str, group: Group) -> None:
        # A step may remove agents, also itself.
        for agent in list(group.agents):
            self.call(place, agent.step)

    def _keep_apart(self, dt: float) -> None:
        world = self._world
        world.refresh()
        groups = world.group_kinds.plain
        if len(groups) == 1:
            self._settle(groups[0].rows)
        else:
            self._settle(np.concatenate([NO_ROWS, *(group.rows for group in groups)]))

    def _sense_all(self, dt: float) -> None:
        for group in self._world.group_kinds.plain:
            if group.sensors:
                sense(group, self.call)

    # ---- agents, in turn ---------------------------------------------------------------------------------------------

    def _in_turn(self, dt: float) -> None:
        """Let agents act one after the other, each seeing what those before it did."""
        world = self._world
        world.refresh()
        columns = world.columns
        version = columns.version
        # A copy: agents may remove others, and themselves.
        for agent in list(world.population):
            if columns.version == version or agent.is_alive:
                self.call("agent step", agent.step)
        world.refresh()

    def take_turn(self, group: Group) -> None:
        """Take a group through its controller, its change of state, collisions and its sensors."""
        driven = command(group, self.call)
        move(group.columns, driven, group.columns.clock.dt)
        self._settle(group.rows)
        if group.sensors:
            sense(group, self.call)

    def _settle(self, rows: Rows) -> None:
        """Keep `rows` apart from others after they moved, and halt those that are where they wanted to be."""
        keep_apart(self._world, rows)
        if self._world.goals:
            halt_at_goals(self._world, rows)

    # ---- the rest of the step ----------------------------------------------------------------------------------------

    def _run_objects(self, dt: float) -> None:
        world = self._world
        world.refresh()
        for group in world.object_groups:
            if steps_itself(group):
                self._step_each("object step", group)
            elif group.controller is not None or group.sensors:
                self.take_turn(group)

    def _run_metrics(self, dt: float) -> None:
        """Calculate all metrics, after the traces that some of them look at."""
        world = self._world
        world.refresh()
        if world.group_kinds.traced:
            follow_traces(world.group_kinds.traced, world.steps)
        for metric in world.metrics:
            # A metric that was appended to the list by hand.
            if metric.world is None:
                metric.attach_world(world)
            self.call("metric", metric.calculate)

    def _run_subscribers(self, dt: float) -> None:
        """Count the step and tell all subscribers, functions among them."""
        world = self._world
        # First, so that subscribers see this step as completed.
        own = vars(world)
        own["steps"] += 1
        own["in_progress"] = False
        for subscriber in list(world.subscribers):
            if isinstance(subscriber, Subscriber):
                self.call("subscriber", subscriber.step, world)
            else:
                # A function, or anything of the user's own with a method `step`.
                self.call("subscriber", getattr(subscriber, "step", subscriber), world)
        self._ended()


# ---- parts of an agent's step, in one world and in many (see `squares/`) ---------------------------------------------


def command(group: Group, call: Call) -> Rows:
    """Let the group's controller decide, asked by `call`; returns the rows it commanded."""
    count = len(group.rows)
    if not count:
        return NO_ROWS
    # Noted before anybody moves: `stop_on_collision` puts agents back there.
    if count == 1:
        row = group.rows.item()
        previous, position = group.swarm.scalars.previous, group.columns.scalars.position
        previous[2 * row], previous[2 * row + 1] = position[3 * row], position[3 * row + 1]
    else:
        group.swarm.previous[group.rows] = group.positions
    if group.controller is None:
        commands.rest_held(group)
        return NO_ROWS
    # One written per agent may derive from one on arrays, whose `act` would go past it.
    act = group.controller.act if group.controller.works_on_arrays() else partial(Controller.act, group.controller)
    return commands.drive(group, call("controller", act, group))


def move(columns: World, rows: Rows, dt: float) -> None:
    """Move `rows` now, so that the simulation's own system of motion leaves them alone in this step."""
    if len(rows) == 1:
        # Sorting by law would take as long as moving it.
        motion, row = columns.motion.scalars, rows.item()
        motion_law(int(motion.law[row])).step(columns, rows, dt)
        motion.control[row] = IDLE
        return
    laws = columns.motion.law[rows]
    # Rows without a law are never driven.
    for row_law in sorted(set(laws.tolist())):
        motion_law(row_law).step(columns, rows if len(rows) == 1 else rows[laws == row_law], dt)
    columns.motion.control[rows] = IDLE


def halt_at_goals(world: SwarmState, rows: Rows) -> None:
    """Halt those of `rows` that are where they wanted to be."""
    wishing = rows[world.swarm.stop_at_goal[rows]]
    if len(wishing):
        for goal in world.goals:
            world.swarm.halted[wishing[goal.contains(world.columns.position[wishing, :2])]] = True


def sense(group: Group, call: Call) -> None:
    """Let the group's sensors look, asked by `call`."""
    if not len(group.rows):
        return
    for index, sensor in enumerate(group.sensors):
        look = sensor.sense if sensor.works_on_arrays() else partial(Sensor.sense, sensor)
        readings = call("sensor", look, group)
        if readings is not None:
            group.note(index, readings)

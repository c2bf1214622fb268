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
from fleet_sim.errors import FleetSimError
from fleet_sim.motion.laws import motion_law
from fleet_sim.swarm import commands
from fleet_sim.swarm.agents import Controller, Group, Sensor, SwarmAgent
from fleet_sim.swarm.separation import keep_apart
from fleet_sim.swarm.swarm_world import Spawner, Subscriber, SwarmWorld
from fleet_sim.swarm.teams import check_teams
from fleet_sim.swarm.traces import follow_traces

IDLE = ControllerMode.IDLE.code


class Stepper:
    """Runs the parts of a world's step."""

    def __init__(self, world: SwarmWorld, ended: Callable[[], None]) -> None:
        """`ended` is called at the end of each step, after the subscribers."""
        self._world = world
        self._ended = ended
        self._guard = world.sim.guard
        self._checked_metrics = -1

    def install(self) -> None:
        """Add the systems to the pipeline, in the order of the step."""
        pipeline = self._world.sim.pipeline
        together = self._world.config.update == "together"
        # Together, the simulation's own motion system moves everybody between the two lists. In turn, agents move
        # within their turn, and it finds them idle.
        before_motion = [("swarm_spawners", self._run_spawners)]
        before_motion += [("swarm_controllers", self._command_all)] if together else [("swarm_agents", self._in_turn)]
        after_motion = [("swarm_collisions", self._keep_apart), ("swarm_sensors", self._sense_all)] if together else []
        after_motion += [("swarm_objects", self._run_objects)]
        for name, run in before_motion:
            pipeline.add(System(name, Phase.UPDATE, run), before="motion")
        for name, run in after_motion:
            pipeline.add(System(name, Phase.UPDATE, run), before="entity_callbacks")
        for name, run in (("swarm_metrics", self._run_metrics), ("swarm_subscribers", self._run_subscribers)):
            pipeline.add(System(name, Phase.OBSERVE, run), before="snapshot")

    def call(self, what: str, function: Callable[..., Any], *args: Any) -> Any:
        """Call user code; returns None where it raised and faults are survived."""
        return self._guard.call(what, function, *args)

    # ---- spawners ----------------------------------------------------------------------------------------------------

    def _run_spawners(self, dt: float) -> None:
        # A copy: user code may add or remove spawners meanwhile.
        for spawner in list(self._world.spawners):
            self.run_spawner(spawner)
        self.drop_spawners()
        if self._checked_metrics != len(self._world.metrics):
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
        world = self._world
        world.refresh()
        for group in world.population_groups:
            if _steps_itself(group):
                self._step_each("agent step", group)
            else:
                self._command(group)

    def _step_each(self, place: str, group: Group) -> None:
        # A step may remove agents, also itself.
        for agent in list(group.agents):
            self.call(place, agent.step)

    def _keep_apart(self, dt: float) -> None:
        world = self._world
        world.refresh()
        rows = [group.rows for group in world.population_groups if not _steps_itself(group)]
        self._settle(rows[0] if len(rows) == 1 else np.concatenate([NO_ROWS, *rows]))

    def _sense_all(self, dt: float) -> None:
        world = self._world
        for group in world.population_groups:
            if not _steps_itself(group):
                self._sense(group)

    # ---- agents, in turn ---------------------------------------------------------------------------------------------

    def _in_turn(self, dt: float) -> None:
        world = self._world
        world.refresh()
        for agent in list(world.population):
            if agent.is_alive:
                self.call("agent step", agent.step)
        world.refresh()

    def take_turn(self, group: Group) -> None:
        """Take a group through its controller, its change of state, collisions and its sensors."""
        driven = self._command(group)
        self._move(driven)
        self._settle(group.rows)
        self._sense(group)

    def _move(self, rows: Rows) -> None:
        """Move `rows` now, so that the simulation's own system of motion leaves them alone in this step."""
        columns, dt = self._world.columns, self._world.dt
        laws = columns.motion.law[rows]
        # Rows without a law are never driven.
        for row_law in sorted(set(laws.tolist())):
            motion_law(row_law).step(columns, rows if len(rows) == 1 else rows[laws == row_law], dt)
        columns.motion.control[rows] = IDLE

    # ---- parts of an agent's step ------------------------------------------------------------------------------------

    def _command(self, group: Group) -> Rows:
        """Let the group's controller decide; returns the rows it commanded."""
        world = self._world
        if not len(group):
            return NO_ROWS
        # Noted before anybody moves: `stop_on_collision` puts agents back there.
        if len(group) == 1:
            row = group.rows.item()
            world.swarm.previous[row] = world.columns.position[row, :2]
        else:
            world.swarm.previous[group.rows] = group.positions
        if group.controller is None:
            return NO_ROWS
        # One written per agent may derive from one on arrays, whose `act` would go past it.
        act = group.controller.act if group.controller.works_on_arrays() else partial(Controller.act, group.controller)
        return commands.drive(group, self.call("controller", act, group))

    def _settle(self, rows: Rows) -> None:
        """Keep `rows` apart from others after they moved, and halt those that are where they wanted to be."""
        world = self._world
        keep_apart(world, rows)
        if not world.goals:
            return
        wishing = rows[world.swarm.stop_at_goal[rows]]
        if len(wishing):
            for goal in world.goals:
                world.swarm.halted[wishing[goal.contains(world.columns.position[wishing, :2])]] = True

    def _sense(self, group: Group) -> None:
        if not len(group):
            return
        for index, sensor in enumerate(group.sensors):
            sense = sensor.sense if sensor.works_on_arrays() else partial(Sensor.sense, sensor)
            readings = self.call("sensor", sense, group)
            if readings is not None:
                group.note(index, readings)

    # ---- the rest of the step ----------------------------------------------------------------------------------------

    def _run_objects(self, dt: float) -> None:
        world = self._world
        world.refresh()
        for group in world.object_groups:
            if _steps_itself(group):
                self._step_each("object step", group)
            elif group.controller is not None or group.sensors:
                self.take_turn(group)

    def _run_metrics(self, dt: float) -> None:
        world = self._world
        world.refresh()
        follow_traces(world.groups, world.steps)
        for metric in world.metrics:
            # A metric that was appended to the list by hand.
            if metric.world is None:
                metric.attach_world(world)
            self.call("metric", metric.calculate)

    def _run_subscribers(self, dt: float) -> None:
        world = self._world
        # First, so that subscribers see this step as completed.
        world.steps += 1
        for subscriber in list(world.subscribers):
            if isinstance(subscriber, Subscriber):
                self.call("subscriber", subscriber.step, world)
            else:
                # A function, or anything of the user's own with a method `step`.
                self.call("subscriber", getattr(subscriber, "step", subscriber), world)
        self._ended()


def _steps_itself(group: Group) -> bool:
    return group.kind.step is not SwarmAgent.step

"""The events of a step, and the hooks of single entities between them."""

from __future__ import annotations

from typing import Any

from fleet_sim.arrays import Rows
from fleet_sim.core.world import World


class StepEvents:
    """Emits the events of a step to handlers of the simulation and of single entities.

    Python code runs only for events with handlers: without handlers a step costs nothing, for any number of robots.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._handled = world.events.asking("pre_update", "post_update")
        # One call for all of them: it is asked twice in each step, nearly always in vain.
        self._of_entities = (world.entity_events.buses, *world.hooks.books)

    def pre_step(self, dt: float) -> None:
        """Emit `pre_step`."""
        if self._world.events.has_handlers("pre_step"):
            self._world.events.emit("pre_step", dt=dt, sim_time=self._world.clock.time)

    def wants_update(self) -> bool:
        """Return whether somebody listens to `pre_update` or has code of its own between that and `post_update`."""
        return any(self._of_entities) or bool(self._handled())

    def pre_update(self, dt: float) -> None:
        """Emit `pre_update` of each entity."""
        for row in self._listening("pre_update"):
            self._emit_to(row, "pre_update", dt=dt)

    def run_controllers(self, dt: float) -> None:
        """Run the Python controllers of agents."""
        self._world.hooks.run_controllers(self._world.handles, dt)

    def run_entity_callbacks(self, dt: float) -> None:
        """Run the overridden updates, plugins and callbacks of entities, then emit `post_update` of each."""
        world = self._world
        world.hooks.run_callbacks(world.handles, dt)
        for row in self._listening("post_update"):
            self._emit_to(row, "post_update", dt=dt, moved=bool(world.moved[row]))

    def post_step(self, dt: float) -> None:
        """Emit `post_step`."""
        if self._world.events.has_handlers("post_step"):
            self._world.events.emit("post_step", dt=dt, sim_time=self._world.clock.time)

    def to_agents(self, event: str, rows: Rows) -> None:
        """Emit `event` of the agents in `rows`."""
        world = self._world
        if world.events.has_handlers(event) or len(world.entity_events):
            for row in rows.tolist():
                # An earlier handler may have removed it.
                if world.alive[row]:
                    world.events.emit(event, agent=world.handles[row])
                    world.entity_events.emit(row, event)

    def _listening(self, event: str) -> list[int]:
        """Return the rows with handlers of `event`: all rows for global handlers, else those with their own."""
        world = self._world
        if world.events.has_handlers(event):
            rows: list[int] = world.rows.tolist()
            return rows
        return world.entity_events.listening(event) if len(world.entity_events) else []

    def _emit_to(self, row: int, event: str, **details: Any) -> None:
        """Emit `event` to global handlers and to the entity's own, unless an earlier handler removed the entity."""
        world = self._world
        if world.alive[row]:
            world.events.emit(event, entity=world.handles[row], **details)
            world.entity_events.emit(row, event, **details)

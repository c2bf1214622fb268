"""Squares: stepping several worlds together, for searches that evaluate many of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.params import ControllerMode
from fleet_sim.base.settings import Checked
from fleet_sim.base.settings.fields import fields_of
from fleet_sim.swarm.agents import Group, SwarmAgent
from fleet_sim.swarm.board import BoardStepper, serves_squares
from fleet_sim.swarm.metrics.crowd import CrowdMetric
from fleet_sim.swarm.parameters import Component, Configured
from fleet_sim.swarm.separation import FEW
from fleet_sim.swarm.spawning import OWN
from fleet_sim.swarm.world import RectangularWorld, World_from_config
from fleet_sim.swarm.world_config import WorldConfig
from fleet_sim.world.schema import NO_ROW

# Which worlds can be stepped together: those whose steps are ours alone, and of these, those that are alike.


POSE = ControllerMode.POSE.code
PACKAGE = "fleet_sim."
HARMLESS = frozenset(("closed", "object_spawned", "agent_spawned", "object_removed", "agent_removed"))
"""Events that no step together emits."""

_OF_WORLD = ("size", "update", "collide_walls", "detectable_walls", "time_step")
_OF_AGENT = (*OWN, "controller", "sensors")
_BOOKKEEPING = frozenset(("agent", "parent", "slot"))


def why_alone(world: RectangularWorld) -> str | None:
    """Return why `world`, which is set up, has to be stepped alone; None where it can be stepped with others.

    It can where nothing but parts of this package runs in its steps: code of the user's own may look at anything and
    change anything, so it gets its world as it is at that moment, step by step.
    """
    return _in_the_simulation(world) or _in_the_world(world) or _in_the_groups(world) or _in_the_metrics(world)


def _in_the_simulation(world: RectangularWorld) -> str | None:
    """Return what of the simulation keeps a world from being stepped with others; None for nothing."""
    sim, columns = world.sim, world.columns
    motion = columns.motion
    # The cheapest to say first: the first reason that holds is the one users read.
    for found, reason in (
        (type(world) is not RectangularWorld, f"{type(world).__name__} is a world of your own"),
        (not world.is_plain, "its simulation is not its own, is closed, or has systems or collision rules of yours"),
        (sim.extensions or columns.hooks, "its simulation has callbacks or plugins"),
        (columns.events.handled - HARMLESS or len(columns.entity_events), "somebody listens to events of its steps"),
        (len(sim.inbox) or sim.control.is_paused or sim.control.is_running, "its simulation is paused, runs, or waits"),
        (sim.view.keeps_up or sim.snapshots.has_readers or sim.sensors.version, "somebody watches its simulation"),
        (sim.features.used or columns.joints.used or columns.dynamic.any(), "there is more in it than a swarm"),
        ((columns.parent != NO_ROW).any() or columns.block_on_collision.any(), "there is more in it than a swarm"),
        ((motion.control == POSE).any() or motion.avoidance.any(), "agents drive to goals of the core"),
    ):
        if found:
            return reason
    return None


def _in_the_world(world: RectangularWorld) -> str | None:
    """Return what of the world itself keeps it from being stepped with others; None for nothing."""
    for found, reason in (
        (world.spawners, "spawners go on while it runs"),
        (world.subscribers, "it has subscribers"),
        (np.isnan(world.steps_to_stop), "`stop_at` has to be asked after each step"),
        # Beyond that, arrays of one world are long enough to be fast by themselves.
        (len(world.collidable_rows) > FEW, f"more than {FEW} bodies collide; arrays of one world are long enough"),
        (not len(world.population), "nobody is in it"),
        (any(not type(goal).__module__.startswith(PACKAGE) for goal in world.goals), "it has goals of your own"),
    ):
        if found:
            return reason
    return None


def _in_the_groups(world: RectangularWorld) -> str | None:
    """Return what of the agents keeps a world from being stepped with others; None for nothing."""
    for group in world.groups:
        kind = group.kind
        if not kind.__module__.startswith(PACKAGE) or kind.step is not SwarmAgent.step:
            return f"{kind.__name__} is a type of agent of your own"
        parts = [part for part in (group.controller, *group.sensors) if part is not None]
        if group.is_object and len(group) and (parts or getattr(group.config, "trace_length", 0)):
            return "objects act"
        for part in parts:
            name = type(part).__name__
            if not type(part).__module__.startswith(PACKAGE) and not part.serves_squares:
                return f"{name} is code of your own; it can say that it serves several worlds by `per_square`"
            if not part.works_on_arrays() or name == "HumanController":
                return f"{name} is asked agent by agent"
            if world.config.update == "in_turn" and not part.serves_squares:
                return f"{name} does not serve several worlds at once, and agents take turns"
        if getattr(group.config, "idiosyncrasies", None) is not None:
            return "agents draw idiosyncrasies as they begin"
    return None


def _in_the_metrics(world: RectangularWorld) -> str | None:
    """Return which metric keeps a world from being stepped with others; None for none."""
    for metric in world.metrics:
        name = type(metric).__name__
        if not type(metric).__module__.startswith(PACKAGE):
            if not vars(type(metric)).get("only_looks"):
                # Metrics of ours look at crowds and nothing else, or are none of these classes.
                return f"{name} is code of your own; it can say that it changes nothing by `only_looks`"
        elif not isinstance(metric, CrowdMetric):
            return f"{name} looks at more than a crowd"
    return None


def likeness(world: RectangularWorld) -> str:
    """Return a text that is equal for worlds that can be squares of one board."""
    # Whether they stop in the same step counts, too: a board ends for all of its worlds at once.
    whole = [world.steps, world.columns.clock.tick, world.columns.capacity, world.steps_to_stop, world.team_order]
    whole += [getattr(world.config, name) for name in _OF_WORLD]
    whole += [vars(goal) for goal in world.goals]
    rows = np.concatenate([world.collidable_rows, world.everyone.rows])
    # Whose turn it is, who is of which team, and what stands in the way.
    # Only of bodies that collide or belong: other rows may differ as they like.
    arrays = [world.swarm.group[rows], world.swarm.team[rows], world.swarm.grounded[rows], *world.polygons]
    numbers = [agent.group.number_of(agent.row) for agent in world.population]
    return _content([whole, arrays, numbers, [_of_group(group) for group in world.groups if not group.is_object]])


def _of_group(group: Group) -> list[Any]:
    config = {name: value for name, value in vars(group.config).items() if name not in _OF_AGENT}
    memory = [(name, values.shape, str(values.dtype)) for name, values in sorted(group.state.items())]
    readings = [(index, values.shape, str(values.dtype)) for index, values in sorted(group.readings.items())]
    parts = [_of_part(part) for part in (group.controller, *group.sensors)]
    return [group.index, group.kind.__qualname__, len(group), config, memory, readings, parts]


def _of_part(part: Component | None) -> list[Any]:
    """Return what has to be the same in parts of several worlds that one object is to stand for."""
    if part is None:
        return []
    name = type(part).__qualname__
    if not part.serves_squares:
        return [name]
    free = part.per_square or ()
    # Without settings of its own, whatever it holds may matter.
    names = fields_of(type(part)) if isinstance(part, Configured) else set(vars(part)) - _BOOKKEEPING
    values = {field: getattr(part, field) for field in sorted(names)}
    # Null among numbers is not a number.
    return [name, [values[field] is None for field in free], {k: v for k, v in values.items() if k not in free}]


def _content(value: Any) -> str:
    """Return a text that is the same for values alike; what is not plain is told apart by identity."""
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key!r}:{_content(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_content, value)) + "]"
    if isinstance(value, Checked):
        return f"{type(value).__qualname__} {_content(vars(value))}"
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{value.tolist()}"
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    # Two objects that are not known to be alike are treated as different, which is slower but never wrong.
    return f"{type(value).__name__} {id(value)}"


MOST = 256
"""Worlds on one board: beyond this, its arrays leave the processor's cache and nothing is gained."""

Described = RectangularWorld | WorldConfig | Mapping[str, Any] | str | Path


class Squares:
    """Worlds that are stepped together where they can be, with the results of stepping each alone, to the bit.

    Worlds alike stand side by side: those with the same agents, parts and shape, whose numbers may differ. `alone`
    says which worlds have to be stepped one after the other and why, `one_by_one` which parts are asked world by world
    within a common step. Between two calls each of `worlds` is an ordinary world.
    """

    def __init__(self, worlds: Iterable[Described]) -> None:
        """Take worlds, or what describes them; they are set up here. Raises ConfigError, and InvalidValueError."""
        self.worlds = [_world_of(world) for world in worlds]
        if len({id(world) for world in self.worlds}) < len(self.worlds):
            raise InvalidValueError("one world is given twice; make another one from the same configuration")
        for world in self.worlds:
            if not world.is_set_up:
                world.setup()

    @property
    def alone(self) -> dict[int, str]:
        """Why a world would now be stepped alone, by its number from 0; others are stepped together."""
        reasons = {index: why_alone(world) for index, world in enumerate(self.worlds) if not world.stopped}
        found = {index: reason for index, reason in reasons.items() if reason is not None}
        # Only worlds that could be together are on boards at all, so these are left without one like them.
        for indices in self._boards():
            if len(indices) == 1:
                found[indices[0]] = (
                    "no other world is like it: worlds together differ in numbers of their controllers and sensors only"
                )
        return dict(sorted(found.items()))

    @property
    def one_by_one(self) -> list[str]:
        """The classes of controllers and sensors that are asked world by world, sorted."""
        found = set()
        for world in self.worlds:
            for group in world.population_groups:
                if len(group) and not serves_squares(group):
                    parts = [part for part in (group.controller, *group.sensors) if part is not None]
                    found |= {type(part).__name__ for part in parts}
        return sorted(found)

    def evaluate(self, steps: int) -> list[dict[str, float]]:
        """Make up to `steps` steps of each world, fewer where its `stop_at` comes true.

        Returns what `world.evaluate(steps)` returns, for each world: the average of each metric by name.
        """
        boards = [indices for indices in self._boards() if len(indices) > 1]
        together = {index for indices in boards for index in indices}
        for indices in boards:
            for begin in range(0, len(indices), MOST):
                self._step([self.worlds[index] for index in indices[begin : begin + MOST]], steps)
        for index, world in enumerate(self.worlds):
            if index not in together:
                world.evaluate(steps)
        return [dict(metric.out_average() for metric in world.metrics) for world in self.worlds]

    def _boards(self) -> list[list[int]]:
        """Return the numbers of worlds that are alike, for each kind."""
        found: dict[str, list[int]] = {}
        for index, world in enumerate(self.worlds):
            if not world.stopped and why_alone(world) is None:
                found.setdefault(likeness(world), []).append(index)
        return list(found.values())

    def _step(self, worlds: list[RectangularWorld], steps: int) -> None:
        """Make steps of worlds that are alike, until they stop; each is whole again afterwards."""
        stepper = BoardStepper(worlds)
        try:
            # Alike worlds stop in the same step, so the first one speaks for all.
            stepper.run(int(min(steps, worlds[0].steps_to_stop)))
        finally:
            # Also after an exception: worlds are left in a state that can be looked at.
            stepper.finish()
        for world in worlds:
            world.check_stop()

    def close(self) -> None:
        """Close all worlds; may be called again."""
        for world in self.worlds:
            world.close()

    def __enter__(self) -> Squares:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def run_together(worlds: Iterable[Described], steps: int) -> list[dict[str, float]]:
    """Return the average of each metric by name after up to `steps` steps, for each of `worlds`; see `Squares`.

    The worlds are closed at the end.
    """
    with Squares(worlds) as squares:
        return squares.evaluate(steps)


def _world_of(world: Described) -> RectangularWorld:
    return world if isinstance(world, RectangularWorld) else World_from_config(world)

"""The part of a world that spawners, subscribers and pictures need: its members, adding and removing them, its metrics.

Spawners, subscribers and the world refer to each other, so they are defined in one file. `RectangularWorld` sets it
up and steps it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from fleet_sim.arrays import Rows, as_floats
from fleet_sim.core import steering
from fleet_sim.errors import InvalidValueError, StateError, named, unknown_name
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.swarm import equipment, spawning
from fleet_sim.swarm.agent_config import AgentConfig
from fleet_sim.swarm.agents import Controller, Group, Sensor, SwarmAgent
from fleet_sim.swarm.canvas import Canvas
from fleet_sim.swarm.crowd import NO_GROUP
from fleet_sim.swarm.group_kinds import GroupKinds
from fleet_sim.swarm.metric import Metric
from fleet_sim.swarm.metrics import METRICS
from fleet_sim.swarm.regions import edges
from fleet_sim.swarm.spawning import Equipment, Recipe
from fleet_sim.swarm.swarm_body import SwarmBody
from fleet_sim.swarm.swarm_state import SwarmState
from fleet_sim.swarm.watched_list import WatchedList
from fleet_sim.swarm.world_config import RectangularWorldConfig

LISTS = ("population", "objects", "spawners", "metrics", "goals", "subscribers")
"""The lists of a world, as metrics name them."""


class Contents:
    """The contents of one world; `lists` returns the one of a name."""

    def __init__(self, world: SwarmState, lists: Callable[[str], Any]) -> None:
        self._world = world
        self._lists = lists

    def make_metric(self, spec: object) -> Metric:
        """Return a metric of this world that is not in its list: an inner one of another metric.

        Raises InvalidValueError and UnknownNameError.
        """
        made = METRICS.make(spec)
        made.attach_world(self._world)
        return made

    def values(self) -> dict[str, Any]:
        """Return what expressions over the world know: steps, time, population, metrics by name and as `metrics`."""
        world = self._world
        metrics = {metric.name: metric.value for metric in self._lists("metrics")}
        counts = {"steps": world.steps, "total_steps": world.total_steps}
        own = {**counts, "time": world.time, "population": len(world.population), "metrics": metrics}
        return {**metrics, **own}

    def named(self, name: str) -> object | None:
        """Return the agent, object or metric of that name, else the list of the world, or None."""
        for kind in ("population", "objects", "metrics"):
            for member in self._lists(kind):
                if member.name == name:
                    found: object = member
                    return found
        return self._lists(name) if name in LISTS else None


def check_new(world: SwarmState, name: str, member: object) -> None:
    """Refuse what cannot be appended to the list `name` of `world`; raises InvalidValueError."""
    if not isinstance(member, SwarmAgent):
        reason = f"{member!r} is no agent"
    elif member.world is not world:
        reason = f"{member!r} was made for another world"
    elif member.is_alive:
        reason = f"{member!r} is elsewhere in this world"
    elif not member.is_new:
        reason = f"{member!r} was removed and does not come back"
    else:
        return
    adder = "world.add_object({...})" if name == "objects" else "world.spawn({...})"
    raise InvalidValueError(f"world.{name}: {adder} adds to it, or a new agent made for this world; {reason}")


class Spawner:
    """Brings agents into a world, a little in each step or all at once. Override `step`.

    The world drops it after a step in which it set `mark_for_deletion`; one that is `oneshot` does so in its first.
    """

    oneshot: bool = False
    mark_for_deletion: bool = False

    def __init__(self, world: SwarmWorld) -> None:
        self.world = world

    def step(self) -> None:
        """Spawn the agents that are due in this step."""
        raise NotImplementedError


class Subscriber:
    """Called after each step of a world and its metrics. Override `step`; `close` is called at the end of a run."""

    def step(self, world: SwarmWorld) -> None:
        """Look at the world after a step."""
        raise NotImplementedError

    def close(self) -> None:
        """Finish pending work, such as a file."""


class SwarmWorld(SwarmState):
    """The agents and objects of a world, its spawners, metrics and subscribers.

    Agents and objects that are removed from the core leave their lists by themselves.
    """

    def __init__(self, sim: MultiRobotSimulationCore, config: RectangularWorldConfig) -> None:
        super().__init__(sim, config)
        self.population: WatchedList[SwarmAgent] = WatchedList(
            lambda wanted: self._change_members("population", wanted)
        )
        self.objects: WatchedList[SwarmAgent] = WatchedList(lambda wanted: self._change_members("objects", wanted))
        self.groups: list[Group] = []
        self.spawners: list[Spawner] = []
        self.metrics: list[Metric] = []
        self.subscribers: list[Subscriber | Callable[[Any], object]] = []
        self.contents = Contents(self, partial(getattr, self))
        self.stopped = False
        """Whether `stop_at` came true."""
        self.name_counts: dict[str, int] = {}
        self._group_of_key: dict[str, Group] = {}
        self._group_kinds = GroupKinds()
        self._leaving: set[SwarmAgent] = set()
        self._regrouping: dict[SwarmAgent, None] = {}
        self.columns.on_remove.append(self._on_removed)

    # ---- who is there ------------------------------------------------------------------------------------------------

    @property
    def group_kinds(self) -> GroupKinds:
        """The groups by what a step has to do for them."""
        # A step asks several times; groups are only ever added.
        if self._group_kinds.total != len(self.groups):
            self._group_kinds = GroupKinds.of(self.groups)
        return self._group_kinds

    @property
    def population_groups(self) -> tuple[Group, ...]:
        """The groups of the population."""
        return self.group_kinds.population

    @property
    def object_groups(self) -> tuple[Group, ...]:
        """The groups of the objects."""
        return self.group_kinds.objects

    def agent_of(self, row: int) -> SwarmAgent:
        """Return the agent or object in `row`."""
        group = self.groups[int(self.swarm.group[row])]
        return group.agents[group.number_of(row)]

    def agent_named(self, name: str) -> SwarmAgent:
        """Return the agent or object of that name; raises UnknownNameError with the closest one."""
        row = self.columns.index.row_named(name)
        if self.swarm.group[row] < 0:
            raise unknown_name("agent", name, [str(agent.name) for agent in (*self.population, *self.objects)])
        return self.agent_of(row)

    def draw(self, canvas: Canvas) -> None:
        """Draw the world as it is now."""
        raise NotImplementedError

    # ---- coming and going --------------------------------------------------------------------------------------------

    def spawn(self, spec: object, position: object = None, angle: float | None = None) -> SwarmAgent:
        """Add one agent to the population, from a mapping as in a configuration; returns it.

        `position` (2,) and `angle` take precedence over those in `spec`. Raises ConfigError, UnknownNameError or
        InvalidValueError.
        """
        return self._add(self.recipe(spec), position, angle)

    def add_object(self, spec: object, position: object = None, angle: float | None = None) -> SwarmAgent:
        """Add one object, as `spawn` does."""
        return self._add(self._recipe(spec, is_object=True), position, angle)

    def _add(self, recipe: Recipe, position: object, angle: float | None) -> SwarmAgent:
        config = recipe.config
        chosen = self.start_of(config).position if position is None else position
        return self.spawn_many(recipe, [chosen], [config.angle if angle is None else angle])[0]

    def recipe(self, spec: object) -> Recipe:
        """Return `spec` checked, for spawning many agents of the population alike."""
        return self._recipe(spec, is_object=False)

    def _recipe(self, spec: object, *, is_object: bool, kind: type[SwarmAgent] | None = None) -> Recipe:
        cls, config = (kind, spec) if kind and isinstance(spec, AgentConfig) else spawning.agent_type(spec)
        key = spawning.group_key(cls, config, is_object)
        self.teams.add(config.team)
        return Recipe(cls, config, self.group_for(key, cls, config, is_object=is_object), is_object)

    def spawn_many(self, recipe: Recipe, positions: object, angles: object) -> list[SwarmAgent]:
        """Add one agent per position (N, 2) with headings (N,), in one write; returns them.

        Raises InvalidValueError for numbers of another shape or not finite; the world is then as it was.
        """
        points = as_floats(positions, (None, 2), "positions")
        headings = as_floats(angles, (len(points),), "angles")
        # After the checks of shape: a call that they refuse uses up no names.
        names = self.new_names(recipe.config.name, "object" if recipe.is_object else "agent", len(points))
        agents = spawning.spawn(self, recipe, names, points, headings)
        recipe.group.join(agents)
        members = self.objects if recipe.is_object else self.population
        members.put([*members, *agents])
        self._wall_in(recipe, agents)
        self.forget_cached()
        return agents

    def _change_members(self, name: str, wanted: list[SwarmAgent]) -> None:
        """Set the population or the objects to `wanted`: more, fewer, or in another order; raises InvalidValueError."""
        members: WatchedList[SwarmAgent] = getattr(self, name)
        known = {id(member) for member in members}
        new = [member for member in wanted if id(member) not in known]
        for member in new:
            check_new(self, name, member)
        kept = set(wanted)
        if len(kept) < len(wanted):
            raise InvalidValueError(f"world.{name}: one agent cannot be in it twice")
        gone = [member for member in members if member not in kept]
        for member in new:
            self._adopt(member, is_object=name == "objects")
        members.put(wanted)
        self.forget_cached()
        self.remove(gone)

    def _adopt(self, agent: SwarmAgent, *, is_object: bool) -> None:
        """Give an agent that was made in code its row and its group."""
        bare = replace(agent.config, controller=None, sensors=[])
        recipe = self._recipe(bare, is_object=is_object, kind=type(agent))
        points, headings = agent.position[None], np.array([agent.angle])
        names = self.new_names(agent.name, "object" if is_object else "agent", 1)
        spawning.settle(self, recipe, [agent], names, points, headings)
        controller, sensors = agent.controller, agent.plain_sensors
        group = self._group_of_parts(recipe.group, controller, sensors)
        self.swarm.group[agent.row] = group.index
        group.join([agent])
        self._wall_in(recipe, [agent])

    def _wall_in(self, recipe: Recipe, agents: Sequence[SwarmAgent]) -> None:
        """Put the sides of objects that are polygons into the core."""
        if recipe.is_object and recipe.config.collides and recipe.cls.law is None:
            for agent in agents:
                if (outline := agent.outline) is not None:
                    spawning.spawn_walls(self, edges(outline), f"{agent.name}_side")

    # ---- what agents have --------------------------------------------------------------------------------------------

    def furnish(self, body: SwarmBody) -> None:
        """Make the controller and the sensors of an agent that is in no world yet, as its configuration says."""
        assert isinstance(body, SwarmAgent)
        body.hold(*spawning.equipment_of(body, Equipment(None, [])))

    def give_controller(self, body: SwarmBody, spec: object) -> None:
        """Give an agent another controller, from its next decision on; see `SwarmAgent.controller`."""
        assert isinstance(body, SwarmAgent)
        controller = equipment.controller_for(body, spec)
        self._equip(body, controller, body.plain_sensors)
        if controller is None and body.law is not None and body.is_alive:
            steering.give_velocities(self.columns, np.array([body.row]), np.zeros((1, 3)), np.zeros((1, 3)))

    def give_sensors(self, body: SwarmBody, specs: Sequence[object]) -> None:
        """Give an agent other sensors; see `SwarmAgent.sensors`. Raises StateError within a step."""
        assert isinstance(body, SwarmAgent)
        if self.columns.in_step and not body.is_new:
            raise StateError("sensors can be changed between steps only; all agents of a group read in one go")
        self._equip(body, body.controller, equipment.sensors_for(body, specs))

    def _equip(self, agent: SwarmAgent, controller: Controller | None, sensors: list[Sensor]) -> None:
        equipment.hand_over(agent, controller, sensors)
        if agent.is_new:
            return
        # Within a step, others are deciding on the arrays of the group.
        self._regrouping[agent] = None
        if not self.columns.in_step:
            self.refresh()

    def _regroup(self, agent: SwarmAgent) -> None:
        controller, sensors, origin = agent.controller, agent.plain_sensors, agent.group.origin
        if equipment.fits(agent.group, controller, sensors):
            return
        equipment.move(agent, self._group_of_parts(origin, controller, sensors))

    def _group_of_parts(self, origin: Group, controller: Controller | None, sensors: list[Sensor]) -> Group:
        """Return the group of agents that came from `origin` and have these parts."""
        if equipment.fits(origin, controller, sensors):
            return origin
        key = equipment.group_key(origin, controller, sensors)
        group = self.group_for(key, origin.kind, origin.config, is_object=origin.is_object, origin=origin)
        group.controller, group.sensors = controller, sensors
        return group

    def metric(self, name: str) -> Metric:
        """Return the metric of that name; raises UnknownNameError with the closest one."""
        return named("metric", name, self.metrics)

    def add_metric(self, spec: object) -> Metric:
        """Take a metric after each step from now on, an object or a mapping as in a configuration; returns it.

        Raises InvalidValueError, also where its name is taken, and UnknownNameError.
        """
        metric = METRICS.make(spec)
        if any(known.name == metric.name for known in self.metrics):
            raise InvalidValueError(f"there are two metrics named {metric.name!r}; give one of them another name")
        metric.attach_world(self)
        self.metrics.append(metric)
        return metric

    # ---- bookkeeping -------------------------------------------------------------------------------------------------

    def group_for(
        self, key: str, kind: type[SwarmAgent], config: AgentConfig, *, is_object: bool, origin: Group | None = None
    ) -> Group:
        """Return the group of agents with this key, made at the first use."""
        group = self._group_of_key.get(key)
        if group is None:
            group = self._group_of_key[key] = Group(self, len(self.groups), kind, config, origin)
            group.is_object = is_object
            self.groups.append(group)
        return group

    def rekey(self, key_of: Callable[[Group], str]) -> None:
        """Find groups by `key_of` from now on; for a world that was unpickled."""
        self._group_of_key = {key_of(group): group for group in self.groups}
        self._group_kinds = GroupKinds()
        self.forget_cached()

    def new_names(self, name: str | None, prefix: str, count: int) -> list[str]:
        """Return `count` names: `name` itself for one agent, else `name` or `prefix` with numbers."""
        if name is not None and count == 1 and not self.columns.index.has_name(name):
            return [name]
        stem = name or prefix
        # Counted on and never reused: a name does not come back for another agent.
        first = self.name_counts.get(stem, 0)
        self.name_counts[stem] = first + count
        return [f"{stem}_{index}" for index in range(first, first + count)]

    def _on_removed(self, rows: Rows) -> None:
        # Within a step others compute with the arrays of the group, so members leave at the next `refresh`.
        leaving = [self.agent_of(row) for row in rows.tolist() if self.swarm.group[row] != NO_GROUP]
        for agent in leaving:
            agent.depart()
        self._leaving.update(leaving)
        if not self.columns.in_step:
            self.refresh()

    def refresh(self) -> None:
        """Drop removed agents: at once outside a step, within a step at the beginning of each part."""
        if self._regrouping:
            for agent in [agent for agent in self._regrouping if agent.is_alive]:
                self._regroup(agent)
            self._regrouping.clear()
        gone = self._leaving
        if not gone:
            return
        for group in self.groups:
            mask = np.array([agent not in gone for agent in group.agents], np.bool_)
            if not mask.all():
                group.keep(mask)
        self.population.put([agent for agent in self.population if agent not in gone])
        self.objects.put([thing for thing in self.objects if thing not in gone])
        self._leaving = set()
        self.forget_cached()

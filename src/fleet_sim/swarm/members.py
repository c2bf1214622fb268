"""The part of a world that spawners, subscribers and pictures need: its members, adding and removing them, its metrics.

Spawners, subscribers and the world refer to each other, so they are defined in one file. `RectangularWorld` sets it
up and steps it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Sequence
from dataclasses import MISSING, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from fleet_sim.base.arrays import Rows, as_floats
from fleet_sim.base.errors import InvalidValueError, StateError, named, unknown_name
from fleet_sim.base.files import TableFile, check_table, check_target, part_of, refusals, replacing, uninterrupted
from fleet_sim.base.settings import setting
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.swarm import spawning
from fleet_sim.swarm.agent_columns import NO_GROUP, WatchedList
from fleet_sim.swarm.agent_config import AgentConfig, SwarmBody
from fleet_sim.swarm.agents import Controller, Group, GroupKinds, Sensor, SwarmAgent
from fleet_sim.swarm.canvas import Canvas
from fleet_sim.swarm.controllers import CONTROLLERS
from fleet_sim.swarm.metrics import METRICS
from fleet_sim.swarm.parameters import Component, Configured, PartRegistry, SensorView, configured, file_setting
from fleet_sim.swarm.sensors import SENSORS
from fleet_sim.swarm.spawning import Recipe
from fleet_sim.swarm.swarm_state import Metric, SwarmState, edges
from fleet_sim.swarm.world_config import RectangularWorldConfig
from fleet_sim.world import steering

# Giving agents other controllers and sensors while their world runs. A group is all agents with one controller and
# the same sensors, so an agent that gets others moves to another group. It takes along what it remembers, but for
# what the parts that it gave away remembered.


Made = TypeVar("Made", bound=Component)


def controller_for(agent: SwarmAgent, spec: object) -> Controller | None:
    """Return the controller that `spec` describes, a part or as in a configuration, checked for `agent`.

    Raises InvalidValueError and UnknownNameError.
    """
    return None if spec is None else _taken(CONTROLLERS, spec, "controller", agent)


def sensors_for(agent: SwarmAgent, specs: Sequence[object]) -> list[Sensor]:
    """Return the sensors that `specs` describe, checked for `agent`; what it has may be among them.

    Raises InvalidValueError, also for one sensor given twice, and UnknownNameError.
    """
    plain = [spec.sensor if isinstance(spec, SensorView) else spec for spec in specs]
    if len({id(spec) for spec in plain if isinstance(spec, Sensor)}) < sum(isinstance(spec, Sensor) for spec in plain):
        raise InvalidValueError("one sensor is given twice; make another one of the same kind")
    return [_taken(SENSORS, spec, f"sensors[{index}]", agent) for index, spec in enumerate(plain)]


def _taken(kinds: PartRegistry[Made], spec: object, slot: str, agent: SwarmAgent) -> Made:
    """Return the part that `spec` describes for one agent; raises InvalidValueError for that of another one."""
    part = kinds.make(spec, owner=agent)
    if part.agent not in (None, agent):
        raise InvalidValueError(
            f"{type(part).__name__} is already that of {part.agent!r}; make another one for {agent!r}"
        )
    if part.works_on_arrays() and part.slot not in ("", slot):
        # What it remembers per agent is kept under its place, and others may have it there.
        part = copy.copy(part)
    return part


def hand_over(agent: SwarmAgent, controller: Controller | None, sensors: Sequence[Sensor]) -> None:
    """Let `agent` hold these parts, and tell them their places, and those written per agent whose they are.

    Readings and memory of a part that is replaced are forgotten.
    """
    before = slots_of(agent.controller, agent.plain_sensors)
    after = slots_of(controller, sensors)
    for slot, part in before.items():
        if part is not None and not part.works_on_arrays() and part not in after.values():
            part.belong_to(None)
        if after.get(slot) is not part and agent.is_alive:
            agent.group.forget(slot, agent.row)
    for slot, part in after.items():
        if part is not None:
            part.slot = slot
            part.belong_to(None if part.works_on_arrays() else agent)
    agent.hold(controller, sensors)


def slots_of(controller: Controller | None, sensors: Sequence[Sensor]) -> dict[str, Component | None]:
    """Return parts by their places."""
    return {"controller": controller, **{f"sensors[{index}]": sensor for index, sensor in enumerate(sensors)}}


def fits(group: Group, controller: Controller | None, sensors: Sequence[Sensor]) -> bool:
    """Return whether an agent with these parts can be in `group`: those on arrays are the group's own."""
    return _identities(group.controller, group.sensors) == _identities(controller, sensors)


def group_key(origin: Group, controller: Controller | None, sensors: Sequence[Sensor]) -> str:
    """Return a key that is equal for agents that came from `origin` and share these parts."""
    return f"{origin.index} with {_identities(controller, sensors)}"


def _identities(controller: Controller | None, sensors: Sequence[Sensor]) -> list[int]:
    """Return the identities of the parts of a group: 0 for a missing part, 1 for parts that each agent has its own."""
    parts = (controller, *sensors)
    # Parts that each agent has its own of may differ within a group; those on arrays serve a whole group.
    return [0 if part is None else id(part) if part.works_on_arrays() else 1 for part in parts]


def move(agent: SwarmAgent, group: Group) -> None:
    """Let `agent` leave its group and join `group`, with what it remembers."""
    old = agent.group
    number = old.number_of(agent.row)
    # Copied first: leaving the group drops the agent's part of these arrays.
    state = {name: values[number].copy() for name, values in old.state.items()}
    readings = {index: values[number].copy() for index, values in old.readings.items() if index < len(group.sensors)}
    mask = np.ones(len(old), np.bool_)
    mask[number] = False
    old.keep(mask)
    agent.swarm.group[agent.row] = group.index
    group.join([agent])
    for name, value in state.items():
        # Who joins a group comes last in its arrays.
        group.column(name, value.shape, dtype=value.dtype, default=old.defaults.get(name, 0))[-1] = value
    for index, reading in readings.items():
        group.only(len(group) - 1).note(index, reading[None])


LISTS = ("population", "objects", "spawners", "metrics", "goals", "subscribers")
"""The lists of a world, as metrics name them."""


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
        body.hold(*spawning.equipment_of(body, (None, [])))

    def give_controller(self, body: SwarmBody, spec: object) -> None:
        """Give an agent another controller, from its next decision on; see `SwarmAgent.controller`."""
        assert isinstance(body, SwarmAgent)
        controller = controller_for(body, spec)
        self._equip(body, controller, body.plain_sensors)
        if controller is None and body.law is not None and body.is_alive:
            steering.give_velocities(self.columns, np.array([body.row]), np.zeros((1, 3)), np.zeros((1, 3)))

    def give_sensors(self, body: SwarmBody, specs: Sequence[object]) -> None:
        """Give an agent other sensors; see `SwarmAgent.sensors`. Raises StateError within a step."""
        assert isinstance(body, SwarmAgent)
        if self.columns.in_step and not body.is_new:
            raise StateError("sensors can be changed between steps only; all agents of a group read in one go")
        self._equip(body, body.controller, sensors_for(body, specs))

    def _equip(self, agent: SwarmAgent, controller: Controller | None, sensors: list[Sensor]) -> None:
        hand_over(agent, controller, sensors)
        if agent.is_new:
            return
        # Within a step, others are deciding on the arrays of the group.
        self._regrouping[agent] = None
        if not self.columns.in_step:
            self.refresh()

    def _regroup(self, agent: SwarmAgent) -> None:
        controller, sensors, origin = agent.controller, agent.plain_sensors, agent.group.origin
        if fits(agent.group, controller, sensors):
            return
        move(agent, self._group_of_parts(origin, controller, sensors))

    def _group_of_parts(self, origin: Group, controller: Controller | None, sensors: list[Sensor]) -> Group:
        """Return the group of agents that came from `origin` and have these parts."""
        if fits(origin, controller, sensors):
            return origin
        key = group_key(origin, controller, sensors)
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

    def make_metric(self, spec: object) -> Metric:
        """Return a metric of this world that is not in its list: an inner one of another metric.

        Raises InvalidValueError and UnknownNameError.
        """
        made = METRICS.make(spec)
        made.attach_world(self)
        return made

    def values(self) -> dict[str, Any]:
        """Return what expressions over the world know: steps, time, population, metrics by name and as `metrics`."""
        metrics = {metric.name: metric.value for metric in self.metrics}
        counts = {"steps": self.steps, "total_steps": self.total_steps}
        return {**metrics, **counts, "time": self.time, "population": len(self.population), "metrics": metrics}

    def named(self, name: str) -> object | None:
        """Return the agent, object or metric of that name, else the list of the world, or None."""
        members: list[Any] = [*self.population, *self.objects, *self.metrics]
        for member in members:
            if member.name == name:
                found: object = member
                return found
        return getattr(self, name) if name in LISTS else None

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
        """Find groups by `key_of` from now on; groups from a state file have others."""
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


# Writing metrics to a table: CSV, or Parquet.


BATCH = 1000
"""Lines that are written at once."""
ALWAYS = {"step": int, "time": float, "population": int}
"""The columns of every table, and their types; a run without a line leaves a table of these."""


@configured
class MetricTable(Configured, Subscriber):
    """Writes one line per step, or per `every` steps: step, time, population, and every metric by name.

    `path` ends in .csv or .parquet. What is in memory never grows beyond a batch of lines. The file is written beside
    its place and gets there when it is closed.
    """

    path: Path = file_setting(MISSING, "The file.", written=True)
    every: int = setting(1, low=1, unit="steps", doc="Steps between two lines.")

    def __post_init__(self) -> None:
        """Raises InvalidValueError for another ending, MissingDependencyError where pyarrow is needed and not there."""
        super().__post_init__()
        self.closed = False
        # Before anything is written, so that a wrong ending leaves no empty file behind.
        check_table(self.path)
        check_target(self.path)
        self._table: TableFile | None = None
        self._names: list[str] = []
        self._lines: list[list[Any]] = []

    def settled(self) -> Collection[str]:
        """Return `path`, which was checked at the beginning; and all, once it is closed."""
        return ("path", "every") if self.closed else ("path",)

    def step(self, world: SwarmWorld) -> None:
        """Note the metrics of this step."""
        if self.closed or world.steps % self.every:
            return
        # The columns are those of the first line: neither format can add one later.
        if self._table is None:
            self._names = [metric.name for metric in world.metrics]
            with uninterrupted(), refusals(self.path):
                self._table = self._opened()
        # A metric that was removed has no value from then on; one that came later has no column.
        values = {metric.name: metric.value for metric in world.metrics}
        known = [values.get(name, float("nan")) for name in self._names]
        self._lines.append([world.steps, world.time, len(world.population), *known])
        if len(self._lines) >= BATCH:
            self._flush(self._table)

    def _opened(self) -> TableFile:
        return TableFile(part_of(self.path), ALWAYS | dict.fromkeys(self._names, float))

    def _flush(self, table: TableFile) -> None:
        with uninterrupted(), refusals(self.path):
            # Emptied before writing: after a failure the same lines are not written twice.
            lines, self._lines = self._lines, []
            if lines:
                table.write(lines)

    def close(self) -> None:
        """Write the last lines; may be called again."""
        if not self.closed:
            self.closed = True
            # It was written beside `path` all along; here that file takes its place.
            with replacing(self.path):
                table = self._table or self._opened()
                self._flush(table)
                table.close()

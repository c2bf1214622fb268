"""RectangularWorld: what is in a swarm world, and what happens in a step.

A world owns a simulation of the core: its agents are rows there, its step is the simulation's step, with the systems of
`stepping.py` in it.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from fleet_sim.base.arrays import Floats, as_float, as_floats
from fleet_sim.base.errors import ConfigError, InvalidValueError, StateError, located
from fleet_sim.base.scenario import Section
from fleet_sim.base.settings import object_schema, read
from fleet_sim.base.settings.expressions import Expression
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.swarm import members, spawning
from fleet_sim.swarm.agent_columns import WatchedList
from fleet_sim.swarm.agents import Group, SwarmAgent
from fleet_sim.swarm.canvas import Canvas, object_entries
from fleet_sim.swarm.members import Spawner, SwarmWorld
from fleet_sim.swarm.metrics.combination import spelt_here
from fleet_sim.swarm.parameters import Component, PartRegistry
from fleet_sim.swarm.pictures import SUBSCRIBERS, draw_world
from fleet_sim.swarm.spawners import SPAWNERS
from fleet_sim.swarm.spawning import spawn_border
from fleet_sim.swarm.stepping import Stepper, SwarmForms
from fleet_sim.swarm.swarm_state import GOALS
from fleet_sim.swarm.world_config import BaseWorldConfig as BaseWorldConfig
from fleet_sim.swarm.world_config import RectangularWorldConfig as RectangularWorldConfig
from fleet_sim.swarm.world_config import (
    StopCondition,
    check_assignment,
    load_world,
    naming,
    read_stop,
    read_world,
    simulation_params,
)
from fleet_sim.swarm.world_config import WorldConfig as WorldConfig
from fleet_sim.world.state_files import Form

# A world's part of checkpoints: its state outside the columns of the core.


class SwarmMemory:
    """Saves and restores groups, spawners, metrics, and what components keep in attributes of their own."""

    def __init__(self, world: SwarmWorld) -> None:
        self._world = world

    def save(self) -> dict[str, Any]:
        """Return the state as values that later changes do not touch."""
        world = self._world
        return {
            "steps": world.steps,
            "stopped": world.stopped,
            "names": dict(world.name_counts),
            "teams": set(world.teams),
            "team_order": list(world.team_order),
            "population": list(world.population),
            "objects": list(world.objects),
            "spawners": self._parts(world.spawners),
            "metrics": self._parts(world.metrics),
            "groups": [self._group(group) for group in world.groups],
        }

    def _parts(self, parts: list[Any]) -> list[tuple[Any, dict[str, Any]]]:
        return [(part, self._copied(vars(part))) for part in parts]

    def _copied(self, own: dict[str, Any]) -> dict[str, Any]:
        """Return a copy of the attributes of a part; worlds, groups and agents in it stay the same ones.

        What cannot be copied, such as an open file, stays the same one too.
        """
        world = self._world
        # deepcopy returns what is in its memo: these are kept, not copied.
        memo: dict[int, Any] = {id(kept): kept for kept in (world, world.sim, world.columns, world.swarm)}
        return {name: _copy(value, memo) for name, value in own.items()}

    def _group(self, group: Group) -> dict[str, Any]:
        """Return the state of a group as copies: its agents, its arrays and what its parts remember."""
        owners: list[Any] = [group, *group.agents]
        parts = [part for owner in owners for part in (owner.controller, *owner.sensors)]
        # What works on arrays is shared by all agents of a group, and is saved once.
        components = {id(part): part for part in parts if isinstance(part, Component)}
        return {
            "group": group,
            "rows": group.rows.copy(),
            "agents": list(group.agents),
            "own": [self._copied(_own(agent)) for agent in group.agents],
            "defaults": dict(group.defaults),
            "equipment": [(agent.controller, agent.plain_sensors) for agent in group.agents],
            "parts": (group.controller, list(group.sensors)),
            "state": {name: values.copy() for name, values in group.state.items()},
            "readings": {index: values.copy() for index, values in group.readings.items()},
            "components": self._parts(list(components.values())),
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Go back to what `save` returned."""
        world = self._world
        world.steps, world.stopped, world.in_progress = saved["steps"], saved["stopped"], False
        world.name_counts = dict(saved["names"])
        world.teams, world.team_order = set(saved["teams"]), list(saved["team_order"])
        self._add_groups([known["group"] for known in saved["groups"]])
        world.population.put(saved["population"])
        world.objects.put(saved["objects"])
        for name in ("spawners", "metrics"):
            parts = getattr(world, name)
            parts[:] = [part for part, _ in saved[name]]
            self._give_back(saved[name])
        # Groups made since stay, empty: rows refer to groups by index.
        for group in world.groups[len(saved["groups"]) :]:
            group.set_members(group.rows[:0], [], {}, {})
        for group, known in zip(world.groups, saved["groups"], strict=False):
            group.set_members(known["rows"], known["agents"], known["state"], known["readings"])
            group.defaults = dict(known["defaults"])
            for agent, own in zip(group.agents, known["own"], strict=True):
                vars(agent).update(self._copied(own))
            group.controller, group.sensors = known["parts"][0], list(known["parts"][1])
            for agent, parts in zip(group.agents, known["equipment"], strict=True):
                agent.enter(group)
                agent.hold(*parts)
            self._give_back(known["components"])
        world.forget_cached()

    def _add_groups(self, groups: list[Group]) -> None:
        """Add groups that this world does not have yet, as those from a state file."""
        world = self._world
        new = groups[len(world.groups) :]
        if new:
            world.groups += new
            world.rekey(key_of)

    def forms(self) -> Iterator[Form[Any]]:
        """Yield how the parts of the world are written in state files."""
        return SwarmForms(self._world).forms()

    def _give_back(self, parts: list[tuple[Any, dict[str, Any]]]) -> None:
        for part, own in parts:
            # In place, since user code may hold the part. Copied again, since a checkpoint can be restored more than
            # once.
            vars(part).clear()
            vars(part).update(self._copied(own))


def _copy(value: Any, memo: dict[int, Any]) -> Any:
    try:
        return copy.deepcopy(value, memo)
    except (TypeError, copy.Error):
        return value


_OUTER = frozenset(
    ("columns", "swarm", "world", "row", "_handle", "_start", "_group", "_controller", "_sensors", "is_made")
)


def _own(agent: SwarmAgent) -> dict[str, Any]:
    """Return the settings of an agent and what a subclass keeps in attributes, not what world and group know of it."""
    return {name: value for name, value in vars(agent).items() if name not in _OUTER}


def key_of(group: Group) -> str:
    """Return the key of a group, which is made of identities and so is another one in another process."""
    if group.origin is group:
        return spawning.group_key(group.kind, group.config, group.is_object)
    return members.group_key(group.origin, group.controller, group.sensors)


def fill(world: SwarmWorld, stepper: Stepper, step_spawners: bool) -> None:
    """Make what the configuration of `world` names; raises ConfigError."""
    config = world.config
    # Goals first, as controllers and metrics look for them; subscribers last, as they look at all the rest.
    for key, entry in _each("goals", config.goals):
        world.goals.append(at_key(key, GOALS.make, entry))
    for key, entry in _each("agents", config.agents):
        at_key(key, world.spawn, entry)
    for key, entry in _each("spawners", config.spawners):
        world.spawners.append(at_key(key, SPAWNERS.make, entry, world))
    for key, entry in _each("objects", config.objects):
        for thing in at_key(key, object_entries, entry):
            at_key(key, world.add_object, thing)
    for key, entry in _each("metrics", config.metrics):
        at_key(key, world.add_metric, entry)
    if step_spawners:
        # A copy: a spawner may change the list while it spawns.
        for index, spawner in enumerate(list(world.spawners)):
            at_key(f"spawners[{index}]", stepper.start_spawner, spawner)
        stepper.drop_spawners()
    for key, entry in _each("subscribers", config.subscribers):
        # A class is callable, too, but has to be made into a subscriber first.
        function = callable(entry) and not isinstance(entry, type)
        world.subscribers.append(entry if function else at_key(key, SUBSCRIBERS.make, entry))


def at_key(key: str, function: Any, *args: Any) -> Any:
    """Return `function(*args)`; what is wrong is reported with the key of the entry."""
    with located(key):
        return function(*args)


def _each(section: str, entries: list[Any]) -> list[tuple[str, Any]]:
    return [(f"{section}[{index}]", entry) for index, entry in enumerate(entries)]


class Condition:
    """A condition of one world.

    Expressions know `steps`, `total_steps` (also as `world.total_steps`), `time` in s, `population` (its size), every
    metric by name, and `metrics["name"]` for metrics whose names are not one word.
    """

    def __init__(self, condition: StopCondition | None, world: SwarmWorld) -> None:
        """Raises InvalidValueError for a text that is not an expression."""
        self.given = condition
        """The condition as it was given."""
        text = spelt_here(condition) if isinstance(condition, str) else ""
        self._condition = Expression(text) if text else condition
        self._world = world

    def check(self) -> None:
        """Raise InvalidValueError where an expression uses a name that is not known."""
        if isinstance(self._condition, Expression):
            self._condition.check_names(self._world.values())

    def holds(self) -> bool:
        """Return whether it holds now."""
        condition = self._condition
        if isinstance(condition, Expression):
            return bool(condition.value(self._world.values()))
        if callable(condition):
            return bool(self._world.sim.guard.call("stop_at", condition, self._world))
        return isinstance(condition, int) and self._world.steps >= condition


class RectangularWorld(SwarmWorld):
    """A rectangle with a population, objects, spawners, goals, metrics and subscribers.

    These are lists, in the order in which their members are stepped. `setup` fills them from the configuration; what is
    made in code may be appended at any time between steps.
    """

    config_class: ClassVar[type[RectangularWorldConfig]] = RectangularWorldConfig

    def __init__(
        self, config: WorldConfig | Mapping[str, Any] | None = None, sim: MultiRobotSimulationCore | None = None
    ) -> None:
        """Make an empty world; `sim` is the simulation to live in, by default one of its own. See `setup`.

        Raises ConfigError for a wrong configuration, and DuplicateNameError where `sim` has a world already.
        """
        # `agents:` with nothing after it is null in YAML, which `from_dict` knows.
        if isinstance(config, WorldConfig):
            settings = read(self.config_class, config)
        else:
            settings = self.config_class.from_dict(config or {})
        known = WORLDS.type_of(settings.associated_type)
        if not isinstance(self, known):
            raise ConfigError(f"these are settings of {known.__name__}, not of {type(self).__name__}", path="type")
        if type(self) is not known:
            settings = copy.copy(settings)
            settings.associated_type = type(self)  # type: ignore[misc]  # of these settings alone
        settings = settings.in_use("a world")
        super().__init__(sim or MultiRobotSimulationCore(simulation_params(settings)), settings)
        self.is_set_up = False
        """Whether `setup` was called."""
        self.source = ""
        """The file it comes from, for messages."""
        self._conditions: list[Condition] = []
        self._stop_at: Condition | None = None
        at_key("stop_at", self._set_stop, self.config.stop_at)
        self._stepper = Stepper(self, self.check_stop)
        self._stepper.install()
        memory = SwarmMemory(self)
        self.sim.checkpoints.register("swarm", memory)
        self.sim.register_manager(self, "swarm")
        self.sim.events.on("closed", self.close_subscribers)
        if self.config.collide_walls:
            spawn_border(self)

    # ---- setting up and running --------------------------------------------------------------------------------------

    def setup(self, step_spawners: bool = True) -> None:
        """Make what the configuration names: agents, spawners, objects, metrics, in this order; then step the spawners.

        Goals come first and subscribers last. Raises StateError when called again, and ConfigError naming the entry
        that is wrong; see `reset` for going back.
        """
        if self.is_set_up:
            raise StateError("setup() was called already; reset() goes back to the start")
        self.is_set_up = True
        with naming(self.source):
            fill(self, self._stepper, step_spawners)
            for condition in self._all_conditions():
                at_key("stop_at", condition.check)

    def step(self) -> None:
        """Advance by one time step: the same as `sim.step_once()`."""
        self.sim.step_once()

    def evaluate(self, steps: int) -> dict[str, float]:
        """Make up to `steps` steps (fewer where `stop_at` comes true) and return the average of each metric by name."""
        if not self.is_set_up:
            self.setup()
        for _ in range(steps):
            if self.stopped:
                break
            self.step()
        return dict(metric.out_average() for metric in self.metrics)

    def draw(self, canvas: Canvas) -> None:
        """Draw the world as it is now: see `draw_world`. A world of another kind may draw more."""
        draw_world(self, canvas)

    def reset(self) -> None:
        """Go back to the moment before the first step, with the same random streams."""
        self.sim.reset()

    def close(self) -> None:
        """Close the simulation, and with it the subscribers; may be called again."""
        self.sim.close()

    def leave(self) -> None:
        """Take the world out of its simulation, for one that was cleared; subscribers finish what they began."""
        sim = self.sim
        self.close_subscribers()
        self._stepper.uninstall()
        self.columns.on_remove.remove(self._on_removed)
        sim.checkpoints.unregister("swarm")
        sim.unregister_manager(self)
        sim.events.off("closed", self.close_subscribers)

    def close_subscribers(self) -> None:
        """Let subscribers finish what they began, such as files; done when the simulation is closed."""
        for subscriber in self.subscribers:
            if hasattr(subscriber, "close"):
                self._stepper.call("subscriber", subscriber.close)

    def __enter__(self) -> RectangularWorld:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def stop_at(self) -> StopCondition | None:
        """When it stops, as in the configuration; may be set at any time. See `stop_when` for more than one.

        Raises InvalidValueError for what is no condition.
        """
        return None if self._stop_at is None else self._stop_at.given

    @stop_at.setter
    def stop_at(self, condition: StopCondition | None) -> None:
        try:
            self._set_stop(condition)
        except ValueError as error:
            raise InvalidValueError(f"stop_at: {error}") from error

    def _set_stop(self, value: object) -> None:
        condition = read_stop(value)
        found = None if condition is None else Condition(condition, self)
        if found is not None and self.is_set_up:
            found.check()
        # It may be later than the one that has come true.
        self._stop_at, self.stopped = found, False

    def stop_when(self, condition: StopCondition) -> None:
        """Stop where `condition` comes true as well: a number of steps, an expression, or a function of the world.

        Raises InvalidValueError for anything else, and for a name that an expression does not know.
        """
        self._conditions.append(Condition(read_stop(condition), self))
        if self.is_set_up:
            self._conditions[-1].check()

    @contextmanager
    def running_until(self, condition: StopCondition | None) -> Iterator[None]:
        """Stop where `condition` comes true as well, for one run; what ended the last run counts if it still holds."""
        known = [] if condition is None else [Condition(read_stop(condition), self)]
        for one in known:
            one.check()
        if self.stopped:
            self.stopped = any(one.holds() for one in self._all_conditions())
        self._conditions += known
        try:
            yield
        finally:
            self._conditions = [one for one in self._conditions if one not in known]

    def check_stop(self) -> None:
        """Note whether a condition to stop has come true; a running simulation then ends."""
        if self._stop_at is None and not self._conditions:
            return
        if not self.stopped and any(condition.holds() for condition in self._all_conditions()):
            self.stopped = True
            if self.sim.is_running:
                self.sim.stop()

    def _all_conditions(self) -> list[Condition]:
        return [*([] if self._stop_at is None else [self._stop_at]), *self._conditions]

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; a list of members takes over the content of the new value and stays the same list.

        Once the world is set up, settings that are only read at its start are refused.
        """
        members = vars(self).get(name)
        if vars(self).get("is_set_up"):
            check_assignment(self, name, self.config_class, "give it in the configuration of the world")
        if isinstance(members, WatchedList):
            if value is not members:
                members[:] = value
            return
        super().__setattr__(name, value)

    # ---- the names that code written for RobotSwarmSimulator uses ----------------------------------------------------

    @property
    def meta(self) -> dict[str, Any]:
        """The `metadata` of its configuration."""
        return self.config.metadata

    def getNeighborsWithinDistance(
        self, center: Sequence[float] | Floats, r: float, excluded: SwarmAgent | None = None
    ) -> list[SwarmAgent]:
        """Return the agents of the population but `excluded` whose centers are nearer than `r` m to `center` (2,)."""
        x, y = (self.everyone.positions - as_floats(center, (2,), "center")).T
        near = (trig.hypot(x, y) < as_float(r, "r in m", low=0.0)).nonzero()[0].tolist()
        return [self.population[index] for index in near if self.population[index] is not excluded]

    def add_agent(self, agent: object) -> SwarmAgent:
        """Add an agent to the population: one made in code, settings, or a mapping; returns it. See `spawn`."""
        if not isinstance(agent, SwarmAgent):
            return self.spawn(agent)
        self.population.append(agent)
        return agent

    def add_spawner(self, spawner: object) -> Spawner:
        """Add a spawner, an object or a mapping as in a configuration; returns it.

        Raises InvalidValueError and UnknownNameError.
        """
        made = SPAWNERS.make(spawner, self)
        self.spawners.append(made)
        return made

    def set_seed(self, seed: int) -> int:
        """Draw from another seed from now on, as if the world had had it from the start; returns it."""
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise InvalidValueError(f"seed: must be a whole number of at least 0, got {seed!r}")
        self.columns.random.reseed(seed)
        return seed

    def step_row(self, row: int) -> None:
        """Take the agent in `row` through controller, change of state and sensors: what `SwarmAgent.step` does."""
        group = self.groups[int(self.swarm.scalars.group[row])]
        self._stepper.take_turn(group if len(group.rows) == 1 else group.only(group.number_of(row)))

    def __reduce__(self) -> tuple[Any, ...]:
        """Refuse: a file of its state continues the run in another process."""
        raise StateError("a world is not pickled; world.sim.save_state() and a file of that state are for this")

    def __deepcopy__(self, memo: dict[int, Any]) -> RectangularWorld:
        """A world stays itself in a copy of what refers to it."""
        return self


World = RectangularWorld
"""Another name of it."""


def World_from_config(
    config: WorldConfig | Mapping[str, Any] | str | Path,
    sim: MultiRobotSimulationCore | None = None,
    *,
    source: str = "",
) -> RectangularWorld:
    """Return the world that a configuration describes, not set up yet: a mapping, a WorldConfig, or a YAML file.

    Its `type` names the world's class; without one it is a RectangularWorld. A file may also be a scenario with a
    section `swarm`. `source` is the file that a mapping comes from, for messages. Raises ConfigError.
    """
    if isinstance(config, (str, Path)):
        source = str(config)
        config = load_world(config)
    if isinstance(config, WorldConfig):
        return WORLDS.type_of(config.associated_type)(config, sim)
    with naming(source):
        cls, params = WORLDS.split({"type": "RectangularWorld", **config})
        world = cls(params, sim)
    world.source = source
    return world


BUILT_IN: dict[str, type[RectangularWorld]] = {"RectangularWorld": RectangularWorld, "rectangular": RectangularWorld}

WORLDS = PartRegistry("world", RectangularWorld, BUILT_IN)


world_from_config = World_from_config
"""Another name of it."""


def config_from_dict(d: Mapping[str, Any]) -> RectangularWorldConfig:
    """Return the settings of a world in a mapping, of the class that its `type` asks for; raises ConfigError."""
    return WORLDS.type_of(d.get("type", "RectangularWorld")).config_class.from_dict(d)


def config_from_yaml(path: str | Path) -> RectangularWorldConfig:
    """Return the settings of the world in a YAML file; raises ConfigError."""
    return read_world(path, config_from_dict)


WorldConfig.maker = World_from_config


# The section `swarm` of a scenario: a swarm world in a simulation, as the ROS node and `fleet-sim run` open it.


IMPLIED = ("timestep", "seed", "collision_margin")
"""Settings that a world requires of its simulation."""


class SwarmSection(Section[MultiRobotSimulationCore]):
    """Opens a swarm world in a simulation; `sim.get_manager("swarm")` returns it."""

    doc = "A swarm world: its population, spawners, objects, metrics."

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of a world."""
        schema = object_schema(RectangularWorldConfig)
        kind = {"type": "string", "description": "The world's class.", "default": "RectangularWorld"}
        schema["properties"]["type"] = kind
        return schema

    def check(self, entry: Any, *, source: str = "") -> None:
        """Raise ConfigError where the settings of the world are wrong; its agents are read when it is opened."""
        self.implied_settings(entry, source=source)

    def implied_settings(self, entry: Any, *, source: str = "") -> dict[str, Any]:
        """Return the settings of the simulation that a world asks for; raises ConfigError where it is not right."""
        if not isinstance(entry, dict):
            message = f"must be a mapping with the settings of a world, got {entry!r}"
            raise ConfigError(message, source=source, path="swarm")
        # The world's settings are read twice, here for what they imply and when it is opened: neither waits for the
        # other.
        cls, settings = WORLDS.split({"type": "RectangularWorld", **entry})
        params = simulation_params(read(cls.config_class, settings, source=source, path="swarm"))
        return {name: getattr(params, name) for name in IMPLIED}

    def open(self, sim: MultiRobotSimulationCore, entry: Any, *, source: str = "") -> None:
        """Put the world into `sim`, set up. Raises ConfigError."""
        try:
            # Without a source: the scenario's is added below, with the key of the section.
            world = World_from_config(entry, sim)

            def leave() -> None:
                world.leave()
                sim.events.off("cleared", leave)

            # Before it is set up: where that fails, the simulation is cleared, too.
            sim.events.on("cleared", leave)
            world.setup()
        except ConfigError as error:
            raise error.within("swarm", source=source) from error


SECTION = SwarmSection()

"""RectangularWorld: what is in a swarm world, and what happens in a step.

A world owns a simulation of the core: its agents are rows there, its step is the simulation's step, with the systems of
`stepping.py` in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import Any, ClassVar

from fleet_sim.errors import ConfigError, FleetSimError, InvalidValueError, StateError
from fleet_sim.settings import read
from fleet_sim.settings.expressions import Expression
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.swarm.attributes import check_assignment
from fleet_sim.swarm.canvas import Canvas
from fleet_sim.swarm.metrics.nested import spelt_here
from fleet_sim.swarm.parts import PartRegistry
from fleet_sim.swarm.pictures import draw_world
from fleet_sim.swarm.regions import GOALS
from fleet_sim.swarm.spawners import SPAWNERS
from fleet_sim.swarm.spawning import spawn_border
from fleet_sim.swarm.stepping import Stepper
from fleet_sim.swarm.subscribers import SUBSCRIBERS
from fleet_sim.swarm.svg import object_entries
from fleet_sim.swarm.swarm_world import SwarmWorld
from fleet_sim.swarm.watched_list import WatchedList
from fleet_sim.swarm.world_config import BaseWorldConfig as BaseWorldConfig
from fleet_sim.swarm.world_config import RectangularWorldConfig as RectangularWorldConfig
from fleet_sim.swarm.world_config import StopCondition, read_stop, simulation_params
from fleet_sim.swarm.world_config import WorldConfig as WorldConfig
from fleet_sim.swarm.world_memory import SwarmMemory
from fleet_sim.swarm.world_names import NamedWorld
from fleet_sim.swarm.world_pickle import packed, unpacked
from fleet_sim.swarm.world_source import load_world, naming, read_world


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
    try:
        return function(*args)
    except FleetSimError as error:
        raise ConfigError.of(error).within(key) from error


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
            self._condition.check_names(self._world.contents.values())

    def holds(self) -> bool:
        """Return whether it holds now."""
        condition = self._condition
        if isinstance(condition, Expression):
            return bool(condition.value(self._world.contents.values()))
        if callable(condition):
            return bool(self._world.sim.guard.call("stop_at", condition, self._world))
        return isinstance(condition, int) and self._world.steps >= condition


class RectangularWorld(NamedWorld):
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
            settings = copy(settings)
            settings.associated_type = type(self)  # type: ignore[misc]  # of these settings alone
        self._owns_sim = sim is None
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
        self.sim.checkpoints.register("swarm", memory, memory.forms())
        self.sim.register_manager(self, "swarm")
        self.sim.events.on("closed", self.close_subscribers)
        if self.config.collide_walls:
            spawn_border(self)
        self._systems, self._rules = self.sim.pipeline.systems, self.columns.collision_rules.version

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

    def begin_steps(self) -> None:
        """Do what comes before steps that somebody else makes with this world; see `squares/`."""
        if self.sim.params.keep_initial_state and not self.sim.state.has_initial:
            self.sim.state.remember_initial()
        self._stepper.check_metrics()

    def count_steps(self, steps: int) -> None:
        """Count `steps` steps that somebody else made with this world; see `squares/`."""
        self.steps += steps
        self.columns.clock.tick += steps

    @property
    def is_plain(self) -> bool:
        """Whether its steps are those of a world with a simulation of its own, to which nobody added anything."""
        own = self._owns_sim and not self.sim.is_closed
        return own and (self.sim.pipeline.systems, self.columns.collision_rules.version) == (self._systems, self._rules)

    @property
    def steps_to_stop(self) -> float:
        """After how many more steps it stops: inf for never, NaN where only the run can tell."""
        given = [condition.given for condition in self._all_conditions()]
        if not all(isinstance(condition, int) for condition in given):
            return float("nan")
        # It looks after a step, so it makes one in any case.
        return min(
            (max(1.0, float(step - self.steps)) for step in given if isinstance(step, int)), default=float("inf")
        )

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

    def step_row(self, row: int) -> None:
        """Take the agent in `row` through controller, change of state and sensors: what `SwarmAgent.step` does."""
        group = self.groups[int(self.swarm.scalars.group[row])]
        self._stepper.take_turn(group if len(group.rows) == 1 else group.only(group.number_of(row)))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle it as it is between two steps; another process goes on from there with the same run."""
        if not self._owns_sim:
            raise StateError("a world within a simulation of other things is saved with it: sim.save_state()")
        return unpacked, (type(self), *packed(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> RectangularWorld:
        """A world stays itself in a copy of what refers to it."""
        return self


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


def config_from_yaml(path: str | Path, **values: Any) -> RectangularWorldConfig:
    """Return the settings of the world in a YAML file; `values` are those of the variables of a template.

    Raises ConfigError, also for a value that the file does not ask for, and MissingDependencyError for a template
    without Jinja2.
    """
    return read_world(path, values, config_from_dict)


WorldConfig.maker = World_from_config

"""The step of a world, as systems in the pipeline of its simulation.

Spawners; agents: controller, change of state, sensors; objects likewise; metrics; subscribers. `together` does each
part of the agents' step for all of them at once, `in_turn` all parts for one agent before the next one.
"""

from __future__ import annotations

import logging
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial, wraps
from typing import Any, TypeVar

import numpy as np

from fleet_sim.base import errors
from fleet_sim.base.arrays import NO_ROWS, Floats, Rows
from fleet_sim.base.params import ControllerMode
from fleet_sim.base.settings import read
from fleet_sim.robots.motion.laws import motion_law
from fleet_sim.robots.sim_object import SimObject
from fleet_sim.swarm.agent_columns import SwarmColumns, WatchedList
from fleet_sim.swarm.agent_config import AgentConfig, DetectionRegionConfig, Team
from fleet_sim.swarm.agents import AGENT_TYPES, Controller, Group, Sensor, SwarmAgent, follow_traces, steps_itself
from fleet_sim.swarm.controllers import CONTROLLERS
from fleet_sim.swarm.members import Spawner, Subscriber, SwarmWorld
from fleet_sim.swarm.metrics import METRICS
from fleet_sim.swarm.metrics.combination import NestedMetric, SelectiveMetric
from fleet_sim.swarm.metrics.crowd import CrowdMetric, SubGroup
from fleet_sim.swarm.parameters import PartRegistry
from fleet_sim.swarm.sensors import SENSORS
from fleet_sim.swarm.separation import give, held_arrays, keep_apart, unicycle_arrays, warn_of_outsiders
from fleet_sim.swarm.spawners import SPAWNERS
from fleet_sim.swarm.swarm_state import Metric, SwarmState
from fleet_sim.world.columns import numbers_of
from fleet_sim.world.pipeline import Phase, System
from fleet_sim.world.state_files import Form
from fleet_sim.world.world import World

# From the actions of controllers to velocity commands: checks, factors of each agent, delays.


_FLOAT = np.dtype(np.float64)


def drive(group: Group, actions: object) -> Rows:
    """Command the agents of `group` to do `actions` (N, 2), None for resting; return the rows that were commanded.

    NaN leaves an agent to other commands. Raises InvalidValueError for other shapes, and for what is infinite.
    """
    if actions is None:
        actions = np.zeros((len(group), 2))
    if not (group.acts_directly and _are_finite(actions, len(group.rows))):
        actions = group.kind.twists(group.config, _adjusted(group, _checked(group, actions), group.world.steps))
    return _give(group, actions)


def rest_held(group: Group) -> None:
    """Let those agents of `group`, which has no controller, rest that are halted or stopped, whatever drives them."""
    swarm, rows = group.swarm, group.rows
    if np.count_nonzero(swarm.halted.take(rows)) or np.count_nonzero(swarm.stopped.take(rows)):
        _give(group, np.full((len(rows), 2), np.nan))


def _give(group: Group, twists: Any) -> Rows:
    """Give body twists (N, 2) as commands; return the rows that were commanded."""
    columns, rows, clock = group.columns, group.rows, group.columns.clock
    driving, held = unicycle_arrays(columns).driving, held_arrays(group.swarm, compiled=columns.compiled)
    given = np.empty(len(rows), np.int64)
    if columns.compiled:
        # A copy: of other layouts, and of what cannot be written, kernels are compiled again.
        twists = np.array(twists, np.float64, order="C")
        count = give(rows, twists, clock.dt, clock.tick, held, columns.alive, driving, given)
    else:
        run, alive = give.in_python, columns.scalars.alive
        count = run(rows.tolist(), numbers_of(twists), clock.dt, clock.tick, held, alive, driving, numbers_of(given))  # type: ignore[arg-type]
    driven = rows if count == len(rows) else given[:count]
    columns.waypoints.discard(columns.motion, driven)
    return driven


def _are_finite(actions: object, count: int) -> bool:
    """Return whether these are finite numbers for `count` agents; False says nothing."""
    if type(actions) is not np.ndarray or actions.dtype is not _FLOAT or actions.shape != (count, 2):
        return False
    # What is infinite or not a number makes the sum so.
    return math.isfinite(np.add.reduce(actions, None))


def _checked(group: Group, actions: Any) -> Floats:
    """Return a controller's actions as (N, 2) numbers, finite or NaN; raises InvalidValueError."""
    array = np.array(actions, np.float64)
    if array.shape != (len(group.rows), 2) or np.count_nonzero(np.isinf(array)):
        raise errors.InvalidValueError(
            f"{type(group.controller).__name__}: expected finite actions of shape ({len(group)}, 2), got {actions!r}"
        )
    return array


def _adjusted(group: Group, actions: Floats, steps: int) -> Floats:
    """Return actions with the agents' own factors put in, and as late as their settings say."""
    spread = getattr(group.config, "idiosyncrasies", None)
    if spread is not None:
        mean, deviation = spread
        factors = group.column("action factors", (2,), default=np.nan)
        # NaN marks agents that joined since: each draws its factors once, and keeps them.
        new = np.flatnonzero(np.isnan(factors[:, 0]))
        if len(new):
            factors[new] = group.rng.normal(mean, deviation, (len(new), 2))
        actions = actions * factors
    delay = getattr(group.config, "delay", 0)
    if delay:
        waiting = group.column("action queue", (delay, 2))
        if group.config.delay_start == "first":
            # Agents that joined since find their first action wherever they look.
            begun = group.column("action queue begun", dtype=bool, default=False)
            if not begun.all():
                waiting[~begun] = actions[~begun, None]
                begun[:] = True
        # A ring buffer: the slot holds the action of `delay` steps ago. It is copied before this step overwrites it.
        slot = steps % delay
        actions, waiting[:, slot] = waiting[:, slot].copy(), actions
    return actions


# How the parts of a swarm world are written in state files: by the names of their classes and their places.


Made = TypeVar("Made")


class SwarmForms:
    """The forms of one world."""

    def __init__(self, world: SwarmWorld) -> None:
        self._world = world
        self._new: dict[int, Group] = {}

    def forms(self) -> Iterator[Form[Any]]:
        """Yield all forms."""
        world = self._world
        yield Form("swarm_world", SwarmState, lambda state: None, lambda nothing: world)
        yield Form("swarm_columns", SwarmColumns, lambda columns: None, lambda nothing: world.swarm)
        yield Form("swarm_config", AgentConfig, _of_config, _config)
        yield Form("swarm_agent", SwarmAgent, _of_agent, self._agent)
        yield Form("swarm_group", Group, self._of_group, self._group)
        yield Form("swarm_controller", Controller, lambda part: name_of(CONTROLLERS, part), _blank(CONTROLLERS))
        yield Form("swarm_sensor", Sensor, lambda part: name_of(SENSORS, part), _blank(SENSORS))
        yield Form("swarm_metric", Metric, lambda part: self._of_listed(METRICS, world.metrics, part), self._metric)
        yield Form(
            "swarm_spawner", Spawner, lambda part: self._of_listed(SPAWNERS, world.spawners, part), self._spawner
        )

    # ---- agents and groups -------------------------------------------------------------------------------------------

    def _agent(self, saved: tuple[str, SimObject | None]) -> SwarmAgent:
        """Return the agent that `saved` stands for: the one there is if it is the same, else a new one."""
        name, handle = saved
        cls = class_named(AGENT_TYPES, name)
        if not isinstance(handle, SimObject):
            raise errors.StateFileError(f"{errors.brief(saved)} is no agent")
        row = handle.place[0]
        world = self._world
        if world.columns.handles[row] is handle and world.swarm.group[row] >= 0:
            known = world.agent_of(row)
            if type(known) is cls:
                return known
        return _remade(cls, world, handle)

    def _of_group(self, group: Group) -> object:
        origin = None if group.origin is group else group.origin
        return group.index, name_of(AGENT_TYPES, group), group.config, group.is_object, origin

    def _group(self, saved: tuple[int, str, AgentConfig, bool, Group | None]) -> Group:
        """Return the group that `saved` stands for; raises StateFileError where the world has another one there."""
        index, name, config, is_object, origin = saved
        cls, groups = class_named(AGENT_TYPES, name), self._world.groups
        if 0 <= index < len(groups):
            known = groups[index]
            if known.kind is not cls or known.is_object is not is_object:
                raise errors.StateFileError(
                    f"group {index} is one of {known.kind.__name__} here, and was one of {cls.__name__}"
                )
            return known
        if not isinstance(config, cls.config_class) or not (origin is None or isinstance(origin, Group)):
            raise errors.StateFileError(f"{errors.brief(saved)} is no group")
        group = Group(self._world, index, cls, config, origin)
        group.is_object = is_object
        return group

    # ---- parts of the world ------------------------------------------------------------------------------------------

    def _of_listed(self, registry: PartRegistry[Any], parts: list[Any], part: object) -> object:
        places = [place for place, known in enumerate(parts) if known is part]
        return name_of(registry, part), places[0] if places else None

    def _metric(self, saved: tuple[str, int | None]) -> Metric:
        return _listed(METRICS, self._world.metrics, saved)

    def _spawner(self, saved: tuple[str, int | None]) -> Spawner:
        return _listed(SPAWNERS, self._world.spawners, saved)


def _remade(cls: type[SwarmAgent], world: SwarmWorld, handle: SimObject) -> SwarmAgent:
    """Return an agent for `handle`; it gets its settings and parts from the memory of the world."""
    agent: SwarmAgent = object.__new__(cls)
    known = {"columns": world.columns, "swarm": world.swarm, "world": world, "_handle": handle, "row": handle.place[0]}
    vars(agent).update(known, config=None, _start=None, _last=None, _group=None, _controller=None, is_made=True)
    vars(agent)["_sensors"] = WatchedList(agent._change_sensors)
    return agent


def _listed(registry: PartRegistry[Made], parts: list[Made], saved: tuple[str, int | None]) -> Made:
    """Return the part at its place, or where another one is there now, a new one without attributes."""
    name, place = saved
    cls = class_named(registry, name)
    if type(place) is int and 0 <= place < len(parts) and type(parts[place]) is cls:
        return parts[place]
    return object.__new__(cls)


def _blank(registry: PartRegistry[Made]) -> Any:
    def blank(name: str) -> Made:
        cls = class_named(registry, name)
        return object.__new__(cls)

    return blank


def _of_agent(agent: SwarmAgent) -> object:
    if agent.is_new:
        raise errors.StateFileError(f"{agent!r}: put it into its world, or let go of it")
    return name_of(AGENT_TYPES, agent), agent.handle


def _of_config(config: AgentConfig) -> object:
    return name_of(AGENT_TYPES, config), dict(vars(config))


def _config(saved: tuple[str, dict[str, Any]]) -> AgentConfig:
    # As from a file of the user's: every value is checked.
    name, values = saved
    cls = class_named(AGENT_TYPES, name).config_class
    return read(cls, values).in_use("an agent")


# ---- classes by name -------------------------------------------------------------------------------------------------


def name_of(registry: PartRegistry[Any], part: object) -> str:
    """Return the name by which the class of a part is found again; raises StateFileError where there is none."""
    cls: type[Any]
    if isinstance(part, Group):
        cls = part.kind
    elif isinstance(part, AgentConfig):
        cls = AGENT_TYPES.type_of(part.associated_type) if part.associated_type else type(part)
    else:
        cls = type(part)
    for name, known in registry.registered().items():
        if known is cls:
            return name
    path = f"{cls.__module__}:{cls.__qualname__}"
    if issubclass(cls, registry.base) and "<locals>" not in path and cls.__module__ != "__main__":
        return path
    raise errors.StateFileError(
        f"the {registry.noun} {path} cannot be saved: another process does not find it; write the class at the top of "
        "a module, or register it"
    )


def class_named(registry: PartRegistry[Made], name: str) -> type[Made]:
    """Return the class called `name`; one at a dotted path must be imported already, as by the scenario.

    Raises UnknownNameError, and StateFileError for a path to anything else.
    """
    if ":" not in name:
        return registry.get(name)
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, type) or not issubclass(found, registry.base):
        raise errors.StateFileError(f"there is no {registry.noun} {errors.brief(name)} here; import its module first")
    cls: type[Made] = found
    return cls


# Checks that the teams somebody looks for are there.


log = logging.getLogger(__name__)


def check_teams(world: SwarmWorld) -> None:
    """Refuse metrics of teams that nobody is of, and warn of sensors and regions that look for such teams.

    Sensors may look for somebody who comes later; such a metric would measure nobody, without a word. The teams of
    spawners count as soon as these are made. Raises UnknownNameError.
    """
    known = {team for team in world.teams if team is not None}
    for metric in world.metrics:
        check_metric(metric, known)
    for group in world.groups:
        config, wanted = group.config, [getattr(sensor, "target_team", None) for sensor in group.sensors]
        if isinstance(config, DetectionRegionConfig):
            wanted += config.target_teams or []
        for team in dict.fromkeys(wanted):
            if team is not None and team not in known:
                name = group.kind.__name__
                # A warning only: sensors may look for a team that spawners bring later.
                log.warning("%s looks for team %r, of which nobody is so far.%s", name, team, _hint(team, known))


def check_metric(metric: Metric, known: set[Team]) -> None:
    """Raise UnknownNameError for a metric of a team that is not among those `known`."""
    for team in _teams_of(metric):
        if team not in known:
            raise errors.UnknownNameError(
                f"metric {metric.name!r}: nobody is of team {team!r}.{_hint(team, known)} Agents or spawners of a team "
                "have to be there in the first step of its metrics"
            )


def _teams_of(metric: Metric) -> Iterator[Team]:
    """Yield the teams that a metric, or a metric within it, looks at."""
    # Metrics of metrics hide teams, too, so these are looked through.
    if isinstance(metric, CrowdMetric) and metric.team is not None:
        yield metric.team
    if isinstance(metric, SelectiveMetric):
        yield from metric.include_teams or ()
        yield from metric.exclude_teams or ()
    if isinstance(metric, (NestedMetric, SubGroup)):
        for inner in metric.inner:
            yield from _teams_of(inner)


def _hint(team: Team, known: Iterable[Team]) -> str:
    return errors.did_you_mean(str(team), [str(one) for one in known]) if known else " There are no teams."


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
        self._installed: list[str] = []

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

    def uninstall(self) -> None:
        """Remove them again."""
        pipeline = self._world.sim.pipeline
        for name in self._installed:
            pipeline.remove(name)
        self._installed.clear()

    def _add(
        self,
        name: str,
        phase: Phase,
        run: Callable[[float], object],
        before: str,
        wanted: Callable[[], object] | None = None,
    ) -> None:
        self._world.sim.pipeline.add(System(name, phase, run, wanted), before=before)
        self._installed.append(name)

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

    def _refusal_of(self, spawner: Spawner) -> errors.FleetSimError | None:
        """Run a spawner; return the error with which it refuses, which is no fault of its code."""

        @wraps(spawner.step)
        def step() -> errors.FleetSimError | None:
            try:
                spawner.step()
            except errors.FleetSimError as error:
                return error
            return None

        refusal: errors.FleetSimError | None = self.call("spawner", step)
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


# ---- parts of an agent's step --------------------------------------------------------------------------------------


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
        rest_held(group)
        return NO_ROWS
    # One written per agent may derive from one on arrays, whose `act` would go past it.
    act = group.controller.act if group.controller.works_on_arrays() else partial(Controller.act, group.controller)
    return drive(group, call("controller", act, group))


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

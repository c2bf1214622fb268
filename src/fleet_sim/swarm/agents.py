"""Agents, the groups they form, and the controllers and sensors they have.

These four classes refer to each other, so they are defined in one file. An agent has a controller and sensors and
belongs to a group; a group is all agents with one type, controller and sensors, as arrays; a controller or sensor is
called with a group, or with one agent after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, AnyArray, Bools, Floats, Ints, Rows, as_floats, as_whole
from fleet_sim.base.errors import InvalidValueError, StateError
from fleet_sim.base.registry import saved
from fleet_sim.base.settings import read
from fleet_sim.swarm.agent_columns import Crowd, WatchedList, fitting, joined, one_each
from fleet_sim.swarm.agent_config import (
    AgentConfig,
    DetectionRegionConfig,
    DiffDriveAgentConfig,
    MazeAgentConfig,
    StaticAgentConfig,
    SwarmBody,
    Team,
    draw_body,
)
from fleet_sim.swarm.canvas import Canvas
from fleet_sim.swarm.parameters import Component, PartRegistry, SensorView
from fleet_sim.swarm.separation import LAW
from fleet_sim.swarm.swarm_state import Region, SwarmState
from fleet_sim.swarm.world_config import changed_settings, type_entry
from fleet_sim.world.clock import normals, purpose_key, uniforms

_STILL, _NOTHING = (0.0, 0.0), (float("nan"), float("nan"))
"""Actions: of an agent whose controller failed, and of one that another one has removed meanwhile."""


class SwarmAgent(SwarmBody):
    """One agent or object of a world: a handle over a row, made by the world (`RectangularWorld.spawn`) or in code.

    A subclass is a type of agent: `config_class` is the class of its settings, `law` the motion law that moves it
    (None: it does not move), and `twists` converts its actions to velocities. Types that override `step` are stepped
    one by one.
    """

    config_class: ClassVar[type[AgentConfig]] = AgentConfig

    def __init__(self, config: AgentConfig | Mapping[str, Any], world: SwarmState, name: str | None = None) -> None:
        """Make an agent that is in no world yet: `world.population.append(agent)`, or `world.objects`, puts it there.

        Raises ConfigError for a wrong configuration, and InvalidValueError for what is not a world.
        """
        if not isinstance(world, SwarmState):
            raise InvalidValueError(f"{type(self).__name__}(config, world): expected a world, got {world!r}")
        settings = read(self.config_class, config).in_use("an agent")
        super().__init__(world.columns, world.swarm, settings, self._start or world.start_of(settings, name))
        self.world = world
        self._group: Group | None = None
        self._controller: Controller | None = None
        self._sensors: WatchedList[Sensor | SensorView[Sensor]] = WatchedList(self._change_sensors)

    def furnish(self) -> None:
        """Make the controller and the sensors that its configuration names."""
        self.world.furnish(self)

    @property
    def group(self) -> Group:
        """The group it belongs to; raises StateError while it is in no world."""
        if self._group is None:
            raise StateError(f"{self!r} is in no group: world.population.append(agent) puts it into its world")
        return self._group

    def enter(self, group: Group) -> None:
        """Belong to `group` from now on; the group is not told."""
        self._group = group

    # ---- what it has -------------------------------------------------------------------------------------------------

    @property
    def controller(self) -> Controller | None:
        """Its controller, or None. Assign another one, as an object or as in a configuration.

        The new controller acts from the next decision on. Without one the agent comes to rest. Of an agent that was
        removed, copies get it. Raises InvalidValueError and UnknownNameError.
        """
        return self._controller

    @controller.setter
    def controller(self, spec: object) -> None:
        self.world.give_controller(self._changeable(), spec)

    @property
    def sensors(self) -> WatchedList[Sensor | SensorView[Sensor]]:
        """Its sensors, in their order. The list may be changed between steps; new ones read from the next step on."""
        return self._sensors

    @sensors.setter
    def sensors(self, specs: Sequence[object]) -> None:
        if specs is not self._sensors:
            self._sensors[:] = specs

    def _change_sensors(self, specs: Sequence[object]) -> None:
        self.world.give_sensors(self._changeable(), specs)

    def _changeable(self) -> SwarmAgent:
        if not self.is_made:
            raise StateError(
                f"{type(self).__name__}: its configuration gives it its controller and sensors; change them later"
            )
        return self

    def copy(self) -> SwarmAgent:
        """Return an agent like this one, with copies of its controller and sensors, that is in no world yet."""
        agent: SwarmAgent = type(self)(self.as_settings(), self.world)
        return agent

    def hold(self, controller: Controller | None, sensors: Sequence[Sensor]) -> None:
        """Have these parts, of which those on arrays serve its group; the group is not told."""
        self._controller = controller
        self._sensors.put(
            SensorView(sensor, self, index) if sensor.works_on_arrays() else sensor
            for index, sensor in enumerate(sensors)
        )

    @property
    def plain_sensors(self) -> list[Sensor]:
        """Its sensors themselves, where `sensors` shows what it reads of those of its group."""
        return [sensor.sensor if isinstance(sensor, SensorView) else sensor for sensor in self._sensors]

    def as_settings(self) -> AgentConfig:
        """Return the settings of an agent like this one, with the parts it has now; one that was removed will do."""
        start: dict[str, Any] = {"position": tuple(self.last.position.tolist()), "angle": self.last.angle}
        if isinstance(self.config.anchor_point, str):
            # Its position is that of its anchor by now.
            start["anchor_point"] = self.config.anchor_point.removesuffix(" inplace")
        config: AgentConfig = replace(self.config, controller=self.controller, sensors=self.plain_sensors, **start)
        return config

    def as_config_dict(self) -> dict[str, Any]:
        """Return the entry of a configuration that makes an agent like this one."""
        return {"type": type_entry(type(self)), **changed_settings(self.as_settings())}

    def put(self, position: object, angle: float) -> None:
        """Move its row; see `place`."""
        self.world.place(self._require_alive(), position, angle)

    @property
    def team(self) -> Team | None:
        """Its team, or None."""
        if self._start is not None:
            team: Team | None = self.config.team
            return team
        return self.world.team_named(int(self.swarm.team[self._require_alive()]))

    def alone(self) -> Group:
        """Return a group of this agent alone."""
        return self.group.only(self.group.number_of(self._require_alive()))

    @classmethod
    def twists(cls, config: Any, actions: Floats) -> Floats:
        """Convert `actions` (N, 2) of agents with `config` to linear (m/s) and angular (rad/s) velocities (N, 2)."""
        return actions

    def step(self) -> None:
        """Take this agent through one step: controller, change of state, collisions, sensors."""
        self.world.step_row(self._require_alive())

    def remove(self) -> None:
        """Take it out of the world."""
        self.world.remove([self])

    def draw(self, canvas: Canvas) -> None:
        """Draw it: its polygon or its disc, with a line along its heading."""
        draw_body(self, canvas)

    # ---- the names that code written for RobotSwarmSimulator uses ----------------------------------------------------

    @property
    def pos(self) -> Floats:
        """Another name of `position`."""
        return self.position

    @pos.setter
    def pos(self, value: object) -> None:
        self.position = value

    def getPosition(self) -> Floats:
        """Return `position`."""
        return self.position

    def get_x_pos(self) -> float:
        """Return `x_pos`."""
        return self.x_pos

    def get_y_pos(self) -> float:
        """Return `y_pos`."""
        return self.y_pos

    def get_heading(self) -> float:
        """Return `angle`."""
        return self.angle

    def set_heading(self, new_heading: float) -> None:
        """Set `angle`."""
        self.angle = new_heading

    def set_x_pos(self, new_x: float) -> None:
        """Put it at `new_x` along x, in m."""
        self.position = np.array((new_x, self.y_pos))

    def set_y_pos(self, new_y: float) -> None:
        """Put it at `new_y` along y, in m."""
        self.position = np.array((self.x_pos, new_y))

    def set_pos_vec(self, vec: Sequence[float] | Floats) -> None:
        """Put it where `vec` says: x and y in m, and its heading in rad."""
        x, y, angle = as_floats(vec, (3,), "x, y, angle").tolist()
        self.place((x, y), angle)

    @property
    def dead(self) -> bool:
        """Another name of `halted`; may be set."""
        return self.halted

    @dead.setter
    def dead(self, value: bool) -> None:
        if not isinstance(value, (bool, np.bool_)):
            raise InvalidValueError(f"dead: expected True or False, got {value!r}")
        self.swarm.halted[self._require_alive()] = value

    @property
    def stopped_duration(self) -> int:
        """For how many more steps it stays where it is, although it may turn; may be set.

        With `catastrophic_collisions` a stop halts it. One without a controller has to be commanded again after it.
        """
        return int(self.swarm.stopped[self._require_alive()])

    @stopped_duration.setter
    def stopped_duration(self, steps: int) -> None:
        self.swarm.stopped[self._require_alive()] = as_whole(steps, "stopped_duration in steps", low=0)

    @property
    def collision_flag(self) -> bool:
        """Another name of `touching`."""
        return self.touching

    def getVelocity(self) -> Floats:
        """Return `dpos`: RobotSwarmSimulator's velocities are in m per step."""
        return self.dpos

    @property
    def dpos(self) -> Floats:
        """How far it came (2,) in the last step, pushes by others included, in m."""
        row = self._require_alive()
        way: Floats = self.columns.position[row, :2] - self.swarm.previous[row]
        return way

    @property
    def dx(self) -> float:
        """How far it came along x in the last step, in m."""
        return float(self.dpos[0])

    @property
    def dy(self) -> float:
        """How far it came along y in the last step, in m."""
        return float(self.dpos[1])


class Group(Crowd):
    """The agents that share a type, a controller and sensors, and what these remember per agent.

    `readings[i]` (N, ...) are the last readings of sensor i; `state` is that of components, see `Component.column`. A
    group of one agent of another group (`only`) reads and writes the same arrays.
    """

    def __init__(
        self, world: SwarmState, index: int, kind: type[SwarmAgent], config: AgentConfig, origin: Group | None = None
    ) -> None:
        super().__init__(world.columns, world.swarm, NO_ROWS)
        self.world = world
        self.index = index
        self.kind = kind
        self.origin = origin or self
        """The group that its agents were spawned in; another one where they were given other parts since."""
        self.is_object = False
        """Whether its members are objects rather than of the population."""
        self.config: Any = config
        """What its agents were made from; where they start and what they look like may differ."""
        self.controller: Controller | None = None
        self.sensors: list[Sensor] = []
        self.agents: list[SwarmAgent] = []
        self.acts_directly = acts_directly(kind, config)
        self.readings: dict[int, AnyArray] = {}
        self.state: dict[str, AnyArray] = {}
        self.defaults: dict[str, Any] = {}
        """What agents that join remember, by name."""
        self._numbers: dict[int, int] | None = None
        self._solos: dict[int, SoloGroup] = {}
        """Groups of one of its agents alone, by number: agents take turns in every step."""

    @property
    def rng(self) -> np.random.Generator:
        """The random stream of this group. Ask for it at each use: going back in time replaces it."""
        return self.world.rng(f"group {self.index}")

    @property
    def whole(self) -> Group:
        """The group these agents are of: itself, but for a group of one agent alone."""
        return self

    @property
    def numbers(self) -> Ints:
        """The number of each agent in the whole group, from 0 (N,)."""
        return np.arange(len(self))

    def only(self, number: int) -> Group:
        """Return a group of the agent with this `number` alone; of one agent, that is this group."""
        if len(self.rows) == 1:
            return self
        known = self._solos.get(number)
        if known is None:
            known = self._solos[number] = SoloGroup(self, number)
        return known

    def number_of(self, row: int) -> int:
        """Return the number of the agent with `row` in this group."""
        if self._numbers is None:
            # Made when first asked for: many worlds never ask.
            self._numbers = {member: number for number, member in enumerate(self.rows.tolist())}
        return self._numbers[row]

    # ---- what it remembers -------------------------------------------------------------------------------------------

    def column(self, name: str, shape: tuple[int, ...] = (), *, dtype: Any = float, default: Any = 0) -> AnyArray:
        """Return the array (N, *shape) remembered under `name`, made at its first use; see `Component.column`."""
        known = self.state.get(name)
        if known is None:
            known = self.state[name] = np.full((len(self), *shape), default, dtype)
            self.defaults[name] = default
        return known

    def forget(self, slot: str, row: int) -> None:
        """Clear the state and readings of the part in `slot` of the agent in `row`."""
        number = self.number_of(row)
        for name, values in self.state.items():
            if name.startswith(f"{slot}."):
                values[number] = self.defaults.get(name, 0)
        # Readings are numbered, not named: the slot of a sensor is its number.
        for index, values in self.readings.items():
            if slot == f"sensors[{index}]":
                values[number] = 0

    def forget_places(self) -> None:
        """Forget which agent is where: the arrays are others from now on."""
        self._numbers = None
        self._solos.clear()

    def __deepcopy__(self, memo: dict[int, Any]) -> Group:
        """A group stays itself in a copy of what refers to it."""
        return self

    def note(self, index: int, values: AnyArray) -> None:
        """Keep the readings (N, ...) of sensor `index`; raises InvalidValueError unless there is one per agent."""
        self.readings[index] = one_each(values, len(self), self.sensors[index])
        self._solos.clear()

    # ---- members come and go -----------------------------------------------------------------------------------------

    def join(self, agents: list[SwarmAgent]) -> None:
        """Take in new agents, after those that are there."""
        self.agents += agents
        for agent in agents:
            agent.enter(self)
        self.forget_places()
        self.rows = np.concatenate((self.rows, np.array([agent.row for agent in agents], np.int64)))
        for name, values in self.state.items():
            more = np.full((len(agents), *values.shape[1:]), self.defaults[name], values.dtype)
            self.state[name] = np.concatenate((values, more))
        for index, sensor in enumerate(self.sensors):
            blank = sensor.blank(len(agents))
            self.readings[index] = joined(self.readings[index], blank) if index in self.readings else blank

    def set_members(
        self, rows: Rows, agents: list[SwarmAgent], state: dict[str, AnyArray], readings: dict[int, AnyArray]
    ) -> None:
        """Restore these members and their state; the arrays are copied."""
        self.agents, self.rows = list(agents), rows.copy()
        self.forget_places()
        self.state = {name: values.copy() for name, values in state.items()}
        self.readings = {index: values.copy() for index, values in readings.items()}

    def keep(self, mask: Bools) -> None:
        """Let go of the agents outside `mask` (N,)."""
        self.agents = [agent for agent, stays in zip(self.agents, mask.tolist(), strict=True) if stays]
        self.forget_places()
        self.rows = self.rows[mask]
        self.state = {name: values[mask] for name, values in self.state.items()}
        self.readings = {index: values[mask] for index, values in self.readings.items()}


def acts_directly(kind: type[SwarmAgent], config: AgentConfig) -> bool:
    """Return whether actions of such agents are velocities as they are: at once, and without factors of their own."""
    own = getattr(config, "idiosyncrasies", None) is not None or getattr(config, "delay", 0) != 0
    # The method of the base itself: what others make of actions is not known.
    return not own and getattr(kind.twists, "__func__", None) is vars(SwarmAgent)["twists"].__func__


class SoloGroup(Group):
    """One agent of a group; its arrays are slices of the group's."""

    def __init__(self, group: Group, number: int) -> None:
        Crowd.__init__(self, group.columns, group.swarm, group.rows[number : number + 1])
        self._group = group
        self._number = number
        self._slice = slice(number, number + 1)
        self.world, self.index, self.kind, self.config = group.world, group.index, group.kind, group.config
        self.controller, self.sensors = group.controller, group.sensors
        self.acts_directly = group.acts_directly
        self.agents = group.agents[self._slice]
        self.readings = {index: values[self._slice] for index, values in group.readings.items()}
        # Slices are views: what is written here is in the group's arrays.
        self.state = {name: values[self._slice] for name, values in group.state.items()}

    def column(self, name: str, shape: tuple[int, ...] = (), *, dtype: Any = float, default: Any = 0) -> AnyArray:
        whole = self._group.column(name, shape, dtype=dtype, default=default)
        self.state[name] = whole[self._slice]
        return self.state[name]

    @property
    def whole(self) -> Group:
        return self._group

    @property
    def numbers(self) -> Ints:
        return np.array([self._number])

    def only(self, number: int) -> Group:
        return self

    def number_of(self, row: int) -> int:
        return 0

    def note(self, index: int, values: AnyArray) -> None:
        """Keep the readings of a sensor of this agent alone; those of its group grow where they have to."""
        values = one_each(values, len(self), self.sensors[index])
        own = self.readings[index]
        if own.shape == values.shape and (own.dtype == values.dtype or np.can_cast(values.dtype, own.dtype)):
            own[:] = values
            return
        readings = self._group.readings
        self._group.forget_places()
        readings[index] = fitting(readings[index], values)
        readings[index][self._slice] = values
        self.readings[index] = readings[index][self._slice]


class Controller(Component):
    """Computes the actions of agents from their last readings. Override `act`, or `get_actions`.

    The type of agent defines the two numbers of an action: for the unicycle they are the linear velocity along the
    heading in m/s and the angular velocity in rad/s.
    """

    on_arrays = "act"
    per_agent = "get_actions"
    agent: SwarmAgent | None = None

    def act(self, group: Group) -> Floats:
        """Return the actions (N, 2) of the agents of `group`; a row of NaN leaves an agent to other commands."""
        actions = [_decision(agent, group) if agent.is_alive else _NOTHING for agent in group.agents]
        return np.array(actions, np.float64).reshape(len(group), 2)

    def get_actions(self, agent: SwarmAgent) -> tuple[float, float] | Floats:
        """Return the action of one agent: two numbers."""
        action: Floats = self.act(agent.alone())[0]
        return action


def _decision(agent: SwarmAgent, group: Group) -> Any:
    """Return the action of one agent: it stands still where its controller fails and that is survived."""
    guard, controller = group.world.sim.guard, agent.controller
    if controller is None:
        return _NOTHING
    try:
        action = controller.get_actions(agent)
    except Exception:
        guard.note_failure("controller", controller.get_actions)
        return _STILL
    if action is None:
        name = type(controller).__name__
        raise InvalidValueError(f"{name}.get_actions: expected two numbers for {agent!r}, got None")
    return action


class Sensor(Component):
    """Distils the world into a reading per agent, for the next step. Override `sense`, or `step`.

    A per-agent sensor returns its reading from `step`, or leaves it in `self.current_state`.
    """

    on_arrays = "sense"
    per_agent = "step"
    agent: SwarmAgent | None = None

    current_state: Any = 0
    """The last reading of this agent's instance."""

    def blank(self, count: int) -> AnyArray:
        """Return the readings (count, ...) of agents that have not sensed yet."""
        return np.zeros(count, np.asarray(self.current_state).dtype)

    def sense(self, group: Group) -> AnyArray:
        """Return the readings (N, ...) of the agents of `group`, in their order."""
        index, guard = group.sensors.index(self), group.world.sim.guard
        readings = []
        for agent in group.agents:
            sensor = agent.sensors[index]
            # A sensor that is written per agent stands in the agent's list itself, never as a view.
            assert isinstance(sensor, Sensor)
            reading = guard.call("sensor", sensor.step, agent) if agent.is_alive else None
            if reading is not None:
                sensor.current_state = reading
            readings.append(sensor.current_state)
        return np.array(readings) if readings else self.blank(0)

    def step(self, agent: SwarmAgent) -> Any:
        """Return the reading of one agent."""
        return self.sense(agent.alone())[0]

    def outlines(self, group: Group) -> AnyArray | None:
        """Return what is drawn of the sensor: closed outlines (N, K, 2) in world coordinates, or None for nothing."""
        return None


Agent = SwarmAgent
"""Another name of it."""


# Random numbers that belong to an agent: a function of (component, agent, how many were drawn before). They do not
# depend on other agents, nor on the order of draws, so an agent draws the same numbers when agents are stepped
# together, one after the other, or alone.


@saved
class AgentDraws:
    """The random numbers of a component of a group: each agent has a sequence of its own.

    `seed` fixes the sequences whatever the world's seed; None takes them from the world's seed, the group and the slot.
    """

    def __init__(self, seed: int | None) -> None:
        self.seed = seed

    def uniforms(self, group: Group, slot: str, counts: Ints, lane: int = 0) -> Floats:
        """Return the `counts`-th (N,) number in [0, 1) of each agent of `group`; `lane` selects a sequence."""
        return uniforms(self._key(group, slot), group.columns.object_id[group.rows], counts, lane)

    def normals(self, group: Group, slot: str, counts: Ints, lane: int = 0) -> Floats:
        """Return the `counts`-th (N,) standard normal number of each agent of `group`."""
        return normals(self._key(group, slot), group.columns.object_id[group.rows], counts, lane)

    def _key(self, group: Group, slot: str) -> int:
        if self.seed is not None:
            return purpose_key(self.seed, "swarm")
        return group.columns.random.key(f"swarm {group.index} {slot}")


# The groups of a world by what a step has to do for them.


class GroupKinds(NamedTuple):
    """`total` groups, each in the order of the world: those of agents, of objects, and those whose traces are drawn.

    `plain` are those of agents that are stepped as groups, as their type has no `step` of its own; `all_plain` says
    whether these are all of the population.
    """

    total: int = 0
    population: tuple[Group, ...] = ()
    objects: tuple[Group, ...] = ()
    plain: tuple[Group, ...] = ()
    traced: tuple[Group, ...] = ()
    all_plain: bool = True

    @classmethod
    def of(cls, groups: Sequence[Group]) -> GroupKinds:
        """Return all `groups` sorted."""
        population = tuple(group for group in groups if not group.is_object)
        plain = tuple(group for group in population if not steps_itself(group))
        return cls(
            len(groups),
            population,
            tuple(group for group in groups if group.is_object),
            plain,
            tuple(group for group in groups if getattr(group.config, "trace_length", 0)),
            len(plain) == len(population),
        )


def steps_itself(group: Group) -> bool:
    """Return whether the type of its agents has a `step` of its own, so that each is stepped by that."""
    return group.kind.step is not SwarmAgent.step


# Where agents have been, for drawing: as many positions per agent as its `trace_length` says.


COLUMN = "trace"


def follow_traces(groups: Iterable[Group], steps: int) -> None:
    """Store the positions of the agents of `groups` at the end of step number `steps`."""
    for group in groups:
        length = getattr(group.config, "trace_length", 0)
        if length and len(group):
            # A ring: the oldest position is overwritten.
            positions = group.column(COLUMN, (length, 2), default=np.nan)
            positions[:, steps % length] = group.positions


def trace_of(agent: SwarmAgent) -> Floats | None:
    """Return the positions (K, 2) where `agent` was, oldest first; None where it leaves no trace."""
    positions = agent.group.state.get(COLUMN)
    if positions is None:
        return None
    own = positions[agent.group.number_of(agent.row)]
    own = np.roll(own, -(agent.world.steps % len(own)), axis=0)
    trace: Floats = own[~np.isnan(own[:, 0])]
    return trace


# Types of agents and objects: driving agents, static objects, detection regions.


class MazeAgent(SwarmAgent):
    """The unicycle: its actions are the linear velocity along its heading in m/s and the angular velocity in rad/s."""

    config_class = MazeAgentConfig
    law = LAW

    def draw(self, canvas: Canvas) -> None:
        """Draw its trace, then itself."""
        # Under itself: the agent has to stay visible on its own trace.
        trace = trace_of(self)
        if trace is not None and len(trace) > 1:
            canvas.line(trace, self.config.trace_color)
        super().draw(canvas)


UnicycleAgent = MazeAgent


class DiffDriveAgent(MazeAgent):
    """Two driven wheels: its actions are the speeds of the left and the right wheel in rad/s."""

    config_class = DiffDriveAgentConfig

    @classmethod
    def twists(cls, config: DiffDriveAgentConfig, actions: Floats) -> Floats:
        """Return speeds and turns (N, 2): the mean of the wheels' speeds, and their difference over the axle."""
        left, right = actions[:, 0] * config.wheel_radius, actions[:, 1] * config.wheel_radius
        return np.stack((0.5 * (left + right), (right - left) / config.axle_length), axis=1)


class StaticAgent(SwarmAgent):
    """Stands still: in a population, or as an object."""

    config_class = StaticAgentConfig


StaticObject = StaticAgent


class DetectionRegion(SwarmAgent):
    """An object that others pass through and that detects who is inside; see `detected`."""

    config_class = DetectionRegionConfig

    @property
    def region(self) -> Region:
        """Where it is."""
        outline = self.outline
        return Region(center=self.position, radius=self.radius) if outline is None else Region(outline)

    @property
    def detected(self) -> list[SwarmAgent]:
        """Return the agents of the population, of the teams and the name it looks for, that are inside now."""
        config, crowd = self.config, self.world.everyone
        assert isinstance(config, DetectionRegionConfig)
        mask = self.region.contains(crowd.positions)
        if config.target_teams is not None:
            mask &= np.isin(crowd.teams, [self.world.team_code(team) for team in config.target_teams])
        inside = [agent for agent, is_inside in zip(self.world.population, mask.tolist(), strict=True) if is_inside]
        # The name is compared last, of the few inside: rows have no names to compare as arrays.
        return [agent for agent in inside if isinstance(agent, SwarmAgent) and config.target_name in (None, agent.name)]


BUILT_IN: dict[str, type[SwarmAgent]] = {
    "MazeAgent": MazeAgent,
    "UnicycleAgent": MazeAgent,
    "unicycle": MazeAgent,
    "DiffDriveAgent": DiffDriveAgent,
    "differential": DiffDriveAgent,
    "StaticAgent": StaticAgent,
    "StaticObject": StaticAgent,
    "static": StaticAgent,
    "DetectionRegion": DetectionRegion,
    "region": DetectionRegion,
}

AGENT_TYPES = PartRegistry("agent", SwarmAgent, BUILT_IN)

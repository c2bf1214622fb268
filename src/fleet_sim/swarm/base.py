"""What a world is made of besides agents: controllers, sensors, metrics, spawners, subscribers.

A controller or sensor is written in one of two ways, with the same result. On arrays: override `act` or `sense`, which
get a Group; one instance serves all agents of the group. Per agent: override `get_actions` or `step`, which get one
agent; every agent has an instance of its own, with a back-reference in `agent`.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fleet_sim.arrays import AnyArray, Floats
from fleet_sim.errors import InvalidValueError

if TYPE_CHECKING:
    from fleet_sim.swarm.agents import SwarmAgent
    from fleet_sim.swarm.groups import Group
    from fleet_sim.swarm.world import RectangularWorld

_STILL, _NOTHING = (0.0, 0.0), (float("nan"), float("nan"))
"""Actions: of an agent whose controller failed, and of one that another one has removed meanwhile."""

HISTORY_SIZE = 100
"""How many values a metric remembers where it is not told."""


class Component:
    """What an agent has: a controller or a sensor. `slot` is its place, such as "controller" or "sensors[0]"."""

    on_arrays: ClassVar[str]
    per_agent: ClassVar[str]
    """Names of the two methods of which a class overrides one."""

    agent: SwarmAgent | None = None
    """The agent it belongs to; None for one that serves a whole group."""
    slot: str = ""

    @classmethod
    def works_on_arrays(cls) -> bool:
        """Whether one instance serves a whole group; raises InvalidValueError where neither method is overridden."""
        for ancestor in cls.__mro__:
            if ancestor in (Component, Controller, Sensor):
                break
            if cls.on_arrays in vars(ancestor):
                return True
            if cls.per_agent in vars(ancestor):
                return False
        raise InvalidValueError(
            f"{cls.__name__} must define {cls.on_arrays}(self, group) or {cls.per_agent}(self, agent)"
        )

    def column(
        self, group: Group, name: str, shape: tuple[int, ...] = (), *, dtype: Any = float, default: Any = 0
    ) -> AnyArray:
        """Return what this component remembers per agent of `group` under `name`: an array (N, *shape), made at need.

        Write into it; it keeps its values while other agents come and go, and agents that join get `default`.
        """
        return group.column(f"{self.slot}.{name}", shape, dtype=dtype, default=default)


class Controller(Component):
    """Decides what agents do, from their last readings. Override `act`, or `get_actions`.

    What the two numbers of an action mean is up to the type of agent: for the unicycle they are the speed along the
    heading in m/s and the turning speed in rad/s.
    """

    on_arrays = "act"
    per_agent = "get_actions"

    def act(self, group: Group) -> Floats:
        """Return the actions (N, 2) of the agents of `group`; a row of NaN leaves an agent to other commands."""
        actions = [_decision(agent, group) if agent.is_alive else _NOTHING for agent in group.agents]
        return np.array(actions, np.float64).reshape(len(group), 2)

    def get_actions(self, agent: SwarmAgent) -> tuple[float, float]:
        """Return the action of one agent."""
        first, second = self.act(agent.alone())[0].tolist()
        return first, second


def _decision(agent: SwarmAgent, group: Group) -> Any:
    """Return the action of one agent: it stands still where its controller fails and that is survived."""
    guard = group.world.sim.guard
    faults = guard.total
    action = guard.call("controller", agent.controller.get_actions, agent)
    if action is None and guard.total == faults:
        name = type(agent.controller).__name__
        raise InvalidValueError(f"{name}.get_actions: expected two numbers for {agent!r}, got None")
    return _STILL if action is None else action


class Sensor(Component):
    """Distils the world into a reading per agent, for the next step. Override `sense`, or `step`.

    A per-agent sensor returns its reading from `step`, or leaves it in `self.current_state`.
    """

    on_arrays = "sense"
    per_agent = "step"

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


class Metric:
    """Reduces the state of the world to a number at the end of each step. Override `calculate`.

    `value_history` holds the last `history_size` values.
    """

    def __init__(self, name: str | None = None, history_size: int = HISTORY_SIZE) -> None:
        self.name = name or type(self).__name__
        self.history_size = positive(history_size, "history_size")
        self.world: RectangularWorld | None = None
        self.value_history: deque[float] = deque(maxlen=self.history_size)

    def attach_world(self, world: RectangularWorld) -> None:
        """Observe `world` from now on; called before the first step."""
        self.world = world

    def calculate(self) -> None:
        """Take an observation of `self.world` and pass its value to `set_value`."""
        raise NotImplementedError

    def set_value(self, value: float) -> None:
        """Note the value of this step."""
        self.value_history.append(float(value))

    @property
    def value(self) -> float:
        """The last value; NaN before the first."""
        return self.value_history[-1] if self.value_history else float("nan")

    @property
    def current_value(self) -> float:
        """Another name of `value`."""
        return self.value

    @property
    def average(self) -> float:
        """The mean of the history; NaN without one."""
        return float(np.mean(self.value_history)) if self.value_history else float("nan")

    def out_current(self) -> tuple[str, float]:
        """Return (name, last value)."""
        return self.name, self.value

    def out_average(self) -> tuple[str, float]:
        """Return (name, mean of the history)."""
        return self.name, self.average

    def reset(self) -> None:
        """Forget the history."""
        self.value_history.clear()


AbstractMetric = Metric


class Spawner:
    """Brings agents into a world, a little in each step or all at once. Override `step`.

    The world drops it after a step in which it set `mark_for_deletion`; one that is `oneshot` does so in its first.
    """

    oneshot: bool = False
    mark_for_deletion: bool = False

    def __init__(self, world: RectangularWorld) -> None:
        self.world = world

    def step(self) -> None:
        """Spawn what is due in this step."""
        raise NotImplementedError


class Subscriber:
    """Hears of each step of a world, after its metrics. Override `step`; `close` is called at the end of a run."""

    def step(self, world: RectangularWorld) -> None:
        """Look at the world after a step."""
        raise NotImplementedError

    def close(self) -> None:
        """Finish what was begun, such as a file."""


def positive(value: Any, what: str) -> int:
    """Return a whole number of at least 1; raises InvalidValueError naming `what`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise InvalidValueError(f"{what}: expected a whole number of at least 1, got {value!r}")
    return int(value)

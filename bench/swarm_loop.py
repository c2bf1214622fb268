"""The world of the benchmark in the straightforward form: an object per agent, and loops."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from fleet_sim.swarm.agents import Controller, Sensor

Action = tuple[float, float]


@dataclass(slots=True)
class Agent:
    """One agent, and whether it saw another one."""

    x: float
    y: float
    angle: float
    radius: float
    seen: bool = False


class LoopWorld:
    """A unicycle per agent with a binary field of view and two actions, stepped agent by agent in plain Python."""

    def __init__(self, agents: list[Agent], dt: float, theta: float, distance: float, actions: tuple[Action, Action]):
        self.agents = agents
        self.dt, self.theta, self.distance, self.actions = dt, theta, distance, actions

    def step(self) -> None:
        """Move all agents, then update all sensors."""
        dt = self.dt
        for agent in self.agents:
            speed, turn = self.actions[agent.seen]
            half = 0.5 * turn * dt
            # The chord of the arc.
            way = speed * dt * (math.sin(half) / half if half else 1.0)
            agent.x += way * math.cos(agent.angle + half)
            agent.y += way * math.sin(agent.angle + half)
            agent.angle += turn * dt
        for agent in self.agents:
            agent.seen = self.sees(agent)

    def sees(self, me: Agent) -> bool:
        """Return whether another agent's disc is in the sector ahead; the loop ends at the first."""
        cosine, sine = math.cos(me.angle), math.sin(me.angle)
        for other in self.agents:
            if other is me:
                continue
            x, y = other.x - me.x, other.y - me.y
            reach = self.distance + other.radius
            if x * x + y * y > reach * reach:
                continue
            if touches(x * cosine + y * sine, abs(y * cosine - x * sine), other.radius, self.theta, self.distance):
                return True
        return False


def touches(ahead: float, aside: float, radius: float, theta: float, distance: float) -> bool:
    """Return whether a disc that is near enough reaches into the sector; theta must be below a right angle."""
    cosine, sine = math.cos(theta), math.sin(theta)
    along, outside = ahead * cosine + aside * sine, aside * cosine - ahead * sine
    if outside <= 0.0 <= along:
        return True
    foot = min(max(along, 0.0), distance)
    return (ahead - foot * cosine) ** 2 + (aside - foot * sine) ** 2 <= radius * radius


class LoopController(Controller):
    """The two actions, written per agent for a RectangularWorld."""

    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = tuple(a), tuple(b)

    def get_actions(self, agent: Any) -> Action:
        """Return the action of one agent."""
        return self.b if agent.sensors[0].current_state else self.a


class LoopSensor(Sensor):
    """The field of view, written per agent for a RectangularWorld."""

    def __init__(self, theta: float, distance: float) -> None:
        self.theta, self.distance = theta, distance

    def step(self, agent: Any) -> int:
        """Return 1 if another agent's disc is in the sector ahead, else 0."""
        my_x, my_y = agent.x_pos, agent.y_pos
        cosine, sine = math.cos(agent.angle), math.sin(agent.angle)
        for other in agent.world.population:
            if other is agent:
                continue
            x, y, radius = other.x_pos - my_x, other.y_pos - my_y, other.radius
            reach = self.distance + radius
            if x * x + y * y > reach * reach:
                continue
            if touches(x * cosine + y * sine, abs(y * cosine - x * sine), radius, self.theta, self.distance):
                return 1
        return 0

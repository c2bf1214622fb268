"""Whether a condition holds for at least one agent."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fleet_sim.arrays import as_float
from fleet_sim.errors import InvalidValueError
from fleet_sim.settings import setting
from fleet_sim.settings.expressions import Expression
from fleet_sim.swarm.agents import SwarmAgent
from fleet_sim.swarm.metrics.nested import holds
from fleet_sim.swarm.metrics.selection import SelectiveMetric
from fleet_sim.swarm.parameters import choice_setting, documented

_OF_AGENT = re.compile(r"\bagent\.|(?<=\])\.current_state\b")
"""How RobotSwarmSimulator's templates write what belongs to an agent, and readings."""


def _position(agent: SwarmAgent) -> list[float]:
    position: list[float] = agent.position.tolist()
    return position


KNOWN: dict[str, Callable[[SwarmAgent], Any]] = {
    "x": lambda agent: agent.x_pos,
    "y": lambda agent: agent.y_pos,
    "position": _position,
    "pos": _position,
    "angle": lambda agent: agent.angle,
    "linear": lambda agent: agent.linear,
    "angular": lambda agent: agent.angular,
    "radius": lambda agent: agent.radius,
    "name": lambda agent: agent.name,
    "team": lambda agent: agent.team,
    "touching": lambda agent: agent.touching,
    "collision_flag": lambda agent: agent.touching,
    "halted": lambda agent: agent.halted,
    "sensors": lambda agent: [sensor.current_state for sensor in agent.sensors],
}
"""What expressions know of an agent; of two names for one thing the second is RobotSwarmSimulator's."""


def read_expression(text: object) -> Expression:
    """Return the expression over one agent that `text` is; raises ValueError for anything else."""
    if isinstance(text, Expression):
        return text
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f'must be an expression such as "x > 3 and touching", got {text!r}')
    # Their names without "agent." are those that `KNOWN` has.
    expression = Expression(_OF_AGENT.sub("", text))
    expression.check_names(KNOWN)
    return expression


def read_found(value: object) -> str | float:
    """Return what the value is where an agent is found; raises ValueError."""
    if value in ("agent", "expression"):
        return str(value)
    try:
        return as_float(value, "value")
    except InvalidValueError as error:
        raise ValueError(f"must be 'agent', 'expression' or a number, got {value!r}") from error


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class AnyAgent(SelectiveMetric):
    """1 while there is an agent, or an object, of which `expression` holds; else `default`. `agent` is the first one.

    Expressions know `x`, `y`, `position`, `angle`, `linear`, `angular`, `radius`, `name`, `team`, `touching`, `halted`
    and the readings `sensors[0]`, ...
    """

    expression: Any = setting(reader=read_expression, schema={"type": "string"}, doc="What has to hold of the agent.")
    value_on_found: Any = setting(
        "agent",
        reader=read_found,
        schema={"anyOf": [{"type": "number"}, {"enum": ["agent", "expression"]}]},
        doc="The value where one is found: a number; agent is 1, expression the value of the expression.",
    )
    default: float = setting(0.0, doc="The value where none is found.")
    error: str = choice_setting(
        "raise", ("raise", "skip"), "What to do where the expression has no value for an agent: raise, or skip it."
    )

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        self.agent: SwarmAgent | None = None

    def calculate(self) -> None:
        """Take an observation. Raises InvalidValueError where the expression has no value, with `error` raise."""
        world, self.agent = self.watched, None
        for members, crowd in ((world.population, world.everyone), (world.objects, world.things)):
            for member, chosen in zip(members, self.selection.mask(world, crowd).tolist(), strict=True):
                if not chosen or not isinstance(member, SwarmAgent):
                    # The first in the order of spawning counts, so that the same agent is found in each run.
                    continue
                found = self._value(member)
                if holds(found):
                    self.agent = member
                    self.set_value(self._value_of(found))
                    return
        self.set_value(self.default)

    def _value(self, agent: SwarmAgent) -> Any:
        """Return the value of the expression for an agent; False where it has none, unless errors are to be raised."""
        expression: Expression = self.expression
        try:
            # Only what the expression asks for: some values, such as readings, take long to make.
            return expression.value({name: KNOWN[name](agent) for name in expression.names if name in KNOWN})
        except InvalidValueError:
            if self.error == "raise":
                raise
            return False

    def _value_of(self, found: Any) -> float:
        if self.value_on_found == "expression":
            return float(found)
        return 1.0 if self.value_on_found == "agent" else float(self.value_on_found)

    def reset(self) -> None:
        """Forget the history and the agent."""
        super().reset()
        self.agent = None

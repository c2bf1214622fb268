"""Metrics computed from other metrics or from expressions, and of chosen agents."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np

from fleet_sim.base.arrays import Bools, as_float
from fleet_sim.base.errors import InvalidValueError, StateError
from fleet_sim.base.settings import setting
from fleet_sim.base.settings.expressions import Expression
from fleet_sim.swarm.agent_columns import Crowd
from fleet_sim.swarm.agents import SwarmAgent
from fleet_sim.swarm.parameters import Configured, choice_setting, configured
from fleet_sim.swarm.swarm_state import HISTORY_SIZE, Metric, SwarmState

# DeclaredMetric: the base of metrics whose parameters are declared once, as settings.


def read_name(value: object) -> str | None:
    """Return a name, or None for that of the class; raises ValueError."""
    if value is None or isinstance(value, str):
        return value
    raise ValueError(f"must be text, got {value!r}")


@configured
class DeclaredMetric(Configured, Metric):
    """Base of metrics with settings: a name and a history, and what a subclass adds. Override `calculate`."""

    name: str = setting(
        None,
        reader=read_name,
        schema={"type": ["string", "null"]},
        doc="Name, unique in the world; null: that of the class.",
    )
    history_size: int | None = setting(
        HISTORY_SIZE, low=1, high=10**9, aliases=("history",), doc="Number of values to keep; null: all."
    )

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        Metric.__init__(self, self.name, self.history_size)

    @property
    def watched(self) -> SwarmState:
        """The world; raises StateError before `attach_world`."""
        if self.world is None:
            raise StateError(f"metric {self.name}: attach_world() comes before calculate()")
        return self.world


_VALUES = re.compile(r"\b(metrics?(?:\[[^\]]*\])?)\.(?:current_)?value\b")
_STEPS = re.compile(r"\bworld\.((?:total_)?steps)\b")


def spelt_here(text: str) -> str:
    """Return an expression over a world, in which RobotSwarmSimulator's templates name it, without that name."""
    return _STEPS.sub(r"\1", text)


def holds(value: object) -> bool:
    """Return whether `value` counts as true; NaN, no value yet, does not."""
    return bool(value) and not (isinstance(value, float) and math.isnan(value))


def read_expression(text: object) -> Expression | None:
    """Return the expression over metrics that `text` is, or None; raises ValueError for anything else.

    `metric.value` and `world.total_steps` are other spellings of `metric` and `total_steps`.
    """
    if text is None or isinstance(text, Expression):
        return text
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f'must be an expression such as "metric > 0.5", got {text!r}')
    return Expression(spelt_here(_VALUES.sub(r"\1", text)))


@configured
class NestedMetric(DeclaredMetric):
    """Base of metrics that are made of others, which are not in the world's list and are stepped by this one."""

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        self._inner: list[Metric] = []

    @property
    def inner_specs(self) -> Sequence[object]:
        """What the inner metrics are made from: names, mappings or objects."""
        raise NotImplementedError

    def attach_world(self, world: SwarmState) -> None:
        """Observe `world` from now on, with the inner metrics. Raises InvalidValueError and UnknownNameError."""
        super().attach_world(world)
        # Only now: what is named may be a metric of the world itself.
        self._inner = [world.make_metric(spec) for spec in self.inner_specs]

    @property
    def inner(self) -> Sequence[Metric]:
        """The inner metrics, once it observes a world."""
        return self._inner

    def measure_inner(self) -> list[float]:
        """Let the inner metrics take an observation; return their values."""
        for metric in self._inner:
            metric.calculate()
        return self.inner_values

    @property
    def inner_values(self) -> list[float]:
        """The last values of the inner metrics."""
        return [metric.value for metric in self._inner]

    def names(self, **more: object) -> Mapping[str, Any]:
        """Return what expressions know: the world's values, the inner metrics by name, and `more`."""
        own = {metric.name: metric.value for metric in self._inner}
        # Own metrics win over those of the world with the same name: they are nearer to the expression.
        return {**self.watched.values(), **own, **more}

    def reset(self) -> None:
        """Forget the history, and those of the inner metrics."""
        super().reset()
        for metric in self._inner:
            metric.reset()


# Metrics computed from others: an expression, and whether all of several hold.


TEXT = {"type": ["string", "null"]}


@configured(kw_only=True)
class Combination(NestedMetric):
    """The value of an `expression` over other metrics: its own `metrics`, and those of the world.

    Expressions know `metrics[0]`, `metrics[1]`, ... (with one of them also `metric`), every metric by its name,
    `steps`, `time` and `population`. Metrics of the world that stand after this one have the value of the step before.
    """

    metrics: list[Any] = setting(
        factory=list, one_is_list=True, doc="Inner metrics: names, or mappings with type and parameters."
    )
    expression: Any = setting(reader=read_expression, schema=TEXT, doc="Gives the value.")
    eval_condition: Any = setting(
        None, reader=read_expression, schema=TEXT, doc="Measure only in steps where this holds; null: in all."
    )
    save_condition: Any = setting(
        None, reader=read_expression, schema=TEXT, doc="Note the value only in steps where this holds; null: in all."
    )

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        if self.expression is None:
            raise self.refuse('expression: is missing; write one such as "circliness * 2"')

    @property
    def inner_specs(self) -> Sequence[object]:
        """What the inner metrics are made from."""
        return self.metrics

    def calculate(self) -> None:
        """Take an observation, where the conditions allow it. Raises InvalidValueError for what has no number."""
        if self.eval_condition is not None and not holds(self.eval_condition.value(self._names())):
            return
        self.measure_inner()
        # Asked again: the inner metrics have new values now.
        names = self._names()
        value = self.expression.value(names)
        if self.save_condition is not None and not holds(self.save_condition.value(names)):
            return
        if not isinstance(value, (int, float)):
            raise InvalidValueError(f"metric {self.name}: {self.expression.text!r} gives no number but {value!r}")
        self.set_value(value)

    def _names(self) -> Any:
        values = self.inner_values
        # Where there is one metric, expressions may call it `metric`, whatever its name.
        one = {"metric": values[0]} if len(values) == 1 else {}
        return self.names(metrics=values, **one)


@configured(kw_only=True)
class AndMetrics(NestedMetric):
    """1 while all of several metrics hold, else 0. A metric holds where its value is neither 0 nor NaN."""

    metrics: list[Any] = setting(doc="The metrics: names, or mappings with type and parameters.")

    @property
    def inner_specs(self) -> Sequence[object]:
        """What the inner metrics are made from."""
        return self.metrics

    def calculate(self) -> None:
        """Take an observation."""
        # Raises before the world is attached, with the same words as other metrics do.
        _ = self.watched
        self.set_value(float(all(map(holds, self.measure_inner()))))


# Which agents a metric looks at: by their teams and their names.


Teams = list[int | str] | None
Names = list[str] | None


@dataclass(frozen=True)
class Selection:
    """Agents of some teams and names; None includes all, or excludes nobody."""

    include_teams: Teams = None
    exclude_teams: Teams = None
    include_names: Names = None
    exclude_names: Names = None

    def mask(self, world: SwarmState, crowd: Crowd) -> Bools:
        """Return which agents of `crowd` are selected (N,)."""
        chosen = np.ones(len(crowd), np.bool_)
        for teams, wanted in ((self.include_teams, True), (self.exclude_teams, False)):
            if teams is not None:
                chosen &= np.isin(crowd.teams, [world.team_code(team) for team in teams]) == wanted
        for names, wanted in ((self.include_names, True), (self.exclude_names, False)):
            if names is not None:
                known = world.columns.index.names
                # Names are kept per row and change by `rename`, so they are looked up each time.
                chosen &= np.array([(known[row] in names) == wanted for row in crowd.rows.tolist()], np.bool_)
        return chosen

    def of(self, world: SwarmState, crowd: Crowd) -> Crowd:
        """Return the agents of `crowd` that are selected, in their order."""
        return Crowd(world.columns, world.swarm, crowd.rows[self.mask(world, crowd)])


@configured
class SelectiveMetric(DeclaredMetric):
    """Base of metrics that look at some agents only, as their settings say."""

    include_teams: Teams = setting(None, one_is_list=True, doc="Look at these teams only; null: at all agents.")
    exclude_teams: Teams = setting(None, one_is_list=True, doc="Do not look at these teams.")
    include_names: Names = setting(None, one_is_list=True, doc="Look at the agents with these names only.")
    exclude_names: Names = setting(None, one_is_list=True, doc="Do not look at the agents with these names.")

    @property
    def selection(self) -> Selection:
        """The agents it looks at."""
        return Selection(self.include_teams, self.exclude_teams, self.include_names, self.exclude_names)


# Whether a condition holds for at least one agent.


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


def any_agent_read_expression(text: object) -> Expression:
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


@configured(kw_only=True)
class AnyAgent(SelectiveMetric):
    """1 while there is an agent, or an object, of which `expression` holds; else `default`. `agent` is the first one.

    Expressions know `x`, `y`, `position`, `angle`, `linear`, `angular`, `radius`, `name`, `team`, `touching`, `halted`
    and the readings `sensors[0]`, ...
    """

    expression: Any = setting(
        reader=any_agent_read_expression, schema={"type": "string"}, doc="What has to hold of the agent."
    )
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


# How long it takes until another metric holds.


@configured(kw_only=True)
class StepsUntil(NestedMetric):
    """The number of steps before the one in which another metric first held: 0 where it does after the first step.

    It holds where its value is neither 0 nor NaN, where it equals `sentinel`, or where `until_expression` says so. The
    expression knows `metric`, every metric of the world by name, `steps`, `time` and `population`. Until then the value
    is `default`; afterwards the inner metric is not measured any more.
    """

    metric: Any = setting(doc="The metric to wait for: a name, or a mapping with type and parameters.")
    until_expression: Any = setting(
        None,
        reader=read_expression,
        schema={"type": ["string", "null"]},
        doc='What to wait for, such as "metric > 0.9"; null: that the metric holds.',
    )
    sentinel: float | None = setting(None, doc="Wait for this value of the metric; null: for any that holds.")
    default: float | None = setting(None, doc="The value until then; null: NaN.")

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        if self.sentinel is not None and self.until_expression is not None:
            raise self.refuse("sentinel and until_expression both say what to wait for; leave one of them out")
        self._steps = 0

    @property
    def inner_specs(self) -> Sequence[object]:
        """What the inner metric is made from."""
        return [self.metric]

    @property
    def value(self) -> float:
        """The number of steps, or `default` while it has not come true."""
        if not self.value_history and self.default is not None:
            return self.default
        return super().value

    @property
    def average(self) -> float:
        """The same as `value`: there is one value per run."""
        return self.value

    def calculate(self) -> None:
        """Take an observation, until the metric holds."""
        world = self.watched
        # What it waited for has come; the value is final, and the inner metric need not be measured any more.
        if self.value_history:
            return
        (value,) = self.measure_inner()
        if self.sentinel is not None:
            reached = value == self.sentinel
        elif self.until_expression is not None:
            reached = holds(self.until_expression.value({**world.values(), "metric": value}))
        else:
            reached = holds(value)
        if reached:
            self.set_value(self._steps)
        # After the comparison: a condition that holds after the first step counts 0 steps.
        self._steps += 1

    def reset(self) -> None:
        """Forget the history, and start waiting again."""
        super().reset()
        self._steps = 0


# The number of members of a list, or of entities of a kind.


def read_path(value: object) -> str | None:
    """Return a dotted path of public attributes, or None; raises ValueError."""
    if value is None:
        return None
    if isinstance(value, str) and all(part.isidentifier() and part[0] != "_" for part in value.split(".")):
        return value
    raise ValueError(f"must be the name of an attribute, such as detected, got {value!r}")


@configured(kw_only=True)
class EntityLen(DeclaredMetric):
    """The length of a list of the world, or of an attribute of something in it, such as who is in a detection region.

    The value is NaN while nothing has the name.
    """

    target_name: str = setting(
        doc="An agent, object or metric by name; or population, objects, spawners, metrics, goals, subscribers."
    )
    attribute: Any = setting(
        None,
        reader=read_path,
        schema={"type": ["string", "null"]},
        doc="Attribute of it that is counted; null: it itself.",
    )

    def calculate(self) -> None:
        """Take an observation. Raises InvalidValueError for an attribute that is not there, or has no length."""
        entity: Any = self.watched.named(self.target_name)
        if entity is None:
            self.set_value(float("nan"))
            return
        for part in self.attribute.split(".") if self.attribute else ():
            if not hasattr(entity, part):
                raise InvalidValueError(f"metric {self.name}: {entity!r} has no attribute {part!r}")
            entity = getattr(entity, part)
        # Asked before `len`, whose error would not name the metric.
        if not isinstance(entity, Sized):
            what = self.attribute or self.target_name
            raise InvalidValueError(f"metric {self.name}: {what!r} has no length; name a list in `attribute`")
        self.set_value(len(entity))

"""The base of metrics computed from other metrics, and their expressions."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fleet_sim.settings.expressions import Expression
from fleet_sim.swarm.metrics.declared_metric import DeclaredMetric
from fleet_sim.swarm.parameters import documented
from fleet_sim.swarm.swarm_state import Measured, SwarmState

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


@documented
@dataclass(eq=False, repr=False)
class NestedMetric(DeclaredMetric):
    """Base of metrics that are made of others, which are not in the world's list and are stepped by this one."""

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        self._inner: list[Measured] = []

    @property
    def inner_specs(self) -> Sequence[object]:
        """What the inner metrics are made from: names, mappings or objects."""
        raise NotImplementedError

    def attach_world(self, world: SwarmState) -> None:
        """Observe `world` from now on, with the inner metrics. Raises InvalidValueError and UnknownNameError."""
        super().attach_world(world)
        # Only now: what is named may be a metric of the world itself.
        self._inner = [world.contents.make_metric(spec) for spec in self.inner_specs]

    @property
    def inner(self) -> Sequence[Measured]:
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
        return {**self.watched.contents.values(), **own, **more}

    def reset(self) -> None:
        """Forget the history, and those of the inner metrics."""
        super().reset()
        for metric in self._inner:
            metric.reset()

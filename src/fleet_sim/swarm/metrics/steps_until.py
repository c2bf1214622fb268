"""How long it takes until another metric holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fleet_sim.settings import setting
from fleet_sim.swarm.metrics.nested import NestedMetric, holds, read_expression
from fleet_sim.swarm.parameters import documented


@documented
@dataclass(eq=False, repr=False, kw_only=True)
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
            reached = holds(self.until_expression.value({**world.contents.values(), "metric": value}))
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

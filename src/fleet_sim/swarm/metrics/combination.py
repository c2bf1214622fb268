"""Metrics computed from others: an expression, and whether all of several hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fleet_sim.errors import InvalidValueError
from fleet_sim.settings import setting
from fleet_sim.swarm.metrics.nested import NestedMetric, holds, read_expression
from fleet_sim.swarm.parameters import documented

TEXT = {"type": ["string", "null"]}


@documented
@dataclass(eq=False, repr=False, kw_only=True)
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


@documented
@dataclass(eq=False, repr=False, kw_only=True)
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

"""The number of members of a list, or of entities of a kind."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass
from typing import Any

from fleet_sim.errors import InvalidValueError
from fleet_sim.settings import setting
from fleet_sim.swarm.metrics.declared_metric import DeclaredMetric
from fleet_sim.swarm.parameters import documented


def read_path(value: object) -> str | None:
    """Return a dotted path of public attributes, or None; raises ValueError."""
    if value is None:
        return None
    if isinstance(value, str) and all(part.isidentifier() and part[0] != "_" for part in value.split(".")):
        return value
    raise ValueError(f"must be the name of an attribute, such as detected, got {value!r}")


@documented
@dataclass(eq=False, repr=False, kw_only=True)
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
        entity: Any = self.watched.contents.named(self.target_name)
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

"""Metrics of a crowd: those that look at where agents are and how they move, of everybody or of one team."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.settings import setting
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.swarm.crowd import Crowd
from fleet_sim.swarm.metrics.declared_metric import DeclaredMetric
from fleet_sim.swarm.metrics.selection import Selection
from fleet_sim.swarm.parameters import documented


@documented
@dataclass(eq=False, repr=False)
class CrowdMetric(DeclaredMetric):
    """Base of metrics of the population, or of one team of it. Override `measure`.

    Without agents the value is NaN.
    """

    team: int | str | None = setting(None, doc="Measure this team only; null: all agents.")

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        self._selection: Selection | None = None

    def steps_counted(self) -> int | None:
        """Return `history_size`: `measure` looks at the present. Override it where it looks back."""
        return self.history_size

    def look_at(self, selection: Selection) -> None:
        """Measure only the agents of `selection` from now on."""
        self._selection = selection

    @property
    def crowd(self) -> Crowd:
        """The agents it looks at."""
        world = self.watched
        crowd = world.everyone
        if self.team is not None:
            crowd = Crowd(world.columns, world.swarm, crowd.rows[crowd.teams == world.team_code(self.team)])
        return crowd if self._selection is None else self._selection.of(world, crowd)

    @property
    def world_radius(self) -> float:
        """Half of the world's diagonal, in m: what the formulas of Brown et al. are scaled with."""
        width, height = self.watched.size.tolist()
        return 0.5 * float(trig.hypot(width, height))

    @abstractmethod
    def measure(self, crowd: Crowd) -> float:
        """Return the value for a crowd of one agent or more."""

    def calculate(self) -> None:
        """Take an observation."""
        crowd = self.crowd
        self.set_value(self.measure(crowd) if len(crowd) else float("nan"))


@documented
@dataclass(eq=False, repr=False)
class ScaledMetric(CrowdMetric):
    """Base of metrics of a crowd with a factor on their values. Override `unscaled`."""

    scale: float = setting(1.0, doc="Factor on the value.")

    @abstractmethod
    def unscaled(self, crowd: Crowd) -> float:
        """Return the value, before `scale`, for a crowd of one agent or more."""

    def measure(self, crowd: Crowd) -> float:
        """Return the value."""
        return self.scale * self.unscaled(crowd)


class CountingMetric(CrowdMetric):
    """Base of metrics that count from the beginning of a run. Override `begin` beside `measure`."""

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        self.begin()

    @abstractmethod
    def begin(self) -> None:
        """Count from here on."""

    def steps_counted(self) -> int | None:
        """Return None: each step adds to the value, so none can be left out."""
        return None

    def reset(self) -> None:
        """Forget the history, and count from here on."""
        super().reset()
        self.begin()


class Ledger:
    """Numbers per agent that outlive changes of the population: kept by object id, ascending."""

    def __init__(self, width: int) -> None:
        self.ids: Ints = np.empty(0, np.int64)
        self.values: Floats = np.empty((0, width))

    def exchange(self, ids: Ints, values: Floats) -> tuple[Bools, Floats]:
        """Return which of `ids` (N,) were known, and their values (N, width) until now; store `values` instead.

        The values of new ones are 0.
        """
        # An id beyond the last one finds a wrong entry; the comparison below tells.
        index = np.minimum(np.searchsorted(self.ids, ids), max(len(self.ids) - 1, 0))
        before = np.zeros_like(values)
        known_mask = np.zeros(len(ids), bool)
        if len(self.ids):
            known_mask = self.ids[index] == ids
            before[known_mask] = self.values[index[known_mask]]
        # Agents come in the world's order, and the search needs ids ascending.
        order = np.argsort(ids)
        self.ids, self.values = ids[order], values[order]
        return known_mask, before


def centred(positions: Floats) -> tuple[Floats, Floats]:
    """Return the offsets (N, 2) of points from their centroid, and their lengths (N,)."""
    offsets = positions - positions.mean(axis=0)
    return offsets, trig.hypot(offsets[:, 0], offsets[:, 1])

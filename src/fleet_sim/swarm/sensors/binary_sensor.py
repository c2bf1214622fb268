"""What binary sensors share: how often they look, mistakes, inversion, a memory of what was seen."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque

import numpy as np

from fleet_sim.arrays import AnyArray, Bools, Ints, as_float
from fleet_sim.errors import InvalidValueError
from fleet_sim.swarm.agents import Group, Sensor
from fleet_sim.swarm.draws import AgentDraws

HISTORY = 1000
"""How many readings `store_history` keeps."""


class BinarySensor(Sensor):
    """Reads 1 where `detect` says so and 0 elsewhere, with mistakes.

    Of what is there, a share of `false_negative` is missed; where nothing is, a share of `false_positive` is reported.
    `invert` swaps 0 and 1. It looks at every `time_step_between_sensing`-th step of an agent's life and keeps what it
    read in between. Mistakes are drawn per agent from `seed` (None: the world's).
    """

    def __init__(
        self,
        *,
        false_positive: float = 0.0,
        false_negative: float = 0.0,
        time_step_between_sensing: int = 1,
        invert: bool = False,
        store_history: bool = False,
        show: bool = True,
        seed: int | None = None,
    ) -> None:
        """Raises InvalidValueError for values that are not allowed."""
        what = type(self).__name__
        self.false_positive = as_float(false_positive, f"{what}: false_positive", low=0.0, high=1.0)
        self.false_negative = as_float(false_negative, f"{what}: false_negative", low=0.0, high=1.0)
        self.time_step_between_sensing = whole(time_step_between_sensing, f"{what}: time_step_between_sensing", 1)
        self.invert = invert
        self.store_history = store_history
        self.show = show
        self.history: deque[AnyArray] = deque(maxlen=HISTORY)
        """With `store_history`: the last readings, one array per step, the newest last."""
        self._draws = AgentDraws(seed, what)

    @abstractmethod
    def detect(self, group: Group) -> Bools:
        """Return which agents (N,) of `group` have something to detect."""

    def added_state(self, group: Group) -> Bools | None:
        """Return which agents (N,) read 2 whatever else there is, or None for no such state."""
        return None

    def sense(self, group: Group) -> Ints:
        """Return the readings (N,): 0, 1, or 2 for an added state."""
        due_mask = self._due(group)
        last = self.column(group, "last", dtype=np.int64)
        if due_mask is None or due_mask.any():
            fresh = self._observe(group)
            last[:] = fresh if due_mask is None else np.where(due_mask, fresh, last)
        if self.store_history:
            self.history.append(last.copy())
        return last.copy()

    def _due(self, group: Group) -> Bools | None:
        """Return which agents (N,) look in this step; None for all of them."""
        if self.time_step_between_sensing == 1:
            return None
        age = self.column(group, "age", dtype=np.int64)
        age += 1
        return np.asarray(age % self.time_step_between_sensing == 0)

    def _observe(self, group: Group) -> Ints:
        detected = self.detect(group)
        if self.false_positive or self.false_negative:
            looks = self.column(group, "looks", dtype=np.int64)
            luck = self._draws.uniforms(group, self.slot, looks)
            looks += 1
            detected = np.where(detected, luck >= self.false_negative, luck < self.false_positive)
        if self.invert:
            detected = ~detected
        added_mask = self.added_state(group)
        state = detected.astype(np.int64)
        return state if added_mask is None else np.where(added_mask, 2, state)


def whole(value: object, what: str, low: int) -> int:
    """Return a whole number of at least `low`; raises InvalidValueError naming `what`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise InvalidValueError(f"{what} must be a whole number of at least {low}, got {value!r}")
    return value


def distance(value: object, what: str) -> float:
    """Return a distance of 0 or more in m, inf allowed; raises InvalidValueError naming `what`."""
    return float("inf") if value == float("inf") else as_float(value, f"{what} in m", low=0.0)

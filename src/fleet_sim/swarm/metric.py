"""Metrics: they reduce the state of a world to a number at the end of each step."""

from __future__ import annotations

from collections import deque
from typing import ClassVar

import numpy as np

from fleet_sim.arrays import as_whole
from fleet_sim.swarm.swarm_state import SwarmState

HISTORY_SIZE = 100
"""Default number of values in the history of a metric; None keeps all."""


class Metric:
    """Reduces the state of the world to a number at the end of each step. Override `calculate`.

    `value_history` holds the last `history_size` values, or all of them where that is None.
    """

    only_looks: ClassVar[bool] = False
    """Whether a class of your own changes nothing, so that its worlds can be stepped together. Not inherited."""

    def __init__(self, name: str | None = None, history_size: int | None = HISTORY_SIZE) -> None:
        self.name = name or type(self).__name__
        self.history_size = None if history_size is None else as_whole(history_size, "history_size")
        self.world: SwarmState | None = None
        self.value_history: deque[float] = deque(maxlen=self.history_size)

    def __setattr__(self, name: str, value: object) -> None:
        """Keep as many values as `history_size` says, also where it is set later."""
        if name == "history_size" and "value_history" in vars(self):
            value = None if value is None else as_whole(value, "history_size")
            self.value_history = deque(self.value_history, maxlen=value)
        super().__setattr__(name, value)

    def attach_world(self, world: SwarmState) -> None:
        """Observe `world` from now on; called before the first step."""
        self.world = world

    def calculate(self) -> None:
        """Take an observation of `self.world` and pass its value to `set_value`."""
        raise NotImplementedError

    def steps_counted(self) -> int | None:
        """Return of how many of the last steps its history and its value are made; None: of all, as far as is known.

        Who only wants the outcome of a run may leave out the steps before these.
        """
        return None

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

"""The base of binary sensors: update rate, wrong readings, inversion, history."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fleet_sim.arrays import AnyArray, Bools, Ints
from fleet_sim.settings import setting
from fleet_sim.swarm.agents import Group, Sensor
from fleet_sim.swarm.component import Component
from fleet_sim.swarm.draws import AgentDraws
from fleet_sim.swarm.parameters import Configured, documented, seed_setting, team_setting

HISTORY = 1000
"""How many readings `store_history` keeps."""


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class BinarySensor(Configured, Sensor):
    """Reads 1 where `detect` says so and 0 elsewhere, with mistakes.

    Of what is there, a share of `false_negative` is missed; where nothing is, a share of `false_positive` is reported.
    `invert` swaps 0 and 1. It looks at every `time_step_between_sensing`-th step of an agent's life and keeps what it
    read in between. Mistakes are drawn per agent from `seed` (None: the world's).
    """

    follows: ClassVar[tuple[str, ...]] = ("show", "_draws")

    store_history = False
    show = True
    """Whether readings are kept, and whether the sensor is drawn; parameters where a subclass makes them so."""

    false_positive: float = setting(0.0, low=0, high=1, doc="Probability of reading 1 when there is nothing.")
    false_negative: float = setting(0.0, low=0, high=1, doc="Probability of reading 0 when there is something.")
    time_step_between_sensing: int = setting(1, low=1, unit="steps", doc="Time between two updates.")
    invert: bool = setting(False, doc="Swap 0 and 1.")
    seed: int | None = seed_setting("the wrong readings")
    target_team: int | str | None = team_setting("Detect agents of this team only")

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        # Another name of `show`, of sensors that have it as a parameter.
        draw: bool | None = getattr(self, "draw", None)
        self.show = self.show if draw is None else draw
        self.history: deque[AnyArray] = deque(maxlen=HISTORY)
        """With `store_history`: the last readings, one array per step, the newest last."""
        self._draws = AgentDraws(self.seed)

    def values_beside(self, name: str) -> dict[str, Any]:
        """Return the parameters as they are now; `draw` says nothing any more where `show` is set."""
        values = super().values_beside(name)
        if name == "show" and "draw" in values:
            values["draw"] = None
        return values

    def for_squares(self, parts: Sequence[Component], count: int) -> Component:
        """Return one object in place of `parts`, with a history of its own."""
        whole = super().for_squares(parts, count)
        assert isinstance(whole, BinarySensor)
        whole.history = deque(maxlen=self.history.maxlen)
        return whole

    def from_squares(self, wholes: Sequence[Component], index: int, count: int) -> None:
        """Take the readings of this world out of the histories of `wholes`."""
        histories = [whole.history for whole in wholes if isinstance(whole, BinarySensor)]
        # Agents that take turns look one after the other, so the history has a reading of each in turn.
        # All have as many entries: sensors of one board are stepped in the same steps.
        for readings in zip(*histories, strict=True):
            self.history.extend(values[index * count : (index + 1) * count].copy() for values in readings)

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
        # Nobody is due: looking is the expensive part.
        if due_mask is None or due_mask.any():
            fresh = self._observe(group)
            last[:] = fresh if due_mask is None else np.where(due_mask, fresh, last)
        if self.store_history:
            self.history.append(last.copy())
        # `last` is written in place in the next step; readings must not change.
        return last.copy()

    def _due(self, group: Group) -> Bools | None:
        """Return which agents (N,) look in this step; None for all of them."""
        if self.time_step_between_sensing == 1:
            return None
        age = self.column(group, "age", dtype=np.int64)
        age += 1
        return np.asarray(age % self.time_step_between_sensing == 0)

    def _observe(self, group: Group) -> Ints:
        """Return 0 or 1 for each agent, with mistakes and inverted as it is set; 2 for the third state, if any."""
        detected = self.detect(group)
        if self.false_positive or self.false_negative:
            # Counted per agent, so that its mistakes do not depend on how others are stepped.
            looks = self.column(group, "looks", dtype=np.int64)
            luck = self._draws.uniforms(group, self.slot, looks)
            looks += 1
            detected = np.where(detected, luck >= self.false_negative, luck < self.false_positive)
        if self.invert:
            # Mistakes come first, so that inverting a sensor swaps the two kinds of them, too.
            detected = ~detected
        added_mask = self.added_state(group)
        state = detected.astype(np.int64)
        return state if added_mask is None else np.where(added_mask, 2, state)

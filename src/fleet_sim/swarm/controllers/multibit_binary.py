"""An action for each combination of several binary sensors."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fleet_sim.arrays import Floats, Ints, as_floats
from fleet_sim.errors import InvalidValueError
from fleet_sim.settings import setting
from fleet_sim.swarm.agents import Controller, Group
from fleet_sim.swarm.component import Component
from fleet_sim.swarm.controllers.readings import detections
from fleet_sim.swarm.parameters import Configured, Vector, documented

_WHAT = "MultibitBinaryController"
# The table has an entry for each state: 65,536 of them.
_MAX_SENSORS = 16


def read_outputs(value: object) -> dict[int, Vector]:
    """Return actions by number from a list, or from a mapping; raises ValueError."""
    if not isinstance(value, (Mapping, Sequence)) or isinstance(value, str):
        raise ValueError(f"must be a list or a mapping of actions, got {value!r}")
    given = value if isinstance(value, Mapping) else dict(enumerate(value))
    outputs: dict[int, Vector] = {}
    for key, action in given.items():
        first, second = as_floats(action, (2,), f"action {key}").tolist()
        outputs[_state(key)] = first, second
    return outputs


def _state(key: Any) -> int:
    if isinstance(key, str) and key and set(key) <= {"0", "1"}:
        # As text only: YAML reads 0110 without quotes as a number, and often not as a binary one.
        return int(key, 2)
    if isinstance(key, int) and not isinstance(key, bool) and key >= 0:
        return key
    raise ValueError(f"a key of outputs is a whole number or binary digits in quotes, got {key!r}")


@documented
@dataclass(eq=False, repr=False)
class MultibitBinaryController(Configured, Controller):
    """Takes the action in `outputs` for the state of its sensors.

    The sensors' bits form one number: the first sensor is the lowest bit, so sensors (1, 0, 1) are 0b101 = 5 and
    sensors (1, 0, 0) are 0b001 = 1.
    """

    per_square = ("outputs", "default_output")

    outputs: dict[int, Vector] = setting(
        reader=read_outputs,
        schema={"type": ["array", "object"]},
        doc='Actions by number, as a list or a mapping; keys may be binary digits in quotes, such as "101".',
    )
    default_output: Vector | None = setting(
        None, doc="The action for states not in `outputs`; null: such a state is an error."
    )
    sensor_ids: list[int] | None = setting(
        None, low=0, doc="Indices of the sensors, lowest bit first; null: all sensors of the agent, in order."
    )

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        self._served: list[MultibitBinaryController] = []
        """Those that it stands for, one for each of several worlds."""
        # Checked now where the number of sensors is known; else at the first step.
        if self.sensor_ids is not None:
            self._table(len(self.sensor_ids))

    def states(self, group: Group) -> Ints:
        """Return the number (N,) that the sensors of each agent make."""
        ids = range(len(group.sensors)) if self.sensor_ids is None else self.sensor_ids
        states = np.zeros(len(group), np.int64)
        for digit, sensor in enumerate(ids):
            states |= detections(group, sensor, _WHAT).astype(np.int64) << digit
        return states

    def for_squares(self, parts: Sequence[Component], count: int) -> Component:
        """Return one object in place of `parts`, which looks up the actions of each agent in its own outputs."""
        whole = copy.copy(self)
        whole._served = [part for part in parts if isinstance(part, MultibitBinaryController)]
        return whole

    def act(self, group: Group) -> Floats:
        """Return the actions (N, 2)."""
        bits = len(group.sensors) if self.sensor_ids is None else len(self.sensor_ids)
        tables = np.array([part._table(bits) for part in self._served or [self]])
        # The agents of one world after those of another, the same number in each.
        owner = np.arange(len(group)) // (len(group) // len(tables))
        actions: Floats = tables[owner, self.states(group)]
        return actions

    def _table(self, count: int) -> Floats:
        """Return the actions (2**count, 2) of all states of `count` sensors."""
        if count > _MAX_SENSORS:
            raise InvalidValueError(f"{_WHAT}: at most {_MAX_SENSORS} sensors, got {count}")
        # An action that can never be taken is a mistake in the number of sensors.
        beyond = [state for state in self.outputs if state >= 1 << count]
        missing = [state for state in range(1 << count) if state not in self.outputs]
        if beyond:
            raise InvalidValueError(
                f"{_WHAT}: outputs has an action for {beyond[0]}, but {count} sensors end at {(1 << count) - 1}"
            )
        if missing and self.default_output is None:
            raise InvalidValueError(
                f"{_WHAT}: outputs has no action for {missing[0]} ({missing[0]:0{count}b}); add it, or a default_output"
            )
        # A dense table: all agents look up their actions in one indexing.
        return np.array([self.outputs.get(state, self.default_output) for state in range(1 << count)], np.float64)

"""Groups alike of several worlds as one group, with one controller and one sensor in place of theirs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from fleet_sim.arrays import AnyArray, Ints
from fleet_sim.core.random import Keys
from fleet_sim.swarm.agents import Controller, Group, Sensor
from fleet_sim.swarm.component import Component
from fleet_sim.swarm.group_memory import GroupMemory
from fleet_sim.swarm.squares.board import Board

Part = TypeVar("Part", bound=Component)


class BoardGroup(Group):
    """The agents of `members`, one group of each world, or with `number` the agent with that number of each group.

    It has copies of what they remember, which `give_back` returns.
    """

    def __init__(self, board: Board, members: Sequence[Group], number: int | None = None) -> None:
        first = members[0]
        self.members = members
        """The group of every world that it stands for."""
        self._number = number
        self._slice = slice(None) if number is None else slice(number, number + 1)
        self.count = len(first.rows[self._slice])
        """The number of its agents in each world."""
        rows = board.rows_of([member.rows[self._slice] for member in members])
        GroupMemory.__init__(self, board.columns, board.swarm, rows)
        # No handles: nobody may ask an agent of a board for anything, as it is one of many worlds.
        self.world, self.origin, self.agents, self.is_object = board, self, [], False
        self.index, self.kind, self.config = first.index, first.kind, first.config
        self.acts_directly = first.acts_directly
        self.readings = {index: self._joined([m.readings[index] for m in members]) for index in first.readings}
        for name in first.state:
            self.state[name] = self._joined([member.state[name] for member in members])
            self._defaults[name] = first.default_of(name)
        self.controller: Controller | None = None
        if first.controller is not None:
            self.controller = _one_for(first.controller, [member.controller for member in members], self.count)
        self.sensors: list[Sensor] = [
            _one_for(sensor, [member.sensors[index] for member in members], self.count)
            for index, sensor in enumerate(first.sensors)
        ]
        self._keys: dict[str, Keys] = {}

    def _joined(self, values: Sequence[AnyArray]) -> AnyArray:
        return np.concatenate([known[self._slice] for known in values])

    @property
    def numbers(self) -> Ints:
        """The number of each agent in the group of its own world (N,)."""
        # Numbers count within a world, so that who is first in its own world is first here too.
        own = np.arange(self.count) if self._number is None else np.array([self._number])
        return np.tile(own, len(self.members))

    def random_key(self, purpose: str) -> Keys | int:
        """Return the key (N,) that `purpose` has in the world of each agent."""
        known = self._keys.get(purpose)
        if known is None:
            keys = [member.columns.random.key(purpose) for member in self.members]
            known = self._keys[purpose] = np.repeat(np.array(keys, np.uint64), self.count)
        return known

    def give_back(self) -> None:
        """Give every group what its agents remember now, and their last readings."""
        for square, member in enumerate(self.members):
            own = slice(square * self.count, (square + 1) * self.count)
            for name, values in self.state.items():
                # Through the group's own `column`, which makes what did not exist when the board was made.
                kept = member.column(name, values.shape[1:], dtype=values.dtype, default=self.default_of(name))
                kept[self._slice] = values[own]
            group = member if self._number is None else member.only(self._number)
            for index, readings in self.readings.items():
                group.note(index, readings[own].copy())


def give_back_parts(groups: Sequence[BoardGroup], members: Sequence[Group]) -> None:
    """Give the controllers and sensors of `members`, one group of each world, what those of `groups` keep themselves.

    There is one of `groups`, or one for each agent of a world, in the order of their turns.
    """
    for square, member in enumerate(members):
        parts: list[Component | None] = [member.controller, *member.sensors]
        for place, part in enumerate(parts):
            wholes = [[group.controller, *group.sensors][place] for group in groups]
            if part is not None:
                part.from_squares([whole for whole in wholes if whole is not None], square, groups[0].count)


def _one_for(first: Part, parts: Sequence[Part | None], count: int) -> Part:
    whole = first.for_squares([part for part in parts if part is not None], count)
    # `for_squares` of users' own could return anything.
    assert isinstance(whole, type(first))
    return whole

"""Agents as arrays: the columns that a swarm has besides those of the core, and sets of rows of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, SupportsIndex, TypeVar

import numpy as np

from fleet_sim.base.arrays import AnyArray, Bools, Floats, Ints, Rows
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.world.columns import ColumnTable, column
from fleet_sim.world.world import PlanarRows, World, read_only

NO_TEAM, NO_GROUP = -1, -1


class SwarmColumns(ColumnTable):
    """What a member of a swarm world has besides the columns of the core."""

    group: Ints = column(np.int64, default=NO_GROUP, writer="spawning", doc="index in RectangularWorld.groups")
    team: Ints = column(np.int64, default=NO_TEAM, writer="spawning", doc="code of a team; -1: none")
    agent_radius: Floats = column(float, unit="m", writer="spawning", doc="of the disc it collides and is seen as")
    collides: Bools = column(bool, writer="spawning", doc="is kept apart from others")
    grounded: Bools = column(bool, writer="spawning", doc="is not pushed by others")
    stop_on_collision: Bools = column(bool, writer="spawning")
    catastrophic: Bools = column(bool, writer="spawning", doc="is disabled by its first collision")
    stop_at_goal: Bools = column(bool, writer="spawning")
    previous: Floats = column(
        float, (2,), unit="m", frame="world", writer="commands", doc="where it was before it moved"
    )
    touching: Bools = column(bool, writer="collisions", doc="touched a wall, an object or another one in this step")
    stopped: Ints = column(np.int64, unit="steps", writer="users", doc="for how long it turns only, from now on")
    halted: Bools = column(bool, writer="collisions, goals", doc="moves no more: at a goal, or disabled")


class Crowd(PlanarRows):
    """Agents as arrays (N,), one entry each in order of spawning; copies that are made at each access."""

    def __init__(self, columns: World, swarm: SwarmColumns, rows: Rows) -> None:
        super().__init__(columns, rows)
        self.swarm = swarm

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def positions(self) -> Floats:
        """Positions (N, 2) in the world frame, in m."""
        # Several times faster than one index in rows and columns, with the same layout.
        return read_only(np.ascontiguousarray(self.columns.position.take(self.rows, axis=0)[:, :2]))

    @property
    def ways(self) -> Floats:
        """How far they came (N, 2) in the last step, in m: what they drove, with what pushed or stopped them."""
        return read_only(self.positions - self.swarm.previous[self.rows])

    @property
    def radii(self) -> Floats:
        """Radii of their discs (N,), in m; 0 for a point."""
        return read_only(self.swarm.agent_radius[self.rows])

    @property
    def teams(self) -> Ints:
        """Codes of their teams (N,), see `RectangularWorld.team_code`; -1 for none."""
        return read_only(self.swarm.team[self.rows])

    @property
    def touching(self) -> Bools:
        """Whether they touched a wall, an object or another agent in this step (N,)."""
        return read_only(self.swarm.touching[self.rows])


def joined(known: AnyArray, more: AnyArray) -> AnyArray:
    """Return readings `known` followed by `more`, which become zeros of the shape of `known` where theirs differs."""
    if not len(known):
        return more
    # A sensor whose readings grew since: old ones cannot be made to fit new agents, so these begin with zeros.
    if more.shape[1:] != known.shape[1:]:
        more = np.zeros((len(more), *known.shape[1:]), known.dtype)
    return np.concatenate((known, more))


def fitting(known: AnyArray, values: AnyArray) -> AnyArray:
    """Return the readings `known` (N, ...) as an array that takes `values` (K, ...) of some of them.

    That is `known` itself, unless their shape or type is another one; readings of another shape begin at 0.
    """
    same_shape = known.shape[1:] == values.shape[1:]
    if same_shape and np.can_cast(values.dtype, known.dtype):
        return known
    whole = np.zeros((len(known), *values.shape[1:]), values.dtype)
    if same_shape:
        whole[:] = known
    return whole


def one_each(values: Any, count: int, sensor: object) -> AnyArray:
    """Return `values` as an array of `count` readings of `sensor`; raises InvalidValueError for another number."""
    array = np.asarray(values)
    if array.ndim == 0 or len(array) != count:
        name = type(sensor).__name__
        raise InvalidValueError(f"{name}.sense: expected one reading per agent ({count}), got shape {array.shape}")
    return array


# Lists whose changes are checked first: each change is applied or rejected by the owner.


Item = TypeVar("Item")


class WatchedList(list[Item]):
    """A list whose changes all go through one function.

    The function gets what the list would be after a change; it makes it so with `put`, or raises and so refuses it.
    Reading costs what a list costs. Slices and copies are plain lists.
    """

    def __init__(self, change: Callable[[list[Item]], None]) -> None:
        super().__init__()
        self._change = change
        self._on_add: list[Callable[[Item], object]] = []
        self._on_remove: list[Callable[[Item], object]] = []

    def register_add_callback(self, function: Callable[[Item], object]) -> None:
        """Call `function` with each item that is in the list from now on, once it is there."""
        self._on_add.append(function)

    def register_del_callback(self, function: Callable[[Item], object]) -> None:
        """Call `function` with each item that leaves the list, once it has left."""
        self._on_remove.append(function)

    def put(self, items: Iterable[Item]) -> None:
        """Hold `items` from now on, without calling the watcher."""
        if not self._on_add and not self._on_remove:
            super().__setitem__(slice(None), items)
            return
        before = {id(item): item for item in self}
        super().__setitem__(slice(None), items)
        after = {id(item): item for item in self}
        for functions, some, others in ((self._on_remove, before, after), (self._on_add, after, before)):
            for item in [item for key, item in some.items() if key not in others]:
                for function in functions:
                    function(item)

    def _ask(self, edit: Callable[[list[Item]], Any]) -> Any:
        """Ask for what `edit` makes of this list; return what it returns."""
        wanted = list(self)
        answer = edit(wanted)
        # If the owner refuses, it raises, and this list stays as it was; if not, it calls `put`.
        self._change(wanted)
        return answer

    def append(self, item: Item) -> None:
        """Ask for `item` at the end."""
        self._ask(lambda items: items.append(item))

    def extend(self, more: Iterable[Item]) -> None:
        """Ask for `more` at the end."""
        self._ask(lambda items: items.extend(more))

    def insert(self, index: SupportsIndex, item: Item) -> None:
        """Ask for `item` before `index`."""
        self._ask(lambda items: items.insert(index, item))

    def remove(self, item: Item) -> None:
        """Ask for the list without the first `item`; raises ValueError where there is none."""
        self._ask(lambda items: items.remove(item))

    def pop(self, index: SupportsIndex = -1) -> Item:
        """Ask for the list without the item at `index`, and return that."""
        item: Item = self._ask(lambda items: items.pop(index))
        return item

    def clear(self) -> None:
        """Ask for an empty list."""
        self._ask(lambda items: items.clear())

    def sort(self, *, key: Any = None, reverse: bool = False) -> None:
        """Ask for another order."""
        self._ask(lambda items: items.sort(key=key, reverse=reverse))

    def reverse(self) -> None:
        """Ask for the order from behind."""
        self._ask(lambda items: items.reverse())

    def __setitem__(self, index: Any, value: Any) -> None:
        self._ask(lambda items: items.__setitem__(index, value))

    def __delitem__(self, index: Any) -> None:
        self._ask(lambda items: items.__delitem__(index))

    def __iadd__(self, more: Iterable[Item]) -> WatchedList[Item]:  # type: ignore[override,misc]  # it stays itself
        self.extend(more)
        return self

    def __imul__(self, count: SupportsIndex) -> WatchedList[Item]:
        self._ask(lambda items: items.__imul__(count))
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> WatchedList[Item]:
        """It stays itself in a copy of what refers to it, as its owner does."""
        return self

    def __reduce__(self) -> tuple[type[list[Item]], tuple[list[Item]]]:
        """A copy is a plain list: only this one has an owner."""
        return list, (list(self),)

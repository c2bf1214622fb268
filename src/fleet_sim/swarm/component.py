"""The base of controllers and sensors: their slot, their owner, and their memory per agent."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np

from fleet_sim.arrays import AnyArray
from fleet_sim.errors import InvalidValueError
from fleet_sim.swarm.swarm_body import SwarmBody
from fleet_sim.swarm.written import same

OWNERS = ("agent", "parent")
"""Names of the parameter by which a constructor gets the agent that the part is made for."""


class ColumnKeeper(Protocol):
    """A group as components see it: it keeps arrays with an entry for each of its agents."""

    def column(self, name: str, shape: tuple[int, ...] = (), *, dtype: Any = float, default: Any = 0) -> AnyArray:
        """Return the array (N, *shape) remembered under `name`, made at its first use."""


class Component:
    """What an agent has: a controller or a sensor. `slot` is its place, such as "controller" or "sensors[0]"."""

    on_arrays: ClassVar[str]
    per_agent: ClassVar[str]
    """Names of the two methods of which a class overrides one."""

    per_square: ClassVar[tuple[str, ...] | None] = None
    """Parameters that may be an array with an entry for each agent (N, ...), where a group stands for those of several
    worlds (see `squares/`); None: this class does not serve several worlds at once. Not inherited.

    A class that says so looks at its group, and at nobody of another world; it keeps what it remembers in `column`."""

    agent: SwarmBody | None = None
    """The agent it belongs to; None for one that serves a whole group."""
    parent: SwarmBody | None = None
    """Another name of it, for components of the user's own."""
    slot: str = ""

    def __init__(self, agent: SwarmBody | None = None, parent: SwarmBody | None = None) -> None:
        """`agent` is the one it is made for; without it, the agent that gets it. `parent` is another name of it."""
        self.agent = agent or parent
        self.parent = parent or agent

    def belong_to(self, agent: SwarmBody | None) -> None:
        """Belong to `agent` from now on; None: to a whole group, or to no one yet."""
        # A parent that was given explicitly stays; one that only repeats the agent follows it.
        if self.parent is None or self.parent is self.agent:
            self.parent = agent
        self.agent = agent

    @classmethod
    def works_on_arrays(cls) -> bool:
        """Whether one instance serves a whole group; raises InvalidValueError where neither method is overridden."""
        known: bool | None = vars(cls).get(_FOUND)
        if known is None:
            # In the class itself, not in one that derives from it; asked in every step.
            known = _works_on_arrays(cls)
            setattr(cls, _FOUND, known)
        return known

    @property
    def serves_squares(self) -> bool:
        """Whether one object like this can serve the agents of several worlds at once."""
        # What a subclass does with the parameters is not known.
        return vars(type(self)).get("per_square") is not None

    def for_squares(self, parts: Sequence[Component], count: int) -> Component:
        """Return one object in place of `parts`, one for each world, of which each serves `count` agents.

        They may differ in the parameters of `per_square` only.
        """
        whole = copy.copy(self)
        for name in self.per_square or ():
            values = [getattr(part, name) for part in parts]
            # An array only where worlds differ: a plain number is broadcast without memory, and takes the same path as
            # in one world.
            if any(value is not values[0] and not same(value, values[0]) for value in values):
                # Past the checks of assignments, which know one value for all.
                vars(whole)[name] = np.repeat(np.array(values, np.float64), count, axis=0)
        return whole

    def from_squares(self, wholes: Sequence[Component], index: int, count: int) -> None:
        """Take back what is not kept in arrays of the group, as world number `index`, from who stood for this one.

        There is one of `wholes`, or in a world whose agents take turns one for each of them, in their order.
        """

    def column(
        self, group: ColumnKeeper, name: str, shape: tuple[int, ...] = (), *, dtype: Any = float, default: Any = 0
    ) -> AnyArray:
        """Return what this component remembers per agent of `group` under `name`: an array (N, *shape), made at need.

        Write into it; it keeps its values while other agents come and go, and agents that join get `default`.
        """
        return group.column(f"{self.slot}.{name}", shape, dtype=dtype, default=default)


_FOUND = "_works_on_arrays"
"""Where a class keeps what was found of it."""


def _works_on_arrays(cls: type[Component]) -> bool:
    """Return whether the class works on groups, by the first of its bases that defines either method.

    Raises InvalidValueError for a class that defines neither.
    """
    for ancestor in cls.__mro__:
        # The base class of each kind names the methods; what it does itself counts for nothing.
        if "on_arrays" in vars(ancestor):
            break
        if cls.on_arrays in vars(ancestor):
            return True
        if cls.per_agent in vars(ancestor):
            _check_method(cls, vars(ancestor)[cls.per_agent])
            return False
    raise InvalidValueError(f"{cls.__name__} must define {cls.on_arrays}(self, group) or {cls.per_agent}(self, agent)")


def _check_method(cls: type[Component], method: Callable[..., Any]) -> None:
    """Refuse a method that wants the world: as an agent it would be given another thing than it expects."""
    # Entry 0 is `self`.
    first = list(inspect.signature(method).parameters)[1:2]
    if first == ["world"]:
        raise InvalidValueError(
            f"{cls.__name__}.{cls.per_agent}(self, world): it gets the agent, so write"
            f" {cls.per_agent}(self, agent); the world is agent.world"
        )

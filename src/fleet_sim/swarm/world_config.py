"""The configuration of a world, read strictly: an unknown key is an error with its key path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from fleet_sim.settings import Checked, setting
from fleet_sim.swarm.canvas import Color

StopCondition = int | str | Callable[..., Any]


def read_stop(value: object) -> StopCondition | None:
    """Return a condition to stop at: a number of steps, an expression, or a function of the world."""
    whole = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    if value is None or whole or callable(value) or (isinstance(value, str) and value.strip()):
        return value  # type: ignore[return-value]
    raise ValueError(
        f"must be a number of steps (at least 1), a function of the world, or an expression such as"
        f' "steps >= 100 and circliness > 0.9", got {value!r}'
    )


Entries = list[Any]


@dataclass
class WorldConfig(Checked):
    """Settings of every world. Entries are mappings with a `type` and its parameters."""

    associated_type: ClassVar[str] = "RectangularWorld"
    """Name of the type of worlds that settings of this class are for; see `associated_type` of `registry.py`."""

    agents: Entries = setting(factory=list, doc="Agents of the population, one entry each.")
    spawners: Entries = setting(factory=list, doc="Spawners, which add agents to the world.")
    objects: Entries = setting(factory=list, doc="Objects: bodies that are not in the population.")
    goals: Entries = setting(factory=list, doc="Goals: areas to be reached.")
    metrics: Entries = setting(factory=list, doc="Metrics, measured after each step.")
    subscribers: Entries = setting(factory=list, doc="Subscribers called after each step: recorders, writers, plots.")
    stop_at: StopCondition | None = setting(
        None,
        reader=read_stop,
        schema={"type": ["integer", "string", "null"]},
        doc="When the world stops: a number of steps, or an expression in steps, time, population and metrics.",
    )
    background_color: Color = setting((255, 255, 255), low=0, high=255, doc="Red, green, blue.")
    seed: int | None = setting(0, low=0, doc="Seed of all random streams; null: a different run each time.")
    metadata: dict[str, Any] = setting(factory=dict, doc="Any data; stored with the world.")
    flags: dict[str, Any] = setting(factory=dict, doc="Any data; available to components.")


@dataclass
class RectangularWorldConfig(WorldConfig):
    """A rectangle from the origin to `size`."""

    size: tuple[float, float] = setting((5.0, 5.0), above=0, unit="m", doc="Width and height of the world.")
    show_walls: bool = setting(True, doc="Draw the border.")
    collide_walls: bool = setting(True, doc="Keep agents inside the border.")
    detectable_walls: bool = setting(False, doc="Sensors detect the border.")
    time_step: float = setting(1 / 60, above=0, unit="s", doc="Simulated time per step.")
    update: Literal["together", "in_turn"] = setting(
        "together",
        doc="together: all agents decide, move and sense at once, on arrays; in_turn: one agent after the other.",
    )


BaseWorldConfig = WorldConfig
"""Another name of it."""

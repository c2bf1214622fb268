"""The key `disturbances` of the section `traffic`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from fleet_sim.errors import InvalidValueError
from fleet_sim.settings import Checked, setting, time_setting
from fleet_sim.traffic.places import Place

PROBABILITY = "Of a robot, in each simulated second."


@dataclass
class DelaySettings(Checked):
    """Robots that stand for a while."""

    probability: float = setting(
        0.01, low=0.0, high=1.0, doc="Of a robot, in each simulated second, or in each `tick`."
    )
    shortest: float = time_setting(1.0, doc="A delay lasts at least so long.")
    longest: float = time_setting(5.0, doc="And at most so long.")
    tick: float | None = time_setting(
        None, above=0.0, doc="Robots are drawn so often, and delays last a whole number of it; null: 1 s, any length."
    )
    events: Literal["each", "poisson"] = setting(
        "each", doc="Each robot is drawn by itself, or as many robots as a Poisson number says, of the same mean."
    )
    durations: Literal["uniform", "gaussian"] = setting("uniform", doc="How long delays are, from shortest to longest.")
    mean: float = setting(
        0.5, low=0.0, high=1.0, doc="Of gaussian ones, as a share of the way from shortest to longest."
    )
    deviation: float = setting(0.25, low=0.0, high=100.0, doc="Their standard deviation, as such a share.")
    seed: int | None = setting(None, low=0, high=2**62, doc="Of the delays; null: that of the traffic.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.longest < self.shortest:
            raise InvalidValueError(f"longest: expected at least shortest, {self.shortest:g} s, got {self.longest:g}")


@dataclass
class SlowSettings(Checked):
    """Robots that drive slower than they could."""

    share: float = setting(0.1, low=0.0, high=1.0, doc="Of all robots.")
    pace: float = setting(0.5, above=0.0, high=1.0, doc="Of their largest speed.")


@dataclass
class BreakdownSettings(Checked):
    """Robots that break down where they are; others drive around them."""

    probability: float = setting(0.0001, low=0.0, high=1.0, doc=PROBABILITY)
    after: float = time_setting(60.0, doc="Time until they are repaired or removed.")
    then: Literal["repair", "remove"] = setting("repair", doc="What happens then: they drive on, or are taken away.")


def _read_places(value: object) -> list[Place]:
    # At least one: a closure of nothing is a mistake.
    if not isinstance(value, list) or not value:
        raise InvalidValueError(f"expected a list of stations, nodes or points [x, y], got {value!r}")
    # Points as tuples, which are told from names and numbers by their type.
    return [tuple(place) if isinstance(place, list) else place for place in value]


_POINT = {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}
_PLACES = {"type": "array", "minItems": 1, "items": {"anyOf": [{"type": "string"}, {"type": "integer"}, _POINT]}}


@dataclass
class ClosureSettings(Checked):
    """Places that are closed for a time."""

    places: list[Any] = setting(reader=_read_places, schema=_PLACES, doc="Stations, nodes, or points [x, y] in m.")
    begin: float = time_setting(0.0, doc="Simulation time from which.")
    end: float | None = time_setting(None, doc="Until which; null: for ever.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.end is not None and self.end <= self.begin:
            raise InvalidValueError(f"end: expected more than begin, {self.begin:g} s, got {self.end:g}")


@dataclass
class DisturbanceSettings(Checked):
    """What disturbs the traffic; all by chance follows from the seed."""

    delays: DelaySettings | None = setting(None, doc="Robots that stand for a while.")
    slow: SlowSettings | None = setting(None, doc="Robots that drive slower than they could.")
    breakdowns: BreakdownSettings | None = setting(None, doc="Robots that break down.")
    closures: list[ClosureSettings] = setting(factory=list, doc="Places that are closed for a time.")

"""Order: what is asked for, and what became of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fleet_sim.arrays import as_floats
from fleet_sim.errors import InvalidValueError, brief
from fleet_sim.orders.states import OrderState
from fleet_sim.saved_classes import saved
from fleet_sim.settings import Checked, setting, time_setting

Place = str | tuple[float, float]
"""A station's name, or a point (x, y) in m on free space."""

MOST_STOPS = 1000
LONGEST_ID = 128
MOST_ITEMS = 1_000_000
HEAVIEST = 1e6


def read_place(value: object) -> Place:
    """Return a station's name or a point (x, y); raises InvalidValueError for anything else."""
    if isinstance(value, str):
        if not 0 < len(value) <= LONGEST_ID:
            raise InvalidValueError(f"must be the name of a station, 1 to {LONGEST_ID} letters, got {brief(value)}")
        return value
    if isinstance(value, Sequence) and len(value) == 2:
        x, y = as_floats(value, (2,), "point").tolist()
        return x, y
    raise InvalidValueError(f"must be the name of a station or a point [x, y] in m, got {brief(value)}")


def _read_place(value: object) -> Place | None:
    return None if value is None else read_place(value)


def _read_stops(value: object) -> tuple[Place, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) > MOST_STOPS:
        raise InvalidValueError(f"must be a list of at most {MOST_STOPS} stations or points, got {brief(value)}")
    return tuple(read_place(place) for place in value)


def read_lines(value: object) -> tuple[tuple[str, int], ...]:
    """Return the lines of an order, (sku, items) each; raises InvalidValueError."""
    pairs = list(value.items()) if isinstance(value, Mapping) else value
    if not isinstance(pairs, list | tuple) or len(pairs) > MOST_STOPS:
        raise InvalidValueError(
            f"must be a mapping of at most {MOST_STOPS} skus to numbers of items, got {brief(value)}"
        )
    found: dict[str, int] = {}
    for pair in pairs:
        sku, count = pair if isinstance(pair, list | tuple) and len(pair) == 2 else (None, None)
        if not isinstance(sku, str) or not 0 < len(sku) <= LONGEST_ID or sku in found:
            raise InvalidValueError(f"must be a mapping of skus to numbers of items, each sku once, got {brief(value)}")
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_ITEMS:
            raise InvalidValueError(f"{sku}: must be a whole number from 1 to {MOST_ITEMS}, got {brief(count)}")
        found[sku] = count
    return tuple(found.items())


def _read_id(value: object) -> str:
    # Files write numbers as ids, and YAML reads them as such.
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str) or len(text) > LONGEST_ID or not text.isprintable():
        raise InvalidValueError(f"must be a text of at most {LONGEST_ID} printable letters, got {brief(value)}")
    return text


_PLACE = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "number"}}]}
_LINES = {"type": "object", "additionalProperties": {"type": "integer", "minimum": 1, "maximum": MOST_ITEMS}}
_SECTION = " null: that of the section."


def _time(what: str) -> Any:
    return time_setting(None, doc=f"Service time {what};{_SECTION}")


@saved
@dataclass(frozen=True)
class Order(Checked):
    """A load to be taken from one station to another. All times are simulation times in s.

    The robot takes the load at the first stop, visits those in between, and puts it down at the last one. The stops are
    `pick` and `drop`, or the list `stops`. An order of `lines` asks for items that pods bring to a workstation instead:
    to `drop` where that is given, else to any.
    """

    id: str = setting("", reader=_read_id, schema={"type": ["string", "integer"]}, doc="Its name; empty: one is made.")
    pick: Place | None = setting(None, reader=_read_place, schema=_PLACE, doc="Where the load is: a station or [x, y].")
    drop: Place | None = setting(None, reader=_read_place, schema=_PLACE, doc="Where it goes: a station or [x, y].")
    stops: tuple[Place, ...] = setting(
        (),
        reader=_read_stops,
        schema={"type": "array", "items": _PLACE},
        doc="All stops in order, instead of these two.",
    )
    lines: tuple[tuple[str, int], ...] = setting(
        (), reader=read_lines, schema=_LINES, doc="Items that pods bring to a workstation, by sku, instead of a load."
    )
    load: float = setting(0.0, low=0.0, high=HEAVIEST, unit="kg", doc="Mass of the load.")
    priority: int = setting(0, low=-1000, high=1000, doc="Orders with larger ones are assigned first.")
    release: float = time_setting(0.0, doc="When it becomes known to the fleet.")
    due: float | None = time_setting(None, doc="When it should be done; null: any time.")
    pick_time: float | None = _time("at the first stop")
    stop_time: float | None = _time("at stops in between")
    drop_time: float | None = _time("at the last stop")

    def __post_init__(self) -> None:
        super().__post_init__()
        ends = (self.pick, self.drop)
        if self.lines:
            self._check_lines()
        elif self.stops and ends != (None, None):
            raise InvalidValueError("give pick and drop, or stops: both say where the load goes")
        elif not self.stops and None in ends:
            raise InvalidValueError("pick and drop: both are needed, unless stops or lines are given")
        if len(self.stops) == 1:
            raise InvalidValueError("stops: an order has at least two, where its load is and where it goes")
        if self.due is not None and self.due < self.release:
            raise InvalidValueError(f"due: {self.due:g} s is before its release at {self.release:g} s")

    def _check_lines(self) -> None:
        """Raise InvalidValueError for settings that an order of lines has no use for."""
        given = {
            "pick": self.pick,
            "stops": self.stops,
            "load": self.load,
            "pick_time": self.pick_time,
            "stop_time": self.stop_time,
            "drop_time": self.drop_time,
        }
        for name, value in given.items():
            if value not in (None, (), 0.0) or (name.endswith("_time") and value is not None):
                raise InvalidValueError(f"{name}: an order of lines has none; pods bring its items to a workstation")
        if self.drop is not None and not isinstance(self.drop, str):
            raise InvalidValueError("drop: an order of lines is picked at a workstation, not at a point")

    @property
    def places(self) -> tuple[Place, ...]:
        """All stops in order."""
        if self.stops or self.lines:
            return self.stops
        assert self.pick is not None
        assert self.drop is not None
        return self.pick, self.drop


@dataclass(frozen=True)
class OrderStatus:
    """What became of an order, at one moment. Times are None until they came.

    `robot` has the order at present, or had it last; "" before the first. `reason` says why it waits, failed or was
    cancelled.
    """

    id: str
    state: OrderState
    robot: str
    reason: str
    stops: tuple[str, ...]
    released: float
    due: float | None
    assigned: float | None
    picked: float | None
    ended: float | None

    def message_fields(self) -> dict[str, Any]:
        """Return the fields of fleet_sim_msgs/OrderStatus, without its stamp; times that are not known are nan."""
        times = {name: getattr(self, name) for name in ("released", "due", "assigned", "picked", "ended")}
        return {
            "id": self.id,
            "state": self.state.code,
            "robot": self.robot,
            "reason": self.reason,
            "stops": list(self.stops),
            **{name: math.nan if time is None else time for name, time in times.items()},
        }

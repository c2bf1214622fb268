"""Order: what is asked for, and what became of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fleet_sim.base.arrays import Bools, Bytes, Floats, Ints, as_floats
from fleet_sim.base.errors import InvalidValueError, StateError, brief
from fleet_sim.base.params import Mode
from fleet_sim.base.registry import saved
from fleet_sim.base.settings import Checked, setting, time_setting
from fleet_sim.world.columns import FeatureColumns, column
from fleet_sim.world.commands import Command, command

# The states of orders and of the robots that serve them, and the transitions between states of orders.


@saved
class OrderState(Mode):
    """Where an order is on its way."""

    WAITING = "waiting"
    ASSIGNED = "assigned"
    DRIVING = "driving"
    PICKING = "picking"
    CARRYING = "carrying"
    DROPPING = "dropping"
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"


@saved
class RobotState(Mode):
    """What a robot spends its time on. Driving without a load includes the way to a charger or to a parking place."""

    IDLE = "idle"
    EMPTY = "empty"
    LOADED = "loaded"
    SERVING = "serving"
    WAITING = "waiting"
    CHARGING = "charging"
    OUT = "out_of_energy"


ROBOT_STATES = list(RobotState)
"""By their codes."""


@saved
class Spent(Mode):
    """What the time of an order goes into, from its release to its end."""

    ASSIGNMENT = "assignment"
    EMPTY = "driving_empty"
    LOADED = "driving_loaded"
    TRAFFIC = "traffic"
    QUEUE = "queue"
    SERVICE = "service"
    DISTURBANCE = "disturbance"


FINAL = (OrderState.DONE, OrderState.CANCELLED, OrderState.FAILED)
LOADED = (OrderState.CARRYING, OrderState.DROPPING)
"""The states in which a robot has the load."""

_S = OrderState
_OPEN = tuple(state for state in OrderState if state not in FINAL)

TRANSITIONS: dict[str, tuple[tuple[OrderState, ...], OrderState]] = {
    "assign": ((_S.WAITING,), _S.ASSIGNED),
    "depart": ((_S.ASSIGNED,), _S.DRIVING),
    "reach_pick": ((_S.DRIVING,), _S.PICKING),
    "lift": ((_S.PICKING,), _S.CARRYING),
    "reach_drop": ((_S.CARRYING,), _S.DROPPING),
    "begin_lines": ((_S.ASSIGNED,), _S.PICKING),
    "complete": ((_S.PICKING,), _S.DONE),
    "deliver": ((_S.DROPPING,), _S.DONE),
    "give_back": ((_S.ASSIGNED, _S.DRIVING, _S.PICKING), _S.WAITING),
    "cancel": (_OPEN, _S.CANCELLED),
    "fail": (_OPEN, _S.FAILED),
}
"""By name: the states that a transition leads from, and the one it leads to. An order changes in no other way."""


def after(transition: str, state: OrderState) -> OrderState:
    """Return the state of an order after `transition`; raises StateError where it does not lead from `state`."""
    begins, end = TRANSITIONS[transition]
    if state not in begins:
        allowed = ", ".join(begins)
        raise StateError(f"an order that is {state} cannot {transition}; only one that is {allowed} can")
    return end


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


# The columns of robots that serve orders.


NO_ORDER = -1


class OrderColumns(FeatureColumns):
    """What each robot does for orders, and how far and how long it did so."""

    state: Bytes = column(np.uint8, writer="OrderFleet", doc="code of a RobotState")
    order: Ints = column(np.int64, default=NO_ORDER, writer="OrderFleet", doc="number of the order it serves, -1: none")
    max_load: Floats = column(float, unit="kg", writer="spawning", doc="the heaviest load it takes")
    loaded_speed: Floats = column(float, default=1.0, writer="spawning", doc="share of its speed with a load")
    slowed: Bools = column(bool, writer="OrderFleet", doc="has a load, and drives at its speed for loads")
    own_limit: Floats = column(float, unit="m/s", writer="OrderFleet", doc="its linear_limit without a load")
    own_limits: Floats = column(float, (3,), unit="m/s", writer="OrderFleet", doc="its linear_limits without a load")
    radius: Floats = column(float, unit="m", writer="OrderFleet", doc="of its footprint without a load")
    top: Floats = column(float, unit="m", frame="body", writer="OrderFleet", doc="height at which loads stand on it")
    odometer: Floats = column(float, unit="m", writer="Odometer", doc="driven in all")
    odometer_loaded: Floats = column(float, unit="m", writer="Odometer", doc="driven with a load")
    measured_at: Floats = column(
        float, (2,), default=np.nan, unit="m", frame="world", writer="Odometer", doc="up to where it has been measured"
    )
    standing: Floats = column(float, unit="s", writer="Odometer", doc="stood while it was to drive")
    energy_used: Floats = column(float, unit="J", writer="Odometer", doc="taken from its battery")
    since: Floats = column(float, unit="s", writer="OrderFleet", doc="when its state began")
    times: Floats = column(
        float, (len(RobotState),), unit="s", writer="OrderFleet", doc="spent in each RobotState before `since`"
    )


# Commands to the orders of a simulation.


@command("submit_orders")
class SubmitOrders(Command):
    """Submit orders, each by its settings. The acknowledgement has the ids of those accepted.

    The refused ones are named by their id, or as "orders[2]", the third of them, where they have none that is free.
    """

    feature: ClassVar[str] = "orders"

    orders: tuple[Mapping[str, Any], ...]


@command("cancel_orders")
class CancelOrders(Command):
    """Cancel orders by their ids."""

    feature: ClassVar[str] = "orders"

    ids: tuple[str, ...]
    reason: str = "cancelled"


@command("set_stations_open")
class SetStationsOpen(Command):
    """Close stations (`open=False`), or open them again."""

    feature: ClassVar[str] = "orders"

    stations: tuple[str, ...]
    open: bool = True

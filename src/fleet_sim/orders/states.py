"""The states of orders and of the robots that serve them, and the transitions between states of orders."""

from __future__ import annotations

from fleet_sim.config.modes import Mode
from fleet_sim.errors import StateError
from fleet_sim.saved_classes import saved


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

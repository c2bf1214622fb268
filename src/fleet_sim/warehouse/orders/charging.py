"""Charging: takes robots to chargers, lets them queue there, and says who ran out of energy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Rows, as_float
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.registry import Fit, Registry
from fleet_sim.robots.agent import Agent
from fleet_sim.warehouse.orders.fleet import Courier, OrderFleet, Stage, Task
from fleet_sim.warehouse.orders.order import RobotState
from fleet_sim.warehouse.orders.places import NO_PLACE, OrderBook, Stands
from fleet_sim.world.state_files import Stateful
from fleet_sim.world.world import EnergyColumns, World, energy_columns

# Policies of charging: who goes to a charger, and who leaves it.


@dataclass(frozen=True, eq=False)
class ChargingRequest:
    """R robots with batteries, at one moment: `levels` (R,) from 0 to 1, who has nothing to do, and who charges.

    `waiting` is how many orders wait for a robot, `free_chargers` how many chargers nobody has.
    """

    rows: Rows
    levels: Floats
    idle_mask: Bools
    charging_mask: Bools
    waiting: int
    free_chargers: int


@runtime_checkable
class ChargingPolicy(Protocol):
    """Decides who charges. Robots with a load, and those at work, go when they have done the order at hand."""

    def go(self, request: ChargingRequest) -> Bools:
        """Return which robots (R,) are to charge."""

    def leave(self, request: ChargingRequest) -> Bools:
        """Return which of the robots (R,) at chargers are to leave."""


class Threshold:
    """Robots charge below `low`, until they are at `full`."""

    def __init__(self, low: float = 0.3, full: float = 0.95) -> None:
        self.low = as_float(low, "low", low=0.0, high=1.0)
        self.full = as_float(full, "full", low=0.0, high=1.0)
        if self.low >= self.full:
            raise InvalidValueError(f"low: must be less than full, got {low:g} and {full:g}")

    def go(self, request: ChargingRequest) -> Bools:
        """Return who is below `low`."""
        return np.asarray(request.levels < self.low)

    def leave(self, request: ChargingRequest) -> Bools:
        """Return who is at `full`."""
        return np.asarray(request.levels >= self.full)


class Opportunity(Threshold):
    """Robots also charge when they have nothing to do below `top_up`; from `enough` on they leave for orders."""

    def __init__(self, low: float = 0.3, full: float = 1.0, top_up: float = 0.8, enough: float = 0.5) -> None:
        super().__init__(low, full)
        self.top_up = as_float(top_up, "top_up", low=self.low, high=self.full)
        self.enough = as_float(enough, "enough", low=self.low, high=self.full)

    def go(self, request: ChargingRequest) -> Bools:
        """Return who is below `low`, or idle while no order waits; of these not more than there are chargers."""
        forced = super().go(request)
        spare = request.idle_mask & (request.levels < self.top_up) & ~forced
        spare &= request.waiting == 0
        chosen = np.flatnonzero(spare)
        # Whoever would only queue may as well stay where it is.
        order = chosen[np.argsort(request.levels[chosen], kind="stable")]
        # Those who must charge come first at the chargers.
        forced[order[: max(request.free_chargers - int(forced.sum()), 0)]] = True
        return forced

    def leave(self, request: ChargingRequest) -> Bools:
        """Return who is full, or has enough while orders wait."""
        return np.asarray((request.levels >= self.full) | ((request.waiting > 0) & (request.levels >= self.enough)))


CHARGING_POLICIES: Registry[Callable[..., ChargingPolicy]] = Registry(
    "charging policy",
    Fit("a class with methods go(request) and leave(request)", callable),
    group="fleet_sim.charging_policy",
    built_in={"threshold": Threshold, "opportunity": Opportunity},
)
"""Policies of charging by name; `find` also takes dotted paths."""


def make_policy(name: str, settings: Mapping[str, Any]) -> ChargingPolicy:
    """Return the policy `name`, or at the dotted path `name`; raises UnknownNameError and InvalidValueError."""
    policy = CHARGING_POLICIES.make(name, settings)
    if not isinstance(policy, ChargingPolicy):
        raise InvalidValueError(f"charging policy {name!r} makes {policy!r}, which lacks go(request) or leave(request)")
    return policy


AT_LEAST = 1e-9


class Charging(Stateful):
    """Chargers are stations of the kind charge. A robot has one to itself; who finds none waits for its turn."""

    STATE = ("_wanted", "_queue", "_emptied", "_chargers")

    def __init__(
        self, world: World, book: OrderBook, fleet: OrderFleet, chargers: Stands, policy: ChargingPolicy
    ) -> None:
        self._world, self._book, self._fleet, self._chargers, self._policy = world, book, fleet, chargers, policy
        self._part = world.guard.part("charging policy")
        self._wanted: set[int] = set()
        self._queue: list[int] = []
        self._emptied: list[int] = []
        world.events.note("battery_empty", self._ran_out)
        fleet.charging = self

    # ---- looking ----------------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Ask the policy who goes and who leaves, and see who has energy again."""
        batteries = energy_columns(self._world)
        couriers = [] if batteries is None else self._with_battery(batteries)
        if batteries is None or not couriers:
            return
        for courier in couriers:
            self._see_energy(courier, batteries)
        request = self._request(couriers, batteries)
        leave = self._answer(request, "leave")
        # Who leaves does not go at once: a policy whose two answers overlap would otherwise send a robot round in
        # circles.
        go = self._answer(request, "go") & ~leave if len(self._chargers) else np.zeros(len(couriers), bool)
        for courier, leaves in zip(couriers, leave.tolist(), strict=True):
            if leaves and courier.task is Task.CHARGE and courier.stage is Stage.AT_PLACE:
                self._disconnect(courier)
                self._fleet.release(courier)
        for courier, goes in zip(couriers, go.tolist(), strict=True):
            if goes and courier.task is not Task.CHARGE and courier.stage is not Stage.OUT:
                # Noted, as it may have an order in hand; who has nothing to do goes now.
                self._wanted.add(courier.row)
                if courier.is_free:
                    self._fleet.release(courier)
        self._serve_queue()

    def _with_battery(self, batteries: EnergyColumns) -> list[Courier]:
        return [courier for row, courier in self._fleet.couriers.items() if batteries.present[row]]

    def _request(self, couriers: list[Courier], batteries: EnergyColumns) -> ChargingRequest:
        """Return what a charging policy decides on; arrays are aligned with `couriers`."""
        rows = np.array([courier.row for courier in couriers], np.int64)
        free = len(self._chargers) - sum(courier.task is Task.CHARGE for courier in couriers)
        return ChargingRequest(
            rows=rows,
            levels=batteries.energy[rows] / batteries.full_energy[rows],
            idle_mask=np.array([c.task in (Task.NONE, Task.PARK) and not c.plan for c in couriers], bool),
            charging_mask=np.array([c.task is Task.CHARGE and c.stage is Stage.AT_PLACE for c in couriers], bool),
            waiting=len(self._book.waiting),
            free_chargers=max(free, 0),
        )

    def _answer(self, request: ChargingRequest, method: str) -> Bools:
        """Return what the policy says; nobody, where it says nothing sensible, which is logged once and counted."""

        def ask() -> Bools:
            answer = np.asarray(getattr(self._policy, method)(request))
            if answer.shape != request.rows.shape or answer.dtype != bool:
                raise InvalidValueError(f"{method}: expected {len(request.rows)} truth values, got {answer!r}")
            return answer

        found = self._part.call(ask)
        return np.zeros(len(request.rows), bool) if found is None else found

    # ---- going to a charger ------------------------------------------------------------------------------------------

    def wants(self, row: int) -> bool:
        """Return whether a robot is to charge when it has done what it does."""
        return row in self._wanted

    def begin(self, courier: Courier) -> None:
        """Send a robot that has nothing else to do to a charger, or let it queue for one."""
        self._wanted.discard(courier.row)
        courier.task = Task.CHARGE
        place = self._chargers.take(courier.row, self._world.position[courier.row])
        # It keeps its task while it queues, so that no order is given to it meanwhile.
        if place is None:
            courier.place, courier.stage = NO_PLACE, Stage.STANDING
            self._queue.append(courier.row)
            self._fleet.show(courier, RobotState.WAITING)
        else:
            self._fleet.drive(courier, place)

    def _serve_queue(self) -> None:
        """Send those that wait for a charger to free ones."""
        # A copy: the queue gets shorter while it is walked.
        for row in list(self._queue):
            courier = self._fleet.couriers[row]
            place = self._chargers.take(row, self._world.position[row])
            if place is not None:
                self._queue.remove(row)
                self._fleet.drive(courier, place)

    def arrived(self, courier: Courier) -> None:
        """Connect a robot to the charger that it has reached."""
        batteries = energy_columns(self._world)
        assert batteries is not None
        batteries.charging[courier.row] = True
        self._fleet.show(courier, RobotState.CHARGING)

    def _disconnect(self, courier: Courier) -> None:
        batteries = energy_columns(self._world)
        if batteries is not None:
            batteries.charging[courier.row] = False
        self._chargers.leave(courier.row)

    def forget(self, courier: Courier) -> None:
        """Let others have the charger of a robot that does not get there, or is removed."""
        if courier.task is Task.CHARGE:
            self._disconnect(courier)
        self._wanted.discard(courier.row)
        if courier.row in self._queue:
            self._queue.remove(courier.row)

    # ---- running out -------------------------------------------------------------------------------------------------

    def _ran_out(self, agent: Agent) -> None:
        if agent.row in self._fleet.couriers:
            self._emptied.append(agent.row)

    @property
    def has_heard(self) -> bool:
        """Whether robots ran out of energy since it was asked to stop them last."""
        return bool(self._emptied)

    def hear(self) -> None:
        """Stop the robots that ran out of energy since the last step."""
        if not self._emptied:
            return
        emptied, self._emptied = self._emptied, []
        for row in emptied:
            courier = self._fleet.couriers.get(row)
            if courier is not None and courier.stage is not Stage.OUT:
                self._stop(courier)

    def _see_energy(self, courier: Courier, batteries: EnergyColumns) -> None:
        energy = float(batteries.energy[courier.row])
        if courier.stage is Stage.OUT:
            # Well above empty, not just above 0: it would stop again after the first metre.
            if energy > max(batteries.low_energy[courier.row], AT_LEAST):
                self._fleet.resume_after_charge(courier)
        elif energy <= 0.0 and batteries.stops_when_empty[courier.row]:
            self._stop(courier)

    def _stop(self, courier: Courier) -> None:
        """Take a robot out of service that ran out of energy on its way, and tell of it."""
        if courier.stage is Stage.AT_PLACE:
            # At a charger it only has to wait, and at a stop it is served first.
            return
        self.forget(courier)
        self._fleet.run_out(courier)
        world = self._world
        world.events.emit("robot_out_of_energy", agent=world.handles[courier.row])
        world.entity_events.emit(courier.row, "robot_out_of_energy")

    def close(self) -> None:
        """Stop listening to the simulation."""
        self._world.events.off("battery_empty", self._ran_out)

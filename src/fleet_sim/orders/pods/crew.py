"""PodCrew: takes robots with pods through their visits, from storage to a station and back."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from fleet_sim.core.world import World
from fleet_sim.errors import FleetSimError, InvalidValueError
from fleet_sim.orders.courier import NO_PLACE, Courier, Stage, Task
from fleet_sim.orders.fleet import OrderFleet
from fleet_sim.orders.loads import NO_LOAD
from fleet_sim.orders.places import OrderPlaces
from fleet_sim.orders.pods.benches import NOBODY, Workbench
from fleet_sim.orders.pods.counter import PodCounter
from fleet_sim.orders.pods.floor import PodFloor
from fleet_sim.orders.pods.settings import PodsSettings
from fleet_sim.orders.pods.shelves import PodShelves
from fleet_sim.orders.pods.storage import NOWHERE, PodStorage
from fleet_sim.orders.pods.visit import PodPhase, PodVisit
from fleet_sim.orders.states import RobotState

log = logging.getLogger(__name__)


class PodCrew:
    """A Porter: each robot has one visit at a time. Code runs only when something happens to it."""

    def __init__(
        self,
        world: World,
        fleet: OrderFleet,
        places: OrderPlaces,
        shelves: PodShelves,
        storage: PodStorage,
        floor: PodFloor,
        counter: PodCounter,
        choose_place: Callable[[PodVisit], int],
        settings: PodsSettings,
        retry_after: float,
    ) -> None:
        """`choose_place` returns where a pod is to be stored, NOWHERE for nowhere now."""
        self._world, self._fleet, self._places = world, fleet, places
        self._shelves, self._storage, self._floor, self._counter = shelves, storage, floor, counter
        self._choose_place, self._settings, self._retry_after = choose_place, settings, retry_after
        self.visits: dict[int, PodVisit] = {}
        """By row of the robot."""
        self.storage_waits = 0
        """Pods for which there was no place when they left a station."""
        self.went_on = 0
        """How often a pod went on from one station to another."""
        fleet.porter = self

    def begin(self, visit: PodVisit, place: int) -> None:
        """Send a robot that has nothing to do to its pod in `place`."""
        courier = self._fleet.couriers[visit.row]
        self._fleet.leave_stands(courier)
        self.visits[visit.row] = visit
        courier.task, courier.attempts = Task.POD, 0
        self._fleet.drive(courier, place)

    # ---- what a Porter does ------------------------------------------------------------------------------------------

    def check(self, courier: Courier) -> None:
        """Raise InvalidValueError for a robot with a pod that others would not look out for."""
        if not self._floor.traffic.takes_part(self._world.handles[courier.row]):
            raise InvalidValueError("it takes no part in the traffic, and pods stand everywhere else")
        self._floor.widen(courier.row, courier.load != NO_LOAD)

    def arrived(self, courier: Courier) -> None:
        """Go on where the robot was sent to."""
        visit = self.visits[courier.row]
        if visit.phase is PodPhase.FETCH:
            # Somebody else may have moved the pod while the robot was on its way.
            if not self._shelves.is_at(visit.pod, self._places.points[courier.place]):
                self._forget(visit.pod)
                self._fleet.fail(courier, f"pod {self._shelves.names[visit.pod]!r} is not there any more")
                return
            self._stand(courier, visit, PodPhase.LIFT, self._settings.lift_time)
        elif visit.phase is PodPhase.STORE:
            self._stand(courier, visit, PodPhase.LOWER, self._settings.lift_time)
        elif courier.place == visit.station:
            bench = self._counter.benches[visit.station]
            bench.since = self._world.clock.time
            self._stand(courier, visit, PodPhase.BEGIN, self._settings.visit_time)
        else:
            visit.phase = PodPhase.QUEUE
            self._fleet.show(courier, RobotState.WAITING)
            self._overtake(courier, visit)

    def served(self, courier: Courier) -> None:
        """Go on after the robot has stood."""
        visit = self.visits[courier.row]
        if visit.phase is PodPhase.LIFT:
            self._lift(courier, visit)
        elif visit.phase is PodPhase.LOWER:
            self._lower(courier, visit)
        elif not self._has_pod(courier, visit):
            self._lose_pod(courier, visit)
        elif visit.phase is PodPhase.LEAVE:
            self._leave(courier, visit)
        else:
            if visit.phase is PodPhase.SERVE:
                self._counter.finish(visit)
            self._serve(courier, visit)

    def give_up(self, courier: Courier, reason: str) -> None:
        """End a visit before its time. A pod that is on the robot stays where that is."""
        visit = self.visits.pop(courier.row)
        self._counter.withdraw(visit)
        self._free_station(visit.row, visit.station)
        if courier.load != NO_LOAD:
            log.warning("pod %r is left where it is: %s", self._shelves.names[visit.pod], reason)
            self._shelves.leave(visit.pod, courier.row)
            self._fleet.set_loaded(courier, NO_LOAD)
            self._forget(visit.pod)

    def _forget(self, pod: int) -> None:
        """Do without a pod that is not where it should be; others keep off it."""
        self._storage.leave(pod)
        self._counter.stock.remove(pod)
        point = self._shelves.point_of(pod)
        if point is not None:
            self._floor.strand(pod, point)
        self._floor.look()

    def removed(self, pod: int) -> None:
        """Hear that a pod is being removed; a robot that has it, or is on its way to it, does something else."""
        for visit in list(self.visits.values()):
            if visit.pod == pod:
                courier = self._fleet.couriers[visit.row]
                self.give_up(courier, "it was removed")
                self._floor.widen(courier.row, False)
                self._fleet.release(courier)
        if pod in self._floor.stranded:
            self._floor.clear_away(pod)
            return
        self._storage.leave(pod)
        self._counter.stock.remove(pod)
        self._floor.look()

    # ---- stations ----------------------------------------------------------------------------------------------------

    def _approach(self, courier: Courier, visit: PodVisit) -> None:
        visit.phase = PodPhase.CARRY
        self._fleet.drive(courier, self._counter.benches[visit.station].enter(courier.row))

    def _overtake(self, courier: Courier, visit: PodVisit) -> None:
        """Let a robot that waits go first if the one that would has farther to go."""
        bench = self._counter.benches[visit.station]
        owner = self._fleet.couriers.get(bench.owner)
        if owner is None or self.visits[owner.row].phase is not PodPhase.CARRY:
            return
        first = self._nearest(bench, [bench.owner, courier.row])
        if first == courier.row:
            bench.queue[owner.row] = bench.queue.pop(courier.row)
            bench.owner = courier.row
            self._fleet.drive(owner, bench.queue[owner.row])
            visit.phase = PodPhase.CARRY
            self._fleet.drive(courier, bench.place)

    def _nearest(self, bench: Workbench, rows: list[int]) -> int:
        lengths = self._places.lengths_from(self._world.position[rows], [bench.place])[:, 0]
        return rows[int(lengths.argmin())]

    def _free_station(self, leaving: int, station: int) -> None:
        """Let the next pod come to the station that the robot in row `leaving` leaves, or does not get to."""
        bench = self._counter.benches[station]
        was_owner = bench.owner == leaving
        bench.leave(leaving)
        if was_owner and bench.since >= 0.0:
            bench.busy += self._world.clock.time - bench.since
            bench.since = -1.0
        if bench.owner == NOBODY and bench.queue:
            # Robots that are out of energy do not come; one of them is next only where all are.
            able = [row for row in bench.queue if self._fleet.couriers[row].stage is not Stage.OUT]
            row = self._nearest(bench, able or list(bench.queue))
            bench.queue.pop(row)
            bench.owner = row
            self.visits[row].phase = PodPhase.CARRY
            self._fleet.drive(self._fleet.couriers[row], bench.place)

    def _serve(self, courier: Courier, visit: PodVisit) -> None:
        self._counter.claim_more(visit)
        if visit.claims:
            visit.phase, visit.serving = PodPhase.SERVE, visit.claims.pop(0)
            self._fleet.work(courier, self._settings.item_time * visit.serving.items)
        elif not self._go_on(courier, visit):
            self._leave(courier, visit)

    def _go_on(self, courier: Courier, visit: PodVisit) -> bool:
        """Take a pod on to a station that needs what is on it; returns whether there is one."""
        if not self._settings.go_on or visit.fills or self._fleet.charging.wants(courier.row):
            return False
        station = self._counter.station_for(visit, self.visits.values())
        if station == NO_PLACE:
            return False
        # The new station first, as its lines are claimed. The old one is freed last, and its next pod may come.
        left, visit.station = visit.station, station
        self._counter.claim_more(visit)
        self.went_on += 1
        self._approach(courier, visit)
        self._free_station(courier.row, left)
        return True

    def _leave(self, courier: Courier, visit: PodVisit) -> None:
        """Take the pod to a storage place; where none is free the robot stays and asks again later."""
        place = self._choose_place(visit)
        if place == NOWHERE:
            # Counted once for each wait, not for each try.
            self.storage_waits += visit.phase is not PodPhase.LEAVE
            visit.phase = PodPhase.LEAVE
            self._fleet.work(courier, self._retry_after, RobotState.WAITING)
            return
        # A pod may go back to its own place, which it has kept.
        if self._storage.owner[place] != visit.pod:
            self._storage.leave(visit.pod)
            self._storage.take(place, visit.pod)
        visit.target, visit.phase = place, PodPhase.STORE
        self._floor.look()
        self._fleet.drive(courier, self._counter.places[place])
        self._free_station(courier.row, visit.station)

    # ---- pods --------------------------------------------------------------------------------------------------------

    def _stand(self, courier: Courier, visit: PodVisit, phase: PodPhase, seconds: float) -> None:
        visit.phase = phase
        self._fleet.stand(courier)
        self._fleet.work(courier, seconds)

    def _lift(self, courier: Courier, visit: PodVisit) -> None:
        """Lift the pod and go on to its workstation; where it cannot be lifted the robot gives the visit up."""
        try:
            self._floor.widen(courier.row, True)
            self._shelves.raise_onto(visit.pod, courier.row)
        except FleetSimError as error:
            log.warning("pod %r stays: %s", self._shelves.names[visit.pod], error)
            self.give_up(courier, str(error))
            self._floor.widen(courier.row, False)
            self._fleet.release(courier)
            return
        self._fleet.set_loaded(courier, self._shelves.id_of(visit.pod))
        self._approach(courier, visit)

    def _lower(self, courier: Courier, visit: PodVisit) -> None:
        if not self._has_pod(courier, visit):
            self._lose_pod(courier, visit)
            return
        self._shelves.lower(visit.pod, courier.row, self._storage.points[visit.target].tolist())
        self._end(courier, visit)
        self._counter.count_visit(visit)

    def _end(self, courier: Courier, visit: PodVisit) -> None:
        del self.visits[courier.row]
        self._fleet.set_loaded(courier, NO_LOAD)
        self._floor.widen(courier.row, False)
        self._floor.look()
        self._fleet.release(courier)

    def _has_pod(self, courier: Courier, visit: PodVisit) -> bool:
        return self._shelves.carried_by(visit.pod) == courier.row

    def _lose_pod(self, courier: Courier, visit: PodVisit) -> None:
        """Hear that somebody has taken the pod off its robot."""
        self.give_up(courier, "it was taken from its robot")
        self._floor.widen(courier.row, False)
        self._fleet.release(courier)

    # ---- checkpoints -------------------------------------------------------------------------------------------------

    def save(self) -> Any:
        """Return the state as copies, for a checkpoint."""
        return {row: visit.copy() for row, visit in self.visits.items()}, self.storage_waits, self.went_on

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned."""
        visits, self.storage_waits, self.went_on = saved
        self.visits = {row: visit.copy() for row, visit in visits.items()}

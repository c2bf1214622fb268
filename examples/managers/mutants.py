"""Fleet managers with a fault each, of kinds that users report, for a lab to find. On a calm day all do their work."""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from vda5050_manager import AHEAD, Json, Manager

MUTANTS: dict[str, type[Manager]] = {}


def mutant(cls: type[Manager]) -> type[Manager]:
    """List a class."""
    MUTANTS[cls.__name__] = cls
    return cls


@mutant
class DoubleRelease(Manager):
    """After a reconnect it takes all released nodes for passed ones."""

    def on_connection(self, online: bool, now: float) -> None:
        for vehicle in self.vehicles.values() if online else ():
            if vehicle["mission"] is not None:
                vehicle["mission"]["passed"] = vehicle["mission"]["released"]
        super().on_connection(online, now)


@mutant
class CancelRacesFinish(Manager):
    """It reports an order as cancelled when its vehicle has cancelled it, also with the load on that vehicle."""

    def leave_mission(self, serial: str, state: Json) -> None:
        order = self.orders.get(self.vehicles[serial]["order"] or "")
        if order is not None and order["cancel"]:
            self.end(order["id"], "cancelled")
        super().leave_mission(serial, state)


@mutant
class UpdateIdReused(Manager):
    """What it sends again has more nodes released than the first time, under the same update id."""

    def send(self, serial: str, now: float) -> None:
        mission = self.vehicles[serial]["mission"]
        mission["released"] = max(mission["released"], min(mission["reserved"], mission["passed"] + AHEAD))
        super().send(serial, now)


@mutant
class LostRetained(Manager):
    """With a new connection it takes all vehicles for disconnected, and reads what is retained only the first time."""

    connections = 0

    def on_connection(self, online: bool, now: float) -> None:
        self.connections += online
        self.online.clear()
        super().on_connection(online, now)

    def on_message(self, topic: str, payload: bytes | bytearray, now: float, retained: bool = False) -> None:
        known = dict(self.online)
        super().on_message(topic, payload, now, retained)
        if topic.endswith("/state") or (retained and self.connections > 1):
            self.online = known


@mutant
class RestartedAfterReboot(Manager):
    """A vehicle that forgot its order begins it again with the pick, also where it has the load."""

    def leave_mission(self, serial: str, state: Json) -> None:
        mission = self.vehicles[serial]["mission"]
        if mission is not None and state["order"] != mission["id"]:
            state = state | {"loads": []}
        super().leave_mission(serial, state)


@mutant
class TokensSwapped(Manager):
    """After a restart it looks up what belongs to a vehicle under the name of another one."""

    def __init__(self, site: Json, vehicles: list[Json], publish: Any, report: Any, storage: Json) -> None:
        names = [one["serial"] for one in vehicles]
        self.names = dict(zip(names, names[1:] + names[:1] if storage else names, strict=True))
        super().__init__(site, vehicles, publish, report, storage)

    def held(self, but: str) -> set[str]:
        return super().held(self.names[but])


@mutant
class HeadersRestart(Manager):
    """With each connection it counts its messages anew."""

    def on_connection(self, online: bool, now: float) -> None:
        self.storage["headers"].clear()
        super().on_connection(online, now)


@mutant
class LostWhenRejected(Manager):
    """It takes an order that its vehicle has rejected for one that somebody else looks after."""

    def leave_mission(self, serial: str, state: Json) -> None:
        order, mission = self.vehicles[serial]["order"], self.vehicles[serial]["mission"]
        super().leave_mission(serial, state)
        if mission is not None and mission["id"] in state["refused"] and order in self.orders:
            del self.orders[order]


@mutant
class DuplicatesCounted(Manager):
    """It counts the nodes that a vehicle passes by how often another one is the last, also in old states."""

    def is_old(self, vehicle: Json, state: Json) -> bool:
        return False

    def passed(self, mission: Json, state: Json) -> int:
        count: int = mission.get("count", 0) + (state["node"] != mission.get("last", mission["nodes"][0]))
        mission.update(count=count, last=state["node"])
        return min(count, int(mission["released"]))


@mutant
class ReleasedUnconfirmed(Manager):
    """It releases more nodes before the vehicle has confirmed the last ones."""

    def release(self, serial: str, now: float) -> None:
        mission = self.vehicles[serial]["mission"]
        if mission is not None and mission["confirmed"] >= 0:
            mission["confirmed"] = mission["update"]
        super().release(serial, now)


@mutant
class BatteryIgnored(Manager):
    """It sends vehicles out whatever their charge is."""

    def low(self, serial: str) -> bool:
        return False


@mutant
class ForgetsWho(Manager):
    """After a restart it does not know any more which vehicle was to fetch what."""

    def __init__(self, site: Json, vehicles: list[Json], publish: Any, report: Any, storage: Json) -> None:
        super().__init__(site, vehicles, publish, report, storage)
        for vehicle in self.vehicles.values():
            order = self.orders.get(vehicle["order"] or "")
            if order is not None and not order["loaded"]:
                vehicle["order"] = order["vehicle"] = None


@mutant
class LeaseExpires(Manager):
    """Nodes of a vehicle that was not heard for some seconds are free for others."""

    def on_time(self, now: float) -> None:
        self.now = now
        super().on_time(now)

    def held(self, but: str) -> set[str]:
        all_vehicles = self.vehicles
        heard = {name for name, state in self.states.items() if self.now - state["came"] < 8.0}
        self.vehicles = {name: one for name, one in all_vehicles.items() if name in heard}
        try:
            return super().held(but)
        finally:
            self.vehicles = all_vehicles

    def see(self, serial: str, state: Json, now: float) -> None:
        self.now = state["came"] = now
        super().see(serial, state, now)


@mutant
class OldStatesTrusted(Manager):
    """It takes a retained state for a new one."""

    def on_message(self, topic: str, payload: bytes | bytearray, now: float, retained: bool = False) -> None:
        self.retained = retained
        super().on_message(topic, payload, now)

    def is_old(self, vehicle: Json, state: Json) -> bool:
        return not self.retained and super().is_old(vehicle, state)


@mutant
class OrderIdReused(Manager):
    """What is tried again has the order id of the first time."""

    def number(self, name: str) -> str:
        return f"{name}.0" if name in self.orders else super().number(name)


@mutant
class JunkCrashes(Manager):
    """It expects JSON on all topics."""

    def on_message(self, topic: str, payload: bytes | bytearray, now: float, retained: bool = False) -> None:
        json.loads(payload)
        super().on_message(topic, payload, now, retained)


@mutant
class StopFreesNodes(Manager):
    """It gives the order of a vehicle that is stopped to another one, and its nodes back."""

    def see(self, serial: str, state: Json, now: float) -> None:
        super().see(serial, state, now)
        if not state["fit"] and self.vehicles[serial]["mission"] is not None:
            self.leave_mission(serial, state)


@mutant
class FailedIsFinished(Manager):
    """An order whose drop has failed has ended for it, and what has ended is finished."""

    def see_actions(self, vehicle: Json, mission: Json, state: Json) -> None:
        if state["actions"].get(f"{mission['id']}-drop") == "FAILED" and vehicle["order"] is not None:
            self.end(vehicle["order"], "finished")
        super().see_actions(vehicle, mission, state)


@mutant
class SavedTooLate(Manager):
    """It saves what it remembers twice a second."""

    def __init__(self, site: Json, vehicles: list[Json], publish: Any, report: Any, storage: Json) -> None:
        self.kept = storage
        super().__init__(site, vehicles, publish, report, copy.deepcopy(storage))

    def order(self, order: Json, now: float) -> None:
        super().order(order, now)
        self.save()

    def on_time(self, now: float) -> None:
        super().on_time(now)
        self.save()

    def save(self) -> None:
        """Write what it remembers."""
        self.kept.update(copy.deepcopy(self.storage))


@mutant
class ReassignedUncancelled(Manager):
    """It gives the order of a vehicle that cannot drive for long to another one, and cancels nothing."""

    def cancel_mission(self, serial: str, now: float) -> None:
        if serial in self.unfit and self.vehicles[serial]["mission"] is not None:
            self.leave_mission(serial, self.states[serial])
        else:
            super().cancel_mission(serial, now)


@mutant
class OfflineReassigned(Manager):
    """It gives the order of a vehicle without a connection to another one at once."""

    def on_message(self, topic: str, payload: bytes | bytearray, now: float, retained: bool = False) -> None:
        super().on_message(topic, payload, now, retained)
        for serial, online in self.online.items():
            if not online and serial in self.states and self.vehicles[serial]["mission"] is not None:
                self.leave_mission(serial, self.states[serial])


@mutant
class StaleHorizon(Manager):
    """A vehicle whose order was lost is sent on as it was planned before, whoever is there by now."""

    def leave_mission(self, serial: str, state: Json) -> None:
        mission = self.vehicles[serial]["mission"]
        self.vehicles[serial]["stale"] = mission is not None and mission["passed"] < len(mission["nodes"]) - 1
        super().leave_mission(serial, state)

    def held(self, but: str) -> set[str]:
        return set() if self.vehicles[but].get("stale") else super().held(but)

    def begin(self, serial: str, now: float, order: Json | None) -> bool:
        began = super().begin(serial, now, order)
        self.vehicles[serial]["stale"] = False
        return began

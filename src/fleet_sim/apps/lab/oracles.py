"""What must never happen, whatever goes wrong: each oracle is a small class with its sentence.

Oracles look at the world, at what vehicles write, and at the messages of the manager; they share no code with vehicles
or managers. An oracle of your own is a class with some of the methods of `Oracle`.
"""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from fleet_sim.apps.lab.managers import class_at
from fleet_sim.apps.lab.protocol import ENDED, MasterRules, Oracle, VehicleRules, loads_in
from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import ConfigError, unknown_name
from fleet_sim.base.spatial.trigonometry import hypot_of

if TYPE_CHECKING:
    from fleet_sim.apps.lab.bus import Message
    from fleet_sim.apps.lab.faults import Event
    from fleet_sim.apps.lab.run import LabRun, OrderTrack
    from fleet_sim.apps.lab.settings import LabSettings


def ahead(state: dict[str, Any]) -> list[tuple[float, float]]:
    """Return the places of the released nodes that a vehicle has not passed."""
    places = [node["nodePosition"] for node in state["nodeStates"] if node["released"]]
    return [(place["x"], place["y"]) for place in places]


def charge_of(state: dict[str, Any]) -> tuple[float, bool]:
    """Return the charge of a vehicle in %, and whether it charges; version 3.0 has other names."""
    battery = state.get("batteryState") or state["powerSupply"]
    return battery["batteryCharge" if "batteryCharge" in battery else "stateOfCharge"], battery["charging"]


class NoTouch(Oracle):
    """Measures gaps between round bodies from their poses."""

    name = "touch"
    sentence = "No two vehicles touch."

    def __init__(self, lab: LabRun) -> None:
        super().__init__(lab)
        self._least = 2.0 * lab.settings.vehicles.radius
        self._upper = np.triu_indices(len(lab.vehicles), 1)

    def step(self) -> None:
        places = self.lab.positions
        one, other = self._upper
        gaps = ((places[one] - places[other]) ** 2).sum(axis=1)
        if len(gaps) and gaps.min() < (self._least - 1e-6) ** 2:
            index = int(gaps.argmin())
            names = self.lab.vehicles[one[index]], self.lab.vehicles[other[index]]
            self.fail("two vehicles touch", f"{names[0]} and {names[1]} touch at {_at(places[one[index]])}")


class OnePlace(Oracle):
    """Compares what is released to a vehicle with what others have, and with where they are."""

    name = "place"
    sentence = "No place is released to two vehicles, or to one while another is there."

    def __init__(self, lab: LabRun) -> None:
        super().__init__(lab)
        self._least = 2.0 * lab.settings.vehicles.radius - 1e-6
        self._ahead: dict[str, list[tuple[float, float]]] = {name: [] for name in lab.vehicles}

    def told(self, message: Message, state: dict[str, Any]) -> None:
        name, places = message.vehicle, ahead(state)
        new = [place for place in places if place not in self._ahead[name]]
        self._ahead[name] = places
        for place in new:
            for other in self.lab.vehicles:
                if other == name:
                    continue
                if hypot_of(*(self.lab.place(other) - place).tolist()) < self._least:
                    self.fail(
                        "released while another is there",
                        f"{_at(place)} is released to {name} while {other} is at {_at(self.lab.place(other))}",
                    )
                if any(hypot_of(x - place[0], y - place[1]) < self._least for x, y in self._ahead[other]):
                    self.fail("released to two", f"{_at(place)} is released to {name} while {other} has it")


class OrdersEnd(Oracle):
    """Looks at what is open when the run is over, or where nobody moves any more."""

    name = "end"
    sentence = "Each accepted order ends, within a time after the last disturbance."

    def end(self) -> None:
        for track in self.lab.orders.values():
            if track.accepted is not None and track.ended is None:
                _, carrier = self.lab.load(track.id)
                where = (
                    f"{carrier} has its load"
                    if carrier
                    else next(
                        (
                            text
                            for node, text in (
                                (track.begin, "its load was never picked"),
                                (track.end, "its load was delivered, and nothing was reported"),
                            )
                            if self.lab.lies_at(track.id, node)
                        ),
                        "its load lies elsewhere",
                    )
                )
                cause = where.replace(carrier, "a vehicle") if carrier else where
                self.fail(
                    f"never ended: {cause}",
                    f"order {track.id} of {track.accepted:.1f} s has not ended at {self.lab.now:.1f} s: {where}",
                )
            if track.accepted is None:
                self.fail("never accepted", f"order {track.id} was never accepted")


class OfLoads(Oracle):
    """Knows which order an action of a vehicle belongs to, by the load that it names."""

    def __init__(self, lab: LabRun) -> None:
        super().__init__(lab)
        self._loads = {track.load: track for track in lab.orders.values()}
        self._actions: dict[str, str] = {}

    def sent(self, message: Message) -> None:
        self._actions.update(loads_in(message))

    def _order_of(self, entry: dict[str, Any]) -> OrderTrack | None:
        """Return the order of an entry of `actionStates`; None for none."""
        return self._loads.get(self._actions.get(entry["actionId"], ""))


class OneEnd(OfLoads):
    """Holds what the manager reports against where the loads are."""

    name = "report"
    sentence = "An order ends once, and as its load shows."

    def __init__(self, lab: LabRun) -> None:
        super().__init__(lab)
        self._failed: set[str] = set()

    def told(self, message: Message, state: dict[str, Any]) -> None:
        for entry in state["actionStates"]:
            track = self._order_of(entry)
            if track is not None and entry["actionStatus"] in ("FAILED", "RETRIABLE"):
                self._failed.add(track.id)
        fatal = any(error["errorLevel"] in ("FATAL", "CRITICAL") for error in state["errors"])
        if fatal:
            self._failed |= {
                track.id
                for track in self.lab.orders.values()
                if track.accepted is not None and self.lab.load(track.id)[1] == message.vehicle
            }

    def report(self, order: str, status: str, reason: str) -> None:
        lab, track = self.lab, self.lab.orders.get(order)
        if track is None or not lab.is_given(order):
            self.fail("unknown order reported", f"{status!r} is reported of {order!r}, which it was not given")
            return
        said = f"order {order} is reported as {status}"
        if track.ended is not None and status != track.status:
            self.fail("ended twice, differently", f"{said}, and was {track.status} before")
        if status == "finished" and not lab.lies_at(order, track.end):
            place, carrier = lab.load(order)
            where = f"{carrier} has its load" if carrier else f"its load lies at {_at(place)}"
            self.fail("finished without delivery", f"{said}, but {where}")
        if status == "cancelled":
            if track.asked_back is None:
                self.fail("cancelled by nobody", f"{said}, which nobody asked for")
            if not lab.lies_at(order, track.begin):
                self.fail("cancelled after the pick", f"{said}, but its load was picked")
        if status == "failed" and order not in self._failed:
            self.fail("failed for no reason", f"{said} ({reason}), but no action with its load failed")
        if status not in ("finished", "cancelled", "failed"):
            self.fail("unknown status", f"{said}; expected finished, cancelled or failed")


class LoadsOnce(OfLoads):
    """Follows each load: it is picked once, put down once, at the end of its order."""

    name = "load"
    sentence = "No order is lost or done twice: its load is picked once, and put down where it should be."

    def __init__(self, lab: LabRun) -> None:
        super().__init__(lab)
        self._had: set[str] = set()
        self._picks: dict[str, set[str]] = {}
        """By load: the vehicles that have a pick of it ahead or under way."""
        self._seen: dict[tuple[str, str], str] = {}
        self._carriers: dict[str, str] = {}
        self._put_down: set[str] = set()

    def told(self, message: Message, state: dict[str, Any]) -> None:
        name = message.vehicle
        for vehicles in self._picks.values():
            vehicles.discard(name)
        ended = False
        for entry in state["actionStates"]:
            track = self._order_of(entry)
            status, key = entry["actionStatus"], (name, entry["actionId"])
            if self._seen.get(key) != status:
                self._seen[key] = status
                ended |= entry["actionType"] in ("pick", "drop") and status in ("FINISHED", "FAILED")
            if track is not None and entry["actionType"] == "pick" and status not in ("FINISHED", "FAILED"):
                self._look_at_pick(name, track, status)
        if ended:
            self._look_at_loads()

    def step(self) -> None:
        for track in self._loads.values():
            if track.accepted is None:
                continue
            carrier, before = self.lab.carrier(track.id), self._carriers.get(track.id, "")
            if carrier == before:
                continue
            self._carriers[track.id] = carrier
            if not carrier:
                self._look_at_loads()
                self._put_down.add(track.id)
            elif track.status == "cancelled":
                self.fail("picked after the cancel", f"{carrier} picks {track.load} of the cancelled order {track.id}")
            elif track.id in self._put_down:
                self.fail("picked again", f"{carrier} has picked {track.load}, which was put down before")
            else:
                self._had.add(track.id)

    def _look_at_pick(self, vehicle: str, track: OrderTrack, status: str) -> None:
        others = self._picks.setdefault(track.load, set())
        if others:
            other = min(others)
            self.fail("given to two vehicles", f"{vehicle} and {other} both have to pick {track.load}")
        others.add(vehicle)
        if status != "WAITING" and track.id in self._had:
            self.fail("picked again", f"{vehicle} begins to pick {track.load}, which was picked before")
        if track.status == "cancelled" and status != "WAITING":
            self.fail("picked after the cancel", f"{vehicle} picks {track.load} of the cancelled order {track.id}")

    def _look_at_loads(self) -> None:
        for track in self._loads.values():
            if track.accepted is None:
                continue
            place, carrier = self.lab.load(track.id)
            if carrier:
                self._had.add(track.id)
            elif track.id in self._had and not self.lab.lies_at(track.id, track.end):
                self.fail("put down elsewhere", f"{track.load} was put down at {_at(place)}, not at {track.end}")


class Cancelled(Oracle):
    """Follows orders of vehicles whose cancelOrder has finished."""

    name = "cancel"
    sentence = "No vehicle is driven by an order that was cancelled."

    def __init__(self, lab: LabRun) -> None:
        super().__init__(lab)
        self._over: dict[str, set[str]] = {name: set() for name in lab.vehicles}
        self._done: set[str] = set()

    def told(self, message: Message, state: dict[str, Any]) -> None:
        name, order = message.vehicle, state["orderId"]
        for entry in [*state["actionStates"], *state.get("instantActionStates", ())]:
            if entry["actionType"] == "cancelOrder" and entry["actionStatus"] == "FINISHED":
                if entry["actionId"] not in self._done:
                    self._over[name].add(order)
                self._done.add(entry["actionId"])
        if order in self._over[name] and state["nodeStates"]:
            self.fail("driven after the cancel", f"{name} has nodes of order {order!r} again, which was cancelled")


class Lives(Oracle):
    """Watches the manager: that it does not end, fall silent, flood or grow."""

    name = "manager"
    sentence = "The manager lives: it neither ends nor falls silent, floods or grows."
    WINDOW = 10.0

    def __init__(self, lab: LabRun) -> None:
        super().__init__(lab)
        self._spoke: float | None = None
        self._asked: float | None = None
        self._times: dict[str, deque[float]] = {}
        self._looked = 0.0

    def life(self, what: str) -> None:
        if what == "crash":
            self.fail(_last_line(self.lab.host.crash), f"the manager ended by itself:\n{self.lab.host.crash}")
        # A new one has said nothing yet, and has to when an order comes that a vehicle could do.
        self._asked = self._spoke = None

    def order(self, track: OrderTrack) -> None:
        if self._asked is None:
            self._asked = self.lab.now

    def sent(self, message: Message) -> None:
        self._spoke = self.lab.now
        times = self._times.setdefault(message.vehicle, deque())
        times.append(self.lab.now)
        while times[0] < self.lab.now - self.WINDOW:
            times.popleft()
        most = self.lab.rules.most_messages * self.WINDOW
        if len(times) > most:
            self.fail(
                "floods", f"the manager sent more than {most:g} messages to {message.vehicle} in {self.WINDOW:g} s"
            )

    def step(self) -> None:
        lab = self.lab
        silent = self._spoke is None and self._asked is not None and lab.now > self._asked + lab.rules.answer_within
        if silent and not lab.troubled() and all(_is_free(lab.latest(name)) for name in lab.vehicles):
            self.fail(
                "says nothing", f"the manager has said nothing since it was given an order at {self._asked:.1f} s"
            )
        if lab.now > self._looked + 30.0:
            self._looked = lab.now
            self._weigh()

    def end(self) -> None:
        self._weigh()

    def _weigh(self) -> None:
        size, most = self.lab.host.memory(), self.lab.rules.memory
        if size > most:
            self.fail("grows", f"the manager keeps {size:.1f} MB, more than {most:g} MB")


class Charged(Oracle):
    """Looks at the batteries, where vehicles have some."""

    name = "battery"
    sentence = "No vehicle runs empty that could have been charged."

    def told(self, message: Message, state: dict[str, Any]) -> None:
        lab, name = self.lab, message.vehicle
        spoiled = any(event["on"] == name and _spoils(event) for event in lab.case.events)
        if lab.settings.vehicles.battery and charge_of(state)[0] <= 0.0 and not spoiled:
            self.fail("runs empty", f"{name} is empty at {_at(lab.place(name))}")


class Progress(Oracle):
    """Sees that nothing moves although orders are open and nothing is wrong."""

    name = "progress"
    sentence = "While orders are open and nothing is wrong, something goes on."

    def __init__(self, lab: LabRun) -> None:
        super().__init__(lab)
        self._since = 0.0
        self._places: Floats = lab.positions.copy()
        self._status: dict[str, tuple[Any, ...]] = {}

    def told(self, message: Message, state: dict[str, Any]) -> None:
        charge, charging = charge_of(state)
        # A vehicle that charges is a wait that is explained, as long as its battery gets fuller.
        now = (charging and charge, *((entry["actionId"], entry["actionStatus"]) for entry in state["actionStates"]))
        if self._status.get(message.vehicle) != now:
            self._status[message.vehicle], self._since = now, self.lab.now

    def report(self, order: str, status: str, reason: str) -> None:
        self._since = self.lab.now

    def step(self) -> None:
        lab, places = self.lab, self.lab.positions
        is_open = any(track.accepted is not None and track.ended is None for track in lab.orders.values())
        if not is_open or lab.troubled() or (np.abs(places - self._places) > 1e-3).any():
            self._since, self._places = lab.now, places.copy()
        elif lab.now > self._since + lab.rules.patience:
            names = [track.id for track in lab.orders.values() if track.accepted is not None and track.ended is None]
            where = ", ".join(f"{name} at {_at(lab.place(name))}" for name in lab.vehicles)
            self.fail(
                "nothing moves",
                f"nothing has moved since {self._since:.1f} s, nothing is wrong; open are {', '.join(names)}: {where}",
            )


def oracles_of(lab: LabSettings) -> list[type[Oracle]]:
    """Return the oracles of a lab: all of ours but those left out, and the user's own; raises ConfigError."""
    ours = [NoTouch, OnePlace, Cancelled, LoadsOnce, OneEnd, MasterRules, VehicleRules, Lives, Charged, Progress]
    ours.append(OrdersEnd)
    known = {oracle.name: oracle for oracle in ours}
    if lab.manager.ros:
        # Over ROS nobody releases places, and nobody speaks VDA 5050.
        known = {
            name: oracle for name, oracle in known.items() if name not in ("place", "cancel", "protocol", "vehicle")
        }
    for name in lab.rules.without:
        if name not in known:
            raise ConfigError.of(unknown_name("oracle", name, known)).within("rules.without", source=lab.source)
    own = [class_at(path, "rules.more", lab.source) for path in lab.rules.more]
    return [*(oracle for name, oracle in known.items() if name not in lab.rules.without), *own]


def _is_free(state: dict[str, Any]) -> bool:
    """Return whether a vehicle waits for nothing but an order."""
    busy = state.get("nodeStates") or any(one["actionStatus"] not in ENDED for one in state.get("actionStates", ()))
    return not state or not (busy or charge_of(state)[1] or state["operatingMode"] != "AUTOMATIC" or state["errors"])


def _spoils(event: Event) -> bool:
    """Return whether an event leaves a manager no way to keep a vehicle from running empty."""
    hopeless = event.get("level") == 0.0 or event.get("charge_error", 0.0) != 0.0 or not event.get("charges", True)
    return event["do"] == "battery_fault" and hopeless


def _at(place: Any) -> str:
    return f"({float(place[0]):.2f}, {float(place[1]):.2f})"


def _last_line(text: str) -> str:
    """Return what a manager ended with, without addresses of objects, which differ from run to run."""
    return re.sub(r"0x[0-9a-fA-F]+", "0x...", (text.strip().splitlines() or ["ended"])[-1])

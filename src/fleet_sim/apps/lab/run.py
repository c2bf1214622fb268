"""LabRun: one run of a case: vehicles, a manager, orders, a schedule of what goes wrong, and oracles that watch.

A case has all that a run depends on. The same case is the same run, bit for bit, where the manager takes its time from
the lab.
"""

from __future__ import annotations

import json
import math
import re
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from hashlib import sha256
from random import Random
from typing import Any, NamedTuple

import numpy as np

from fleet_sim.apps.lab import bus as buses
from fleet_sim.apps.lab.bus import Bus, BusLink, Message
from fleet_sim.apps.lab.faults import OF_MESSAGES, Event, Moment, in_order
from fleet_sim.apps.lab.managers import InProcess, ManagerHost, class_at
from fleet_sim.apps.lab.settings import LabSettings
from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import brief
from fleet_sim.base.geometry import Pose
from fleet_sim.base.spatial.trigonometry import hypot_of
from fleet_sim.robots.sim_object import SimObject
from fleet_sim.robots.spawn_params import SimObjectSpawnParams
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.warehouse.disturbances.disturbances import Disturb
from fleet_sim.warehouse.vda5050.desk import VehicleDesk
from fleet_sim.warehouse.vda5050.session import VehicleSession

STEP = 0.1
MANAGER_STEP = 0.5
WAITS = 30.0
"""How long (s) a fault waits for the messages that it is meant for."""
AFTERWARDS = 10.0
"""How long (s) a run goes on when all is done: what is wrong then may still be seen."""
KILL_AT_LAST = 5.0
"""A manager that should be killed after some messages and sends none is killed so late, in s."""
ENDS = ("finished", "cancelled", "failed")


@dataclass
class Case:
    """All that a run depends on, beside the lab file: which vehicles there are, the orders, and what goes wrong."""

    seed: int
    vehicles: list[str]
    orders: list[dict[str, Any]]
    events: list[Event] = field(default_factory=list)

    def plain(self) -> dict[str, Any]:
        """Return it as it is written to files."""
        return asdict(self)

    def at_times(self) -> list[float]:
        """Return when its disturbances are over."""
        return [end_of(event) for event in self.events]


def end_of(event: Event) -> float:
    """Return when a disturbance is over, in s."""
    lasts = WAITS + event.get("by", 0.0) if event["do"] in OF_MESSAGES else event.get("lasts", 0.0)
    late = KILL_AT_LAST if event.get("after") else 0.0
    return float(event["at"] + max(lasts + late, event.get("told", 0.0)))


def case_of(lab: LabSettings, seed: int, events: Sequence[Event] = ()) -> Case:
    """Return a case with the orders that follow from the seed."""
    random, orders, at = Random(f"orders {seed}"), [], 0.0
    for index in range(lab.orders.count):
        begin, end = random.sample(lab.site["stations"], 2)
        taken_back = random.random() < lab.orders.cancelled
        cancel = round(at + random.uniform(0.5, 2.0 * lab.orders.every), 1) if taken_back else None
        orders.append({"id": f"o{index}", "at": round(at, 1), "from": begin, "to": end, "cancel": cancel})
        at += random.uniform(0.2, 1.8) * lab.orders.every
    return Case(seed, [f"v{index}" for index in range(lab.vehicles.count)], orders, in_order(events))


class Failure(NamedTuple):
    """What an oracle has seen: its name and sentence, the kind of cause that failures are grouped by, and all of it."""

    oracle: str
    sentence: str
    cause: str
    text: str
    at: float

    @property
    def group(self) -> tuple[str, str]:
        """What failures are grouped by, and are the same by: the oracle, and the cause without names and numbers."""
        return self.oracle, re.sub(r"'[^']*'|\d+(\.\d+)?", "#", self.cause)


class Note(NamedTuple):
    """Something in a run that is no message: an event, an order, a report, a kill."""

    at: float
    what: str
    who: str
    text: str


@dataclass
class OrderTrack:
    """An order and what became of it: when it was given, accepted, taken back and ended, in s."""

    id: str
    begin: str
    end: str
    load: str
    accepted: float | None = None
    asked_back: float | None = None
    ended: float | None = None
    status: str = ""


@dataclass
class Outcome:
    """What came of a run."""

    case: Case
    failure: Failure | None
    seconds: float
    """Simulated time."""
    states: Counter[str]
    transitions: Counter[str]
    moments: list[Moment]
    messages: list[Message]
    notes: list[Note]
    orders: dict[str, OrderTrack]

    @property
    def ended(self) -> Counter[str]:
        """How many orders ended how."""
        return Counter(order.status or "open" for order in self.orders.values())

    @property
    def digest(self) -> str:
        """Of all messages, reports, kills and times, and of how it ended: equal runs have equal ones."""
        lines = [f"{one.at:.6f} {one.sender} {one.vehicle} {one.topic} {one.came} {one.text}" for one in self.messages]
        # The text of a failure may have addresses of objects, which are others in each run.
        lines += [str(note) for note in self.notes if note.what != "failure"]
        lines.append(str(self.failure and (self.failure.group, self.failure.at)))
        return sha256("\n".join(lines).encode()).hexdigest()


class Seen(BaseException):
    """Ends a run: an oracle has seen a failure. It passes through the manager, in whose call that may have been."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.text)
        self.failure = failure


class LabRun:
    """One run. Oracles are given it as their view of the world: what is public here is for them."""

    def __init__(self, lab: LabSettings, case: Case, oracles: Sequence[Callable[[LabRun], Any]]) -> None:
        self.settings, self.case, self.site, self.rules = lab, case, lab.site, lab.rules
        self.now = 0.0
        self.vehicles = case.vehicles
        self.index = {name: index for index, name in enumerate(case.vehicles)}
        self.orders = {
            order["id"]: OrderTrack(order["id"], order["from"], order["to"], f"load_{order['id']}")
            for order in case.orders
        }
        self.notes: list[Note] = []
        self._failure: Failure | None = None
        starts = lab.starts()
        self.starts = {name: starts[int(name[1:])] for name in case.vehicles}
        self._ros: Any = None
        if lab.manager.ros:
            from fleet_sim.apps.lab.ros import RosWorld

            self._ros = RosWorld(self._scenario())
            self.sim = self._ros.simulation
        else:
            self.sim = MultiRobotSimulationCore.from_dict(self._scenario())
        self._desk: VehicleDesk = self.sim.get_manager("vda5050")
        self._rows = np.array([self._desk.vehicle(name).row for name in case.vehicles], np.int64)
        self.bus = Bus(STEP)
        self.states, self.transitions = Counter[str](), Counter[str]()
        self._latest: dict[str, tuple[str, dict[str, Any]]] = {}
        self._moments: list[Moment] = []
        self._loads: dict[str, SimObject] = {}
        self._to_do = [dict(event, number=index) for index, event in enumerate(in_order(case.events))]
        self._coming = sorted(case.orders, key=lambda order: order["at"])
        self._taken_back = sorted(
            (order for order in case.orders if order["cancel"] is not None), key=lambda order: order["cancel"]
        )
        self.quiet_from = max(case.at_times(), default=0.0)
        """When the last disturbance is over, as far as the schedule says."""
        self._session = VehicleSession(self.sim, partial(BusLink, self.bus))
        self.oracles = [make(self) for make in oracles]
        self._listeners = {
            name: [getattr(oracle, name) for oracle in self.oracles]
            for name in ("told", "sent", "came", "order", "cancel", "report", "life", "event", "step", "end")
        }
        # At last, as it may start a broker, which `run` ends.
        self.host = self._make_host()

    # ---- what oracles look at ----------------------------------------------------------------------------------------

    @property
    def positions(self) -> Floats:
        """Where the vehicles are (N, 2), in m, in the order of `vehicles`."""
        places: Floats = self.sim.world.position[self._rows, :2]
        return places

    def place(self, vehicle: str) -> Floats:
        """Where a vehicle is (x, y), in m."""
        return self.positions[self.index[vehicle]]

    def is_given(self, order: str) -> bool:
        """Return whether the manager was given an order: until then there is no load."""
        return order in self._loads

    def load(self, order: str) -> tuple[Floats, str]:
        """Return where the load of an order is, and which vehicle has it, "" for none."""
        return np.array(self._loads[order].position[:2]), self.carrier(order)

    def carrier(self, order: str) -> str:
        """Return which vehicle has the load of an order, "" for none."""
        holder = self._loads[order].attached_to
        return "" if holder is None else str(holder.name)

    def lies_at(self, order: str, node: str, reach: float = 1.0) -> bool:
        """Return whether the load of an order lies at a node."""
        place, carrier = self.load(order)
        return not carrier and hypot_of(*(place - self.site["nodes"][node]).tolist()) <= reach

    def troubled(self) -> bool:
        """Return whether a disturbance is under way, or the manager is away."""
        if not self.host.alive or self.bus.manager_down:
            return True
        return any(event["at"] <= self.now <= end_of(event) for event in self.case.events)

    def fail(self, oracle: Any, cause: str, text: str) -> None:
        """End the run: `oracle` has seen something that must never happen."""
        self._failure = self._failure or Failure(oracle.name, oracle.sentence, cause, text, round(self.now, 3))
        raise Seen(self._failure)

    # ---- the run -----------------------------------------------------------------------------------------------------

    def run(self, until: float = math.inf) -> Outcome:
        """Run the case to its end or the first failure; at `until` (s) it is given up, without a last look."""
        failure = None
        try:
            self._begin()
            while not self._is_over() and self.now < until:
                self._step()
            if self.now < until:
                self._listen("end")
        except Seen as seen:
            failure = seen.failure
            self._note("failure", "", failure.text)
        finally:
            self.host.close()
            self._session.close()
            (self.sim if self._ros is None else self._ros).close()
        return Outcome(
            self.case,
            failure,
            self.now,
            self.states,
            self.transitions,
            self._moments,
            self.bus.messages,
            self.notes,
            self.orders,
        )

    def _begin(self) -> None:
        bus = self.bus
        bus.on_told, bus.on_sent = self._told, lambda message: self._listen("sent", message)
        bus.on_came = lambda message: self._listen("came", message)
        bus.to_manager = lambda topic, payload, retain: self._call("on_message", topic, payload, self.now, retain)
        bus.on_connection = lambda online: self._call("on_connection", online, self.now)
        self._start()

    def _step(self) -> None:
        """Let a step pass: what goes wrong, messages, orders, the manager's time, the world."""
        self.now = self.bus.now = self.sim.sim_time
        while self._to_do and self._to_do[0]["at"] <= self.now + 1e-9:
            self._disturb(self._to_do.pop(0))
        self.bus.deliver(self.now)
        self._give_orders()
        tick = round(self.now / STEP)
        if tick % round(MANAGER_STEP / STEP) == 0:
            self._call("on_time", self.now)
        self._watched(lambda: self.host.pace(self.now))
        self._watched(self.sim.step_once)
        self.now = self.bus.now = self.sim.sim_time
        self._listen("step")
        if self._failure is not None:
            # The manager caught what passed through it.
            raise Seen(self._failure)

    def _is_over(self) -> bool:
        open_orders = [order for order in self.orders.values() if order.ended is None]
        if self._coming or self._to_do or not self.host.alive or self.now < self.quiet_from:
            return self.now >= self._latest_end()
        if open_orders:
            return self.now >= self._latest_end()
        last = max((order.ended or 0.0 for order in self.orders.values()), default=0.0)
        return self.now >= max(last, self.quiet_from) + AFTERWARDS

    def _latest_end(self) -> float:
        accepted = [order.accepted for order in self.orders.values() if order.accepted is not None]
        coming = [order["at"] for order in self._coming]
        return max(self.quiet_from, *accepted, *coming, 0.0) + self.rules.end_within

    # ---- the manager -------------------------------------------------------------------------------------------------

    def _make_host(self) -> ManagerHost:
        about = [buses.about(self._desk.vehicle(name).identity, self.starts[name]) for name in self.case.vehicles]
        given = self.settings.manager
        if given.ros:
            from fleet_sim.apps.lab.ros import RosHost

            return RosHost(self._ros, given, self.site, about, self.bus.manager_did, self._report, STEP)
        if given.command:
            from fleet_sim.apps.lab.process import ProcessHost

            return ProcessHost(given, self.site, about, self.bus.manager_sends, self._report, STEP)

        def make(*about: Any) -> Any:
            # What a class keeps in variables of its module is gone with its process, and with its run.
            cls = class_at(given.python, "manager.python", self.settings.source, anew=True)
            return cls(*about, **given.options)

        return InProcess(make, self.site, about, self.bus.manager_sends, self._report, self.rules.call_within)

    def _start(self) -> None:
        self._note("start", buses.MANAGER, "the manager starts")
        self._listen("life", "start")
        self.host.start(self.now)
        self._look_after()
        if self.host.alive:
            self.bus.manager_joins()

    def _call(self, name: str, *given: Any) -> bool:
        return bool(self._watched(lambda: self.host.call(name, *given)))

    def _watched(self, act: Callable[[], object]) -> object:
        """Do something in which the manager may end; see it if it has."""
        alive = self.host.alive
        done = act()
        if alive and not self.host.alive:
            self._died()
        return done

    def _look_after(self) -> None:
        if self.host.crash:
            self._listen("life", "crash")

    def _died(self) -> None:
        """The manager ended: by itself, or as it was killed after some messages."""
        self._look_after()
        self._gone()

    def _gone(self) -> None:
        self.bus.manager_leaves()
        self._note("kill", buses.MANAGER, "the manager is killed")
        self._listen("life", "kill")
        self.bus.at(self.now + self._down, self._start)
        self.quiet_from = max(self.quiet_from, self.now + self._down)

    _down = 1.0

    def _kill(self, event: Event) -> None:
        if not self.host.alive:
            return
        self._down = float(event["lasts"])
        after = int(event.get("after", 0))
        self.host.kill(after)
        if not self.host.alive:
            self._gone()
        elif after:
            life = len(self.notes)
            self.bus.at(self.now + KILL_AT_LAST, lambda: self._kill_at_last(event, life))

    def _kill_at_last(self, event: Event, life: int) -> None:
        if not any(note.what == "kill" for note in self.notes[life:]):
            self._kill({**event, "after": 0})

    # ---- orders ------------------------------------------------------------------------------------------------------

    def _give_orders(self) -> None:
        while self._coming and self._coming[0]["at"] <= self.now + 1e-9:
            order = self._coming[0]
            track = self.orders[order["id"]]
            if track.id not in self._loads:
                self._loads[track.id] = self._spawn(track)
            plain = {"id": track.id, "load": track.load, "from": track.begin, "to": track.end}
            if not self._call("order", plain, self.now):
                # Nobody is there; the same order comes again.
                return
            self._coming.pop(0)
            track.accepted = self.now
            self._note("order", buses.MANAGER, f"order {track.id}: {track.begin} to {track.end}")
            self._listen("order", track)
        while self._taken_back and self._taken_back[0]["cancel"] <= self.now + 1e-9:
            track = self.orders[self._taken_back[0]["id"]]
            if track.accepted is None or track.ended is not None:
                if track.ended is None and self._coming:
                    return
                self._taken_back.pop(0)
                continue
            # Before the call, as its answer may come in it.
            track.asked_back = self.now
            if not self._call("cancel", track.id, self.now):
                track.asked_back = None
                return
            self._taken_back.pop(0)
            self._note("cancel", buses.MANAGER, f"order {track.id} is taken back")
            self._listen("cancel", track)

    def _report(self, order: str, status: str, reason: str) -> None:
        self._note("report", buses.MANAGER, f"order {order}: {status}{f' ({reason})' if reason else ''}")
        self._listen("report", str(order), str(status), str(reason))
        track = self.orders.get(str(order))
        if track is not None and track.ended is None and status in ENDS:
            track.ended, track.status = self.now, status

    def _spawn(self, track: OrderTrack) -> SimObject:
        x, y = self.site["nodes"][track.begin]
        return SimObject.from_params(SimObjectSpawnParams(name=track.load, initial_pose=Pose([x, y, 0.3])), self.sim)

    # ---- what goes wrong ---------------------------------------------------------------------------------------------

    def _disturb(self, event: Event) -> None:
        kind, on, bus = event["do"], event["on"], self.bus
        self._note("disturbed", on, described(event))
        self._listen("event", event)
        if kind in OF_MESSAGES:
            bus.disturb(kind, on, event["way"], event["count"], event.get("by", 0.0), self.now + WAITS)
        elif kind == "cut":
            bus.cut(on, event["lasts"], event["told"])
        elif kind in ("old_state", "old_order", "garbage"):
            bus.retain_junk(kind, on, event.get("way", "from"))
        elif kind == "cut_manager":
            bus.cut_manager(event["lasts"])
        elif kind == "broker_restart":
            bus.restart_broker(event["lasts"], event["keeps"] == "yes")
        elif kind == "kill":
            self._kill(event)
        else:
            given = {key: value for key, value in event.items() if key not in ("at", "do", "on", "number")}
            entry = {"kind": kind, "robots": [on], **given}
            self.sim.inbox.put(Disturb(entry=entry, id=f"event_{event['number']}", source="lab"))

    # ---- what is listened to -----------------------------------------------------------------------------------------

    def _listen(self, name: str, *given: Any) -> None:
        for listener in self._listeners[name]:
            try:
                listener(*given)
            except Exception as error:  # oracles are code of others, too, and the manager is not to blame
                self.fail(listener.__self__, f"the oracle itself fails: {brief(error)}", traceback.format_exc(limit=-4))

    def _note(self, what: str, who: str, text: str) -> None:
        self.notes.append(Note(round(self.now, 3), what, who, text))

    def _told(self, message: Message) -> None:
        """See a state as its vehicle wrote it."""
        values = json.loads(message.text)
        name = message.vehicle
        signature = signature_of(values)
        before = self._latest.get(name)
        self.states[signature] += 1
        if before is not None:
            if before[0] != signature:
                self.transitions[f"{before[0]} > {signature}"] += 1
            self._moments += [Moment(self.now, what, name) for what in changes(before[1], values)]
        self._latest[name] = signature, values
        self._listen("told", message, values)

    def latest(self, vehicle: str) -> dict[str, Any]:
        """Return the latest state that a vehicle wrote; {} before the first."""
        known = self._latest.get(vehicle)
        return {} if known is None else known[1]

    def _scenario(self) -> dict[str, Any]:
        given, nodes = self.settings.vehicles, self.site["nodes"]
        drive = {"differential": "differential", "omni": "omni"}[given.drive]
        robots = [
            {
                "name": name,
                "pose": [*nodes[self.starts[name]], 0.1],
                "shape": {"shape_type": "cylinder", "radius": given.radius, "height": 0.2},
                "controller": {
                    "type": drive,
                    "max_linear_vel": given.speed,
                    "max_linear_accel": 1.0,
                    "max_angular_vel": 3.0,
                    "navigation_2d": True,
                },
                **({"battery": given.battery} if given.battery else {}),
            }
            for name in self.case.vehicles
        ]
        fleet = {
            "robots": "all",
            "version": str(given.version),
            "manufacturer": given.manufacturer,
            "state_interval": given.state_interval,
        }
        # Touches are found from poses; loads collide with nothing.
        plain = {"timestep": STEP, "monitor": False, "gui": False, "target_rtf": 0, "seed": self.case.seed}
        plain["collision_check_frequency"] = 0.0
        # Over ROS, states of VDA 5050 are still what coverage and bursts count; nobody else gets them.
        ros = {"per_robot": "none", "rates": {"fleet_states": 5.0}}
        return {"simulation": plain, "robots": robots, "vda5050": {"fleets": [fleet]}, "ros": ros}


def described(event: Event) -> str:
    """Return an event in a line."""
    rest = ", ".join(f"{key} {value}" for key, value in event.items() if key not in ("at", "do", "on", "number"))
    return f"{event['do']} {event['on']}" + (f" ({rest})" if rest else "")


# What a state says of the protocol: coverage counts these.


def signature_of(values: dict[str, Any]) -> str:
    """Return the kind of a state of a vehicle, in words."""
    nodes = values.get("nodeStates", [])
    base = sum(node["released"] for node in nodes)
    actions = sorted({entry["actionStatus"].lower() for entry in values["actionStates"]})
    errors = sorted({error["errorType"] for error in values["errors"]})
    words = [
        "no order" if not values["orderId"] else ("order" if nodes else "order done"),
        f"base {'0' if not base else '1' if base == 1 else 'more'}{' and horizon' if len(nodes) > base else ''}",
        "drives" if values["driving"] else "stands",
        *(["paused"] if values.get("paused") else []),
        *(f"action {status}" for status in actions),
        *errors,
        values["operatingMode"].lower(),
    ]
    return ", ".join(words)


def changes(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Return which changes of state a burst of faults may aim at lie between two states."""
    found = []
    if after["orderId"] != before["orderId"]:
        found.append("accept")
    elif after["orderUpdateId"] != before["orderUpdateId"]:
        found.append("update")
    if before["nodeStates"] and not after["nodeStates"]:
        found.append("arrive")
    known = {entry["actionId"]: entry["actionStatus"] for entry in before["actionStates"]}
    for entry in after["actionStates"]:
        if entry["actionStatus"] != known.get(entry["actionId"]):
            kind = "cancel" if entry["actionType"] == "cancelOrder" else "action"
            found.append(f"{kind} {entry['actionStatus'].lower()}")
    return found


def without_vehicles(case: Case, left_out: Sequence[str]) -> Case:
    """Return a case without some vehicles, and without what disturbs them."""
    return replace(
        case,
        vehicles=[name for name in case.vehicles if name not in left_out],
        events=[event for event in case.events if event["on"] not in left_out],
    )

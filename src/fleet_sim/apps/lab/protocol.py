"""Oracle, the base of all that watches a run, and the rules of VDA 5050: what managers and vehicles may say."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from fleet_sim.apps.lab.bus import Message
    from fleet_sim.apps.lab.faults import Event
    from fleet_sim.apps.lab.run import LabRun, OrderTrack


class Oracle:
    """Base of oracles. It calls `fail` with a cause in a few words, which failures are grouped by, and all the rest."""

    name: ClassVar[str] = ""
    sentence: ClassVar[str] = ""

    def __init__(self, lab: LabRun) -> None:
        self.lab = lab

    def fail(self, cause: str, text: str) -> None:
        """End the run."""
        self.lab.fail(self, cause, text)

    def told(self, message: Message, state: dict[str, Any]) -> None:
        """A vehicle has written a state; it may come late, twice or never."""

    def sent(self, message: Message) -> None:
        """The manager has published a message."""

    def came(self, message: Message) -> None:
        """A message has come to the manager, or one of the manager's to its vehicle."""

    def order(self, track: OrderTrack) -> None:
        """The manager has accepted an order."""

    def cancel(self, track: OrderTrack) -> None:
        """The manager was given back an order."""

    def report(self, order: str, status: str, reason: str) -> None:
        """The manager reports how an order ended."""

    def life(self, what: str) -> None:
        """The manager: `start`, `kill` or `crash`."""

    def event(self, event: Event) -> None:
        """A disturbance begins."""

    def step(self) -> None:
        """A time step is over."""

    def end(self) -> None:
        """The run is over."""


# What messages say.


TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
BLOCKING = ("NONE", "SOFT", "SINGLE", "HARD")
ENDED = ("FINISHED", "FAILED")
TEXT, COUNT, BOOL, LIST, NUMBER = (str,), (int,), (bool,), (list,), (int, float)
HEADER = {"headerId": COUNT, "timestamp": TEXT, "version": TEXT, "manufacturer": TEXT, "serialNumber": TEXT}
ORDER = {"orderId": TEXT, "orderUpdateId": COUNT, "nodes": LIST, "edges": LIST}
NODE = {"nodeId": TEXT, "sequenceId": COUNT, "released": BOOL, "actions": LIST}
EDGE: dict[str, tuple[type, ...]] = {"edgeId": TEXT, "sequenceId": COUNT, "released": BOOL, "actions": LIST}
ENDS: dict[str, tuple[type, ...]] = {"startNodeId": TEXT, "endNodeId": TEXT}
"""Edges have these to version 2.1."""
ACTION = {"actionType": TEXT, "actionId": TEXT, "blockingType": TEXT}


@lru_cache(maxsize=64)
def values_in(text: str) -> Any:
    """Return what a message says; None where it is no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def actions_in(message: Message) -> list[dict[str, Any]]:
    """Return the actions of an order or of instant actions, as far as they can be read."""
    values = values_in(message.text)
    if not isinstance(values, dict):
        return []
    parts = [values, *_dicts(values.get("nodes")), *_dicts(values.get("edges"))]
    return [action for part in parts for action in _dicts(part.get("actions"))]


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def loads_in(message: Message) -> dict[str, str]:
    """Return the loadId of each action of an order that the manager sent; nothing where it cannot be read."""
    return {
        str(action["actionId"]): str(item["value"])
        for action in actions_in(message)
        for item in _dicts(action.get("actionParameters"))
        if item.get("key") == "loadId" and "actionId" in action and "value" in item
    }


class MasterRules(Oracle):
    """Reads every message of the manager. What was lost on the way cannot be held against it."""

    name = "protocol"
    sentence = "The manager keeps the rules of VDA 5050."

    def __init__(self, lab: LabRun) -> None:
        super().__init__(lab)
        self._numbers: dict[tuple[str, str], int] = {}
        self._sent: dict[tuple[str, str], dict[int, dict[str, Any]]] = {}
        """By vehicle and order: what was sent, by update id."""
        self._taken: dict[tuple[str, str], int] = {}
        """By vehicle and order: the update that the vehicle has."""
        self._shown: dict[str, dict[str, Any]] = {}
        """The newest state of each vehicle that has come to the manager since it was started."""
        self._instants: dict[tuple[str, str], Any] = {}
        self._cancelled: dict[str, set[str]] = {name: set() for name in lab.vehicles}
        self._cancelling: set[tuple[str, str]] = set()

    def life(self, what: str) -> None:
        if what == "start":
            # A new one may count anew, and knows only what comes to it.
            self._numbers, self._shown = {}, {}

    def came(self, message: Message) -> None:
        if message.sender != message.vehicle or message.topic != "state":
            return
        state, vehicle = values_in(message.text), message.vehicle
        before = self._shown.get(vehicle)
        if before is None or state["headerId"] >= before["headerId"]:
            self._shown[vehicle] = state
        for entry in [*state["actionStates"], *state.get("instantActionStates", ())]:
            key = vehicle, entry["actionId"]
            is_over = entry["actionType"] == "cancelOrder" and entry["actionStatus"] == "FINISHED"
            if is_over and key in self._instants and key not in self._cancelling:
                # Of the order that the vehicle had at that time: later states tell of the next one.
                self._cancelling.add(key)
                self._cancelled[vehicle].add(state["orderId"])

    def told(self, message: Message, state: dict[str, Any]) -> None:
        vehicle = message.vehicle
        self._taken[vehicle, state["orderId"]] = state["orderUpdateId"]
        # A vehicle that was switched on anew counts its states anew, and has no order.
        shown = self._shown.get(vehicle)
        if shown is not None and state["headerId"] < shown["headerId"]:
            del self._shown[vehicle]

    def sent(self, message: Message) -> None:
        if not message.vehicle or message.topic not in ("order", "instantActions", "zoneSet", "responses"):
            self.fail("wrong topic", f"nobody listens on the topic {message.topic!r}")
        values = values_in(message.text)
        if not isinstance(values, dict):
            self.fail(
                "no JSON object", f"{message.topic} to {message.vehicle} is no JSON object: {message.text[:80]!r}"
            )
            return
        self._check_header(message, values)
        if message.topic == "order":
            self._check_order(message, values)
        elif message.topic == "instantActions":
            self._check_instants(message, values)

    def _require(self, message: Message, values: Any, fields: Mapping[str, tuple[type, ...]], where: str) -> None:
        """Fail unless `values` has these fields, of these types."""
        if not isinstance(values, dict):
            self.fail(
                f"{message.topic}: {where} is no object", f"{where} of {message.topic} to {message.vehicle}: {values!r}"
            )
        for name, kinds in fields.items():
            value = values.get(name)
            # true is a number in Python.
            if not isinstance(value, kinds) or (isinstance(value, bool) and kinds != BOOL):
                what = "is missing" if name not in values else f"is {value!r}"
                self.fail(
                    f"{message.topic}: {name} is missing or wrong",
                    f"{where}{name} of {message.topic} to {message.vehicle} {what}",
                )

    def _check_header(self, message: Message, values: dict[str, Any]) -> None:
        self._require(message, values, HEADER, "")
        identity = self.lab.bus.lines[message.vehicle].identity
        version = self.lab.bus.lines[message.vehicle].heads.version.number
        expected = {"version": version, "manufacturer": identity.manufacturer, "serialNumber": identity.serial}
        for name, value in expected.items():
            if values[name] != value:
                self.fail(
                    f"{name} is wrong",
                    f"{name} of {message.topic} to {message.vehicle} is {values[name]!r}, not {value!r}",
                )
        if not TIMESTAMP.fullmatch(values["timestamp"]):
            self.fail("timestamp is wrong", f"timestamp to {message.vehicle} is {values['timestamp']!r}")
        key = message.vehicle, message.topic
        before, number = self._numbers.get(key), values["headerId"]
        if before is not None and not (0 < (number - before) % 2**32 < 2**31):
            self.fail(
                "headerId does not rise", f"headerId of {message.topic} to {message.vehicle} is {number} after {before}"
            )
        self._numbers[key] = number

    def _check_order(self, message: Message, values: dict[str, Any]) -> None:
        self._require(message, values, ORDER, "")
        nodes, edges, third = values["nodes"], values["edges"], values["version"].startswith("3")
        text = f"order {values['orderId']!r}, update {values['orderUpdateId']}, to {message.vehicle}"
        for index, node in enumerate(nodes):
            self._require(message, node, NODE, f"nodes[{index}].")
        for index, edge in enumerate(edges):
            self._require(message, edge, EDGE if third else EDGE | ENDS, f"edges[{index}].")
        if not nodes or len(edges) != len(nodes) - 1:
            self.fail("nodes and edges do not fit", f"{text} has {len(nodes)} nodes and {len(edges)} edges")
        first = nodes[0]["sequenceId"]
        numbers = [node["sequenceId"] for node in nodes], [edge["sequenceId"] for edge in edges]
        if first % 2 or numbers[0] != list(range(first, first + 2 * len(nodes), 2)):
            self.fail("sequence ids are wrong", f"{text} has nodes with sequence ids {numbers[0]}")
        if numbers[1] != list(range(first + 1, first + 2 * len(edges), 2)):
            self.fail("sequence ids are wrong", f"{text} has edges with sequence ids {numbers[1]}")
        for edge, start, end in () if third else zip(edges, nodes, nodes[1:], strict=False):
            if (edge["startNodeId"], edge["endNodeId"]) != (start["nodeId"], end["nodeId"]):
                self.fail("an edge joins other nodes", f"{text}: edge {edge['edgeId']!r} does not join its neighbours")
        released = [part["released"] for part in sorted([*nodes, *edges], key=lambda part: part["sequenceId"])]
        if not released[0] or sorted(released, reverse=True) != released or sum(released) % 2 == 0:
            self.fail("base and horizon are mixed", f"{text}: released are {released}")
        self._check_actions(message, actions_in(message), text)
        self._check_update(message, values, text)

    def _check_actions(self, message: Message, actions: list[dict[str, Any]], text: str) -> None:
        known: set[str] = set()
        for action in actions:
            self._require(message, action, ACTION, "action: ")
            if action["blockingType"] not in BLOCKING:
                self.fail("blockingType is wrong", f"{text}: blockingType {action['blockingType']!r}")
            if action["actionId"] in known:
                self.fail("an actionId twice", f"{text}: two actions are called {action['actionId']!r}")
            known.add(action["actionId"])

    def _check_update(self, message: Message, values: dict[str, Any], text: str) -> None:
        vehicle, order, update = message.vehicle, values["orderId"], values["orderUpdateId"]
        known = self._sent.setdefault((vehicle, order), {})
        if order in self._cancelled[vehicle]:
            self.fail(
                "update after the cancel", f"{text}: that order was cancelled, as the vehicle has told the manager"
            )
        same = known.get(update)
        content = {name: values[name] for name in ("nodes", "edges")}
        if same is not None and same != content and update <= self._taken.get((vehicle, order), -1):
            self.fail("update id reused", f"{text}: another content was sent under this update id before")
        before = [known[number] for number in known if number < update]
        if same is None and before:
            start = values["nodes"][0]["nodeId"], values["nodes"][0]["sequenceId"]
            ends = [_decision(given) for given in before]
            if start not in ends:
                self.fail(
                    "update does not continue",
                    f"{text} begins at {start[0]!r} ({start[1]}); the base ends at {ends[-1][0]!r} ({ends[-1][1]})",
                )
        if same is None and not known:
            self._check_new(vehicle, order, text)
        known[update] = content

    def _check_new(self, vehicle: str, order: str, text: str) -> None:
        """Fail where a new order comes to a vehicle that has another one, as it has told the manager."""
        state = self._shown.get(vehicle)
        if state is None or state["orderId"] == order:
            return
        waiting = any(entry["actionStatus"] not in ENDED for entry in state["actionStates"])
        if state["nodeStates"] or (waiting and not _only_instants(state)):
            self.fail(
                "a new order while another is active", f"{text}: the vehicle has told that it does {state['orderId']!r}"
            )

    def _check_instants(self, message: Message, values: dict[str, Any]) -> None:
        self._require(message, values, {"actions": LIST}, "")
        text = f"instantActions to {message.vehicle}"
        self._check_actions(message, values["actions"], text)
        for action in values["actions"]:
            key = message.vehicle, action["actionId"]
            if self._instants.setdefault(key, action) != action:
                self.fail("instant action id reused", f"{text}: {action['actionId']!r} was another action before")


def _only_instants(state: dict[str, Any]) -> bool:
    """Return whether all actions that have not ended are ones of instant messages, which have no nodes."""
    types = {entry["actionType"] for entry in state["actionStates"] if entry["actionStatus"] not in ENDED}
    return types <= {"cancelOrder", "startPause", "stopPause", "stateRequest", "factsheetRequest", "initPosition"}


def _decision(content: dict[str, Any]) -> tuple[str, int]:
    """Return the last released node of an order: where an update continues."""
    node = [node for node in content["nodes"] if node["released"]][-1]
    return node["nodeId"], node["sequenceId"]


class VehicleRules(Oracle):
    """Reads every state as its vehicle wrote it: faults of the simulator itself would be seen here."""

    name = "vehicle"
    sentence = "The vehicles keep the rules of VDA 5050."
    ORDER = ("WAITING", "INITIALIZING", "RUNNING", "PAUSED", "RETRIABLE", "FINISHED", "FAILED")

    def __init__(self, lab: LabRun) -> None:
        super().__init__(lab)
        self._latest: dict[str, dict[str, Any]] = {}
        self._asked: dict[tuple[str, str], float] = {}

    def came(self, message: Message) -> None:
        if message.topic == "instantActions" and message.sender != message.vehicle:
            for action in actions_in(message):
                self._asked.setdefault((message.vehicle, str(action.get("actionId"))), self.lab.now)

    def told(self, message: Message, state: dict[str, Any]) -> None:
        name = message.vehicle
        before, self._latest[name] = self._latest.get(name), state
        for entry in state["actionStates"]:
            self._asked.pop((name, entry["actionId"]), None)
        for entry in state.get("instantActionStates", ()):
            self._asked.pop((name, entry["actionId"]), None)
        if before is None or state["headerId"] == 0 or state["headerId"] < before["headerId"]:
            return
        if state["headerId"] != before["headerId"] + 1:
            self.fail("headerId leaps", f"{name}: state {state['headerId']} follows {before['headerId']}")
        if state["orderId"] == before["orderId"]:
            self._compare(name, before, state)

    def _compare(self, name: str, before: dict[str, Any], state: dict[str, Any]) -> None:
        for key in ("orderUpdateId", "lastNodeSequenceId"):
            if state[key] < before[key]:
                self.fail(
                    f"{key} falls", f"{name}: {key} {state[key]} follows {before[key]} in order {state['orderId']!r}"
                )
        known = {entry["actionId"]: entry["actionStatus"] for entry in before["actionStates"]}
        for entry in state["actionStates"]:
            was = known.get(entry["actionId"])
            if was in ENDED and entry["actionStatus"] != was:
                self.fail(
                    "an ended action goes on", f"{name}: {entry['actionId']!r} is {entry['actionStatus']} after {was}"
                )

    def end(self) -> None:
        for (name, action), at in self._asked.items():
            if self.lab.now > at + 30.0 and not self.lab.bus.lines[name].down:
                errors = [error["errorType"] for error in self._latest.get(name, {}).get("errors", ())]
                if not errors and not any(event["on"] == name for event in self.lab.case.events):
                    self.fail("instant action not answered", f"{name} never answered the instant action {action!r}")

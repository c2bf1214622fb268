"""Managers for tests of the lab: one that does its orders one after the other, and ones with a fault each."""

from __future__ import annotations

import json
import time
import weakref
from collections import deque
from contextlib import suppress
from itertools import pairwise
from typing import Any


class Manager:
    """Sends one vehicle for all orders, the whole way at once; the other vehicles stay where they are."""

    def __init__(self, site: Any, vehicles: Any, publish: Any, report: Any, storage: Any) -> None:
        self.site, self.publish, self.report, self.storage = site, publish, report, storage
        self.vehicle = vehicles[0]
        storage.setdefault("orders", [])
        storage.setdefault("sent", {})
        storage.setdefault("count", 0)
        self.state: dict[str, Any] = {}

    def on_connection(self, online: bool, now: float) -> None:
        """Nothing depends on it."""

    def on_message(self, topic: str, payload: bytes, now: float, retained: bool = False) -> None:
        if topic != f"{self.vehicle['prefix']}/state" or retained:
            return
        try:
            self.state = json.loads(payload)
        except ValueError:
            return
        sent = self.storage["sent"]
        if sent and self.state["orderId"] == sent["orderId"] and not self.state["nodeStates"]:
            actions = {one["actionId"]: one["actionStatus"] for one in self.state["actionStates"]}
            if actions.get(f"{sent['orderId']}-drop") == "FINISHED":
                order = self.storage["orders"].pop(0)
                self.storage["sent"] = {}
                self.report(order["id"], "finished")

    def on_time(self, now: float) -> None:
        if self.storage["sent"]:
            if now - self.storage["at"] > 5.0 and self.state.get("orderId") != self.storage["sent"]["orderId"]:
                self.send(now)
        elif self.storage["orders"] and self.state and not self.state["nodeStates"]:
            self.begin(self.storage["orders"][0], now)

    def order(self, order: dict[str, Any], now: float) -> None:
        if order["id"] not in [known["id"] for known in self.storage["orders"]]:
            self.storage["orders"].append(order)

    def cancel(self, order: str, now: float) -> None:
        """It brings what it was given."""

    def begin(self, order: dict[str, Any], now: float) -> None:
        place = self.state["agvPosition"]
        start = min(self.site["nodes"], key=lambda name: self.gap(name, place))
        first = self.route(start, order["from"])
        way = first + self.route(order["from"], order["to"])[1:]
        self.storage["count"] += 1
        name = f"{order['id']}.{self.storage['count']}"
        self.storage["sent"] = {
            "orderId": name,
            "orderUpdateId": 0,
            "nodes": [self.node(name, order, way, index, len(first) - 1) for index in range(len(way))],
            "edges": [
                {
                    "edgeId": f"{one}-{other}",
                    "sequenceId": 2 * index + 1,
                    "released": True,
                    "startNodeId": one,
                    "endNodeId": other,
                    "actions": [],
                }
                for index, (one, other) in enumerate(pairwise(way))
            ],
        }
        self.send(now)

    def node(self, name: str, order: dict[str, Any], way: list[str], index: int, pick: int) -> dict[str, Any]:
        kind = "pick" if index == pick else "drop" if index == len(way) - 1 else ""
        load = [{"key": "loadId", "value": order["load"]}]
        action = {"actionType": kind, "actionId": f"{name}-{kind}", "blockingType": "HARD", "actionParameters": load}
        x, y = self.site["nodes"][way[index]]
        position = {"x": x, "y": y, "mapId": self.site["map"], "allowedDeviationXY": 0.5}
        return {
            "nodeId": way[index],
            "sequenceId": 2 * index,
            "released": True,
            "nodePosition": position,
            "actions": [action] if kind else [],
        }

    def gap(self, name: str, place: dict[str, float]) -> float:
        x, y = self.site["nodes"][name]
        return float((x - place["x"]) ** 2 + (y - place["y"]) ** 2)

    def route(self, start: str, end: str) -> list[str]:
        before, waiting = {start: ""}, deque([start])
        while waiting:
            node = waiting.popleft()
            for one, other in self.site["edges"]:
                if one == node and other not in before and self.passes(other, end):
                    before[other] = node
                    waiting.append(other)
        way = [end]
        while before[way[0]]:
            way.insert(0, before[way[0]])
        return way

    def passes(self, node: str, end: str) -> bool:
        # Spurs are where others stand.
        return node == end or not node.startswith("p")

    def send(self, now: float) -> None:
        self.storage["at"] = now
        self.write("order", self.storage["sent"])

    def write(self, topic: str, body: dict[str, Any]) -> None:
        self.storage["header"] = self.storage.get("header", -1) + 1
        one = self.vehicle
        head = {"headerId": self.storage["header"], "timestamp": "2026-01-01T00:00:00.000Z", "version": one["version"]}
        head |= {"manufacturer": one["manufacturer"], "serialNumber": one["serial"]}
        self.publish(f"{one['prefix']}/{topic}", json.dumps(head | body))


class Forgets(Manager):
    """Does not store what it has sent: after a kill it begins again."""

    def send(self, now: float) -> None:
        super().send(now)
        self.storage.update(orders=[dict(order) for order in self.storage["orders"]])

    def __init__(self, *given: Any) -> None:
        given[-1].pop("sent", None)
        super().__init__(*given)


class NeverAgain(Manager):
    """Sends everything once."""

    def on_time(self, now: float) -> None:
        if not self.storage["sent"]:
            super().on_time(now)


class ThroughOthers(Manager):
    """Takes ways through the spurs where other vehicles stand."""

    def begin(self, order: dict[str, Any], now: float) -> None:
        super().begin({**order, "to": "p3"}, now)


class Fragile(Manager):
    """Ends at a state that comes twice."""

    def on_message(self, topic: str, payload: bytes, now: float, retained: bool = False) -> None:
        before = self.state
        super().on_message(topic, payload, now, retained)
        if (
            before
            and self.state["headerId"] == before["headerId"]
            and topic.endswith(f"{self.vehicle['serial']}/state")
        ):
            raise ValueError(f"a state came twice, at {now}")


class Raises(Manager):
    """Cannot start."""

    def __init__(self, *given: Any) -> None:
        raise RuntimeError("no licence")


class Hangs(Manager):
    """Does not return."""

    def on_time(self, now: float) -> None:
        while now > 1.0:
            pass


class HangsInCallbacks(Manager):
    """Does not return, and is half of the time where exceptions are ignored."""

    def on_time(self, now: float) -> None:
        while now > 1.0:
            thing = HangsInCallbacks.__new__(HangsInCallbacks)
            self.kept = weakref.ref(thing, lambda _: sum(range(300_000)))
            del thing
            sum(range(100_000))


class Mute(Manager):
    """Says nothing."""

    def begin(self, order: dict[str, Any], now: float) -> None:
        """Nothing."""


class MuteAfterRestart(Manager):
    """Says nothing in its second life."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.storage["lives"] = self.storage.get("lives", 0) + 1

    def begin(self, order: dict[str, Any], now: float) -> None:
        if self.storage["lives"] == 1:
            super().begin(order, now)


class ChargesFirst(Manager):
    """Lets its vehicle charge before it does anything."""

    def begin(self, order: dict[str, Any], now: float) -> None:
        charge = self.state["batteryState"]
        if charge["batteryCharge"] > 90.0:
            super().begin(order, now)
        elif not charge["charging"]:
            action = {"actionType": "startCharging", "actionId": f"c{now}", "blockingType": "NONE"}
            self.write("instantActions", {"actions": [action | {"actionParameters": []}]})


class Floods(Manager):
    """Sends without end."""

    def on_time(self, now: float) -> None:
        super().on_time(now)
        for _ in range(20 if self.storage["sent"] else 0):
            self.send(now)


class EarlyReport(Manager):
    """Reports what it has only begun."""

    def begin(self, order: dict[str, Any], now: float) -> None:
        super().begin(order, now)
        self.report(order["id"], "finished")


class Waits(Manager):
    """Waits for what never comes."""

    def on_time(self, now: float) -> None:
        time.sleep(1e6 if now > 1.0 else 0.0)


class CatchesAll(Manager):
    """Catches whatever is raised."""

    def begin(self, order: dict[str, Any], now: float) -> None:
        with suppress(BaseException):
            self.publish("nowhere", "{}")


class ReportsAhead(Manager):
    """Reports an order that it was not given yet."""

    def begin(self, order: dict[str, Any], now: float) -> None:
        self.report("o1", "finished")


class TellsAddress(Manager):
    """Ends with words that differ from run to run."""

    def begin(self, order: dict[str, Any], now: float) -> None:
        raise ValueError(object())


class NestsDeep(Manager):
    """Writes lists in lists without end."""

    def begin(self, order: dict[str, Any], now: float) -> None:
        self.publish(f"{self.vehicle['prefix']}/order", "[" * 200_000)


class NumbersForLists(Manager):
    """Writes a number where a list should be."""

    def begin(self, order: dict[str, Any], now: float) -> None:
        actions = [{"actionId": "a", "actionParameters": 5}]
        self.publish(f"{self.vehicle['prefix']}/order", json.dumps({"nodes": [{"actions": actions}]}))

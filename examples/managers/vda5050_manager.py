"""A fleet manager by VDA 5050, 2.0 to 3.0: its vehicles bring loads from station to station along the lanes of a site.

A node belongs to one vehicle at a time. A vehicle gets all nodes to its next stop (the load, its goal, home) before the
first of them is released, and gives each back when it has passed the next one. Stations and homes, where vehicles
wait, are beside the lanes, and no way leads through them: whoever drives can go on, so nobody waits for ever.

`Manager` needs no network and no clock: it is called with messages, orders and the time. All that it has to remember is
in `storage`, and is there before it is sent. With `--help` it says how it is run at a broker.
"""

from __future__ import annotations

import argparse
import calendar
import contextlib
import json
import math
import os
import time
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Json = dict[str, Any]
Sends = Callable[..., Any]

AHEAD = 2
"""How many nodes are released ahead of the one that a vehicle has passed."""
RESEND, LATE, PATIENCE = 3.0, 6.0, 20.0
"""In s: when a message is sent again, how late one may arrive, and when a vehicle that cannot drive loses its order."""
NEAR, TRIES = 0.3, 3
"""In m: how near a node a vehicle is there; and how often a load is tried."""
LOW, ENOUGH = 20.0, 80.0
"""In %: with less charge a vehicle goes home, and until it has so much it stays there."""


def moment(text: str) -> float:
    """Return a timestamp of a message in s since 1970."""
    return calendar.timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")) + float("0" + (text[19:].rstrip("Z") or ".0"))


def read_state(message: Json) -> Json:
    """Return what counts in a state; raises KeyError or TypeError where it is none."""
    # Version 3.0 has other names for some of it.
    position = message.get("mobileRobotPosition") or message["agvPosition"]
    battery, safety = message.get("powerSupply") or message["batteryState"], message["safetyState"]
    entries = [*message["actionStates"], *message.get("instantActionStates", ())]
    actions = {one["actionId"]: one["actionStatus"] for one in entries}
    ended = all(status in ("FINISHED", "FAILED") for status in actions.values())
    refs = [{r["referenceKey"]: r["referenceValue"] for r in e.get("errorReferences", ())} for e in message["errors"]]
    return {
        "sent": moment(message["timestamp"]),
        "number": int(message["headerId"]),
        "order": message["orderId"],
        "update": int(message["orderUpdateId"]),
        "passed": int(message["lastNodeSequenceId"]) // 2,
        "node": message["lastNodeId"],
        "place": (float(position["x"]), float(position["y"])),
        "idle": ended and not message["nodeStates"] and not message["edgeStates"],
        "actions": actions,
        "loads": [load["loadId"] for load in message["loads"]],
        "charge": float(battery["stateOfCharge"] if "stateOfCharge" in battery else battery["batteryCharge"]),
        "charging": bool(battery["charging"]),
        "refused": {ref.get("orderId") for ref in refs},
        "fit": message["operatingMode"] in ("AUTOMATIC", "SEMIAUTOMATIC")
        and safety.get("eStop", safety.get("activeEmergencyStop", "NONE")) == "NONE"
        and bool(position["localized"] if "localized" in position else position["positionInitialized"])
        and all(error["errorLevel"] not in ("FATAL", "CRITICAL") for error in message["errors"]),
    }


class Manager:
    """Carries out orders: `publish(topic, text)` sends to a broker, `report(order, status, reason)` to who ordered.

    A site has `nodes` with [x, y], directed `edges`, and the `stations` among the nodes; `start` is a vehicle's home.
    """

    def __init__(self, site: Json, vehicles: list[Json], publish: Sends, report: Sends, storage: Json) -> None:
        self.places, self.map, self.storage = site["nodes"], site["map"], storage
        self.publish, self.report = publish, report
        self.after: dict[str, list[str]] = {name: [] for name in self.places}
        for begin, end in site["edges"]:
            self.after[begin].append(end)
        self.fleet = {one["serial"]: one for one in vehicles}
        self.stations = set(site["stations"])
        self.beside = self.stations | {one["start"] for one in vehicles}
        self.states: dict[str, Json] = {}  # The latest ones in this run: before there is one, a vehicle gets nothing.
        self.online: dict[str, bool] = {}
        self.unfit: dict[str, float] = {}
        self.claims: dict[str, set[str]] = {}  # Nodes that wait for a vehicle; nobody else begins with them.
        # Orders are what somebody wants, missions what vehicles were sent; without one they keep the nodes `at`.
        for key, empty in (("orders", {}), ("vehicles", {}), ("headers", {}), ("ended", []), ("count", 0)):
            storage.setdefault(key, empty)
        self.orders: dict[str, Json] = storage["orders"]
        self.vehicles: dict[str, Json] = storage["vehicles"]
        for one in vehicles:
            fresh = {"mission": None, "order": None, "cancel": None, "low": False, "sent": 0.0, "number": -1}
            self.vehicles.setdefault(one["serial"], fresh | {"at": [one["start"]]})

    # ---- orders ------------------------------------------------------------------------------------------------------

    def order(self, order: Json, now: float) -> None:
        """Accept an order, a load to bring between two stations; raises ValueError for one that cannot be done."""
        if order["id"] in self.orders or order["id"] in self.storage["ended"]:
            return
        ends = {order["from"], order["to"]}
        if len(ends) < 2 or not ends <= self.stations or not self.route([order["from"]], {order["to"]}, set()):
            raise ValueError(f"no way from {order['from']!r} to {order['to']!r}: expected two stations of the site")
        fresh = {"vehicle": None, "loaded": False, "cancel": False, "tries": 0, "failed": ""}
        self.orders[order["id"]] = order | fresh

    def cancel(self, order_id: str, now: float) -> None:
        """Take an order back, unless its load is on a vehicle already: that one is brought."""
        order = self.orders.get(order_id)
        if order is None or order["loaded"]:
            return
        order["cancel"] = True
        if order["vehicle"] is None:
            self.end(order_id, "cancelled")
        else:
            self.cancel_mission(order["vehicle"], now)

    def end(self, order_id: str, status: str, reason: str = "") -> None:
        """Report the end of an order, at least once: a crash may come in between."""
        self.report(order_id, status, reason)
        vehicle = self.orders.pop(order_id)["vehicle"]
        self.storage["ended"] = [*self.storage["ended"], order_id][-1000:]
        if vehicle is not None:
            self.vehicles[vehicle]["order"] = None

    # ---- messages ----------------------------------------------------------------------------------------------------

    def on_connection(self, online: bool, now: float) -> None:
        """Ask all vehicles for their states: what they sent meanwhile was not heard."""
        for serial in self.fleet if online else ():
            self.instant(serial, "stateRequest", self.number("s"), now)

    def on_message(self, topic: str, payload: bytes | bytearray, now: float, retained: bool = False) -> None:
        """Look at a message of a vehicle; what is none, or is older than the latest one, counts nothing."""
        prefix, _, kind = topic.rpartition("/")
        serial = next((name for name, one in self.fleet.items() if one["prefix"] == prefix), None)
        if serial is None or (retained and kind == "state"):
            return
        vehicle = self.vehicles[serial]
        try:
            message = json.loads(payload)
            if kind == "connection":
                self.online[serial] = message["connectionState"] == "ONLINE"
            if kind != "state" or message["serialNumber"] != serial:
                return
            state = read_state(message)
        except (ValueError, KeyError, TypeError, AttributeError):
            return
        if self.is_old(vehicle, state):
            return
        vehicle["sent"], vehicle["number"] = state["sent"], state["number"]
        self.online[serial], self.states[serial] = True, state
        self.see(serial, state, now)
        self.release(serial, now)

    def is_old(self, vehicle: Json, state: Json) -> bool:
        """Return whether a state came before, or is older than the latest one."""
        older: float = vehicle["sent"] - state["sent"]
        # Vehicles that are switched on anew count anew; clocks are set back by more than messages are late.
        return 0.0 < older < LATE or (older >= 0.0 and state["number"] <= vehicle["number"])

    def see(self, serial: str, state: Json, now: float) -> None:
        """Compare the state of a vehicle with its mission."""
        vehicle = self.vehicles[serial]
        mission = vehicle["mission"]
        since = self.unfit.pop(serial, now)
        if not state["fit"]:
            self.unfit[serial] = since
        if mission is not None and state["order"] == mission["id"]:
            mission["confirmed"] = max(mission["confirmed"], state["update"])
            mission["passed"] = max(mission["passed"], self.passed(mission, state))
            self.see_actions(vehicle, mission, state)
        if vehicle["cancel"] is not None:
            ended = state["actions"].get(vehicle["cancel"])
            if ended == "FINISHED" or (ended == "FAILED" and state["idle"]):
                # An order that is still under way would be begun after that.
                if mission is None or ended == "FINISHED" or now - mission["sent"] > LATE:
                    vehicle["cancel"] = None
                    self.leave_mission(serial, state)
                else:
                    vehicle["cancel"] = self.number("c")
            elif ended == "FAILED":
                vehicle["cancel"] = None
        elif mission is None:
            vehicle["at"] = self.locate(state["place"])
            if not state["idle"]:
                self.cancel_mission(serial, now)  # Nobody has sent it there.
        elif state["order"] == mission["id"]:
            if state["idle"]:
                self.leave_mission(serial, state)  # At its end, or where a person has ended it.
        elif mission["confirmed"] >= 0 or mission["id"] in state["refused"]:
            self.cancel_mission(serial, now)  # It was switched off, or does not take it.

    def passed(self, mission: Json, state: Json) -> int:
        """Return the index of the last node that a vehicle has passed."""
        index: int = min(state["passed"], mission["released"])
        # Before it has passed the first one, it may still tell the last one of another order.
        return index if mission["nodes"][index] == state["node"] else 0

    def see_actions(self, vehicle: Json, mission: Json, state: Json) -> None:
        """See whether the load was picked or dropped."""
        order_id = vehicle["order"]
        done = {stop: state["actions"].get(f"{mission['id']}-{stop}") for stop in mission["stops"]}
        if order_id is None or "drop" not in done:
            return
        self.orders[order_id]["loaded"] |= done.get("pick") == "FINISHED"
        if done.get("drop") == "FINISHED":
            self.end(order_id, "finished")
        elif (
            "FAILED" in done.values()
            and state["fit"]
            and not vehicle["cancel"]
            and self.orders[order_id]["failed"] != mission["id"]
        ):
            self.orders[order_id].update(failed=mission["id"], tries=self.orders[order_id]["tries"] + 1)

    def leave_mission(self, serial: str, state: Json) -> None:
        """Forget the mission of a vehicle; it keeps the load that it has, another order can be done by anybody."""
        vehicle = self.vehicles[serial]
        vehicle["mission"], vehicle["at"], order_id = None, self.locate(state["place"]), vehicle["order"]
        if order_id is None:
            return
        order = self.orders[order_id]
        carried = order["load"] in state["loads"]
        if order["loaded"] and not carried and vehicle["at"] == [order["to"]]:
            self.end(order_id, "finished")
        elif order["tries"] >= TRIES:
            self.end(order_id, "failed", "pick or drop failed")
        elif order["cancel"] and not carried:
            self.end(order_id, "cancelled")
        else:
            order["loaded"] = carried
            if not carried:
                vehicle["order"] = order["vehicle"] = None

    # ---- nodes -------------------------------------------------------------------------------------------------------

    def held(self, but: str) -> set[str]:
        """Return the nodes that belong to other vehicles than `but`."""
        nodes = {node for serial, claimed in self.claims.items() if serial != but for node in claimed}
        for serial, vehicle in self.vehicles.items():
            mission, order = vehicle["mission"], self.orders.get(vehicle["order"] or "")
            if serial == but:
                continue
            nodes.add(self.fleet[serial]["start"])
            nodes.update([order["to"]] if order else ())
            nodes.update(mission["nodes"][mission["passed"] : mission["reserved"] + 1] if mission else ())
            nodes.update(vehicle["at"] if mission is None or mission["passed"] == 0 else ())
        return nodes

    def locate(self, place: Iterable[float]) -> list[str]:
        """Return the node at a place, or both ends of the nearest edge."""
        nearest = min(self.places, key=lambda name: self.gap(name, place))
        if self.gap(nearest, place) <= NEAR:
            return [nearest]

        lanes = [(a, b) for a, ends in self.after.items() for b in ends]
        gap = {(a, b): self.gap(a, place) + self.gap(b, place) - self.gap(a, self.places[b]) for a, b in lanes}
        lane = min(gap, key=lambda lane: gap[lane])
        return [*lane]

    def gap(self, node: str, place: Iterable[float]) -> float:
        """Return how far a node is from a place, in m."""
        return math.dist(self.places[node], place)

    def route(self, begins: list[str], ends: set[str], held: set[str]) -> list[str]:
        """Return the shortest way, in nodes, to one of `ends` past the `held` ones; [] where there is none."""
        before = {begin: "" for begin in begins if begin not in held}
        open_nodes = deque(before)
        while open_nodes:
            node = open_nodes.popleft()
            if node in ends:
                way = [node]
                while before[way[0]]:
                    way.insert(0, before[way[0]])
                return way
            for other in self.after[node] if node not in self.beside or node in begins else ():
                if other not in before and other not in held and (other not in self.beside or other in ends):
                    before[other] = node
                    open_nodes.append(other)
        return []

    def oldest_claims(self) -> dict[str, set[str]]:
        """Return by vehicle which nodes nobody else begins with: of the orders that have waited longest.

        Who drives gives its nodes back one by one. Without claims those with short ways would always be sooner.
        """
        self.claims = {}
        claims: dict[str, set[str]] = {}
        held, able = self.held(""), [name for name, one in self.vehicles.items() if self.free(name, one)]
        standing = {node for one in self.vehicles.values() if one["mission"] is None for node in one["at"]}
        waits, comes = True, True
        for order in self.orders.values():
            serial, begin, end = order["vehicle"], order["from"], order["to"]
            mission = None if serial is None else self.vehicles[serial]["mission"]
            if mission and order["loaded"]:
                if waits and mission["passed"] == mission["reserved"] == mission["stops"].get("pick"):
                    waits, claims[serial] = False, {*self.route([begin], {end}, standing - {begin})}
            elif serial is None and comes:
                comes, serial = False, ""
                if waits and able and not held & {begin, end}:
                    serial = min(able, key=lambda name: self.gap(begin, self.states[name]["place"]))
                claims[serial] = {begin, end} - held
                if serial:
                    at = self.vehicles[serial]["at"]
                    waits, claims[serial] = False, {*self.route(at, {begin}, standing - {*at}), begin, end}
        return claims

    # ---- missions ----------------------------------------------------------------------------------------------------

    def on_time(self, now: float) -> None:
        """Send again what was not confirmed, and send vehicles where they are needed; to be called twice a second."""
        self.claims = self.oldest_claims()
        for serial, vehicle in self.vehicles.items():
            mission, state = vehicle["mission"], self.states.get(serial)
            if state is None:
                continue
            if vehicle["cancel"] is not None:
                if now - vehicle["cancel_sent"] > RESEND:
                    self.cancel_mission(serial, now)
            elif mission is not None and self.unwanted(serial, vehicle, now):
                self.cancel_mission(serial, now)
            elif mission is not None and mission["confirmed"] != mission["update"]:
                if now - mission["sent"] > RESEND:
                    self.send(serial, now)
            else:
                self.release(serial, now)
        idle = [serial for serial, vehicle in self.vehicles.items() if self.free(serial, vehicle)]
        for serial in idle:
            if self.vehicles[serial]["order"] is not None:
                self.begin(serial, now, self.orders[self.vehicles[serial]["order"]])
        for order in [one for one in self.orders.values() if one["vehicle"] is None]:
            able = [name for name in idle if self.free(name, self.vehicles[name]) and not self.low(name)]
            for serial in sorted(able, key=lambda name: self.gap(order["from"], self.states[name]["place"])):
                if self.vehicles[serial]["order"] is None and self.begin(serial, now, order):
                    break
        for serial in idle:
            if self.free(serial, self.vehicles[serial]) and self.vehicles[serial]["order"] is None:
                self.begin(serial, now, None)

    def unwanted(self, serial: str, vehicle: Json, now: float) -> bool:
        """Return whether a mission has to end early: its action failed, or another vehicle should fetch its load."""
        order = self.orders.get(vehicle["order"] or "")
        if order is None or order["failed"] == vehicle["mission"]["id"]:
            return order is not None
        return not order["loaded"] and (order["cancel"] or now - self.unfit.get(serial, now) > PATIENCE)

    def free(self, serial: str, vehicle: Json) -> bool:
        """Return whether a vehicle can be sent somewhere."""
        state = self.states.get(serial)
        ready = state is not None and state["fit"] and state["idle"] and self.online.get(serial, False)
        return ready and vehicle["mission"] is None and vehicle["cancel"] is None

    def low(self, serial: str) -> bool:
        """Return whether a vehicle has to charge before it does anything else."""
        vehicle, charge = self.vehicles[serial], self.states[serial]["charge"]
        vehicle["low"] = charge < (ENOUGH if vehicle["low"] else LOW)
        return bool(vehicle["low"])

    def begin(self, serial: str, now: float, order: Json | None) -> bool:
        """Send a vehicle to its next stop, if the way there is free; without an order, home."""
        vehicle, held, home = self.vehicles[serial], self.held(serial), self.fleet[serial]["start"]
        loaded = order is not None and order["loaded"]
        stop = home if order is None else order["to"] if loaded else order["from"]
        if order is not None and not loaded and order["to"] in held:
            return False
        name, way = "home" if order is None else order["id"], self.route(vehicle["at"], {stop}, held)
        if not way and vehicle["at"][0] not in self.beside:
            # On a lane it is in the way of others: any station that is free will do.
            order, name, way = None, "aside", self.route(vehicle["at"], self.stations - held, held)
        charges = name == "home" and self.low(serial)
        if not way or (vehicle["at"] == [home] and name == "home" and (self.states[serial]["charging"] or not charges)):
            return False
        nodes = way if len(vehicle["at"]) == 1 else ["here", *way]
        reserved = len(nodes) - 1
        stops = {"startCharging": reserved} if charges else {}
        if self.states[serial]["charging"]:
            stops["stopCharging"] = 0
        if order is not None:
            onward = [] if loaded else self.route([stop], {order["to"]}, set())[1:]
            nodes = nodes + onward
            stops |= {"drop": len(nodes) - 1} if loaded else {"pick": reserved, "drop": len(nodes) - 1}
        vehicle["mission"] = {
            "id": self.number(name), "update": 0, "confirmed": -1, "sent": now, "load": order["load"] if order else "",
            "nodes": nodes, "here": self.states[serial]["place"], "stops": stops,
            "stitch": 0, "passed": 0, "released": min(reserved, AHEAD), "reserved": reserved,
        }  # fmt: skip
        if order is not None:
            order["vehicle"], vehicle["order"] = serial, order["id"]
        self.send(serial, now)
        return True

    def release(self, serial: str, now: float) -> None:
        """Release more nodes to a vehicle that has confirmed the last ones, once they are its own."""
        vehicle = self.vehicles[serial]
        mission, order = vehicle["mission"], self.orders.get(vehicle["order"] or "")
        if mission is None or vehicle["cancel"] is not None or mission["confirmed"] != mission["update"]:
            return
        if order and order["loaded"] and mission["reserved"] == mission["stops"].get("pick"):
            way = self.route([order["from"]], {order["to"]}, self.held(serial))
            if way:
                mission["nodes"][mission["reserved"] :] = way
                mission["reserved"] = mission["stops"]["drop"] = len(mission["nodes"]) - 1
        target = min(mission["reserved"], mission["passed"] + AHEAD)
        if target > mission["released"]:
            mission.update(stitch=mission["released"], released=target, update=mission["update"] + 1)
            self.send(serial, now)

    def cancel_mission(self, serial: str, now: float) -> None:
        """Cancel what a vehicle does, or send that again."""
        vehicle = self.vehicles[serial]
        vehicle["cancel"], vehicle["cancel_sent"] = vehicle["cancel"] or self.number("c"), now
        self.instant(serial, "cancelOrder", vehicle["cancel"], now)

    # ---- sending -----------------------------------------------------------------------------------------------------

    def number(self, name: str) -> str:
        """Return an id that was not used before."""
        self.storage["count"] += 1
        return f"{name}.{self.storage['count']}"

    def send(self, serial: str, now: float) -> None:
        """Send the order of a mission, from where the last update ended; the same one again is the same text."""
        mission = self.vehicles[serial]["mission"]
        mission["sent"] = now
        names, nodes, edges = mission["nodes"], list[Json](), list[Json]()
        load, third = [{"key": "loadId", "value": mission["load"]}], self.fleet[serial]["version"].startswith("3")
        near = {"allowedDeviationXY": {"a": 0.5, "b": 0.5, "theta": 0.0} if third else 0.5}
        for index in range(mission["stitch"], len(names)):
            x, y = mission["here"] if names[index] == "here" else self.places[names[index]]
            kinds = [kind for kind, stop in mission["stops"].items() if stop == index]
            actions = [
                {"actionType": kind, "actionId": f"{mission['id']}-{kind}", "blockingType": "HARD",
                 "actionParameters": load if kind in ("pick", "drop") else []} for kind in kinds
            ]  # fmt: skip
            position = {"x": x, "y": y, "mapId": self.map} | (near if index == 0 else {})
            part = {"sequenceId": 2 * index, "released": index <= mission["released"]}
            nodes.append({"nodeId": names[index], **part, "nodePosition": position, "actions": actions})
            if index > mission["stitch"]:
                ends = {} if third else {"startNodeId": names[index - 1], "endNodeId": names[index]}
                part["sequenceId"] -= 1
                edges.append({"edgeId": f"{names[index - 1]}-{names[index]}", **part, **ends, "actions": []})
        body = {"orderId": mission["id"], "orderUpdateId": mission["update"], "nodes": nodes, "edges": edges}
        self.publish_to(serial, "order", body, now)

    def instant(self, serial: str, kind: str, action_id: str, now: float) -> None:
        """Send an instant action."""
        action = {"actionType": kind, "actionId": action_id, "blockingType": "NONE", "actionParameters": []}
        self.publish_to(serial, "instantActions", {"actions": [action]}, now)

    def publish_to(self, serial: str, topic: str, body: Json, now: float) -> None:
        """Publish a message with its header."""
        one, headers = self.fleet[serial], self.storage["headers"]
        name = f"{one['prefix']}/{topic}"
        headers[name] = headers.get(name, -1) + 1
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03d}Z"
        head = {"headerId": headers[name], "timestamp": stamp, "version": one["version"]}
        head |= {"manufacturer": one["manufacturer"], "serialNumber": serial}
        self.publish(name, json.dumps(head | body))


# ---- as a program ----------------------------------------------------------------------------------------------------


def main() -> None:
    """Manage the vehicles of a file at a broker, until it is stopped; orders come by topic, and so do their ends."""
    from paho.mqtt import client as mqtt
    from paho.mqtt.enums import CallbackAPIVersion

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", type=Path, help="JSON file with site and vehicles")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=1883)
    parser.add_argument("--storage", type=Path, default=Path("manager.json"), help="file that it goes on from")
    parser.add_argument("--orders", default="lab/orders", help="topic of orders, and of what is taken back")
    parser.add_argument("--reports", default="lab/reports", help="topic on which it reports how they ended")
    args = parser.parse_args()
    given = json.loads(args.site.read_text(encoding="utf-8"))
    storage: Json = json.loads(args.storage.read_text(encoding="utf-8")) if args.storage.exists() else {}
    # The broker keeps orders for this name while the manager is away.
    client = mqtt.Client(CallbackAPIVersion.VERSION2, client_id="vda5050_manager", clean_session=False)

    def save() -> None:
        fresh = args.storage.with_suffix(".new")
        fresh.write_text(json.dumps(storage), encoding="utf-8")
        os.replace(fresh, args.storage)

    def publish(topic: str, text: str) -> None:
        save()
        client.publish(topic, text)

    def report(order_id: str, status: str, reason: str = "") -> None:
        client.publish(args.reports, json.dumps({"id": order_id, "status": status, "reason": reason}), qos=1)

    manager = Manager(given["site"], given["vehicles"], publish, report, storage)

    def on_connect(client: mqtt.Client, *_: object) -> None:
        topics = [f"{one['prefix']}/{kind}" for one in given["vehicles"] for kind in ("state", "connection")]
        client.subscribe([*((topic, 0) for topic in topics), (args.orders, 1)])
        manager.on_connection(True, time.time())

    def on_message(client: mqtt.Client, data: object, message: mqtt.MQTTMessage) -> None:
        if message.topic != args.orders:
            manager.on_message(message.topic, message.payload, time.time(), message.retain)
            return
        try:
            order = json.loads(message.payload)
            if order.pop("do") == "order":
                manager.order(order, time.time())
            else:
                manager.cancel(order["id"], time.time())
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            print(f"order refused: {error}", flush=True)
        save()

    client.on_connect, client.on_message = on_connect, on_message
    client.connect_async(args.host, args.port, keepalive=15)
    due = 0.0
    while True:
        if client.loop(0.1) != mqtt.MQTT_ERR_SUCCESS:
            with contextlib.suppress(OSError):
                client.reconnect()
        if time.time() >= due:
            due = time.time() + 0.5
            manager.on_time(time.time())


if __name__ == "__main__":
    main()

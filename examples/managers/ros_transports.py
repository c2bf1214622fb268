"""A fleet manager over ROS for the crash lab: robots that nobody else keeps apart bring loads from station to station.

A node of the site belongs to one robot at a time. A robot gets all nodes to its next stop before it drives to the first
of them, and gives each back when it is at the next one. What was sent is compared with /fleet/states, and sent again.
All that has to be remembered is in a file before it is sent. Orders and reports are JSON on two topics.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from collections import deque
from pathlib import Path
from typing import Any

import rclpy
from geometry_msgs.msg import Pose
from rclpy.action import ActionClient
from rclpy.node import Node
from std_msgs.msg import String

from fleet_sim_msgs.action import Drop, Pick
from fleet_sim_msgs.msg import FleetCommand, FleetState, RobotState

Json = dict[str, Any]
NEAR, RESEND, SURE, PATIENCE = 0.1, 2.0, 3.0, 20.0
"""In m: how near a node a robot is there. In s: when something is sent again, how long a robot must have been without a
load that it should have dropped, and when a robot that cannot drive loses an order whose load it does not have."""


class Manager(Node):
    """Carries out orders, from where the file `storage` says that it was."""

    def __init__(self, site: Json, vehicles: list[Json], storage: Path) -> None:
        super().__init__("transports")
        self.places, self.stations, self.file = site["nodes"], set(site["stations"]), storage / "manager.json"
        self.after: dict[str, list[str]] = {name: [] for name in self.places}
        for begin, end in site["edges"]:
            self.after[begin].append(end)
        self.home = {one["serial"]: one["start"] for one in vehicles}
        self.beside = self.stations | set(self.home.values())
        # A robot has the nodes `way`, of which it was at the first one.
        fresh = {name: {"way": [home], "order": None} for name, home in self.home.items()}
        kept: Json = {"orders": {}, "ended": [], "robots": fresh}
        if self.file.exists():
            kept = json.loads(self.file.read_text(encoding="utf-8"))
        self.kept, self.orders, self.robots = kept, kept["orders"], kept["robots"]
        self.sent: dict[str, float] = {}
        self.bare: dict[str, float] = {}
        self.unfit: dict[str, float] = {}
        self.heard = -math.inf
        self.command = self.create_publisher(FleetCommand, "/fleet/command", 10)
        self.reports = self.create_publisher(String, "/lab/reports", 100)
        self.actions = {
            "Pick": ActionClient(self, Pick, "/fleet/pick"),
            "Drop": ActionClient(self, Drop, "/fleet/drop"),
        }
        self.create_subscription(String, "/lab/orders", lambda message: self.on_order(json.loads(message.data)), 100)
        self.create_subscription(FleetState, "/fleet/states", self.on_states, 10)

    # ---- orders ------------------------------------------------------------------------------------------------------

    def on_order(self, given: Json) -> None:
        """Take an order, or take one back, unless its load may be on a robot already: that one is brought."""
        order = self.orders.get(given["id"])
        if given["do"] == "order" and order is None and given["id"] not in self.kept["ended"]:
            self.orders[given["id"]] = {**given, "robot": None, "picks": False, "loaded": False}
        elif given["do"] == "cancel" and order is not None and not order["picks"]:
            self.end(order, "cancelled")
        self.save()

    def end(self, order: Json, status: str) -> None:
        """Report the end of an order, at least once: a crash may come in between."""
        self.reports.publish(String(data=json.dumps({"id": order["id"], "status": status})))
        if order["robot"] is not None:
            self.robots[order["robot"]]["order"] = None
        del self.orders[order["id"]]
        self.kept["ended"].append(order["id"])

    def save(self) -> None:
        """Write what it remembers."""
        fresh = self.file.with_suffix(".new")
        fresh.write_text(json.dumps(self.kept), encoding="utf-8")
        os.replace(fresh, self.file)

    # ---- nodes -------------------------------------------------------------------------------------------------------

    def held(self, but: str) -> set[str]:
        """Return the nodes that belong to other robots, now or as the end of what they bring."""
        nodes: set[str] = set()
        for name, robot in self.robots.items():
            if name != but:
                nodes |= {*robot["way"], self.home[name]}
                nodes |= {self.orders[robot["order"]]["to"]} if robot["order"] else set()
        return nodes

    def route(self, begin: str, ends: set[str], held: set[str]) -> list[str]:
        """Return the shortest way to one of `ends` past the `held` nodes, [] where there is none."""
        before, waiting = {begin: ""}, deque([begin])
        while waiting:
            node = waiting.popleft()
            if node in ends:
                way = [node]
                while before[way[0]]:
                    way.insert(0, before[way[0]])
                return way
            for other in self.after[node]:
                if other not in before and other not in held and (other not in self.beside or other in ends):
                    before[other] = node
                    waiting.append(other)
        return []

    # ---- robots ------------------------------------------------------------------------------------------------------

    def on_states(self, fleet: FleetState) -> None:
        """Look after all robots: what is wanted and is not so is sent again."""
        now = fleet.header.stamp.sec + 1e-9 * fleet.header.stamp.nanosec
        if now <= self.heard:
            return
        self.heard = now
        states = {state.name: state for state in fleet.robots if state.name in self.robots}
        for order in [one for one in self.orders.values() if one["robot"] is None]:
            self.assign(order, states)
        for name, state in states.items():
            self.look_after(name, self.robots[name], state, now)
        self.save()

    def fit(self, state: RobotState) -> bool:
        """Return whether a robot takes goals."""
        return not state.faults and state.operating_mode <= RobotState.SEMIAUTOMATIC

    def gap(self, node: str, state: RobotState) -> float:
        """Return how far a robot is from a node in m."""
        return math.dist(self.places[node], (state.pose.position.x, state.pose.position.y))

    def assign(self, order: Json, states: dict[str, RobotState]) -> None:
        """Give an order to the nearest robot that has a way there."""
        free = [name for name, one in self.robots.items() if one["order"] is None and len(one["way"]) == 1]
        free = [name for name in free if name in states and self.fit(states[name]) and not states[name].loads]
        for name in sorted(free, key=lambda one: self.gap(order["from"], states[one])):
            held = self.held(name)
            way = self.route(self.robots[name]["way"][0], {order["from"]}, held)
            if way and order["to"] not in held:
                self.robots[name].update(way=way, order=order["id"])
                order["robot"] = name
                return

    def look_after(self, name: str, robot: Json, state: RobotState, now: float) -> None:
        """Bring a robot a step further on its way, or let it pick and drop at the end of that."""
        order = self.orders.get(robot["order"] or "")
        since = self.unfit.setdefault(name, now)
        if self.fit(state):
            del self.unfit[name]
        elif order and not order["picks"] and now - since > PATIENCE:
            order["robot"] = robot["order"] = None
        self.see_load(order, name, state, now)
        if (
            self.gap(robot["way"][0], state) > NEAR
            and len(robot["way"]) > 1
            and self.gap(robot["way"][1], state) <= NEAR
        ):
            robot["way"] = robot["way"][1:]
        stands = len(robot["way"]) == 1 and self.gap(robot["way"][0], state) <= NEAR and not state.moving
        if stands:
            self.at_stop(name, robot, state)
        if not self.fit(state) or state.busy or now - self.sent.get(name, -math.inf) < RESEND:
            return
        order = self.orders.get(robot["order"] or "")
        if len(robot["way"]) > 1 or not stands:
            self.drive(name, robot["way"][:2][-1], state, now)
        elif order and not order["loaded"] and robot["way"] == [order["from"]]:
            order["picks"] = True
            self.act("Pick", Pick.Goal(robot=name, object=order["load"], use_approach=False, reach=1.0), name, now)
        elif order and order["loaded"] and robot["way"] == [order["to"]] and order["load"] in state.loads:
            let_go = {"use_relative_pose": True, "use_approach": False}
            self.act("Drop", Drop.Goal(robot=name, object=order["load"], **let_go), name, now)

    def at_stop(self, name: str, robot: Json, state: RobotState) -> None:
        """Get the nodes to where a robot goes next, if they are free."""
        order, held, here = self.orders.get(robot["order"] or ""), self.held(name), robot["way"][0]
        if order and not order["loaded"]:
            way = self.route(here, {order["from"]}, held)
        elif order:
            way = self.route(here, {order["to"]}, held)
        else:
            way = self.route(here, {self.home[name]}, held)
        robot["way"] = way or robot["way"]
        if len(robot["way"]) > 1:
            self.sent.pop(name, None)

    def see_load(self, order: Json | None, name: str, state: RobotState, now: float) -> None:
        """See whether the load of an order was picked, or dropped: a robot that has lost it for long enough has."""
        if order is None:
            return
        if order["load"] in state.loads:
            order["loaded"] = order["picks"] = True
            self.bare.pop(name, None)
        elif order["loaded"] and now - self.bare.setdefault(name, now) > SURE:
            self.bare.pop(name)
            self.end(order, "finished")

    # ---- sending -----------------------------------------------------------------------------------------------------

    def drive(self, name: str, node: str, state: RobotState, now: float) -> None:
        """Send a robot to the next node of its way."""
        goal = state.goal.position
        if state.has_goal and math.dist((goal.x, goal.y), self.places[node]) < NEAR:
            return
        pose = Pose(orientation=state.pose.orientation)
        pose.position.x, pose.position.y, pose.position.z = (*self.places[node], state.pose.position.z)
        self.save()
        self.command.publish(FleetCommand(kind=FleetCommand.NAVIGATE, names=[name], poses=[pose]))
        self.sent[name] = now

    def act(self, kind: str, goal: Any, name: str, now: float) -> None:
        """Send the goal of an action; what comes of it is seen in the states."""
        self.save()
        if self.actions[kind].server_is_ready():
            self.actions[kind].send_goal_async(goal)
            self.sent[name] = now


def main(manager: type[Manager] = Manager) -> None:
    """Manage the robots of a site until it is stopped."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", type=Path, help="JSON file with site and vehicles")
    parser.add_argument("storage", type=Path, help="folder of the file that it goes on from")
    args = parser.parse_args()
    given = json.loads(args.site.read_text(encoding="utf-8"))
    rclpy.init()
    rclpy.spin(manager(given["site"], given["vehicles"], args.storage))


if __name__ == "__main__":
    main()

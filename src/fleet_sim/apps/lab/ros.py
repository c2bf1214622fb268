"""A manager over ROS: its vehicles are robots of a node of fleet_sim, in a ROS domain that only this run has.

The lab makes the steps; the node publishes the time of each on /clock. What goes wrong on the way are disturbances of
the radio. Orders come as JSON on a topic, as in `ProcessHost`, and so do reports.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Mapping
from typing import Any

import rclpy
import yaml
from rclpy.executors import SingleThreadedExecutor
from std_msgs.msg import String

from fleet_sim.apps.lab.managers import Report
from fleet_sim.apps.lab.process import LOOPBACK, ProgramHost
from fleet_sim.apps.lab.settings import ManagerSettings
from fleet_sim.base.errors import StateError
from fleet_sim.base.files import scratch_folder, write_file
from fleet_sim.ros.node import FleetSimNode
from fleet_sim.world.commands import Command, ExecuteAction, Navigate

DOMAINS = range(10, 100)
"""Of them a run takes the first that no other lab on this machine has."""
SET = ("ROS_DOMAIN_ID", "ROS_AUTOMATIC_DISCOVERY_RANGE")


class RosWorld:
    """A simulation with its node, and the domain that it is in; the environment is as before after `close`."""

    def __init__(self, scenario: dict[str, Any]) -> None:
        self._before = {name: os.environ.get(name) for name in SET}
        self._reserved, domain = _reserved_domain()
        self.environment = {"ROS_DOMAIN_ID": str(domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
        os.environ.update(self.environment)
        try:
            with scratch_folder("fleet_sim-lab-") as folder:
                write_file(folder / "lab.yaml", yaml.safe_dump(scenario))
                rclpy.init(args=["--ros-args", "-p", f"config:={folder / 'lab.yaml'}"])
                self.node = FleetSimNode()
        except BaseException:
            self._leave()
            raise
        self.simulation = self.node.simulation
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)

    def close(self) -> None:
        """Leave ROS."""
        try:
            self.executor.shutdown()
            self.node.destroy_node()
        finally:
            self._leave()

    def _leave(self) -> None:
        rclpy.try_shutdown()
        self._reserved.close()
        for name, value in self._before.items():
            os.environ.pop(name, None)
            os.environ.update({} if value is None else {name: value})


def _reserved_domain() -> tuple[socket.socket, int]:
    """Return a domain, and a socket that keeps other labs from it while it is open."""
    for domain in DOMAINS:
        sock = socket.socket()
        try:
            # DDS has the ports from here on, by UDP.
            sock.bind((LOOPBACK, 7400 + 250 * domain))
            return sock, domain
        except OSError:
            sock.close()
    raise StateError("all ROS domains of labs are taken")


class RosHost(ProgramHost):
    """One that is a node of ROS."""

    def __init__(
        self,
        world: RosWorld,
        settings: ManagerSettings,
        site: Mapping[str, Any],
        vehicles: list[dict[str, Any]],
        sent: Callable[[str, str, str], object],
        report: Report,
        step: float,
    ) -> None:
        super().__init__(settings, dict(site), vehicles, report, step)
        self._world, self._sent = world, sent
        self._names = {vehicle["serial"] for vehicle in vehicles}
        node = world.node
        self._orders = node.create_publisher(String, settings.orders, 100)
        self._reports: list[str] = []
        self._old: set[bytes] = set()
        node.create_subscription(String, settings.reports, lambda message: self._reports.append(message.data), 100)
        world.simulation.inbox.on_apply.append(self._note)

    def start(self, now: float) -> None:
        """Start the program; raises ConfigError where there is none."""
        # A killed node seems to be there until its lease is over.
        self._old = self._listeners()
        self._begin(self._settings.ros, self._world.environment)

    def _listeners(self) -> set[bytes]:
        found = self._world.node.get_subscriptions_info_by_topic(self._orders.topic_name)
        return {bytes(info.endpoint_gid) for info in found}

    def _listens(self) -> bool:
        return bool(self._listeners() - self._old)

    def call(self, name: str, *given: Any) -> bool:
        """Publish an order, or that it is taken back; return whether the program is there to get it."""
        if not self.alive:
            return False
        if name in ("order", "cancel"):
            body = {"do": name, **(given[0] if name == "order" else {"id": given[0]})}
            self._orders.publish(String(data=json.dumps(body)))
        return True

    def _note(self, command: Command, *_: object) -> None:
        """Tell of a command that came over ROS, for each robot that it is for."""
        if command.source == "lab" or not self.alive:
            return
        kind = type(command).__name__
        names = getattr(command, "names", None) or [getattr(command, "name", "")]
        for index, name in enumerate(names):
            if name in self._names:
                told = kind
                if isinstance(command, Navigate):
                    told = "goal ({:.1f}, {:.1f})".format(*command.positions[index][:2])
                elif isinstance(command, ExecuteAction):
                    told = type(command.actions[index]).__name__
                self._sent(name, kind, json.dumps({"command": told}))
        if self._sent_its_last():
            self._die()

    def _wait(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while True:
            self._world.executor.spin_once(timeout_sec=max(end - time.monotonic(), 0.0))
            if time.monotonic() >= end:
                return

    def _take(self) -> None:
        reports, self._reports[:] = list(self._reports), []
        for report in reports:
            self._take_report(report)

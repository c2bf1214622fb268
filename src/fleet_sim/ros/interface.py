"""The base class of interfaces, and the parts they share."""

from __future__ import annotations

import traceback
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile

from fleet_sim.config.ros_params import RosParams
from fleet_sim.core.ros_names import Frames
from fleet_sim.core.stamps import RosTime
from fleet_sim.errors import ConfigError, FleetSimError, InvalidValueError
from fleet_sim.ros import qos
from fleet_sim.ros.commands import CommandGateway, Mailbox
from fleet_sim.ros.roster import Roster
from fleet_sim.ros.throttle import Throttle
from fleet_sim.ros.transforms import Transforms
from fleet_sim.ros.wire import decode
from fleet_sim.simulation import MultiRobotSimulationCore


def require_packages(packages: Sequence[str], path: str) -> None:
    """Raise ConfigError at the setting `path` where message packages that it needs are not installed."""
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise ConfigError(
            f"needs the packages {', '.join(packages)}; there is no {' and no '.join(missing)}", path=path
        )


class OpenRequests:
    """Counts the requests to a service that are being answered."""

    def __init__(self) -> None:
        self._count = 0
        self._then: Callable[[], object] | None = None

    def __enter__(self) -> None:
        self._count += 1

    def __exit__(self, *_: object) -> None:
        self._count -= 1
        if not self._count and self._then is not None:
            self._then()

    def when_answered(self, now: Callable[[], object], later: Callable[[], object]) -> None:
        """Call `now` where there are none, else `later` after the last of them."""
        if self._count:
            self._then = later
        else:
            now()


@dataclass(frozen=True)
class Bridge:
    """The shared objects that interfaces are created with.

    `node` is spun by the executor: services, actions and fleet topics, all in the reentrant `group`, so that a callback
    that waits for the simulation does not block others. `robots` is never spun: it holds publishers and the per-robot
    subscriptions, which are polled by the step.
    """

    sim: MultiRobotSimulationCore
    node: Node
    robots: Node
    params: RosParams
    frames: Frames
    transforms: Transforms
    time: RosTime
    group: CallbackGroup
    mailbox: Mailbox
    gateway: CommandGateway
    refusals: Throttle
    record_folder: str
    """Where messages may have recordings written; empty: nowhere."""
    record_sensors: tuple[str, ...]
    """Kinds of sensors whose readings are in recordings."""
    resting: set[str] = field(default_factory=set)
    """Robots whose navigation was deactivated: their servers of Nav2 reject goals."""
    served: dict[Any, OpenRequests] = field(default_factory=dict)
    """What the services of `serve` have not answered yet."""

    unnamed: set[str] = field(default_factory=set)
    """Robots without interfaces, since ROS does not allow their names; each was logged once."""

    def tell_no_ros_name(self, robot: str) -> None:
        """Log, once, that a robot has no topics and actions because of its name."""
        # Every interface asks, and asks again whenever the fleet changes.
        if robot not in self.unnamed:
            self.unnamed.add(robot)
            self.node.get_logger().warning(
                f"robot {robot!r} has no topics or actions, only those of the fleet: a ROS name consists of letters, "
                "digits and _, and begins with a letter. Rename the robot"
            )

    def serve(self, kind: Any, name: str, callback: Callable[[Any, Any], Awaitable[Any]]) -> Any:
        """Serve `callback(request, response)`, which returns the response. An exception in it is caught and reported.

        Where responses of `kind` have a `message`, that says what a FleetSimError says.

        Returns the service, for `end_service`.
        """
        requests = OpenRequests()

        async def answer(request: Any, response: Any) -> Any:
            try:
                with requests:
                    return await callback(request, response)
            except FleetSimError as error:
                self.reject(name, error)
                reason = str(error)
            except Exception as error:
                self.refusals.tell(f"{name}: fault\n{traceback.format_exc()}")
                reason = f"internal error: {type(error).__name__}: {str(error)[:200]}; see the log of the simulation"
            response = kind.Response()
            if hasattr(response, "message"):
                response.message = reason
            return response

        # With the default depth of 10, the eleventh request in a burst would be lost.
        service = self.node.create_service(kind, name, answer, qos_profile=qos.REQUESTS, callback_group=self.group)
        self.served[service] = requests
        return service

    def end_service(self, service: Any) -> None:
        """Destroy a service of `serve`, after the answers to what it was asked; to be called in the executor."""
        destroy = partial(self.node.destroy_service, service)
        # rclpy sends an answer after the callback has returned, but in the same turn of the executor.
        self.served.pop(service).when_answered(destroy, lambda: self.mailbox.post(destroy))

    def subscribe(self, kind: Any, name: str, callback: Callable[[Any], Awaitable[None]], profile: QoSProfile) -> None:
        """Subscribe `callback(message)` to a topic of the fleet. An exception in it is logged; the node continues."""

        async def hear(data: bytes) -> None:
            try:
                message = decode(data, kind)
            except InvalidValueError as error:
                self.reject(name, error)
                return
            try:
                await callback(message)
            except Exception:
                self.refusals.tell(f"{name}: fault\n{traceback.format_exc()}")

        # Invalid bytes, decoded by rclpy, could become a message of defaults, or raise in the executor and end it.
        self.node.create_subscription(kind, name, hear, profile, callback_group=self.group, raw=True)

    def reject(self, what: str, reason: object) -> None:
        """Log that something sent to the simulation was rejected; once in a while, however often it happens."""
        self.gateway.reject(what, reason)


class Interface:
    """One kind of topic, service or action. Its methods are called in the simulation's thread.

    `rate` is the name of a field of RateParams, the rate at which `publish` is called; "" for each step.
    """

    rate = ""
    own_rate: float | None = None
    """Rate in Hz if `rate` is not a field of RateParams, as for interfaces of features; None: each step."""

    def __init__(self, bridge: Bridge) -> None:
        self.bridge = bridge

    def on_fleet_changed(self, roster: Roster) -> None:
        """Robots were spawned, removed or renamed."""

    def receive(self) -> None:
        """Poll the subscriptions and pass commands to `gateway.take`: called at the beginning of each step."""

    def publish(self, now: int) -> None:
        """Publish the state at `now` ns: called at the end of steps in which it is due."""

    def end_step(self) -> None:
        """Called at the end of each step, after `publish`."""

    def on_reset(self) -> None:
        """Called after the simulation was reset or restored; `on_fleet_changed` and `publish` come next."""


def speaks_rmf(bridge: Bridge) -> bool:
    """Return whether the node speaks to Open-RMF."""
    enabled = bridge.params.rmf.enabled
    return "slotcar" in bridge.sim.features.used if enabled is None else enabled

"""The target of a running node: bytes on every topic, service and action that it reads, through DDS."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
import weakref
from importlib import import_module
from queue import SimpleQueue
from random import Random
from typing import TYPE_CHECKING, Any

from fuzz_files import SEEDS
from fuzz_mutator import Mutator
from fuzz_ros import filled
from fuzz_target import Target
from fuzz_worlds import check_columns
from ros_domain import use_own_domain

if TYPE_CHECKING:
    from pocket_ros.dds.discovery import Endpoint

    from fleet_sim.ros.node import FleetSimNode

PATIENCE = 60.0
"""The longest that a node may take between two steps, in s."""

MOST_ENTITIES = 60
"""With more than these, what was spawned is removed."""


class Tracebacks(logging.Handler):
    """Keeps the tracebacks of faults, of which the simulation logs the first of each kind."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record."""
        self.lines.append(self.format(record)[-3000:])


class LiveNode:
    """A node as its program runs it: one thread for the simulation, one for the executor. It ends with this object."""

    def __init__(self) -> None:
        import rclpy
        from rclpy.executors import SingleThreadedExecutor

        from fleet_sim.ros.main import SWITCH_INTERVAL, Worker, spin
        from fleet_sim.ros.node import FleetSimNode

        rclpy.init(args=["--ros-args", "-p", f"config:={SEEDS / 'node.yaml'}"])
        self.node = FleetSimNode()
        # The threads hold the list and not this object, which would never end then.
        self.told = told = list[str]()
        sys.setswitchinterval(SWITCH_INTERVAL)
        executor = SingleThreadedExecutor()
        executor.add_node(self.node)
        ended: SimpleQueue[str] = SimpleQueue()
        self.workers = [
            Worker("simulation", self.node.simulation.run_simulation, ended),
            Worker("executor", lambda: spin(executor, told.append), ended),
        ]
        for worker in self.workers:
            worker.start()
        self._faults = 0
        self._tracebacks = Tracebacks()
        # Whoever feeds inputs has switched off all logging.
        logging.disable(logging.NOTSET)
        log = logging.getLogger("fleet_sim")
        log.propagate = False
        log.addHandler(self._tracebacks)
        weakref.finalize(self, _end, self.node, executor, self.workers)

    def check(self) -> None:
        """Wait for two steps; raise AssertionError where a thread has died, or a column holds what is not a number."""
        sim = self.node.simulation
        for _ in range(2):
            sim.between_steps(lambda: check_columns(sim)).result(PATIENCE)
            sim.resume()
            begin, stop = sim.step_count, time.monotonic() + PATIENCE
            while sim.step_count == begin and time.monotonic() < stop and not sim.is_paused:
                time.sleep(0.0002)
        assert all(worker.is_alive() for worker in self.workers), [worker.error for worker in self.workers]
        told, self.told[:] = list(self.told), []
        assert not told, told[0]
        faults, self._faults = sim.guard.total - self._faults, sim.guard.total
        assert faults <= 0, f"survived, but a fault: {dict(sim.guard.counts)} {self._tracebacks.lines[-1:]}"
        if len(sim.sim_objects) > MOST_ENTITIES:
            sim.between_steps(sim.reset).result(PATIENCE)


def _end(node: FleetSimNode, executor: Any, workers: list[Any]) -> None:
    import rclpy

    node.simulation.stop()
    workers[0].join(PATIENCE)
    executor.shutdown(1.0)
    workers[1].join(PATIENCE)
    node.destroy_node()
    rclpy.try_shutdown()


def class_of(type_name: str) -> Any:
    """Return the class of a DDS type such as `geometry_msgs::msg::dds_::Twist_`."""
    package, kind, _, name = type_name.split("::")
    module, name = import_module(f"{package}.{kind}"), name.removesuffix("_")
    if kind == "msg":
        return getattr(module, name)
    base, _, request = name.rpartition("_")
    if kind == "srv":
        return getattr(getattr(module, base), request)
    action, _, part = base.rpartition("_")
    return getattr(getattr(getattr(module, action).Impl, f"{part}Service"), request)


def node_target() -> Target:
    """Return the target: the first two bytes of an input choose which reader of the node gets the others."""
    from pocket_ros.dds.discovery import Discovery
    from pocket_ros.dds.library import DDSError
    from pocket_ros.dds.participant import Participant
    from pocket_ros.rclpy.service import RequestHeader, join
    from rclpy.serialization import serialize_message

    use_own_domain()
    live = LiveNode()
    participant = Participant(int(os.environ["ROS_DOMAIN_ID"]), b"enclave=/;")
    readers = _readers(Discovery(participant))
    writers = [
        participant.create_writer(reader.topic, reader.type_name, reader.qos, reader.user_data) for reader in readers
    ]
    seeds = []
    for index, reader in enumerate(readers):
        kind = class_of(reader.type_name)
        for number, message in enumerate((kind(), filled(kind))):
            data = bytes(serialize_message(message))
            if reader.topic.startswith("rq/"):
                data = join(RequestHeader(index, number), data)
            seeds.append(index.to_bytes(2, "little") + data)

    def feed(data: bytes) -> None:
        index = int.from_bytes(data[:2], "little") % len(writers)
        # The middleware itself sends nothing without the header of an encapsulation that it knows.
        writers[index].write(data[2:].ljust(4, b"\0"))
        live.check()

    names = [
        name + b"\0"
        for name in b"cart arm helper pallet map odom cart/base_link cart/odom move_to scan x lift L1 L2 door".split()
    ]

    def mutate(data: bytes, random: Random) -> bytes:
        # Apart from the choice: numbers are aligned after it.
        return data[:2] + Mutator(random, names).mutant(data[2:], data[2:])

    return Target(feed, seeds, names, (DDSError,), mutate, seconds=60.0)


def _readers(discovery: Any) -> list[Endpoint]:
    """Return what is read in this process, but for what every node of ROS reads itself, one for each name."""
    deadline = time.monotonic() + PATIENCE
    found: dict[str, Endpoint] = {}
    while "rt/helper/cmd_vel" not in found and time.monotonic() < deadline:
        found = {reader.topic: reader for reader in discovery.readers() if reader.topic.startswith(("rt/", "rq/"))}
    assert threading.active_count() > 2, "the node has ended"
    # Feedback and status are read by clients only: another test's client in this domain is none of the node's.
    own = (topic for topic in sorted(found) if topic.startswith("rq/") or "/_action/" not in topic)
    return [found[topic] for topic in own if topic != "rt/parameter_events"]

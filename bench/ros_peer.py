"""The other side of `bench/ros.py`: a process that reads the state of all robots raw and drives some of them.

`python bench/ros_peer.py ROBOTS DRIVEN SECONDS` prints a line when it begins to count, and what it saw, as JSON. It
polls instead of spinning, for an executor of rclpy would be too slow for so many topics.

A driven robot goes back and forth along x, in another direction from each command on. So the step that applied a
command is where its way bends, which two messages of its odometry tell to the step, however seldom they come. Real time
and simulated time are compared by /clock: by the message of those around a command that came soonest after its stamp.
"""

from __future__ import annotations

import json
import struct
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy
import rclpy
from geometry_msgs.msg import Twist, Vector3
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from fleet_sim_msgs.msg import FleetCommand

STEP = 1.0 / 240.0
COMMAND_PERIOD = 0.1
POLL_PERIOD = 0.005
LAST = 0.3
"""Seconds after the last command; a velocity lasts for 0.5 s."""
SPEED = 0.01
"""In m/s: a robot of the default acceleration turns round within one step."""
QOS = QoSProfile(depth=50)
AROUND = 0.15
"""In s: the messages of /clock by which real and simulated time are compared."""
WARM_UP = 2.0
PATIENCE = 1200.0
"""Seconds until a node of thousands of robots has to be there: a busy machine takes minutes."""


class Topic:
    """A subscription that is polled: how many messages came, and the bytes and the real time of the last one."""

    def __init__(self, node: Node, kind: Any, name: str) -> None:
        self.kind = kind
        self.subscription = node.create_subscription(kind, name, lambda message: None, QOS, raw=True)
        self._take = self.subscription.handle.take_message
        self.count = 0

    def take(self) -> Iterator[bytes]:
        """Yield what has come."""
        while taken := self._take(self.kind, True):
            self.count += 1
            yield taken[0]

    def skip(self, *, counting: bool = False) -> None:
        """Take what has come and look at none of it."""
        before = self.count
        for _ in self.take():
            pass
        self.count = self.count if counting else before


def stamp_of(data: bytes) -> float:
    """Return the stamp at the beginning of a message, in s."""
    sec, nanosec = struct.unpack_from("<iI", data, 4)
    return float(sec + nanosec * 1e-9)


def x_of(data: bytes) -> float:
    """Return the x of an Odometry: after the stamp, two frames, and bytes that align what follows to 8."""
    place = 12
    for _ in range(2):
        place += -(place - 4) % 4
        place += 4 + int(struct.unpack_from("<I", data, place)[0])
    place += -(place - 4) % 8
    return float(struct.unpack_from("<d", data, place)[0])


class Driven:
    """A robot that gets commands, and what its odometry tells of when they were applied."""

    def __init__(self, node: Node, name: str) -> None:
        self.publisher = node.create_publisher(Twist, f"/{name}/cmd_vel", 1)
        self.sent: list[float] = []
        """Real time of each command."""
        self.applied: list[float] = []
        """Simulated time at which each command was applied."""
        self._last: tuple[float, float] | None = None
        self._speed = 0.0

    def command(self) -> None:
        """Turn it round."""
        speed = SPEED if len(self.sent) % 2 else -SPEED
        self.sent.append(time.monotonic())
        self.publisher.publish(Twist(linear=Vector3(x=speed)))

    def see(self, stamp: float, x: float) -> None:
        """Find where between the last message and this one it turned round, if it did."""
        if self._last is not None:
            before, begin = self._last
            ran, moved = stamp - before, x - begin
            wanted = -SPEED if len(self.applied) % 2 == 0 else SPEED
            if abs(moved - self._speed * ran) > 1e-6:
                # moved = speed * (turn - before) + wanted * (stamp - turn)
                turn = (moved + self._speed * before - wanted * stamp) / (self._speed - wanted)
                self.applied.append(turn)
                self._speed = wanted
        self._last = (stamp, x)


def look(robots: int, driven_count: int, seconds: float) -> dict[str, Any]:
    """Return what was seen in `seconds`."""
    node = Node("bench_peer")
    names = [f"robot_{index}" for index in range(robots)]
    odom = [Topic(node, Odometry, f"/{name}/odom") for name in names]
    tf = Topic(node, TFMessage, "/tf")
    clock = Topic(node, Clock, "/clock")
    driven = {2 * index: Driven(node, names[2 * index]) for index in range(driven_count)}
    fleet = node.create_publisher(FleetCommand, "/fleet/command", 10)
    until(lambda: all(one.publisher.get_subscription_count() for one in driven.values()))
    until(lambda: fleet.get_subscription_count())
    until(lambda: all(topic.count or any(True for _ in topic.take()) for topic in odom))
    known = {topic for topic, _ in node.get_topic_names_and_types()}
    joints = [Topic(node, JointState, f"/{name}/joint_states") for name in names if f"/{name}/joint_states" in known]
    moving = names[:robots:2]
    twist = Twist(linear=Vector3(x=0.3), angular=Vector3(z=1.0))
    # Those that get commands of their own do not turn, and stop before.
    twists = [Twist() if 2 * index in driven else twist for index in range(len(moving))]
    fleet.publish(FleetCommand(kind=FleetCommand.VELOCITY, names=moving, twists=twists, timeout=0.0))
    # What a node does for the first time takes longer.
    clocks = [stamp_of(data) for data in clock.take()]
    until(lambda: clocks.extend(map(stamp_of, clock.take())) or (clocks and clocks[-1] > clocks[0] + WARM_UP))
    for topic in (*odom, tf, *joints):
        topic.skip()
    print("begin", flush=True)
    stamps: list[list[float]] = [[] for _ in names]
    begin, sent = time.monotonic(), 0
    delays: list[tuple[float, float]] = []

    def look_at_clock() -> None:
        delays.extend((stamp, time.monotonic() - stamp) for stamp in map(stamp_of, clock.take()))

    order = list(driven.values())
    while (now := time.monotonic()) < begin + seconds + LAST:
        # Spread over the period, as those of many controllers are; none in the end, so that the last ones are applied.
        due = int(min(now - begin, seconds) / COMMAND_PERIOD * len(order))
        for index in range(sent, due):
            order[index % len(order)].command()
        sent = due
        for index, topic in enumerate(odom):
            if index % 50 == 0:
                look_at_clock()
            for data in topic.take():
                stamp = stamp_of(data)
                stamps[index].append(stamp)
                if index in driven:
                    driven[index].see(stamp, x_of(data))
        for topic in (tf, *joints):
            topic.skip(counting=True)
        time.sleep(POLL_PERIOD)
    periods = numpy.concatenate([numpy.diff(own) for own in stamps])
    passed = time.monotonic() - begin
    clocks, waits = map(numpy.array, zip(*delays, strict=True))
    turns = [pair for one in order for pair in zip(one.sent, one.applied, strict=False)]
    return {
        "simulated": max(own[-1] for own in stamps) - min(own[0] for own in stamps),
        "passed": passed,
        "odom": sum(topic.count for topic in odom),
        # A period that is twice as long has lost a message.
        "lost odom": int(numpy.round(periods / numpy.median(periods) - 1.0).sum()),
        "tf": tf.count,
        "joint_states": sum(topic.count for topic in joints),
        "lost commands": sum(len(one.sent) - len(one.applied) for one in order),
        "latencies": [turn + STEP + waits[abs(clocks - turn) < AROUND].min() - moment for moment, turn in turns],
    }


def until(condition: Any) -> None:
    """Wait for `condition()`; raises TimeoutError."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("the node is not there in time")
        time.sleep(0.05)


def main() -> None:
    """Look, and print what was seen."""
    robots, driven, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    rclpy.init()
    print(json.dumps(look(robots, driven, seconds)), flush=True)
    rclpy.try_shutdown()


if __name__ == "__main__":
    main()

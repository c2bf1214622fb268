"""A fleet manager that never rests, and other clients that come and go: what `make soak` does to a node, see run.py.

Each round does the same; everything that was asked must be answered, and what is wrong must be refused.
"""

from __future__ import annotations

import math
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import Twist
from nav_msgs.msg import Odometry
from node_program import Client
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import Image, Imu, JointState, LaserScan
from shape_msgs.msg import SolidPrimitive
from soak_tally import Tally
from std_srvs.srv import Trigger

from fleet_sim_msgs.action import Drop, MoveTo, Pick
from fleet_sim_msgs.msg import FleetCommand, FleetState
from fleet_sim_msgs.srv import Delete, List, Load, Save, SendFleetCommand, Spawn, Step, TakePicture

ROUND = 12.0
"""Length of a round, in s."""

PATIENCE = 60.0
"""The longest any answer is waited for, in s: the machine may have other work, too."""

CARTS = [f"cart_{index}" for index in range(16)]
SENSORS = (
    (LaserScan, "/scout/scan"),
    (Imu, "/scout/imu"),
    (Image, "/scout/camera/image_raw"),
    (Odometry, "/cart_1/odom"),
)


class Manager:
    """The load on a node: its work in rounds, and what it counts."""

    def __init__(self) -> None:
        self.tally, self.node = Tally("client"), Tally("node")
        self.client = Client("soak", PATIENCE)
        self.random = random.Random(0)
        self.round = 0
        self.doomed: subprocess.Popen[bytes] | None = None
        self.client.node.create_subscription(DiagnosticArray, "/diagnostics", self.on_diagnostics, 10)
        self.states = self.newest = 0
        self.client.node.create_subscription(FleetState, "/fleet/states", self.on_states, 10)

    def run(self) -> None:
        """Work in rounds until the process is stopped."""
        while True:
            self.round += 1
            end = time.monotonic() + ROUND
            for work, every in WORK:
                if self.round % every == 0:
                    try:
                        work(self)
                    except Exception:
                        self.tally.fail_with_traceback(work.__name__)
                self.tell()
            while time.monotonic() < end:
                self.client.executor.spin_once(timeout_sec=0.2)
                self.tell()

    def tell(self) -> None:
        """Print what both have done."""
        self.tally.steps = self.states
        self.tally.tell()
        self.node.tell()

    def on_states(self, message: FleetState) -> None:
        """Count."""
        self.states += 1

    def on_diagnostics(self, message: DiagnosticArray) -> None:
        """Take the node's figures; what it hosts, such as orders, has a status of its own."""
        found = ({item.key: item.value for item in one.values} for one in message.status)
        for values in (values for values in found if "faults" in values):
            before, self.newest = self.newest, int(values["steps"])
            # A reset begins to count anew.
            self.node.steps += self.newest - (before if self.newest >= before else 0)
            self.node.step_times.append(float(values["step_ms"]))
            self.node.refused = int(values["refused_commands"])
            self.node.lost = int(values["faults"])
            self.node.operations = self.tally.operations

    def call(self, kind: Any, service: str, request: Any = None, *, refused: bool = False) -> Any:
        """Call a service and count the response; `refused` is what it must be."""
        response = self.client.call(kind, service, request)
        success = getattr(response, "success", True)
        if success is refused:
            self.tally.fail(f"{service}: {response}")
        self.tally.refused += refused
        self.tally.operations += 1
        return response

    def goal(self, robot: str, x: float = math.inf) -> MoveTo.Goal:
        """Return a goal somewhere in the hall."""
        goal = MoveTo.Goal(robot=robot, timeout=30.0)
        place = goal.pose.pose.position
        place.x, place.y = self.random.uniform(-5, 5) if math.isinf(x) else x, self.random.uniform(-5, 5)
        goal.pose.pose.orientation.w = 1.0
        return goal

    # ---- the work of a round -----------------------------------------------------------------------------------------

    def goals(self) -> None:
        """Goals for many robots, some of them cancelled, some refused; every one has its end."""
        sent = [self.client.send_goal(MoveTo, "/fleet/move_to", self.goal(robot)) for robot in CARTS[2:12]]
        if not all(goal.handle.accepted for goal in sent):
            self.tally.fail("a goal was not accepted")
        for goal in sent[::3]:
            goal.cancel()
        for wrong in (self.goal("nobody"), self.goal(CARTS[3], math.nan)):
            if self.client.send_goal(MoveTo, "/fleet/move_to", wrong).handle.accepted:
                self.tally.fail("a wrong goal was accepted")
            self.tally.refused += 1
        for goal in sent:
            goal.result()
        self.tally.operations += len(sent) + len(sent[::3]) + 2

    def carrying(self) -> None:
        """Pick a pallet and put it elsewhere."""
        pallet = f"pallet_{self.round % 4}"
        picked = self.client.send_goal(Pick, "/fleet/pick", Pick.Goal(robot="cart_2", object=pallet, pick_offset=0.7))
        if picked.result()[1].success:
            drop = Drop.Goal(robot="cart_2", drop_offset=0.7)
            drop.pose.pose.position.x, drop.pose.pose.position.y = -6.0, self.random.uniform(-4, 4)
            drop.pose.pose.orientation.w = 1.0
            self.client.send_goal(Drop, "/fleet/drop", drop).result()
        self.tally.operations += 2

    def topics(self) -> None:
        """Commands on topics, of one robot and of all, valid and not."""
        twist = Twist()
        twist.linear.x = 0.5
        publisher = self.client.publisher(Twist, "/cart_0/cmd_vel")
        publisher.publish(twist)
        twist.linear.x = math.nan
        publisher.publish(twist)
        self.client.node.destroy_publisher(publisher)
        command = FleetCommand(kind=FleetCommand.STOP, names=["cart_1", "nobody"])
        result = self.call(SendFleetCommand, "/fleet/command", SendFleetCommand.Request(command=command)).result
        if list(result.accepted) != ["cart_1"]:
            self.tally.fail(f"/fleet/command: {result}")
        self.tally.refused += 2

    def sensors(self) -> None:
        """Readers of sensors come and go."""
        node, seen = self.client.node, {topic: 0 for _, topic in SENSORS}

        def counting(topic: str) -> Callable[[Any], None]:
            def count(message: Any) -> None:
                seen[topic] += 1

            return count

        qos = qos_profile_sensor_data
        readers = [node.create_subscription(kind, topic, counting(topic), qos) for kind, topic in SENSORS]
        readers.append(node.create_subscription(JointState, "/arm/joint_states", lambda message: None, 10))
        self.client.until(lambda: all(seen.values()), "a reading of each sensor")
        for reader in readers:
            node.destroy_subscription(reader)
        self.tally.operations += sum(seen.values())

    def visitors(self) -> None:
        """Robots and crates are spawned, work, and are deleted; names are used again after a while."""
        box = SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[0.4, 0.4, 0.2])
        names = []
        for index in range(3):
            names.append(f"guest_{(self.round * 3 + index) % 30}")
            options = "{sensors: [{type: lidar, rays: 30, range_max: 5.0}], battery: {capacity_wh: 100}}"
            request = Spawn.Request(kind=Spawn.Request.ROBOT, name=names[-1], shape=box, options=options)
            request.pose.pose.position.x, request.pose.pose.position.y = 9.0, 3.0 * index - 3.0
            self.call(Spawn, "/sim/spawn", request)
            names.append(f"crate_{(self.round * 3 + index) % 30}")
            request = Spawn.Request(kind=Spawn.Request.OBJECT, name=names[-1], shape=box, options="mass: 1.0")
            request.pose.pose.position.x, request.pose.pose.position.z = -9.0, 1.0 + index
            self.call(Spawn, "/sim/spawn", request)
        self.call(Spawn, "/sim/spawn", Spawn.Request(name=names[0], shape=box), refused=True)
        wrong = Spawn.Request(name="wrong", shape=box, options="{colour: 1}")
        self.call(Spawn, "/sim/spawn", wrong, refused=True)
        sent = [self.client.send_goal(MoveTo, "/fleet/move_to", self.goal(name)) for name in names[::2]]
        self.client.until(lambda: sent[0].feedback, "feedback")
        result = self.call(Delete, "/sim/delete", Delete.Request(names=names)).result
        if len(result.accepted) != len(names):
            self.tally.fail(f"/sim/delete: {result}")
        for goal in sent:
            goal.result()
        self.tally.operations += len(sent)

    def other_clients(self) -> None:
        """A client with a participant of its own asks and leaves."""
        other = Client(f"passer_by_{self.round}", PATIENCE)
        try:
            names = other.call(List, "/sim/list").names
            if "arm" not in names:
                self.tally.fail(f"/sim/list: {names}")
        finally:
            other.close()
        self.tally.operations += 1

    def killed_clients(self) -> None:
        """A client is killed in the middle of its goal, with readers and a service call under way."""
        if self.doomed is not None:
            self.doomed.kill()
            self.doomed.wait()
            self.tally.operations += 1
        self.doomed = subprocess.Popen([sys.executable, __file__, "--doomed"], stdout=subprocess.DEVNULL)

    def moments(self) -> None:
        """Pause, steps, resume; save and load; a picture."""
        self.call(Step, "/sim/step", Step.Request(steps=1), refused=True)
        self.call(Trigger, "/sim/pause")
        try:
            self.call(Step, "/sim/step", Step.Request(steps=10))
            self.call(Save, "/sim/save", Save.Request(name="soak"))
        finally:
            self.call(Trigger, "/sim/resume")
        self.call(Load, "/sim/load", Load.Request(name="soak"))
        self.call(Load, "/sim/load", Load.Request(name="never saved"), refused=True)
        if not self.call(TakePicture, "/sim/take_picture", TakePicture.Request(width=80, height=60)).image.data:
            self.tally.fail("an empty picture")

    def resets(self) -> None:
        """Begin anew; running goals end."""
        sent = self.client.send_goal(MoveTo, "/fleet/move_to", self.goal("cart_5", 100.0))
        self.call(Trigger, "/sim/reset")
        sent.result()
        self.tally.operations += 1


WORK: list[tuple[Callable[[Manager], None], int]] = [
    (Manager.goals, 1),
    (Manager.topics, 1),
    (Manager.visitors, 1),
    (Manager.sensors, 2),
    (Manager.other_clients, 2),
    (Manager.carrying, 3),
    (Manager.moments, 3),
    (Manager.killed_clients, 4),
    (Manager.resets, 10),
]
"""Each kind of work, and each how many rounds it is done."""


def doomed() -> None:
    """Work until killed."""
    client = Client("doomed", PATIENCE)
    scans = client.listen(LaserScan, "/scout/scan", qos_profile_sensor_data)
    goal = MoveTo.Goal(robot="cart_15")
    goal.pose.pose.position.x = 8.0
    while True:
        goal.pose.pose.position.y = -goal.pose.pose.position.y or 4.0
        client.send_goal(MoveTo, "/fleet/move_to", goal).result()
        scans.clear()


def main() -> int:
    """Work until the process is ended by SIGTERM or Ctrl-C."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if sys.argv[1:] == ["--doomed"]:
        doomed()
    load = Manager()
    try:
        load.client.until(lambda: load.states, "the first state")
        load.run()
    except KeyboardInterrupt:
        return 0
    finally:
        if load.doomed is not None:
            load.doomed.kill()


if __name__ == "__main__":
    sys.exit(main())

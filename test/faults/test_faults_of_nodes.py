"""Nodes and clients that are killed, peers that hang or flood, and resets, each in the middle of the work.

What is promised: whoever is left goes on, answers, and keeps simulated time going; what comes back is served anew.
"""

from __future__ import annotations

import itertools
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from action_msgs.msg import GoalStatus
from node_program import Client, NodeProcess, running
from rosgraph_msgs.msg import Clock
from shape_msgs.msg import SolidPrimitive
from std_srvs.srv import Trigger

from fleet_sim_msgs.action import MoveTo
from fleet_sim_msgs.srv import List, Spawn

Running = tuple[NodeProcess, Client]
ARGUMENTS = ("-p", "robots:=4", "-p", "target_rtf:=5.0")
PATIENCE = 60.0
SUPPORT = Path(__file__).parents[1] / "support"
PROGRAM = """
import sys
sys.path.insert(0, {support!r})
from node_program import Client
from fleet_sim_msgs.action import MoveTo
from fleet_sim_msgs.msg import FleetState
from geometry_msgs.msg import Twist
client = Client("other", {patience})
"""
DRIVES = """
goal = MoveTo.Goal(robot="robot_1")
goal.pose.pose.position.x, goal.pose.pose.orientation.w = 1e3, 1.0
sent = client.send_goal(MoveTo, "/fleet/move_to", goal)
client.until(lambda: sent.feedback)
print("ready", flush=True)
client.until(lambda: False)
"""
LISTENS = """
states = client.listen(FleetState, "/fleet/states")
client.until(lambda: states)
print("ready", flush=True)
client.until(lambda: False)
"""
LISTENS_TO_ALL = """
from rosidl_runtime_py.utilities import get_message
client.until(lambda: dict(client.node.get_topic_names_and_types()).get("/robot_0/camera/image_raw"))
messages = []
for name, kinds in client.node.get_topic_names_and_types():
    if client.node.count_publishers(name) and "/_action/" not in name:
        # Reliable where the writer is, and much kept: the writer is to wait for it.
        writer = client.node.get_publishers_info_by_topic(name)[0].qos_profile
        writer.depth = 1000
        client.node.create_subscription(get_message(kinds[0]), name, messages.append, writer)
client.until(lambda: len(messages) > 1000)
print("ready", flush=True)
client.until(lambda: False)
"""
CROWD = """
simulation: {timestep: 0.05, target_rtf: 5.0, gui: false}
ros: {per_robot: all}
robots:
  - name: robot
    shape: {shape_type: sphere, radius: 0.2}
    grid: {count: 300, spacing: [1, 1, 0]}
  - name: robot_0
    pose: [0, -5, 0.2]
    shape: {shape_type: sphere, radius: 0.2}
    sensors: [{type: camera, rate: 2, width: 640, height: 480}, {type: lidar, rate: 10, rays: 5000}]
  - {name: robot_1, pose: [0, -9, 0.2], shape: {shape_type: sphere, radius: 0.2}}
"""
FLOODS = """
import time
from rclpy.serialization import serialize_message
publisher = client.publisher(Twist, "/robot_0/cmd_vel")
data = serialize_message(Twist())
print("ready", flush=True)
sys.stdin.readline()
end = time.monotonic() + float(sys.argv[1])
count = 0
while time.monotonic() < end:
    for _ in range(1000):
        publisher.publish(data)
    count += 1000
print(count, time.process_time(), flush=True)
"""

BATCHES = "<Internal><WriteBatch>true</WriteBatch></Internal>"


class Other:
    """Another process that does `work` and has said that it is ready."""

    def __init__(self, work: str, *arguments: str, **environment: str) -> None:
        program = PROGRAM.format(support=str(SUPPORT), patience=PATIENCE) + work
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        assert self.line() == "ready"

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path / "node.log", *ARGUMENTS) as both:
        both[1].patience = PATIENCE
        yield both


def goal_to(robot: str, x: float) -> MoveTo.Goal:
    goal = MoveTo.Goal(robot=robot)
    goal.pose.pose.position.x, goal.pose.pose.orientation.w = x, 1.0
    return goal


def assert_serves(client: Client, robot: str = "robot_0") -> None:
    """A goal gets its result, and time goes on by ten simulated seconds."""
    sent = client.send_goal(MoveTo, "/fleet/move_to", goal_to(robot, 0.5))
    assert sent.result()[0] == GoalStatus.STATUS_SUCCEEDED
    clocks = client.listen(Clock, "/clock", 1)
    client.until(lambda: clocks and clocks[-1].clock.sec >= clocks[0].clock.sec + 10, "time")


@pytest.mark.slow
def test_a_client_that_is_killed_in_the_middle_of_its_goal(fleet: Running) -> None:
    node, client = fleet
    other = Other(DRIVES)
    other.kill()
    assert_serves(client)
    # Its robot takes the orders of others.
    assert_serves(client, "robot_1")
    assert node.process.poll() is None


@pytest.mark.slow
def test_a_node_that_is_killed_in_the_middle_of_goals_and_spawns(fleet: Running, tmp_path: Path) -> None:
    node, client = fleet
    sent = client.send_goal(MoveTo, "/fleet/move_to", goal_to("robot_0", 1e3))
    client.until(lambda: sent.feedback, "motion")
    box = SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[0.4, 0.4, 0.2])
    spawner = client.node.create_client(Spawn, "/sim/spawn")
    client.until(spawner.service_is_ready, "the service")
    asked = [spawner.call_async(Spawn.Request(name=f"more_{index}", shape=box)) for index in range(50)]
    client.until(lambda: any(future.done() for future in asked), "a spawn")
    node.process.kill()
    node.wait()
    lister = client.node.create_client(List, "/sim/list")
    client.until(lambda: not lister.service_is_ready(), "the end of the node to be noticed")
    again = NodeProcess(tmp_path / "again.log", *ARGUMENTS)
    try:
        assert_serves(client)
        assert sorted(client.call(List, "/sim/list").names) == [f"robot_{index}" for index in range(4)]
    finally:
        code, _ = again.end()
    assert code == 0


@pytest.mark.slow
def test_a_subscriber_that_hangs_holds_nobody_up(fleet: Running) -> None:
    _, client = fleet
    other = Other(LISTENS)
    other.process.send_signal(signal.SIGSTOP)
    try:
        assert_serves(client)
    finally:
        other.kill()


@pytest.mark.slow
def test_reliable_readers_of_all_topics_that_hang_hold_nobody_up(tmp_path: Path) -> None:
    """Fleet, transforms, pictures and scans: what they do not read is thrown away, and is not kept."""
    config = tmp_path / "crowd.yaml"
    config.write_text(CROWD.replace("name: robot\n", "name: extra\n"))
    with running(tmp_path / "node.log", "-p", f"config:={config}") as (node, client):
        client.patience = PATIENCE
        others = [Other(LISTENS_TO_ALL) for _ in range(2)]
        pages = Path(f"/proc/{node.process.pid}/statm")
        before = int(pages.read_text().split()[1])
        for other in others:
            other.process.send_signal(signal.SIGSTOP)
        try:
            assert_serves(client)
            clocks = client.listen(Clock, "/clock", 100)
            client.until(lambda: clocks and clocks[-1].clock.sec >= clocks[0].clock.sec + 20, "time")
        finally:
            for other in others:
                other.kill()
        gaps = [later.clock.sec - clock.clock.sec for clock, later in itertools.pairwise(clocks)]
        assert max(gaps) <= 1, "in simulated seconds: the clock was sent all the time"
        assert (int(pages.read_text().split()[1]) - before) * resource.getpagesize() < 200e6


@pytest.mark.slow
def test_resets_in_the_middle_of_goals(fleet: Running) -> None:
    _, client = fleet
    clocks = client.listen(Clock, "/clock", 100)
    for _ in range(4):
        sent = client.send_goal(MoveTo, "/fleet/move_to", goal_to("robot_0", 1e3))
        client.until(lambda sent=sent: sent.feedback, "motion")
        assert client.call(Trigger, "/sim/reset").success
        assert sent.result()[0] == GoalStatus.STATUS_ABORTED
    times = [(clock.clock.sec, clock.clock.nanosec) for clock in clocks]
    assert times == sorted(times)
    assert_serves(client)


@pytest.mark.slow
def test_too_few_open_files_are_one_error() -> None:
    command = [sys.executable, "-m", "fleet_sim.ros.main", "--ros-args", *ARGUMENTS]
    limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (12, 12))  # noqa: E731
    done = subprocess.run(command, preexec_fn=limit, capture_output=True, text=True, check=False)
    # Cyclone DDS would end the process by itself, with a fault of memory.
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("fleet_sim_node: error: ") and line.endswith("more may be opened: see ulimit -n")


@pytest.mark.parametrize(
    "setting",
    [
        "CYCLONEDDS_URI=<CycloneDDS><Nonsense/></CycloneDDS>",
        "CYCLONEDDS_URI=file:///no/such/file.xml",
        "ROS_AUTOMATIC_DISCOVERY_RANGE=EVERYWHERE",
    ],
)
def test_a_wrong_environment_is_one_error(setting: str) -> None:
    name, _, value = setting.partition("=")
    command = [sys.executable, "-m", "fleet_sim.ros.main", "--ros-args", *ARGUMENTS]
    done = subprocess.run(command, env={**os.environ, name: value}, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    # The middleware says in lines of its own what is wrong with its configuration.
    (line,) = [line for line in done.stderr.splitlines() if "[" not in line]
    assert line.startswith("fleet_sim_node: error: ") and name in line


@pytest.mark.parametrize("megabytes", [50, 300, 586])
def test_too_little_memory_is_one_error(megabytes: int) -> None:
    command = [sys.executable, "-m", "fleet_sim.ros.main", "--ros-args", *ARGUMENTS]
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))  # noqa: E731
    done = subprocess.run(command, preexec_fn=limit, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.endswith("more than there is (see ulimit -v)")


@pytest.mark.slow
@pytest.mark.parametrize("batches", [False, True])
def test_a_flood_of_messages(fleet: Running, batches: bool) -> None:
    node, client = fleet
    pages = Path(f"/proc/{node.process.pid}/statm")
    assert_serves(client, "robot_1")
    before = int(pages.read_text().split()[1])
    # Many messages in a packet: most of the time would be the system's, with one call for each of them.
    settings = {"CYCLONEDDS_URI": BATCHES} if batches else {}
    floods = [Other(FLOODS, "10", **settings) for _ in range(4)]
    for flood in floods:
        assert flood.process.stdin is not None
        flood.process.stdin.write("now\n")
        flood.process.stdin.flush()
    begin = processor_time(node.process.pid)
    assert_serves(client, "robot_1")
    told = [[float(number) for number in flood.line().split()] for flood in floods]
    used = processor_time(node.process.pid) - begin
    for flood in floods:
        flood.process.communicate()
    assert_serves(client)
    grown = (int(pages.read_text().split()[1]) - before) * resource.getpagesize()
    count, sending = (sum(numbers) for numbers in zip(*told, strict=True))
    print(f"{count / 10:,.0f} messages per second from four processes, {'batches' if batches else 'one by one'};")
    print(f"of processors: {1e6 * sending / count:.1f} us to send one, {1e6 * used / count:.1f} us of the node;")
    print(f"memory grew by {grown / 1e6:.1f} MB")
    assert grown < 100e6


def processor_time(process: int) -> float:
    """Return the time of processors that a process has used, in s."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

"""A system's clock that jumps, and a network that loses, swaps and holds back, around a running node.

Neither needs the rights to change clock or network: a library between the node and the C library does it (faulty.c).
"""

from __future__ import annotations

import mmap
import os
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from action_msgs.msg import GoalStatus
from node_program import Client, NodeProcess
from rosgraph_msgs.msg import Clock
from system_packages import need_commands

from fleet_sim_msgs.action import MoveTo
from fleet_sim_msgs.srv import List

HERE = Path(__file__).parent
PATIENCE = 60.0
DAY = 86400
JUMP, LOSS, SWAP, LOST, SWAPPED = range(5)
ARGUMENTS = ("-p", "robots:=2", "-p", "target_rtf:=5.0")


class Faulty:
    """What is wrong with the world of a node; see faulty.c."""

    def __init__(self, path: Path) -> None:
        path.write_bytes(bytes(40))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), 0)

    def __getitem__(self, index: int) -> int:
        return int(struct.unpack_from("<q", self._memory, 8 * index)[0])

    def __setitem__(self, index: int, value: int) -> None:
        struct.pack_into("<q", self._memory, 8 * index, value)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        need_commands("cc")
    assert compiler is not None
    path = tmp_path_factory.mktemp("faulty") / "faulty.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-o", path, HERE / "faulty.c", "-ldl", "-lpthread"], check=True
    )
    return path


@pytest.fixture
def faulty(library: Path, tmp_path: Path) -> Iterator[tuple[Faulty, Client]]:
    """A node in a world that may go wrong, and a client whose own clock is right."""
    client, world = Client(patience=PATIENCE), Faulty(tmp_path / "faulty")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LD_PRELOAD", str(library))
        patch.setenv("FAULTY", str(tmp_path / "faulty"))
        node = NodeProcess(tmp_path / "node.log", *ARGUMENTS)
    try:
        yield world, client
        world[LOSS] = world[SWAP] = 0
        assert node.end()[0] == 0, node.output()
    finally:
        client.close()
        if node.process.poll() is None:
            node.process.kill()
            node.process.wait()
        print(node.output())


def test_the_clock_is_wrong_where_it_is_told_to_be(library: Path, tmp_path: Path) -> None:
    world = Faulty(tmp_path / "faulty")
    world[JUMP] = DAY
    environment = {**os.environ, "LD_PRELOAD": str(library), "FAULTY": str(tmp_path / "faulty")}
    program = "import time; print(time.time(), time.monotonic())"
    printed = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True).stdout
    today, running = map(float, printed.split())
    assert abs(today - time.time() - DAY) < DAY / 2 and abs(running - time.monotonic()) < DAY / 2


def drive(client: Client, robot: str, x: float) -> Callable[[], tuple[int, object]]:
    """Send a goal that is accepted; return what waits for its result."""
    goal = MoveTo.Goal(robot=robot)
    goal.pose.pose.position.x, goal.pose.pose.orientation.w = x, 1.0
    sent = client.send_goal(MoveTo, "/fleet/move_to", goal)
    assert sent.handle.accepted
    return sent.result


def seconds_of(clocks: list[Clock]) -> list[float]:
    return [clock.clock.sec + 1e-9 * clock.clock.nanosec for clock in clocks]


@pytest.mark.slow
def test_jumps_of_the_systems_clock_change_nothing(faulty: tuple[Faulty, Client]) -> None:
    world, client = faulty
    clocks = client.listen(Clock, "/clock", 100)
    for number, jump in enumerate((0, DAY, -DAY, 400 * DAY, 0)):
        result = drive(client, "robot_0", 2.0 * (number % 2) + 1.0)
        world[JUMP] = jump
        assert result()[0] == GoalStatus.STATUS_SUCCEEDED
        assert list(client.call(List, "/sim/list").names) == ["robot_0", "robot_1"]
    times = seconds_of(clocks)
    # Simulated time is made of steps: it neither jumps nor stands.
    assert times == sorted(times) and times[-1] - times[0] < 1000.0


@pytest.mark.slow
def test_datagrams_that_are_lost_and_swapped(faulty: tuple[Faulty, Client]) -> None:
    world, client = faulty
    client.call(List, "/sim/list")
    world[LOSS], world[SWAP] = 20, 30
    for number in range(5):
        results = [drive(client, robot, 2.0 * (number % 2) + 1.0) for robot in ("robot_0", "robot_1")]
        assert [result()[0] for result in results] == [GoalStatus.STATUS_SUCCEEDED] * 2
    assert world[LOST] > 20 and world[SWAPPED] > 20


@pytest.mark.slow
def test_a_network_that_is_gone_for_a_while(faulty: tuple[Faulty, Client]) -> None:
    world, client = faulty
    clocks = client.listen(Clock, "/clock", 100)
    client.until(lambda: clocks, "time")
    result = drive(client, "robot_0", 3.0)
    world[LOSS] = 100
    before, lost = seconds_of(clocks)[-1], world[LOST]
    # Longer than the drive takes: its result is made while nobody can be told.
    stop = time.monotonic() + PATIENCE
    while world[LOST] < lost + 300 and time.monotonic() < stop:
        os.sched_yield()
        time.sleep(0.01)
    world[LOSS] = 0
    assert result()[0] == GoalStatus.STATUS_SUCCEEDED
    client.until(lambda: seconds_of(clocks)[-1] > before + 3.0, "time that has gone on")

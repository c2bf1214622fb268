"""Four publishers send what is no message on each topic of a node, as fast as they can.

Promised: no robot moves, everything that the node reads is counted, nothing is a fault of its own, its log and its
memory stay small, and others are served meanwhile.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from node_program import Client, Running

from fleet_sim_msgs.msg import FleetState
from fleet_sim_msgs.srv import List

HERE = Path(__file__).parent
PUBLISHERS = 4
MESSAGES = 20_000
"""Of each publisher, in an ordinary test."""

TOPICS = 53
"""That the node reads."""

LONGEST_LOG = 100_000
"""Bytes that the log of the node may have,"""

LOG_PER_SECOND = 5_000
"""and how many more for each second of the flood."""

BATCHES = "<Internal><WriteBatch>true</WriteBatch></Internal>"


class Flood:
    """A process that is ready to send."""

    def __init__(self, count: int, seed: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "flood_program.py"), str(count), str(seed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "CYCLONEDDS_URI": BATCHES},
        )

    def line(self) -> list[str]:
        """Return the words of the next line."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().split()

    def go(self) -> None:
        """Let it send, or end."""
        assert self._process.stdin is not None
        self._process.stdin.write("now\n")
        self._process.stdin.flush()

    def end(self) -> None:
        """Let it end; kill it where it does not."""
        self.go()
        try:
            self._process.communicate(timeout=60.0)
        finally:
            self._process.kill()


def poses(client: Client) -> dict[str, tuple[float, ...]]:
    """Return where all robots are."""
    states = client.listen(FleetState, "/fleet/states")
    client.until(lambda: states, "the states of the fleet")
    found = {}
    for robot in states[-1].robots:
        place, turn = robot.pose.position, robot.pose.orientation
        found[robot.name] = (place.x, place.y, place.z, turn.x, turn.y, turn.z, turn.w)
    return found


@pytest.mark.slow
def test_invalid_messages_move_nothing(fleet: Running, times: int, tried: Callable[[str, int], None]) -> None:
    node, client = fleet
    client.until(lambda: client.node.count_subscribers("/helper/path"), "the node")
    pages = Path(f"/proc/{node.process.pid}/statm")
    floods = [Flood(MESSAGES * times, seed) for seed in range(PUBLISHERS)]
    assert [flood.line() for flood in floods] == [["ready", str(TOPICS)]] * PUBLISHERS
    names = client.call(List, "/sim/list").names
    before, memory = poses(client), int(pages.read_text().split()[1])
    begin = time.monotonic()
    for flood in floods:
        flood.go()
    # In the middle of it.
    assert client.call(List, "/sim/list").names == names
    client.patience = 3600.0
    sent = [int(flood.line()[0]) for flood in floods]
    assert poses(client) == before
    told = client.figures_of_the_node()
    assert int(told["faults"]) == 0
    assert int(told["refused_commands"]) >= PUBLISHERS * times
    for flood in floods:
        flood.end()
    assert (int(pages.read_text().split()[1]) - memory) * resource.getpagesize() < 100e6
    assert client.call(List, "/sim/list").names == names
    assert node.end()[0] == 0
    output = node.output()
    assert len(output) < LONGEST_LOG + LOG_PER_SECOND * (time.monotonic() - begin)
    assert not re.search(r"Traceback|fault", output)
    tried("invalid messages", sum(sent))
    tried("of them read by the node, and refused", int(told["refused_commands"]))

"""Two nodes in one domain step together, on one machine and in two networks, with one clock."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from command_line import fleet_sim_command
from node_program import Client, NodeProcess
from rosgraph_msgs.msg import Clock

from fleet_sim import StateError
from fleet_sim.ros.lockstep import NANO, Lockstep, nanoseconds
from fleet_sim_msgs.srv import List, Step

SCENARIO = "simulation: {{timestep: {timestep}, target_rtf: 0}}\nrobots: [{{name: a, shape: {{shape_type: box}}}}]\n"
LEFT, RIGHT = "/left", "/right"
COMMAND = [sys.executable, "-m", "fleet_sim.apps.cli.main", "lockstep"]


@contextmanager
def node(folder: Path, name: str, timestep: float, *arguments: str, paused: bool = True) -> Iterator[NodeProcess]:
    """Run a node below `name`."""
    config = folder / f"{name.strip('/')}.yaml"
    config.write_text(SCENARIO.format(timestep=timestep))
    parameters = ["-r", f"__ns:={name}", "-p", f"config:={config}", "-p", f"paused:={str(paused).lower()}", *arguments]
    process = NodeProcess(folder / f"{name.strip('/')}.log", *parameters)
    try:
        yield process
    finally:
        if process.process.poll() is None:
            process.end()
        print(process.output())


def lockstep_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `fleet-sim lockstep`."""
    return fleet_sim_command("lockstep", *arguments)


@pytest.mark.slow
def test_nodes_with_steps_of_their_own_share_one_clock(tmp_path: Path) -> None:
    with ExitStack() as stack:
        stack.enter_context(node(tmp_path, LEFT, 0.05))
        stack.enter_context(node(tmp_path, RIGHT, 0.02))
        client = Client()
        stack.callback(client.close)
        # Both nodes before anything else, so that times below are those of the command alone.
        for name in (LEFT, RIGHT):
            client.call(List, f"{name}/sim/list")
        clocks: list[Clock] = []
        client.node.create_subscription(Clock, "/clock", clocks.append, 100)
        own: list[Clock] = []
        client.node.create_subscription(Clock, f"{LEFT}/clock", own.append, 100)
        done = lockstep_command(LEFT, "right/", "--period", "0.1", "--duration", "2", "--rtf", "20", "--patience", "90")
        assert done.returncode == 0, done.stderr
        assert done.stdout == "2 nodes at 0 s\nall at 2 s, after 20 periods\n"
        client.until(lambda: own and nanoseconds(own[-1].clock) == 2 * NANO, "the clock of the left node")
        # What came of the one clock: periods, in their order.
        found = [nanoseconds(clock.clock) for clock in clocks]
        assert found == sorted(set(found)) and all(stamp % (NANO // 10) == 0 for stamp in found)

        lockstep = Lockstep([LEFT, RIGHT], 0.1, context=client.context)
        stack.callback(lockstep.close)
        lockstep.begin()
        assert lockstep.time == 2 * NANO
        assert lockstep.advance() == pytest.approx(2.1)
        # Somebody else steps one of them.
        assert client.call(Step, f"{RIGHT}/sim/step", Step.Request(steps=1)).success
        with pytest.raises(StateError, match=r"/right has 2.22 s; expected 2.2 s; who steps them"):
            lockstep.advance()
        assert "start them with paused:=true" in lockstep_command(LEFT, RIGHT, "--patience", "90").stderr
        # The times are the same again, but steps of 0.02 s do not divide the period.
        assert client.call(Step, f"{RIGHT}/sim/step", Step.Request(steps=4)).success
        assert client.call(Step, f"{LEFT}/sim/step", Step.Request(steps=2)).success
        again = lockstep_command(LEFT, RIGHT, "--period", "0.05", "--duration", "1", "--patience", "90")
        assert again.returncode == 1
        assert "/right: its steps are 0.02 s, which do not divide 0.05 s" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["/a", "a/"], "all different"),
        (["/a", "--period", "0"], "period: expected 1e-6 to 3600 s"),
        (["/a", "--rtf", "-1"], "--rtf: expected 0 to 1000"),
        (["/a", "--rtf", "5e-324"], "at least 1e-06 if not 0"),
        (["/a", "--duration", "0"], r"--duration: expected the period \(0.1 s\) at least, got 0"),
        (["/nobody_is_here", "--patience", "0.5"], r"no answer of /nobody_is_here/sim/pause, .* within 0.5 s"),
    ],
)
def test_what_cannot_be_is_one_error(arguments: list[str], reason: str) -> None:
    done = lockstep_command(*arguments)
    assert done.returncode == 1
    assert re.search(reason, done.stderr) and "Traceback" not in done.stderr


@contextmanager
def two_networks() -> Iterator[list[list[str]]]:
    """Two network namespaces and a cable: what a command begins with to be in each. Skips where none can be made."""
    mine = [f"fleet_{os.getpid()}_{side}" for side in "ab"]
    cable = [f"fs{os.getpid() % 100000}{side}" for side in "ab"]

    def run(*command: str) -> None:
        done = subprocess.run(["ip", *command], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"no network namespaces can be made here: {done.stderr.strip()}")

    with ExitStack() as stack:
        for name in mine:
            run("netns", "add", name)
            stack.callback(subprocess.run, ["ip", "netns", "del", name], check=True)
        run("link", "add", cable[0], "netns", mine[0], "type", "veth", "peer", "name", cable[1], "netns", mine[1])
        for number, (name, end) in enumerate(zip(mine, cable, strict=True), 1):
            run("-n", name, "addr", "add", f"10.77.0.{number}/24", "dev", end)
            for device in (end, "lo"):
                run("-n", name, "link", "set", device, "up")
        yield [f"ip netns exec {name}".split() for name in mine]


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes network namespaces")
def test_nodes_in_two_networks_step_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Not this machine only; the other one by its address, as where there is no multicast between machines.
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET")
    monkeypatch.setenv("ROS_STATIC_PEERS", "10.77.0.1;10.77.0.2")
    with two_networks() as inside, ExitStack() as stack:
        for place, name in zip(inside, (LEFT, RIGHT), strict=True):
            config = tmp_path / f"{name[1:]}.yaml"
            config.write_text(SCENARIO.format(timestep=0.1))
            parameters = ["-r", f"__ns:={name}", "-p", f"config:={config}", "-p", "paused:=true"]
            with (tmp_path / f"{name[1:]}.log").open("w") as log:
                command = [*place, sys.executable, "-m", "fleet_sim.ros.main", "--ros-args", *parameters]
                process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
            stack.callback(process.wait)
            stack.callback(process.terminate)
        command = [*inside[0], *COMMAND, LEFT, RIGHT, "--period", "0.5", "--duration", "5", "--rtf", "0"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stdout == "2 nodes at 0 s\nall at 5 s, after 10 periods\n"

"""Nodes start and find each other whatever interfaces and multicast routes a machine has."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

DISCOVERS = Path(__file__).parent.parent / "programs" / "discovers.py"
IN_OWN_NETWORK = ["unshare", "--map-root-user", "--net", "bash", "-ec"]

LOOPBACK = "ip link set lo up\n"
# What ROS's own documents advise for a machine without a network.
MULTICAST = "ip link set lo multicast on\nip route add 224.0.0.0/4 dev lo\n"
NETWORK = """ip link add pr0 type veth peer name pr1
ip addr add 10.9.0.1/24 dev pr0
ip link set pr0 up
ip link set pr1 up
"""
TWO_MACHINES = """ip link set lo up
unshare --net sleep 60 &
other=$!
until [[ $(readlink /proc/$other/ns/net) != $(readlink /proc/$$/ns/net) ]]; do :; done
ip link add pr0 type veth peer name pr1
ip link set pr1 netns $other
ip addr add 10.9.0.1/24 dev pr0
ip link set pr0 up
there="nsenter --net=/proc/$other/ns/net ip"
$there link set lo up
$there addr add 10.9.0.2/24 dev pr1
$there link set pr1 up
"$0" "$1" outside $other 10.9.0.1
kill $other
"""
DEFAULT_ROUTE = "ip route add default via 10.9.0.2\n"


def possible() -> bool:
    try:
        return subprocess.run([*IN_OWN_NETWORK, LOOPBACK + NETWORK], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(
    "network",
    [
        pytest.param(LOOPBACK, id="loopback"),
        pytest.param(LOOPBACK + MULTICAST, id="loopback with multicast"),
        pytest.param(LOOPBACK + NETWORK, id="network without a route for multicast"),
        pytest.param(LOOPBACK + NETWORK + DEFAULT_ROUTE, id="network"),
        pytest.param(LOOPBACK + NETWORK + MULTICAST, id="network, and multicast on loopback"),
        pytest.param(LOOPBACK + NETWORK + DEFAULT_ROUTE + MULTICAST, id="all of them"),
    ],
)
@pytest.mark.skipif(not possible(), reason="needs ip, and unshare --net allowed")
def test_a_process_starts_and_is_found(network: str) -> None:
    command = [*IN_OWN_NETWORK, network + 'exec "$0" "$1"', sys.executable, str(DISCOVERS)]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("CYCLONEDDS")}
    result = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=200)
    ranges = ("default", "LOCALHOST", "SUBNET")
    expected = [f"{first} {second}  found" for first in ranges for second in ranges]
    assert result.stdout.splitlines() == [*expected, "SUBNET SUBNET 127.0.0.1 found"], result.stderr
    assert result.returncode == 0, result.stderr


@pytest.mark.skipif(not possible(), reason="needs ip, and unshare --net allowed")
def test_another_machine_is_reached_only_if_asked_for() -> None:
    command = [*IN_OWN_NETWORK, TWO_MACHINES, sys.executable, str(DISCOVERS)]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("CYCLONEDDS")}
    result = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=200)
    expected = ["default  not found", "default 10.9.0.2 found", "SUBNET 10.9.0.2 found"]
    assert result.stdout.splitlines() == expected, result.stderr
    assert not result.stderr

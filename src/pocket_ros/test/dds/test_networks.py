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
    expected = ["SUBNET  found", "SUBNET 127.0.0.1 found", "LOCALHOST  found", "OFF  opened"]
    assert result.stdout.splitlines() == expected, result.stderr

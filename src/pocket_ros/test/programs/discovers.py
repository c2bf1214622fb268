"""Prints for discovery ranges of two processes whether the second, which is started later, is found.

`discovers.py` tries ranges of two processes of one machine. `discovers.py outside PID ADDRESS` has the second
in the network of the process PID, as on another machine, with the address of this one as its peer and without
multicast. It runs in a network of its own: `test/dds/test_networks.py` makes it.
"""

import os
import subprocess
import sys
import time

from pocket_ros.dds.discovery import Discovery
from pocket_ros.dds.endpoints import EndpointQos
from pocket_ros.dds.participant import Participant

TYPE = "std_msgs::msg::dds_::String_"
DOMAIN = 7
RANGES = ("", "LOCALHOST", "SUBNET")
SECONDS = 10.0
SECONDS_WITHOUT = 3.0
"""As long as a process that is to be out of reach is waited for."""


def set_reach(reach: str, peers: str = "") -> None:
    os.environ.pop("ROS_AUTOMATIC_DISCOVERY_RANGE", None)
    if reach:
        os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = reach
    os.environ["ROS_STATIC_PEERS"] = peers


def found(participant: Participant, command: list[str], reach: str, peers: str, seconds: float) -> bool:
    discovery = Discovery(participant)
    set_reach(reach, peers)
    later = subprocess.Popen([*command, sys.executable, __file__, "later"], stdin=subprocess.PIPE)
    end = time.monotonic() + seconds
    seen = False
    while not seen and time.monotonic() < end:
        seen = any(endpoint.topic == "rt/later" for endpoint in discovery.writers())
        time.sleep(0.01)
    later.communicate(timeout=20)
    return seen


def announce_until_told() -> None:
    participant = Participant(DOMAIN, b"enclave=/;")
    participant.create_writer("rt/later", TYPE, EndpointQos(), b"")
    sys.stdin.read()
    participant.close()


def try_one_machine() -> None:
    cases = [(first, second, "") for first in RANGES for second in RANGES] + [
        ("SUBNET", "SUBNET", "127.0.0.1")
    ]
    for first, second, peers in cases:
        set_reach(first, peers)
        participant = Participant(DOMAIN, b"enclave=/;")
        answer = "found" if found(participant, [], second, peers, SECONDS) else "not found"
        print(first or "default", second or "default", peers, answer)
        participant.close()
    set_reach("OFF")
    Participant(DOMAIN, b"enclave=/;").close()


def try_from_outside(pid: str, address: str) -> None:
    into = ["nsenter", f"--net=/proc/{pid}/ns/net"]
    os.environ["CYCLONEDDS_URI"] = "<General><AllowMulticast>false</AllowMulticast></General>"
    for reach, peers in (("", ""), ("", "10.9.0.2"), ("SUBNET", "10.9.0.2")):
        set_reach(reach, peers)
        participant = Participant(DOMAIN, b"enclave=/;")
        seconds = SECONDS if reach or peers else SECONDS_WITHOUT
        answer = "found" if found(participant, into, "SUBNET", address, seconds) else "not found"
        print(reach or "default", peers, answer)
        participant.close()


if __name__ == "__main__":
    if sys.argv[1:] == ["later"]:
        announce_until_told()
    elif sys.argv[1:2] == ["outside"]:
        try_from_outside(*sys.argv[2:])
    else:
        try_one_machine()

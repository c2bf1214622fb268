"""Prints for some discovery ranges and static peers whether a process finds one that is started later.

It runs in a network of its own: `test/dds/test_networks.py` makes it.
"""

import os
import subprocess
import sys
import time

from pocket_ros.dds.discovery import Discovery
from pocket_ros.dds.participant import Participant
from pocket_ros.dds.qos import EndpointQos

TYPE = "std_msgs::msg::dds_::String_"
DOMAIN = 7


def found(participant: Participant) -> bool:
    discovery = Discovery(participant)
    later = subprocess.Popen([sys.executable, __file__, "later"], stdin=subprocess.PIPE)
    end = time.monotonic() + 10
    seen = False
    while not seen and time.monotonic() < end:
        seen = any(endpoint.topic == "rt/later" for endpoint in discovery.writers())
        time.sleep(0.01)
    later.communicate(timeout=20)
    return seen


def main() -> None:
    if sys.argv[1:] == ["later"]:
        participant = Participant(DOMAIN, b"enclave=/;")
        participant.create_writer("rt/later", TYPE, EndpointQos(), b"")
        sys.stdin.read()
        participant.close()
        return
    for reach, peers in (("SUBNET", ""), ("SUBNET", "127.0.0.1"), ("LOCALHOST", ""), ("OFF", "")):
        os.environ |= {"ROS_AUTOMATIC_DISCOVERY_RANGE": reach, "ROS_STATIC_PEERS": peers}
        participant = Participant(DOMAIN, b"enclave=/;")
        print(reach, peers, "opened" if reach == "OFF" else "found" if found(participant) else "not found")
        participant.close()


if __name__ == "__main__":
    main()

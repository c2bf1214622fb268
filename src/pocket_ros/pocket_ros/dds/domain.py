"""Domains of this process, configured by the ROS environment variables.

`CYCLONEDDS_URI` is respected: it is appended to the configuration made here, so what it says wins.
"""

from __future__ import annotations

import os
from threading import Lock

from .library import RETCODE_PRECONDITION_NOT_MET, check, lib

# As many processes of one domain as the port mapping leaves room for can find each other by unicast.
_MAX_PARTICIPANT_INDEX = 119
# What a peer missed is asked for again at once: by default a first call to a service takes 0.1 s.
# A process that ends waits half a second for peers that vanished, not a whole one.
_INTERNAL = (
    "<Internal><NackDelay>10ms</NackDelay><WriterLingerDuration>500ms</WriterLingerDuration></Internal>"
)
_RANGES = ("SUBNET", "LOCALHOST", "OFF", "SYSTEM_DEFAULT")

_lock = Lock()
_open: dict[int, list[int]] = {}


def discovery_range() -> str:
    """SUBNET, LOCALHOST, OFF or SYSTEM_DEFAULT.

    From `ROS_LOCALHOST_ONLY` and `ROS_AUTOMATIC_DISCOVERY_RANGE`.

    Raises ValueError for any other value.
    """
    if os.environ.get("ROS_LOCALHOST_ONLY") == "1":
        return "LOCALHOST"
    value = os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE") or "SUBNET"
    if value not in _RANGES:
        allowed = ", ".join(_RANGES)
        raise ValueError(f"ROS_AUTOMATIC_DISCOVERY_RANGE is '{value}'; it can be {allowed}")
    return value


def configuration() -> str:
    """The Cyclone DDS configuration for the environment of this process."""
    reach = discovery_range()
    peers = [p for p in os.environ.get("ROS_STATIC_PEERS", "").split(";") if p]
    index = f"<ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>{_MAX_PARTICIPANT_INDEX}"
    index += "</MaxAutoParticipantIndex>"
    general = ""
    if reach in ("LOCALHOST", "OFF"):
        general = "<General><AllowMulticast>false</AllowMulticast></General>"
    if reach == "OFF":
        index, peers = "<ParticipantIndex>none</ParticipantIndex>", []
    elif reach == "SYSTEM_DEFAULT":
        index, peers = "", []
    else:
        # Also within a subnet: loopback interfaces often have no multicast.
        peers = ["localhost", *peers]
    listed = "".join(f'<Peer address="{p}"/>' for p in peers)
    discovery = f"<Discovery>{index}{f'<Peers>{listed}</Peers>' if listed else ''}</Discovery>"
    ours = f"<CycloneDDS><Domain>{general}{discovery}{_INTERNAL}</Domain></CycloneDDS>"
    return ",".join(part for part in (ours, os.environ.get("CYCLONEDDS_URI", "")) if part)


def acquire(domain_id: int) -> None:
    """Make sure the domain exists; each call needs one `release`."""
    with _lock:
        if domain_id in _open:
            _open[domain_id][1] += 1
            return
        result = lib.dds_create_domain(domain_id, configuration().encode())
        if result != RETCODE_PRECONDITION_NOT_MET:  # which is: someone else in this process has made it
            check(result, f"to open domain {domain_id} (CYCLONEDDS_URI and ROS_STATIC_PEERS are part of it)")
        _open[domain_id] = [result, 1]


def release(domain_id: int) -> None:
    """Give a domain back; the last one closes it."""
    with _lock:
        entry = _open[domain_id]
        entry[1] -= 1
        if entry[1] == 0:
            del _open[domain_id]
            if entry[0] > 0:
                lib.dds_delete(entry[0])

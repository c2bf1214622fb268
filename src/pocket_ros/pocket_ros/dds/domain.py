"""Domains of this process, configured by the ROS environment variables.

`CYCLONEDDS_URI` is respected: it is appended to the configuration made here, so what it says wins.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from .library import LOG_WARNING, RETCODE_PRECONDITION_NOT_MET, check, lib

# The network interfaces of this machine.


# From <linux/sockios.h> and <net/if.h>.
_GET_FLAGS, _GET_ADDRESS, _GET_MASK, _GET_MTU = 0x8913, 0x8915, 0x891B, 0x8921
_FLAGS = {1: "UP", 2: "BROADCAST", 8: "LOOPBACK", 16: "POINTOPOINT", 64: "RUNNING", 4096: "MULTICAST"}


class Interface(NamedTuple):
    """An interface that has an IPv4 address."""

    name: str
    address: str
    mask: str
    mtu: int
    flags: list[str]


def find_interfaces() -> list[Interface]:
    """All that are up and have an IPv4 address."""
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:

        def ask(name: str, what: int) -> bytes:
            return fcntl.ioctl(asked, what, struct.pack("256s", name.encode()[:15]))

        for _, name in socket.if_nameindex():
            try:
                (bits,) = struct.unpack_from("<H", ask(name, _GET_FLAGS), 16)
                address, mask = (
                    socket.inet_ntoa(ask(name, what)[20:24]) for what in (_GET_ADDRESS, _GET_MASK)
                )
                (mtu,) = struct.unpack_from("<i", ask(name, _GET_MTU), 16)
            except OSError:
                continue  # no address
            flags = [text for bit, text in _FLAGS.items() if bits & bit]
            if "UP" in flags:
                found.append(Interface(name, address, mask, mtu, flags))
    return found


def own_address() -> str:
    """This machine's IPv4 address on its network; empty where loopback is all it has.

    It is that of the interface which the route of multicast leads to, where that is not loopback. Otherwise
    the first interface that is up counts, for Cyclone DDS chooses loopback only where there is no other.
    """
    found = [interface.address for interface in find_interfaces() if "LOOPBACK" not in interface.flags]
    routed = _routed_address()
    if routed in found:
        return routed
    return found[0] if found else ""


def _routed_address() -> str:
    """The address that multicast would be sent from; 0.0.0.0 where its route leads to loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, suppress(OSError):
        probe.connect(("239.255.0.1", 7400))  # only chooses a route; nothing is sent
        return str(probe.getsockname()[0])
    return ""


# As many processes of one domain as the port mapping leaves room for can find each other by unicast.
_MAX_PARTICIPANT_INDEX = 119
# What a peer missed is asked for again at once: by default a first call to a service takes 0.1 s.
# A process that ends waits half a second for peers that vanished, not a whole one.
_INTERNAL = (
    "<Internal><NackDelay>10ms</NackDelay><WriterLingerDuration>500ms</WriterLingerDuration></Internal>"
)
# An announcement that arrives on an interface which is not listed is dropped, and rmw_cyclonedds sends those
# for its own machine to 127.0.0.1: without loopback, a ROS 2 node that is started later would not be found.
# What goes to a single peer is sent by the interface of the highest priority, which loopback has by default,
# and from there nothing reaches another machine.
_INTERFACES = (
    '<Interfaces><NetworkInterface autodetermine="true" priority="10"/>'
    '<NetworkInterface address="127.0.0.1" allow_multicast="false"/></Interfaces>'
)
# Sockets, pipes and wait sets of a domain, and files that are open for a moment.
_FILES = 12
_LOOPBACK = '<Interfaces><NetworkInterface address="127.0.0.1"/></Interfaces>'
_RANGES = ("SUBNET", "LOCALHOST", "OFF", "SYSTEM_DEFAULT")

_lock = Lock()
_open: dict[int, list[int]] = {}


def discovery_range() -> str:
    """SUBNET, LOCALHOST, OFF or SYSTEM_DEFAULT; LOOPBACK where nobody asks for another.

    From `ROS_LOCALHOST_ONLY`, which comes first, and `ROS_AUTOMATIC_DISCOVERY_RANGE`. ROS 2 Jazzy reaches the
    subnet by default. Here nothing from the network is read unless somebody asks for it: by these variables,
    by `ROS_STATIC_PEERS` (LOCALHOST and those peers) or by interfaces or peers in `CYCLONEDDS_URI` (SUBNET).

    Raises ValueError for any other value.
    """
    if _localhost_only():
        return "LOCALHOST"
    value = os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE")
    if not value:
        if os.environ.get("ROS_LOCALHOST_ONLY") == "0" or _names("NetworkInterface") or _names("<Peer "):
            return "SUBNET"
        return "LOCALHOST" if os.environ.get("ROS_STATIC_PEERS") else "LOOPBACK"
    if value not in _RANGES:
        allowed = ", ".join(_RANGES)
        raise ValueError(f"ROS_AUTOMATIC_DISCOVERY_RANGE is '{value}'; it can be {allowed}")
    return value


def configuration() -> str:
    """The Cyclone DDS configuration for the environment of this process."""
    reach = discovery_range()
    address = own_address() if reach in ("SUBNET", "LOCALHOST") else ""
    general = _interfaces(reach, address)
    if reach in ("LOOPBACK", "LOCALHOST", "OFF"):
        general += "<AllowMulticast>false</AllowMulticast>"
    uri = os.environ.get("CYCLONEDDS_URI", "")
    domain = f"<General>{general}</General>{_discovery(reach, address)}{_INTERNAL}"
    ours = f"<CycloneDDS><Domain>{domain}</Domain></CycloneDDS>"
    return ",".join(part for part in (ours, uri) if part)


def _interfaces(reach: str, address: str) -> str:
    if reach == "LOOPBACK":
        return _LOOPBACK
    # Interfaces that the user names would be added to ours. Without a network there is nothing to say:
    # Cyclone DDS refuses to be given the same interface twice.
    return _INTERFACES if address and not _names("NetworkInterface") else ""


def _discovery(reach: str, address: str) -> str:
    """How peers are found: by which ports, and who is asked besides those that multicast finds."""
    peers = _static_peers(reach)
    index = f"<ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>{_MAX_PARTICIPANT_INDEX}"
    index += "</MaxAutoParticipantIndex>"
    if reach == "OFF":
        index = "<ParticipantIndex>none</ParticipantIndex>"
    elif reach == "SYSTEM_DEFAULT":
        index = ""
    else:
        # Also within a subnet: loopback interfaces often have no multicast. By both addresses, because a
        # process on this machine may listen on loopback, on the network or on both.
        # Not by its name, which a minimal container does not know.
        peers = ["127.0.0.1", *([address] if address else []), *peers]
    listed = "".join(f'<Peer address="{p}"/>' for p in peers)
    return f"<Discovery>{index}{f'<Peers>{listed}</Peers>' if listed else ''}</Discovery>"


def _static_peers(reach: str) -> list[str]:
    """The hosts of `ROS_STATIC_PEERS`, where they count."""
    # As in ROS 2: who asks for this machine only means it, whatever else the environment says.
    if _localhost_only() or reach not in ("SUBNET", "LOCALHOST"):
        return []
    return [peer for peer in os.environ.get("ROS_STATIC_PEERS", "").split(";") if peer]


def _localhost_only() -> bool:
    return os.environ.get("ROS_LOCALHOST_ONLY") == "1"


def _names(word: str) -> bool:
    """Whether the user's own configuration has something to say about `word`."""
    uri = os.environ.get("CYCLONEDDS_URI", "")
    texts = [uri]
    for part in uri.split(","):
        if part.startswith("file://"):
            with suppress(OSError):  # Cyclone DDS reports a file that cannot be read
                texts.append(Path(part[len("file://") :]).read_text(errors="replace"))
    return any(word in text for text in texts)


def acquire(domain_id: int) -> None:
    """Make sure the domain exists; each call needs one `release`."""
    with _lock:
        if domain_id in _open:
            _open[domain_id][1] += 1
            return
        _check_files()
        _check_peers()
        result = lib.dds_create_domain(domain_id, configuration().encode())
        if result != RETCODE_PRECONDITION_NOT_MET:  # which is: someone else in this process has made it
            check(result, f"to open domain {domain_id} (CYCLONEDDS_URI and ROS_STATIC_PEERS are part of it)")
        if not _names("Tracing"):
            # A warning is a line for each packet that is no message: whoever sends many could fill the disk.
            lib.dds_set_log_mask(lib.dds_get_log_mask() & ~LOG_WARNING)
        _open[domain_id] = [result, 1]


def _check_files() -> None:
    """Raise OSError where too few files may be opened: Cyclone DDS ends the process then, without a word."""
    opened: list[int] = []
    try:
        for _ in range(_FILES):
            opened.append(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        text = f"Cyclone DDS needs {_FILES} open files, and {len(opened)} more may be opened: see ulimit -n"
        raise OSError(error.errno, text) from error
    finally:
        for file in opened:
            os.close(file)


def _check_peers() -> None:
    """Raise ValueError for a peer without an address: Cyclone DDS aborts the process then."""
    # IPv4 is all that is spoken, unless the user's configuration says otherwise.
    family = socket.AF_UNSPEC if any(map(_names, ("udp6", "tcp6", "UseIPv6"))) else socket.AF_INET
    for peer in _static_peers(discovery_range()):
        host, port = peer.rsplit(":", 1) if peer.count(":") == 1 else (peer, None)
        try:
            socket.getaddrinfo(host.strip("[]"), port, family, type=socket.SOCK_DGRAM)
        except (OSError, UnicodeError) as error:
            raise ValueError(f"ROS_STATIC_PEERS names '{peer}', which has no address: {error}") from error


def release(domain_id: int) -> None:
    """Give a domain back; the last one closes it."""
    with _lock:
        entry = _open[domain_id]
        entry[1] -= 1
        if entry[1] == 0:
            del _open[domain_id]
            if entry[0] > 0:
                lib.dds_delete(entry[0])

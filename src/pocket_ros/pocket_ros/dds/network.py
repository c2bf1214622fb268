"""The network interfaces of this machine."""

from __future__ import annotations

import fcntl
import socket
import struct
from contextlib import suppress
from typing import NamedTuple

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

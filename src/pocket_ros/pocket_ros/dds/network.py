"""The network interfaces of this machine, as Cyclone DDS sees them."""

from __future__ import annotations

import fcntl
import socket
import struct
from contextlib import suppress

# From <linux/sockios.h> and <net/if.h>.
_SIOCGIFFLAGS, _SIOCGIFADDR = 0x8913, 0x8915
_IFF_UP, _IFF_LOOPBACK = 0x1, 0x8
_REQUEST = struct.Struct("16s24s")


def own_address() -> str:
    """This machine's IPv4 address on its network; empty where loopback is all it has.

    It is that of the interface which the route of multicast leads to, where that is not loopback. Otherwise
    the first interface that is up counts, for Cyclone DDS chooses loopback only where there is no other.
    """
    found = _network_addresses()
    routed = _routed_address()
    if routed in found:
        return routed
    return found[0] if found else ""


def _network_addresses() -> list[str]:
    """The first address of each interface that is up and not loopback."""
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            with suppress(OSError):  # it has no IPv4 address, or has gone
                (flags,) = struct.unpack_from("H", _ask(probe, _SIOCGIFFLAGS, name))
                if flags & _IFF_UP and not flags & _IFF_LOOPBACK:
                    found.append(socket.inet_ntoa(_ask(probe, _SIOCGIFADDR, name)[4:8]))
    return found


def _ask(probe: socket.socket, question: int, name: str) -> bytes:
    answer = fcntl.ioctl(probe, question, _REQUEST.pack(name.encode(), bytes(24)))
    return answer[16:]


def _routed_address() -> str:
    """The address that multicast would be sent from; 0.0.0.0 where its route leads to loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, suppress(OSError):
        probe.connect(("239.255.0.1", 7400))  # only chooses a route; nothing is sent
        return str(probe.getsockname()[0])
    return ""

"""The network interfaces of this machine."""

from __future__ import annotations

import fcntl
import socket
import struct
from typing import NamedTuple

from .format import doctor_error, doctor_warn
from .parts import DoctorCheck, DoctorReport, Report, Result

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


class NetworkCheck(DoctorCheck):
    """Whether this machine, others, and groups of them can be reached."""

    _ros_category = "network"

    def check(self) -> Result:
        """Look for loopback, another interface, and multicast."""
        result = Result()
        interfaces = find_interfaces()
        outer = [interface for interface in interfaces if "LOOPBACK" not in interface.flags]
        if len(outer) == len(interfaces):
            doctor_error("No loopback IP address is found.")
            result.add_error()
        if not outer:
            doctor_warn("Only loopback IP address is found.")
            result.add_warning()
        if not any("MULTICAST" in interface.flags for interface in interfaces):
            doctor_warn("No multicast IP address is found.")
            result.add_warning()
        return result


class NetworkReport(DoctorReport):
    """The interfaces with their addresses."""

    _ros_category = "network"

    def report(self) -> Report:
        """Five lines for each interface."""
        report = Report("NETWORK CONFIGURATION")
        for interface in find_interfaces():
            report.add_to_report("inet", interface.address)
            report.add_to_report("netmask", interface.mask)
            report.add_to_report("device", interface.name)
            report.add_to_report("flags", f"<{','.join(interface.flags)}>")
            report.add_to_report("mtu", interface.mtu)
        return report

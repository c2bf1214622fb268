"""The network interfaces of this machine."""

from __future__ import annotations

from ...dds.domain import discovery_range
from ...dds.network import find_interfaces
from ...module_places import not_covered
from .format import doctor_error, doctor_warn
from .parts import DoctorCheck, DoctorReport, Report, Result


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
        if outer and discovery_range() == "LOOPBACK":
            doctor_warn("Nodes reach this machine only; ROS_AUTOMATIC_DISCOVERY_RANGE=SUBNET reaches others.")
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


__getattr__ = not_covered("ros2doctor.api.network")

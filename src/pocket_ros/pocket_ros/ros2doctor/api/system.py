"""The machine, pocket_ros and the middleware."""

from __future__ import annotations

import os
import platform
from importlib import metadata

from ... import __version__
from ...rclpy.utilities import get_rmw_implementation_identifier
from .parts import DoctorReport, Report


class PlatformReport(DoctorReport):
    """The operating system and Python."""

    _ros_category = "platform"

    def report(self) -> Report:
        """A line for each."""
        report = Report("PLATFORM INFORMATION")
        report.add_to_report("system", platform.system())
        report.add_to_report("platform info", platform.platform())
        report.add_to_report("release", platform.release())
        report.add_to_report("processor", platform.processor() or platform.machine())
        report.add_to_report("python", platform.python_version())
        return report


class RosReport(DoctorReport):
    """What is in place of a distribution of ROS, and the environment it reads."""

    _ros_category = "platform"

    def report(self) -> Report:
        """The version, and each variable that is set."""
        report = Report("ROS 2 INFORMATION")
        report.add_to_report("distribution name", "pocket_ros, as jazzy")
        report.add_to_report("distribution version", __version__)
        for name in sorted(os.environ):
            if name.startswith(("ROS_", "RMW_", "RCUTILS_", "CYCLONEDDS_", "AMENT_")):
                report.add_to_report(name, os.environ[name])
        return report


class RMWReport(DoctorReport):
    """The middleware."""

    _ros_category = "middleware"

    def report(self) -> Report:
        """Its name and version."""
        report = Report("RMW MIDDLEWARE")
        report.add_to_report("middleware name", get_rmw_implementation_identifier())
        report.add_to_report("cyclonedds", metadata.version("cyclonedds"))
        return report

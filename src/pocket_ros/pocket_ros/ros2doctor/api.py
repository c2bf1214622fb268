"""Checks of an installation of ROS, which are not covered."""

from ..module_places import not_covered

__getattr__ = not_covered(
    "ros2doctor.api",
    "DoctorCheck",
    "DoctorReport",
    "Report",
    "Result",
    "generate_reports",
    "get_topic_names",
    "run_checks",
)

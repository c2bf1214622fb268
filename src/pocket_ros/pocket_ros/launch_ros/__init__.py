"""ROS nodes in launch files."""

from . import actions, descriptions, parameter_descriptions, substitutions, utilities

__all__ = ["actions", "descriptions", "parameter_descriptions", "substitutions", "utilities"]

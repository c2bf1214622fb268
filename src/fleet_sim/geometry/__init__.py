"""Poses and paths: the values that users pass in and get back."""

from fleet_sim.geometry.path import Path
from fleet_sim.geometry.pose import Pose

__all__ = ["Path", "Pose"]

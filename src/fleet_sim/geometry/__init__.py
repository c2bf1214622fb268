"""Poses and paths: the values that users pass in and get back.

`Pose` is immutable: position in m, orientation as a unit quaternion x, y, z, w. `Path` is a sequence of poses to drive
through. Angles are in rad.
"""

from fleet_sim.geometry.path import Path
from fleet_sim.geometry.pose import Pose

__all__ = ["Path", "Pose"]

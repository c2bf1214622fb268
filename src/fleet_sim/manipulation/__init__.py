"""Bin picking: an arm with a gripper, bins with objects, and a camera above them."""

from __future__ import annotations

from fleet_sim.manipulation.bins import BaseBin, PickBin
from fleet_sim.manipulation.camera import Camera
from fleet_sim.manipulation.config import BinPickingConfig, load_bin_picking
from fleet_sim.manipulation.franka_arm import FrankaArm
from fleet_sim.manipulation.scenes import BaseScene, BinScene

__all__ = [
    "BaseBin",
    "BaseScene",
    "BinPickingConfig",
    "BinScene",
    "Camera",
    "FrankaArm",
    "PickBin",
    "load_bin_picking",
]

"""Bin picking: an arm with a gripper, bins with objects, and a camera above them.

`scenes.py` puts a scene together from the settings in `config.py`; `franka_arm.py` moves the arm, and `pick_bin.py`
fills a bin from a seed. The environments in `envs` are built on it.
"""

from __future__ import annotations

from fleet_sim.manipulation.bins import BaseBin
from fleet_sim.manipulation.camera import Camera
from fleet_sim.manipulation.config import BinPickingConfig
from fleet_sim.manipulation.franka_arm import FrankaArm
from fleet_sim.manipulation.keyboard import ArmKeyboard
from fleet_sim.manipulation.loading import load_bin_picking
from fleet_sim.manipulation.pick_bin import PickBin
from fleet_sim.manipulation.scenes import BaseScene, BinScene

__all__ = [
    "ArmKeyboard",
    "BaseBin",
    "BaseScene",
    "BinPickingConfig",
    "BinScene",
    "Camera",
    "FrankaArm",
    "PickBin",
    "load_bin_picking",
]

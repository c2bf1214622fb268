"""Bin picking: an arm with a gripper, bins with objects, and a camera above them.

`scenes.py` puts a scene together from the settings in `config.py`; `arm.py` moves the arm, and `bins.py` fills a bin
from a seed. The environments in `learning/envs/franka.py` are built on it.
"""

from __future__ import annotations

from fleet_sim.learning.manipulation.arm import FrankaArm
from fleet_sim.learning.manipulation.bins import BaseBin, PickBin
from fleet_sim.learning.manipulation.config import BinPickingConfig, load_bin_picking
from fleet_sim.learning.manipulation.scenes import BaseScene, BinScene, Camera

__all__ = ["BaseBin", "BaseScene", "BinPickingConfig", "BinScene", "Camera", "FrankaArm", "PickBin", "load_bin_picking"]

"""Pictures of robot models, as `fleet-sim models render` writes them."""

from __future__ import annotations

import math

import numpy as np

from fleet_sim.arrays import Bytes, Floats
from fleet_sim.config.params import SimulationParams
from fleet_sim.core.robot_model import BASE
from fleet_sim.entities.agent import Agent
from fleet_sim.geometry import Pose
from fleet_sim.models import load_robot_model, resolve_urdf
from fleet_sim.simulation import MultiRobotSimulationCore

_FOV = 40.0
# Pictures are rendered this many times larger and averaged, because PyBullet's renderer does not smooth edges.
_OVERSAMPLING = 2


def picture_of(model: str, width: int, height: int, *, yaw: float = 135.0, pitch: float = -25.0) -> Bytes:
    """Return a picture (height, width, 3) filled by a model, given by name or path; angles in degrees."""
    path = resolve_urdf(model)
    # Loaded for its check: our reader reports file and line of an error, PyBullet does not.
    load_robot_model(path)
    with MultiRobotSimulationCore(SimulationParams(gui=False, monitor=False)) as sim:
        Agent.from_urdf(path, pose=Pose((0.0, 0.0, 0.0)), mass=0.0, use_fixed_base=True, sim_core=sim)
        body = sim.agents[0].body_id
        links = range(BASE, sim.bullet.getNumJoints(body))
        # Link by link: PyBullet's box of a body is that of its base alone.
        boxes = np.array([sim.bullet.getAABB(body, link) for link in links])
        view = _view(boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0), width / height, yaw, pitch)
        return _averaged(sim.take_picture(_OVERSAMPLING * width, _OVERSAMPLING * height, view).rgb)


def _view(lower: Floats, upper: Floats, aspect: float, yaw: float, pitch: float) -> dict[str, object]:
    """Return the camera section that frames a box with corners (3,), (3,)."""
    # The box's bounding sphere of radius r touches the edge of a picture with half angle a from distance r / sin(a).
    radius = 0.5 * float(np.linalg.norm(upper - lower))
    half = math.radians(0.5 * _FOV)
    # The field of view is vertical; in an upright picture the horizontal one is the smaller.
    narrow = half if aspect >= 1.0 else math.atan(aspect * math.tan(half))
    return {
        "camera_mode": "manual",
        "camera_distance": max(0.2, radius / math.sin(narrow)),
        "camera_yaw": yaw,
        "camera_pitch": pitch,
        "camera_target": (0.5 * (lower + upper)).tolist(),
        "camera_fov": _FOV,
    }


def _averaged(rgb: Bytes) -> Bytes:
    height, width = (size // _OVERSAMPLING for size in rgb.shape[:2])
    blocks = rgb.reshape(height, _OVERSAMPLING, width, _OVERSAMPLING, 3)
    return blocks.mean(axis=(1, 3)).astype(np.uint8)

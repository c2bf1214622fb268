"""Pictures of robot models, as `fleet-sim models render` writes them."""

from __future__ import annotations

from fleet_sim.arrays import Bytes
from fleet_sim.config.params import SimulationParams
from fleet_sim.entities.agent import Agent
from fleet_sim.geometry import Pose
from fleet_sim.models import load_robot_model, resolve_urdf
from fleet_sim.simulation import MultiRobotSimulationCore

_FOV = 40.0


def picture_of(model: str, width: int, height: int, *, yaw: float = 135.0, pitch: float = -25.0) -> Bytes:
    """Return a picture (height, width, 3) filled by a model, given by name or path; angles in degrees."""
    path = resolve_urdf(model)
    # Loaded for its check: our reader reports file and line of an error, PyBullet does not.
    load_robot_model(path)
    view = {"camera_yaw": yaw, "camera_pitch": pitch, "camera_fov": _FOV, "camera_auto_scale": 0.95}
    with MultiRobotSimulationCore(SimulationParams(gui=False, monitor=False)) as sim:
        Agent.from_urdf(path, pose=Pose((0.0, 0.0, 0.0)), mass=0.0, use_fixed_base=True, sim_core=sim)
        return sim.draw_picture(width, height, view)

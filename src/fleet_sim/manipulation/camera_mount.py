"""Mounts the camera of a scene on a link of an arm."""

from __future__ import annotations

import logging

import numpy as np

from fleet_sim.entities.agent import Agent
from fleet_sim.manipulation.camera import Camera, look_at
from fleet_sim.spatial import quaternions

log = logging.getLogger("fleet_sim.manipulation")

MOUNT_OFFSET = 0.02
"""Height in m of the camera above the link it is mounted on."""
HAND_LINKS, HAND_OFFSET = (7, 8), -0.05
"""The flange and the hand of the panda, and the height of the camera above them: 2 cm above is inside the hand."""
VISIBLE = 0.9
"""The farthest point of a picture is at least this fraction of the way to the target, or the arm itself fills it."""


def mount_on_arm(
    camera: Camera,
    agent: Agent,
    mount: int,
    target: int,
    mount_offset: float,
    target_offset: float,
    lens: tuple[float, float, float],
) -> None:
    """Mount `camera` on the link `mount`, pointing at the link `target`; it moves with the arm from now on.

    Offsets in m are along the world's z axis; `lens` is the field of view in degrees and the distances of the near and
    the far plane in m. Logs a warning if the camera sees nothing but the arm itself.
    """
    link, aimed = agent.get_link_pose(mount), agent.get_link_pose(target)
    # Above in the world, whichever way the link is turned.
    eye = np.array(link.position) + [0.0, 0.0, mount_offset]
    aim = np.array(aimed.position) + [0.0, 0.0, target_offset]
    # A camera that looks straight up or down cannot have z as its up vector.
    is_vertical = np.hypot(*(aim - eye)[:2]) < 1e-6
    orientation = look_at(eye, aim, np.array([1.0, 0.0, 0.0] if is_vertical else [0.0, 0.0, 1.0]))
    # The camera's pose in the frame of the link.
    back = quaternions.conjugate(np.array([link.orientation]))
    position = quaternions.rotate(back, (eye - np.array(link.position))[None])[0]
    camera.mount_on(agent, mount, position, quaternions.multiply(back, orientation[None])[0], *lens)
    # One picture now: a camera inside of the arm is a mistake that no setting shows.
    farthest = float(np.max(camera.read().depth))
    if farthest < VISIBLE * float(np.linalg.norm(aim - eye)):
        log.warning(
            "the camera on link %d sees nothing beyond %.3f m: it is inside the arm; change mount_position_offset, %g",
            mount,
            farthest,
            mount_offset,
        )

"""Puts the walls of a site into a simulation, where robots, lidars, cameras and maps meet them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fleet_sim.config.modes import CollisionMode
from fleet_sim.entities.shape_params import ShapeParams
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.entities.spawn_params import SimObjectSpawnParams
from fleet_sim.geometry import Pose
from fleet_sim.sites.site import Site

if TYPE_CHECKING:
    from fleet_sim.simulation import MultiRobotSimulationCore

COLOR = (0.62, 0.64, 0.68, 1.0)


def build_walls(
    sim: MultiRobotSimulationCore, site: Site, height: float = 1.0, floor: float = 0.0, name: str | None = None
) -> list[SimObject]:
    """Spawn the walls of `site`, `height` m tall on a `floor` of that height, as static objects; returns them.

    They are called <name>_wall_<i>, with the name of the site by default.
    """
    prefix = site.name if name is None else name
    boxes = site.boxes()
    # Equal boxes follow each other, since consecutive equals are spawned with one write per column.
    order = np.lexsort((boxes[:, 1], boxes[:, 0], boxes[:, 4], boxes[:, 3]))
    shapes: dict[tuple[float, float], ShapeParams] = {}
    params = []
    for number, (x, y, yaw, length, width) in enumerate(boxes[order].tolist()):
        shape = shapes.get((length, width))
        if shape is None:
            half = (length, width, 0.5 * height)
            shape = shapes[length, width] = ShapeParams("box", half_extents=half, rgba_color=COLOR)
        params.append(
            SimObjectSpawnParams(
                shape,
                shape,
                Pose.from_euler(x, y, floor + 0.5 * height, 0.0, 0.0, math.remainder(yaw, math.tau)),
                name=f"{prefix}_wall_{number}",
                pickable=False,
                collision_mode=CollisionMode.STATIC,
            )
        )
    spawned: list[SimObject] = sim.spawn_all(params)
    return spawned

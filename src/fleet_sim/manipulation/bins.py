"""BaseBin: an empty bin, and which positions are in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fleet_sim.arrays import Bools, Floats
from fleet_sim.config.modes import CollisionMode
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.entities.spawn_params import AgentSpawnParams
from fleet_sim.geometry import Pose
from fleet_sim.manipulation.client import Client, simulation_of
from fleet_sim.manipulation.config import BinSettings
from fleet_sim.manipulation.gripper import FLOOR
from fleet_sim.manipulation.loading import load_section
from fleet_sim.spatial import quaternions


class BaseBin:
    """An empty bin with a fixed base: 160 x 160 x 40 mm inside."""

    default_bin_file_name = "bin"
    default_dimensions = (0.16, 0.16, 0.04)
    floor = FLOOR
    """Thickness of its floor in m. The frame of the bin is under it."""

    settings_class: type[BinSettings] = BinSettings

    def __init__(
        self, bin_config: BinSettings | Mapping[str, Any], bullet_client: Client, name: str | None = None
    ) -> None:
        """Spawn a bin in a simulation, or the one of a `sim.bullet`; `bin_config` is settings or a mapping of them."""
        self.config = load_section(self.settings_class, bin_config, "bin_config").in_use("a bin")
        self.sim = simulation_of(bullet_client)
        self.name = name
        self.dimensions = np.array(self.default_dimensions)
        angles = np.radians([self.config.orientation])
        self.pose = Pose(self.config.position, quaternions.from_eulers(angles)[0].tolist())
        self.handle: SimObject | None = None
        self.load_bin()

    def load_bin(self) -> int:
        """Spawn the bin unless it exists; return its object id."""
        if self.handle is None:
            params = AgentSpawnParams(
                name=self.name,
                urdf_path=self.default_bin_file_name,
                initial_pose=self.pose,
                # It is moved only by `reset`, and never by what falls into it.
                use_fixed_base=True,
                pickable=False,
                collision_mode=CollisionMode.STATIC,
            )
            self.handle = self.sim.spawn(params)
        # For the type checker: `spawn` returns any handle.
        assert self.handle is not None
        return self.handle.object_id

    @property
    def bin_id(self) -> int:
        """The PyBullet body id of the bin."""
        assert self.handle is not None
        return self.sim.world.bodies.body_id(self.handle.row)

    @property
    def bin_origin(self) -> list[float]:
        """The origin of its frame, world frame: the position of `pose`."""
        return list(self.pose.position)

    def create_collision_and_visual_shape(
        self,
        file_name: str,
        mesh_scale: Sequence[float],
        frame_offset: Sequence[float],
        rgba_color: Sequence[float] | None = None,
        load_bin: bool = False,
    ) -> tuple[int, int]:
        """Create PyBullet shapes from a mesh file (OBJ) for bodies of your own; returns the collision and visual ids.

        With `load_bin` the collision shape is concave, which is stable only for bodies that do not move.
        """
        bullet = self.sim.bullet
        # Without it PyBullet takes the convex hull, which would close the bin.
        flags = bullet.GEOM_FORCE_CONCAVE_TRIMESH if load_bin else 0
        collision = bullet.createCollisionShape(
            bullet.GEOM_MESH,
            fileName=file_name,
            meshScale=list(mesh_scale),
            collisionFramePosition=list(frame_offset),
            flags=flags,
        )
        visual = bullet.createVisualShape(
            bullet.GEOM_MESH,
            fileName=file_name,
            meshScale=list(mesh_scale),
            visualFramePosition=list(frame_offset),
            rgbaColor=list(rgba_color or (0.35, 0.35, 0.38, 1.0)),
        )
        return int(collision), int(visual)

    def create_constraint(self) -> int:
        """Fix the bin at its pose with a constraint of the engine, which can then move it; returns the constraint."""
        position, orientation = list(self.pose.position), list(self.pose.orientation)
        bullet = self.sim.bullet
        return int(
            bullet.createConstraint(
                self.bin_id, -1, -1, -1, bullet.JOINT_FIXED, [0, 0, 0], [0, 0, 0], position, [0, 0, 0, 1], orientation
            )
        )

    def reset(self, keep_object_type: bool = False) -> None:
        """Move the bin back to its pose."""
        self.load_bin()
        assert self.handle is not None
        self.handle.set_pose(self.pose)

    def to_bin(self, positions: Floats) -> Floats:
        """Return world positions (N, 3) in the frame of the bin."""
        # The inverse of a rotation, for going back into the bin's frame.
        back = quaternions.conjugate(np.array([self.pose.orientation]))
        offsets = positions - np.array(self.pose.position)
        return quaternions.rotate(np.repeat(back, len(offsets), axis=0), offsets)

    def to_world(self, positions: Floats) -> Floats:
        """Return positions (N, 3) given in the frame of the bin in the world frame."""
        orientation = np.array([self.pose.orientation])
        return np.array(self.pose.position) + quaternions.rotate(
            np.repeat(orientation, len(positions), axis=0), positions
        )

    def contains(self, obj_position: Sequence[float]) -> bool:
        """Return whether a position (world frame) is in the bin or at most one bin height above it: L x W x 2 H."""
        return bool(self.contains_mask(np.array([obj_position], np.float64))[0])

    def contains_mask(self, positions: Floats) -> Bools:
        """Return a mask (N,) of the positions (N, 3), world frame, that are in L x W x 2 H."""
        inside = self.to_bin(positions)
        length, width, height = self.dimensions
        # Open at the top: what lies on the other objects still counts as in the bin.
        mask = (np.abs(inside[:, 0]) <= 0.5 * length) & (np.abs(inside[:, 1]) <= 0.5 * width)
        return np.asarray(mask & (inside[:, 2] >= 0.0) & (inside[:, 2] <= 2.0 * height))

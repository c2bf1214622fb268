"""Mesh files that PyBullet has read."""

from __future__ import annotations

from fleet_sim.bullet.client import BulletClient
from fleet_sim.core.robot_model import RobotModel
from fleet_sim.core.shapes import Geometry
from fleet_sim.meshes.loading import version_of
from fleet_sim.spatial.shapes import ShapeKind

# For all clients, as is what PyBullet keeps of the files.
_read: dict[str, int] = {}


def mesh_version(client: BulletClient, geometry: Geometry) -> int:
    """Return the version of the mesh file of `geometry`, 0 for other kinds; a file that changed is read again."""
    if geometry.kind != ShapeKind.MESH:
        return 0
    version = version_of(geometry.mesh_path)
    if _read.setdefault(geometry.mesh_path, version) != version:
        _read[geometry.mesh_path] = version
        # PyBullet keeps what it has read by the name of the file; switching this off forgets it.
        for on in (0, 1):
            client.setPhysicsEngineParameter(enableFileCaching=on)
    return version


def renew_meshes(client: BulletClient, model: RobotModel) -> None:
    """Let PyBullet read the mesh files of `model` again that changed since it read them."""
    for piece in (*model.visuals, *model.collisions):
        mesh_version(client, piece.geometry)

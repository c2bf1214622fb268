"""What the user made in PyBullet: robots, with their joints and the shapes they collide as; and how much there is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.bullet.client import NO_BODY, BulletClient
from fleet_sim.bullet.mirror import BulletMirror
from fleet_sim.bullet.told_shapes import simple_geometry
from fleet_sim.core.robot_model import BASE, LinkGeometry, RobotModel
from fleet_sim.core.shapes import Geometry
from fleet_sim.meshes.formats import FORMATS
from fleet_sim.models.body import model_of_body
from fleet_sim.spatial import poses
from fleet_sim.spatial.shapes import ShapeKind


def adopted_model(client: BulletClient, body: int) -> RobotModel:
    """Return the model of `body`, with the shapes on its links.

    Boxes, spheres, cylinders and capsules are as they are. A link that collides as something else collides as the box
    around it; meshes of known files are seen, other visual shapes are not.
    """
    model = model_of_body(body, client)
    shapes = [part for link in range(BASE, model.num_joints) for part in _link_shapes(client, body, link)]
    return replace(model, visuals=_visuals(client, body), collisions=tuple(shapes))


def joint_positions(client: BulletClient, body: int, model: RobotModel) -> Floats:
    """Return the present positions (M,) of the movable joints of `body`."""
    return np.array([client.getJointState(body, joint)[0] for joint in model.movable.tolist()], np.float64)


def count_own(mirror: BulletMirror) -> tuple[int, int]:
    """Return how many bodies and constraints there are that the user made, and that stand for no entity."""
    client = mirror.client
    if not client.connected:
        return 0, 0
    ours = mirror.bodies.count + (client.floor_id != NO_BODY)
    return int(client.getNumBodies()) - ours, int(client.getNumConstraints()) - _count_gears(mirror)


def _count_gears(mirror: BulletMirror) -> int:
    """Return how many constraints hold mimic joints to their leaders: which are created again with their bodies."""
    world = mirror.world
    rows = world.rows[mirror.bodies.table.body[world.rows] != NO_BODY]
    rows = rows[world.robots.mimics[rows] & world.robots.motors[rows]]
    return sum(len(world.models[number].mimics) for number in world.robots.model[rows].tolist())


def _visuals(client: BulletClient, body: int) -> tuple[LinkGeometry, ...]:
    """Return the visual geometries of a user's body, in link frames; meshes by their file where it can be read."""
    found: list[LinkGeometry] = []
    for _, link, kind, sizes, name, position, orientation, rgba, *_ in client.getVisualShapeData(body):
        geometry = simple_geometry(client, kind, sizes)
        file = Path(name.decode(errors="replace"))
        if kind == client.GEOM_MESH and file.suffix.lower() in FORMATS and file.is_file():
            geometry = Geometry(ShapeKind.MESH, mesh_path=str(file.resolve()), mesh_scale=sizes)
        if geometry is not None:
            # Unlike collision shapes, these are in the frame of their link.
            posed = replace(geometry, position=position, orientation=orientation, rgba=rgba)
            found.append(LinkGeometry(link, posed))
    return tuple(found)


def _link_shapes(client: BulletClient, body: int, link: int) -> list[LinkGeometry]:
    """Return the collision geometries of one link, in its frame; a box around it where PyBullet cannot tell them."""
    found = client.getCollisionShapeData(body, link)
    # PyBullet has shapes in the inertial frame of their link.
    centre, turned = (np.array([part]) for part in client.getDynamicsInfo(body, link)[3:5])
    shapes: list[LinkGeometry] = []
    for _, _, kind, sizes, _, position, orientation in found:
        place, turn = poses.compose(centre, turned, np.array([position]), np.array([orientation]))
        geometry = simple_geometry(client, kind, sizes)
        if geometry is None:
            return [LinkGeometry(link, _box_around(client, body, link))]
        posed = replace(geometry, position=tuple(place[0].tolist()), orientation=tuple(turn[0].tolist()))
        shapes.append(LinkGeometry(link, posed))
    return shapes


def _box_around(client: BulletClient, body: int, link: int) -> Geometry:
    """Return the box around a link in its frame: measured with the link upright at the origin, and put back."""
    pose, twist = client.getBasePositionAndOrientation(body), client.getBaseVelocity(body)
    if link == BASE:
        offset = client.getDynamicsInfo(body, BASE)[3:5]
        client.resetBasePositionAndOrientation(body, *offset)
    else:
        state = client.getLinkState(body, link, computeForwardKinematics=1)
        inverse = client.invertTransform(state[4], state[5])
        client.resetBasePositionAndOrientation(body, *client.multiplyTransforms(*inverse, *pose))
    lower, upper = (np.array(corner) for corner in client.getAABB(body, link))
    client.resetBasePositionAndOrientation(body, *pose)
    client.resetBaseVelocity(body, *twist)
    x, y, z = (0.5 * (upper - lower)).tolist()
    return Geometry(ShapeKind.BOX, half_extents=(x, y, z), position=tuple((0.5 * (lower + upper)).tolist()))

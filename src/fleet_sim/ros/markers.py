"""/fleet/markers: all robots and objects as markers for RViz."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from geometry_msgs.msg import Vector3
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from fleet_sim.arrays import NO_ROWS
from fleet_sim.core.robot_model import BASE
from fleet_sim.core.schema import KIND_AGENT
from fleet_sim.core.shapes import Geometry
from fleet_sim.core.world import World
from fleet_sim.ros import qos
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim.ros.roster import Roster
from fleet_sim.ros.templates import ORIENTATION, POSITION, STAMP, MessagePart, MessageTemplate, under
from fleet_sim.spatial import poses
from fleet_sim.spatial.shapes import ShapeKind

PLANE_SIZE = 100.0
"""Side length in m of the square that represents an infinite plane."""


def markers_template(markers: list[Marker]) -> MessageTemplate:
    """Return the template of one MarkerArray; groups sec, nanosec, position (N, 3), orientation (N, 4)."""
    numbers = {
        **STAMP,
        "position": ("f8", under("pose", POSITION)),
        "orientation": ("f8", under("pose", ORIENTATION)),
    }
    return MessageTemplate([MarkerArray(markers=markers)], [MessagePart(numbers, lambda message: message.markers)])


class MarkersTopic(Interface):
    """Publishes a marker for each shape of the visible entities and their links, in the map frame.

    Boxes, spheres, cylinders, and meshes as the URIs of their files, which RViz has to be able to read.

    After a removal, one message with DELETEALL is published before the next markers.
    """

    rate = "markers"

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._publisher = bridge.robots.create_publisher(MarkerArray, "fleet/markers", qos.STATE)
        self._rows = NO_ROWS
        self._behind = True
        self._look = 0

    def on_fleet_changed(self, roster: Roster) -> None:
        # The template is built only when there are subscribers.
        self._behind = True

    def publish(self, now: int) -> None:
        if not self._publisher.get_subscription_count():
            return
        world = self.bridge.sim.world
        if self._behind or self._look != world.look.version:
            self._rebuild()
        if not len(self._rows):
            return
        places, turns = poses.compose(*world.link_poses(self._rows, self._links), self._offsets, self._turns)
        self._template.write_stamp(now)
        self._template.write("position", places)
        self._template.write("orientation", turns)
        self._publisher.publish(self._template.pieces()[0])

    def _rebuild(self) -> None:
        self._behind = False
        world = self.bridge.sim.world
        self._look = world.look.version
        rows, links, markers, offsets, turns = [], [], [], [], []
        for row in world.rows.tolist():
            group = "robots" if world.kind[row] == KIND_AGENT else "objects"
            for number, (link, geometry) in enumerate(_visible(world, row)):
                # Markers of one group have different ids; further shapes of an entity get a group of their own.
                object_id, name = int(world.object_id[row]), group if number == 0 else f"{group}/{number}"
                rows.append(row)
                links.append(link)
                markers.append(_marker(self.bridge.frames.map, name, object_id, geometry))
                offsets.append(geometry.position)
                turns.append(geometry.orientation)
        self._rows, self._links = np.array(rows, np.int64), np.array(links, np.int64)
        self._offsets = np.array(offsets, np.float64).reshape(-1, 3)
        self._turns = np.array(turns, np.float64).reshape(-1, 4)
        self._template = markers_template(markers)
        # RViz keeps markers that later messages do not mention.
        clear = Marker(action=Marker.DELETEALL)
        clear.header.frame_id = self.bridge.frames.map
        self._publisher.publish(MarkerArray(markers=[clear]))


def _visible(world: World, row: int) -> list[tuple[int, Geometry]]:
    """Return what the markers of the entity in `row` show, each in the frame of a link: its shapes or its links'.

    A box of its size stands for a robot whose description has nothing to see.
    """
    shape_id, model = int(world.shape_id[row]), world.model_of(row)
    if model is not None and model.visuals:
        shown = [(part.link, part.geometry) for part in model.visuals]
    elif shape_id < 0:
        return []
    elif world.shapes[shape_id].model_path:
        half_extents, centre = tuple(world.half_extents[row].tolist()), tuple(world.shape_position[row].tolist())
        shown = [(BASE, Geometry(int(ShapeKind.BOX), half_extents=half_extents, position=centre))]
    else:
        shape = world.shapes[shape_id]
        shown = [(BASE, geometry) for geometry in (shape.visual or shape.collision,) if geometry is not None]
    given = world.look.colours(np.full(len(shown), row), np.array([link for link, _ in shown], np.int64))
    return [
        (link, geometry if colour[0] < 0.0 else replace(geometry, rgba=tuple(colour)))
        for (link, geometry), colour in zip(shown, given.tolist(), strict=True)
    ]


def _marker(map_frame: str, group: str, number: int, geometry: Geometry) -> Marker:
    kind = ShapeKind(geometry.kind)
    red, green, blue, alpha = geometry.rgba
    marker = Marker(ns=group, id=number, action=Marker.ADD, color=ColorRGBA(r=red, g=green, b=blue, a=alpha))
    marker.header.frame_id = map_frame
    across = 2.0 * geometry.radius
    if kind is ShapeKind.MESH:
        marker.type, size = Marker.MESH_RESOURCE, geometry.mesh_scale
        # RViz takes URIs of absolute paths; package:// would need the mesh to be in a package that is installed there.
        marker.mesh_resource = Path(geometry.mesh_path).resolve().as_uri()
    elif kind is ShapeKind.SPHERE:
        marker.type, size = Marker.SPHERE, (across, across, across)
    elif kind is ShapeKind.CYLINDER:
        marker.type, size = Marker.CYLINDER, (across, across, geometry.height)
    elif kind is ShapeKind.CAPSULE:
        # There is no marker for capsules.
        marker.type, size = Marker.CYLINDER, (across, across, geometry.height + across)
    elif kind is ShapeKind.PLANE:
        # Not of height 0, as RViz does not draw markers with a scale of 0.
        marker.type, size = Marker.CUBE, (PLANE_SIZE, PLANE_SIZE, 0.001)
    else:
        x, y, z = geometry.half_extents
        marker.type, size = Marker.CUBE, (2.0 * x, 2.0 * y, 2.0 * z)
    marker.scale = Vector3(x=float(size[0]), y=float(size[1]), z=float(size[2]))
    return marker

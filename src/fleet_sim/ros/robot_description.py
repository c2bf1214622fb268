"""<robot>/robot_description: the robot as URDF, for RViz and similar tools."""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, tostring

import numpy as np
from std_msgs.msg import String

from fleet_sim.core.shapes import BodyShape, Geometry
from fleet_sim.models import published_text
from fleet_sim.ros import qos
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim.ros.per_robot import publishers
from fleet_sim.ros.roster import Roster
from fleet_sim.spatial import quaternions
from fleet_sim.spatial.shapes import ShapeKind


def describe(name: str, shape: BodyShape) -> str:
    """Return the robot's own description file, or a URDF with its shapes in the link base_link."""
    if shape.model_path:
        return published_text(shape.model_path, scale=shape.scale)
    robot = Element("robot", name=name)
    link = SubElement(robot, "link", name="base_link")
    for kind, geometry in (("visual", shape.visual), ("collision", shape.collision)):
        if geometry is not None:
            _add(SubElement(link, kind), geometry, colored=kind == "visual")
    return tostring(robot, encoding="unicode")


def _add(part: Element, geometry: Geometry, *, colored: bool) -> None:
    """Add a geometry to a <visual> or <collision>; what URDF has no shape for becomes the nearest one."""
    rpy = quaternions.to_eulers(np.array([geometry.orientation]))[0]
    SubElement(part, "origin", xyz=_text(*geometry.position), rpy=_text(*rpy))
    form = SubElement(part, "geometry")
    kind = ShapeKind(geometry.kind)
    if kind is ShapeKind.BOX:
        SubElement(form, "box", size=_text(*(2.0 * half for half in geometry.half_extents)))
    elif kind is ShapeKind.SPHERE:
        SubElement(form, "sphere", radius=_text(geometry.radius))
    elif kind in (ShapeKind.CYLINDER, ShapeKind.CAPSULE):
        # URDF has no capsule; a cylinder of the same total length is close.
        length = geometry.height + (2.0 * geometry.radius if kind is ShapeKind.CAPSULE else 0.0)
        SubElement(form, "cylinder", radius=_text(geometry.radius), length=_text(length))
    elif kind is ShapeKind.MESH:
        path = Path(geometry.mesh_path).resolve().as_uri()
        SubElement(form, "mesh", filename=path, scale=_text(*geometry.mesh_scale))
    else:
        # URDF has no plane either.
        SubElement(form, "box", size=_text(100.0, 100.0, 0.001))
    if colored:
        material = SubElement(part, "material", name="color")
        SubElement(material, "color", rgba=_text(*geometry.rgba))


def _text(*numbers: float) -> str:
    return " ".join(f"{number:.9g}" for number in numbers)


class RobotDescriptionTopic(Interface):
    """Publishes each robot's description once, latched.

    On <robot>/robot_description, a String: the robot's own description file, or a URDF with its shapes in the link
    base_link where it was spawned without a file.
    """

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._publishers = publishers(bridge, "description", String, "robot_description", qos.LATCHED)

    def on_fleet_changed(self, roster: Roster) -> None:
        """Publish the descriptions of new robots."""
        world = self.bridge.sim.world
        # Only new robots: others have published theirs, which is latched.
        for name in self._publishers.on_fleet_changed(roster):
            shape_id = int(world.shape_id[world.index.row_named(name)])
            # A robot without a shape is one link that cannot be seen.
            shape = world.shapes[shape_id] if shape_id >= 0 else BodyShape()
            self._publishers[name].publish(String(data=describe(name, shape)))

"""What robots tell over ROS: odometry, joint states, plans and their descriptions."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence
from functools import partial
from xml.etree.ElementTree import Element, SubElement, tostring

import numpy as np
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Odometry, Path
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from fleet_sim.base.arrays import Floats, Rows
from fleet_sim.base.cdr import STAMP, MessagePart, array_numbers
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.models import published_text
from fleet_sim.ros import messages as qos
from fleet_sim.ros.interface import Bridge, Interface, StateTopic, publishers
from fleet_sim.ros.messages import MessageTemplate, Roster, poses_to_msgs, stamped_template, time_to_msg, with_joints
from fleet_sim.ros.sensors import ODOMETRY
from fleet_sim.world.commands import Frames
from fleet_sim.world.shapes import BodyShape, Geometry
from fleet_sim.world.world import World


def body_twists(world: World, rows: Rows) -> Floats:
    """Return the twists (N, 6) of `rows`, linear then angular, in the frames of their bases."""
    back = quaternions.conjugate(world.orientation[rows])
    linear = quaternions.rotate(back, world.velocity[rows])
    return np.hstack([linear, quaternions.rotate(back, world.angular_velocity[rows])])


def odom_template(frames: Frames, names: Sequence[str]) -> MessageTemplate:
    """Return the template of one Odometry for each robot; groups sec, nanosec, position, orientation, twist (N, 6)."""
    messages = []
    for name in names:
        message = Odometry(child_frame_id=frames.base(name))
        message.header.frame_id = frames.odom(name)
        messages.append(message)
    return stamped_template(messages, ODOMETRY)


class OdomTopic(StateTopic):
    """Publishes poses in <robot>/odom and twists in <robot>/base_link.

    On <robot>/odom at `ros.rates.odom`. It is the truth and does not drift, so <robot>/odom and the map are the same
    frame; an `odometry` sensor has the drifting one.
    """

    rate = "odom"
    message_type = Odometry
    topic = "odom"

    def template_of(self, names: list[str], rows: Rows) -> MessageTemplate:
        return odom_template(self.bridge.frames, names)

    def write(self, template: MessageTemplate, rows: Rows) -> None:
        world = self.bridge.sim.world
        template.write("position", world.position[rows])
        template.write("orientation", world.orientation[rows])
        template.write("twist", body_twists(world, rows))


# <robot>/joint_states: joint positions and velocities of each robot, and efforts of those with motors.


def joint_states_template(joint_names: Sequence[Sequence[str]], motors: Sequence[bool]) -> MessageTemplate:
    """Return the template of one JointState for each robot, given the names of its joints and whether it has motors.

    Groups sec, nanosec; position and velocity, (J, 1) for the J joints of all robots, robot by robot; effort, of those
    with motors. The others leave it empty: the message says so of what is not known.
    """
    messages = [
        JointState(
            name=list(names),
            position=[0.0] * len(names),
            velocity=[0.0] * len(names),
            effort=[0.0] * (len(names) if powered else 0),
        )
        for names, powered in zip(joint_names, motors, strict=True)
    ]

    numbers = [array_numbers(field) for field in ("position", "velocity", "effort")]
    return MessageTemplate(messages, [MessagePart(STAMP), *numbers])


class JointStatesTopic(StateTopic):
    """Publishes positions, velocities and efforts of movable joints; robots without any have no topic.

    On <robot>/joint_states at `ros.rates.joint_states`: rad and rad/s, or m and m/s of sliding joints. `effort` (N m or
    N) is filled for robots whose joints the engine's motors move, and empty for others.
    """

    rate = "joint_states"
    message_type = JointState
    topic = "joint_states"

    def robots_of(self, roster: Roster) -> Roster:
        """Return the robots with joints; others have no topic."""
        return with_joints(roster, self.bridge.sim.world)

    def template_of(self, names: list[str], rows: Rows) -> MessageTemplate:
        world = self.bridge.sim.world
        # Robots with joints always have a model.
        models = [world.models[number] for number in world.robots.model[rows].tolist()]
        return joint_states_template([model.movable_names for model in models], world.robots.motors[rows].tolist())

    def write(self, template: MessageTemplate, rows: Rows) -> None:
        """Write true positions and velocities, and the efforts of motors, into the message of each robot."""
        world = self.bridge.sim.world
        slots = world.joints.slots(world.robots, rows)
        template.write("position", world.joints.position[slots][:, np.newaxis])
        template.write("velocity", world.joints.velocity[slots][:, np.newaxis])
        powered = world.joints.slots(world.robots, rows[world.robots.motors[rows]])
        if len(powered):
            template.write("effort", world.joints.effort[powered][:, np.newaxis])


# <robot>/plan: the path each robot follows, published when it changes.


class PlanTopic(Interface):
    """Publishes a path in the map frame, from its robot to the last waypoint, an empty one at its end; latched.

    On <robot>/plan, a nav_msgs/Path. Viewers draw nothing for a path of one pose, so the position of the robot comes
    first. `ros.rates.plan` says how often paths are compared; only those that changed are sent.
    """

    rate = "plan"

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._publishers = publishers(bridge, "state", Path, "plan", qos.LATCHED)
        self._published: dict[str, bytes] = {}

    def on_fleet_changed(self, roster: Roster) -> None:
        """Follow robots that were added and removed."""
        self._publishers.on_fleet_changed(roster)
        # Forgotten with its robot, or a new one of that name would publish nothing at first.
        kept = set(self._publishers.names)
        self._published = {name: points for name, points in self._published.items() if name in kept}

    def publish(self, now: int) -> None:
        """Publish the path of each robot whose path has changed, an empty one where it has ended."""
        world, publishers = self.bridge.sim.world, self._publishers
        rows = publishers.rows
        if not len(rows):
            return
        paths = world.waypoints.paths(world.motion, rows)
        ends = np.cumsum(paths.lengths).tolist()
        busy_mask = paths.lengths > 0
        # Those whose path has just ended, too: they publish an empty one.
        busy_mask |= np.array([bool(self._published.get(name)) for name in publishers.names], np.bool_)
        for index in np.flatnonzero(busy_mask).tolist():
            name = publishers.names[index]
            own = slice(ends[index] - int(paths.lengths[index]), ends[index])
            positions, orientations = paths.positions[own], paths.orientations[own]
            # A copy that is compared in one go; the pool itself moves paths and reuses their place.
            content = positions.tobytes() + orientations.tobytes()
            if content == self._published.get(name, b""):
                continue
            self._published[name] = content
            if content:
                row = rows[index]
                positions = np.vstack([world.position[row], positions])
                orientations = np.vstack([world.orientation[row], orientations])
            publish = partial(publishers.items[index].publish, self._message(positions, orientations, now))
            self.bridge.send_from(rows[index], "plan", publish, resent=True)

    def _message(self, positions: Floats, orientations: Floats, now: int) -> Path:
        message = Path()
        message.header.frame_id = self.bridge.frames.map
        message.header.stamp = time_to_msg(now)
        message.poses = [
            PoseStamped(header=message.header, pose=pose) for pose in poses_to_msgs(positions, orientations)
        ]
        return message


# <robot>/robot_description: the robot as URDF, for RViz and similar tools.


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
        path = pathlib.Path(geometry.mesh_path).resolve().as_uri()
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

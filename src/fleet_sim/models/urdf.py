"""Reads URDF files as robot models. Elements for simulators and controllers (<gazebo>, <transmission>) are ignored."""

from __future__ import annotations

from fleet_sim.core.robot_model import FIXED, PLANAR, SPHERICAL, Inertial, RobotModel
from fleet_sim.core.shapes import Geometry
from fleet_sim.models.assembly import assemble
from fleet_sim.models.geometries import checked_size, from_z, make_geometry, shape_in, turn_of
from fleet_sim.models.inertia import inertial_of
from fleet_sim.models.markup import Element
from fleet_sim.models.meshes import MeshFinder
from fleet_sim.models.parts import NO_LIMITS, JointParts, LinkParts, MimicParts, checked_axis, joint_kind, read_link
from fleet_sim.models.values import DEFAULT_COLOR, ORIGIN, UNTURNED, Color, Quaternion, Vector
from fleet_sim.spatial.shapes import ShapeKind

# A floating joint has no motor and no single value; PyBullet treats it as fixed.
_MORE_KINDS = {"floating": FIXED, "planar": PLANAR, "spherical": SPHERICAL}


def read_urdf(root: Element, path: str, meshes: MeshFinder) -> RobotModel:
    """Return the model that a <robot> element describes; raises InvalidValueError naming the element at fault."""
    if root.tag != "robot":
        raise root.error("a URDF file has a <robot> element at its top")
    # PyBullet would load them as soft bodies, which nothing here can move.
    for tag in ("deformable", "reduced_deformable"):
        for element in root.all(tag):
            raise element.error("deformable bodies are not supported")
    reader = _Reader(root, meshes)
    links = [reader.link(element) for element in root.all("link")]
    joints = [reader.joint(element) for element in root.all("joint")]
    return assemble(root.need("name"), path, root, links, joints)


class _Reader:
    """Reads the links and joints of one URDF file, with the materials that are defined beside them."""

    def __init__(self, root: Element, meshes: MeshFinder) -> None:
        self._meshes = meshes
        self._colors: dict[str, Color] = {}
        # Read first: links may refer to materials that are defined below them.
        for element in root.all("material"):
            self._color(element)

    def link(self, element: Element) -> LinkParts:
        """Return the parts of a <link>."""
        return read_link(element, _inertial, self._geometry)

    def joint(self, element: Element) -> JointParts:
        """Return the parts of a <joint>."""
        kind_name = element.need("type")
        kind = joint_kind(element, kind_name, _MORE_KINDS)
        position, orientation = origin_of(element)
        axis, limit, dynamics = element.child("axis"), element.child("limit"), element.child("dynamics")
        lower, upper = _limits(element, limit, kind_name)
        return JointParts(
            element.need("name"),
            element,
            kind,
            element.need_child("parent").need("link"),
            element.need_child("child").need("link"),
            position,
            orientation,
            # URDF's default axis is along x.
            checked_axis(element, axis.numbers("xyz", 3, (1.0, 0.0, 0.0)) if axis else (1.0, 0.0, 0.0), kind),
            lower,
            upper,
            max_velocity=_not_negative(limit, "velocity"),
            max_force=_not_negative(limit, "effort"),
            damping=_not_negative(dynamics, "damping"),
            friction=_not_negative(dynamics, "friction"),
            mimic=_mimic(element.child("mimic")),
        )

    def _geometry(self, element: Element) -> Geometry:
        position, orientation = origin_of(element)
        color = DEFAULT_COLOR
        material = element.child("material")
        if material is not None:
            color = self._color(material)
        return geometry_of(shape_in(element), position, orientation, color, self._meshes)

    def _color(self, element: Element) -> Color:
        """Return the color of a <material>; if it defines one, later materials can refer to it by name."""
        name, color = element.attributes.get("name", ""), element.child("color")
        if color is None:
            # Without a color it refers to one by name.
            return self._colors.get(name, DEFAULT_COLOR)
        red, green, blue, alpha = color.numbers("rgba", 4)
        found = self._colors[name] = (red, green, blue, alpha)
        return found


def geometry_of(
    shape: Element, position: Vector, orientation: Quaternion, color: Color, meshes: MeshFinder
) -> Geometry:
    """Return the geometry of a URDF shape element; raises InvalidValueError for a negative size."""
    if shape.tag == "mesh":
        # A single number scales all three axes.
        scale = shape.attributes.get("scale", "1").split()
        x, y, z = shape.parsed(" ".join(scale * 3 if len(scale) == 1 else scale), 3, "scale")
        mesh = meshes.find(shape, shape.need("filename"))
        return make_geometry(ShapeKind.MESH, position, orientation, color, mesh_path=mesh, mesh_scale=(x, y, z))
    if shape.tag == "plane":
        turned = from_z(shape, shape.numbers("normal", 3, (0.0, 0.0, 1.0)), orientation)
        return make_geometry(ShapeKind.PLANE, position, turned, color)
    kind = ShapeKind[shape.tag.upper()]
    if kind is ShapeKind.BOX:
        x, y, z = (0.5 * checked_size(shape, size) for size in shape.numbers("size", 3))
        return make_geometry(kind, position, orientation, color, half_extents=(x, y, z))
    # URDF gives box sides and cylinder lengths in full.
    radius = checked_size(shape, shape.number("radius"))
    height = 1.0 if kind is ShapeKind.SPHERE else checked_size(shape, shape.number("length"))
    return make_geometry(kind, position, orientation, color, radius=radius, height=height)


def origin_of(element: Element) -> tuple[Vector, Quaternion]:
    """Return the pose in the <origin> of `element`, the identity if it has none."""
    origin = element.child("origin")
    if origin is None:
        return ORIGIN, UNTURNED
    x, y, z = origin.numbers("xyz", 3, ORIGIN)
    return (x, y, z), turn_of(origin.numbers("rpy", 3, ORIGIN))


def _inertial(element: Element) -> Inertial:
    position, orientation = origin_of(element)
    inertia = element.child("inertia")
    tensor = tuple(inertia.number(name, 0.0) if inertia else 0.0 for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
    return inertial_of(element, element.need_child("mass").number("value"), position, orientation, tensor)


def _limits(element: Element, limit: Element | None, kind: str) -> tuple[float, float]:
    """Return the lower and upper limit: unlimited if neither is given, as in PyBullet; a missing one alone is 0."""
    if limit is None and kind in ("revolute", "prismatic"):
        raise element.error(f"a {kind} joint needs a <limit> element; a joint that turns freely is 'continuous'")
    # Neither limit given: it turns freely.
    if limit is None or kind not in ("revolute", "prismatic") or not {"lower", "upper"} & limit.attributes.keys():
        return NO_LIMITS
    lower, upper = limit.number("lower", 0.0), limit.number("upper", 0.0)
    if lower > upper and kind == "revolute":
        raise limit.error(
            f"the lower limit {lower:g} is above the upper limit {upper:g}; exchange them, or make the joint "
            f"{element.attributes['name']!r} 'continuous' if it turns freely"
        )
    # A slide has no type without limits, so files write it with the limits the wrong way round.
    return (lower, upper) if lower <= upper else NO_LIMITS


def _mimic(element: Element | None) -> MimicParts | None:
    if element is None:
        return None
    return MimicParts(element, element.need("joint"), element.number("multiplier", 1.0), element.number("offset", 0.0))


def _not_negative(element: Element | None, attribute: str) -> float:
    if element is None:
        return 0.0
    value = element.number(attribute, 0.0)
    if value < 0.0:
        raise element.error(f"{attribute} must not be negative, got {value:g}")
    return value

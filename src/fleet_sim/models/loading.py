"""Loads robot description files as RobotModel, each read once; reads URDF, and models in another size."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from weakref import WeakKeyDictionary

import numpy as np

from fleet_sim.base.errors import InvalidValueError, did_you_mean
from fleet_sim.base.files import expanded, is_file, is_folder, names_in, status
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.models import assembly
from fleet_sim.models.catalog import get_search_paths
from fleet_sim.models.generated import XACRO_SUFFIX, content_of
from fleet_sim.models.markup import Element, read_file, read_text
from fleet_sim.models.meshes.formats import MeshLimits
from fleet_sim.models.meshes.loading import MeshFinder, version_of
from fleet_sim.models.mjcf import read_mjcf
from fleet_sim.models.sdf import SdfWorld, read_sdf, read_sdf_world
from fleet_sim.world.shapes import FIXED, PLANAR, PRISMATIC, SPHERICAL, Geometry, Inertial, LinkGeometry, RobotModel

# Reads URDF files as robot models. Elements for simulators and controllers (<gazebo>, <transmission>) are ignored.


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
    return assembly.assemble(root.need("name"), path, root, links, joints)


class _Reader:
    """Reads the links and joints of one URDF file, with the materials that are defined beside them."""

    def __init__(self, root: Element, meshes: MeshFinder) -> None:
        self._meshes = meshes
        self._colors: dict[str, assembly.Color] = {}
        # Read first: links may refer to materials that are defined below them.
        for element in root.all("material"):
            self._color(element)

    def link(self, element: Element) -> assembly.LinkParts:
        """Return the parts of a <link>."""
        return assembly.read_link(element, _inertial, self._geometry)

    def joint(self, element: Element) -> assembly.JointParts:
        """Return the parts of a <joint>."""
        kind_name = element.need("type")
        kind = assembly.joint_kind(element, kind_name, _MORE_KINDS)
        position, orientation = origin_of(element)
        axis, limit, dynamics = element.child("axis"), element.child("limit"), element.child("dynamics")
        lower, upper = _limits(element, limit, kind_name)
        return assembly.JointParts(
            element.need("name"),
            element,
            kind,
            element.need_child("parent").need("link"),
            element.need_child("child").need("link"),
            position,
            orientation,
            # URDF's default axis is along x.
            assembly.checked_axis(element, axis.numbers("xyz", 3, (1.0, 0.0, 0.0)) if axis else (1.0, 0.0, 0.0), kind),
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
        color = assembly.DEFAULT_COLOR
        material = element.child("material")
        if material is not None:
            color = self._color(material)
        return geometry_of(assembly.shape_in(element), position, orientation, color, self._meshes)

    def _color(self, element: Element) -> assembly.Color:
        """Return the color of a <material>; if it defines one, later materials can refer to it by name."""
        name, color = element.attributes.get("name", ""), element.child("color")
        if color is None:
            # Without a color it refers to one by name.
            return self._colors.get(name, assembly.DEFAULT_COLOR)
        red, green, blue, alpha = color.numbers("rgba", 4)
        found = self._colors[name] = (red, green, blue, alpha)
        return found


def geometry_of(
    shape: Element,
    position: assembly.Vector,
    orientation: assembly.Quaternion,
    color: assembly.Color,
    meshes: MeshFinder,
) -> Geometry:
    """Return the geometry of a URDF shape element; raises InvalidValueError for a negative size."""
    if shape.tag == "mesh":
        # A single number scales all three axes.
        scale = shape.attributes.get("scale", "1").split()
        x, y, z = shape.parsed(" ".join(scale * 3 if len(scale) == 1 else scale), 3, "scale")
        mesh = meshes.find(shape, shape.need("filename"))
        return assembly.make_geometry(
            ShapeKind.MESH, position, orientation, color, mesh_path=mesh, mesh_scale=(x, y, z)
        )
    if shape.tag == "plane":
        turned = assembly.from_z(shape, shape.numbers("normal", 3, (0.0, 0.0, 1.0)), orientation)
        return assembly.make_geometry(ShapeKind.PLANE, position, turned, color)
    kind = ShapeKind[shape.tag.upper()]
    if kind is ShapeKind.BOX:
        x, y, z = (0.5 * assembly.checked_size(shape, size) for size in shape.numbers("size", 3))
        return assembly.make_geometry(kind, position, orientation, color, half_extents=(x, y, z))
    # URDF gives box sides and cylinder lengths in full.
    radius = assembly.checked_size(shape, shape.number("radius"))
    height = 1.0 if kind is ShapeKind.SPHERE else assembly.checked_size(shape, shape.number("length"))
    return assembly.make_geometry(kind, position, orientation, color, radius=radius, height=height)


def origin_of(element: Element) -> tuple[assembly.Vector, assembly.Quaternion]:
    """Return the pose in the <origin> of `element`, the identity if it has none."""
    origin = element.child("origin")
    if origin is None:
        return assembly.ORIGIN, assembly.UNTURNED
    x, y, z = origin.numbers("xyz", 3, assembly.ORIGIN)
    return (x, y, z), assembly.turn_of(origin.numbers("rpy", 3, assembly.ORIGIN))


def _inertial(element: Element) -> Inertial:
    position, orientation = origin_of(element)
    inertia = element.child("inertia")
    tensor = tuple(inertia.number(name, 0.0) if inertia else 0.0 for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
    return assembly.inertial_of(element, element.need_child("mass").number("value"), position, orientation, tensor)


def _limits(element: Element, limit: Element | None, kind: str) -> tuple[float, float]:
    """Return the lower and upper limit: unlimited if neither is given, as in PyBullet; a missing one alone is 0."""
    if limit is None and kind in ("revolute", "prismatic"):
        raise element.error(f"a {kind} joint needs a <limit> element; a joint that turns freely is 'continuous'")
    # Neither limit given: it turns freely.
    if limit is None or kind not in ("revolute", "prismatic") or not {"lower", "upper"} & limit.attributes.keys():
        return assembly.NO_LIMITS
    lower, upper = limit.number("lower", 0.0), limit.number("upper", 0.0)
    if lower > upper and kind == "revolute":
        raise limit.error(
            f"the lower limit {lower:g} is above the upper limit {upper:g}; exchange them, or make the joint "
            f"{element.attributes['name']!r} 'continuous' if it turns freely"
        )
    # A slide has no type without limits, so files write it with the limits the wrong way round.
    return (lower, upper) if lower <= upper else assembly.NO_LIMITS


def _mimic(element: Element | None) -> assembly.MimicParts | None:
    if element is None:
        return None
    return assembly.MimicParts(
        element, element.need("joint"), element.number("multiplier", 1.0), element.number("offset", 0.0)
    )


def _not_negative(element: Element | None, attribute: str) -> float:
    if element is None:
        return 0.0
    value = element.number(attribute, 0.0)
    if value < 0.0:
        raise element.error(f"{attribute} must not be negative, got {value:g}")
    return value


SUFFIXES = (".urdf", XACRO_SUFFIX, ".sdf", ".xml", ".mjcf")
_MAX_INCLUDES = 64


def load_robot_model(
    path: str | Path, *, search_paths: Sequence[str | Path] = (), limits: MeshLimits | None = None
) -> RobotModel:
    """Return the model in the URDF, xacro, SDF or MJCF file `path`; equal calls return the same object.

    Links and joints are numbered as PyBullet numbers them. The file is read again when it or a mesh of it changes.
    Meshes named by package are looked up in `search_paths`, then in the folders of `add_search_path` (see
    `models.meshes`); `limits` bounds their size. Raises InvalidValueError naming the file, the line, the element and
    the fault.
    """
    # A fleet is spawned from one file, so a cached model must cost no more than checking the file's time and size.
    given = os.path.abspath(os.path.expanduser(path))
    folders = tuple(dict.fromkeys(map(str, (*search_paths, *get_search_paths()))))
    try:
        about = status(given)
    except (OSError, ValueError):
        about = None
    # A folder or a device is not a file, though it has a time and a size.
    if about is None or not stat.S_ISREG(about.st_mode):
        raise _no_file(Path(given))
    key = given, about.st_mtime_ns, about.st_size, folders, limits or MeshLimits()
    model = _found(*key, _renewals[given])
    # A model knows how large its meshes are, which are files of their own.
    if not _has_its_meshes(model):
        # Read again once; should a mesh change at this very moment, the next call sees it.
        _renewals[given] += 1
        model = _found(*key, _renewals[given])
    return model


_renewals: Counter[str] = Counter()
"""How often a description was read again since its meshes had changed, by path."""

_versions: WeakKeyDictionary[RobotModel, dict[str, int]] = WeakKeyDictionary()
"""The versions of the meshes of models when these were read, by path."""


def _has_its_meshes(model: RobotModel) -> bool:
    """Return whether the mesh files of a model are those that it was read with."""
    versions = _versions.get(model)
    if versions is None:
        # Shapes without a mesh have an empty path.
        paths = {piece.geometry.mesh_path for piece in (*model.visuals, *model.collisions)} - {""}
        versions = _versions[model] = {path: version_of(path) for path in paths}
        return True
    return all(version_of(path) == version for path, version in versions.items())


def load_sdf_world(
    path: str | Path, *, search_paths: Sequence[str | Path] = (), limits: MeshLimits | None = None
) -> SdfWorld:
    """Return all models of the SDF or Gazebo world file `path`, where they are and what is left out.

    Meshes and included models are looked up as those of `load_robot_model`. Raises InvalidValueError naming the file,
    the line, the element and the fault.
    """
    # Not cached: a world is read once, and its models are written to files of their own.
    file = expanded(path)
    if not is_file(file):
        raise _no_file(file.absolute())
    folders = [expanded(folder) for folder in dict.fromkeys(map(str, (*search_paths, *get_search_paths())))]
    return _Source(file.resolve(), folders, limits or MeshLimits()).read_world()


def _no_file(file: Path) -> InvalidValueError:
    near = names_in(file.parent, *SUFFIXES, ".world")
    return InvalidValueError(f"there is no robot description file {str(file)!r}.{did_you_mean(file.name, near)}")


@lru_cache(maxsize=256)
def _found(
    given: str, changed: int, size: int, folders: tuple[str, ...], limits: MeshLimits, renewal: int
) -> RobotModel:
    file = Path(given).resolve()
    if file.suffix.lower() not in SUFFIXES:
        raise InvalidValueError(f"{file}: a robot description file ends in {', '.join(SUFFIXES)}")
    # A second cache, by the resolved path: links to one file share its model.
    return _read(str(file), changed, size, folders, limits, renewal)


@lru_cache(maxsize=256)
def _read(
    path: str, _changed: int, _size: int, folders: tuple[str, ...], limits: MeshLimits, _renewal: int
) -> RobotModel:
    return _Source(Path(path), [expanded(folder) for folder in folders], limits).read()


class _Source:
    """One description file and those it includes."""

    def __init__(self, file: Path, folders: list[Path], limits: MeshLimits) -> None:
        self._file = file
        self._folders = folders
        self._limits = limits
        self._included = 0

    def read(self) -> RobotModel:
        """Return the model that the file describes."""
        path, meshes = str(self._file), self._finder(self._file)
        root = read_text(content_of(self._file), path)
        readers: dict[str, Callable[[], RobotModel]] = {
            "robot": lambda: read_urdf(root, path, meshes),
            "sdf": lambda: read_sdf(root, path, meshes, self._include),
            "mujoco": lambda: read_mjcf(root, path, meshes, self._include),
        }
        if root.tag not in readers:
            raise root.error(
                f"a robot description begins with <robot> (URDF), <sdf> or <mujoco>.{did_you_mean(root.tag, readers)}"
            )
        with _checked_numbers(root):
            return readers[root.tag]()

    def read_world(self) -> SdfWorld:
        """Return all models of an SDF file."""
        path = str(self._file)
        root = read_text(content_of(self._file), path)
        with _checked_numbers(root):
            return read_sdf_world(root, path, self._finder(self._file), self._include)

    def _include(self, element: Element, name: str) -> tuple[Element, MeshFinder]:
        """Return an included file and what finds its meshes; raises an error that lists where it was sought."""
        self._included += 1
        if self._included > _MAX_INCLUDES:
            raise element.error(f"more than {_MAX_INCLUDES} files are included; do files include each other?")
        searched = []
        # In the order of the search path, the file's own folder first.
        for place in self._finder(Path(element.source)).candidates(element, name):
            file = place / "model.sdf" if is_folder(place) else place
            if is_file(file):
                return read_file(file), self._finder(file)
            searched.append(str(place))
        raise element.error(f"there is no file {name!r} to include. Searched: {', '.join(dict.fromkeys(searched))}")

    def _finder(self, file: Path) -> MeshFinder:
        return MeshFinder(file, self._folders, self._limits)


@contextmanager
def _checked_numbers(root: Element) -> Iterator[None]:
    """Raise InvalidValueError for numbers that overflow, and no warning followed by a model of infinities."""
    try:
        with np.errstate(over="raise", invalid="raise"):
            yield
    except (ArithmeticError, np.linalg.LinAlgError) as error:
        raise root.error(f"has numbers too large to compute with ({error})") from error


# Models in another size.


@lru_cache(maxsize=256)
def scaled_model(model: RobotModel, factor: float) -> RobotModel:
    """Return `model` with all lengths times `factor`, as with PyBullet's globalScaling.

    Equal calls return the same object. Shapes, origins of joints, centres of mass and limits of prismatic joints are
    scaled; masses, inertias, speeds and forces are not.
    """
    # Values of prismatic joints are lengths, those of others are angles.
    lengths = np.where(model.joint_types == PRISMATIC, factor, 1.0)
    return replace(
        model,
        joint_positions=model.joint_positions * factor,
        lower=model.lower * lengths,
        upper=model.upper * lengths,
        inertials=tuple(_scaling_inertial(inertial, factor) for inertial in model.inertials),
        visuals=tuple(LinkGeometry(part.link, _geometry(part.geometry, factor)) for part in model.visuals),
        collisions=tuple(LinkGeometry(part.link, _geometry(part.geometry, factor)) for part in model.collisions),
        # A slide that follows a hinge goes farther for the same angle.
        mimics=tuple(
            replace(
                mimic,
                multiplier=mimic.multiplier * float(lengths[mimic.follower] / lengths[mimic.leader]),
                offset=mimic.offset * float(lengths[mimic.follower]),
            )
            for mimic in model.mimics
        ),
    )


def _scaling_inertial(inertial: Inertial, factor: float) -> Inertial:
    x, y, z = inertial.position
    return replace(inertial, position=(factor * x, factor * y, factor * z))


def _geometry(geometry: Geometry, factor: float) -> Geometry:
    """Return a geometry `factor` times as large, at a place that is as much farther away."""
    (a, b, c), (x, y, z) = geometry.half_extents, geometry.mesh_scale
    return replace(
        geometry,
        half_extents=(factor * a, factor * b, factor * c),
        radius=factor * geometry.radius,
        height=factor * geometry.height,
        mesh_scale=(factor * x, factor * y, factor * z),
        position=tuple(factor * part for part in geometry.position),
    )

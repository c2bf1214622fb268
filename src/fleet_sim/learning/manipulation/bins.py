"""Bins and the objects in them: how heaps fall and come to rest, from a seed."""

from __future__ import annotations

import hashlib
import logging
import platform
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Rows, as_whole
from fleet_sim.base.errors import InvalidValueError, UnknownNameError, did_you_mean
from fleet_sim.base.files import cache_folder, is_file, keep_cached, read_bytes, to_read
from fleet_sim.base.files import remove as remove_file
from fleet_sim.base.geometry import Pose
from fleet_sim.base.params import CollisionMode
from fleet_sim.base.spatial import quaternions
from fleet_sim.learning.manipulation.arm import FLOOR
from fleet_sim.learning.manipulation.config import BinSettings, Client, PickBinSettings, load_section, simulation_of
from fleet_sim.models.generated import keep
from fleet_sim.models.meshes.loading import hull_faces
from fleet_sim.robots.actions.pick_and_drop import row_of_target
from fleet_sim.robots.sim_object import SimObject
from fleet_sim.robots.spawn_params import AgentSpawnParams, ShapeParams, SimObjectSpawnParams
from fleet_sim.robots.spawning import remove, spawn_many
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.world.world import World


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
            fileName=str(to_read(file_name)),
            meshScale=list(mesh_scale),
            collisionFramePosition=list(frame_offset),
            flags=flags,
        )
        visual = bullet.createVisualShape(
            bullet.GEOM_MESH,
            fileName=str(to_read(file_name)),
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


# A cache of the resting poses of objects in a bin, so that the fall is not simulated at each reset.


@dataclass(frozen=True, eq=False)
class Layout:
    """Positions (N, 3) and orientations (N, 4) of objects at rest, in the frame of a square bin, lowest first."""

    positions: Floats
    orientations: Floats

    def turned(self, quarters: int) -> Layout:
        """Return the same heap rotated about the vertical by `quarters` quarter turns."""
        orientation = quaternions.from_yaws(np.full(len(self.positions), 0.5 * np.pi * quarters))
        return Layout(
            quaternions.rotate(orientation, self.positions), quaternions.multiply(orientation, self.orientations)
        )


# Objects to pick: small solids generated from a seed, from 1 cm to 3 cm in size. Nothing is downloaded. Training and
# testing use different kinds of the same families.


LARGEST, SMALLEST = 0.03, 0.01
"""Largest and smallest extent of an object in m."""
DENSITY = 900.0
"""Density of objects in kg/m^3."""
FAMILIES = ("sphere", "box", "cylinder", "capsule", "convex")
KINDS_PER_FAMILY = {"training": 3, "testing": 2}
_FIRST_SEED = {"training": 1000, "testing": 9000}


@dataclass(frozen=True)
class ObjectKind:
    """A kind of object: its shape, for drawing and collisions, and its mass in kg."""

    name: str
    family: str
    shape: ShapeParams
    mass: float


@cache
def object_kinds(ml_mode: str) -> Mapping[str, ObjectKind]:
    """Return the kinds of the set "training" or "testing" by name; they are the same in every process."""
    kinds = {}
    for index, family in enumerate(FAMILIES):
        for number in range(KINDS_PER_FAMILY[ml_mode]):
            # A generator for each kind: a kind stays the same when others are added.
            rng = np.random.default_rng(_FIRST_SEED[ml_mode] + 10 * index + number)
            name = f"{family}_{ml_mode}_{number + 1}"
            kinds[name] = _make(name, family, rng)
    return MappingProxyType(kinds)


def object_kind(name: str, ml_mode: str = "training") -> ObjectKind:
    """Return a kind by its name, by its family (its first one), or a mesh file (OBJ); raises InvalidValueError."""
    kinds = object_kinds(ml_mode)
    for kind in kinds.values():
        if name in (kind.name, kind.family):
            return kind
    if Path(name).suffix.lower() == ".obj":
        shape = ShapeParams(shape_type="mesh", mesh_path=name, rgba_color=_COLORS["convex"])
        return ObjectKind(name, "file", shape, 0.01)
    raise InvalidValueError(
        f"unknown kind of object {name!r}; expected a mesh file (.obj) or one of {', '.join(FAMILIES)}."
        f"{did_you_mean(name, [*kinds, *FAMILIES])}"
    )


_COLORS = {
    "sphere": (0.85, 0.25, 0.22, 1.0),
    "box": (0.24, 0.45, 0.80, 1.0),
    "cylinder": (0.95, 0.72, 0.20, 1.0),
    "capsule": (0.30, 0.66, 0.38, 1.0),
    "convex": (0.58, 0.38, 0.70, 1.0),
}


def _make(name: str, family: str, rng: np.random.Generator) -> ObjectKind:
    """Return a kind of object with sizes drawn from `rng`, and with the mass that its volume has."""
    color = _COLORS[family]
    if family == "sphere":
        radius = rng.uniform(0.009, 0.5 * LARGEST)
        shape = ShapeParams(shape_type="sphere", radius=radius, rgba_color=color)
        volume = 4.0 / 3.0 * np.pi * radius**3
    elif family == "box":
        half = rng.uniform(0.008, 0.014, 3)
        shape = ShapeParams(shape_type="box", half_extents=tuple(half.tolist()), rgba_color=color)
        volume = 8.0 * half[0] * half[1] * half[2]
    elif family == "cylinder":
        radius, height = rng.uniform(0.007, 0.012), rng.uniform(0.016, LARGEST)
        shape = ShapeParams(shape_type="cylinder", radius=radius, height=height, rgba_color=color)
        volume = np.pi * radius**2 * height
    elif family == "capsule":
        radius = rng.uniform(0.006, 0.009)
        height = rng.uniform(0.004, LARGEST - 2.0 * radius)
        shape = ShapeParams(shape_type="capsule", radius=radius, height=height, rgba_color=color)
        volume = np.pi * radius**2 * (height + 4.0 / 3.0 * radius)
    else:
        corners = _convex_corners(rng)
        path = _write_hull(name, corners)
        shape = ShapeParams(shape_type="mesh", mesh_path=str(path), rgba_color=color)
        extents = corners.max(0) - corners.min(0)
        # An estimate: an ellipsoid fills 0.52 of its box, and these corners lie near one.
        volume = 0.5 * extents[0] * extents[1] * extents[2]
    return ObjectKind(name, family, shape, round(float(DENSITY * volume), 5))


def _convex_corners(rng: np.random.Generator) -> Floats:
    """Return the corners (N, 3) of a random solid, centred at the origin."""
    # Normalised Gaussian vectors are uniform on the sphere; random radii and axis scales make them an uneven solid.
    directions = rng.normal(size=(14, 3))
    directions /= np.sqrt((directions * directions).sum(1))[:, None]
    corners = directions * rng.uniform(0.009, 0.013, (14, 1)) * rng.uniform(0.75, 1.0, (1, 3))
    corners -= 0.5 * (corners.max(0) + corners.min(0))
    extents = corners.max(0) - corners.min(0)
    scaled: Floats = corners * min(1.0, 0.95 * LARGEST / float(extents.max()))
    return scaled


def _write_hull(name: str, corners: Floats) -> Path:
    """Write the convex hull of `corners` as an OBJ file with flat faces and return its path."""
    # Each face gets its own three vertices: shared vertices would share normals, and edges would look round.
    lines = [f"o {name}"]
    faces = hull_faces(corners).tolist()
    for face in faces:
        lines += [f"v {x:.9f} {y:.9f} {z:.9f}" for x, y, z in corners[face].tolist()]
    for a, b, c in faces:
        normal = np.cross(corners[b] - corners[a], corners[c] - corners[a])
        x, y, z = (normal / np.sqrt(normal @ normal)).tolist()
        lines.append(f"vn {x:.6f} {y:.6f} {z:.6f}")
    for index in range(len(faces)):
        corner = 3 * index + 1
        lines.append("f " + " ".join(f"{corner + offset}//{index + 1}" for offset in range(3)))
    return keep(("\n".join(lines) + "\n").encode(), f"{name}.obj")


# Heaps of objects: how they are spawned, come to rest, and sleep in the engine.


DIGEST = 32
"""Bytes of a sum over a file."""
HEAPS = 1
"""A number for what makes heaps: others are in other files of the cache."""
GAP = 0.005
"""Gap in m between objects at the start of their fall."""
STILL, STILL_STEPS = 0.005, 12
"""Objects are at rest if they were slower than STILL (m/s, per axis) for STILL_STEPS steps in a row."""


def fall_coordinates(rng: np.random.Generator, count: int, dimensions: Floats) -> list[list[float]]:
    """Return `count` positions above a bin, in its frame: x at random, y and z in steps of LARGEST + GAP."""
    pitch = LARGEST + GAP
    # Objects start with their middle at most here, so that none falls onto a wall.
    reach = 0.5 * (dimensions[:2] - LARGEST) - 0.002
    lines = int(2.0 * reach[1] // pitch) + 1
    return [
        [
            float(rng.uniform(-reach[0], reach[0])),
            float(-reach[1] + pitch * (index % lines)),
            float(dimensions[2] + pitch * (index // lines)),
        ]
        for index in range(count)
    ]


def spawn_objects(
    world: World, kind: ObjectKind, positions: Floats, orientations: Floats, name: str
) -> list[SimObject]:
    """Spawn objects at rest at positions (N, 3) and orientations (N, 4), world frame, named `<name>/<kind>/<index>`."""
    names = [f"{name}/{kind.name}/{index}" for index in range(len(positions))]
    things = spawn_many(world, SimObject, _params(kind), positions, orientations, names)
    rows = rows_of(things)
    if (np.diff(rows) < 0).any():
        # Freed rows are reused in the order in which they were freed, here that of earlier grabs. The engine
        # creates bodies in the order of rows, and their motion depends on it. Spawn again from sorted rows, so that
        # motion does not depend on earlier episodes.
        remove(world, np.sort(rows))
        things = spawn_many(world, SimObject, _params(kind), positions, orientations, names)
    return things


def let_fall(sim: MultiRobotSimulationCore, things: Sequence[SimObject], steps: int) -> None:
    """Step the simulation until all objects are at rest, at most `steps` times."""
    world, rows = sim.world, rows_of(things)
    still = 0
    for _ in range(steps):
        sim.step_once()
        slow_mask = (np.abs(world.velocity[rows]) < STILL).all(axis=1)
        still = still + 1 if slow_mask.all() else 0
        if still >= STILL_STEPS:
            break


def _release_of(engine: str) -> str:
    try:
        return version({"bullet": "pybullet"}.get(engine, engine))
    except PackageNotFoundError:
        # Built by hand, without metadata.
        return ""


def rows_of(things: Sequence[SimObject]) -> Rows:
    """Return the rows (N,) of objects."""
    return np.array([thing.row for thing in things], np.int64)


def _params(kind: ObjectKind) -> SimObjectSpawnParams:
    shape: ShapeParams = kind.shape
    return SimObjectSpawnParams(
        visual_shape=shape, collision_shape=shape, mass=kind.mass, friction=0.8, rolling_friction=0.0005
    )


# PickBin: a bin with objects of one kind, filled from a seed.


log = logging.getLogger("fleet_sim.learning.manipulation")


class PickBin(BaseBin):
    """A bin with objects of one kind.

    Kind, number, heap and its orientation are drawn from the `rng` given to `reset`. The resting poses of a heap are
    found once, by simulating the fall, and cached.
    """

    settings_class = PickBinSettings

    def __init__(
        self,
        bin_config: PickBinSettings | Mapping[str, Any],
        bullet_client: Client,
        ml_mode: str | bool,
        steps_for_objects_to_fall: int = 500,
        name: str | None = None,
    ) -> None:
        """Spawn an empty bin; `reset` fills it.

        `ml_mode` is "training" or "testing", or True for training and False for testing. Raises InvalidValueError.
        """
        mode = {True: "training", False: "testing"}[ml_mode] if isinstance(ml_mode, bool) else ml_mode
        if mode not in KINDS_PER_FAMILY:
            raise InvalidValueError(f"ml_mode: expected 'training', 'testing', True or False, got {ml_mode!r}")
        super().__init__(bin_config, bullet_client, name)
        assert isinstance(self.config, PickBinSettings)
        self.objects_config = self.config.objects
        self.ml_mode = mode
        self.steps_for_objects_to_fall = as_whole(steps_for_objects_to_fall, "steps_for_objects_to_fall")
        self.rng = np.random.default_rng(0)
        self.kind: ObjectKind | None = None
        self.objects: list[SimObject] = []
        """Objects in the bin, and those taken out of it but not removed."""
        self._layouts: dict[str, tuple[int, Layout]] = {}
        """By kind and heap: of how many objects it was made, and where they lie, lowest first. Objects rest on those
        below them, so a layout of many serves every smaller number."""
        self._too_few: set[str] = set()
        """Kinds of which fewer objects fit than the settings require: a warning is logged once for each."""

    @property
    def path_to_current_object(self) -> str | None:
        """What the objects are: the path of a mesh file or the name of a kind; None before the first reset."""
        if self.kind is None:
            return None
        return self.objects_config.relative_path_to_object if self.kind.family == "file" else self.kind.name

    # ---- filling -----------------------------------------------------------------------------------------------------

    def reset(self, keep_object_type: bool = False, rng: np.random.Generator | None = None) -> None:
        """Fill the bin again, with the same kind of objects or a random one."""
        super().reset(keep_object_type)
        if rng is not None:
            self.rng = rng
        self.load_objects(keep_object_type)

    def load_objects(self, keep_object_type: bool = False) -> None:
        """Fill the bin with a random number of objects in resting poses."""
        settings = self.objects_config
        number = int(self.rng.integers(settings.min_number_of_objects, settings.max_number_of_objects + 1))
        if not (keep_object_type and self.kind is not None):
            self.kind = object_kind(self.get_random_object_file(), self.ml_mode)
        assert self.kind is not None
        self._remove(self.objects)
        self.objects = []
        heap, quarters = int(self.rng.integers(settings.heaps_per_kind)), int(self.rng.integers(4))
        layout = self._layout(self.kind, number, heap).turned(quarters)
        # If a heap was too high, some objects fell out of the bin and are not in the layout.
        lying = min(number, len(layout.positions))
        self._check_number(self.kind, number, lying)
        number = lying
        self.objects = self._spawn(self.kind, layout.positions[:number], layout.orientations[:number])

    def _check_number(self, kind: ObjectKind, number: int, lying: int) -> None:
        """Log a warning if too few objects lie in the bin; raises InvalidValueError if there is none."""
        least = self.objects_config.min_number_of_objects
        if not lying:
            raise InvalidValueError(
                f"none of {number} objects of the kind {kind.name!r} stays in the bin; use smaller objects"
            )
        if lying < least and kind.name not in self._too_few:
            self._too_few.add(kind.name)
            log.warning(
                "of %d objects of the kind %r only %d stay in the bin: fewer than min_number_of_objects, %d",
                number,
                kind.name,
                lying,
                least,
            )

    def get_random_object_file(self, path: str = "") -> str:
        """Return the kind of object to load: the configured one, or a random one of the set in use.

        Returns the name of a kind or of a mesh file. Objects are generated: raises InvalidValueError for a `path`.
        """
        if path:
            raise InvalidValueError(
                f"path: objects are generated, none are read from {path!r}; for a mesh file of your own set "
                "load-specific-object and relative-path-to-object"
            )
        if self.objects_config.load_specific_object:
            return self.objects_config.relative_path_to_object
        names = sorted(object_kinds(self.ml_mode))
        return names[int(self.rng.integers(len(names)))]

    def get_list_object_coords(self, number_of_objs: int) -> list[list[float]]:
        """Return the positions from which objects fall, world frame: x at random, y in steps, then layer by layer."""
        places = np.array(fall_coordinates(self.rng, number_of_objs, self.dimensions)).reshape(-1, 3)
        coordinates: list[list[float]] = self.to_world(places).tolist()
        return coordinates

    def allow_objects_to_fall(self) -> None:
        """Step the simulation until all objects are at rest, at most `steps_for_objects_to_fall` times."""
        let_fall(self.sim, self.objects, self.steps_for_objects_to_fall)

    def put_to_sleep(self) -> None:
        """Put the objects to sleep in the engine until something touches them; to be called at rest.

        A contact wakes the whole heap; it falls asleep again when it has come to rest.
        """
        # The order matters. A new body wakes up in its first step, whatever its state: make that step first.
        self.sim.step_once()
        self.sim.engine.put_to_sleep(rows_of(self.objects))
        # In this step they fall asleep.
        self.sim.step_once()

    def wake_up(self) -> None:
        """Wake up all objects, e.g. after one was removed from below the others."""
        self.sim.engine.wake_up(rows_of(self.objects))

    def _layout(self, kind: ObjectKind, number: int, heap: int) -> Layout:
        """Return a layout made from at least `number` objects of `kind`, simulated on first use."""
        name = f"{kind.name}/{heap}"
        made_of, layout = self._layouts.get(name, (0, None))
        if layout is None or made_of < number:
            # Simulated with the largest number at once: the lower part of a heap serves all smaller numbers.
            most = max(number, self.objects_config.max_number_of_objects)
            kept = self._kept(kind, most, heap)
            order = np.argsort(kept.positions[:, 2], kind="stable")
            layout = Layout(kept.positions[order], kept.orientations[order])
            self._layouts[name] = most, layout
        return layout

    def _kept(self, kind: ObjectKind, number: int, heap: int) -> Layout:
        """Return the layout of a heap from the cache folder, where it is simulated once for all processes."""
        if kind.family == "file":
            # The file may change, and its name does not say so.
            return self._settle(kind, number, heap)
        sim = self.sim
        physics = [getattr(sim.params, name) for name in ("gravity", "timestep", "physics_substep")]
        physics += [sim.params.solver_iterations, sim.params.contact_erp, self.steps_for_objects_to_fall]
        body = (sim.engine.name, _release_of(sim.engine.name), platform.machine(), kind.shape, kind.mass)
        given = repr((HEAPS, body, number, heap, physics, self.dimensions.tolist()))
        path = cache_folder("heaps") / f"{kind.name}-{hashlib.sha256(given.encode()).hexdigest()[:16]}.heap"
        known = read_bytes(path) if is_file(path) else b""
        # Behind the sum over the rest of it: what was cut off or written over is simulated again.
        if known[:DIGEST] == hashlib.sha256(known[DIGEST:]).digest():
            poses = np.frombuffer(known[DIGEST:], np.float64).reshape(-1, 7)
            return Layout(poses[:, :3].copy(), poses[:, 3:].copy())
        layout = self._settle(kind, number, heap)
        content = np.hstack((layout.positions, layout.orientations)).tobytes()
        with suppress(OSError):
            # Without a cache each process simulates for itself.
            remove_file(path)
            keep_cached(path, lambda: hashlib.sha256(content).digest() + content)
        return layout

    def _settle(self, kind: ObjectKind, number: int, heap: int) -> Layout:
        """Drop objects into the bin; return the resting poses of those that stay, in the order of their fall."""
        # Seeded by number and heap only: a layout does not depend on the episode in which it is first needed.
        rng = np.random.default_rng((number, heap))
        coordinates = fall_coordinates(rng, number, self.dimensions)
        orientations = quaternions.normalized(rng.normal(size=(number, 4)))
        things = self.objects = self._spawn(kind, np.array(coordinates), orientations)
        # The engine's caches depend on what ran before. A rebuilt engine gives the same fall every time.
        self.sim.rebuild_engine()
        self.allow_objects_to_fall()
        world, rows = self.sim.world, rows_of(things)
        inside = self.contains_mask(world.position[rows])
        # Stored in the frame of the bin, so that a layout serves the bin wherever it stands.
        back = np.repeat(quaternions.conjugate(np.array([self.pose.orientation])), number, axis=0)
        positions, orientations = self.to_bin(world.position[rows]), quaternions.multiply(back, world.orientation[rows])
        self._remove(things)
        self.objects = []
        return Layout(positions[inside], orientations[inside])

    def _spawn(self, kind: ObjectKind, positions: Floats, orientations: Floats) -> list[SimObject]:
        """Spawn objects at rest, at poses in the frame of the bin."""
        frame = np.repeat(np.array([self.pose.orientation]), len(positions), axis=0)
        turns = quaternions.multiply(frame, orientations)
        return spawn_objects(self.sim.world, kind, self.to_world(positions), turns, self.name or "bin")

    def _remove(self, things: Sequence[SimObject]) -> None:
        remove(self.sim.world, rows_of(things))

    # ---- taking out --------------------------------------------------------------------------------------------------

    @property
    def number_of_objects(self) -> int:
        """The number of objects."""
        return len(self.objects)

    def remove_objs_not_in_bin(self) -> int:
        """Remove the objects that are not in the bin (L x W x 2 H); returns how many."""
        if not self.objects:
            return 0
        inside = self.contains_mask(self.sim.world.position[rows_of(self.objects)])
        gone = [thing for thing, kept in zip(self.objects, inside.tolist(), strict=True) if not kept]
        for thing in gone:
            self.remove_single_object(thing)
        return len(gone)

    def remove_single_object(self, obj: int | SimObject) -> None:
        """Remove one object: a handle, an object id or a body id; raises InvalidValueError if it is not of this bin."""
        thing = self._own(obj)
        self.objects = [other for other in self.objects if other is not thing]
        self._remove([thing])
        self.wake_up()

    def _own(self, obj: int | SimObject) -> SimObject:
        """Return the object of this bin that `obj` stands for; raises InvalidValueError."""
        reason = ""
        try:
            row = row_of_target(self.sim.world, obj)
            for thing in self.objects:
                if thing.row == row:
                    return thing
        except UnknownNameError as error:
            reason = f": {error}"
        raise InvalidValueError(f"object {obj!r} does not belong to this bin{reason}")

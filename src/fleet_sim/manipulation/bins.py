"""Bins and the objects in them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np

from fleet_sim.arrays import Floats, Rows
from fleet_sim.config.modes import CollisionMode
from fleet_sim.entities.shape_params import ShapeParams
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.entities.spawn_params import AgentSpawnParams, SimObjectSpawnParams
from fleet_sim.entities.spawning import remove, spawn_many
from fleet_sim.errors import InvalidValueError
from fleet_sim.geometry import Pose
from fleet_sim.manipulation.config import BinSettings, PickBinSettings
from fleet_sim.manipulation.layouts import Layout, LayoutLibrary
from fleet_sim.manipulation.objects import LARGEST, ObjectKind, object_kind, object_kinds
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.spatial import quaternions

log = logging.getLogger("fleet_sim.manipulation")

GAP = 0.005
"""Gap in m between objects at the start of their fall."""
STILL, STILL_STEPS = 0.005, 12
"""Objects are at rest if they were slower than STILL (m/s, per axis) for STILL_STEPS steps in a row."""
TREMBLING, RESTING = 1.0, 0.05
"""Sleep thresholds of the engine, sums of squared velocities (m/s, rad/s): right after spawning, and later on."""


class BaseBin:
    """An empty bin with a fixed base: 160 x 160 x 40 mm inside."""

    default_bin_file_name = "bin"
    default_dimensions = (0.16, 0.16, 0.04)

    def __init__(
        self, bin_config: BinSettings, bullet_client: MultiRobotSimulationCore, name: str | None = None
    ) -> None:
        """Spawn a bin in a simulation (`bullet_client`)."""
        self.config = bin_config
        self.sim = bullet_client
        self.name = name
        self.dimensions = np.array(self.default_dimensions)
        angles = np.radians([bin_config.orientation])
        self.pose = Pose(bin_config.position, quaternions.from_eulers(angles)[0].tolist())
        self.handle: SimObject | None = None
        self.load_bin()

    def load_bin(self) -> int:
        """Spawn the bin unless it exists; return its object id."""
        if self.handle is None:
            params = AgentSpawnParams(
                name=self.name,
                urdf_path=self.default_bin_file_name,
                initial_pose=self.pose,
                use_fixed_base=True,
                pickable=False,
                collision_mode=CollisionMode.STATIC,
            )
            self.handle = self.sim.spawn(params)
        assert self.handle is not None
        return self.handle.object_id

    @property
    def bin_id(self) -> int:
        """The PyBullet body id of the bin."""
        assert self.handle is not None
        return self.sim.world.bodies.body_id(self.handle.row)

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
        back = quaternions.conjugate(np.array([self.pose.orientation]))
        offsets = positions - np.array(self.pose.position)
        return quaternions.rotate(np.repeat(back, len(offsets), axis=0), offsets)

    def to_world(self, positions: Floats) -> Floats:
        """Return positions (N, 3) given in the frame of the bin in the world frame."""
        turn = np.array([self.pose.orientation])
        return np.array(self.pose.position) + quaternions.rotate(np.repeat(turn, len(positions), axis=0), positions)

    def contains(self, obj_position: Sequence[float]) -> bool:
        """Return whether a position (world frame) is in the bin or at most one bin height above it: L x W x 2 H."""
        return bool(self.contains_mask(np.array([obj_position], np.float64))[0])

    def contains_mask(self, positions: Floats) -> Any:
        """Return a mask (N,) of the positions (N, 3), world frame, that are in L x W x 2 H."""
        inside = self.to_bin(positions)
        length, width, height = self.dimensions
        mask = (np.abs(inside[:, 0]) <= 0.5 * length) & (np.abs(inside[:, 1]) <= 0.5 * width)
        return mask & (inside[:, 2] >= 0.0) & (inside[:, 2] <= 2.0 * height)


class PickBin(BaseBin):
    """A bin with objects of one kind.

    Kind, number, heap and its orientation are drawn from the `rng` given to `reset`. The resting poses of a heap are
    found once, by simulating the fall, and cached.
    """

    def __init__(
        self,
        bin_config: PickBinSettings,
        bullet_client: MultiRobotSimulationCore,
        ml_mode: str,
        steps_for_objects_to_fall: int = 500,
        name: str | None = None,
    ) -> None:
        """Spawn an empty bin; `reset` fills it."""
        super().__init__(bin_config, bullet_client, name)
        self.objects_config = bin_config.objects
        self.ml_mode = ml_mode
        self.steps_for_objects_to_fall = steps_for_objects_to_fall
        self.rng = np.random.default_rng(0)
        self.kind: ObjectKind | None = None
        self.objects: list[SimObject] = []
        """Objects in the bin, and those taken out of it but not removed."""
        self._layouts = LayoutLibrary()
        self._too_few: set[str] = set()
        """Kinds of which fewer objects fit than the settings require: a warning is logged once for each."""

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

        Returns the name of a kind or of a mesh file. Objects are generated, so the folder `path` is not used.
        """
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
        world, rows = self.sim.world, _rows(self.objects)
        still = 0
        for _ in range(self.steps_for_objects_to_fall):
            self.sim.step_once()
            slow_mask = (np.abs(world.velocity[rows]) < STILL).all(axis=1)
            still = still + 1 if slow_mask.all() else 0
            if still >= STILL_STEPS:
                break

    def put_to_sleep(self) -> None:
        """Put the objects to sleep in the engine: they cost nothing until something touches them.

        To be called at rest. A contact wakes the whole heap; it falls asleep again when it has come to rest.
        """
        bullet = self.sim.bullet
        # The order matters. A new body wakes up in its first step, whatever its state: make that step first.
        self.sim.step_once()
        bodies = self._bodies()
        for body in bodies:
            bullet.resetBaseVelocity(body, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
            bullet.changeDynamics(
                body, -1, activationState=bullet.ACTIVATION_STATE_ENABLE_SLEEPING, sleepThreshold=TREMBLING
            )
            bullet.changeDynamics(body, -1, activationState=bullet.ACTIVATION_STATE_SLEEP)
        # In this step they fall asleep. The high threshold is for this step only: a high heap trembles that fast, but
        # later an object with that velocity really moves and must stay awake.
        self.sim.step_once()
        for body in bodies:
            bullet.changeDynamics(body, -1, sleepThreshold=RESTING)

    def wake_up(self) -> None:
        """Wake up all objects, e.g. after one was removed from below the others."""
        bullet = self.sim.bullet
        for body in self._bodies():
            bullet.changeDynamics(body, -1, activationState=bullet.ACTIVATION_STATE_WAKE_UP)

    def _bodies(self) -> list[int]:
        bodies = self.sim.world.bodies
        return [bodies.body_id(thing.row) for thing in self.objects]

    def _layout(self, kind: ObjectKind, number: int, heap: int) -> Layout:
        """Return a layout made from at least `number` objects of `kind`, simulated on first use."""
        name = f"{kind.name}/{heap}"
        known = self._layouts.find(name, number)
        if known is None:
            # Simulated with the largest number at once: the lower part of a heap serves all smaller numbers.
            most = max(number, self.objects_config.max_number_of_objects)
            known = self._layouts.add(name, most, self._settle(kind, most, heap))
        return known

    def _settle(self, kind: ObjectKind, number: int, heap: int) -> Layout:
        """Drop objects into the bin; return the resting poses of those that stay, in the order of their fall."""
        # Seeded by number and heap only: a layout does not depend on the episode in which it is first needed.
        rng = np.random.default_rng((number, heap))
        coordinates = fall_coordinates(rng, number, self.dimensions)
        turns = quaternions.normalized(rng.normal(size=(number, 4)))
        things = self.objects = self._spawn(kind, np.array(coordinates), turns)
        # The engine's caches depend on what ran before. A rebuilt engine gives the same fall every time.
        self.sim.rebuild_engine()
        self.allow_objects_to_fall()
        world, rows = self.sim.world, _rows(things)
        inside = self.contains_mask(world.position[rows])
        # Stored in the frame of the bin, so that a layout serves the bin wherever it stands.
        back = np.repeat(quaternions.conjugate(np.array([self.pose.orientation])), number, axis=0)
        places, turns = self.to_bin(world.position[rows]), quaternions.multiply(back, world.orientation[rows])
        self._remove(things)
        self.objects = []
        return Layout(places[inside], turns[inside])

    def _spawn(self, kind: ObjectKind, positions: Floats, orientations: Floats) -> list[SimObject]:
        """Spawn objects at rest, at poses in the frame of the bin."""
        frame = np.repeat(np.array([self.pose.orientation]), len(positions), axis=0)
        places = self.to_world(positions)
        turns = quaternions.multiply(frame, orientations)
        names = [f"{self.name or 'bin'}/{kind.name}/{index}" for index in range(len(places))]
        world = self.sim.world
        things = spawn_many(world, SimObject, _params(kind), places, turns, names)
        rows = _rows(things)
        if (np.diff(rows) < 0).any():
            # Freed rows are reused in the order in which they were freed, here that of earlier grabs. The engine
            # creates bodies in the order of rows, and their motion depends on it. Spawn again from sorted rows, so that
            # motion does not depend on earlier episodes.
            remove(world, np.sort(rows))
            things = spawn_many(world, SimObject, _params(kind), places, turns, names)
        return things

    def _remove(self, things: Sequence[SimObject]) -> None:
        remove(self.sim.world, _rows(things))

    # ---- taking out --------------------------------------------------------------------------------------------------

    @property
    def number_of_objects(self) -> int:
        """The number of objects."""
        return len(self.objects)

    def remove_objs_not_in_bin(self) -> int:
        """Remove the objects that are not in the bin (L x W x 2 H); returns how many."""
        if not self.objects:
            return 0
        inside = self.contains_mask(self.sim.world.position[_rows(self.objects)])
        gone = [thing for thing, kept in zip(self.objects, inside.tolist(), strict=True) if not kept]
        for thing in gone:
            self.remove_single_object(thing)
        return len(gone)

    def remove_single_object(self, obj: int | SimObject) -> None:
        """Remove one object, given as a handle or by its id; raises InvalidValueError if it is not of this bin."""
        for thing in self.objects:
            if obj in (thing, thing.object_id):
                self.objects = [other for other in self.objects if other is not thing]
                self._remove([thing])
                self.wake_up()
                return
        raise InvalidValueError(f"object {obj!r} does not belong to this bin")


def fall_coordinates(rng: np.random.Generator, count: int, dimensions: Floats) -> list[list[float]]:
    """Return `count` positions above a bin, in its frame: x at random, y and z in steps of LARGEST + GAP."""
    pitch = LARGEST + GAP
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


def _params(kind: ObjectKind) -> SimObjectSpawnParams:
    shape: ShapeParams = kind.shape
    return SimObjectSpawnParams(
        visual_shape=shape, collision_shape=shape, mass=kind.mass, friction=0.8, rolling_friction=0.0005
    )


def _rows(things: Sequence[SimObject]) -> Rows:
    return np.array([thing.row for thing in things], np.int64)

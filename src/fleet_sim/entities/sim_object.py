"""SimObject: a handle of one entity, a row of the world."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np

from fleet_sim.arrays import Floats, as_float, as_floats
from fleet_sim.config.modes import CollisionMode
from fleet_sim.core.addresses import BodyId, ObjectId
from fleet_sim.core.contacts import Contact
from fleet_sim.core.events import EventBus
from fleet_sim.core.look import Rgba
from fleet_sim.core.robot_model import BASE
from fleet_sim.core.schema import KIND_OBJECT, NO_ROW
from fleet_sim.entities import attachments
from fleet_sim.entities.collision_handle import CollisionHandle
from fleet_sim.entities.colors import color_of, set_color
from fleet_sim.entities.concave import check_pickable
from fleet_sim.entities.materials import push, set_mass, set_material, twist
from fleet_sim.entities.sdf_models import params_of_world, read_world_file
from fleet_sim.entities.shape_params import ShapeParams, Vector
from fleet_sim.entities.spawn_params import SimObjectSpawnParams, read_spawn_params
from fleet_sim.errors import InvalidValueError, StateError
from fleet_sim.geometry import Pose
from fleet_sim.spatial import quaternions

JOINT_FIXED = 4
"""The joint type of attachments, with PyBullet's number."""

Self = TypeVar("Self", bound="SimObject")


class SimObject(CollisionHandle):
    """A rigid body of a simulation.

    Its state is in the world's columns; a SimObject only refers to its row there, see Handle.
    """

    __slots__ = ()

    params_class: ClassVar[type[SimObjectSpawnParams]] = SimObjectSpawnParams
    kind: ClassVar[int] = KIND_OBJECT

    def __init__(
        self,
        body_id: int,
        sim_core: Any,
        pickable: bool = True,
        mass: float | None = None,
        collision_mode: CollisionMode | str = CollisionMode.NORMAL_3D,
        name: str | None = None,
        user_data: dict[str, Any] | None = None,
    ) -> None:
        """Take a PyBullet body made by hand (in the client `sim_core.client`) into the simulation.

        `mass` None is the one it has in PyBullet, of its base. An Agent has the joints of its body from then on.
        """
        self._refer(*sim_core.adopt_body(self, body_id, mass, name))
        self.pickable = pickable
        self.set_collision_mode(collision_mode)
        self.user_data.update(user_data or {})

    @classmethod
    def from_params(cls, spawn_params: SimObjectSpawnParams, sim_core: Any = None) -> Any:
        """Spawn one entity and return its handle."""
        if sim_core is None:
            raise InvalidValueError("from_params needs sim_core, the simulation to spawn in")
        return sim_core.spawn(spawn_params, cls)

    @classmethod
    def from_dict(cls, config: Mapping[str, Any], sim_core: Any = None) -> Any:
        """Spawn one entity from a mapping as in a scenario file; raises ConfigError."""
        if sim_core is None:
            raise InvalidValueError("from_dict needs sim_core, the simulation to spawn in")
        return sim_core.spawn(read_spawn_params(cls.params_class, config), cls)

    @classmethod
    def from_mesh(
        cls,
        mesh_path: str,
        pose: Pose | None = None,
        mesh_scale: Vector = (1.0, 1.0, 1.0),
        sim_core: Any = None,
        concave: bool = False,
        **settings: Any,
    ) -> Any:
        """Spawn one entity that looks like a mesh file and collides as its convex hull; `settings` are spawn params.

        A `concave` one collides as its triangles, with room inside, and never moves: it is not pickable.
        """
        if sim_core is None:
            raise InvalidValueError("from_mesh needs sim_core, the simulation to spawn in")
        rgba = settings.pop("rgba_color", (0.8, 0.8, 0.8, 1.0))
        x, y, z = as_floats(mesh_scale, (3,), "mesh_scale").tolist()
        shape = ShapeParams("mesh", mesh_path=mesh_path, mesh_scale=(x, y, z), concave=concave, rgba_color=rgba)
        if concave:
            # A surface cannot be carried; saying so is left to those who want it otherwise.
            settings.setdefault("pickable", False)
        params = cls.params_class(shape, shape, pose or Pose((0.0, 0.0, 0.0)), **settings)
        return sim_core.spawn(params, cls)

    @classmethod
    def from_sdf(
        cls,
        path: str,
        sim_core: Any,
        pose: Pose | None = None,
        prefix: str = "",
        skip_models: Collection[str] = (),
    ) -> list[Any]:
        """Spawn the models of an SDF file, each at its place and called `prefix` and its name; return them in order.

        `pose` is where the file's origin goes. Static models are STATIC objects, others have their mass, and those with
        joints that move are Agents; as `Agent.from_sdf`, so are all that are not static. On any error none is spawned.
        """
        world = read_world_file(path, sim_core.world)
        # A class of robots makes robots of what moves, also without joints.
        agents = cls.params_class is not SimObjectSpawnParams
        params = params_of_world(world, pose=pose, prefix=prefix, skip_models=skip_models, agents=agents)
        spawned: list[Any] = sim_core.spawn_all(params)
        return spawned

    # ---- identity ----------------------------------------------------------------------------------------------------

    @property
    def object_id(self) -> int:
        """The entity's number, unique in its simulation, in order of spawning: an ObjectId, which is an int."""
        return ObjectId(self._world.object_id[self.row])

    @property
    def body_id(self) -> int:
        """The entity's PyBullet body, made at the first request and kept up to date from then on: a BodyId, an int."""
        row, world = self.row, self._world
        return BodyId(world.bodies.tell_body(row), int(world.object_id[row]))

    @property
    def name(self) -> str | None:
        """The entity's name, unique in its simulation, or None."""
        return self._world.index.names[self.row]

    def set_name(self, name: str | None) -> None:
        """Rename the entity; raises DuplicateNameError."""
        self._world.rename(self.row, name)

    @property
    def sensors(self) -> list[Any]:
        """The sensors of the entity, in order of adding; `sim.add_sensor` adds one."""
        return self._world.sensors.of(self.row)

    def sensor(self, name: str) -> Any:
        """Return the sensor called `name`; raises UnknownNameError with the closest names."""
        return self._world.sensors.named(self.row, name)

    @property
    def user_data(self) -> dict[str, Any]:
        """A dict for data of the user."""
        return self._world.user_data.setdefault(self.row, {})

    @property
    def events(self) -> EventBus:
        """Events of this entity alone."""
        return self._world.entity_events.bus(self.row)

    # ---- pose --------------------------------------------------------------------------------------------------------

    @property
    def position(self) -> Floats:
        """A copy of the position (3,) in the world frame, in m."""
        return self._copy_of(self._world.position)

    @property
    def orientation(self) -> Floats:
        """A copy of the orientation (4,), xyzw."""
        return self._copy_of(self._world.orientation)

    @property
    def velocity(self) -> Floats:
        """A copy of the linear velocity (3,) in the world frame, in m/s."""
        return self._copy_of(self._world.velocity)

    def get_pose(self) -> Pose:
        """Return the present pose: always current, also inside a step. A pose never changes later."""
        row = self.row
        return Pose(self._world.position[row].tolist(), self._world.orientation[row].tolist())

    def set_pose(self, pose: Pose, preserve_velocity: bool = True) -> bool:
        """Set the pose of the entity; return whether it changed.

        Inside a step the write to PyBullet is buffered until phase 2; outside, carried objects are moved along at once.
        Raises InvalidValueError for anything but a Pose.
        """
        if not isinstance(pose, Pose):
            raise InvalidValueError(f"pose: expected a Pose, got {pose!r}; see also set_pose_raw()")
        return self.set_pose_raw(pose.position, pose.orientation, preserve_velocity=preserve_velocity)

    def set_pose_raw(
        self, position: Sequence[float], orientation: Sequence[float], preserve_velocity: bool = True
    ) -> bool:
        """Like `set_pose`, from bare numbers; raises InvalidValueError for anything not finite or a zero quaternion."""
        row, world = self.row, self._world
        point = as_floats(position, (3,), "position")
        turn = quaternions.normalized(as_floats(orientation, (4,), "orientation")[None])[0]
        if world.parent[row] != NO_ROW:
            holder = world.label(int(world.parent[row]))
            raise StateError(f"{world.label(row)!r} is attached to {holder!r} and follows it; detach it first")
        rows = np.array([row])
        # An unchanged pose is not written: bounds and PyBullet would be updated for nothing.
        if np.array_equal(world.position[row], point) and np.array_equal(world.orientation[row], turn):
            if not preserve_velocity:
                world.rest(rows)
            return False
        world.place(rows, point, turn, preserve_velocity=preserve_velocity)
        if not world.in_step:
            # In a step, what is carried follows at the end of phase 1 anyway.
            attachments.follow_rows(world, rows)
        return True

    def update(self, dt: float) -> bool:
        """Return whether the entity moved in this step. A subclass that overrides this is called at each step."""
        return bool(self._world.moved[self.row])

    # ---- what it is --------------------------------------------------------------------------------------------------

    @property
    def mass(self) -> float:
        """Mass in kg; 0 for kinematic bodies."""
        return float(self._world.mass[self.row])

    def set_mass(self, mass: float) -> None:
        """Change the mass in kg; with physics on, an object of mass 0 is kinematic from the next step on.

        Raises StateError if the joints of a robot would have to change between motors and kinematic motion.
        """
        set_mass(self._world, self.row, mass)

    def set_material(self, **values: float) -> None:
        """Change `friction`, `rolling_friction`, `restitution`, `linear_damping` or `angular_damping`.

        Takes effect with physics on, in the next step. Raises InvalidValueError, and UnknownNameError for other names.
        """
        set_material(self._world, self.row, values)

    def set_color(self, rgba: Sequence[float] | None, link: int | str | None = None) -> None:
        """Color the entity, or the `link` given by index or name, in red, green, blue and opacity from 0 to 1.

        Cameras, windows and snapshots show it from now on, also after `sim.rebuild_engine()`; `sim.reset()` restores
        the colors of then. None takes back what was given. Raises InvalidValueError where there is nothing to see.
        """
        set_color(self._world, self.row, rgba, link)

    def get_color(self, link: int | str = BASE) -> Rgba | None:
        """Return the color in which a link is shown, of its first shape; None where there is nothing to see."""
        return color_of(self._world, self.row, link)

    def apply_force(self, force: Sequence[float], position: Sequence[float] | None = None) -> None:
        """Push with `force` (3,) in N, world frame, for the next step of physics; at the centre of mass, or `position`.

        Raises StateError for what the engine does not move.
        """
        push(self._world, self.row, force, position)

    def apply_torque(self, torque: Sequence[float]) -> None:
        """Turn with `torque` (3,) in Nm, world frame, for the next step of physics; raises as `apply_force` does."""
        twist(self._world, self.row, torque)

    def get_contacts(self) -> list[Contact]:
        """Return the contacts of the entity in the last step of physics; empty without physics."""
        return self._world.bodies.contacts(self.row)

    @property
    def pickable(self) -> bool:
        """Whether robots may pick the object up."""
        return bool(self._world.pickable[self.row])

    @pickable.setter
    def pickable(self, value: bool) -> None:
        if value:
            check_pickable(self._world, self.row)
        self._world.pickable[self.row] = bool(value)

    # ---- carrying ----------------------------------------------------------------------------------------------------

    def attach_object(
        self,
        obj: SimObject,
        parent_link_index: int | str = BASE,
        relative_pose: Pose | None = None,
        joint_type: int = JOINT_FIXED,
        keep_world_pose: bool = False,
    ) -> bool:
        """Attach `obj` to this entity; return False if it is not pickable or carried by something else.

        It follows a link given by index or name, -1 being the base; what this body carries already goes over to
        another link. It takes `relative_pose` in that link's frame (default: the link's own pose), or stays where it is
        with `keep_world_pose`. Attachments are rigid (JOINT_FIXED). Raises UnknownNameError for a link that this body
        does not have.
        """
        _check_object(obj)
        row, child, world = self.row, obj.row, self._world
        if joint_type != JOINT_FIXED:
            raise InvalidValueError(f"joint_type: attachments are rigid (JOINT_FIXED, {JOINT_FIXED}), got {joint_type}")
        link = attachments.link_index(world, row, parent_link_index)
        if obj._world is not world:
            raise InvalidValueError(f"{obj!r} and {self!r} belong to different simulations")
        offset = None if keep_world_pose else (relative_pose or Pose((0.0, 0.0, 0.0))).as_position_orientation()
        # Nothing changes, and `carried` is not called again.
        if int(world.parent[child]) == row and world.parent_link[child] == link:
            return True
        if not attachments.take(world, child, row, link, offset):
            return False
        # After the world is consistent: what overrides it may look around.
        obj.carried()
        return True

    def carried(self) -> None:
        """Called when something starts to carry this entity."""

    def detach_object(
        self, obj: SimObject, drop_pose: Pose | None = None, drop_relative_pose: Pose | None = None
    ) -> bool:
        """Detach `obj`; return False if this body does not carry it.

        It stays where it is, or goes to `drop_pose` (world frame), or to its place moved by `drop_relative_pose`.
        """
        _check_object(obj)
        row, child, world = self.row, obj.row, self._world
        if world.parent[child] != row:
            return False
        attachments.detach(world, child, dynamic=world.physics and bool(world.mass[child] > 0.0))
        if drop_pose is not None:
            # After detaching: the pose of what is carried cannot be set.
            obj.set_pose(drop_pose)
        elif drop_relative_pose is not None:
            obj.set_pose(obj.get_pose() * drop_relative_pose)
        return True

    def get_attached_objects(self) -> list[SimObject]:
        """Return the entities that this body carries, in order of spawning."""
        rows = attachments.children_of(self._world, np.array([self.row]))
        return [self._world.handles[row] for row in rows.tolist()]

    @property
    def attached_to(self) -> SimObject | None:
        """The entity that carries this body, or None."""
        parent = int(self._world.parent[self.row])
        return None if parent == NO_ROW else self._world.handles[parent]

    def is_attached(self) -> bool:
        """Return whether something carries this body."""
        return bool(self._world.parent[self.row] != NO_ROW)

    def find_nearest_pickable(
        self, search_radius: float = 1.0, position: Sequence[float] | None = None, use_2d_search: bool = False
    ) -> SimObject | None:
        """Return the nearest free pickable object within `search_radius` m of `position` (default: this body's)."""
        world, row = self._world, self.row
        radius = as_float(search_radius, "search_radius in m", low=0.0)
        centre = world.position[row] if position is None else as_floats(position, (3,), "position")
        nearest = attachments.nearest_free(world, row, centre, radius, flat=use_2d_search)
        return None if nearest == NO_ROW else world.handles[nearest]

    def feature(self, name: str) -> Any:
        """Return this entity's state of a feature, such as "battery"; raises StateError if it does not have it."""
        return self._world.features.handle(name, self)

    # ---- callbacks ---------------------------------------------------------------------------------------------------

    def register_callback(
        self: Self, callback: Callable[[Self, float], object], frequency: float | None = None
    ) -> None:
        """Call `callback(self, dt)` in phase 1, `frequency` times per simulated second (None: at each step)."""
        self._world.hooks.add_callback(self.row, callback, frequency)

    def unregister_callback(self, callback: Callable[..., object]) -> bool:
        """Stop calling `callback`; returns whether it was registered."""
        return self._world.hooks.remove_callback(self.row, callback)


def _check_object(obj: object) -> None:
    """Raise InvalidValueError unless `obj` is an object or a robot."""
    if not isinstance(obj, SimObject):
        raise InvalidValueError(f"expected an object or a robot of the simulation, got {obj!r}")

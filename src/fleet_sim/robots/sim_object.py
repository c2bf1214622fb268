"""SimObject: a handle of one entity, a row of the world."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from fleet_sim.base.arrays import Floats, as_float, as_floats
from fleet_sim.base.errors import InvalidValueError, StateError, unknown_name
from fleet_sim.base.geometry import Pose
from fleet_sim.base.limits import LARGEST_MASS
from fleet_sim.base.params import CollisionMode
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.robots import attachments
from fleet_sim.robots.drive import is_steered
from fleet_sim.robots.sdf_models import params_of_world, read_world_file
from fleet_sim.robots.spawn_params import AgentSpawnParams, ShapeParams, SimObjectSpawnParams, Vector, read_spawn_params
from fleet_sim.world.collision_rules import checked_group, checked_mask
from fleet_sim.world.commands import BodyId, ObjectId
from fleet_sim.world.entity_index import Handle
from fleet_sim.world.ports import Contact
from fleet_sim.world.schema import KIND_AGENT, KIND_OBJECT, NO_ROW, Rgba
from fleet_sim.world.shapes import BASE, FIXED, Geometry, RobotModel
from fleet_sim.world.user_code import EventBus
from fleet_sim.world.world import World

# Colors of entities and of their links, changed at run time.


def read_color(value: Sequence[float]) -> Rgba:
    """Return a color as four numbers from 0 to 1; raises InvalidValueError."""
    red, green, blue, opacity = as_floats(value, (4,), "rgba").tolist()
    if not all(0.0 <= part <= 1.0 for part in (red, green, blue, opacity)):
        raise InvalidValueError(f"rgba: red, green, blue and opacity are from 0 to 1, got {value!r}")
    return (red, green, blue, opacity)


def set_color(world: World, row: int, rgba: Sequence[float] | None, link: int | str | None) -> None:
    """Give the entity in `row`, or one of its links, a color; None takes it back. Raises for what cannot be seen."""
    color = None if rgba is None else read_color(rgba)
    place = None if link is None else attachments.link_index(world, row, link)
    model = world.model_of(row)
    if place == BASE and (model is None or not model.num_joints):
        # Its only link is the whole of it, also for markers and snapshots.
        place = None
    if world.shape_id[row] >= 0 and not any(place in (None, of) for of, _ in _visuals(world, row)):
        part = "it" if link is None else f"its link {link!r}"
        raise InvalidValueError(f"{world.label(row)!r} cannot be colored: {part} has no visual shape")
    world.look.paint(row, color, place)
    # The mirror writes colors together with poses, to rows that are behind.
    world.bullet_behind[row] = True
    # In a window, the color is to be seen before the next movement.
    if world.has_part("bodies"):
        world.bodies.pose_written(np.array([row]))


def color_of(world: World, row: int, link: int | str) -> Rgba | None:
    """Return the color of a link of the entity in `row`, of its first shape; None where there is nothing to see."""
    place = attachments.link_index(world, row, link)
    # The first shape stands for the link, as PyBullet has one color per link in its answers.
    own = next((geometry.rgba for of, geometry in _visuals(world, row) if of == place), None)
    red, green, blue, opacity = world.look.colors(np.array([row]), np.array([place]))[0].tolist()
    return own if red < 0.0 else (red, green, blue, opacity)


def _visuals(world: World, row: int) -> Iterator[tuple[int, Geometry]]:
    """Yield link and geometry of each visual shape of the entity in `row`."""
    model, shape_id = world.model_of(row), int(world.shape_id[row])
    if model is not None:
        yield from ((part.link, part.geometry) for part in model.visuals)
    elif shape_id >= 0 and world.shapes[shape_id].visual is not None:
        visual = world.shapes[shape_id].visual
        assert visual is not None
        yield BASE, visual


# Which entities may have a concave collision mesh: those that never move, as the engine cannot move one.


_WHY = "a concave mesh is a surface without an inside, which the engine cannot move"


def check_concave(
    params: SimObjectSpawnParams, model: RobotModel | None, collisions: tuple[Geometry, ...], *, dynamic: bool
) -> None:
    """Raise InvalidValueError if what is spawned from `params` collides as a concave mesh and might move.

    Its shapes are those of `model`, or `collisions`. A robot may be kinematic, or have its base fixed.
    """
    # A robot from a file says by link what is concave; only links that cannot move may be.
    if isinstance(params, AgentSpawnParams) and params.urdf_path is not None and model is not None:
        if dynamic:
            _check_links(model, fixed_base=params.use_fixed_base)
        return
    if not any(shape.concave for shape in collisions) and (model is None or not model.concave):
        return
    if isinstance(params, AgentSpawnParams):
        raise InvalidValueError(f"collision_shape: {_WHY}; a robot needs a convex one, or spawn a SimObject")
    if params.mass or dynamic:
        raise InvalidValueError(f"mass: {_WHY}; give 0, or a convex collision_shape, got {params.mass}")
    # What is carried moves, and is pushed by what it touches.
    if params.pickable:
        raise InvalidValueError(f"pickable: {_WHY}; give pickable=False, or a convex collision_shape")


def _check_links(model: RobotModel, *, fixed_base: bool) -> None:
    for piece in model.concave:
        if not fixed_base or any(model.joint_types[joint] != FIXED for joint in model.chain(piece.link)):
            name = model.base_name if piece.link < 0 else model.link_names[piece.link]
            raise InvalidValueError(
                f"link {name!r} of {model.name!r} collides as a concave mesh: {_WHY}; use_fixed_base or mass 0 keep it "
                'in place, or remove concave="yes"'
            )


def check_mass(world: World, row: int) -> None:
    """Raise StateError if the entity in `row` cannot be given a mass, as it collides as a concave mesh."""
    if _concave(world, row):
        raise StateError(f"a mass: {world.label(row)!r} collides as a concave mesh; {_WHY}")


def check_pickable(world: World, row: int) -> None:
    """Raise StateError if the object in `row` cannot be made pickable, as it collides as a concave mesh."""
    if world.kind[row] != KIND_AGENT and _concave(world, row):
        raise StateError(f"pickable: {world.label(row)!r} collides as a concave mesh; {_WHY}")


def _concave(world: World, row: int) -> bool:
    model = world.model_of(row)
    if model is not None:
        return bool(model.concave)
    # Bodies that users made in PyBullet are compounds here; those are theirs to move.
    return world.shape_kind[row] == ShapeKind.MESH and int(world.shape_id[row]) in world.shapes.concave


# Materials of bodies for the physics engine, and pushes on them.


MATERIAL = ("friction", "rolling_friction", "restitution", "linear_damping", "angular_damping")
"""The columns of materials."""


def checked_material(values: Mapping[str, float]) -> dict[str, float]:
    """Return `values` by name of column; raises InvalidValueError and UnknownNameError."""
    checked = {}
    for name, value in values.items():
        if name not in MATERIAL:
            raise unknown_name("property of a material", name, MATERIAL)
        # More than 1 would give a body energy at each bounce.
        checked[name] = as_float(value, name, low=0.0, high=1.0 if name == "restitution" else np.inf)
    return checked


def set_material(world: World, row: int, values: Mapping[str, float]) -> None:
    """Change the material of the entity in `row`, from the next step on."""
    checked = checked_material(values)
    world.material.use()
    for name, value in checked.items():
        getattr(world.material, name)[row] = value
    # The mirror writes materials, which are many, apart from poses.
    world.material.behind[row] = True
    world.bullet_behind[row] = True


def set_mass(world: World, row: int, mass: float) -> None:
    """Change the mass in kg; raises StateError where joints would change between motors and kinematic motion, and for
    cars, for which engines have no law.
    """
    kilograms = as_float(mass, "mass in kg", low=0.0, high=LARGEST_MASS)
    # Without a mass, even a concave mesh stays where it is.
    if kilograms > 0.0:
        check_mass(world, row)
    if world.robots.joint_count[row] and bool(world.robots.motors[row]) != (world.physics and kilograms > 0.0):
        motors = "with" if world.robots.motors[row] else "without"
        raise StateError(f"{world.handles[row]!r} was spawned {motors} motors")
    if world.physics and kilograms > 0.0 and is_steered(world, row):
        raise StateError(
            f"{world.handles[row]!r} is steered like a car, for which engines have no law; its mass stays 0"
        )
    world.mass[row] = kilograms
    # What is carried follows its carrier and gets its mass back when it is put down.
    world.dynamic[row] = world.physics and kilograms > 0.0 and world.parent[row] == NO_ROW
    # The mirror looks at the masses of rows that are behind.
    world.bullet_behind[row] = True


def push(world: World, row: int, force: Sequence[float], position: Sequence[float] | None) -> None:
    """Push the entity in `row` with `force` (3,) in N for the next step, at its centre of mass or a world point."""
    _check_moved(world, row)
    point = None if position is None else as_floats(position, (3,), "position")
    world.bodies.push(row, as_floats(force, (3,), "force in N"), point)


def twist(world: World, row: int, torque: Sequence[float]) -> None:
    """Turn the entity in `row` with `torque` (3,) in Nm for the next step."""
    _check_moved(world, row)
    world.bodies.twist(row, as_floats(torque, (3,), "torque in Nm"))


def _check_moved(world: World, row: int) -> None:
    if not world.dynamic[row]:
        raise StateError(
            f"forces do not move {world.label(row)!r}: it is kinematic. The engine moves what has a mass and is not "
            "carried, with physics on"
        )


JOINT_FIXED = 4
"""The joint type of attachments, with PyBullet's number."""

Self = TypeVar("Self", bound="SimObject")


class SimObject(Handle):
    """A rigid body of a simulation.

    Its state is in the world's columns; a SimObject only refers to its row there, see Handle.
    """

    __slots__ = ()

    _world: World
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

        `mass` None is the one it has in PyBullet, of its base. The body is removed with the entity.
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
        cls, path: str, sim_core: Any, pose: Pose | None = None, prefix: str = "", skip_models: Collection[str] = ()
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
        return BodyId(world.bodies.body_id_for_user(row), int(world.object_id[row]))

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

    # ---- collisions: changes count from the next check and physics step on -------------------------------------------

    @property
    def collision_mode(self) -> CollisionMode:
        """How the entity takes part in collision checks."""
        return CollisionMode.from_code(self._world.collision_mode[self.row])

    def set_collision_mode(self, mode: CollisionMode | str) -> None:
        """Change how the entity takes part in collision checks, from the next check on.

        Going to DISABLED ends its collisions; with physics it then meets nothing but the floor.
        """
        row = self.row
        self._world.collision_mode[row] = CollisionMode.parse(mode).code
        self._changed(row)

    @property
    def is_static(self) -> bool:
        """Whether the entity is static, that is never moves."""
        return self.collision_mode is CollisionMode.STATIC

    @property
    def collision_group(self) -> int:
        """The groups the entity is in, as bits: 1 by default."""
        return int(self._world.collision_group[self.row])

    @property
    def collision_mask(self) -> int:
        """The groups the entity collides with, as bits: -1 (all) by default."""
        return int(self._world.collision_mask[self.row])

    def set_collision_filter(self, group: int | None = None, mask: int | None = None) -> None:
        """Change the groups the entity is in and those it collides with, as bits; None keeps what it has.

        Two entities may collide if each is in a group of the other's mask. Events, blocking, avoidance and the engine
        follow it; the floor carries every entity. As part of the state it is saved in checkpoints and goes back with
        `reset`. Raises InvalidValueError.
        """
        row, world = self.row, self._world
        # Both are checked before one is written.
        groups = None if group is None else checked_group(group)
        masks = None if mask is None else checked_mask(mask)
        if groups is not None:
            world.collision_group[row] = groups
        if masks is not None:
            world.collision_mask[row] = masks
        self._changed(row)

    def _changed(self, row: int) -> None:
        self._world.collision_rules.changed()
        # The box stays the same, but computing it anew makes the next collision check run although nothing moved.
        self._world.bounds_behind[row] = True


def _check_object(obj: object) -> None:
    """Raise InvalidValueError unless `obj` is an object or a robot."""
    if not isinstance(obj, SimObject):
        raise InvalidValueError(f"expected an object or a robot of the simulation, got {obj!r}")


# FeatureHandle: what users call on the feature of one entity.


AnyHandle = TypeVar("AnyHandle", bound="FeatureHandle[Any]")
Part = TypeVar("Part")


class FeatureHandle(Generic[Part]):
    """Base of handles of the feature of one entity. They raise StaleHandleError once the entity was removed."""

    feature: ClassVar[str]
    """The name of the feature."""

    def __init__(self, owner: SimObject, part: Part) -> None:
        """`part` is what the handle asks: the columns of the feature, or what runs it."""
        self._owner = owner
        self._part = part

    @classmethod
    def of(cls: type[AnyHandle], owner: SimObject) -> AnyHandle:
        """Return the handle of `owner`; raises StateError where it has not the feature."""
        handle: AnyHandle = owner.feature(cls.feature)
        return handle

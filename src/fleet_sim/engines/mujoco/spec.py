"""Builds the mjSpec of a world from its plan, and compiles it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints, Rows
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.files import is_file, status
from fleet_sim.base.params import CollisionMode
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.engines.mujoco.bound import DAMPING, Compiled, mujoco_module, table_of
from fleet_sim.engines.mujoco.geoms import GeomMaker, inertia_of, wxyz
from fleet_sim.models.markup import read_file
from fleet_sim.world.collision_rules import LinkPairs
from fleet_sim.world.shapes import BASE, PRISMATIC, REVOLUTE, BodyShape, Geometry, Inertial, RobotModel
from fleet_sim.world.world import World

# What MuJoCo has to make for each row: all that its model depends on, so that equal plans share one compiled model.


STILL, DRIVEN, DYNAMIC = range(3)
"""Bodies that only others move: by their poses alone, or with velocities, so that they drag; and those that fall."""
MOST_KINDS = 30
"""Kinds of rows that may or may not collide with each other: MuJoCo has a bit for each."""

# Group, mask, collides with nothing, is dynamic, and a row of its own or -1.
_Class = tuple[int, int, bool, bool, int]


class RowPlan(NamedTuple):
    """What is made for one row."""

    how: int
    shape: int
    model: int
    mass: float
    material: tuple[float, float, float, float, float]
    kind: int
    mimics: bool
    pose: tuple[float, ...] | None
    """Position and orientation (xyzw) of a fixture, else None."""
    exempt_links: tuple[tuple[int, int], ...] | None
    """With `self_collision` the pairs of links that do not push each other though no joint joins them, else None."""


class WorldPlan(NamedTuple):
    """What is made for all rows, in order; `meets` are the kinds that each kind collides with, as bits.

    `apart` are pairs of places in `rows` whose bodies pass through each other.
    """

    rows: tuple[RowPlan, ...]
    meets: tuple[int, ...]
    apart: tuple[tuple[int, int], ...]


def plan_world(
    world: World, rows: Rows, driven_mask: Bools, fixtures: tuple[Ints, Floats], exempt_links: LinkPairs
) -> WorldPlan:
    """Return the plan of `rows` (N,); `driven_mask` (N,) says which of the kinematic ones move with a velocity.

    `fixtures` are places (K,) in `rows` and their poses (K, 7). `exempt_links` is asked for robots with
    `self_collision` and a mass.

    Raises InvalidValueError for more kinds of collision filters than MuJoCo has bits.
    """
    dynamic = world.dynamic[rows]
    # Bodies that move with a velocity are made otherwise than those that stand.
    how = np.where(dynamic, DYNAMIC, np.where(driven_mask, DRIVEN, STILL))
    # The mass of what does not fall has no effect, and must not make another model.
    masses = np.where(dynamic, world.mass[rows], 0.0)
    material = world.material
    names = ("friction", "rolling_friction", "restitution", "linear_damping", "angular_damping")
    materials = np.stack([getattr(material, name)[rows] for name in names], axis=1)
    kinds, meets = _kinds(world, rows)
    robots = world.robots
    columns = (how, world.shape_id[rows], robots.model[rows], masses, materials, kinds, robots.mimics[rows])
    pushing = (robots.self_collision[rows] & dynamic).tolist()
    links = [tuple(exempt_links(row)) if own else None for row, own in zip(rows.tolist(), pushing, strict=True)]
    fixed = {place: tuple(pose) for place, pose in zip(*(array.tolist() for array in fixtures), strict=True)}
    poses = [fixed.get(place) for place in range(len(rows))]
    values = zip(*(column.tolist() for column in columns), poses, links, strict=True)
    plans = tuple(RowPlan(a, b, c, d, tuple(e), f, g, h, i) for a, b, c, d, e, f, g, h, i in values)
    return WorldPlan(plans, meets, _apart(world, rows))


def _kinds(world: World, rows: Rows) -> tuple[Ints, tuple[int, ...]]:
    """Return the kind (N,) of each row, and for each kind the bits of those that it collides with."""
    # What collides with nothing is one kind, whatever its groups.
    disabled = world.collision_mode[rows] == CollisionMode.DISABLED.code
    enabled = _enabled_pairs(world)
    alone = set(enabled.reshape(-1).tolist())
    columns = (world.collision_group[rows], world.collision_mask[rows], disabled, world.dynamic[rows])
    # What was set to collide whatever its groups say is a kind of its own.
    classes: list[_Class] = [
        (group, mask, off, moves, row if row in alone else -1)
        for group, mask, off, moves, row in zip(*(c.tolist() for c in columns), rows.tolist(), strict=True)
    ]
    # Numbered in the order of rows, so that equal worlds have equal plans.
    numbers = {found: number for number, found in enumerate(dict.fromkeys(classes))}
    if len(numbers) > MOST_KINDS:
        raise InvalidValueError(
            f"{len(numbers)} kinds of collision groups, masks and pairs; MuJoCo has bits for {MOST_KINDS}. Use fewer "
            "groups, or engine: bullet"
        )
    pairs = {frozenset(pair) for pair in enabled.tolist()}
    meets = tuple(
        # One bit for each kind that it meets.
        sum(1 << numbers[other] for other in numbers if _meet(one, other) or frozenset((one[4], other[4])) in pairs)
        for one in numbers
    )
    return np.array([numbers[found] for found in classes], np.int64), meets


def _meet(one: _Class, other: _Class) -> bool:
    """Return whether two kinds collide: two that only others move never push each other."""
    if one[2] or other[2] or not (one[3] or other[3]):
        return False
    return bool(one[0] & other[1]) and bool(other[0] & one[1])


def _enabled_pairs(world: World) -> Ints:
    """Return the pairs (K, 2) of rows that were set to collide, and do."""
    pairs = world.collision_filters.enabled_pairs()
    if not len(pairs):
        return pairs
    pairs = pairs[world.collision_rules.may_collide(pairs)]
    # Two bodies that only others move never push each other anyway.
    return pairs[world.dynamic[pairs].any(axis=1)]


def _apart(world: World, rows: Rows) -> tuple[tuple[int, int], ...]:
    """Return the pairs of places in `rows` that pass through each other because a rule lists them."""
    pairs = world.collision_rules.exempt_pairs()
    if not len(pairs):
        return ()
    pairs = pairs[~world.collision_rules.may_collide(pairs) & world.dynamic[pairs].any(axis=1)]
    places = np.full(world.capacity, -1, np.int64)
    places[rows] = np.arange(len(rows))
    found = places[pairs]
    return tuple((one, other) for one, other in found[(found >= 0).all(axis=1)].tolist())


# Surfaces of links: friction and restitution, from columns, from the <contact> of URDF files, or PyBullet's own.


FLOOR_FRICTION = 1.0
"""As in PyBullet's plane.urdf."""

_NAMES = ("lateral_friction", "rolling_friction", "spinning_friction", "restitution")


class ContactSurface(NamedTuple):
    """What contacts of a link are like. Two surfaces act as in PyBullet: frictions and restitutions are multiplied."""

    friction: float = 0.5
    rolling: float = 0.0
    spinning: float = 0.0
    restitution: float = 0.0

    def with_material(self, friction: float, rolling: float, restitution: float) -> ContactSurface:
        """Return the surface with the values of a material in place of its own; negative ones are not given."""
        return ContactSurface(
            friction if friction >= 0.0 else self.friction,
            rolling if rolling >= 0.0 else self.rolling,
            self.spinning,
            restitution if restitution >= 0.0 else self.restitution,
        )


def surfaces_of(model: RobotModel) -> dict[str, ContactSurface]:
    """Return the surfaces, by name of the link, that the URDF file of `model` gives in <contact> elements."""
    path = Path(model.path)
    if path.suffix.lower() != ".urdf" or not is_file(path):
        return {}
    return _read(str(path), status(path).st_mtime_ns)


@lru_cache(maxsize=256)
def _read(path: str, _changed: int) -> dict[str, ContactSurface]:
    """Return the <contact> of each link of a file by name; links without one are left out."""
    found: dict[str, ContactSurface] = {}
    for link in read_file(Path(path)).all("link"):
        contact = link.child("contact")
        if contact is None:
            continue
        given = {child.tag: child for child in contact.children}
        plain = ContactSurface()
        values = [
            given[name].parsed(given[name].attributes.get("value", given[name].text), 1, name)[0]
            if name in given
            else default
            for name, default in zip(_NAMES, plain, strict=True)
        ]
        found[link.attributes.get("name", "")] = ContactSurface(*values)
    return found


HEAVY = 1e7
"""Mass in kg, and inertia in kg m2, of bodies that are driven: nothing that falls slows them down."""
LEAST_MASS, LEAST_INERTIA = 1e-3, 1e-7
"""Of links that turn or slide and have none in their file: MuJoCo cannot move what weighs nothing."""
FLOOR_BIT = 30
_ARENA, _ARENA_PER_BODY = 16 * 2**20, 32 * 2**10


@dataclass(frozen=True)
class SpecOptions:
    """Settings of the simulation that the model depends on."""

    floor: bool
    inertia_from_file: bool
    iterations: int


@dataclass(eq=False)
class WorldSpec:
    """Builds one spec."""

    world: World
    plan: WorldPlan
    options: SpecOptions
    arena: int = 0
    """Bytes for contacts and constraints, 0: as many as usual."""
    _made: list[tuple[Any, int, int]] = field(default_factory=list, init=False)
    _joints: list[tuple[Any, int, int]] = field(default_factory=list, init=False)
    _surfaces: list[tuple[Any, ContactSurface]] = field(default_factory=list, init=False)
    _names: list[list[str]] = field(default_factory=list, init=False)

    def compile(self) -> Compiled:
        """Return the compiled model; raises InvalidValueError for what MuJoCo cannot make."""
        mujoco = mujoco_module()
        self._mujoco, self._spec = mujoco, mujoco.MjSpec()
        self._geoms = GeomMaker(self._spec)
        self._set_options()
        if self.options.floor:
            kind = mujoco.mjtGeom.mjGEOM_PLANE
            floor = self._spec.worldbody.add_geom(
                type=kind, size=[0.0, 0.0, 1.0], contype=1 << FLOOR_BIT, conaffinity=0
            )
            self._surfaces.append((floor, ContactSurface(friction=FLOOR_FRICTION)))
        for place, row in enumerate(self.plan.rows):
            self._names.append([])
            self._add_row(place, row)
        for one, other in self.plan.apart:
            for pair in product(self._names[one], self._names[other]):
                self._spec.add_exclude(bodyname1=pair[0], bodyname2=pair[1])
        self._spec.memory = self.arena or _ARENA + _ARENA_PER_BODY * len(self._made)
        try:
            model = self._spec.compile()
        except ValueError as error:
            raise InvalidValueError(f"MuJoCo cannot make this world: {error}") from error
        return self._compiled(model)

    def _set_options(self) -> None:
        mujoco, option = self._mujoco, self._spec.option
        option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        # Friction is held harder than contacts are, so that what is grasped does not creep.
        option.impratio = 10.0
        option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        option.iterations = self.options.iterations
        # The solver ends when a gain is small for the largest inertias around, which are those of driven bodies: by
        # the usual tolerance it would end before things of a few grams have found their rest.
        option.tolerance = 1e-14
        option.enableflags |= mujoco.mjtEnableBit.mjENBL_SLEEP
        # What is fast meets what is thin, and lands on it.
        option.enableflags |= mujoco.mjtEnableBit.mjENBL_SPECULATIVE
        # Which links pass through each other is said one by one.
        option.disableflags |= mujoco.mjtDisableBit.mjDSBL_FILTERPARENT
        # A world that went wrong must be seen, and not begin anew.
        option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
        self._spec.compiler.degree = False
        self._spec.compiler.balanceinertia = True

    # ---- rows --------------------------------------------------------------------------------------------------------

    def _add_row(self, place: int, row: RowPlan) -> None:
        model = None if row.model < 0 else self.world.models[row.model]
        shape = self.world.shapes[row.shape] if row.shape >= 0 else BodyShape()
        if model is not None:
            add = self._add_robot if row.how == DYNAMIC else self._add_pieces
            add(place, row, model, shape)
            return
        collides = shape.collision if shape.collision and shape.collision.kind != ShapeKind.NONE else None
        if collides is None and row.how != DYNAMIC:
            return
        body = self._body(place, BASE, row, collides)
        if row.how == DYNAMIC:
            own = inertia_of([collides] if collides else [], row.mass, np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))
            self._weigh(body, row.mass, np.maximum(own, LEAST_INERTIA), Inertial())
            body.add_freejoint()
        if collides is not None:
            self._geom(body, collides, row, ContactSurface())

    def _add_pieces(self, place: int, row: RowPlan, model: RobotModel, _shape: BodyShape) -> None:
        """Add a body for each link of a kinematic robot that has shapes; the columns say where it is."""
        surfaces = surfaces_of(model)
        for link in sorted({piece.link for piece in model.collisions}):
            shapes = [piece.geometry for piece in model.collisions if piece.link == link]
            body = self._body(place, link, row, shapes[0])
            for geometry in shapes:
                self._geom(body, geometry, row, surfaces.get(_name(model, link), ContactSurface()))

    def _add_robot(self, place: int, row: RowPlan, model: RobotModel, shape: BodyShape) -> None:
        surfaces = surfaces_of(model)
        own = sum(inertial.mass for inertial in model.inertials)
        scale = row.mass / own if own else 0.0
        bodies: dict[int, Any] = {}
        for link in [BASE, *range(model.num_joints)]:
            if link == BASE:
                body = self._made_body(place, BASE, self._spec.worldbody, mocap=shape.fixed_base)
                if not shape.fixed_base:
                    body.add_freejoint()
            else:
                body = self._made_body(place, link, bodies[int(model.parents[link])])
                body.pos, body.quat = model.joint_positions[link], wxyz(model.joint_orientations[link])
                self._add_joint(body, place, model, link)
            bodies[link] = body
            shapes = [piece.geometry for piece in model.collisions if piece.link == link]
            inertial = model.inertials[link + 1] if len(model.inertials) > link + 1 else Inertial()
            # A file without masses gives no proportions to scale by: the base gets it all.
            mass = scale * inertial.mass if own else row.mass * (link == BASE)
            moves = (link == BASE and not shape.fixed_base) or (link >= 0 and model.slots[link] >= 0)
            self._weigh_link(body, inertial, mass, shapes, moves=moves)
            for geometry in shapes:
                self._geom(body, geometry, row, surfaces.get(_name(model, link), ContactSurface()))
        self._keep_links_apart(place, row, model)
        if row.mimics:
            self._add_gears(place, model)

    def _keep_links_apart(self, place: int, row: RowPlan, model: RobotModel) -> None:
        """Let all links of a robot pass through each other, or with `self_collision` those that belong together."""
        names = self._names[place]
        pairs = set(combinations(range(len(names)), 2))
        if row.exempt_links is not None:
            joined = {(int(parent) + 1, link + 1) for link, parent in enumerate(model.parents)}
            pairs = joined | {(one + 1, other + 1) for one, other in row.exempt_links}
        for one, other in sorted(pairs):
            self._spec.add_exclude(bodyname1=names[one], bodyname2=names[other])

    def _add_joint(self, body: Any, place: int, model: RobotModel, joint: int) -> None:
        kind = int(model.joint_types[joint])
        if kind not in (REVOLUTE, PRISMATIC):
            # Fixed ones, and those without a single position, stay as the file has them.
            return
        types = self._mujoco.mjtJoint
        made = body.add_joint(
            name=f"{place}/{joint}",
            type=types.mjJNT_HINGE if kind == REVOLUTE else types.mjJNT_SLIDE,
            axis=model.axes[joint].tolist(),
        )
        made.damping = float(model.damping[joint]) if np.isscalar(made.damping) else [float(model.damping[joint]), 0, 0]
        made.limited = int(model.limited_mask[joint])
        if model.limited_mask[joint]:
            made.range = [float(model.lower[joint]), float(model.upper[joint])]
        self._joints.append((made, place, int(model.slots[joint])))

    def _add_gears(self, place: int, model: RobotModel) -> None:
        for mimic in model.mimics:
            equality = self._spec.add_equality(
                type=self._mujoco.mjtEq.mjEQ_JOINT,
                objtype=self._mujoco.mjtObj.mjOBJ_JOINT,
                name1=f"{place}/{mimic.follower}",
                name2=f"{place}/{mimic.leader}",
            )
            equality.data = [mimic.offset, mimic.multiplier] + [0.0] * (len(equality.data) - 2)

    # ---- bodies ------------------------------------------------------------------------------------------------------

    def _body(self, place: int, link: int, row: RowPlan, shape: Geometry | None) -> Any:
        """Add the body of a plain row or a piece: moved by physics, by velocities, by its pose alone, or by nothing."""
        parent = self._spec.worldbody
        if row.how == DYNAMIC:
            return self._made_body(place, link, parent)
        if row.pose is not None:
            body = self._made_body(place, link, parent)
            body.pos, body.quat = row.pose[:3], wxyz(row.pose[3:])
            return body
        # What reaches to infinity does not move with a velocity.
        if row.how == DRIVEN and shape is not None and shape.kind != ShapeKind.PLANE:
            body = self._made_body(place, link, parent)
            self._weigh(body, HEAVY, np.full(3, HEAVY), Inertial())
            body.gravcomp = 1.0
            body.add_freejoint()
            return body
        return self._made_body(place, link, parent, mocap=True)

    def _made_body(self, place: int, link: int, parent: Any, *, mocap: bool = False) -> Any:
        name = f"{place}:{link}"
        body = parent.add_body(name=name, mocap=mocap)
        self._made.append((body, place, link))
        self._names[place].append(name)
        return body

    def _weigh_link(self, body: Any, inertial: Inertial, mass: float, shapes: list[Geometry], *, moves: bool) -> None:
        centre, turn = np.array(inertial.position), np.array(inertial.orientation)
        own = np.array(inertial.inertia) * (mass / inertial.mass if inertial.mass else 0.0)
        if shapes and not self.options.inertia_from_file:
            own = inertia_of(shapes, mass, centre, turn)
        if moves:
            mass, own = max(mass, LEAST_MASS), np.maximum(own, LEAST_INERTIA)
        self._weigh(body, mass, own, inertial)

    def _weigh(self, body: Any, mass: float, inertia: Floats, frame: Inertial) -> None:
        body.explicitinertial = True
        body.mass, body.inertia = mass, inertia
        body.ipos, body.iquat = frame.position, wxyz(frame.orientation)

    def _geom(self, body: Any, geometry: Geometry, row: RowPlan, surface: ContactSurface) -> None:
        surface = surface.with_material(row.material[0], row.material[1], row.material[2])
        meets = self.plan.meets[row.kind]
        floor = (1 << FLOOR_BIT) if row.how == DYNAMIC else 0
        # Rolling and spinning friction need more rows in a contact.
        condim = 6 if surface.rolling > 0.0 else 4 if surface.spinning > 0.0 else 3
        made = self._geoms.add(body, geometry, contype=1 << row.kind, conaffinity=meets | floor, condim=condim)
        self._surfaces += [(geom, surface) for geom in made]

    # ---- after compiling ---------------------------------------------------------------------------------------------

    def _compiled(self, model: Any) -> Compiled:
        place = np.full(model.nbody, -1, np.int64)
        link = np.full(model.nbody, -2, np.int64)
        base = np.full(len(self.plan.rows), -1, np.int64)
        made = [(body.id, at, part) for body, at, part in self._made]
        for number, at, part in made:
            place[number], link[number] = at, part
            if base[at] < 0:
                base[at] = number
        free, seats, pieces = [], [], []
        for number, at, part in made:
            joint = int(model.body_jntadr[number])
            has_free = joint >= 0 and model.jnt_type[joint] == self._mujoco.mjtJoint.mjJNT_FREE
            q, v = (int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])) if has_free else (-1, -1)
            mocap = int(model.body_mocapid[number])
            if self.plan.rows[at].how != DYNAMIC:
                pieces.append((at, part, mocap, q, v))
            elif has_free:
                free.append((at, q, v))
                self._damp(model, number, v, self.plan.rows[at])
            elif mocap >= 0:
                seats.append((at, mocap))
        joints = []
        for made_joint, at, slot in self._joints:
            number = made_joint.id
            joints.append((at, slot, int(model.jnt_qposadr[number]), int(model.jnt_dofadr[number])))
            self._prepare_joint(model, int(model.jnt_dofadr[number]))
        surfaces = np.zeros((model.ngeom, 4))
        for geom, surface in self._surfaces:
            surfaces[geom.id] = surface
        tables = table_of(free, 3), table_of(seats, 2), table_of(pieces, 5), table_of(joints, 4)
        return Compiled(model, place, link, base, *tables, surfaces)

    def _prepare_joint(self, model: Any, dof: int) -> None:
        """Make the friction of a joint stiff, as it is what motors act through; and keep robots with motors awake."""
        model.dof_solimp[dof, :2] = 0.999
        model.tree_sleep_policy[model.dof_treeid[dof]] = self._mujoco.mjtSleepPolicy.mjSLEEP_NEVER

    def _damp(self, model: Any, body: int, dof: int, row: RowPlan) -> None:
        """Slow down a free body, by a force and a torque in proportion to its velocities; see `drag` for the rest."""
        linear, angular = (value if value >= 0.0 else DAMPING for value in row.material[3:5])
        # Links are slowed down one by one.
        model.dof_damping[dof : dof + 3] = linear * model.body_mass[body]
        model.dof_damping[dof + 3 : dof + 6] = angular * model.body_inertia[body]


def _name(model: RobotModel, link: int) -> str:
    return model.base_name if link == BASE else model.link_names[link]
